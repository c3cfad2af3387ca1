"""The C extension is built beside the core, and opened only if it belongs to its source."""

import subprocess
import sys

import pytest

from treemech.dynamics.native import caller


def test_the_extension_is_built_from_its_source_and_opens_in_a_process_of_its_own(tmp_path):
    if caller.obstacle():
        pytest.skip(caller.obstacle())
    old = tmp_path / "caller-0123456789abcdef.abi3.so"
    old.write_bytes(b"")
    made = caller.build_caller(tmp_path)
    assert str(made) == caller.built(tmp_path) and caller.sound(made) and not old.exists()
    before = made.stat().st_mtime_ns
    assert caller.build_caller(tmp_path) == made and made.stat().st_mtime_ns == before
    code = (
        "import importlib.machinery as m, importlib.util as u, sys\n"
        "loader = m.ExtensionFileLoader('treemech_caller', sys.argv[1])\n"
        "module = u.module_from_spec(u.spec_from_loader('treemech_caller', loader))\n"
        "loader.exec_module(module)\n"
        "print(module.Call.__name__, module.negate > 0, 'numpy' in sys.modules)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(made)], capture_output=True, text=True, check=True
    )
    assert shown.stdout.split() == ["Call", "True", "False"]


@pytest.mark.parametrize(
    "damage", [lambda b: b"", lambda b: b[: len(b) // 4], lambda b: b[:5000] + bytes(500) + b[5500:]]
)
def test_a_damaged_file_is_named_not_opened_and_built_again(damage, tmp_path, monkeypatch, caplog):
    """The loader of the system would end the process."""
    if caller.obstacle():
        pytest.skip(caller.obstacle())
    made = caller.build_caller(tmp_path)
    made.write_bytes(damage(made.read_bytes()))
    monkeypatch.setattr(caller, "library_file", lambda name: str(tmp_path))
    caller.caller.cache_clear()
    try:
        assert caller.caller() is None
    finally:
        caller.caller.cache_clear()
    assert f"{made.name} is truncated or damaged" in caplog.text
    assert caller.sound(caller.build_caller(tmp_path))


def test_a_compiler_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "false")
    assert caller.build_caller(tmp_path) is None and not list(tmp_path.iterdir())
    monkeypatch.setenv("CC", "no-such-compiler")
    assert caller.obstacle() and caller.build_caller(tmp_path) is None


def test_the_extension_is_passed_over_where_the_library_is(monkeypatch):
    caller.caller.cache_clear()
    caller.library.jitted.cache_clear()
    monkeypatch.setenv("TREEMECH_JIT", "1")
    try:
        assert caller.caller() is None
    finally:
        monkeypatch.undo()
        caller.caller.cache_clear()
        caller.library.jitted.cache_clear()
