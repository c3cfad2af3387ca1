"""A free hinge that closes a loop: it holds nothing, and its coordinates are the pose of its body, in every run."""

import numpy as np
import pytest

import treemech as tm

METHODS = ["DOP853", "DP5", "Radau", "Adams", "auto", "alpha3", "alpha2", "scipy:DOP853"]


def double_pendulum(hinge, driven=False, free=True):
    system = tm.System("double pendulum", gravity=(0.3, -0.2, -9.81))
    a, b = (system.body(name, 1.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0)) for name in "ab")
    system.connect("pin", hinge, system.ground, a)
    system.connect("knee", hinge, a.at((1, 0, 0)), b)
    if free:
        system.connect("where", tm.Free(), system.ground, b)
    if driven:
        system.prescribe("pin", tm.Polynomial([0.3, 1.0, 2.0, 1.0]))
    return system.build()


def random_start(mech, rng):
    q = rng.normal(size=(2, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    return mech.state(q=q.ravel(), u=5.0 * rng.normal(size=mech.nu))


@pytest.mark.parametrize("method", METHODS)
def test_its_coordinates_are_the_pose_of_its_body(method):
    rng, mech, alone = (
        np.random.default_rng(0),
        double_pendulum(tm.Ball()),
        double_pendulum(tm.Ball(), free=False),
    )
    times = [0.0, 0.3, 0.6]
    for _ in range(3):
        start = random_start(mech, rng)
        run = mech.simulate((0, 0.6), start, method, t_eval=times, rtol=1e-8)
        assert run.success, run.message
        where, body = run.connection("where"), run.body("b")
        assert np.abs(where.q[:, :3] - body.position).max() < 1e-9
        assert np.abs(where.force).max() < 1e-12 and np.abs(where.moment).max() < 1e-12
        again = alone.simulate((0, 0.6), tm.State(0.0, start.q, start.u), method, t_eval=times, rtol=1e-8)
        assert np.abs(run.q - again.q).max() < (1e-3 if "alpha" in method else 1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_states_made_by_hand_follow_the_drive(method):
    """Speeds of prescribed coordinates come from their motions, whatever a state made by hand says."""
    mech = double_pendulum(tm.Revolute("y"), driven=True)
    start = mech.state(q={"knee": 0.2})
    ends = []
    for u in (start.u, -start.u):
        by_hand = tm.State(0.0, start.q, u, cut=start.cut)
        run = mech.simulate((0, 0.5), by_hand, method)
        assert run.success, run.message
        assert np.abs(run.connection("where").q[:, :3] - run.body("b").position).max() < 1e-9
        assert run.u[0, 0] == 1.0
        ends.append(run.q[-1])
    assert np.array_equal(*ends)


def test_states_made_by_hand_may_be_lists():
    mech = double_pendulum(tm.Revolute("y"))
    start = mech.state(q={"pin": 0.9, "knee": 0.2}, u={"knee": 1.0})
    by_hand = tm.State(0.0, [0.9, 0.2], [0.0, 1.0])
    assert np.array_equal(mech.forward_dynamics(by_hand).ud, mech.forward_dynamics(start).ud)
    assert np.array_equal(mech.simulate((0, 0.5), by_hand).q, mech.simulate((0, 0.5), start).q)
    with pytest.raises(tm.ElementError, match="wanted numbers"):
        mech.simulate((0, 0.5), tm.State(0.0, ["a", 0.2], [0.0, 1.0]))
