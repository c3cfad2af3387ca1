"""A run kept in a file and resumed is, to the bit, the run that was never interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import treemech as tm

from ..mechanisms import random_mechanism
from ..models import random_state, random_system
from .test_events import METHODS, four_bar
from .test_unilateral import platform


def tree():
    mech = random_system(11, n=14).build()
    return mech, random_state(mech, 2)


def loop():
    return four_bar()


def loops():
    made = random_mechanism(3, planar=False, n_loops=2)
    mech = made.system.build()
    return mech, mech.assemble(guess=made.q)


def elements():
    """Springs with an internal point in equilibrium, a motor under sampled control, an element that remembers."""
    system = tm.System("elements", gravity=(0, 0, -9.81))
    block = system.body("block", mass=2.0, inertia=(1, 1, 1))
    arm = system.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("rail", tm.Prismatic("x"), system.ground.at((1.0, 0, 0)), block)
    axle = system.connect("axle", tm.Revolute("y"), block, arm)
    series = tm.Composite(ends=("a", "b"), points={"n1": 3})
    series.connect("one", tm.Spring(stiffness=100.0, length=0.5), "a", "n1")
    series.connect("two", tm.Spring(stiffness=50.0, damping=0.1, length=0.5), "n1", "b")
    system.connect("series", series, system.ground, arm.at((0.2, 0, 0.1)))
    system.controller(
        "regulator", lambda t, q, u: 3.0 - 2.0 * q - 0.3 * u, 0.05, ("axle.q", "axle.u"), ("volts",)
    )
    system.connect("drive", tm.ElectricMotor(0.3, 1.5, 0.03), axle, inputs={"voltage": "volts"})
    tissue = tm.FungHistory(
        30.0, [0.0, 0.1, 1.0, 10.0], [1.0, 0.8, 0.6, 0.5], span=1.0, length=0.8, samples=40
    )
    system.connect("tissue", tissue, system.ground.at((2, 0, 0.5)), arm.at((0.1, 0, 0)))
    mech = system.build()
    return mech, mech.state(q={"rail": 0.2})


def unilateral():
    return platform()


MODELS = {f.__name__: f for f in (tree, loop, loops, elements, unilateral)}


def stop_after(count):
    """A progress function that interrupts the run at the count-th visit."""
    calls = []

    def progress(fraction):
        calls.append(fraction)
        if len(calls) == count:
            raise KeyboardInterrupt

    return progress


def assert_equal_runs(a, b):
    for name in ("t", "q", "u", "z", "_audit", "_cut"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name in ("statistics", "message", "success", "switched", "singular"):
        assert getattr(a, name) == getattr(b, name), name
    for one, two in zip(a.events, b.events, strict=True):
        assert one.name == two.name and np.array_equal(one.t, two.t)
        for s, r in zip(one.states + one.after, two.states + two.after, strict=True):
            assert np.array_equal(s.q, r.q) and np.array_equal(s.u, r.u) and np.array_equal(s.z, r.z)
    if a._dense is not None:
        assert np.array_equal(a._dense[0], b._dense[0]) and np.array_equal(a._dense[1], b._dense[1])


def interrupted(make, tmp_path, counts, span=1.0, **options):
    """The whole run, and one that is interrupted at every count and resumed with a new mechanism each time."""
    mech, state = make()
    t_span = (state.t, state.t + span)
    if "t_eval" in options:
        options["t_eval"] = np.linspace(*t_span, options["t_eval"])
    whole = mech.simulate(t_span, state, **options)
    file, resume, parts = tmp_path / "run.ckpt", None, 0
    for count in counts:
        mech, state = make()
        part = mech.simulate(
            t_span, state, progress=stop_after(count), checkpoint=file, resume=resume, **options
        )
        if part.success:
            break
        assert "interrupted" in part.message
        assert np.array_equal(part.t, whole.t[: len(part.t)]) and np.array_equal(
            part.q, whole.q[: len(part.t)]
        )
        resume, parts = file, parts + 1
    mech, state = make()
    assert parts
    return whole, mech.simulate(t_span, state, resume=file, **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", ["tree", "loop", "elements"])
def test_methods(model, method, tmp_path):
    rng = np.random.default_rng(len(model) + len(method))
    rtol = {"DOP853": 1e-12, "auto": 1e-12, "Adams": 1e-10, "DP5": 1e-9, "Radau": 1e-7, "RK4": 1e-6}[method]
    options = {
        "method": method,
        "rtol": rtol,
        **({"max_step": 1e-3} if method == "RK4" else {"max_step": 4e-3}),
    }
    assert_equal_runs(*interrupted(MODELS[model], tmp_path, rng.integers(1, 4, size=2), **options))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("output", ["steps", "t_eval", "dense"])
def test_models_with_events_and_every_kind_of_output(model, output, tmp_path):
    rng = np.random.default_rng(len(model) + len(output))
    hinge = MODELS[model]()[0].info.hinges[-1].name
    events = [
        tm.Event(lambda t, s: np.sin(37 * t), name="clock"),
        tm.Event(lambda t, s: np.sin(11 * t + 1), action=lambda t, s: {}, name="restart"),
        tm.Event(f"{hinge}.u[0] > 0.1"),
    ]
    options = {"steps": {}, "t_eval": {"t_eval": 77}, "dense": {"dense_output": True}}[output]
    span, step = (0.35, 0.002) if model == "unilateral" else (1.0, 0.01)
    whole, again = interrupted(
        MODELS[model], tmp_path, rng.integers(2, 9, size=3), span=span, rtol=1e-8, max_step=step, events=events,
        audit=model == "elements", **options,
    )  # fmt: skip
    assert len(whole.events[0].t) > 2 and len(whole.events[1].t) > 0
    if model == "unilateral":
        assert whole.switched
    assert_equal_runs(whole, again)


def test_auto_remembers_what_it_has_tried(tmp_path):
    """A chain of springs that are stiff: it changes to Radau before or after the interruption."""

    def chain():
        system = tm.System("chain", gravity=(0, 0, -9.81))
        before = system.ground
        for k in range(4):
            body = system.body(f"b{k}", 1.0, (0.1, 0.1, 0.1))
            system.connect(f"z{k}", tm.Prismatic("z"), before, body)
            system.connect(
                f"s{k}",
                tm.Spring(stiffness=10.0 ** (2 * k), damping=10.0 ** (k + 1), length=0.5),
                before,
                body,
            )
            before = body
        mech = system.build()
        return mech, mech.state(q={f"z{k}": 0.5 for k in range(4)})

    for counts in ((1, 2), (3,), (5, 1)):
        whole, again = interrupted(chain, tmp_path, counts, span=3.0, method="auto", rtol=1e-6)
        assert whole.statistics["switches"] > 0
        assert_equal_runs(whole, again)


def test_interruptions_inside_of_an_event_are_taken_back(tmp_path):
    mech, state = four_bar()
    whole = mech.simulate((0, 1), state, events=lambda t, s: s.q[0] - 1.0, max_step=0.01)
    calls = []

    def nervous(t, s):
        calls.append(t)
        if len(calls) == 100:
            raise KeyboardInterrupt
        return s.q[0] - 1.0

    file, options = tmp_path / "run", {"max_step": 0.01}
    part = mech.simulate((0, 1), state, events=nervous, checkpoint=file, **options)
    assert not part.success and 0.0 < part.t[-1] < 1.0
    again = mech.simulate((0, 1), state, events=nervous, resume=file, **options)
    assert_equal_runs_but_names(whole, again)


def assert_equal_runs_but_names(a, b):
    assert (
        np.array_equal(a.t, b.t) and np.array_equal(a.q, b.q) and np.array_equal(a.events[0].t, b.events[0].t)
    )


def test_another_simulation_is_refused_by_name(tmp_path):
    mech, state = four_bar()
    file = tmp_path / "run"
    options = {"rtol": 1e-8, "events": "A.q > 1", "max_step": 0.01}
    mech.simulate((0, 1), state, progress=stop_after(2), checkpoint=file, **options)
    assert mech.simulate((0, 1), state, resume=file, **options).success

    def refused(match, mech=mech, span=(0, 1), state=state, **changed):
        with pytest.raises(tm.TreemechError, match=match):
            mech.simulate(span, state, resume=file, **{**options, **changed})

    refused(r"rtol is 1e-08 there, 1e-07 here", rtol=1e-7)
    refused(r"method is 'DOP853' there, 'DP5' here", method="DP5")
    refused("t_span", span=(0, 2))
    refused("events", events="A.q > 2")
    refused("its atol is another", atol=1e-5)
    refused("its t_eval is another", t_eval=[0.5])
    refused("its start is another", state=mech.assemble(fix={"A": -0.5}))
    refused("model is another", mech=loops()[0], state=None, events=None)
    with pytest.raises(tm.TreemechError, match="no checkpoint 'none'"):
        mech.simulate((0, 1), state, resume=tmp_path / "none")
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(tm.TreemechError, match="text is no checkpoint"):
        mech.simulate((0, 1), state, resume=tmp_path / "text")
    with pytest.raises(tm.TreemechError, match="checkpoint_every"):
        mech.simulate((0, 1), state, checkpoint=file, checkpoint_every=-1.0)


def test_a_model_with_one_number_changed_is_another_one(tmp_path):
    from treemech.checkpoint import fingerprint

    def model(stiffness=40.0, name="spring", mass=1.0):
        system = tm.System("model")
        arm = system.body("arm", mass, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
        system.connect("A", tm.Revolute("y"), system.ground, arm)
        system.connect(
            name, tm.Spring(stiffness=stiffness, length=1.0), arm.at((1, 0, 0)), system.ground.at((0, 0, 1))
        )
        return fingerprint(system.build())

    assert model() == model()
    assert len({model(), model(stiffness=40.0000001), model(name="other"), model(mass=1.5)}) == 4


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.dynamics.test_checkpoint import killed_run
killed_run(sys.argv[1], slow=True)
"""


def killed_run(file, slow=False, resume=None):
    mech, state = four_bar()
    events = [tm.Event(lambda t, s: np.sin(20 * t), action=lambda t, s: {}, name="clock"), "A.q > 1"]
    progress = (lambda fraction: time.sleep(0.02)) if slow else False
    return mech.simulate(
        (0, 3), state, rtol=1e-9, events=events, progress=progress, checkpoint=file, checkpoint_every=0.0, resume=resume,
        dense_output=True,
    )  # fmt: skip


def test_a_killed_process_leaves_a_file_to_go_on_from(tmp_path):
    file, root = tmp_path / "run.ckpt", Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(file), str(root)], cwd=root)
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    again, whole = killed_run(None, resume=file), killed_run(None)
    assert whole.success and len(whole.events[0].t) > 10
    assert_equal_runs(whole, again)
