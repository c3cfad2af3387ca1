# make demo      two simulations end to end; animations, curves and a table in out/
# make test      the quick tests            make test-all   the slow ones too
# make test-extras    what needs JAX, PyTorch (for processors), FMI tools, ...: installs them (a few hundred MB)
# make test-browser   the pages in a headless Chromium; screenshots in out/browser
# make lint      ruff, mypy                 make library    the compiled core, built in place
# make docs      the documentation as web pages in out/docs      make docs-quick   with two examples in place of the gallery
# make test-wheel  build a wheel, install it, run tests against it
# make clean     remove everything made here
# TREEMECH_NO_LIBRARY=1 make ...   leaves the compiled core out: numba compiles it on first use

PYTHON ?= python3
BIN := .venv/bin
CORE := $(shell find elements kinematics dynamics -name "*.py" -o -name "*.c")
INSTALL := pyproject.toml setup.py

.PHONY: demo test test-all test-extras test-browser test-wheel lint library docs docs-quick clean

# Builds only what a first simulation needs, unless there is a whole library; make library builds the rest
demo: .venv/installed
	@if [ "$${TREEMECH_NO_LIBRARY:-0}" = 0 ]; then \
	$(BIN)/python -m treemech.dynamics.native.build --stage first --if-changed \
	|| echo "the compiled core was not built; the first use compiles it with numba (about 10 s, once)"; fi
	$(BIN)/python -m treemech demo

test: .venv/installed-test .venv/library
	$(BIN)/python -m pytest -n 2

test-all: .venv/installed-test .venv/library
	$(BIN)/python -m pytest -n 2 -m ""

test-extras: .venv/installed-extras .venv/library
	$(BIN)/python -m pytest -m extras

# In an environment and a folder of their own, where nothing of these sources can be imported
test-wheel: .venv/installed .venv/library
	rm -rf dist/wheel .venv-wheel
	$(BIN)/python -m pip wheel -q --no-build-isolation --no-deps -w dist/wheel .
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install -q dist/wheel/*.whl pytest hypothesis sympy matplotlib xarray pandas
	.venv-wheel/bin/python .ci/installed.py .

test-browser: .venv/installed-test .venv/library
	$(BIN)/python -m pytest -m browser tests/browser

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

library: .venv/installed
	$(BIN)/python -m treemech.dynamics.native.build
	$(BIN)/python -m treemech.dynamics.native.caller
	touch .venv/library

docs: .venv/installed-docs .venv/library
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs out/docs
	@echo "the documentation is in out/docs/index.html"

# With two examples in place of the whole gallery; in folders of its own, so that the whole one stays as it is
docs-quick: .venv/installed-docs .venv/library
	rm -rf out/docs-quick && mkdir -p out/docs-quick
	cp -r docs out/docs-quick/source && rm -rf out/docs-quick/source/gallery out/docs-quick/source/site/static/gallery
	$(BIN)/python -m sphinx -q -W --keep-going -D gallery_examples=four_bar,pump -b html out/docs-quick/source out/docs-quick/html

clean:
	rm -rf .venv .venv-wheel out build dist docs/gallery docs/site/static/gallery *.egg-info treemech/_library .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Installed in place, so that the sources here are what runs, with the build tools of this environment. The
# libraries follow in a step of their own.
EDITABLE := TREEMECH_NO_LIBRARY=1 $(BIN)/python -m pip install -q --no-build-isolation -e

.venv/installed: $(INSTALL) | .venv/bin/python
	$(BIN)/python -m pip install -q "setuptools>=77"
	$(EDITABLE) ".[plot]"
	touch $@

.venv/installed-test: $(INSTALL) | .venv/bin/python
	$(BIN)/python -m pip install -q "setuptools>=77"
	$(EDITABLE) ".[test]"
	touch $@ .venv/installed

# PyTorch for processors, unless there is one: the file that Linux gets by default brings gigabytes for graphics cards.
# make test-extras TORCH=torch==2.13.0   takes another one, of a disk or an index of your own
TORCH ?= torch --index-url https://download.pytorch.org/whl/cpu

.venv/installed-extras: $(INSTALL) | .venv/installed-test
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/python -m pip install -q $(TORCH)
	$(EDITABLE) ".[test,extras]"
	touch $@

.venv/installed-docs: $(INSTALL) | .venv/installed
	$(EDITABLE) ".[docs]"
	touch $@

# Only when the core has changed (the build looks at the hash of its sources); without a compiler all goes on
.venv/library: $(CORE) | .venv/installed
	@if [ "$${TREEMECH_NO_LIBRARY:-0}" = 0 ]; then $(BIN)/python -m treemech.dynamics.native.caller; \
	$(BIN)/python -m treemech.dynamics.native.build --if-changed \
	|| echo "the compiled core was not built; the first use compiles it with numba (about 10 s, once)"; fi
	@touch $@
