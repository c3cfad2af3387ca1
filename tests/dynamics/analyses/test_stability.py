"""Stable, unstable, neutral: the same answer by every method, whatever rounding does."""

import numpy as np
import pytest

import treemech as tm

METHODS = ("Newton", "energy", "settling")
G = 9.81


def lamp(factor=1.0):
    """A lamp on a spring of no free length: k a b = m g l balances it at every angle."""
    system = tm.System("lamp", gravity=(0, 0, -G))
    arm = system.body("arm", 1.7, (0, 0.02, 0.02), com=(0.43, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, arm)
    k = factor * 1.7 * G * 0.43 / (0.31 * 0.29)
    system.connect(
        "spring", tm.Spring(stiffness=k, length=0.0), system.ground.at((0, 0, 0.31)), arm.at((0.29, 0, 0))
    )
    return system.build(), {"A": 0.4}


def balanced_wheel(factor=1.0):
    """A wheel with two weights on its spokes, each made to cancel the other."""
    system = tm.System("wheel", gravity=(0, 0, -G))
    wheel = system.body("wheel", 3.0, (0.2, 0.3, 0.2))
    system.connect("A", tm.Revolute("y"), system.ground, wheel)
    for name, mass, x in (("left", 0.7, -0.3), ("right", 0.21 * factor, 1.0)):
        system.connect(name, tm.Rigid(), wheel.at((x, 0, 0)), system.body(name, mass, (0.01, 0.01, 0.01)))
    return system.build(), {"A": 1.5707 if factor != 1.0 else 0.7}


def cart(factor=1.0):
    """A cart that nothing holds, with a pendulum; a weak spring holds it, or pushes it away."""
    system = tm.System("cart", gravity=(0, 0, -G))
    body = system.body("cart", 2.0, (1, 1, 1))
    bob = system.body("bob", 1.0, (0.01, 0.01, 0.01), com=(0, 0, -0.6))
    h = system.connect("x", tm.Prismatic("x"), system.ground, body)
    system.connect("A", tm.Revolute("y"), body, bob)
    if factor != 1.0:
        system.connect("spring", tm.RotationalSpring(stiffness=-0.5 * (1.0 - factor) * G), h)
    return system.build(), {"A": 0.2, "x": 0.0}


def strut(factor=1.0):
    """A standing rod on a torsion spring at its critical load: nothing of first order holds it."""
    system = tm.System("strut", gravity=(0, 0, -G))
    rod = system.body("rod", 1.3, (0.1, 0.1, 0.02), com=(0, 0, 0.7))
    h = system.connect("A", tm.Revolute("y"), system.ground, rod)
    system.connect("spring", tm.RotationalSpring(stiffness=factor * 1.3 * G * 0.7), h)
    return system.build(), {"A": 0.2}


def parallelogram(factor=1.0):
    """A parallelogram whose cranks carry counterweights: a closed chain that balances everywhere."""
    system = tm.System("parallelogram", gravity=(0, 0, -G))
    left = system.body("left", 2.0 * factor, (0, 0.1, 0.1), com=(-0.4, 0, 0))
    right = system.body("right", 1.0, (0, 0.1, 0.1))
    coupler = system.body("coupler", 0.8, (0, 0.1, 0.1), com=(0.5, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, left)
    system.connect("B", tm.Revolute("y"), left.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((1.3, 0, 0)), right.at((1, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((1.3, 0, 0)), right)
    return system.build(), {"A": -0.6, "B": 0.6, "D": -0.6}


def started(made, factor):
    mech, q = made(factor)
    return mech, mech.assemble(guess=q) if mech.tree.chords else mech.state(q=q)


@pytest.mark.parametrize("made", [lamp, balanced_wheel, cart, strut, parallelogram])
def test_a_neutral_position_is_neither_stable_nor_unstable_by_every_method(made):
    mech, state = started(made, 1.0)
    for method in METHODS:
        found = mech.equilibrium(state, method=method)
        assert found.stable is None, (method, found.eigenvalues)


@pytest.mark.parametrize("made", [cart, strut])
@pytest.mark.filterwarnings("ignore:.*negative stiffness")
@pytest.mark.parametrize("off", [1e-3, 1e-5])
def test_next_to_a_neutral_position_the_small_difference_decides(made, off):
    for factor, want in ((1.0 + off, True), (1.0 - off, False)):
        mech, state = started(made, factor)
        found = mech.equilibrium(mech.state(q=0.0 * state.q))
        assert found.stable is want


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_slow_mode_beside_fast_ones_keeps_its_sign(side):
    """A pendulum of 3 rad/s, hanging or standing, beside an oscillation of 1e7 rad/s."""
    system = tm.System("slow and fast", gravity=(0, 0, -G))
    bob = system.body("bob", 1.0, (0, 0, 0), com=(0, 0, side))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    h = system.connect("x", tm.Prismatic("x"), system.ground, system.body("fast", 1.0, (1, 1, 1)))
    system.connect("spring", tm.RotationalSpring(stiffness=1e14), h)
    found = system.build().equilibrium()
    assert np.abs(found.eigenvalues).max() == pytest.approx(1e7)
    assert found.stable is (side < 0.0)


def test_damping_alone_does_not_hold():
    system = tm.System("damped cart")
    h = system.connect("x", tm.Prismatic("x"), system.ground, system.body("cart", 1.0, (1, 1, 1)))
    system.connect("damper", tm.RotationalSpring(stiffness=0.0, damping=3.0), h)
    assert system.build().equilibrium().stable is None


def test_an_overdamped_return_is_stable_however_slow():
    system = tm.System("creep", gravity=(0, 0, -G))
    bob = system.body("bob", 1.0, (0, 0, 0), com=(0, 0, -1.0))
    h = system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.connect("damper", tm.RotationalSpring(stiffness=0.0, damping=1e6), h)
    found = system.build().equilibrium()
    assert found.stable is True and np.abs(found.eigenvalues).min() < 1e-4
