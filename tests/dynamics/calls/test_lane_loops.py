"""Closed chains on SIMD lanes: the motions of single states to rounding, and no row depends on what stands beside it."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treemech as tm
from tests.laws.test_random_loops import moving
from tests.support.mechanisms import random_mechanism
from tests.support.models import inertia
from treemech.dynamics.calls.lane_loops import lane_loops
from treemech.dynamics.calls.lane_model import served
from treemech.kinematics.kernel.status import OK

pytestmark = pytest.mark.skipif(not served(), reason="the library has no lanes")

CLOSED = (
    1e-11  # two routes to accelerations of a closed chain, relative: its equations may be ill-conditioned
)
COUNT = 11


def bodies(system, n, mass=1.0):
    rng = np.random.default_rng(n)
    return [
        system.body(f"b{k}", mass * (1.0 + 0.2 * k), inertia(rng, 1.0), com=(0.4, 0.05, 0.0))
        for k in range(n)
    ]


def four_bar(last=None, prescribed=False, pull=3.0):
    """Return a four-bar on a spring and a drive, with a signal; `last` closes it."""
    l = tm.Parameter("l", 1.2)
    system = tm.System("four-bar", gravity=(0.3, -9.0, -1.0))
    crank, coupler, rocker = bodies(system, 3)
    ground = system.ground
    system.connect("A", tm.Revolute("z"), ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((0.5, 0.0, 0.0)), coupler)
    system.connect("D", tm.Revolute("z"), ground.at((1.3, 0.0, 0.0)), rocker)
    system.connect(
        "C", last or tm.Revolute("z"), coupler.at((l, 0.0, 0.0)), rocker.at((0.9, 0.0, 0.0)), role="chord"
    )
    system.connect(
        "s", tm.Spring(stiffness=30.0, damping=0.4, length=0.5), crank.at((0.3, 0, 0)), rocker.at((0.5, 0, 0))
    )
    if prescribed:
        system.prescribe("A", tm.Function(lambda t: 0.6 + np.sin(t)))
    else:
        system.connect("drive", tm.Actuator(upper=20.0), "A", inputs={"command": "torque"})
        system.input("torque")
    mech = system.build()
    starts = []
    for a, w in zip(np.linspace(0.3, 0.9, COUNT), np.linspace(-2.0, 2.0, COUNT), strict=True):
        guess = {"B": 0.2, "D": 1.9}
        starts.append(
            mech.assemble(guess=guess)
            if prescribed
            else mech.assemble(fix={"A": a}, guess=guess, rates={"A": w})
        )
    return mech, starts


def random_chain(seed):
    """Return a random closed chain of hinges the sweeps know, and closed states of it."""
    mechanism = random_mechanism(seed, seed % 2 == 0, 1 + (seed // 2) % 3)
    mech = mechanism.system.build()
    run = mech.simulate(
        (0.0, 0.3), moving(mechanism, mech, seed), rtol=1e-9, t_eval=np.linspace(0.0, 0.3, COUNT)
    )
    return mech, [run.state(k) for k in range(COUNT)]


def machine():
    """Return a chain of constraints and couplings: a rod on two points, gears, a knife edge, and states of it."""
    system = tm.System("machine", gravity=(0.3, -9.0, -1.0))
    crank, wheel, rod, sledge = bodies(system, 4)
    ground = system.ground
    system.connect("A", tm.Revolute("z"), ground, crank)
    system.connect("W", tm.Revolute("z"), ground.at((2.0, 0.0, 0.0)), wheel)
    system.couple("gear", tm.Gear(ratio=2.0), "A", "W")
    system.connect("B", tm.Cylindrical("x"), crank.at((0.5, 0.0, 0.0)), rod)
    system.connect("far", tm.Distance(1.5), rod.at((0.8, 0.0, 0.0)), ground.at((1.6, 1.0, 0.2)))
    system.connect("skate", tm.Planar(), ground, sledge)
    system.connect("edge", tm.KnifeEdge(), ground, sledge)
    mech = system.build()
    start = mech.assemble(guess={"A": 0.4}, rates={"A": 1.0})
    run = mech.simulate((0.0, 0.2), start, rtol=1e-9, t_eval=np.linspace(0.0, 0.2, COUNT))
    return mech, [run.state(k) for k in range(COUNT)]


def bead():
    """Return a bead on a helix that turns: a constraint with an unknown of its own, and states of it."""
    system = tm.System("bead", gravity=(0.3, -1.0, -9.0))
    wheel, ring = bodies(system, 2)
    helix = np.array([(np.cos(a), np.sin(a), 0.2 * a) for a in np.linspace(0.0, 6.0, 9)])
    system.connect("A", tm.Revolute("z"), system.ground, wheel)
    system.connect("B", tm.Translation(), system.ground, ring)
    system.connect("on", tm.PointOnCurve(helix, start=1.5), wheel, ring)
    mech = system.build()
    x, y, z = (float(v) for v in (np.cos(1.5), np.sin(1.5), 0.3))
    start = mech.assemble(fix={"A": 0.0}, guess={"B[0]": x, "B[1]": y, "B[2]": z}, rates={"A": 1.0})
    run = mech.simulate((0.0, 0.2), start, rtol=1e-9, t_eval=np.linspace(0.0, 0.2, COUNT))
    return mech, [run.state(k) for k in range(COUNT)]


MODELS = {
    "constraints and couplings": machine,
    "revolute": four_bar,
    "ball": lambda: four_bar(tm.Ball()),
    "cylindrical": lambda: four_bar(tm.Cylindrical("z")),
    "bead": bead,
    "driven by a signal": lambda: four_bar(prescribed=True),
    **{f"random {seed}": lambda seed=seed: random_chain(seed) for seed in (0, 4, 6, 10, 13, 41, 53)},
}


@cache
def model(name):
    mech, states = MODELS[name]()
    q, u = np.array([s.q for s in states]), np.array([s.u for s in states])
    return (
        mech,
        states,
        mech.state(np.array([s.t for s in states]), q=q, u=u) if not mech._prescriptions else None,
    )


def agree(a, b):
    return np.abs(a - b).max() <= CLOSED * (1.0 + np.abs(b).max())


@pytest.mark.parametrize("name", [n for n in MODELS if n != "driven by a signal"])
def test_accelerations_on_lanes_are_those_of_single_states(name):
    mech, states, many = model(name)
    assert lane_loops(mech._core) is not None
    loads = np.random.default_rng(0).normal(size=(COUNT, mech.nu))
    found = mech.forward_dynamics(many, loads)
    for k, state in enumerate(states):
        alone = mech.forward_dynamics(state, loads[k])
        assert agree(found.ud[k], alone.ud)
        assert agree(found.multipliers[k], alone.multipliers)


@pytest.mark.parametrize("name", list(MODELS))
def test_steps_on_lanes_are_those_of_single_states_and_stay_closed(name):
    mech, states, _ = model(name)
    batch = mech.batch(COUNT, states[0])
    for k, state in enumerate(states):
        batch.reset([k], state)
    if batch.inputs:
        batch.inputs["torque"][:] = np.linspace(-3.0, 3.0, COUNT)
    states = [batch.state(k) for k in range(COUNT)]
    batch.step(2e-3, 3)
    assert not batch.failed
    for k, state in enumerate(states):
        stepper = mech.stepper(state, 2e-3, method="RK4")
        for _ in range(3):
            stepper.step()
        assert agree(batch.q[k], stepper.q) and agree(batch.u[k], stepper.u)
        after = batch.state(k)
        assert np.abs(mech.constraints(after).residual).max() < 1e-12


def test_rows_go_on_lanes():
    """What the other tests compare does not go one by one."""
    mech, states, _ = model("revolute")
    batch = mech.batch(COUNT, states[3])
    own = batch._own_steps()
    aim = np.tile([0.0, 1e-3, 1e-3], (COUNT, 1))
    assert own.on_lanes(0, COUNT, aim, 1e-3, batch._y, batch.u) == []


@settings(max_examples=25, deadline=None)
@given(
    st.permutations(range(COUNT)),
    st.integers(1, COUNT),
    st.sampled_from(
        ("revolute", "ball", "cylindrical", "bead", "constraints and couplings", "random 4", "random 53")
    ),
    st.integers(1, 3),
)
def test_a_row_does_not_depend_on_neighbours_batch_size_and_threads(order, count, name, threads):
    mech, _, many = model(name)
    rows = list(order)[:count]
    part = mech.state(many.t[rows], q=many.q[rows], u=many.u[rows])
    whole, found = mech.forward_dynamics(many), mech.forward_dynamics(part, threads=threads)
    assert found.ud.tobytes() == whole.ud[rows].tobytes()
    assert found.multipliers.tobytes() == whole.multipliers[rows].tobytes()
    together, some = (
        mech.batch(COUNT, many).step(1e-3, 2),
        mech.batch(count, part, threads=threads).step(1e-3, 2),
    )
    assert some._y.tobytes() == together._y[rows].tobytes()


def test_rows_have_parameters_of_their_own():
    mech, states, _ = model("revolute")
    values = np.linspace(1.19, 1.21, 9)
    batch = mech.batch(9)
    batch.parameters["l"][:] = values
    designs = [mech.with_parameters(l=float(x)) for x in values]
    starts = [d.assemble(fix={"A": 0.4}, guess={"B": 0.2, "D": 1.9}, rates={"A": 1.0}) for d in designs]
    for k, state in enumerate(starts):
        batch.reset([k], mech.state(q=state.q, u=state.u))
    batch.step(1e-2, 5)
    assert not batch.failed
    for k, (design, state) in enumerate(zip(designs, starts, strict=True)):
        stepper = design.stepper(state, 1e-2, method="RK4")
        for _ in range(5):
            stepper.step()
        assert agree(batch.q[k], stepper.q) and agree(batch.u[k], stepper.u)


def test_a_row_that_is_open_or_not_finite_leaves_the_others_alone():
    mech, states, many = model("revolute")
    whole, some = mech.batch(COUNT, many), mech.batch(COUNT, many)
    some.q[2, 0] += 0.1
    some.u[5, 0] = np.nan
    whole.step(1e-3)
    some.step(1e-3)
    assert sorted(some.failed) == [2, 5] and "open" in some.failed[2]
    rest = [k for k in range(COUNT) if k not in (2, 5)]
    assert some._y[rest].tobytes() == whole._y[rest].tobytes()


def test_a_row_near_a_singular_position_goes_the_way_of_a_single_state():
    """A parallelogram that is stretched out is passed on its branch, beside rows that are far from there."""
    from treemech.benchmarks.problems.mechanisms.a02_double_four_bar import four_bars, state

    mech = four_bars(2).build()
    at = mech.simulate((0.0, 2.0), state(mech), rtol=1e-9).singular[0][0]
    times = np.array([at - 0.6, at - 0.5, at - 0.4, at - 0.3, at - 2e-3])
    run = mech.simulate((0.0, 2.0), state(mech), rtol=1e-9, t_eval=times)
    states = [run.state(k) for k in (0, 1, 4, 2, 3)]
    batch = mech.batch(
        len(states), mech.state(q=np.array([s.q for s in states]), u=np.array([s.u for s in states]))
    )
    own = batch._own_steps()
    aim = np.tile([0.0, 4e-3, 4e-3], (len(states), 1))
    assert own.on_lanes(0, len(states), aim, 4e-3, batch._y.copy(), batch.u) == [2]
    batch.step(4e-3)
    assert not batch.failed
    after = mech.step(states[2], 4e-3, method="RK4")
    assert np.allclose(batch.q[2], after.q, rtol=0, atol=1e-9)


def test_statuses_tell_rows_that_are_left():
    mech, _, many = model("revolute")
    closed = lane_loops(mech._core)
    q = many.q.copy()
    q[4, 0] += 0.2
    ud, multipliers = np.zeros_like(many.u), np.zeros((COUNT, mech._core.loops.n_rows))
    status = closed.dynamics(np.zeros(COUNT), q, many.u.copy(), None, np.zeros_like(ud), ud, multipliers)
    assert status[4] != OK and np.all(np.delete(status, 4) == OK)


@pytest.mark.parametrize("method", ["DP5", "DOP853"])
@pytest.mark.parametrize("name", ["revolute", "ball", "random 0", "random 6"])
def test_runs_on_lanes_are_those_of_simulate(name, method):
    """More rows than lanes, which arrive after different numbers of steps; outputs between the steps."""
    mech, states, many = model(name)
    times = np.linspace(0.0, 0.5, 4)
    options = {"method": method, "rtol": 1e-7, "atol": 1e-9}
    start = mech.state(q=many.q, u=many.u)
    ends, sampled = (
        mech.simulate_many((0.0, 0.5), start, **options),
        mech.simulate_many((0.0, 0.5), start, t_eval=times, **options),
    )
    for k in range(COUNT):
        run = mech.simulate((0.0, 0.5), mech.state(q=many.q[k], u=many.u[k]), t_eval=times, **options)
        assert np.abs(ends["q"][k] - run.q[-1]).max() < 1e-9
        assert np.abs(sampled["q"][k] - run.q).max() < 1e-9 and np.abs(sampled["u"][k] - run.u).max() < 1e-8


def counted(monkeypatch):
    """Note which rows go on lanes, and which are left by them."""
    from treemech.dynamics.calls.row_runs import RowRuns

    found, on_lanes = [], RowRuns.on_lanes

    def noting(self, first, last, *arrays):
        left = on_lanes(self, first, last, *arrays)
        found.append((last - first, left))
        return left

    monkeypatch.setattr(RowRuns, "on_lanes", noting)
    return found


def test_runs_that_pass_singular_positions_are_left_to_the_scalar_integrator(monkeypatch):
    from treemech.benchmarks.problems.mechanisms.a02_double_four_bar import four_bars, state

    mech = four_bars(2).build()
    one = state(mech)
    at = mech.simulate((0.0, 2.0), one, rtol=1e-9).singular[0][0]
    u = np.outer([1.0, 0.02, 0.01, 1.0, 0.03], one.u)  # the slow ones do not come so far
    found = counted(monkeypatch)
    runs = mech.simulate_many(
        (0.0, 1.1 * at), mech.state(q=np.tile(one.q, (5, 1)), u=u), rtol=1e-8, workers=1, block=5
    )
    assert found == [(5, [0, 3])] or set(found[0][1]) >= {0, 3}
    for k in range(5):
        run = mech.simulate((0.0, 1.1 * at), mech.state(q=one.q, u=u[k]), rtol=1e-8)
        assert np.abs(runs["q"][k] - run.q[-1]).max() < 1e-6


@settings(max_examples=10, deadline=None)
@given(
    st.permutations(range(COUNT)),
    st.integers(1, COUNT),
    st.sampled_from(("DP5", "DOP853")),
    st.integers(1, 2),
)
def test_a_run_does_not_depend_on_neighbours_blocks_and_threads(order, count, method, workers):
    mech, _, many = model("revolute")
    rows = list(order)[:count]
    options = {"method": method, "rtol": 1e-6}
    whole = mech.simulate_many((0.0, 0.4), mech.state(q=many.q, u=many.u), workers=1, **options)
    some = mech.simulate_many(
        (0.0, 0.4), mech.state(q=many.q[rows], u=many.u[rows]), workers=workers, block=3, **options
    )
    for name in ("q", "u"):
        assert some[name].tobytes() == whole[name][rows].tobytes()


def test_runs_have_parameters_and_starts_of_their_own(monkeypatch):
    mech, _, _ = model("revolute")
    values, found = np.linspace(1.15, 1.25, 9), counted(monkeypatch)
    runs = mech.simulate_many(
        (0.0, 0.5),
        lambda m: m.assemble(fix={"A": 0.4}, rates={"A": 1.0}),
        {"l": values},
        rtol=1e-7,
        workers=1,
    )
    assert runs.success.all()
    for k, value in enumerate(values):
        own = mech.with_parameters(l=float(value))
        run = own.simulate((0.0, 0.5), own.assemble(fix={"A": 0.4}, rates={"A": 1.0}), rtol=1e-7)
        assert np.abs(runs["q"][k] - run.q[-1]).max() < 1e-8
    assert found and all(left == [] for _, left in found), found


def test_starts_that_are_not_found_together_do_not_go_on_lanes(monkeypatch):
    """A design that cannot close is a failure; the others go together."""
    mech, _, _ = model("revolute")
    found = counted(monkeypatch)
    runs = mech.simulate_many(
        (0.0, 0.1), lambda m: m.assemble(fix={"A": 0.4}), {"l": [1.2, 9.0, 1.21]}, workers=1
    )
    assert runs.success.tolist() == [True, False, True] and found == [(2, [])]


def test_accelerations_do_not_depend_on_rows_that_were_chosen_for_other_states():
    """A stretched parallelogram makes the core choose rows; a regular state has the numbers it had before."""
    from treemech.benchmarks.problems.mechanisms.a02_double_four_bar import four_bars, state

    mech = four_bars(2).build()
    one = state(mech)
    many = mech.state(q=np.tile(one.q, (5, 1)), u=np.tile(one.u, (5, 1)))
    before = mech.forward_dynamics(many)
    at = mech.simulate((0.0, 2.0), one, rtol=1e-9).singular[0][0]
    flat = mech.simulate((0.0, at), one, rtol=1e-10).state()
    mech._core.loops.choose(0.0, flat.q, flat.u)
    mech._core.loops.work.masked[0] = 1
    after = mech.forward_dynamics(many)
    assert (
        after.ud.tobytes() == before.ud.tobytes()
        and after.multipliers.tobytes() == before.multipliers.tobytes()
    )


@pytest.mark.parametrize("method", ["RK4", "DP5", "DOP853"])
def test_steps_below_the_rounding_of_the_time_end(method):
    """t + dt is t: rows stay where they are, and come back."""
    tree = tm.System("pendulum")
    tree.connect(
        "A", tm.Revolute("y"), tree.ground, tree.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0.0, 0.0, -1.0))
    )
    for mech, state in ((tree.build(), None), (model("revolute")[0], model("revolute")[1][3])):
        batch = mech.batch(5, state, method=method)
        batch.t[:] = 1e18
        batch.step(1e-3)
        assert np.all(batch.t == 1e18)
