"""Many runs: each is that of `simulate`, over any executor; what fails, or is killed, takes nothing else with it."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treemech as tm
from tests.support.places import ROOT
from tests.treemech.many.models import (
    closed,
    dies_once,
    floating,
    four_bar,
    last_torque,
    own_element,
    pendulum,
)
from treemech.many.block_runs import takes
from treemech.many.job import Job, Rows
from treemech.many.runs import ManyRuns

LENGTHS = np.linspace(0.7, 1.3, 24)


@pytest.fixture(scope="module")
def mech():
    return pendulum()


@pytest.fixture(scope="module")
def wanted(mech):
    start = mech.state(q={"A": 1.0})
    return np.array([mech.with_parameters(l1=x).simulate((0, 0.5), start).q[-1] for x in LENGTHS])


@pytest.mark.parametrize("executor", [None, "threads", "own"])
@pytest.mark.parametrize("block", [None, 1, 7, 100])
def test_runs_are_those_of_simulate(mech, wanted, executor, block):
    with ThreadPoolExecutor(3) as own:
        given = own if executor == "own" else executor
        runs = mech.simulate_many(
            (0, 0.5), mech.state(q={"A": 1.0}), {"l1": LENGTHS}, executor=given, workers=2, block=block
        )
    assert np.array_equal(runs["q"], wanted) and runs.success.all() and runs.complete and not runs.failures


def test_processes_make_the_mechanism_themselves(mech, wanted, tmp_path):
    runs = mech.simulate_many(
        (0, 0.5),
        mech.state(q={"A": 1.0}),
        {"l1": LENGTHS},
        measures={"sum": last_torque},
        executor="processes",
        workers=1,
    )
    assert np.array_equal(runs["sum"], wanted.sum(axis=1))


def test_elements_of_ones_own_travel_by_their_module():
    mech = own_element()
    arguments = ((0, 0.3), mech.state(q={"A": [0.3, 0.6]}))
    here = mech.simulate_many(*arguments)
    there = mech.simulate_many(*arguments, executor="processes", workers=1)
    alone = mech.simulate((0, 0.3), mech.state(q={"A": 0.6}))
    assert np.array_equal(here["q"], there["q"]) and here["q"][1, 0] == alone.q[-1, 0]


def test_starts_by_a_function_and_measures_over_time():
    mech, times = four_bar(), np.linspace(0, 0.4, 5)
    lengths = [0.95, 1.0, 1.05]
    runs = mech.simulate_many(
        (0, 0.4), closed, {"l": lengths}, t_eval=times, measures=["A.q", "max A.u", "coupler.position[2]"]
    )
    for k, x in enumerate(lengths):
        own = mech.with_parameters(l=x)
        run = own.simulate((0, 0.4), closed(own), t_eval=times)
        assert np.array_equal(runs["A.q"][k], run.connection("A").q)
        assert np.array_equal(runs["coupler.position[2]"][k], run.body("coupler").position[:, 2])
    assert runs["max A.u"].shape == (3,) and runs["A.q"].shape == (3, 5)


@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from([pendulum, floating]),
    st.sampled_from(["DP5", "DOP853"]),
    st.booleans(),
    st.integers(0, 99),
)
def test_blocks_of_trees_have_the_numbers_of_simulate(make, method, sampled, seed):
    mech, rng = make(), np.random.default_rng(seed)
    designs = {n: v * rng.uniform(0.8, 1.2, 5) for n, v in mech.parameters.items()}
    q = mech.state().q + 0.2 * rng.normal(size=(5, mech.nq))
    for k in mech._lagrange.euler_parameters:
        q[:, k : k + 4] /= np.linalg.norm(q[:, k : k + 4], axis=1)[:, None]
    u, times = rng.normal(size=(5, mech.nu)), np.array([0.0, 0.1, 0.3]) if sampled else None
    runs = mech.simulate_many(
        (0, 0.3), mech.state(q=q, u=u), designs, t_eval=times, method=method, rtol=1e-7, block=2
    )
    job = Job(mech, (0.0, 0.3), None, times, None, {"method": method})
    assert takes(job, Rows(5, designs, {}, q, u))
    for k in range(5):
        own = mech.with_parameters(**{n: x[k] for n, x in designs.items()})
        run = own.simulate((0, 0.3), own.state(q=q[k], u=u[k]), t_eval=times, method=method, rtol=1e-7)
        last = slice(None) if sampled else -1
        assert np.array_equal(runs["q"][k], run.q[last]) and np.array_equal(runs["u"][k], run.u[last])
        assert (
            runs["steps"][k] == run.statistics["steps"]
            and runs["evaluations"][k] == run.statistics["evaluations"]
        )


def test_states_and_inputs_differ_by_run(mech):
    angles, torques = np.array([0.1, 0.2, 0.3]), np.array([0.0, 1.0, -1.0])
    states = mech.state(q={"A": angles})
    runs = mech.simulate_many((0, 0.2), states, inputs={"torque": torques})
    for k in range(3):
        motion = mech.stepper(mech.state(q={"A": angles[k]}), 0.2)
        motion.step({"torque": torques[k]})
        np.testing.assert_allclose(runs["q"][k], motion.q, rtol=0, atol=1e-5)
    one_by_one = mech.simulate_many(
        (0, 0.2), [mech.state(q={"A": a}) for a in angles], inputs={"torque": torques}
    )
    assert np.array_equal(one_by_one["q"], runs["q"])


def test_a_run_that_fails_is_a_record(mech):
    def fussy(run):
        if run.q[0, 0] > 0.25:
            raise ValueError("too far")
        return 1.0

    runs = mech.simulate_many(
        (0, 0.1),
        mech.state(q={"A": [0.1, 0.2, 0.3, 0.0]}),
        {"l1": [1.0, 0.0, 1.0, 2.0]},
        measures={"f": fussy},
    )
    assert runs.success.tolist() == [True, False, False, True]
    inertia, far = runs.failures
    assert inertia.run == 1 and "no inertia" in inertia.message and inertia.parameters == {"l1": 0.0}
    assert far.run == 2 and "measure 'f': ValueError: too far" in far.message
    assert np.isnan(runs["f"][1:3]).all() and "2 of 4 runs failed" in runs.summary


def test_a_run_that_does_not_reach_its_end_tells_how_far_it_came(mech):
    runs = mech.simulate_many((0, 5), mech.state(q={"A": [0.1, 2.0]}), max_steps=10)
    assert not runs.success.any() and "max_steps = 10" in runs.failures[0].message
    assert 0.0 < runs.failures[0].t < 5.0


def test_blocks_on_the_disk_are_the_results(mech, wanted, tmp_path):
    start, folder = mech.state(q={"A": 1.0}), tmp_path / "study"
    runs = mech.simulate_many((0, 0.5), start, {"l1": LENGTHS}, path=folder, block=5)
    assert np.array_equal(runs["q"], wanted) and len(list(folder.glob("block-*.nc"))) == 5
    before = {p: p.stat().st_mtime_ns for p in folder.glob("*.nc")}
    (folder / "block-000002.nc").unlink()
    again = mech.simulate_many((0, 0.5), start, {"l1": LENGTHS}, path=folder)
    assert np.array_equal(again["q"], wanted)
    kept = [p.stat().st_mtime_ns == before[p] for p in sorted(before)]
    assert kept == [True, True, False, True, True]
    read = tm.read(folder)
    assert np.array_equal(read["q"], wanted) and np.array_equal(read["l1"], LENGTHS) and read.complete
    with pytest.raises(tm.TreemechError, match="parameters is another one"):
        mech.simulate_many((0, 0.5), start, {"l1": 2 * LENGTHS}, path=folder)
    with pytest.raises(tm.TreemechError, match="t_span is another one"):
        mech.simulate_many((0, 0.6), start, {"l1": LENGTHS}, path=folder)


def test_xarray_reads_a_block_by_itself(mech, wanted, tmp_path):
    xarray = pytest.importorskip("xarray")
    runs = mech.simulate_many(
        (0, 0.5), mech.state(q={"A": 1.0}), {"l1": LENGTHS}, path=tmp_path / "s", t_eval=[0, 0.5], block=20
    )
    with xarray.open_dataset(tmp_path / "s" / "block-000001.nc") as data:
        assert np.array_equal(data.q[:, -1], wanted[20:]) and data.time.values.tolist() == [0.0, 0.5]
    data = runs.to_xarray()
    assert np.array_equal(data.q.sel(time=0.5, coordinate="B"), wanted[:, 1])


def test_ctrl_c_keeps_what_there_is(mech, tmp_path):
    def stop(fraction):
        if fraction > 0.3:
            raise KeyboardInterrupt

    start, folder = mech.state(q={"A": 1.0}), tmp_path / "study"
    runs = mech.simulate_many(
        (0, 0.5), start, {"l1": LENGTHS}, path=folder, block=3, workers=1, progress=stop
    )
    assert not runs.complete and 3 <= runs.success.sum() < 24 and runs.failures[-1].message == "not run"
    done = mech.simulate_many((0, 0.5), start, {"l1": LENGTHS}, path=folder)
    assert done.complete and done.success.all()


SCRIPT = """
import sys
import numpy as np
from tests.treemech.many.models import pendulum
mech = pendulum()
mech.simulate_many((0, 20), mech.state(q={"A": 1.0}), {"l1": np.linspace(0.7, 1.3, 4000)}, path=sys.argv[1], block=10, workers=2)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_kill_9_loses_unfinished_blocks_only(tmp_path):
    folder = tmp_path / "study"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], cwd=ROOT)
    deadline = time.monotonic() + 120
    while len(list(folder.glob("block-*.nc"))) < 4:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = ManyRuns.read(folder)
    there = [k for k in range(left.n_blocks) if left.has(k)]
    stamps = {k: (folder / f"block-{k:06d}.nc").stat().st_mtime_ns for k in there}
    assert 4 <= len(there) < left.n_blocks
    mech, lengths = pendulum(), np.linspace(0.7, 1.3, 4000)
    counted = []

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
    for k, stamp in stamps.items():
        assert (folder / f"block-{k:06d}.nc").stat().st_mtime_ns == stamp
    k = there[0]
    alone = [
        mech.with_parameters(l1=x).simulate((0, 20), mech.state(q={"A": 1.0})).q[-1]
        for x in lengths[10 * k : 10 * k + 10]
    ]
    assert np.array_equal(again.block(k)["q"], alone)


@pytest.mark.slow
def test_a_worker_process_that_dies_is_replaced(mech, wanted, tmp_path, monkeypatch):
    monkeypatch.setenv("TREEMECH_TEST_MARK", str(tmp_path / "died"))
    runs = mech.simulate_many(
        (0, 0.5),
        mech.state(q={"A": 1.0}),
        {"l1": LENGTHS},
        measures={"A": dies_once},
        executor="processes",
        workers=2,
        block=4,
    )
    assert (tmp_path / "died").exists() and np.array_equal(runs["A"], wanted[:, 0])


def test_what_workers_cannot_make_is_refused_before_anything_runs(mech, tmp_path):
    from concurrent.futures import Executor, Future

    class Other(Executor):
        def submit(self, function, /, *args, **options):
            future = Future()
            future.set_result("there is no module 'mine' there" if function.__name__ == "ready" else None)
            return future

    with pytest.raises(
        tm.TreemechError, match="cannot make mechanism 'double pendulum': there is no module 'mine'"
    ):
        mech.simulate_many((0, 1), mech.state(), {"l1": LENGTHS}, executor=Other())


def test_bad_arguments_are_named(mech):
    with pytest.raises(tm.TreemechError, match="a row for every run"):
        mech.simulate_many((0, 1))
    with pytest.raises(tm.TreemechError, match="they have 2, 3 rows"):
        mech.simulate_many((0, 1), parameters={"l1": [1, 2], "m2": [1, 2, 3]})
    with pytest.raises(tm.TreemechError, match="no parameter 'l9'"):
        mech.simulate_many((0, 1), parameters={"l9": [1.0]})
    with pytest.raises(tm.TreemechError, match="'force'"):
        mech.simulate_many((0, 1), inputs={"force": [1.0]})
    with pytest.raises(tm.TreemechError, match="'A.q' is a measure over time"):
        mech.simulate_many((0, 1), parameters={"l1": [1.0]}, measures=["A.q"])
    for wrong, message in (
        ({"rtl": 1e-3}, "no option 'rtl'.*'rtol'"),
        ({"method": "Euler"}, "'Euler'"),
        ({"rtol": 2.0}, "rtol is 2.0"),
        ({"events": "A.q"}, "no comparison"),
        ({"events": "X.q < 0"}, "'X.q'"),
    ):
        with pytest.raises(tm.TreemechError, match=message):
            mech.simulate_many((0, 1), parameters={"l1": [1.0]}, **wrong)
    ball = floating()
    for wrong in (["final ball.q"], ["ball.q"], ["max ball.flux"]):  # in no run a number
        with pytest.raises(tm.TreemechError, match="ball"):
            ball.simulate_many((0, 1), parameters={"m": [1.0]}, t_eval=[0, 1], measures=wrong)
    for block in (0, "x", 2.5, True):
        with pytest.raises(tm.TreemechError, match="wanted a number of runs from 1"):
            mech.simulate_many((0, 1), parameters={"l1": [1.0]}, block=block)
    with pytest.raises(tm.TreemechError, match="executor is 'gpu'"):
        mech.simulate_many((0, 1), parameters={"l1": [1.0]}, executor="gpu")


def test_a_folder_that_cannot_be_made_is_named(mech, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(tm.TreemechError, match="cannot be made"):
        mech.simulate_many((0, 1), parameters={"l1": [1.0]}, path=tmp_path / "file" / "study")
