"""Elements on dual numbers: the same values, and the derivatives that differences have, for every kind of element."""

import ctypes
from dataclasses import dataclass
from math import atan2, cos, exp, sin, sqrt, tanh

import numpy as np
import pytest
from numba import config
from numpy.testing import assert_allclose

from treemech.dynamics.native.pieces import builtin_elements
from treemech.elements import (
    Ball,
    BristleFriction,
    Constraint,
    Coupling,
    Distance,
    EhdTraction,
    Energetic,
    Friction,
    Hinge,
    HingeStop,
    Load,
    Pid,
    PointOnSurface,
    Revolute,
    Screw,
    Signal,
    Spring,
    Tire,
    Universal,
)
from treemech.elements.assembled.rows import SeriesEnd, SeriesRows
from treemech.elements.assembled.series import AFTER, OFFSET, Series
from treemech.elements.check.checks import check
from treemech.elements.check.differences import differences
from treemech.elements.compilation.callback import C_ELEMENT
from treemech.elements.compilation.entry import make_dual_entry, make_entry
from treemech.elements.compilation.methods import members_of
from treemech.elements.constraint import rows_size
from treemech.elements.coupling import coupling_size
from treemech.elements.element import parameters, record
from treemech.topology.errors import ElementError

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="compiles")
SLOPE = (
    1e-8  # of differences of eighth order whose step is chosen by themselves, relative to the largest slope
)
STEEP = 1e6  # derivatives beside a singular place of the element (half a turn of AtRotation): differences say little there
TIME = 0.3


@dataclass(frozen=True)
class Pose(Hinge):
    """A hinge by its pose alone."""

    a: float = 0.7
    n_coordinates = 2

    def pose(self, q, t, offset, rotation):
        offset[0] = self.a * sin(q[0]) * exp(0.3 * q[1])
        offset[1] = atan2(q[0] + 2.0, q[1] - 3.0) * cos(t)
        offset[2] = sqrt(2.0 + q[0] * q[1]) + tanh(q[1]) ** 3
        c, s = cos(q[0] * q[1] + t), sin(q[0] * q[1] + t)
        rotation[0, 0], rotation[0, 1] = c, -s
        rotation[1, 0], rotation[1, 1] = s, c


@dataclass(frozen=True)
class Contact(Constraint):
    """Residual with an unknown of its own, and a slip."""

    n_holonomic = 1
    n_auxiliary = 1
    n_nonholonomic = 1

    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[0] - sin(s[0]) * rotation[1, 2] + 0.1 * t
        f[1] = offset[1] * cos(s[0]) - rotation[2, 0] ** 2

    def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):
        f[0] = velocity[0] * offset[1] * cos(s[0]) - angular_velocity[2] * rotation[0, 1] + sin(t) * offset[2]


@dataclass(frozen=True)
class Wave(Coupling):
    """Residual and slip on coordinates."""

    n_holonomic = 1
    n_nonholonomic = 1
    n_arguments = 3

    def residual(self, q, t, f):
        f[0] = sin(q[0]) * q[1] - 0.2 * exp(q[2] * t)

    def slip(self, q, u, t, f):
        f[0] = u[0] * cos(q[1]) - u[2] * q[0] * q[1] + t * q[2]


@dataclass(frozen=True)
class Maxwell(Energetic):
    """Deformation and effort, with a state and an input."""

    k: float = 4.0
    n_deformations = 2
    n_states = 1
    input_names = ("pull",)

    def deformation(self, position, rotation, t, eps):
        x = position[1, 0] - position[0, 0] + 0.3 * rotation[1, 0, 2]
        y, z = position[1, 1] - position[0, 1], position[1, 2] - position[0, 2]
        eps[0] = sqrt(x * x + y * y + z * z)
        eps[1] = atan2(rotation[0, 1, 0] * y + 2.0, rotation[1, 2, 2] + x + 3.0) * cos(t)

    def effort(self, now, t, out):
        arm = now.deformation[0] - now.x[0]
        out.effort[0] = self.k * arm + 0.2 * now.rate[0] * abs(now.rate[0]) + now.inputs[0]
        out.effort[1] = tanh(now.deformation[1]) + 0.1 * now.rate[1] * now.deformation[0]
        out.rates[0] = self.k * arm / 3.0 + 0.1 * now.inputs[0] * now.x[0]


@dataclass(frozen=True)
class Law(Energetic):
    """An implicit law with a state."""

    n_deformations = 2
    n_states = 1
    n_ends = 0
    n_coordinates = 2

    def law(self, now, effort, t, f):
        f[0] = effort[0] + 0.1 * effort[0] ** 3 - 3.0 * now.deformation[0] - now.rate[1] * now.x[0]
        f[1] = effort[1] * (2.0 + effort[0] ** 2) - sin(now.deformation[1]) + 0.3 * now.rate[0]

    def balance(self, now, t, out):
        out.rates[0] = out.effort[0] * now.deformation[1] - now.x[0]


class Given(Maxwell):
    """The same with derivatives of its effort given, on purpose others than its own."""

    def stiffness_matrix(self, now, t, out):
        out[0, 0], out[0, 1], out[1, 0], out[1, 1] = 10.0, 0.5, now.deformation[0], 7.0

    def damping_matrix(self, now, t, out):
        out[0, 0], out[1, 1] = 3.0, 2.0


@dataclass(frozen=True)
class Rough(Energetic):
    """An effort that cannot be run on other numbers than floats, and its derivatives."""

    n_deformations = 1
    n_ends = 0
    n_coordinates = 1

    def effort(self, now, t, out):
        kept = np.zeros(1)
        kept[0] = now.deformation[0]
        out.effort[0] = 5.0 * kept[0] + 2.0 * now.rate[0]

    def stiffness_matrix(self, now, t, out):
        out[0, 0] = 5.0

    def damping_matrix(self, now, t, out):
        out[0, 0] = 2.0


@dataclass(frozen=True)
class Sightless(Energetic):
    """The same without derivatives."""

    n_deformations = 1
    n_ends = 0
    n_coordinates = 1
    effort = Rough.effort


@dataclass(frozen=True)
class Chirp(Signal):
    """A signal by its value alone."""

    rate: float = 0.3

    def value(self, t):
        return sin(self.rate * t * t) * exp(self.rate)


FIELDS = [*(e for e in builtin_elements() if isinstance(e, Signal)), Chirp()]
CHOICES = {
    *(("PointOnSurface", "number"), ("Spring", "side"), ("TableSpring", "side")),
    *(("PrescribedPose", "axis"), ("PrescribedPose", "given")),
    *(("Friction", "given"), ("BristleFriction", "given")),
    *(("EhdTraction", name) for name in ("given", "roelands", "creeps", "pieces")),
}
LONG = Series(Pose(), (0.1, 0.3, 0.2), Screw(0.2, axis=(1, 2, 0)), (0, 0.2, 0.1), Universal())
END = SeriesEnd(2, np.array([0.1, 0.2, 0.3]), np.eye(3))
ASSEMBLED = [
    Series(Ball(), (0, 0.1, 0.5), Ball()), LONG, Series(LONG, (0.2, 0.1, 0), Revolute("y")),
    SeriesRows(Distance(0.7), LONG, SeriesEnd(0, np.zeros(3), np.eye(3)), END),
]  # fmt: skip
FILM = dict(radius=2.0, width=1.0, modulus=10.0, viscosity=0.1, alpha=0.1, tau_0=1.0, roughness=0.1, soft=1.0)
RUB = dict(coulomb=0.3, static=0.4, radius=0.8, stribeck=0.5, viscous=0.1, span=0.7, soft=0.5)
SMOOTH = {  # in the places of samples that lie at a corner, at infinity, or are too steep beside one, by their numbers
    "HingeStop": HingeStop(-0.001, 0.001, stiffness=40.0, damping=0.1),
    "PointOnSurface": PointOnSurface("torus", 2.0, 0.5),
    "Pid": Pid(2.0, 0.5, 0.3, filter=0.2, limit=50.0),
    "Friction": Friction(**RUB, threshold=0.2),
    "Friction of a load": Friction(**RUB, threshold=0.2, load=3.0),
    "BristleFriction": BristleFriction(**RUB, presliding=0.3),
    "BristleFriction of a load": BristleFriction(**RUB, presliding=0.3, load=3.0),
    "EhdTraction": EhdTraction(**FILM, limit=0.5),
    "EhdTraction of a load": EhdTraction(**FILM, limit=0.5, load=3.0),
}
FOREIGN = [Pose(), Contact(), Wave(), Maxwell(), Law()]


def smooth(element):
    """Return an element of the same kind whose samples lie where it is smooth."""
    of_a_load = isinstance(element, (Friction, BristleFriction, EhdTraction)) and element.given
    return SMOOTH.get(element.kind + " of a load" if of_a_load else element.kind, element)


def place(element, rng):
    """Return (a, b, size of out) at a random place of the element's domain."""
    if isinstance(element, Hinge):
        return element.sample(rng), rng.normal(size=element.n_speeds), 24 + 6 * element.n_speeds
    if isinstance(element, Constraint):
        offset, rotation, s = element.sample(rng, TIME)
        a = np.concatenate((offset, rotation.ravel(), rng.normal(size=6)))
        return a, np.concatenate((s, rng.normal(size=len(s)))), rows_size(element.n_rows, element.n_auxiliary)
    if isinstance(element, Coupling):
        k = element.n_arguments
        return element.sample(rng, TIME), rng.normal(size=k), coupling_size(element.n_rows, k)
    if isinstance(element, Energetic):
        return element.sample(rng, TIME), np.zeros(1), element.n.load_size
    if isinstance(element, Signal):
        return np.zeros(1), np.zeros(1), 3
    assert isinstance(element, Load)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return np.concatenate((rng.normal(size=3), turn.ravel())), rng.normal(size=6), 6


def numbers_of(element):
    """Its record at TIME."""
    numbers, signals = record(element)
    for at, signal in signals:
        numbers[at : at + 3] = signal.at(TIME)
    return numbers


def change_of(element, rng):
    """Return a random change of the numbers of its record: not of shapes of arrays, counts, nor fields that are a choice."""
    if isinstance(element, (Series, SeriesRows)):  # the places of the members, not how many there are of what
        change = np.zeros(len(numbers_of(element)))
        for place, member in members_of(element):
            if isinstance(member, Hinge):
                change[place + OFFSET : place + AFTER + 9] = 0.3 * rng.normal(size=AFTER + 9 - OFFSET)
        return change
    change, counts = [], set(getattr(element, "counted", {}).values())
    for p in parameters(element):
        size = 0.0 if (element.kind, p.name) in CHOICES or p.name in counts else 1.0
        if p.kind == "signal":
            change += rng.normal(size=3).tolist()
        elif p.kind == "scalar":
            change.append(size * rng.normal())
        else:
            change += [0.0] * p.value.ndim + (0.1 * size * rng.normal(size=p.value.size)).tolist()
    return np.array(change)


def caller(element):
    """Return (plain(a, b, size), with_derivatives(a, b, da, db, size)): the results of its two entries.

    One more argument of either is a change of its record.
    """
    numbers, plain, dual = numbers_of(element), make_entry(element), make_dual_entry(element)
    assert dual is not None, "it cannot be compiled for numbers with a derivative"

    def call(entry, a, b, own, out):
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, own, out)]
        assert C_ELEMENT(entry.address)(pointers[0], pointers[1], TIME, pointers[2], pointers[3]) == 1
        return out

    def plainly(a, b, size, change=0.0):
        workspace = np.zeros(size + 6000)
        if isinstance(element, Hinge):
            workspace[[3, 7, 11]] = 1.0
        return call(plain, a, b, numbers + change, workspace)[:size].copy()

    def moving(a, b, da, db, size, change=0.0):
        workspace, pairs = (
            np.zeros((size, 2)),
            [np.column_stack(np.broadcast_arrays(*x)).copy() for x in ((a, da), (b, db), (numbers, change))],
        )
        for at, member in members_of(element):
            pairs[2][at, 1] = make_dual_entry(member).address
        if isinstance(element, Hinge):
            workspace[[3, 7, 11], 0] = 1.0
        return call(dual, *pairs, workspace)

    return plainly, moving


def with_derivatives():
    """Return every built-in element that has derivatives.

    A tire that has no stiffness to slide with is at a corner everywhere.
    """
    kept = [e for e in builtin_elements() if not isinstance(e, (Tire, Signal, SeriesRows))]
    tire = Tire(1.0, 1.0, damping=0.1, longitudinal=20.0, lateral=30.0, friction=0.9)
    return [*kept, tire, *FOREIGN, *ASSEMBLED, Spring(10.0, 1.0, 0.2, force=lambda t: t * t)]


@pytest.mark.parametrize("element", with_derivatives(), ids=lambda e: e.kind)
def test_slopes_of_every_element_are_those_of_differences(element):
    rng = np.random.default_rng(3)
    if element.kind == "BristleFriction":  # bristles of 0.1 mm are too steep where ends are a metre apart
        element = smooth(element)
    plain, moving = caller(element)
    found, places = 0.0, 0
    for _ in range(6):
        a, b, size = place(element, rng)
        da, db = rng.normal(size=len(a)), rng.normal(size=len(b))
        got = moving(a, b, da, db, size)
        assert_allclose(
            got[:, 0], plain(a, b, size), rtol=1e-13, atol=1e-13 * max(1.0, np.abs(got[:, 0]).max())
        )
        want = differences(lambda h: plain(a + h * da, b + h * db, size), (size,), orders=1)  # noqa: B023
        scale = max(np.abs(want.first).max(), np.abs(got[:, 0]).max())
        if scale > STEEP:
            continue
        places += 1
        assert want.error < 1.0, "the differences themselves do not converge here"
        assert_allclose(got[:, 1], want.first, rtol=0.0, atol=SLOPE * max(scale, 1e-300))
        found = max(found, float(np.abs(got[:, 1]).max()))
    assert places > 3
    assert found > 0.0 or element.kind in ("Rigid", "Moving", "Force", "Moment"), "nothing moved"


@pytest.mark.parametrize("element", [*with_derivatives(), *FIELDS], ids=lambda e: e.kind)
def test_slopes_of_every_element_by_its_own_numbers_are_those_of_differences(element):
    rng, element = np.random.default_rng(4), smooth(element)
    plain, moving = caller(element)
    assert make_dual_entry(element).dual
    found, places = 0.0, 0
    for _ in range(6):
        (a, b, size), change = place(element, rng), change_of(element, rng)
        got = moving(a, b, 0 * a, 0 * b, size, change)
        want = differences(lambda h: plain(a, b, size, h * change), (size,), orders=1)  # noqa: B023
        scale = max(np.abs(want.first).max(), np.abs(got[:, 0]).max())
        if scale > STEEP:
            continue
        places += 1
        assert want.error < 1.0, "the differences themselves do not converge here"
        assert_allclose(got[:, 1], want.first, rtol=0.0, atol=SLOPE * max(scale, 1e-300))
        found = max(found, float(np.abs(got[:, 1]).max()))
    assert places > 3
    assert found > 0.0 or not np.any(change), "nothing changed"


def test_given_slopes_take_the_place_of_the_efforts_own():
    rng = np.random.default_rng(5)
    (_, own), (plain, given) = caller(Maxwell()), caller(Given())
    a, b, size = place(Given(), rng)
    n = Given().n
    da = np.zeros(len(a))
    places = {name: at for name, _, at in n.motion}
    da[places["velocity"]] = 1.0  # changes the rates of deformation alone
    got, mine = given(a, b, da, 0 * b, size), own(a, b, da, 0 * b, size)
    effort = dict((name, at) for name, _, at in n.load)["effort"]
    rates = dict((name, at) for name, _, at in n.load)["rates"]
    moved = a.copy()
    moved[places["velocity"]] += 1.0  # rates of deformation are linear in it
    before, after = plain(a, b, size), plain(moved, b, size)
    assert_allclose(got[:, 0], before, rtol=1e-13, atol=1e-14)
    assert_allclose(got[rates, 1], mine[rates, 1])
    # 0.1 d eps'[1] eps[0] is the effort's own, 2 d eps'[1] the given one
    share = (after[effort + 1] - before[effort + 1]) / (0.1 * before[effort - 2])
    assert_allclose(got[effort + 1, 1], 2.0 * share, rtol=1e-12)
    assert abs(got[effort, 1] - mine[effort, 1]) > 1e-3


@dataclass(frozen=True)
class Cubic(Energetic):
    """A cubic spring with a damper on a hinge coordinate, its derivatives times a factor."""

    factor: float = 1.0
    n_deformations = 1
    n_ends = 0
    n_coordinates = 1

    def effort(self, now, t, out):
        out.effort[0] = 4.0 * now.deformation[0] ** 3 + 0.3 * now.rate[0]
        out.energy[0] = now.deformation[0] ** 4
        out.dissipated[0] = 0.3 * now.rate[0] ** 2

    def stiffness_matrix(self, now, t, out):
        out[0, 0] = self.factor * 12.0 * now.deformation[0] ** 2

    def damping_matrix(self, now, t, out):
        out[0, 0] = 0.3


@dataclass(frozen=True)
class CubicLaw(Energetic):
    """An implicit law with the derivative of its solution."""

    n_deformations = 1
    n_ends = 0
    n_coordinates = 1

    def law(self, now, effort, t, f):
        f[0] = effort[0] + effort[0] ** 3 - now.deformation[0]

    def stiffness_matrix(self, now, t, out):
        F, eps = 0.0, now.deformation[0]
        for _ in range(60):
            F -= (F + F**3 - eps) / (1.0 + 3.0 * F * F)
        out[0, 0] = 1.0 / (1.0 + 3.0 * F * F)


def test_check_holds_given_slopes_to_the_effort():
    duties = [row.duty for row in check(Cubic()).rows]
    assert "stiffness_matrix: the effort by its deformation" in duties
    assert "damping_matrix: the effort by its rate" in duties
    check(CubicLaw())
    with pytest.raises(
        ElementError, match=r"stiffness_matrix\[0, 0\] of Cubic is .* not the derivative of effort"
    ):
        check(Cubic(factor=1.01))


def test_arguments_of_given_slopes_are_refused_by_name():
    @dataclass(frozen=True)
    class Wrong(Cubic):
        def damping_matrix(self, now, out):
            out[0, 0] = 0.3

    with pytest.raises(
        ElementError,
        match=r"Wrong.damping_matrix .* takes 3 arguments; wanted damping_matrix\(self, now, t, out\)",
    ):
        check(Wrong())


def test_an_effort_that_is_not_differentiable_has_slopes_if_they_are_given():
    plain, moving = caller(Rough())
    got = moving(np.array([0.2, -0.4]), np.zeros(1), np.array([1.0, 10.0]), np.zeros(1), Rough().n.load_size)
    assert_allclose(got[0], [-(5.0 * 0.2 - 2.0 * 0.4), -25.0])
    assert make_dual_entry(Sightless()) is None
