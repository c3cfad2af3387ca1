"""Files appear whole or not at all: processes killed and disks that fail leave the old file or the new one."""

import os
import subprocess
import sys

import pytest

import treemech as tm
from tests.support.places import ROOT
from treemech.files import atomic

# Children that write one of two contents over the other, without end; each is killed at some moment.
KILLS = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
import treemech as tm

kind, folder, kills = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

def pendulum(name, n):
    system = tm.System(name)
    before = system.ground
    for k in range(n):
        body = system.body(f"{name} {k}", mass=1.0, inertia=(1, 1, 1), com=(0, 0, -0.1 * k))
        system.connect(f"pin {k}", tm.Revolute("y"), before, body)
        before = body
    return system

systems = [pendulum("old", 12), pendulum("new", 16)]
if kind == "json":
    things, target = systems, folder / "kept.json"
    content = lambda thing: len(thing.bodies)
else:
    mechs = [s.build() for s in systems]
    things = [m.simulate((0, 0.2), m.state(q={"pin 0": 0.5}), t_eval=np.linspace(0, 0.2, 200)) for m in mechs]
    for thing in things:
        thing._results()
    target = folder / "kept.npz"
    content = lambda thing: (thing._info.name, thing.q.tobytes(), thing.ud.tobytes())
known = [content(thing) for thing in things]
things[1].save(target)
started = time.perf_counter()
things[0].save(target)
one = time.perf_counter() - started
rng, seen, halfway = random.Random(1), set(), 0
for kill in range(kills):
    child = os.fork()
    if child == 0:
        while True:
            for thing in things[::-1]:
                thing.save(target)
    time.sleep(rng.uniform(0.0, 5.0 * one))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = content(tm.read(target))
    assert found in known, "torn"
    seen.add(known.index(found))
    left = list(folder.glob(".*.tmp"))
    halfway += len(left)
    for path in left:
        path.unlink()
assert [p.name for p in folder.iterdir()] == [target.name]
print(len(seen), halfway)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", ["json", "npz"])
def test_a_process_killed_while_saving_leaves_the_old_file_or_the_new_one(kind, tmp_path):
    command = [sys.executable, "-c", KILLS, kind, str(tmp_path), "60"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    seen, halfway = map(int, done.stdout.split())
    assert seen == 2  # both contents were met
    assert halfway >= 5  # and so many kills came in the middle of writing


@pytest.fixture(scope="module")
def kept():
    system = tm.System("pendulum")
    bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1))
    system.connect("pin", tm.Revolute("y"), system.ground, bob)
    mech = system.build()
    return system, mech.simulate((0, 0.5), mech.state(q={"pin": 0.3}))


def failing_sync(handle):
    raise OSError(28, "No space left on device")


def failing_stream(handle, mode):
    """A stream whose disk is full after some bytes."""
    stream = os.fdopen(handle, mode)
    write, workspace = stream.write, [100]

    class Full:
        def __getattr__(self, name):
            return getattr(stream, name)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            stream.close()

        def write(self, content):
            workspace[0] -= len(content)
            if workspace[0] < 0:
                write(bytes(content)[:50])
                raise OSError(28, "No space left on device")
            return write(content)

    return Full()


@pytest.mark.parametrize("where", ["fsync", "fdopen"])
@pytest.mark.parametrize("name", ["kept.json", "kept.npz", "kept.nc"])
def test_a_disk_that_fails_leaves_the_old_file_and_nothing_else(name, where, kept, tmp_path, monkeypatch):
    if name.endswith(".nc"):
        pytest.importorskip("xarray")
    thing = kept[0] if name.endswith(".json") else kept[1]
    path = thing.save(tmp_path / name)
    before = path.read_bytes()

    class Failing:
        def __getattr__(self, attribute):
            return getattr(os, attribute)

    failing = Failing()
    setattr(failing, where, failing_sync if where == "fsync" else failing_stream)
    monkeypatch.setattr(atomic, "os", failing)
    with pytest.raises(OSError, match="No space left"):
        thing.save(path)
    with pytest.raises(OSError, match="No space left"):
        thing.save(tmp_path / f"other{path.suffix}")
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_goes_wrong_while_writing_leaves_the_old_file(error, tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(error), atomic.atomic(target) as stream:
        stream.write(b"half")
        raise error
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_files_may_be_read_by_those_whom_the_mask_lets(kept, tmp_path):
    mask = os.umask(0o027)
    try:
        assert (kept[0].save(tmp_path / "model").stat().st_mode & 0o777) == 0o640
    finally:
        os.umask(mask)


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    """The error would name a temporary file that nobody asked for."""

    def refused(**_):
        raise PermissionError(13, "Permission denied", str(tmp_path / ".a.csv.x.tmp"))

    monkeypatch.setattr(atomic.tempfile, "mkstemp", refused)
    with pytest.raises(
        PermissionError, match=r"the folder '.*' cannot be written \(Permission denied\), so 'a.csv'"
    ):
        with atomic.atomic(tmp_path / "a.csv"):
            pass
    assert not list(tmp_path.iterdir())
