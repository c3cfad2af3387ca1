"""Models with elements of the user on SIMD lanes: the numbers of single states, and errors in the user's words."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treemech as tm
from tests.support import own_elements as own
from tests.support.models import inertia
from treemech.dynamics.calls import lanes
from treemech.dynamics.calls.lane_loops import lane_loops
from treemech.dynamics.calls.lane_model import lane_model, served

pytestmark = pytest.mark.skipif(not served(), reason="the library has no lanes")

CLOSED = 1e-11  # two routes to accelerations of a closed chain, relative, as in test_lane_loops.py
COUNT = 11


def wave(t):
    return 0.1 * np.sin(3.0 * t) + 0.2


def bodies(system, n):
    rng = np.random.default_rng(n)
    return [system.body(f"b{k}", 1.0 + 0.2 * k, inertia(rng, 1.0), com=(0.3, 0.05, -0.1)) for k in range(n)]


def tree():
    """Return a tree with hinges, springs, drives, loads and signals of the user, and states of it."""
    system = tm.System("own tree", gravity=(0.3, -0.5, -9.0))
    parts, inner = bodies(system, 5), system.ground
    for k, (body, hinge) in enumerate(
        zip(parts, (own.Slide(), own.Cam(), tm.Revolute("x"), own.Slide(0.1), tm.Ball()), strict=True)
    ):
        system.connect(f"h{k}", hinge, inner, body)
        inner = body
    ends = system.ground.at((0.2, 0.1, 0.3)), parts[3].at((0.3, 0.0, 0.0))
    system.connect("band", own.Band(length=tm.Function(wave)), *ends)
    system.connect("gas", own.Gas(), system.ground, parts[2].at((0.0, 0.2, 0.0)))
    system.connect("torsion", own.Torsion.example(), "h0")
    system.connect("lag", own.Lag(), "h2", inputs={"command": "wanted"})
    system.load("wind", own.Wind(), parts[4])
    system.input("wanted")
    mech, rng = system.build(), np.random.default_rng(5)
    states = []
    for _ in range(COUNT):
        turn = rng.normal(size=4)
        q = np.concatenate((rng.normal(size=4), turn / np.linalg.norm(turn)))
        states.append(mech.state(0.1, q=mech.state(q=q).q, u=rng.normal(size=mech.nu)))
    return mech, states


def four_bar():
    """Return a four-bar that a hinge of the user closes, with a band and a drive, and states of it."""
    system = tm.System("own four-bar", gravity=(0.3, -9.0, -1.0))
    crank, coupler, rocker = bodies(system, 3)
    ground = system.ground
    system.connect("A", tm.Revolute("z"), ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((0.5, 0.0, 0.0)), coupler)
    system.connect("D", own.Slide(0.0, 9.0), ground.at((1.3, 0.0, 0.0)), rocker)
    ends = coupler.at((1.2, 0.0, 0.0)), rocker.at((0.9, 0.0, 0.0))
    system.connect("C", own.Slide(0.0, 9.0), *ends, role="chord")
    system.connect("band", own.Band(length=tm.Function(wave)), crank.at((0.3, 0, 0)), rocker.at((0.5, 0, 0)))
    system.connect("lag", own.Lag(), "A", inputs={"command": "wanted"})
    system.input("wanted")
    mech = system.build()
    starts = zip(np.linspace(0.3, 0.9, COUNT), np.linspace(-2.0, 2.0, COUNT), strict=True)
    return mech, [mech.assemble(fix={"A": a}, guess={"B": 0.2, "D": 1.9}, rates={"A": w}) for a, w in starts]


def machine():
    """Return a chain of constraints and couplings of the user, and states of it."""
    system = tm.System("own machine", gravity=(0.3, -9.0, -1.0))
    crank, wheel, rod, sledge, slider = bodies(system, 5)
    ground = system.ground
    system.connect("A", tm.Revolute("z"), ground, crank)
    system.connect("W", tm.Revolute("z"), ground.at((2.0, 0.0, 0.0)), wheel)
    system.couple("ovals", own.Ovals(), "A", "W")
    system.connect("S", tm.Prismatic("x"), ground.at((0.0, 2.0, 0.0)), slider)
    system.couple("rack", own.Rack(), "W", "S")
    system.connect("B", tm.Ball(), crank.at((0.5, 0.0, 0.0)), rod)
    system.connect("bowl", own.Bowl(), ground, rod.at((0.8, 0.1, 0.0)))
    system.connect("level", own.Level(0.1), ground, rod.at((0.2, 0.5, 0.1)))
    system.connect("skate", tm.Planar(), ground, sledge)
    system.connect("edge", own.Skate(), ground, sledge)
    system.connect("torsion", own.Torsion.example(), "A")
    mech = system.build()
    start = mech.assemble(guess={"A": 0.4}, rates={"A": 1.0})
    run = mech.simulate((0.0, 0.2), start, rtol=1e-9, t_eval=np.linspace(0.0, 0.2, COUNT))
    return mech, [run.state(k) for k in range(COUNT)]


MODELS = {"tree": tree, "four-bar": four_bar, "machine": machine}


@cache
def model(name):
    mech, found = MODELS[name]()
    states = [
        mech.state(s.t, q=mech.state(q=s.q).q, u=s.u) for s in found
    ]  # Euler parameters of length 1 to the bit
    t, q, u = (np.array([getattr(s, x) for s in states]) for x in ("t", "q", "u"))
    assert mech._core.foreign
    return mech, states, mech.state(t, q=q, u=u)


def agree(a, b, mech):
    """Tell whether numbers are the same: to the bit in trees, to rounding in closed chains."""
    if mech._core.loops is None:
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return np.abs(a - b).max() <= CLOSED * (1.0 + np.abs(b).max())


def batch_of(name, rows=range(COUNT), **options):
    mech, states, _ = model(name)
    rows = list(rows)
    batch = mech.batch(len(rows), states[0], **options)
    for k, row in enumerate(rows):
        batch.reset([k], states[row])
    if batch.inputs:
        batch.inputs["wanted"][:] = np.linspace(-3.0, 3.0, COUNT)[rows]
    return batch


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_are_those_of_single_states(name):
    mech, states, many = model(name)
    assert lane_model(mech._core) is not None
    assert mech._core.loops is None or lane_loops(mech._core) is not None
    loads = np.random.default_rng(0).normal(size=(COUNT, mech.nu))
    found = mech.forward_dynamics(many, loads)
    for k, state in enumerate(states):
        alone = mech.forward_dynamics(state, loads[k])
        assert agree(found.ud[k], alone.ud, mech)
        assert agree(found.multipliers[k], alone.multipliers, mech) or not alone.multipliers.size


@pytest.mark.parametrize(
    ("name", "what"),
    [(n, w) for n in MODELS for w in ("load_column", "mass_matrix", "energy")]
    + [("tree", "inverse_dynamics")],
)
def test_other_analyses_are_those_of_single_states(name, what):
    mech, states, many = model(name)
    more = [np.random.default_rng(0).normal(size=(COUNT, mech.nu))] if what == "inverse_dynamics" else []
    found = getattr(mech, what)(many, *more)
    for k, state in enumerate(states):
        alone = getattr(mech, what)(state, *(x[k] for x in more))
        if what == "energy":
            assert all(agree(getattr(found, x)[k], getattr(alone, x), mech) for x in ("kinetic", "stored"))
        else:
            assert agree(found[k], alone, mech)


@pytest.mark.parametrize("name", MODELS)
def test_elements_are_compiled_for_lanes(name):
    """All but those by an implicit law."""
    mech, _, _ = model(name)
    closed = lane_loops(mech._core) if mech._core.loops is not None else None
    pairs = lane_model(mech._core) if closed is None else closed.tree
    alone = sum(isinstance(a.element, own.Gas) for a in mech._core.layout.efforts.applied)
    assert len(pairs._pairs) > 3 and sum(not pair[1] for pair in pairs._pairs.values()) == alone


@pytest.mark.parametrize("method", ["RK4", "DP5"])
@pytest.mark.parametrize("name", MODELS)
def test_steps_are_those_of_a_stepper(name, method):
    mech, _, _ = model(name)
    batch = batch_of(name, method=method)
    states = [batch.state(k) for k in range(COUNT)]
    own_steps = batch._own_steps()
    aim = np.tile([0.0, 1e-3, 1e-3 if method == "RK4" else 0.0], (COUNT, 1))
    assert own_steps.on_lanes(0, COUNT, aim, 1e-3, batch._y.copy(), batch.u.copy()) == []
    batch.step(2e-3)
    assert not batch.failed
    for k, state in enumerate(states):
        after = mech.step(state, 2e-3, method=method)
        assert agree(batch.q[k], after.q, mech) and agree(batch.u[k], after.u, mech)


@pytest.mark.parametrize("name", MODELS)
def test_runs_are_those_of_simulate(name):
    mech, states, many = model(name)
    start = mech.state(0.0, q=many.q, u=many.u)
    options = {"method": "DP5", "rtol": 1e-7, "atol": 1e-9, "t_eval": np.linspace(0.0, 0.05, 3)}
    found = mech.simulate_many((0.0, 0.05), start, **options)
    for k in range(COUNT):
        run = mech.simulate((0.0, 0.05), mech.state(0.0, q=many.q[k], u=many.u[k]), **options)
        if mech._core.loops is None:
            assert found["q"][k].tobytes() == run.q.tobytes()
        assert np.abs(found["q"][k] - run.q).max() < 1e-9


@settings(max_examples=20, deadline=None)
@given(
    st.permutations(range(COUNT)), st.integers(1, COUNT), st.sampled_from(tuple(MODELS)), st.integers(1, 3)
)
def test_a_row_does_not_depend_on_neighbours_batch_size_and_threads(order, count, name, threads):
    mech, _, many = model(name)
    rows = list(order)[:count]
    part = mech.state(many.t[rows], q=many.q[rows], u=many.u[rows])
    whole, found = mech.forward_dynamics(many), mech.forward_dynamics(part, threads=threads)
    assert found.ud.tobytes() == whole.ud[rows].tobytes()
    together, some = batch_of(name).step(1e-3, 2), batch_of(name, rows, threads=threads).step(1e-3, 2)
    assert some._y.tobytes() == together._y[rows].tobytes()


# ---------------------------------------------------------------- elements that raise, elements in Python
def shy(closed, element):
    """Return a pendulum, or two that are coupled, with an element that may raise."""
    system = tm.System("shy")
    for name in ("A", "B")[: 1 + closed]:
        body = system.body("b" + name, 1.0, (1.0, 1.0, 1.0), com=(0.0, 0.0, -0.5))
        system.connect(name, tm.Revolute("y"), system.ground, body)
    if closed:
        system.couple("ovals", own.Ovals(), "A", "B")
    system.connect("element", element, "A")
    return system.build()


@pytest.mark.parametrize("method", ["RK4", "DP5"])
@pytest.mark.parametrize("closed", [False, True])
def test_a_row_whose_element_raises_is_named_and_the_others_go_on(closed, method, capfd):
    mech = shy(closed, own.Shy())
    angles = np.array([0.1, 0.2, 0.9995, 0.3, 0.4, 0.5])
    states = [mech.assemble(fix={"A": a}, rates={"A": 1.0}) for a in angles]
    good = [k for k in range(6) if k != 2]
    whole, some = mech.batch(6, states[0], method=method), mech.batch(5, states[0], method=method)
    for k, state in enumerate(states):
        whole.reset([k], state)
    for k, row in enumerate(good):
        some.reset([k], states[row])
    whole.step(2e-3, 2)
    some.step(2e-3, 2)
    assert (
        list(whole.failed) == [2] and "beyond the limit" in whole.failed[2] and "element" in whole.failed[2]
    )
    assert not some.failed and some._y.tobytes() == whole._y[good].tobytes()
    assert "Exception ignored" not in capfd.readouterr().err


@pytest.mark.parametrize("closed", [False, True])
def test_accelerations_of_rows_raise_what_the_element_raises(closed, capfd):
    mech = shy(closed, own.Shy())
    q = [mech.assemble(fix={"A": a}).q for a in (0.1, 0.2, 2.0, 0.3, 0.4)]
    many = mech.state(q=np.array(q))
    with pytest.raises(tm.TreemechError, match="beyond the limit"):
        mech.forward_dynamics(many)
    assert "Exception ignored" not in capfd.readouterr().err


def test_runs_whose_element_raises_fail_by_themselves(capfd):
    mech = shy(False, own.Shy())
    q, u = np.array([[0.1], [0.9], [0.3], [0.2], [0.0]]), np.array([[0.1], [2.0], [0.1], [0.1], [0.1]])
    found = mech.simulate_many((0.0, 0.1), mech.state(q=q, u=u), method="DP5", workers=1)
    assert found.success.tolist() == [True, False, True, True, True]
    run = mech.simulate((0.0, 0.1), (q[2], u[2]), method="DP5")
    assert found["q"][2].tobytes() == run.q[-1].tobytes()
    assert "Exception ignored" not in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("closed", [False, True])
def test_elements_in_python_go_state_by_state(closed):
    mech, twin = shy(closed, own.Spoken()), shy(closed, own.Torsion(np.array([0.0, 5.0])))
    assert mech._core.interpreted and lane_model(mech._core) is None and not lanes.plain(mech._core)
    starts = [mech.assemble(fix={"A": a}, rates={"A": 1.0}) for a in (0.1, 0.2, 0.3, 0.4, 0.5)]
    batch = mech.batch(5, starts[0])
    for k, state in enumerate(starts):
        batch.reset([k], state)
    batch.step(1e-3)
    assert not batch.failed
    for k, state in enumerate(starts):
        after = mech.step(state, 1e-3, method="RK4")
        assert batch.q[k].tobytes() == after.q.tobytes()
        assert np.allclose(batch.q[k], twin.step((state.q, state.u), 1e-3, method="RK4").q, atol=1e-3)
