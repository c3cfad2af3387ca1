"""The examples in the docstrings, run module by module under the names users import them by."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "treemech": "treemech",
    "topology": "treemech.topology",
    "elements": "treemech.elements",
    "kinematics": "treemech.kinematics",
    "dynamics": "treemech.dynamics",
    "benchmarks": "treemech.benchmarks",
    "benchmarks/problems": "treemech.benchmarks.problems",
}
MODULES = [
    f"{package}.{path.stem}".removesuffix(".__init__")
    for folder, package in FOLDERS.items()
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.stem != "__main__"
]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name, monkeypatch, tmp_path):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("treemech"):
            raise
        pytest.skip(f"{error.name} is not installed")
    monkeypatch.chdir(tmp_path)  # an example that writes a file leaves nothing behind
    failed, _ = doctest.testmod(module, optionflags=OPTIONS)
    assert failed == 0, f"{failed} examples of {name} fail: see the output above"
