"""Reactions at a state: the same as those of a run, made when they are asked for."""

import pickle

import numpy as np
import pytest

import treemech as tm
from tests.support.general_way import PLAIN, general_way, same

pytestmark = pytest.mark.filterwarnings("ignore:[qu] of 'C' is")


@pytest.mark.parametrize("name", PLAIN)
def test_loads_are_those_of_a_run_and_of_the_general_way(name):
    mech, state = PLAIN[name]()
    found = mech.reactions(state)
    run = mech.simulate((state.t, state.t + 1e-3), state, t_eval=[state.t])
    size = max(float(np.abs(load.force).max()) + float(np.abs(load.moment).max()) for load in found.values())
    for connection, load in found.items():
        of_run = run.connection(connection)
        assert np.allclose(load.force, of_run.force[0], atol=1e-9 * size)
        assert np.allclose(load.moment, of_run.moment[0], atol=1e-9 * size)
        assert np.allclose(load.local_force, of_run.local_force[0], atol=1e-9 * size)
    with general_way(mech):
        assert same(dict(found), dict(mech.reactions(state)))
    assert same(dict(pickle.loads(pickle.dumps(found))), dict(found))
    with pytest.raises(KeyError):
        found["nothing"]


@pytest.mark.parametrize("name", PLAIN)
def test_many_states_have_the_loads_of_each(name):
    mech, state = PLAIN[name]()
    many = (np.tile(state.q, (2, 3, 1)), np.arange(1.0, 7.0).reshape(2, 3, 1) * state.u)
    rows = mech.reactions(many)
    assert list(rows) == list(mech.reactions(state)) and "nothing" not in rows
    for i, j in ((0, 1), (1, 2)):
        alone = mech.reactions((many[0][i, j], many[1][i, j]))
        for connection, load in rows.items():
            one = alone[connection]
            for part in ("force", "moment", "local_force", "local_moment"):
                assert same(np.ascontiguousarray(getattr(load, part)[i, j]), np.array(getattr(one, part)))
    assert same(dict(mech.reactions(many, threads=2)), dict(rows))
    assert same(dict(pickle.loads(pickle.dumps(rows))), dict(rows))


def test_a_row_that_is_no_state_is_named():
    mech, state = PLAIN["tree"]()
    q = np.tile(state.q, (3, 1))
    q[1, 0] = np.nan
    with pytest.raises(tm.ElementError, match="nan"):
        mech.reactions((q, np.tile(state.u, (3, 1))))
