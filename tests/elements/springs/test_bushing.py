"""Bushing: what its matrix says, at large rotations too; neither end preferred; energy and momentum kept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.support.energetic_laws import at_rest
from tests.support.tolerances import ROUND
from treemech.elements.energetic import motion_views

rng = np.random.default_rng(7)
ROOT = rng.normal(size=(6, 6))
K = ROOT @ ROOT.T


def test_small_displacements_meet_the_matrix():
    bushing, base = tm.Bushing(K), Rotation.random(random_state=1).as_matrix()
    for k in range(6):
        small = np.zeros(6)
        small[k] = 1e-7
        turned = base @ Rotation.from_rotvec(small[3:]).as_matrix()
        load = bushing.at(at_rest(bushing, [(1, 2, 3), (1, 2, 3) + base @ small[:3]], [base, turned]))
        on_b = np.concatenate((base.T @ load.force[1], base.T @ load.moment[1]))
        assert_allclose(on_b, -K[:, k] * 1e-7, atol=1e-7 * np.abs(K).max() * 1e-6)  # the second order


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 0.03, 0.5, 2.0, 3.1])
def test_torque_is_proportional_to_the_angle_however_large(angle):
    bushing = tm.Bushing([0, 0, 0, 4.0, 4.0, 4.0])
    axis = np.array([2, -1, 2]) / 3
    turned = Rotation.from_rotvec(angle * axis).as_matrix()
    load = bushing.at(at_rest(bushing, np.zeros((2, 3)), [np.eye(3), turned]))
    assert_allclose(load.moment[1], -4.0 * angle * axis, rtol=1e-9, atol=1e-22)
    assert_allclose(load.energy[0], 2.0 * angle**2, rtol=1e-9)


def test_ends_may_be_exchanged():
    """With both bases exchanged, d and r change sign together: the loads go with the ends."""
    bushing = tm.Bushing(K, damping=np.arange(6.0))
    motion = motion_views(bushing.sample(np.random.default_rng(2), 0.0), bushing.n)
    other = motion._replace(**{n: getattr(motion, n)[::-1].copy() for n in motion._fields[:4]})
    one, two = bushing.at(motion), bushing.at(other)
    assert_allclose(two.force, one.force[::-1], atol=ROUND * np.abs(one.force).max())
    assert_allclose(two.moment, one.moment[::-1], atol=ROUND * np.abs(one.moment).max())


def test_two_free_bodies_on_a_bushing_keep_energy_and_momentum():
    system = tm.System("pair", gravity=(0, 0, 0))
    one = system.body("one", mass=2.0, inertia=(0.3, 0.4, 0.5))
    two = system.body("two", mass=1.0, inertia=(0.2, 0.1, 0.25))
    system.connect("bushing", tm.Bushing(20 * K), one.at((0.3, 0, 0)), two.at((-0.2, 0.1, 0)))
    system.connect("F", tm.Free(), system.ground, one)
    system.connect("G", tm.Free(), system.ground, two)
    mech = system.build()
    state = mech.assemble(
        poses={"one": (0, 0, 0), "two": (0.5, -0.1, 0)},
        rates={"F": (1, 0, 2, 3, 1, -1), "G": (0, 1, 0, -1, 2, 1)},
    )
    run = mech.simulate((0, 3), state, rtol=1e-11, atol=1e-12)
    total = run.energy.total
    assert np.ptp(total) < 1e-8 * np.abs(total).max()
    assert np.ptp(run.element("bushing").energy) > 0.1  # something happened
    momentum = 2.0 * run.body("one").velocity + 1.0 * run.body("two").velocity
    assert np.ptp(momentum, axis=0).max() < 1e-8


def test_weight_on_a_bushing_settles_at_its_static_displacement():
    system = tm.System("mount", gravity=(0, 0, -9.81))
    body = system.body("engine", mass=10.0, inertia=(1, 1, 1))
    system.connect(
        "mount",
        tm.Bushing([1e4, 1e4, 2e3, 50, 50, 50], damping=[200.0] * 3 + [20.0] * 3),
        system.ground,
        body,
    )
    mech = system.build()
    run = mech.simulate((0, 5), mech.state())
    assert_allclose(run.body("engine").position[-1], (0, 0, -10 * 9.81 / 2e3), atol=1e-6)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tm.Bushing([1, 2, 3]), r"Bushing.stiffness has shape \(3,\)"),
        (lambda: tm.Bushing(ROOT), "Bushing.stiffness"),
        (lambda: tm.Bushing(K + np.triu(np.ones((6, 6)), 1) * 1e-3), "not symmetric"),
        (lambda: tm.Bushing([1, 1, 1, 1, 1, -1]), "negative eigenvalue -1"),
        (lambda: tm.Bushing(K, damping=-K), "Bushing.damping has the negative eigenvalue"),
    ],
)
def test_bad_bushings_are_refused(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()
