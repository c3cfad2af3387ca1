"""Smooth contact: restitution, Hertz's impact, rolling after sliding, Haug's chain with impact."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gamma

import treemech as tm
from tests.support.balance import assert_balance


def thrown(element, v, mass=0.4):
    """A ball thrown at a plane without gravity, from just above it."""
    system = tm.System("ball", gravity=(0, 0, 0))
    ball = system.body("ball", mass=mass, inertia=(1e-3, 1e-3, 1e-3))
    system.connect("way", tm.Prismatic("z"), system.ground, ball)
    system.connect("contact", element, system.ground, ball)
    mech = system.build()
    return mech, mech.assemble(fix={"way": element.radius + 1e-9}, rates={"way": -v})


@pytest.mark.parametrize("restitution", [0.95, 0.6, 0.2])
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_ball_rebounds_with_the_restitution_asked_for(restitution, exponent):
    v = 1.7
    damping = tm.restitution_damping(restitution, v)
    mech, state = thrown(tm.SpherePlane(0.05, 1e5, exponent=exponent, damping=damping), v)
    run = mech.simulate((0, 0.5), state, rtol=1e-10, atol=1e-13, max_step=1e-2, audit=True)
    u = run.connection("way").u
    assert u[-1] / v == pytest.approx(restitution, rel=1e-6)
    lost = 0.5 * 0.4 * v**2 * (1 - restitution**2)
    assert run.audit["contact"].dissipated[-1] == pytest.approx(lost, rel=1e-6)


def test_two_balls_rebound_with_the_restitution_asked_for():
    v, e = 2.0, 0.7
    system = tm.System("balls")
    a = system.body("a", mass=0.4, inertia=(1e-3, 1e-3, 1e-3))
    b = system.body("b", mass=0.9, inertia=(1e-3, 1e-3, 1e-3))
    system.connect("A", tm.Prismatic("x"), system.ground, a)
    system.connect("B", tm.Prismatic("x"), system.ground, b)
    stiffness = tm.hertz_stiffness(0.1, 0.2, modulus_a=1e8)
    element = tm.SphereSphere(0.1, 0.2, stiffness, damping=tm.restitution_damping(e, v))
    system.connect("contact", element, a, b)
    mech = system.build()
    state = mech.assemble(fix={"A": 0.0, "B": 0.31}, rates={"A": v, "B": 0.0})
    run = mech.simulate((0, 0.1), state, rtol=1e-10, atol=1e-13, max_step=1e-3)
    parted = run.connection("B").u[-1] - run.connection("A").u[-1]
    assert parted / v == pytest.approx(e, rel=1e-6)
    assert 0.4 * run.connection("A").u[-1] + 0.9 * run.connection("B").u[-1] == pytest.approx(0.4 * v)


def test_hertz_impact_lasts_as_long_and_goes_as_deep_as_its_closed_form():
    v, radius, mass = 1.0, 0.02, 0.26
    k = tm.hertz_stiffness(radius, modulus_a=2.1e11)
    E = 2.1e11 / (1 - 0.3**2) / 2
    assert k == pytest.approx(4 / 3 * E * np.sqrt(radius))
    mech, state = thrown(tm.SpherePlane(radius, k), v, mass)
    run = mech.simulate((0, 2e-4), state, rtol=1e-10, atol=1e-16, max_step=1e-6)
    gap = run.element("contact").deformation
    depth = (5 * mass * v**2 / (4 * k)) ** 0.4
    assert -gap.min() == pytest.approx(depth, rel=1e-4)
    within = run.t[gap < 0.0]
    time = 2 * depth / v * np.sqrt(np.pi) * gamma(1.4) / gamma(0.9)  # 2.943 depth / v
    assert np.ptp(within) == pytest.approx(time, abs=3e-6)


def test_a_sliding_ball_ends_up_rolling_with_five_sevenths_of_its_speed():
    mass, radius, k = 1.0, 0.1, 1e6
    system = tm.System("bowling", gravity=(0, 0, -9.81))
    ball = system.body("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3)
    system.connect("lane", tm.Planar("y"), system.ground, ball)
    system.connect("contact", tm.SpherePlane(radius, k, friction=0.3, slip_speed=1e-4), system.ground, ball)
    mech = system.build()
    depth = (mass * 9.81 / k) ** (2 / 3)
    state = mech.assemble(fix={"lane": [radius - depth, 0, 0]}, rates={"lane": [0, 1.0, 0]})  # z, x, turn
    run = mech.simulate((0, 0.5), state, rtol=1e-8, audit=True)
    speed = run.body("ball").velocity[-1, 0]
    arm = (1 - depth / radius) ** 2 / 0.4  # the plane is `depth` nearer: 5/7 for a rigid ball
    assert speed == pytest.approx(arm / (1 + arm), rel=1e-5)
    energy = run.energy.total + run.audit["contact"].dissipated
    assert_allclose(energy, energy[0], atol=1e-7)


def test_haugs_spring_chain_with_impact():
    """Haug 8.4: six masses on springs struck by a heavy one; chatter, then separation. Bands as printed, P5."""
    k, contact = 50.0, 1e4
    system = tm.System("chain")
    before = system.ground
    for i in range(6):
        mass = system.body(f"m{i}", mass=2.5, inertia=(1, 1, 1))
        system.connect(f"x{i}", tm.Prismatic("x"), system.ground, mass)
        system.connect(f"k{i}", tm.Spring(stiffness=k, length=0.2), before, mass)
        before = mass
    hammer = system.body("hammer", mass=100.0, inertia=(1, 1, 1))
    system.connect("x", tm.Prismatic("x"), system.ground, hammer)
    to_x = np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]])  # its z axis is x
    system.connect("contact", tm.SpherePlane(0.0, contact, exponent=1.0), before.at((0, 0, 0), to_x), hammer)
    mech = system.build()
    start = {f"x{i}": 0.2 * (i + 1) for i in range(6)}
    state = mech.assemble(fix={**start, "x": 1.2}, rates={"x": -0.1})
    run = mech.simulate((0, 16), state, rtol=1e-8, max_step=0.01)
    x, gap = run.connection("x").q, run.element("contact").deformation
    assert 1.2 - x.min() == pytest.approx(0.329, abs=5e-4)
    last = np.flatnonzero(gap < 0.0)[-1]
    assert x[last] == pytest.approx(1.271, rel=0.01)
    assert run.t[last] == pytest.approx(11.86, rel=0.02)
    energy = run.energy.total
    assert_allclose(energy, energy[0], rtol=1e-6)


def test_power_balance():
    assert_balance(tm.SpherePlane(0.5, 1e3, damping=0.5, friction=0.3))
    assert_balance(tm.SpherePlane(0.0, 1e3, exponent=1.0, damping=0.5, friction=0.3))
    assert_balance(tm.SphereSphere(0.5, 0.8, 1e3, damping=0.5, friction=0.3))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tm.SpherePlane(-0.1, 1e3), "SpherePlane.radius"),
        (lambda: tm.SpherePlane(0.1, 0.0), "SpherePlane.stiffness"),
        (lambda: tm.SpherePlane(0.1, 1e3, exponent=0.5), "SpherePlane.exponent"),
        (lambda: tm.SpherePlane(0.1, 1e3, damping=-1.0), "SpherePlane.damping"),
        (lambda: tm.SphereSphere(0.0, 0.0, 1e3), "SphereSphere: radii"),
        (lambda: tm.restitution_damping(0.0, 1.0), "restitution 0"),
        (lambda: tm.hertz_stiffness(0.0, modulus_a=1.0), "positive"),
    ],
)
def test_bad_numbers_are_named(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()
