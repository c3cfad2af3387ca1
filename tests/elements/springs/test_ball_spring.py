"""Isotropic spring and damper of a ball joint: a bushing's moment, dissipation by the relative angular velocity, an isochrone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.support.energetic_laws import at_rest


def test_it_meets_the_contract():
    assert tm.check(tm.BallSpring(5.0, 0.3)).rows


@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.4, 2.0, 3.1])
def test_the_spring_is_that_of_a_bushing_without_forces(angle):
    base = Rotation.random(random_state=3)
    turned = base * Rotation.from_rotvec(angle * np.array([2, -1, 2]) / 3)
    ball, bushing = tm.BallSpring(4.0), tm.Bushing([0, 0, 0, 4.0, 4.0, 4.0])
    found, wanted = (
        x.at(at_rest(x, np.zeros((2, 3)), [base.as_matrix(), turned.as_matrix()])) for x in (ball, bushing)
    )
    assert_allclose(found.moment, wanted.moment, rtol=1e-9, atol=1e-12)
    assert_allclose(found.energy, wanted.energy, rtol=1e-9, atol=1e-14)


def test_a_sphere_on_a_ball_joint_swings_and_comes_to_rest_in_closed_form():
    """Turning about one axis: J a'' + d a' + k a = 0. The energy balance holds, and the hinge gives the bases."""
    k, d, J = 3.0, 0.4, 0.2
    system = tm.System("sphere")
    body = system.body("b", 1.0, (J, J, J))
    hinge = system.connect(
        "hip", tm.Ball(), system.ground.at((0, 0, 1), Rotation.random(random_state=1)), body
    )
    system.connect("spring", tm.BallSpring(k, d), hinge)
    mech = system.build()
    axis, start = np.array([2, -1, 2]) / 3, 1.2
    e = np.roll(Rotation.from_rotvec(start * axis).as_quat(), 1)
    t = np.linspace(0, 3, 16)
    run = mech.simulate((0, 3), mech.state(q={"hip": e}), rtol=1e-10, t_eval=t, audit=True)
    a = d / (2 * J)
    w = np.sqrt(k / J - a * a)
    wanted = start * np.exp(-a * t) * (np.cos(w * t) + a / w * np.sin(w * t))
    assert_allclose(
        2 * np.arctan2(run.connection("hip").q[:, 1:] @ axis, run.connection("hip").q[:, 0]),
        wanted,
        atol=1e-7,
    )
    stored = run.element("spring").energy
    assert_allclose(stored, 0.5 * k * wanted**2, atol=1e-7)
