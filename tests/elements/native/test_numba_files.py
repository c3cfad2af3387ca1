"""The cache of compiled code: files that are damaged, a disk that is full, no home, no network, no suitable numba."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from treemech.elements.native import place
from treemech.elements.native.library import open_library

COMPILED = """
import logging, sys
logging.basicConfig(format="%(message)s")
sys.path.insert(0, ".")
import resource
from treemech.elements.native.cache import cache_folder, compiling, numba_cache
cache_folder()
if "full" in sys.argv:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with compiling, numba_cache():
    from numba import cfunc
    from small import double
    compiled = cfunc("float64(float64)", cache=True)(double)
    cfunc("float32(float32)", cache=True)(double)
from treemech.elements.native.cache import kept
assert kept() == (not {"full", "from the beginning"} & {*sys.argv})
print(compiled.ctypes(21.0), compiled.cache_hits)
"""
FALL = """
import logging
logging.basicConfig(format="%(message)s")
import treemech as tm
from treemech.dynamics.native import entry_points as native
system = tm.System("fall", gravity=(0, 0, -2.0))
system.connect("rail", tm.Prismatic("z"), system.ground, system.body("b", 1.0, (1, 1, 1)))
print(round(system.build().simulate((0, 3)).q[-1, 0], 9), native.way())
"""

OWN_ELEMENT = """
from dataclasses import dataclass
import treemech as tm

@dataclass(frozen=True)
class Push(tm.Load):
    size: float

    def evaluate(self, end, t, load):
        load.force[2] = self.size

system = tm.System("push", gravity=(0, 0, 0))
body = system.body("b", 1.0, (1, 1, 1))
system.connect("rail", tm.Prismatic("z"), system.ground, body)
system.load("push", Push(2.0), body)
from treemech.dynamics.native import entry_points as native
print(round(system.build().simulate((0, 3)).q[-1, 0], 9), native.way())
"""


def answer(folder, code, *arguments, code_of_exit=0, **environment):
    """Return the last words a new process prints, and its messages."""
    env = {
        k: v for k, v in os.environ.items() if k not in ("TREEMECH_JIT", "NUMBA_DISABLE_JIT", "PYTHONPATH")
    }
    env |= {"PYTHONPATH": str(ROOT), "TREEMECH_CACHE_DIR": str(folder / "cache")}
    env |= environment
    env = {k: v for k, v in env.items() if v is not None}
    script = folder / "script.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, str(script), *arguments], env=env, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == code_of_exit, done.stderr
    return (done.stdout.splitlines() or [""])[-1], done.stderr


# ---------------------------------------------------------------- files
@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.py").write_text("def double(x):\n    return 2.0 * x\n")
    return tmp_path


def kept(folder, suffix):
    return sorted((folder / "cache").rglob(f"*{suffix}"))


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize(
    "damage",
    [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"\0" * len(b)],
    ids=["empty", "half", "zeros"],
)
def test_a_damaged_file_of_the_cache_is_compiled_again(small, suffix, damage):
    assert answer(small, COMPILED)[0] == "42.0 0"
    for path in kept(small, suffix):
        path.write_bytes(damage(path.read_bytes()))
    out, errors = answer(small, COMPILED)
    assert out == "42.0 0" and errors.count("\n") == 1 and "clear-cache" in errors
    assert answer(small, COMPILED) == ("42.0 1", "")  # it was mended


def test_on_a_full_disk_what_is_compiled_is_not_kept(small):
    pytest.importorskip("resource")
    out, errors = answer(small, COMPILED, "full")
    assert out == "42.0 0" and "make room" in errors and errors.count("\n") == 1
    assert answer(small, COMPILED)[0] == "42.0 0"  # nothing half-written is left


def test_a_full_cache_folder_is_seen_before_anything_is_compiled(small):
    resource = pytest.importorskip("resource")
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n{COMPILED}"
    assert resource.RLIMIT_FSIZE is not None
    out, errors = answer(small, code, "from the beginning")
    assert out.startswith("42.0") and "set TREEMECH_CACHE_DIR" in errors and "make room" not in errors


# ---------------------------------------------------------------- no home
def test_without_home_the_user_is_asked_of_the_system(tmp_path):
    out, errors = answer(tmp_path, FALL, HOME=None, TREEMECH_CACHE_DIR=None, XDG_CACHE_HOME=None)
    assert out.split()[0] == "-9.0" and "Error" not in errors


def test_a_user_without_a_home_gets_a_temporary_folder(monkeypatch):
    def nobody():
        raise RuntimeError("Could not determine home directory.")

    for name in ("TREEMECH_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    place.temporary_folder.cache_clear()
    try:
        folder = place.cache_root()
        assert folder.is_dir() and folder == place.cache_root() and os.access(folder, os.W_OK)
    finally:
        place.temporary_folder.cache_clear()
    code = "from pathlib import Path\ndef nobody(): raise RuntimeError('none')\nPath.home = nobody\n"
    code += "from treemech.elements.native.cache import cache_folder; print(cache_folder().is_dir())"
    out, _ = answer(folder, code, TREEMECH_CACHE_DIR=None, XDG_CACHE_HOME=None)
    assert out == "True"


# ---------------------------------------------------------------- no network
def test_nothing_asks_for_a_network(tmp_path):
    code = (
        "import socket\ndef refuse(*a, **k): raise OSError('no network')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "import sys; from treemech.command import main\n"
        "codes = [main(c) for c in ([], ['info'], ['doctor', '--no-self-test'], ['example', 'four_bar', '--out', 'o'])]\nprint(codes)"
    )
    assert answer(tmp_path, code)[0] == "[0, 0, 0, 0]"


# ---------------------------------------------------------------- numba
@pytest.fixture
def old_numba(tmp_path):
    """A folder in which numba is said to be of another version."""
    info = tmp_path / "other" / "numba-0.60.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.60.0\n")
    return os.pathsep.join((str(info.parent), str(ROOT)))


def test_beside_an_old_numba_everything_runs_as_python(tmp_path, old_numba):
    out, errors = answer(tmp_path, FALL, TREEMECH_JIT="1", PYTHONPATH=old_numba)
    assert (
        out == "-9.0 python"
        and "numba 0.60.0" in errors
        and "pip install" in errors
        and errors.count("\n") == 1
    )


@pytest.mark.skipif(open_library() is None, reason="no library was built for these sources")
def test_beside_an_old_numba_the_library_serves_and_own_elements_run_as_python(tmp_path, old_numba):
    assert answer(tmp_path, FALL, PYTHONPATH=old_numba) == ("-9.0 library", "")
    out, errors = answer(tmp_path, OWN_ELEMENT, PYTHONPATH=old_numba)
    assert out == "9.0 library" and "numba 0.60.0" in errors and errors.count("\n") == 1


@pytest.mark.skipif(open_library() is None, reason="no library was built for these sources")
def test_the_library_needs_no_numba(tmp_path):
    assert answer(tmp_path, "import sys; sys.modules['numba'] = None\n" + FALL) == ("-9.0 library", "")


def test_a_numba_that_cannot_be_imported_is_named(tmp_path):
    code = "import sys; sys.modules['numba'] = None\n" + FALL
    _, errors = answer(tmp_path, code, code_of_exit=1, TREEMECH_JIT="1")
    assert "TreemechError: numba cannot be imported" in errors.splitlines()[-1] and "doctor" in errors
