"""One mechanism in several threads: each computes what it would compute alone, to the bit."""

import gc
import os
import signal
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import elements, four_bar_system, loops, pendulum, platform, tree
from tests.support.parametric import four_bar as parametric_four_bar
from tests.support.parametric import four_bar_start

THREADS = 8


@dataclass(frozen=True)
class Gust(tm.Load):
    """A load of the user, compiled."""

    size: float

    def evaluate(self, end, t, load):
        load.force[0] = self.size * np.sin(3.0 * t) - 0.1 * end.velocity[0]


@dataclass(frozen=True)
class PythonGust(Gust):
    """The same, in a form that numba cannot compile."""

    def evaluate(self, end, t, load):
        load.force[0] = float(f"{self.size * np.sin(3.0 * t) - 0.1 * end.velocity[0]:.15g}")


def swinging(connect):
    """Return a pendulum of two links; `connect` adds to it."""
    system = tm.System("two links")
    a = system.body("a", 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0))
    b = system.body("b", 0.7, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    connect(system, a, b)
    mech = system.build()
    return mech, [mech.state(q={"A": 0.1 + 0.05 * k}) for k in range(THREADS)]


def compiled_gust():
    return swinging(lambda system, a, b: system.load("gust", Gust(3.0), b))


def python_gust():
    with pytest.warns(UserWarning, match="PythonGust"):
        return swinging(lambda system, a, b: system.load("gust", PythonGust(3.0), b))


def remembering():
    hysteretic = tm.RambergOsgood(50.0, yield_force=10.0, length=0.7)
    return swinging(
        lambda system, a, b: system.connect("k", hysteretic, system.ground.at((0, 0, 1)), b.at((1, 0, 0)))
    )


def rubbing():
    """Return a four-bar linkage with friction that depends on the load of its pins."""
    system = four_bar_system()
    for name in ("A", "C"):
        system.connect(f"rub {name}", tm.Friction(0.1, radius=0.05, threshold=0.05), name)
    mech = system.build()
    return mech, [mech.assemble(fix={"A": -0.6 + 0.02 * k}, rates={"A": 6.0}) for k in range(THREADS)]


def several(make):
    """Return a model of tests.support.driven with starts at different times."""
    mech, start = make()
    ends = mech.simulate((0, 0.4), start, t_eval=np.linspace(0, 0.4, THREADS))
    return mech, [ends.state(k) for k in range(THREADS)]


MODELS = {
    "tree": lambda: several(tree),
    "loops": lambda: several(loops),
    "composite, controller, memory": lambda: several(elements),
    "unilateral": lambda: several(platform),
    "compiled element": compiled_gust,
    "element in Python": python_gust,
    "memory": remembering,
    "friction by reactions": rubbing,
}


def everything(mech, start):
    """Return numbers of several analyses, those of one of them read late."""
    t0, numbers = start.t, []
    run = mech.simulate((t0, t0 + 0.5), start, rtol=1e-7, t_eval=np.linspace(t0, t0 + 0.5, 6), audit=True)
    forward = mech.forward_dynamics(start)
    stiff = mech.simulate(
        (t0, t0 + 0.1), start, method="Radau", events="A.u > 100" if "A" in mech.speeds else None
    )
    loads = mech.reactions(start)
    numbers += [run.q, run.u, run.z, run._audit, run.ud, run.multipliers, run._results().trace]
    numbers += [run.energy.total, stiff.t, stiff.q, stiff.ud, forward.ud, forward.multipliers]
    numbers += [mech.mass_matrix(start), mech.load_column(start)]
    numbers += [part for load in loads.values() for part in load]
    assert run.success and stiff.success, run.message + stiff.message
    return b"".join(np.ascontiguousarray(x).tobytes() for x in numbers)


def shared(mech, starts, rounds):
    """Return how many of the threads' results differ from those of one thread."""
    want = [everything(mech, start) for start in starts]
    ready = threading.Barrier(THREADS)

    def work(k):
        ready.wait()
        return [everything(mech, starts[j % THREADS]) == want[j % THREADS] for j in range(k, k + rounds)]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # as many changes between the threads as possible
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            found = [same for part in pool.map(work, range(THREADS)) for same in part]
    finally:
        sys.setswitchinterval(before)
    assert len(found) == THREADS * rounds
    return found.count(False)


@pytest.mark.parametrize("name", MODELS)
def test_threads_that_share_a_mechanism_get_what_one_gets_alone(name):
    assert shared(*MODELS[name](), rounds=2) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_thousand_runs_of_threads_are_equal_to_the_bit(name):
    assert shared(*MODELS[name](), rounds=125) == 0


def test_derivatives_by_parameters_are_those_of_one_thread():
    mech = parametric_four_bar().build()

    def slopes(_):
        state = four_bar_start(mech)
        found = mech.derivatives(state, parameters=list(mech.parameters))
        along = mech.sensitivities((0, 0.1), four_bar_start, t_eval=[0.0, 0.1])
        return b"".join(
            np.ascontiguousarray(x).tobytes() for x in (found.ud, found.ud_q, found.ud_p, along.q, along.u)
        )

    want = slopes(0)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(slopes, range(8))) == [want] * 8


def test_an_element_that_fails_is_named_in_its_own_thread_only():
    @dataclass(frozen=True)
    class Fragile(tm.Load):
        limit: float

        def evaluate(self, end, t, load):
            if end.position[2] < self.limit:
                raise ValueError("too deep")
            load.force[0] = 1.0

    mech, _ = swinging(lambda system, a, b: system.load("fragile", Fragile(-0.5), a.at((1, 0, 0))))
    ready = threading.Barrier(THREADS)

    def work(k):
        ready.wait()
        found = []
        for _ in range(10):
            try:
                mech.simulate((0, 0.05 if k % 2 else 2.0), mech.state(q={"A": 0.1}))
                found.append("")
            except tm.ElementError as error:
                found.append(f"{error} {error.__cause__}")
        return found

    with ThreadPoolExecutor(THREADS) as pool:
        for k, found in enumerate(pool.map(work, range(THREADS))):
            assert all(text == "" if k % 2 else "'fragile'" in text and "too deep" in text for text in found)
    assert (
        sys.unraisablehook is sys.__unraisablehook__ or "treemech" not in type(sys.unraisablehook).__module__
    )


def test_one_element_is_compiled_once_by_threads_that_build_it_together(caplog):
    slope = 1.5  # a closure is never kept on the disk, so that every process compiles it

    @dataclass(frozen=True)
    class Fresh(tm.Load):
        size: float

        def evaluate(self, end, t, load):
            load.force[1] = self.size * end.position[1] + slope * t

    ready = threading.Barrier(4)

    def build(_):
        ready.wait()
        mech, starts = swinging(lambda system, a, b: system.load("fresh", Fresh(2.0), a.at((0, 1, 0))))
        return mech.forward_dynamics(starts[0]).ud.tobytes()

    with caplog.at_level("INFO", "treemech"), ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(build, range(4)))) == 1
    assert sum("compiled Fresh" in text for text in caplog.messages) == (
        0 if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") else 1
    )


def test_a_run_is_read_in_another_thread_than_it_was_made_in():
    mech, starts = several(loops)
    want = mech.simulate((0, 0.3), starts[0], dense_output=True)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(lambda: mech.simulate((0, 0.3), starts[0], dense_output=True)).result()
    name = mech._info.chords[0].name
    assert np.array_equal(run.connection(name).force, want.connection(name).force)
    assert np.array_equal(run.sol(0.123)[0], want.sol(0.123)[0])
    assert np.array_equal(run.body("b1").velocity, want.body("b1").velocity)


class Nosy:
    """Uses a mechanism in the middle of its own simulation: another state, another run; but not inside itself."""

    def __init__(self):
        self.mech = None

    def __call__(self, *_):
        mech, self.mech = self.mech, None
        if mech is not None:
            state = mech.state(q={"A": 0.7}, u={"B": 1.0})
            mech.forward_dynamics(state)
            assert mech.simulate((0, 0.02), state, rtol=1e-3, audit=True).energy.total[0] != 0.0
            self.mech = mech
        return 0.0


def test_a_function_of_the_user_may_use_the_mechanism_while_it_runs():
    nosy = Nosy()

    @dataclass(frozen=True)
    class Looking(tm.Load):
        size: float

        def evaluate(self, end, t, load):
            load.force[0] = self.size * np.sin(3.0 * t) + nosy(str(t))

    def connect(system, a, b):
        system.load("gust", Looking(3.0), b)
        system.controller("hold", lambda t, q: 0.1 + nosy(), 0.1, ["A.q"], ["volts"])
        system.connect("motor", tm.ElectricMotor(0.3, 1.5, 0.03), "A", inputs={"voltage": "volts"})
        hysteretic = tm.RambergOsgood(50.0, yield_force=10.0, length=0.7)
        system.connect("k", hysteretic, system.ground.at((0, 0, 1)), b.at((1, 0, 0)))

    with pytest.warns(UserWarning, match="Looking"):
        mech, starts = swinging(connect)
    event = tm.Event(lambda t, state: state.q[0] - 0.12 + nosy(), action=lambda t, state: nosy() or None)

    def numbers():
        run = mech.simulate((0, 0.3), starts[0], rtol=1e-5, events=event, progress=nosy, audit=True)
        return [x.tobytes() for x in (run.t, run.q, run._audit, run.ud, run.events[0].t)]

    alone = numbers()
    nosy.mech = mech
    assert numbers() == alone and nosy.mech is mech


def test_a_mechanism_is_forgotten_with_the_arrays_of_its_threads():
    def slopes(mech):
        return mech.derivatives(four_bar_start(mech), parameters=list(mech.parameters))

    mech = parametric_four_bar().build()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(slopes, [mech, mech]))
        slopes(mech)
        core, gone = weakref.ref(mech._core), weakref.ref(mech)
        del mech
        gc.collect()
        assert gone() is None and core() is None


def test_other_threads_run_while_the_core_integrates():
    """Python hands over to another thread only when the simulation lets go of the interpreter."""
    mech = pendulum()
    start = mech.state(q={"A": 1.0})
    mech.simulate((0, 1), start)
    started, done = threading.Event(), []

    def work():
        started.set()
        done.append(mech.simulate((0, 3000), start, rtol=1e-10, t_eval=[3000]).success)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        meanwhile = not done
        thread.join()
    finally:
        sys.setswitchinterval(before)
    assert meanwhile and done == [True]


def test_ctrl_c_ends_the_run_of_the_main_thread_and_no_other():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    mech = pendulum()
    start = mech.state(q={"A": 1.0})
    other, shown = [], []

    def progress(done):
        shown.append(done)
        if len(shown) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(
        target=lambda: other.append(mech.simulate((0, 300), start, rtol=1e-10, t_eval=[300]))
    )
    thread.start()
    run = mech.simulate((0, 30000), start, rtol=1e-10, t_eval=[30000], progress=progress)
    thread.join()
    signal.signal(signal.SIGINT, before)
    assert not run.success and run.message.startswith("interrupted")
    assert other[0].success
