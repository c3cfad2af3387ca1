"""Derivatives through foreign elements are exact to rounding: of ripples too fine for differences, against complex steps."""

from dataclasses import dataclass
from math import sin

import numpy as np
import pytest
from numba import config
from numpy.testing import assert_allclose

import treemech as tm

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="compiled elements only")
A, W, G = (
    1e-3,
    5e4,
    9.81,
)  # height and wave number of the ripple: its phase goes on by 390 rad within the first step of differences
EXACT = 1e-10  # rounding of sin(W x), 1e-16 W x, in the terms that cancel


@dataclass(frozen=True)
class Ripple(tm.Energetic):
    """A torque that waves with the angle."""

    n_ends = 0
    n_coordinates = n_deformations = 1

    def effort(self, now, t, out):
        out.effort[0] = 2.0 * sin(W * now.deformation[0]) + 0.3 * now.rate[0]


@dataclass(frozen=True)
class Pull(tm.Energetic):
    """The same between two points, by deformation and effort."""

    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        eps[0] = position[1, 0] - position[0, 0]

    def effort(self, now, t, out):
        out.effort[0] = 2.0 * sin(W * now.deformation[0]) + 0.3 * now.rate[0]


@dataclass(frozen=True)
class Rail(tm.Hinge):
    """Along x on a wavy line."""

    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[0], offset[1] = q[0], A * sin(W * q[0])


@dataclass(frozen=True)
class Track(tm.Constraint):
    """A point stays on the wavy line."""

    n_holonomic = 1

    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[1] - A * sin(W * offset[0])


@dataclass(frozen=True)
class Touch(tm.Constraint):
    """The same with a place on the line of its own."""

    n_holonomic = n_auxiliary = 1

    def residual(self, offset, rotation, s, t, f):
        f[0], f[1] = offset[0] - s[0], offset[1] - A * sin(W * s[0])

    def auxiliary(self):
        return [0.3]


@dataclass(frozen=True)
class Follow(tm.Coupling):
    """The same for two coordinates."""

    n_holonomic = 1
    n_arguments = 2

    def residual(self, q, t, f):
        f[0] = q[1] - A * sin(W * q[0])


def by_complex_step(f, x):
    """d f(x) / dx, column by column."""
    h = 1e-200
    return np.array([f(x + 1j * h * e).imag / h for e in np.eye(len(x))]).T


@pytest.mark.parametrize("element", [Ripple(), Pull()], ids=["on a coordinate", "between points"])
def test_loads_that_wave(element):
    system = tm.System("ripple", gravity=(0, 0, 0))
    body = system.body("body", mass=2.0, inertia=(1.0, 1.0, 1.0))
    slide = system.connect("slide", tm.Prismatic("x"), system.ground, body)
    system.connect("wave", element, *((slide,) if element.n_ends == 0 else (system.ground, body)))
    mech = system.build()
    d = mech.derivatives(mech.state(q={"slide": 0.3}, u={"slide": 0.7}))
    assert_allclose(d.ud_q, -W * np.cos(W * 0.3)[None, None], rtol=EXACT)
    assert_allclose(d.ud_u, [[-0.15]], rtol=1e-12)


def test_a_hinge_that_waves():
    system = tm.System("rail", gravity=(0, -G, 0))
    system.connect("rail", Rail(), system.ground, system.body("body", mass=2.0, inertia=(1.0, 1.0, 1.0)))
    mech = system.build()

    def ud(x):
        q, u = x
        slope, bend = A * W * np.cos(W * q), -A * W * W * np.sin(W * q)
        return np.array([-slope * (bend * u * u + G) / (1.0 + slope * slope)])

    d = mech.derivatives(mech.state(q={"rail": 0.3}, u={"rail": 0.02}))
    want = by_complex_step(ud, np.array([0.3, 0.02]))
    assert_allclose(np.hstack((d.ud_q, d.ud_u)), want, rtol=EXACT)


@pytest.mark.parametrize("way", ["constraint", "auxiliary", "coupling", "cut hinge"])
def test_chords_that_wave(way):
    system = tm.System("track", gravity=(0, -G, 0))
    sledge = system.body("sledge", mass=1.0, inertia=(1.0, 1.0, 1.0))
    body = system.body("body", mass=2.0, inertia=(1.0, 1.0, 1.0))
    system.connect("x", tm.Prismatic("x"), system.ground, sledge)
    system.connect("y", tm.Prismatic("y"), sledge, body)
    if way == "coupling":
        system.couple("line", Follow(), "x", "y")
    elif way == "cut hinge":
        system.connect("line", Rail(), system.ground, body, role="chord")
    else:
        system.connect("line", Track() if way == "constraint" else Touch(), system.ground, body)
    mech = system.build()
    near = {"line": 0.3} if way == "cut hinge" else {}
    state = mech.assemble(fix={"x": 0.3}, guess={"y": A * np.sin(W * 0.3), **near}, rates={"x": 0.02})
    assert_allclose(state.q[:2], [0.3, A * np.sin(W * 0.3)], rtol=1e-9)
    d = mech.derivatives(state)

    def ud(x):
        slope, bend = A * W * np.cos(W * x[0]), -A * W * W * np.sin(W * x[0])
        # by the equations of index 1: the row has the slope at x, whatever y is
        K = np.array([[3.0, 0.0, slope], [0.0, 2.0, -1.0], [-slope, 1.0, 0.0]])
        return np.linalg.solve(K, np.array([0.0, -2.0 * G, bend * x[2] ** 2]))[:2]

    want = by_complex_step(ud, np.concatenate((state.q[:2], state.u[:2])))
    got = np.hstack((d.ud_q, d.ud_u))
    # moves that keep to the line, with speeds that do; others mean something else to what is fitted to the line
    slope, bend = A * W * np.cos(W * 0.3), -A * W * W * np.sin(W * 0.3)
    along = np.array([[1.0, slope, 0.0, bend * 0.02], [0.0, 0.0, 1.0, slope]]).T
    assert_allclose(got @ along, want @ along, rtol=0.0, atol=EXACT * np.abs(want).max())
    if way != "cut hinge" and way != "auxiliary":
        assert_allclose(got, want, rtol=EXACT, atol=EXACT * np.abs(want).max())
