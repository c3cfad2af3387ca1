"""Run the tests against the treemech that is installed, not against a checkout::

    python .ci/installed.py CHECKOUT [--all | arguments of pytest]

Tests and what they read (README, docs) are copied to a folder of their own, so that nothing else can be imported. Left out is what
looks at the sources of a checkout: tests/rules, and the tests that tests/support/checkout_only.txt names.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BESIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "CHANGELOG.md",
    "CITATION.cff",
    "pyproject.toml",
    "tests",
    "docs",
)
QUICK = (
    "tests/test_readme.py",
    "tests/treemech/test_examples.py",
    "tests/treemech/test_command.py",
    "tests/treemech/commands",
)
FIRST = """
import sys
import treemech
from treemech.dynamics.native.entry_points import way
print(f"treemech {treemech.__version__} in {treemech.__path__[0]}, core: {way()}")
place = treemech.__path__[0]
if place.startswith(sys.argv[1]) and not place.startswith(sys.prefix):  # .venv-wheel may stand in the checkout
    sys.exit("treemech comes from the checkout")
sys.exit(way() != "library" and "no built library")
"""


def main() -> int:
    given = sys.argv[1:]
    checkout = Path(given.pop(0) if given else ".").resolve()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with tempfile.TemporaryDirectory(prefix="treemech-tests-") as folder:
        for name in BESIDE:
            source, target = checkout / name, Path(folder, name)
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, ignore=ignore) if source.is_dir() else shutil.copy(source, target)
        shutil.rmtree(Path(folder, "tests", "rules"))
        if subprocess.run(
            [sys.executable, "-c", FIRST, str(checkout)], cwd=folder, env=environment
        ).returncode:
            return 1
        left_out = (Path(folder, "tests", "support", "checkout_only.txt").read_text()).split()
        chosen = [a for a in given if a != "--all"] or ([] if given else list(QUICK))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            *(f"--deselect={name}" for name in left_out),
            *chosen,
        ]
        return subprocess.run(command, cwd=folder, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
