"""Derivatives by parameters are exact to rounding, trees and closed chains: of waves too fine for any difference, in closed
form and by complex steps; and what is left where an element allows none."""

from dataclasses import dataclass
from math import cos, exp, sin, sqrt

import numpy as np
import pytest
from numba import config

import treemech as tm
from tests.support.parametric import four_bar, four_bar_start, spatial, spatial_start, tree, tree_start
from treemech.description.parameters import directions, plan_derivatives
from treemech.dynamics.analyses.dual_model import DualModel
from treemech.dynamics.analyses.parameter_derivatives import Stencil

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="compiled elements only")
W = 5e4  # wave number: the phase goes on by 25 rad within the shortest step of a difference between models
EXACT = 1e-9  # rounding of sin(W x), 1e-16 W x, where the waves cancel


@dataclass(frozen=True)
class Wave(tm.Energetic):
    """A force along x that waves with a number of its own and with the place of its end."""

    number: float
    n_ends = 1
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        eps[0] = position[0, 0]

    def effort(self, now, t, out):
        out.effort[0] = 2.0 * sin(W * self.number) + 3.0 * sin(W * now.deformation[0])


@dataclass(frozen=True)
class WaveHinge(tm.Hinge):
    """Along x, as a wave of its number shifts it."""

    number: float
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[0] = q[0] + sin(self.number)
        offset[2] = cos(self.number) * q[0] * q[0]


@dataclass(frozen=True)
class WaveRow(tm.Constraint):
    """Keeps a height that waves with its number."""

    number: float
    n_holonomic = 1

    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[2] - 0.1 * sin(W * self.number) * (1.0 + offset[0])


@dataclass(frozen=True)
class WaveSignal(tm.Signal):
    number: float

    def value(self, t):
        return exp(0.1 * sin(W * self.number)) * t


def exactly(mech, names):
    assert all(isinstance(x, DualModel) for x in directions(mech, names))
    assert all(x.exact for x in plan_derivatives(mech, names))


def test_numbers_of_a_foreign_element_and_the_points_it_acts_at():
    """m ud = -F - m g at q + l: both numbers inside a wave of 5e4 rad a unit."""
    a, l, m = tm.Parameter("a", 0.31), tm.Parameter("l", 0.7), tm.Parameter("m", 2.0)
    system = tm.System("wave", gravity=(1.5, 0, 0))
    bob = system.body("bob", m, (0.1, 0.1, 0.1))
    system.connect("way", tm.Prismatic("x"), system.ground.at((0.2 * l, 0, 0)), bob)
    system.connect("wave", Wave(a), bob.at((l, 0, 0)))
    mech, names = system.build(), ["a", "l", "m"]
    d = mech.derivatives(mech.state(q={"way": 0.4}), parameters=names)
    exactly(mech, names)
    x = 0.4 + 1.2 * 0.7
    force = -(2.0 * np.sin(W * 0.31) + 3.0 * np.sin(W * x))
    want = [-2.0 * W * np.cos(W * 0.31) / 2.0, -3.0 * W * 1.2 * np.cos(W * x) / 2.0, -force / 4.0]
    np.testing.assert_allclose(d.ud_p[0], want, rtol=EXACT)


def test_arithmetic_on_parameters_may_wave():
    """A mass 2 + sin(W a) / 2: the Plan's numbers themselves are differentiated exactly."""
    a, system = tm.Parameter("a", 0.123), tm.System("swing", gravity=(0, 0, -9.81))
    rod = system.body("rod", 2.0 + 0.5 * np.sin(W * a), (0.1, 0.2, 0.1), com=(0.5, 0, 0))
    system.connect("pin", tm.Revolute("y"), system.ground, rod)
    mech = system.build()
    d = mech.derivatives(mech.state(), parameters=["a"])
    exactly(mech, ["a"])
    m, slope = 2.0 + 0.5 * np.sin(W * 0.123), 0.5 * W * np.cos(W * 0.123)
    inertia = 0.2 + 0.25 * m
    want = 9.81 * 0.5 * slope * (1.0 / inertia - 0.25 * m / inertia**2)
    assert d.ud_p[0, 0] == pytest.approx(want, rel=EXACT)


def test_a_constraint_that_waves():
    """A bead on the wire z = k (1 + x), k = sin(W a) / 10: x'' = -g k / (1 + k^2), its derivative by a complex step."""
    a, system = tm.Parameter("a", 0.217), tm.System("bead", gravity=(0, 0, -9.81))
    bead = system.body("bead", 3.0, (0, 0, 0))
    system.connect("place", tm.Translation(), system.ground, bead)
    system.connect("wire", WaveRow(a), system.ground, bead)
    mech = system.build()
    d = mech.derivatives(mech.assemble(fix={"place[0]": 0.3}), parameters=["a"])
    exactly(mech, ["a"])
    k = 0.1 * np.sin(W * (0.217 + 1e-30j))
    want = -9.81 * k / (1.0 + k * k)
    assert d.ud[0] == pytest.approx(want.real, rel=1e-10)
    assert d.ud_p[0, 0] == pytest.approx(want.imag / 1e-30, rel=EXACT)


def test_a_hinge_that_waves():
    """Its shift leaves the motion alone, its slope z = cos(a) x^2 does not: (1 + 4 c^2 x^2) x'' = -2 c x g at rest."""
    a, system = tm.Parameter("a", 0.6), tm.System("bowl", gravity=(0, 0, -9.81))
    bead = system.body("bead", 3.0, (0, 0, 0))
    system.connect("bowl", WaveHinge(W * a), system.ground, bead)
    mech = system.build()
    d = mech.derivatives(mech.state(q={"bowl": 0.3}), parameters=["a"])
    exactly(mech, ["a"])
    c = np.cos(W * (0.6 + 1e-30j))
    want = -2.0 * c * 0.3 * 9.81 / (1.0 + 4.0 * c * c * 0.09)
    assert d.ud[0] == pytest.approx(want.real, rel=1e-10)
    assert d.ud_p[0, 0] == pytest.approx(want.imag / 1e-30, rel=EXACT)


@pytest.mark.parametrize("number", [0.2, 0.9])
def test_a_signal_that_waves_moves_what_it_prescribes(number):
    a, system = tm.Parameter("a", number), tm.System("driven", gravity=(0, 0, 0))
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0, 0, 0.3))
    arm = system.body("arm", 2.0, (0.1, 0.1, 0.1), com=(0, 0, 0.2))
    system.connect("spin", tm.Revolute("z"), system.ground, bob)
    system.connect("swing", tm.Revolute("y"), bob, arm)
    system.prescribe("spin", WaveSignal(a))
    mech = system.build()
    state = mech.state(0.5, q={"swing": 0.6})
    d = mech.derivatives(state, parameters=["a"])
    exactly(mech, ["a"])
    rate = np.exp(0.1 * np.sin(W * number))
    slope = rate * 0.1 * W * np.cos(W * number)
    # (J + m c^2) ud = m c^2 w^2 sin cos, by w = rate
    want = 2.0 * 0.04 / (0.1 + 2.0 * 0.04) * 2.0 * rate * slope * np.sin(0.6) * np.cos(0.6)
    assert d.ud_p[1, 0] == pytest.approx(want, rel=EXACT)


@pytest.mark.parametrize(
    ("model", "start"), [(tree, tree_start), (four_bar, four_bar_start), (spatial, spatial_start)]
)
def test_models_with_parameters_everywhere_are_exact(model, start):
    mech = model().build()
    mech.derivatives(start(mech), parameters=list(mech.parameters))
    exactly(mech, list(mech.parameters))


@dataclass(frozen=True)
class Root(tm.Energetic):
    """A pull with the root of its number, which is zero: as far as it stays there, nothing changes."""

    number: float
    stiffness: float
    n_ends = 0
    n_coordinates = n_deformations = 1

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * sqrt(self.number * self.number) + now.deformation[0]


@dataclass(frozen=True)
class Sightless(tm.Energetic):
    """Its effort works with floats only."""

    stiffness: float
    n_ends = 0
    n_coordinates = n_deformations = 1

    def effort(self, now, t, out):
        kept = np.zeros(1)
        kept[0] = now.deformation[0]
        out.effort[0] = self.stiffness * kept[0]


def swing(element):
    m, system = tm.Parameter("m", 2.0), tm.System("swing", gravity=(0, 0, 0))
    rod = system.body("rod", 1.0, (m, m, m))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("pull", element, pin)
    return system.build()


def test_where_numbers_have_no_derivative_models_are_compared():
    mech = swing(Root(0.0, 3.0))
    found = mech.derivatives(mech.state(q={"pin": 0.4}), parameters=["m"])
    assert isinstance(directions(mech, ["m"])[0], DualModel)
    assert found.ud_p[0, 0] == pytest.approx(0.4 / 4.0, rel=EXACT)


def test_elements_for_floats_only_are_compared_too():
    mech = swing(Sightless(tm.Parameter("k", 5.0)))
    found = mech.derivatives(mech.state(q={"pin": 0.4}), parameters=["m", "k"])
    assert all(isinstance(x, Stencil) for x in directions(mech, ["m", "k"]))
    np.testing.assert_allclose(found.ud_p[0], [5.0 * 0.4 / 4.0, -0.4 / 2.0], rtol=EXACT)


@dataclass(frozen=True)
class Held(tm.Energetic):
    """Its own numbers go where floats alone can go, what it sees does not."""

    stiffness: float
    n_ends = 0
    n_coordinates = n_deformations = 1

    def effort(self, now, t, out):
        kept = np.zeros(1)
        kept[0] = self.stiffness
        out.effort[0] = kept[0] * now.deformation[0]


def test_only_derivatives_by_numbers_that_must_be_floats_are_differences():
    mech = swing(Held(tm.Parameter("k", 5.0)))
    found = mech.derivatives(mech.state(q={"pin": 0.4}), parameters=["m", "k"])
    assert [type(x) for x in directions(mech, ["m", "k"])] == [DualModel, Stencil]
    np.testing.assert_allclose(found.ud_p[0], [5.0 * 0.4 / 4.0, -0.4 / 2.0], rtol=EXACT)
    assert found.ud_q[0, 0] == pytest.approx(-2.5, rel=1e-12)
