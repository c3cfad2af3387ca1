"""Foreign energetic and active elements in whole runs: as fast as built in, and what goes wrong is named."""

import time
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
import pytest
from numba import config

import treemech as tm
from treemech.elements.compilation.callback import C_ELEMENT
from treemech.elements.compilation.explain import ElementCompileWarning

jit = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles")
as_python = pytest.mark.filterwarnings("ignore::treemech.elements.compilation.explain.ElementCompileWarning")


# ---------------------------------------------------------------- speed
@dataclass(frozen=True)
class Band(tm.Energetic):
    """What tm.Spring does, by the recipe for authors."""

    stiffness: float
    damping: float
    length: float
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        x = position[1, 0] - position[0, 0]
        y = position[1, 1] - position[0, 1]
        z = position[1, 2] - position[0, 2]
        eps[0] = sqrt(x * x + y * y + z * z) - self.length

    def effort(self, now, t, out):
        e, rate = now.deformation[0], now.rate[0]
        out.effort[0] = self.stiffness * e + self.damping * rate
        out.energy[0] = 0.5 * self.stiffness * e * e
        out.dissipated[0] = self.damping * rate * rate


@dataclass(frozen=True)
class Lagging(tm.Energetic):
    """A drive with two states, by the recipe for authors."""

    gain: float
    lag: float
    n_ends = 0
    n_coordinates = n_deformations = 1
    n_states = 2
    input_names = ("command",)

    def effort(self, now, t, out):
        out.effort[0] = -now.x[0] + 4.0 * now.rate[0]
        out.rates[0] = (self.gain * (now.x[1] - now.deformation[0]) - now.x[0]) / self.lag
        out.rates[1] = (now.inputs[0] - now.x[1]) / self.lag
        out.dissipated[0] = 4.0 * now.rate[0] ** 2
        out.supplied[0] = now.x[0] * now.rate[0]


class OwnPid(tm.Pid):
    """A built-in drive with two states as if it came from outside: compiled as it stands, not from the library."""


def chain(element, n=20):
    """Return a chain with n elements: between the ground and each link, or on each hinge."""
    system = tm.System("chain", gravity=(0, 0, 0))
    before = system.ground.at((0, 0, 0))
    for k in range(n):
        link = system.body(f"link{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        hinge = system.connect(f"hinge{k}", tm.Revolute("y"), before, link)
        if element.n_ends:
            system.connect(
                f"element{k}", element, system.ground.at((0.1 * k, 1.0, 1.0)), link.at((0.2, 0, 0))
            )
        else:
            system.connect(f"element{k}", element, hinge, inputs=dict.fromkeys(element.input_names, 0.3))
        before = link.at((0.3, 0, 0))
    return system.build()


def cpu_time(mech):
    started = time.process_time()
    run = mech.simulate((0, 4), rtol=1e-6)
    assert run.success
    return time.process_time() - started, run


@jit
@pytest.mark.slow
@pytest.mark.parametrize(
    ("foreign", "built_in"),
    [
        (Band(2.0, 2.0, 0.2), tm.Spring(2.0, 2.0, 0.2)),
        (OwnPid(3.0, 0.5, 1.0, filter=0.1), tm.Pid(3.0, 0.5, 1.0, filter=0.1)),
    ],
    ids=["spring", "active"],
)
def test_twenty_foreign_elements_run_at_the_speed_of_built_in_ones(foreign, built_in):
    both = chain(foreign), chain(built_in)
    a, b = (cpu_time(mech)[1] for mech in both)
    assert len(a.t) == len(b.t) and abs(a.q[-1] - b.q[-1]).max() < 1e-9
    least = [min(times) for times in zip(*([cpu_time(m)[0] for m in both] for _ in range(15)), strict=True)]
    assert least[0] < 1.3 * least[1]


CALLS = [0]


@dataclass(frozen=True)
class Table(tm.Energetic):
    """A spring on a coordinate that cannot be compiled."""

    n_ends = 0
    n_coordinates = n_deformations = 1

    def effort(self, now, t, out):
        CALLS[0] += 1
        stiffness = {"soft": 3.0, "hard": 30.0, 1: "x"}
        out.effort[0] = stiffness["hard"] * now.deformation[0]


@jit
def test_a_pure_python_element_works_with_a_warning_and_costs_little_more_than_a_callback():
    system = tm.System("swing", gravity=(0, 0, 0))
    body = system.body("body", mass=1.0, inertia=(1, 1, 1))
    hinge = system.connect("hinge", tm.Revolute("z"), system.ground, body)
    system.connect("table", Table(), hinge)
    with pytest.warns(
        ElementCompileWarning, match=r"Table.effort cannot be compiled: .*line \d+.*runs as a Python callback"
    ):
        mech = system.build()
    start = mech.state(u={"hinge": 1.0})
    run = mech.simulate((0, 1), start, rtol=1e-10)
    assert abs(run.q[-1, 0] - np.sin(sqrt(30.0)) / sqrt(30.0)) < 1e-8

    empty = C_ELEMENT(lambda a, b, t, par, out: 1)
    ratios = []
    for _ in range(5):
        CALLS[0], started = 0, time.process_time()
        mech.simulate((0, 20), start, rtol=1e-8)
        per_call = (time.process_time() - started) / CALLS[0]
        started = time.process_time()
        for _ in range(20000):
            empty(1, 1, 0.0, 1, 1)
        ratios.append(per_call / ((time.process_time() - started) / 20000))
    assert min(ratios) < 10.0


# ---------------------------------------------------------------- what goes wrong on the way
def breaks(t):
    if t > 0.4:
        raise ValueError("worn out")


@dataclass(frozen=True)
class OnCoordinate(tm.Energetic):
    n_ends = 0
    n_coordinates = n_deformations = 1


@dataclass(frozen=True)
class InEffort(OnCoordinate):
    def effort(self, now, t, out):
        if t > 0.4:
            raise ValueError("worn out")


@dataclass(frozen=True)
class InEffortPython(OnCoordinate):
    def effort(self, now, t, out):
        if float(f"{t:.9f}") > 0.4:
            raise ValueError("worn out")


@dataclass(frozen=True)
class InEvaluate(OnCoordinate):
    def evaluate(self, motion, t, out):
        breaks(t)


@dataclass(frozen=True)
class InEvaluatePython(OnCoordinate):
    def evaluate(self, motion, t, out):
        breaks(float(f"{t:.9f}"))


@dataclass(frozen=True)
class InRemember(OnCoordinate):
    n_memory = 1

    def effort(self, now, t, out):
        out.effort[0] = now.memory[0]

    def remember(self, motion, t, memory):
        if t > 0.4:
            raise ValueError("worn out")


@dataclass(frozen=True)
class InRememberPython(InRemember):
    def remember(self, motion, t, memory):
        breaks(float(f"{t:.9f}"))


@dataclass(frozen=True)
class InDeformedEffort(tm.Energetic):
    """Between the ground and the body."""

    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        eps[0] = position[1, 0] - position[0, 0]

    def effort(self, now, t, out):
        if t > 0.4:
            raise ValueError("worn out")


@dataclass(frozen=True)
class InLaw(OnCoordinate):
    def law(self, now, effort, t, f):
        if t > 0.4:
            raise ValueError("worn out")
        f[0] = effort[0]


@dataclass(frozen=True)
class InStates(OnCoordinate):
    """An active element."""

    n_states = 2

    def effort(self, now, t, out):
        if t > 0.4:
            raise ValueError("worn out")
        out.rates[0] = 1.0


def slide(element, **options):
    system = tm.System("slide", gravity=(0, 0, 0))
    body = system.body("sledge", mass=1.0, inertia=(1, 1, 1))
    rail = system.connect("rail", tm.Prismatic("x"), system.ground, body)
    system.connect("worn", element, *((rail,) if element.n_coordinates else (system.ground, body)), **options)
    return system


FRAGILE = [
    InEffort(), InEffortPython(), InEvaluate(), InEvaluatePython(), InRemember(), InRememberPython(),
    InDeformedEffort(), InLaw(), InStates(),
]  # fmt: skip


@jit
@as_python
@pytest.mark.parametrize("element", FRAGILE, ids=lambda e: e.kind)
def test_an_exception_reaches_the_user_with_name_time_and_what_was_computed(element):
    mech = slide(element).build()
    with pytest.raises(
        tm.ElementError, match=r"element 'worn' \(In\w+\) failed at t = 0\.4.*worn out"
    ) as caught:
        mech.simulate((0, 1), mech.state(u={"rail": 2.0}), max_step=0.02)
    assert isinstance(caught.value.__cause__, ValueError)
    run = caught.value.partial
    last = 0.42 if isinstance(element, InRemember) else 0.4  # it is asked after the step
    assert not run.success and 0.36 < run.t[-1] <= last and abs(run.q[-1, 0] - 2.0 * run.t[-1]) < 1e-9
    assert len(run.element("worn").power) == len(run.t)


@dataclass(frozen=True)
class Undefined(OnCoordinate):
    def effort(self, now, t, out):
        out.effort[0] = sqrt(0.4 - t) if t < 0.4 else nan


@dataclass(frozen=True)
class TooLong(OnCoordinate):
    def effort(self, now, t, out):
        out.effort[0] = 1.0
        out.effort[1] = 1.0


@jit
def test_an_effort_that_is_not_a_number_is_named_with_the_time():
    mech = slide(Undefined()).build()
    with pytest.raises(
        tm.ElementError, match=r"element 'worn' \(Undefined\).*not a finite number at t = 0\.4"
    ) as caught:
        mech.simulate((0, 1), max_step=0.02)
    assert 0.3 < caught.value.partial.t[-1] <= 0.4


def test_an_effort_of_the_wrong_length_is_named_at_build():
    with pytest.raises(
        tm.ElementError, match=r"TooLong.effort wrote effort\[1\], outside it; wanted \(1,\).*line \d+"
    ):
        slide(TooLong()).build()


def test_a_missing_input_and_an_unknown_one_are_named():
    drive = Lagging(1.0, 1.0)
    with pytest.raises(tm.ElementError, match=r"element 'worn' \(Lagging\) needs its input 'command'"):
        slide(drive)
    with pytest.raises(tm.ElementError, match="'comand'.*did you mean 'command'"):
        slide(drive, inputs={"command": 1.0, "comand": 2.0})
    with pytest.raises(tm.TopologyError, match="input 'command' of element 'worn'.*'throttle'"):
        slide(drive, inputs={"command": "throttle"}).build()


@pytest.mark.parametrize("times", [[0.0, 1.0, 1.0], [0.0, 2.0, 1.0]])
def test_a_table_that_does_not_increase_is_refused(times):
    with pytest.raises(tm.ElementError, match="Spline"):
        slide(Lagging(1.0, 1.0), inputs={"command": tm.Spline(times, [0.0, 1.0, 2.0])})
