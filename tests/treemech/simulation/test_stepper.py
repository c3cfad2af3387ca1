"""Steps: the motion that a simulation finds, by inputs that are held, and nothing but what is given decides."""

import copy

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import elements, platform
from tests.support.general_way import PLAIN, same


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("method", ["RK4", "DOP853", "DP5"])
def test_steps_follow_a_simulation(name, method):
    mech, state = PLAIN[name]()
    motion = mech.stepper(state, 0.01, method, rtol=1e-9)
    for _ in range(5):
        motion.step()
    step = {"max_step": 0.01} if method == "RK4" else {}
    run = mech.simulate((state.t, state.t + 0.05), state, method, rtol=1e-9, **step)
    assert np.allclose(motion.q, run.q[-1], atol=1e-7) and np.allclose(motion.u, run.u[-1], atol=1e-6)
    assert np.allclose(motion.state.z, run.state().z, atol=1e-6) and abs(motion.t - run.t[-1]) < 1e-12
    if mech._info.chords:
        assert np.abs(mech.constraints(motion.state).residual).max() < 1e-10


def test_a_step_depends_on_what_is_given_alone():
    for name in ("tree", "four-bar"):
        mech, state = PLAIN[name]()
        first = mech.step(state, 0.01)
        mech.step(mech.step(state, 0.2), 0.03)
        again = mech.step(copy.deepcopy(state), 0.01)
        assert same(first.q, again.q) and same(first.u, again.u) and first.t == again.t


def driven():
    system = tm.System("driven", gravity=(0, 0, -9.81))
    arm = system.body("arm", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -0.5))
    system.connect("A", tm.Revolute("y"), system.ground, arm)
    system.connect("motor", tm.Actuator(gain=2.0, lower=-3.0, upper=4.0), "A", inputs={"command": "torque"})
    system.input("torque")
    system.input("wind", 0.0)
    system.connect("other", tm.Actuator(), "A", inputs={"command": "wind"})
    return system


def test_inputs_are_held_until_they_are_given_again_and_limited():
    mech = driven().build()
    state = mech.state(q={"A": 0.2})
    inertia = float(mech.mass_matrix(state)[0, 0])
    for given, load in ((0.0, 0.0), (1.0, 2.0), (10.0, 4.0), (-10.0, -3.0)):
        after = mech.step(state, 1e-6, {"torque": given})
        rest = mech.step(state, 1e-6, {"torque": 0.0})
        assert abs((after.u[0] - rest.u[0]) * inertia / 1e-6 - load) < 1e-5 * (1.0 + abs(load))
    motion = mech.stepper(state, 0.01)
    assert motion.inputs == ("torque",)
    one = motion.step({"torque": 1.0}).step().q
    motion.reset(state)
    assert same(one, motion.step([1.0]).step(np.array([1.0])).q)


def test_wrong_inputs_and_steps_are_named():
    mech = driven().build()
    state = mech.state()
    motion = mech.stepper(state, 0.01)
    with pytest.raises(tm.TopologyError, match="no input 'tork'"):
        motion.step({"tork": 1.0})
    with pytest.raises(tm.ElementError, match="'wind' follows its signal"):
        motion.step({"wind": 1.0})
    with pytest.raises(tm.ElementError, match="input 'torque' is nan"):
        motion.step({"torque": np.nan})
    with pytest.raises(tm.ElementError, match="input 'torque' is 'much'"):
        motion.step({"torque": "much"})
    with pytest.raises(tm.ElementError, match="inputs have shape"):
        motion.step([1.0, 2.0])
    for dt in (0.0, -1.0, np.inf):
        with pytest.raises(tm.TreemechError, match="dt is"):
            mech.stepper(state, dt)
    with pytest.raises(tm.TreemechError, match="there is no method"):
        mech.step(state, 0.01, method="Euler")


def test_open_inputs_are_saved_with_the_system(tmp_path):
    again = tm.read(driven().save(tmp_path / "driven.json")).build()
    state = again.state(q={"A": 0.2})
    mine = driven().build()
    assert same(
        again.step((state.q, state.u), 0.01, {"torque": 1.0}).q,
        mine.step((state.q, state.u), 0.01, {"torque": 1.0}).q,
    )


@pytest.mark.parametrize("make", [elements, platform])
def test_motions_that_need_more_are_taken_by_simulations(make):
    mech, state = make()
    motion = mech.stepper(state, 0.02)
    for _ in range(3):
        motion.step()
    run = mech.simulate((state.t, state.t + 0.06), state, t_eval=[state.t + 0.06])
    assert np.allclose(motion.q, run.q[-1], atol=1e-5)


def test_controllers_see_coordinates_of_branches_as_functions_of_a_run_do():
    def run(measures):
        system = driven()
        system.controller(
            "hold", lambda t, q, u: -3.0 * q - u + np.sin(t), 0.02, measures(system), ["wind 2"]
        )
        system.connect("fan", tm.Actuator(), "A", inputs={"command": "wind 2"})
        mech = system.build()
        return mech.simulate((0, 0.5), mech.state(q={"A": 0.4}), rtol=1e-9)

    def functions(system):
        system.measure("angle", lambda run: run.connection("A").q.reshape(-1))
        system.measure("rate", lambda run: run.connection("A").u.reshape(-1))
        return ["angle", "rate"]

    by_name, by_function = run(lambda system: ["A.q", "A.u[0]"]), run(functions)
    assert same(by_name.q, by_function.q) and same(by_name.t, by_function.t)
