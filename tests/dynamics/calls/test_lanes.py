"""Rows of states and steps: the numbers of every row are those of its state alone, to the bit."""

import numpy as np
import pytest

import treemech as tm
from tests.support.models import inertia
from treemech.benchmarks.families.trees import chain, humanoid, random_states
from treemech.dynamics.calls import lanes
from treemech.kinematics.kernel.status import OK


def swinging(k=40.0):
    """Return a pendulum on a spring of stiffness k; its mass grows with k."""
    system = tm.System("swing")
    arm = system.body("arm", 1.0 + 0.01 * k, inertia(np.random.default_rng(1), 1.0), com=(0.0, 0.0, -0.5))
    system.connect("pin", tm.Revolute("y"), system.ground, arm)
    ends = system.ground.at((1.0, 0.0, 0.0)), arm.at((0.0, 0.0, -1.0))
    system.connect("spring", tm.Spring(stiffness=k, damping=0.1, length=0.3), *ends)
    return system.build()


def some_states(mech, count=7, seed=3):
    q, u, ud = random_states(mech, count, seed)
    y = np.array(
        [mech._core.pack(a, b, mech._core.work.z[: mech._core.nz]) for a, b in zip(q, u, strict=True)]
    )
    return q, u, ud, y


@pytest.mark.parametrize("make", [lambda: chain(7).build(), lambda: humanoid().build(), swinging])
def test_rows_have_the_numbers_of_their_states(make):
    mech = make()
    q, u, ud, _ = some_states(mech)
    t, out, tau = np.zeros(len(q)), np.zeros_like(u), np.zeros_like(u)
    assert np.all(lanes.forward_dynamics(mech._core, t, q, u, ud, out) == OK)
    assert np.all(lanes.inverse_dynamics(mech._core, t, q, u, ud, tau) == OK)
    for k in range(len(q)):
        assert np.array_equal(out[k], mech.forward_dynamics((q[k], u[k]), ud[k]).ud)
        assert np.array_equal(tau[k], mech.inverse_dynamics((q[k], u[k]), ud[k]))


@pytest.mark.parametrize("make", [lambda: chain(7).build(), lambda: humanoid().build(), swinging])
def test_steps_of_rows_are_those_of_a_stepper(make):
    mech = make()
    q, u, _, y = some_states(mech)
    t = np.linspace(0.0, 1.0, len(q))
    steppers = [
        mech.stepper(mech.state(a, q=b, u=c), 1e-3, method="RK4") for a, b, c in zip(t, q, u, strict=True)
    ]
    assert np.all(lanes.rk4_steps(mech._core, t, y, 1e-3, steps=5) == OK)
    for k, stepper in enumerate(steppers):
        for _ in range(5):
            stepper.step()
        assert stepper.t == t[k]
        assert np.array_equal(mech._core.states(t[k : k + 1], y[k : k + 1])[0][0], stepper.q)


def test_rows_have_numbers_of_the_model_of_their_own():
    """A row with the numbers of another model goes where that model goes, and the core keeps its own."""
    models = [swinging(k) for k in (20.0, 40.0, 80.0, 160.0, 320.0)]
    mech = models[1]
    q, u, _, y = some_states(mech, len(models))
    given = lanes.Given.of([m._core.layout for m in models])
    assert given.gravity is None
    t, alone = np.zeros(len(y)), y.copy()
    assert np.all(lanes.rk4_steps(mech._core, t, y, 1e-2, steps=3, given=given) == OK)
    for k, model in enumerate(models):
        assert np.all(lanes.rk4_steps(model._core, np.zeros(1), alone[k : k + 1], 1e-2, steps=3) == OK)
    assert np.array_equal(alone, y)
    assert np.array_equal(
        mech.forward_dynamics((q[0], u[0])).ud, swinging().forward_dynamics((q[0], u[0])).ud
    )


@pytest.mark.parametrize("method", ["DP5", "DOP853"])
def test_integration_of_rows_is_that_of_simulate(method):
    mech = swinging()
    q, u, _, y = some_states(mech)
    end, times = np.full(len(q), 0.5), np.linspace(0.1, 0.5, 4)
    atol, out = np.full(mech.nq + mech.nu, 1e-9), np.zeros((len(q), len(times), y.shape[1]))
    found = lanes.integrate(mech._core, method, np.zeros(len(q)), y, end, 1e-8, atol, times, out)
    assert np.all(found.status == OK) and np.array_equal(out[:, -1], y)
    for k in range(len(q)):
        run = mech.simulate((0.0, 0.5), (q[k], u[k]), method, 1e-8, 1e-9, t_eval=times)
        assert np.array_equal(run.q, out[k, :, : mech.nq])
        assert run.report.steps == found.steps[k]
