"""A coordinate is found by the name it has, "pose.tilt", and by its number, "pose[1]", wherever a name is asked for."""

import numpy as np
import pytest

import treemech as tm


def crane(**prescribed):
    """A boom that turns, tilts and slides, on springs."""
    system = tm.System("crane", gravity=(0, 0, -9.81))
    boom = system.body("boom", 1.0, (0.1, 0.1, 0.15), com=(0.3, 0, 0))
    pose = tm.Series(tm.Revolute("z"), tm.Revolute("y"), tm.Prismatic("x"), names=("turn", "tilt", "reach"))
    system.connect("pose", pose, system.ground, boom)
    system.connect("rope", tm.Spring(50.0, 1.0, 0.5), system.ground.at((0, 0, 1)), boom.at((0.1, 0, 0)))
    system.connect("tilt spring", tm.RotationalSpring(30.0, 1.0), "pose.tilt")
    return system


@pytest.fixture
def mech():
    return crane().build()


@pytest.fixture
def state(mech):
    return mech.state(q={"pose.turn": 0.1, "pose.tilt": 0.2, "pose.reach": 0.6}, u={"pose.turn": 1.0})


def test_of_a_state(mech, state):
    for k, name in enumerate(("turn", "tilt", "reach")):
        for key in (f"pose.{name}", f"pose[{k}]"):
            q, u = state[key]
            assert q.tolist() == [state.q[k]] and u.tolist() == [state.u[k]]
    for key in ("pose.spam", "pose[3]", "spam.tilt", "pose[x]"):
        with pytest.raises(tm.TreemechError):
            state[key]


def test_of_many_states(mech):
    """The numbers of a hinge were the first rows of all states."""
    pose = np.arange(12.0).reshape(4, 3)
    many = mech.state(q={"pose": pose}, u={"pose.tilt": [1.0, 2.0, 3.0, 4.0]})
    assert np.array_equal(many["pose"][0], pose) and many["pose"][1].shape == (4, 3)
    assert np.array_equal(many["pose.tilt"][0], pose[:, 1:2])
    assert np.array_equal(many["pose[1]"][1][:, 0], [1.0, 2.0, 3.0, 4.0])


def test_of_analyses(mech, state):
    numbers = {"pose[0]": 1.0, "pose[1]": 0.5, "pose[2]": -0.2}
    names = {"pose.turn": 1.0, "pose.tilt": 0.5, "pose.reach": -0.2}
    assert np.array_equal(mech.forward_dynamics(state, names).ud, mech.forward_dynamics(state, numbers).ud)
    assert np.array_equal(mech.inverse_dynamics(state, names), mech.inverse_dynamics(state, numbers))
    by_name = mech.drive_loads(state, {"pose.turn": 1.0}, actuated=["pose.turn"])
    by_number = mech.drive_loads(state, {"pose[0]": 1.0}, actuated=["pose[0]"])
    assert by_name == {"pose.turn": by_number["pose[0]"]}
    small = mech.linearize(state, inputs=["pose.tilt"], outputs=["pose.reach"], coordinates=list(names))
    same = mech.linearize(state, inputs=["pose[1]"], outputs=["pose[2]"], coordinates=list(numbers))
    assert (
        np.array_equal(small.A, same.A)
        and np.array_equal(small.B, same.B)
        and np.array_equal(small.C, same.C)
    )
    assert np.array_equal(mech.derivatives(state, names).ud_q, mech.derivatives(state, numbers).ud_q)


def test_of_equilibria(mech, state):
    held = mech.equilibrium(state, fix={"pose.turn": 0.3, "pose.tilt": 0.1})
    same = mech.equilibrium(state, fix={"pose[0]": 0.3, "pose[1]": 0.1})
    assert np.array_equal(held.state.q, same.state.q)
    assert held.loads == {"pose.turn": same.loads["pose[0]"], "pose.tilt": same.loads["pose[1]"]}
    steady = mech.equilibrium(state, rates={"pose.turn": 2.0})
    assert np.array_equal(steady.state.q, mech.equilibrium(state, rates={"pose[0]": 2.0}).state.q)
    assert abs(mech.forward_dynamics(steady.state).ud).max() < 1e-9
    turning = mech.equilibrium(
        steady.state, fix={"pose.tilt": steady.state.q[1]}, rates={"pose.turn": 1.5}, free=["pose.turn"]
    )
    assert abs(turning.state["pose.turn"][1][0] - 2.0) < 1e-9


@pytest.mark.parametrize("name", ["pose.tilt", "pose[1]"])
def test_of_prescribed_motions_and_limits(name):
    system = crane()
    system.prescribe(name, tm.Harmonic(0.1, 2.0))
    system.limit(name, -0.5, 0.5)
    assert list(system.limits) == ["pose[1]"]
    mech = system.build()
    run = mech.simulate((0, 1), mech.assemble(guess={"pose.reach": 0.6}), t_eval=[0.0, 0.5, 1.0])
    assert np.allclose(run.connection("pose.tilt").q, 0.1 * np.sin(2.0 * run.t), atol=1e-14)
    wanted = run.drive("pose", 1)
    assert np.abs(wanted).min() > 1.0 and np.array_equal(run.drive(name), wanted)
    with pytest.raises(tm.TopologyError, match="prescribed twice"):
        system.prescribe("pose", 0.0, coordinate=1)
    with pytest.raises(tm.TreemechError, match="pose.spam"):
        system.prescribe("pose.spam", 0.0)
    with pytest.raises(tm.TreemechError, match=r"no coordinate 3 that can be prescribed"):
        system.prescribe("pose[3]", 0.0)


def test_of_inputs():
    runs = []
    for given in ("pose.reach.u", "pose.u[2]"):
        system = crane()
        system.connect("motor", tm.Actuator(gain=-3.0), "pose.reach", inputs={"command": given})
        mech = system.build()
        runs.append(mech.simulate((0, 0.5), mech.state(u={"pose.reach": 0.5})))
    assert np.array_equal(runs[0].q, runs[1].q)


def test_of_impacts_and_actions(mech, state):
    ways = []
    for tilt in ("pose.tilt", "pose[1]"):
        limit = tm.Impact.at_limit(tilt, upper=0.25, restitution=0.5)
        stop = tm.Event("pose.reach.q > 0.65", action=lambda t, now, n=tilt: {f"{n}.u": 0.0})
        run = mech.simulate((0, 1), state, rtol=1e-9, events=[limit, stop])
        assert run.success and len(run.events[0].t)
        ways.append(run)
    assert np.array_equal(ways[0].q, ways[1].q)


def test_of_states_of_a_run_that_was_read(mech, state, tmp_path):
    run = mech.simulate((0, 0.2), state)
    again = tm.read(run.save(tmp_path / "run.npz"))
    for key in ("pose.tilt", "pose[1]"):
        assert np.array_equal(again.state(0)[key], state[key]) and np.array_equal(
            run.state(0)[key], state[key]
        )
