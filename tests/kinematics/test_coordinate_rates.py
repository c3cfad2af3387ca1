"""Derivatives of coordinates by time: speeds and back, with Euler parameters among them."""

import numpy as np
import pytest

from tests.support.models import random_state, random_system
from tests.support.tolerances import DIFF, ROUND
from treemech.kinematics.coordinate_rates import CoordinateRates
from treemech.kinematics.manifold import move


@pytest.fixture
def motion():
    mech = random_system(5, n=14).build()
    state, rng = random_state(mech, 6), np.random.default_rng(7)
    return mech._lagrange, state.q, rng.normal(size=mech.nu), rng.normal(size=mech.nu)


def test_speeds_come_back_from_derivatives(motion):
    lagrange, q, u, ud = motion
    rates = CoordinateRates(lagrange)
    back = rates.speeds(q, *rates.derivatives(q, u, ud))
    for found, wanted in zip(back, (q, u, ud), strict=True):
        assert np.max(np.abs(found - wanted)) < ROUND * max(1.0, np.max(np.abs(wanted)))


def test_first_derivatives_match_differences_of_a_small_motion(motion):
    lagrange, q, u, ud = motion
    h = 1e-6
    ahead, back = move(lagrange, q, h * u), move(lagrange, q, -h * u)
    assert (
        np.max(np.abs(CoordinateRates(lagrange).derivatives(q, u, ud)[0] - (ahead - back) / (2 * h))) < DIFF
    )


def test_second_derivatives_match_differences_of_the_first(motion):
    lagrange, q, u, ud = motion
    rates, h = CoordinateRates(lagrange), 1e-6
    first, second = rates.derivatives(q, u, ud)
    ahead, back = (rates.derivatives(q + s * first, u + s * ud, ud)[0] for s in (h, -h))
    assert np.max(np.abs(second - (ahead - back) / (2 * h))) < DIFF * max(1.0, np.max(np.abs(second)))


def test_euler_parameters_come_back_with_length_one(motion):
    lagrange, q, u, ud = motion
    rates = CoordinateRates(lagrange)
    q, _, _ = rates.speeds(1.01 * q, *rates.derivatives(q, u, ud))
    lengths = [np.linalg.norm(q[i : i + 4]) for i in lagrange.euler_parameters]
    assert lengths and max(abs(n - 1.0) for n in lengths) < ROUND


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.3, 4.0])
def test_a_motion_of_all_coordinates_is_that_of_every_hinge(motion, size):
    lagrange, q, u, _ = motion
    want = np.concatenate([c.hinge.move(q[c.q_slice], size * u[c.u_slice]) for c in lagrange.hinges])
    assert any(c.hinge.euler_parameters is not None for c in lagrange.hinges)
    np.testing.assert_allclose(move(lagrange, q, size * u), want, rtol=0, atol=1e-14)
