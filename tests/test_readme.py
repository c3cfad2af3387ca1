"""What people read is true: the code in README and docs runs."""

import re

import pytest

from tests.support.places import ROOT

# Packages of the extra of this name: their pages are run by make test-extras
EXTRAS = ("jax", "torch", "fmpy", "control")


def extras_of(code):
    return [name for name in EXTRAS if re.search(rf"^\s*(import|from) {name}\b", code, re.M)]


PAGES = [
    pytest.param(
        code := "\n".join(blocks), id=path.name, marks=[pytest.mark.extras] if extras_of(code) else []
    )
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if (blocks := re.findall(r"```python\n(.*?)```", path.read_text(), re.S))
]


@pytest.mark.parametrize("code", PAGES)
def test_the_code_of_a_page_runs(code, tmp_path, monkeypatch):
    for name in extras_of(code):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "page.py"
    source.write_text(code)
    exec(compile(code, str(source), "exec"), {"__name__": "page"})


def test_links_in_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_the_example_of_the_readme_is_short():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
