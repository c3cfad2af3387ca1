"""The versions of numba that the core is compiled by are those the package asks for."""

import tomllib

import pytest

from tests.support.places import ROOT
from treemech.elements.native import numba_version
from treemech.elements.native.numba_version import BEYOND, FIRST, numba_fault


def test_the_range_is_that_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    first, beyond = (".".join(map(str, v)) for v in (FIRST, BEYOND))
    wanted = f"numba>={first},<{beyond}"
    assert wanted in project["project"]["dependencies"] and wanted in project["build-system"]["requires"]


@pytest.mark.parametrize(
    "version, sound",
    [
        ("0.68.0", True),
        ("0.68.1rc1", True),
        ("0.67.9", False),
        ("0.69.0", False),
        ("1.0", False),
        (None, False),
    ],
)
def test_other_versions_are_named_with_what_to_do(version, sound, monkeypatch):
    monkeypatch.setattr(numba_version, "_installed", lambda: version)
    numba_fault.cache_clear()
    try:
        found = numba_fault()
    finally:
        numba_fault.cache_clear()
    assert (found == ()) is sound
    if found:
        assert (version or "not installed") in found[0] and "numba>=0.68,<0.69" in found[1]


def test_the_installed_one_is_read_without_importing_it():
    assert numba_fault() == ()
