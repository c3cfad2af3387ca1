"""Attitude of many states: that of each, to the bit."""

import numpy as np
import pytest

import treemech as tm
from tests.support.general_way import PLAIN, same
from treemech.analyses import body_motion


@pytest.mark.parametrize("name", PLAIN)
def test_attitudes_are_those_of_each_state(name, monkeypatch):
    mech, state = PLAIN[name]()
    shift = 0.1 * np.arange(6).reshape(2, 3, 1)
    many = (
        np.linspace(0.0, 1.0, 6).reshape(2, 3),
        state.q + shift * (np.arange(mech.nq) == 0),
        (1.0 + shift) * state.u,
    )
    rows = mech.attitude(many)
    assert rows.partials.shape == (2, 3, mech.nu, 6 * len(mech.tree.branches))
    for i, j in ((0, 0), (0, 2), (1, 1)):
        alone = mech.attitude(tuple(part[i, j] for part in many))
        for a, b in zip(rows, alone, strict=True):
            assert same(np.ascontiguousarray(a[i, j]), np.ascontiguousarray(b))
    monkeypatch.setattr(body_motion, "_MOST", 1)  # one state at a time
    for a, b in zip(mech.attitude(many), rows, strict=True):
        assert same(np.ascontiguousarray(a), np.ascontiguousarray(b))


def test_a_row_that_is_no_state_is_named():
    mech, state = PLAIN["tree"]()
    q = np.tile(state.q, (3, 1))
    q[1, 0] = np.nan
    with pytest.raises(tm.ElementError, match="nan"):
        mech.attitude((q, np.tile(state.u, (3, 1))))
