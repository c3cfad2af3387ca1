"""Results of many runs in a Zarr store: those of memory, whole blocks only, and what was there is not computed again."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import treemech as tm
from tests.support.places import ROOT
from tests.treemech.many.models import closed, four_bar, pendulum
from treemech.many.storage.store import read

LENGTHS = np.array([0.7, 0.8, 0.0, 0.9, 1.0, 1.1, 1.2])  # without its length a pendulum has no inertia
TIMES = [0.0, 0.2, 0.4]


@pytest.fixture(scope="module")
def mech():
    return pendulum()


@pytest.fixture
def computed(mech, tmp_path):
    """Return a function that computes runs of the pendulum, in a store or in memory, in blocks of two."""
    pytest.importorskip("zarr")

    def compute(stored=True, lengths=LENGTHS, **options):
        path = tmp_path / "runs.zarr" if stored else None
        options = {"t_eval": TIMES, "block": 2, "workers": 1} | options
        return mech.simulate_many((0, 0.4), mech.state(q={"A": 1.0}), {"l1": lengths}, path=path, **options)

    return compute


def equal(a, b):
    for name in ("q", "u", "l1", "steps", "evaluations", "t_reached", "success"):
        assert np.array_equal(a[name], b[name], equal_nan=True), name
    assert a["message"] == b["message"] and [str(f) for f in a.failures] == [str(f) for f in b.failures]


@pytest.mark.extras
def test_the_store_has_what_memory_has(computed, tmp_path):
    kept, stored = computed(stored=False), computed()
    equal(stored, kept)
    again = tm.read(tmp_path / "runs.zarr")
    equal(again, kept)
    assert again.complete and len(again.failures) == 1 and "no inertia" in again.failures[0].message
    assert np.array_equal(again.block(3)["q"], kept["q"][6:])


@pytest.mark.extras
def test_xarray_opens_the_store_with_names(computed, tmp_path):
    xarray = pytest.importorskip("xarray")
    stored = computed()
    with xarray.open_zarr(tmp_path / "runs.zarr") as data:
        assert np.array_equal(data.q.sel(coordinate="B", time=0.4), stored["q"][:, 2, 1], equal_nan=True)
        assert (
            np.array_equal(data.l1, LENGTHS)
            and "l1" in data.coords
            and data.run.values.tolist() == [*range(7)]
        )
        assert data.time.attrs["units"] == "s" and data.attrs["title"] == "double pendulum"
        assert data.q.encoding["chunks"] == (2, 3, 2)
        assert data.success.values.tolist() == [1, 1, 0, 1, 1, 1, 1]


@pytest.mark.extras
def test_blocks_that_are_there_are_not_computed_again(computed, tmp_path):
    def stop(fraction):
        told.append(fraction)
        if len(told) == 2:
            raise KeyboardInterrupt

    told = []
    part = computed(progress=stop)
    there = [k for k in range(4) if part.has(k)]  # those that finish together are kept in any order
    assert len(there) == 2 and not part.complete
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "runs.zarr" / "q").glob("*.0.0")}
    assert {p.name for p in before} == {f"{k}.0.0" for k in there}
    xarray = pytest.importorskip("xarray")
    with xarray.open_zarr(tmp_path / "runs.zarr") as data:  # what is not there has no number
        known = [k // 2 in there for k in range(7)]
        assert np.isfinite(data.success.values).tolist() == known
        assert np.isnan(data.q.values[~np.array(known)]).all()
    whole = computed()
    equal(whole, computed(stored=False))
    assert all(p.stat().st_mtime_ns == stamp for p, stamp in before.items())
    with pytest.raises(tm.TreemechError, match="parameters is another one"):
        computed(lengths=2.0 * LENGTHS)


@pytest.mark.extras
def test_a_block_counts_once_its_last_variable_is_there(computed, tmp_path):
    computed()
    (tmp_path / "runs.zarr" / "success" / "1").unlink()  # as if killed just before
    half = tm.read(tmp_path / "runs.zarr")
    assert [half.has(k) for k in range(4)] == [True, False, True, True]
    assert np.isnan(half["q"][2:4]).all() and half["message"][2:4] == ["not run", "not run"]
    equal(computed(), computed(stored=False))


@pytest.mark.extras
def test_arrays_of_functions_and_measures_have_their_shapes(tmp_path):
    pytest.importorskip("zarr")
    mech, lengths = (
        four_bar(),
        [9.0, 9.0, 1.0, 1.02, 9.0, 9.0],
    )  # blocks in which every run fails come first and last

    def ends(run):
        return run.q[-1]

    wanted = {"ends": ends, "max A.u": "max A.u", "a/b": "final A.q"}
    options = {"measures": wanted, "block": 2, "workers": 1}
    stored = mech.simulate_many((0, 0.1), closed, {"l": lengths}, path=tmp_path / "runs.zarr", **options)
    kept = mech.simulate_many((0, 0.1), closed, {"l": lengths}, **options)
    for runs in (stored, kept, tm.read(tmp_path / "runs.zarr")):
        assert runs["ends"].shape == (6, 3) and np.isfinite(runs["ends"][2:4]).all()
        assert np.isnan(runs["ends"][[0, 1, 4, 5]]).all() and runs["a/b"].shape == (6,)
        assert np.array_equal(runs["ends"][2:4], kept["ends"][2:4]) and runs.complete


SCRIPT = """
import sys
import numpy as np
from tests.treemech.many.models import pendulum
mech = pendulum()
mech.simulate_many((0, 20), mech.state(q={"A": 1.0}), {"l1": np.linspace(0.7, 1.3, 4000)}, path=sys.argv[1], block=10, workers=2)
"""


@pytest.mark.extras
@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_kill_9_loses_unfinished_blocks_only(tmp_path):
    pytest.importorskip("zarr")
    folder = tmp_path / "runs.zarr"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], cwd=ROOT)
    deadline = time.monotonic() + 120
    while len(list(folder.glob("success/[0-9]*"))) < 4:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    store = read(folder)
    there = [k for k in range(400) if store.has(k)]
    assert 4 <= len(there) < 400
    stamps = {k: (folder / "q" / f"{k}.0").stat().st_mtime_ns for k in there}
    mech, lengths, counted = pendulum(), np.linspace(0.7, 1.3, 4000), []

    def enough(fraction):  # resume for some blocks, then stop: the rest takes long
        counted.append(fraction)
        if len(counted) == 3:
            raise KeyboardInterrupt

    again = mech.simulate_many(
        (0, 20), mech.state(q={"A": 1.0}), {"l1": lengths}, path=folder, block=10, workers=1, progress=enough
    )
    assert counted[0] == pytest.approx(
        (len(there) + 1) * 10 / 4000
    )  # what was there is counted, not computed
    assert all((folder / "q" / f"{k}.0").stat().st_mtime_ns == stamp for k, stamp in stamps.items())
    for k in (there[0], there[-1]):
        alone = mech.with_parameters(l1=lengths[10 * k]).simulate((0, 20), mech.state(q={"A": 1.0}))
        assert np.array_equal(again.block(k)["q"][0], alone.q[-1])


@pytest.mark.extras
def test_folders_of_others_are_refused(computed, tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.open_group(tmp_path / "runs.zarr", mode="w", zarr_format=2).create_array("x", shape=(3,), dtype="f8")
    with pytest.raises(tm.TreemechError, match="something else than runs"):
        computed()
    with pytest.raises(tm.TreemechError, match=r"'nothing\.zarr' is no folder of runs"):
        read(tmp_path / "nothing.zarr")


def test_without_zarr_its_extra_is_named_before_anything_runs(mech, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(tm.TreemechError, match=r"pip install treemech\[zarr\]"):
        mech.simulate_many((0, 0.1), mech.state(), {"l1": [1.0]}, path=tmp_path / "runs.zarr")
    assert not (tmp_path / "runs.zarr").exists()
