"""States from plain numbers are those that the general way makes."""

import copy
import pickle

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import four_bar, tree
from tests.support.general_way import PLAIN, general_way, same
from treemech.analyses.states import make_state

pytestmark = pytest.mark.filterwarnings("ignore:[qu] of 'C' is")  # prescribed: given all at once


def parts(state):
    return state.t, state.q, state.u, state.x, state.memory, state.active, dict(state.cut)


@pytest.mark.parametrize("name", PLAIN)
def test_states_are_those_of_the_general_way(name):
    mech, state = PLAIN[name]()
    simple = {c.name: 0.1 for c in mech._lagrange.hinges if c.hinge.n_coordinates == 1}
    simple = {n: x for n, x in simple.items() if n not in {p.hinge for p in mech._prescriptions}}
    for given in ((0.0, state.q, state.u), (1, state.q, None), (0.5, None, state.u), (0.0, simple, simple)):
        quick = mech.state(*given)
        assert same(parts(quick), parts(make_state(mech, *given))), given
        assert quick.q is not given[1] and quick.coordinates is mech._lagrange


def test_names_of_single_numbers_and_lists_are_taken():
    mech, _ = tree()
    wide = [c for c in mech._lagrange.hinges if c.hinge.n_speeds > 1 and c.hinge.euler_parameters is None]
    c = wide[0]
    first, all_ = mech.state(u={f"{c.name}[1]": 2.0}), mech.state(u={c.name: list(range(c.hinge.n_speeds))})
    assert first.u[c.u + 1] == 2.0 and np.sum(np.abs(first.u)) == 2.0
    assert all_.u[c.u_slice].tolist() == list(range(c.hinge.n_speeds))


def test_what_is_wrong_is_named():
    mech, _ = tree()
    q = mech.state().q
    with pytest.raises(tm.ElementError, match="q has shape"):
        mech.state(q=q[1:])
    with pytest.raises(tm.ElementError, match="wanted a finite number"):
        mech.state(q=np.where(np.arange(len(q)) == 0, np.nan, q))
    with pytest.raises(tm.TopologyError, match="no hinge"):
        mech.state(q={"nothing": 1.0})
    with pytest.raises(tm.ElementError):
        mech.state(t=np.nan)
    with pytest.warns(UserWarning, match="angles are in radians"):
        four_bar()[0].state(q={"A": 45.0})


def test_euler_parameters_are_scaled_as_ever():
    system = tm.System("top")
    body = system.body("top", 1.0, (0.1, 0.2, 0.3))
    system.connect("ball", tm.Ball(), system.ground, body)
    mech = system.build()
    given = np.array([0.9, 0.3, -0.2, 0.25])
    quick = mech.state(q=given)
    with general_way(mech):
        assert same(quick.q, mech.state(q=given).q)
    assert abs(np.linalg.norm(quick.q) - 1.0) < 1e-15
    with pytest.raises(tm.ElementError, match="wanted length 1"):
        mech.state(q=2.0 * given)
    assert same(mech.state(q={"ball": np.eye(3)}).q, np.array([1.0, 0.0, 0.0, 0.0]))


def test_cut_hinges_of_a_state_are_found_when_asked_for_and_travel_as_numbers():
    mech, start = four_bar()
    state = mech.state(q=start.q, u=start.u)
    sent = pickle.loads(pickle.dumps(state))
    assert type(sent.cut) is dict and same(sent.cut, dict(state.cut)) and len(state.cut) == 1
    assert same(dict(copy.deepcopy(state).cut), dict(state.cut))
    (name,) = state.cut
    assert np.allclose(state[name][0], start[name][0], atol=1e-12)
    assert np.allclose(state[name][1], start[name][1], atol=1e-12)
    with pytest.raises(KeyError):
        state.cut["other"]
