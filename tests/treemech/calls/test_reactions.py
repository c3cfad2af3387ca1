"""Reactions at a state: the same as those of a run, made when they are asked for."""

import pickle

import numpy as np
import pytest

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


def test_many_states_have_many_loads():
    mech, state = PLAIN["four-bar"]()
    many = (np.tile(state.q, (2, 1)), np.outer([1.0, 2.0], state.u))
    rows = mech.reactions(many)
    alone = mech.reactions((state.q, 2.0 * state.u))
    assert same(rows["A"].force[1], alone["A"].force)
