"""A run kept in a file and resumed is, to the bit, the run that was never interrupted."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import MODELS, four_bar, loops
from tests.support.places import ROOT
from tests.treemech.simulation.test_events import METHODS


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
@pytest.mark.parametrize("model", ["tree", "four_bar", "elements"])
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
    hinge = MODELS[model]()[0]._info.hinges[-1].name
    events = [
        tm.Event(lambda t, s: np.sin(37 * t), name="clock"),
        tm.Event(lambda t, s: np.sin(11 * t + 1), action=lambda t, s: {}, name="restart"),
        tm.Event(f"{hinge}.u[0] > 0.1"),
    ]
    options = {"steps": {}, "t_eval": {"t_eval": 77}, "dense": {"dense_output": True}}[output]
    span, step = (0.4, 0.002) if model == "platform" else (1.0, 0.01)
    whole, again = interrupted(
        MODELS[model], tmp_path, rng.integers(2, 9, size=3), span=span, rtol=1e-8, max_step=step, events=events,
        audit=model == "elements", **options,
    )  # fmt: skip
    assert len(whole.events[0].t) > 2 and len(whole.events[1].t) > 0
    if model == "platform":
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


class Interrupt:
    """Raises KeyboardInterrupt at the n-th line of Python that the driver of an integration runs."""

    FILES = ("driver.py", "snapshot.py", "event_search.py", "automatic.py")

    def __init__(self, n):
        self.left, self.inside = n, False

    def __call__(self, frame, event, arg):
        self.inside |= frame.f_code.co_name == "go"
        return self.line if self.inside and frame.f_code.co_filename.endswith(self.FILES) else None

    def line(self, frame, event, arg):
        self.left -= event == "line"
        if self.left == 0:
            raise KeyboardInterrupt
        return self.line


@pytest.mark.parametrize("model", ["elements", "platform"])
def test_an_interruption_at_any_line_is_taken_back(model, tmp_path):
    def simulate(**options):
        mech, state = MODELS[model]()
        events = [
            tm.Event(lambda t, s: np.sin(37 * t), action=lambda t, s: {}, name="clock"),
            lambda t, s: np.cos(31 * t),
        ]
        return mech.simulate(
            (0, 0.35), state, rtol=1e-8, max_step=0.01, events=events, t_eval=[0.1, 0.2, 0.3], **options
        )

    def interrupted_at(n):
        before, interrupt = sys.gettrace(), Interrupt(n)
        sys.settrace(interrupt)
        try:
            return simulate(checkpoint=file), n - interrupt.left
        finally:
            sys.settrace(before)

    file = tmp_path / "run"
    whole, lines = interrupted_at(10**9)
    assert whole.success and lines > 1000
    for n in np.random.default_rng(1).integers(20, lines, size=12):
        part, _ = interrupted_at(int(n))
        assert not part.success and "interrupted" in part.message
        assert_equal_runs(whole, simulate(resume=file))


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
    from treemech.files.checkpoint import fingerprint

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
from tests.treemech.files.test_checkpoint import killed_run
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
    file, root = tmp_path / "run.ckpt", ROOT
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


def controlled(period=0.01, measures=("angle",)):
    system = tm.System("controlled")
    arm = system.body("arm", mass=2.0, inertia=(0.01, 0.06, 0.06), com=(0.3, 0, 0))
    shoulder = system.connect("shoulder", tm.Revolute("y"), system.ground, arm)
    motor = tm.ElectricMotor(constant=0.5, resistance=2.0, inductance=1e-2)
    system.connect("motor", motor, shoulder, inputs={"voltage": "u"})
    system.measure("angle", "shoulder.q")
    system.measure("speed", "shoulder.u")
    system.controller("hold", lambda t, q: 9.0 * (0.5 - q), period=period, measures=measures, inputs=["u"])
    return system.build()


@pytest.mark.parametrize(
    "options", [{"period": 0.02}, {"measures": ("speed",)}], ids=["another period", "another measure"]
)
def test_another_controller_is_refused_by_name(options, tmp_path):
    file = tmp_path / "run.ckpt"
    controlled().simulate((0, 1), progress=stop_after(20), checkpoint=file)
    with pytest.raises(tm.TreemechError, match="another simulation: controllers .*'hold'"):
        controlled(**options).simulate((0, 1), resume=file)


def test_another_audit_is_refused_by_its_own_name(tmp_path):
    file = tmp_path / "run.ckpt"
    controlled().simulate((0, 1), progress=stop_after(20), checkpoint=file)
    with pytest.raises(tm.TreemechError, match="audit is False there, True here"):
        controlled().simulate((0, 1), resume=file, audit=True)


@pytest.mark.parametrize("path", ["missing/run.ckpt", ".", 3])
def test_a_checkpoint_that_cannot_be_kept_is_told_before_the_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tm.TreemechError, match=f"checkpoint .*{path}"):
        controlled().simulate((0, 1), checkpoint=path, progress=lambda fraction: pytest.fail("it started"))


def test_a_disk_that_fails_on_the_way_does_not_end_the_run(tmp_path, monkeypatch):
    def full(*args, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(UserWarning, match="run.ckpt.*No space left"):
        run = controlled().simulate((0, 0.1), checkpoint=tmp_path / "run.ckpt", checkpoint_every=0)
    assert run.success


def test_a_file_that_is_no_checkpoint_is_no_matter_of_pickles(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    with pytest.raises(tm.TreemechError, match=r"notes\.txt is no checkpoint of treemech"):
        controlled().simulate((0, 1), resume=file)
