"""Rows of states and steps: the numbers of every row are those of its state alone, to the bit."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treemech as tm
from tests.support.models import KINDS, inertia, random_state, random_system
from treemech.benchmarks.families.trees import chain, humanoid, random_states
from treemech.dynamics.calls import lanes
from treemech.dynamics.calls.lane_model import lane_model, served
from treemech.kinematics.kernel.status import OK

on_lanes = pytest.mark.skipif(not served(), reason="the library has no lanes")


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
    q = np.array(
        [mech.state(q=a).q for a in q]
    )  # Euler parameters of length 1 to the bit, as states have them
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


# ---------------------------------------------------------------- on lanes
@cache
def tree_of(kind):
    """Return a random tree with hinges of one kind among others, with springs and loads, and states of it."""
    mech = random_system(KINDS.index(kind), n=6, kinds=(kind, "Revolute"), gravity=(0.3, -0.5, -9.0)).build()
    states = [random_state(mech, seed) for seed in range(11)]
    return mech, [np.array(x) for x in zip(*((s.t, s.q, s.u) for s in states), strict=True)]


@on_lanes
@pytest.mark.parametrize("kind", KINDS)
def test_hinges_of_every_kind_give_on_lanes_what_they_give_alone(kind):
    mech, (t, q, u) = tree_of(kind)
    core = mech._core
    assert lane_model(core) is not None
    rng = np.random.default_rng(0)
    loads, ud, tau = rng.normal(size=u.shape), np.zeros_like(u), np.zeros_like(u)
    assert np.all(lanes.forward_dynamics(core, t, q, u, loads, ud) == OK)
    assert np.all(lanes.inverse_dynamics(core, t, q, u, loads, tau) == OK)
    assert ud.tobytes() == core.accelerations(t, q, u, loads).tobytes()
    assert tau.tobytes() == core.inverse_dynamics(t, q, u, loads).tobytes()
    out, A = np.zeros((len(t), 3)), np.zeros((len(t), mech.nu, mech.nu))
    assert np.all(lanes.energy(core, t, q, u, out) == OK) and out.tobytes() == core.energy(t, q, u).tobytes()
    assert np.all(lanes.mass_matrix(core, t, q, u, A) == OK)
    assert A.tobytes() == np.array([core.mass_matrix(s, x) for s, x in zip(t, q, strict=True)]).tobytes()


@on_lanes
@pytest.mark.parametrize("kind", KINDS)
def test_steps_on_lanes_are_the_steps_of_one_row(kind):
    mech, (t, q, u) = tree_of(kind)
    core = mech._core
    y = np.array([core.pack(a, b, core.work.z[: core.nz]) for a, b in zip(q, u, strict=True)])
    together, alone, at = y.copy(), y.copy(), t.copy()
    assert np.all(lanes.rk4_steps(core, at, together, 1e-3, 3) == OK)
    for k in range(len(t)):
        lanes.rk4_steps(core, t[k : k + 1].copy(), alone[k : k + 1], 1e-3, 3)
    assert np.allclose(at, t + 3e-3) and together.tobytes() == alone.tobytes()


@on_lanes
@settings(max_examples=25, deadline=None)
@given(
    st.permutations(range(11)),
    st.integers(1, 11),
    st.sampled_from(("Ball", "Screw", "Curve", "Moving")),
    st.integers(1, 3),
)
def test_a_row_does_not_depend_on_neighbours_batch_size_and_threads(order, count, kind, threads):
    mech, (t, q, u) = tree_of(kind)
    rows = list(order)[:count]
    whole = mech.forward_dynamics(mech.state(t, q=q, u=u)).ud
    part = mech.forward_dynamics(mech.state(t[rows], q=q[rows], u=u[rows]), threads=threads).ud
    assert part.tobytes() == whole[rows].tobytes()


@on_lanes
def test_a_row_that_fails_leaves_the_others_alone():
    """A state that is not finite fails by itself; its neighbours in the vector have their numbers."""
    mech = swinging()
    q, u, _, y = some_states(mech)
    broken, t = y.copy(), np.zeros(len(y))
    broken[2, mech.nq] = np.inf
    status = lanes.rk4_steps(mech._core, t, broken, 1e-3, 2)
    assert status[2] != OK and np.all(np.delete(status, 2) == OK) and t[2] == 0.0
    assert np.all(lanes.rk4_steps(mech._core, np.zeros(len(y)), y, 1e-3, 2) == OK)
    assert np.delete(broken, 2, 0).tobytes() == np.delete(y, 2, 0).tobytes()


@on_lanes
@pytest.mark.parametrize("method", ["DP5", "DOP853"])
@pytest.mark.parametrize("kind", ["Ball", "Screw", "Moving"])
def test_runs_on_lanes_are_the_runs_of_one_row(kind, method):
    """More rows than lanes, of different length and difficulty: same steps, same digits, same outputs."""
    mech, (t, q, u) = tree_of(kind)
    core = mech._core
    y = np.array([core.pack(a, b, core.work.z[: core.nz]) for a, b in zip(q, u, strict=True)])
    t, end, times = np.zeros(len(y)), np.linspace(0.05, 0.2, len(y)), np.linspace(0.0, 0.05, 4)
    atol = np.full(y.shape[1], 1e-7)

    def runs(rows):
        own_t, own_y, out = t[rows].copy(), y[rows].copy(), np.zeros((len(rows), len(times), y.shape[1]))
        found = lanes.integrate(core, method, own_t, own_y, end[rows], 1e-5, atol, times, out)
        assert np.all(found.status == OK) and np.array_equal(own_t, end[rows])
        return [own_y, out, *(np.array(x) for x in found)]

    together = runs(range(len(y)))
    for k in range(len(y)):
        for whole, alone in zip(together, runs([k]), strict=True):
            assert whole[k].tobytes() == alone[0].tobytes()


@on_lanes
@pytest.mark.parametrize("method", ["RK4", "DP5"])
def test_lanes_have_numbers_of_the_model_of_their_own(method):
    """Rows with other stiffnesses and masses go on lanes where their own models go."""
    models = [swinging(k) for k in np.linspace(20.0, 320.0, 9)]
    core = models[3]._core
    _, _, _, y = some_states(models[3], len(models))
    given = lanes.Given.of([m._core.layout for m in models])
    atol, end = np.full(y.shape[1], 1e-7), np.full(len(y), 0.3)

    def go(core, y, given=None):
        if method == "RK4":
            return lanes.rk4_steps(core, np.zeros(len(y)), y, 1e-2, 5, given)
        return lanes.integrate(
            core, method, np.zeros(len(y)), y, end[: len(y)], 1e-6, atol, given=given
        ).status

    together, alone = y.copy(), y.copy()
    assert np.all(go(core, together, given) == OK)
    for k, model in enumerate(models):
        assert np.all(go(model._core, alone[k : k + 1]) == OK)
    assert together.tobytes() == alone.tobytes()


def test_without_lanes_rows_have_the_same_numbers(monkeypatch):
    mech = swinging()
    _, _, _, y = some_states(mech)
    with_lanes, without = y.copy(), y.copy()
    lanes.rk4_steps(mech._core, np.zeros(len(y)), with_lanes, 1e-2, 4)
    monkeypatch.setattr(mech._core, "lanes", False)
    lanes.rk4_steps(mech._core, np.zeros(len(y)), without, 1e-2, 4)
    assert with_lanes.tobytes() == without.tobytes()
