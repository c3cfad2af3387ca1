"""Rank of constraint rows: neither rounding nor the masses of other parts decide what holds."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.support.models import rotation

POINTS = np.array([[0, 0, 0], [1, 0.3, 0], [2.5, 1.4, 0], [3, 0, 0]])


def add_four_bar(system, seed, tilt=0.0, mass=1.0, size=1.0, cut=None, name=""):
    """Add a four-bar of plain revolutes in an oblique plane; its ends are out of true by about `tilt`."""
    rng, noise = np.random.default_rng(seed), np.random.default_rng(seed + 99)
    plane = rotation(rng)
    points = size * POINTS @ plane.T
    bodies, poses = [system.ground], [(np.zeros(3), np.eye(3))]
    for k in range(3):
        com, B = 0.5 * (points[k] + points[k + 1]), rotation(rng)
        x = com + size * rng.uniform(-0.3, 0.3, 3)
        inertia = mass * size**2 * np.array([0.1, 0.2, 0.25])
        bodies.append(system.body(f"{name}b{k}", (1.0 + k) * mass, inertia, com=B.T @ (com - x)))
        poses.append((x, B))
    for k, hinge in enumerate("ABCD"):
        ends = []
        for j in (k, (k + 1) % 4):
            x, B = poses[j]
            turn = Rotation.from_rotvec(tilt * noise.normal(size=3)).as_matrix()
            shift = size * tilt * noise.normal(size=3)
            ends.append(bodies[j].at(B.T @ (points[k] - x) + shift, B.T @ plane @ turn))
        system.connect(name + hinge, tm.Revolute("z"), *ends, role="chord" if hinge == cut else None)


def four_bar(**options):
    system = tm.System("four-bar", gravity=(1.0, -5.0, -9.0))
    add_four_bar(system, **options)
    return system.build()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tilt", [0.0, 1e-15, 1e-14, 3e-14, 1e-13, 3e-13, 1e-12, 1e-10, 1e-8])
def test_rows_that_are_rounding_hold_nothing(tilt, seed):
    """A plane four-bar has two rows, whichever hinge is cut; the rest is zero but for rounding of its data (R2)."""
    found = {}
    for cut in "ABCD":
        mech = four_bar(seed=seed, tilt=tilt, cut=cut)
        state = mech.state()
        found[cut] = dict(zip(mech.speeds, mech.forward_dynamics(state).ud, strict=True))
        assert mech._core.loops.rank == 2 and mech.mobility(state).dof == 1
    for hinge in "BCD":  # A is cut in the first
        values = [found[cut][hinge] for cut in found if hinge in found[cut]]
        assert np.ptp(values) < 1e-10 + 1e4 * tilt


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_plane_loops_of_any_size_have_two_rows(size):
    mech = four_bar(seed=1, size=size, tilt=1e-13)
    assert mech._core.loops.choose(0.0, mech.state().q, np.zeros(mech.nu)) == 2


@pytest.mark.parametrize("ratio", [1e-14, 1e-9, 1e9, 1e14])
def test_a_loop_keeps_its_rows_beside_one_of_other_mass(ratio):
    """Two four-bars in one system move as each of them alone, whatever their masses."""
    system = tm.System("both", gravity=(1.0, -5.0, -9.0))
    add_four_bar(system, seed=0, tilt=1e-13, name="one ")
    add_four_bar(system, seed=1, tilt=1e-13, mass=ratio, name="two ")
    mech = system.build()
    ud = dict(zip(mech.speeds, mech.forward_dynamics(mech.state()).ud, strict=True))
    for seed, name in enumerate(("one ", "two ")):
        alone = four_bar(seed=seed, tilt=1e-13)
        expected = alone.forward_dynamics(alone.state()).ud
        assert np.allclose([ud[name + hinge] for hinge in alone.speeds], expected, rtol=1e-8, atol=1e-8)
