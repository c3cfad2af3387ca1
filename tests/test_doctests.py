"""The examples in the docstrings, run module by module under the names users import them by."""

import doctest
import importlib

import pytest

from tests.support.places import ROOT

FOLDERS = ("treemech", "topology", "elements", "kinematics", "dynamics", "benchmarks")
FILES = [
    path.relative_to(ROOT).with_suffix("")
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.stem != "__main__" and not any(parent.is_symlink() for parent in path.parents)
]
MODULES = [
    ".".join(("treemech", *file.parts)).removesuffix(".__init__").replace("treemech.treemech", "treemech")
    for file in FILES
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
