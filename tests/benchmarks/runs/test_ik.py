"""The benchmark of inverse kinematics: every way is checked on the same targets."""

import numpy as np
import pytest

from treemech.benchmarks.runs import ik


def test_the_arm_reaches_random_poses_within_its_limits():
    rows = {row.name: row for row in ik.arms(12)}
    ours = rows["treemech"]
    assert ours.reached == 1.0 and ours.within == 1.0 and ours.gap < 1e-9
    assert rows["treemech, one start"].reached <= 1.0


def test_pinocchios_iteration_reaches_a_near_pose():
    pytest.importorskip("pinocchio")
    peer, q = ik.Pinocchio(), np.linspace(0.2, 0.8, 7)
    target = peer.pose(q)
    found = peer.solve(target, q + 0.05)
    assert found is not None
    assert np.allclose(peer.pose(found)[0], target[0], atol=2 * ik.EPS)


def test_closed_chains_are_reached_and_closed():
    for row in ik.chains(3):
        assert row.reached == 1.0 and row.gap < 1e-9
