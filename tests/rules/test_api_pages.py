"""The pages of docs/api name things that exist, and every public name of the library is on one of them."""

import re
from importlib import import_module

import pytest

import treemech as tm
from tests.support.places import ROOT

PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
ENTRIES = [
    entry
    for page in PAGES
    for entry in re.findall(r"^\.\. auto(class|function|module):: ([\w.]+)(?:\(\))?$", page.read_text(), re.M)
]
# What authors of elements meet as arguments, and what the contracts explain
ARGUMENTS = {
    "Deformed", "Effort", "EndLoad", "EndMotion", "EndsLoad", "EndsMotion", "Motion", "RelativeMotion", "Rows", "CouplingRows",
    "SignalValue", "AxialHinge", "Element", "axis_field", "structure", "as_signal", "SeriesRows", "hertz_stiffness",
    "restitution_damping", "examples", "ElementCompileWarning", "__version__",
}  # fmt: skip


def found(name):
    module, _, own = name.rpartition(".")
    return getattr(import_module(module), own)


@pytest.mark.parametrize(("kind", "name"), ENTRIES, ids=[name for _, name in ENTRIES])
def test_what_a_page_names_exists(kind, name):
    if kind == "module":
        import_module(name)
    else:
        assert isinstance(found(name), type) == (kind == "class")


def test_every_public_name_is_on_a_page():
    named = {name.rpartition(".")[2] for _, name in ENTRIES}
    assert not set(tm.__all__) - named - ARGUMENTS


def test_every_page_is_in_the_list():
    listed = (ROOT / "docs" / "api" / "index.md").read_text().split()
    assert {page.stem for page in PAGES} - {"index"} <= set(listed)
    shown = (ROOT / "docs" / "index.md").read_text().split()
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= set(shown)
