"""An implicit law (3.4.5) against its explicit inversion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

import treemech as tm
from tests.support.balance import assert_balance, random_motion

K, F_Y, A, N = 1e4, 50.0, 0.4, 7.0


def elongation(F):
    return F / K * (1 + A * abs(F / F_Y) ** (N - 1))


def force(eps):
    return brentq(
        lambda F: elongation(F) - eps, -K * abs(eps) - 1e-9, K * abs(eps) + 1e-9, xtol=1e-13, rtol=1e-15
    )


def spring():
    return tm.RambergOsgood(K, F_Y, A, N, length=1.0)


def test_force_and_energy_are_those_of_the_inverted_law():
    element = spring()
    motion = random_motion(element, np.random.default_rng(0), 0.0)
    motion.position[0] = 0.0
    for eps in (-0.1, -0.02, -1e-5, 1e-7, 0.003, 0.05, 0.3):
        motion.position[1] = (1.0 + eps, 0, 0)
        out = element.at(motion)
        assert out.effort[0] == pytest.approx(force(eps), rel=1e-10)
        assert out.energy[0] == pytest.approx(quad(force, 0, eps, epsabs=0, epsrel=1e-10)[0], rel=1e-8)


def test_a_mass_on_it_moves_as_with_the_inverted_law():
    system = tm.System("oscillator", gravity=(0, 0, 0))
    mass = system.body("mass", mass=2.0, inertia=(1, 1, 1))
    system.connect("slide", tm.Prismatic("x"), system.ground, mass)
    system.connect("spring", spring(), system.ground.at((-1, 0, 0)), mass)
    mech = system.build()
    t = np.linspace(0, 2, 21)
    run = mech.simulate((0, 2), mech.assemble(fix={"slide": 0.02}), t_eval=t, rtol=1e-10)
    want = solve_ivp(
        lambda t, y: (y[1], -force(y[0]) / 2.0), (0, 2), (0.02, 0.0), "DOP853", t, rtol=1e-10, atol=1e-13
    )
    assert_allclose(run.connection("slide").q, want.y[0], atol=1e-9)
    assert_allclose(run.energy.total, run.energy.total[0], rtol=1e-8)


def test_power_balance():
    assert_balance(tm.RambergOsgood(100.0, 10.0, length=0.5))


def test_bad_numbers_are_named():
    with pytest.raises(tm.ElementError, match="exponent 0.5"):
        tm.RambergOsgood(1.0, 1.0, exponent=0.5)
    with pytest.raises(tm.ElementError, match="RambergOsgood.yield_force"):
        tm.RambergOsgood(1.0, 0.0)
