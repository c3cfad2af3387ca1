"""The doctor: what it looks at, and what it says when something is wrong."""

import json

import pytest

from treemech.command import main
from treemech.commands import doctor
from treemech.dynamics.native import entry_points as native
from treemech.elements.native import library, numba_version


def findings(capsys, *options):
    code = main(["doctor", "--json", *options])
    found = json.loads(capsys.readouterr().out)["findings"]
    return code, {f["name"]: f for f in found}


def test_a_sound_set_up_has_no_fault(capsys):
    code, found = findings(capsys)
    assert code == 0
    assert {"versions", "core", "cpu", "cache", "compiler", "first run", "example"} <= set(found)
    assert not [f for f in found.values() if f["state"] == "FAIL"]
    assert (
        "times import numpy" in found["first run"]["text"]
        and "known values reached" in found["example"]["text"]
    )


def test_people_read_what_to_do(capsys, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("TREEMECH_CACHE_DIR", str(blocked))
    assert main(["doctor", "--no-self-test"]) == 0
    text = capsys.readouterr().out
    assert "cannot be written" in text and "-> set TREEMECH_CACHE_DIR" in text and "warnings." in text


def test_a_fault_of_the_library_is_named(capsys, monkeypatch):
    monkeypatch.setattr(library, "fault", lambda: "core-base.so is empty")
    code, found = findings(capsys, "--no-self-test")
    assert code == 0 and found["core"]["state"] == "warn" and "is empty" in found["core"]["text"]


@pytest.mark.parametrize(
    "version, says", [("0.60.0", "0.60.0"), (None, "not installed"), ("0.70.1", "0.70.1")]
)
@pytest.mark.parametrize("way, state, code", [("library", "warn", 0), ("python", "FAIL", 1)])
def test_a_numba_that_was_not_tested_is_a_fault_only_where_it_is_needed(
    version, says, way, state, code, capsys, monkeypatch
):
    monkeypatch.setattr(numba_version, "_installed", lambda: version)
    monkeypatch.setattr(native, "way", lambda: way)
    numba_version.numba_fault.cache_clear()
    try:
        left, found = findings(capsys, "--no-self-test")
    finally:
        numba_version.numba_fault.cache_clear()
    assert left == code and found["numba"]["state"] == state
    assert says in found["numba"]["text"] and "pip install" in found["numba"]["advice"]


def test_a_self_test_that_crashes_is_a_fault(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SELF_TEST", "raise RuntimeError('no core')")
    code, found = findings(capsys)
    assert code == 1 and found["first run"]["state"] == "FAIL" and "no core" in found["first run"]["text"]


def test_a_wrong_result_is_a_fault(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SELF_TEST", doctor.SELF_TEST.replace("stiffness=8.0", "stiffness=8.001"))
    code, found = findings(capsys)
    assert code == 1 and "wrong" in found["first run"]["advice"]
