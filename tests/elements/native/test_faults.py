"""A library that is damaged, foreign or of other sources is not used, and says so in one line; results stay right."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.support.places import ROOT
from treemech.dynamics.native import build
from treemech.elements.native import faults
from treemech.elements.native.faults import digests
from treemech.elements.native.library import open_library
from treemech.elements.native.sources import FOLDER, MANIFEST, package_folder

FIRST = """
import json, logging, sys
logging.basicConfig(level=logging.WARNING, format="%(message)s")
import treemech as tm
from treemech.dynamics.native import entry_points as native
from treemech.elements.native import library
out = {"way": native.way(), "fault": library.fault()}
if "simulate" in sys.argv:
    system = tm.System("fall", gravity=(0, 0, -2.0))
    system.connect("rail", tm.Prismatic("z"), system.ground, system.body("b", 1.0, (1, 1, 1)))
    out["z"] = float(system.build().simulate((0, 3)).q[-1, 0])
print(json.dumps(out))
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with links to these sources and a copy of the library that a test may damage."""
    if open_library() is None:
        pytest.skip("no library was built for these sources")
    place = tmp_path / "checkout"
    (place / "treemech").mkdir(parents=True)
    for path in (ROOT / "treemech").iterdir():
        if path.name not in (FOLDER, "__pycache__") and not path.is_symlink():
            (place / "treemech" / path.name).symlink_to(path)
    for folder in ("topology", "elements", "kinematics", "dynamics", "benchmarks"):
        (place / folder).symlink_to(ROOT / folder)
    shutil.copytree(package_folder() / FOLDER, place / "treemech" / FOLDER)
    library = place / "treemech" / FOLDER
    manifest = json.loads((library / MANIFEST).read_text())
    names = [p.name for p in library.iterdir() if p.name != MANIFEST]
    manifest["files"] = faults.digests(library, names)
    (library / MANIFEST).write_text(json.dumps(manifest))
    return place


def first(place, *arguments, **environment):
    """Return what a new process says, and its messages."""
    env = {k: v for k, v in os.environ.items() if k not in ("TREEMECH_JIT", "NUMBA_DISABLE_JIT")}
    env |= {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", FIRST, *arguments], env=env, cwd=place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def files(place):
    """Return the libraries of a checkout, that of any CPU first."""
    return sorted(
        p for p in (place / "treemech" / FOLDER).iterdir() if p.name.startswith(("core-", "derivatives-"))
    )


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path):
    path.write_bytes(b"")


def changed(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def of_another_machine(path):
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\xf3\x00" + bytes(1000))  # RISC-V


def test_a_sound_library_is_used(checkout):
    out, errors = first(checkout, "simulate")
    assert out == {"way": "library", "fault": "", "z": pytest.approx(-9.0, abs=1e-9)} and not errors


@pytest.mark.parametrize("damage", [truncated, emptied, changed, of_another_machine])
def test_a_damaged_library_is_not_opened(checkout, damage):
    for path in files(checkout):
        damage(path)
    out, errors = first(checkout)
    assert out["way"] == "jit" and files(checkout)[0].name in out["fault"]
    assert errors.count("\n") == 1 and "To mend it" in errors


def test_a_foreign_library_with_a_manifest_of_its_own_is_not_opened(checkout):
    for path in files(checkout):
        of_another_machine(path)
    manifest = files(checkout)[0].parent / MANIFEST
    content = json.loads(manifest.read_text())
    content["files"] = faults.digests(manifest.parent, content["files"])
    manifest.write_text(json.dumps(content))
    out, errors = first(checkout)
    assert out["way"] == "jit" and "cannot be opened here" in out["fault"] and errors.count("\n") == 1


def test_a_manifest_cut_short_is_named(checkout):
    manifest = files(checkout)[0].parent / MANIFEST
    manifest.write_text(manifest.read_text()[:100])
    out, _ = first(checkout)
    assert out["way"] == "jit" and "manifest" in out["fault"] and "build it again" in out["fault"]


def test_a_library_of_other_sources_is_not_used(checkout):
    manifest = files(checkout)[0].parent / MANIFEST
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(content | {"hash": "0" * 16, "sources": "0" * 16}))
    out, _ = first(checkout)
    assert out["way"] == "jit" and "other sources" in out["fault"]


def test_a_missing_library_is_no_fault_of_results(checkout):
    shutil.rmtree(files(checkout)[0].parent)
    out, errors = first(checkout)
    assert out == {"way": "jit", "fault": "none was built"} and not errors


@pytest.mark.slow
@pytest.mark.parametrize("damage", [truncated, changed])
def test_results_are_right_beside_a_damaged_library(checkout, damage, tmp_path):
    for path in files(checkout):
        damage(path)
    out, _ = first(checkout, "simulate", TREEMECH_CACHE_DIR=str(tmp_path / "cache"))
    assert out["way"] == "jit" and out["z"] == pytest.approx(-9.0, abs=1e-9)


def test_switches_are_told(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert "NUMBA_DISABLE_JIT" in faults.absence()
    monkeypatch.delenv("NUMBA_DISABLE_JIT")
    monkeypatch.setenv("TREEMECH_JIT", "1")
    assert "TREEMECH_JIT" in faults.absence()


# ---------------------------------------------------------------- several builds, and builds that are ended
def started(folder, **environment):
    """Start a build of what a first simulation needs into a folder."""
    command = [
        sys.executable,
        "-m",
        "treemech.dynamics.native.build",
        "--out",
        str(folder),
        "--stage",
        "first",
    ]
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    return subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": path} | environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def assert_whole(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["files"] == digests(folder, manifest["files"])
    for name in manifest["files"]:
        assert ctypes.CDLL(str(folder / name)).treemech_cpu_v3() in (0, 1)


@pytest.mark.slow
@pytest.mark.skipif(build.obstacle() != "", reason=f"no library can be built here: {build.obstacle()}")
def test_two_builds_at_once_leave_one_whole_library(tmp_path):
    both = [started(tmp_path) for _ in "ab"]
    assert [process.wait() for process in both] == [0, 0]
    assert_whole(tmp_path)
    assert not list(tmp_path.glob(".build-*"))


@pytest.mark.slow
@pytest.mark.skipif(build.obstacle() != "", reason=f"no library can be built here: {build.obstacle()}")
@pytest.mark.parametrize("after", [0.3, 1.5, 3.0])
def test_a_build_that_is_killed_leaves_the_library_as_it_was(tmp_path, after):
    process = started(tmp_path)
    time.sleep(after)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    if (tmp_path / MANIFEST).exists():
        assert_whole(tmp_path)
    assert started(tmp_path).wait() == 0  # nothing that is left disturbs the next
    assert_whole(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(build.obstacle() != "", reason=f"no library can be built here: {build.obstacle()}")
@pytest.mark.parametrize(("how", "code", "lines"), [(signal.SIGINT, 130, 1), (signal.SIGTERM, 143, 0)])
def test_a_build_that_is_interrupted_ends_at_once_and_clears_away(tmp_path, how, code, lines):
    """Ctrl-C goes to all processes of a group, and none of them shows a traceback."""
    library = tmp_path / "library"
    process = started(library, TREEMECH_CACHE_DIR=str(tmp_path / "cache"))
    while not list(library.glob(".build-*")):
        time.sleep(0.05)
    time.sleep(1.0)
    os.killpg(process.pid, how)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == code and errors.count("\n") == lines, errors
    assert not list(library.iterdir())


def test_what_a_killed_build_left_is_removed_by_a_later_one(tmp_path):
    old, new = tmp_path / ".build-old", tmp_path / ".build-new"
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (time.time() - 2e4,) * 2)
    build._forget_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [new]
