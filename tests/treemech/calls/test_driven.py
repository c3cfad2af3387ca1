"""Inverse dynamics with chosen drives by the C extension: the numbers of the general way, in one crossing, least and exact."""

import numpy as np
import pytest

import treemech as tm
from tests.dynamics.analyses.test_inverse_dynamics import five_bar
from tests.support.general_way import PLAIN, general_way, platform, same
from treemech.dynamics.calls.driven import Driven
from treemech.dynamics.native.caller import caller

extension = pytest.mark.skipif(caller() is None, reason="the C extension was not built")


def bar():
    mech = five_bar()
    return mech, mech.assemble(fix={"A": -2.0, "E": -1.1}, guess={"B": 1.2, "D": -1.0}, rates={"A": 1.0, "E": -0.6})  # fmt: skip


def driven_bar():
    """A five-bar whose first hinge follows a signal, with a spring: prescribed speeds are driven by default."""
    system = tm.System("driven", gravity=(0, 0, -9.81))
    links = [system.body(f"link {k}", 1.0, (0.01, 0.05, 0.05), com=(0.3, 0, 0)) for k in range(3)]
    system.connect("A", tm.Revolute("y"), system.ground, links[0])
    system.connect("B", tm.Revolute("y"), links[0].at((0.3, 0, 0)), links[1])
    system.connect("D", tm.Revolute("y"), system.ground.at((0.8, 0, 0)), links[2])
    system.connect("C", tm.Revolute("y"), links[1].at((0.7, 0, 0)), links[2].at((0.6, 0, 0)))
    system.connect("spring", tm.RotationalSpring(5.0, 0.3), "D")
    system.prescribe("A", tm.Harmonic(0.4, 2.0))
    mech = system.build()
    return mech, mech.assemble(t=0.3, guess={"B": -1.0, "D": -1.5})


MODELS = {
    "five-bar": (bar, (["A", "E"], ["A", "B", "E"], ("A", "B", "D", "E"))),
    "driven": (driven_bar, (None, ["A"], ["A", "D"])),
    "Stewart": (platform, ([f"P0.{k}" for k in range(6)], [f"{a}0.{k}" for k in range(6) for a in "UP"])),
    "tree": (PLAIN["tree"], (None,)),
}
CASES = [(name, actuated) for name, (_, all_) in MODELS.items() for actuated in all_]


def possible(mech, state, seed=3):
    """Return accelerations that the constraints allow, under random loads on the speeds."""
    tau = np.random.default_rng(seed).normal(size=mech.nu)
    return mech.forward_dynamics(state, tau).ud


@extension
@pytest.mark.parametrize("name, actuated", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_extension_has_the_numbers_of_the_general_way(name, actuated, weighted):
    mech, state = MODELS[name][0]()
    ud = possible(mech, state)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=mech.nu) if weighted else None
    loads = mech.inverse_dynamics(state, ud, actuated=actuated, weights=weights)
    with general_way(mech):
        general = mech.inverse_dynamics(state, ud, actuated=actuated, weights=weights)
    assert same(loads, general)
    taken = [key for key in mech._fast._tables if isinstance(key, Driven) or key == "inverse_dynamics"]
    assert taken and all(mech._fast._tables[key] is not None for key in taken)
    # and they make these accelerations
    again = mech.forward_dynamics(state, loads).ud
    assert np.max(np.abs(again - ud)) < 1e-8 * (1.0 + np.max(np.abs(ud)))
    out = np.zeros(mech.nu)
    assert mech.inverse_dynamics(state, ud, actuated=actuated, weights=weights, out=out) is out
    assert same(out, loads)


@extension
@pytest.mark.parametrize("name, actuated", CASES)
def test_many_states_have_the_numbers_of_each(name, actuated):
    mech, state = MODELS[name][0]()
    count = 5
    q, u = np.tile(state.q, (count, 1)), np.tile(state.u, (count, 1))
    t = np.full(count, state.t)
    ud = np.array([possible(mech, state, seed=k) for k in range(count)])
    many = tm.State(t, q, u, coordinates=state.coordinates)
    found = mech.inverse_dynamics(many, ud, actuated=actuated)
    assert found.shape == (count, mech.nu)
    for k in range(count):
        one = mech.inverse_dynamics(state, ud[k], actuated=actuated)
        assert same(found[k], one) or np.max(np.abs(found[k] - one)) < 1e-9 * np.max(np.abs(one))
    own = next((x for x in mech._fast._tables if isinstance(x, Driven)), "inverse_dynamics")
    assert mech._fast.table(own).shapes == [(mech.nu,)]


@extension
def test_the_loads_are_the_least():
    weights = {"A": 1.0, "B": 5.0, "D": 0.5, "E": 2.0}
    mech, state = bar()
    ud = possible(mech, state)
    P = mech.constraints(state).partials
    required = mech.mass_matrix(state) @ ud - mech.load_column(state)
    loads = mech.inverse_dynamics(state, ud, actuated=["A", "B", "D", "E"], weights=weights)
    N = np.linalg.svd(P)[2][np.linalg.matrix_rank(P, tol=1e-9) :].T
    assert np.max(np.abs(N.T @ (loads - required))) < 1e-9 * np.max(np.abs(required))
    along = (
        np.array([weights[n] for n in mech.speeds]) * loads
    )  # weights times loads is in the span of N: no shorter one
    assert np.max(np.abs(along - N @ (N.T @ along))) < 1e-9 * np.max(np.abs(along))


@pytest.mark.parametrize("name", ["five-bar", "Stewart"])
def test_what_is_refused_in_the_general_way_is_refused(name):
    mech, state = MODELS[name][0]()
    good = possible(mech, state)
    first = list(MODELS[name][1][0])
    with pytest.raises(tm.TreemechError, match="under-actuated"):
        mech.inverse_dynamics(state, good, actuated=first[:1])
    with pytest.raises(tm.TreemechError, match="do not fit"):
        mech.inverse_dynamics(state, good + 1.0, actuated=first)
    open_rates = tm.State(0.0, state.q, state.u + 0.3, coordinates=state.coordinates)
    with pytest.raises(tm.TreemechError, match="rates open"):
        mech.inverse_dynamics(open_rates, good, actuated=first)
    with pytest.raises(tm.TreemechError, match="nobody"):
        mech.inverse_dynamics(state, good, actuated=["nobody"])
    with pytest.raises(tm.TreemechError, match="weights"):
        mech.inverse_dynamics(state, good, actuated=first, weights=-np.ones(mech.nu))
