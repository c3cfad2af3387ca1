"""Many states from numbers with leading axes, in full and by name."""

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import four_bar, tree
from tests.support.general_way import PLAIN, same
from treemech.calls.rows import row_of


def test_states_by_name_have_the_axes_of_their_numbers():
    mech, start = four_bar()
    many = mech.state(
        q={"A": start.q[0], "B": np.full((2, 3), start.q[1]), "D": start.q[2]}, u={"A": np.ones(3)}
    )
    assert many.q.shape == (2, 3, mech.nq) and many.u.shape == (2, 3, mech.nu) and many.t == 0.0
    one = mech.state(q={"A": start.q[0], "B": start.q[1], "D": start.q[2]}, u={"A": 1.0})
    row = row_of(many, (2, 3), 5)
    assert same(row.q, one.q) and same(row.u, one.u) and same(dict(row.cut), dict(one.cut))
    assert many.cut["C"][0].shape == (2, 3, 1)


def test_several_numbers_of_a_hinge_and_euler_parameters():
    mech, _ = tree()
    ball = next(
        c for c in mech._lagrange.hinges if c.hinge.euler_parameters == 0 and c.hinge.n_coordinates == 4
    )
    e = np.array([[1.0, 0.01, 0.0, 0.0], [0.9, 0.1, 0.4, 0.0]])
    many = mech.state(q={ball.name: e}, u={f"{ball.name}[2]": np.array([1.0, 2.0])})
    for k in (0, 1):
        one = mech.state(q={ball.name: e[k]}, u={f"{ball.name}[2]": 1.0 + k})
        assert same(many.q[k], one.q) and same(many.u[k], one.u)
    with pytest.raises(tm.ElementError, match="wanted length 1"):
        mech.state(q={ball.name: 2.0 * e})


def test_prescribed_coordinates_follow_the_time_of_each_state():
    mech, _ = PLAIN["sprung"]()
    t = np.array([0.0, 0.4])
    many = mech.state(t, q={"A": np.array([0.1, 0.2])})
    for k in (0, 1):
        one = mech.state(float(t[k]), q={"A": 0.1 + 0.1 * k})
        assert same(many.q[k], one.q) and same(many.u[k], one.u) and same(many.x[k], one.x)


def test_axes_that_do_not_fit_and_bad_numbers_are_named():
    mech, _ = four_bar()
    with pytest.raises(tm.ElementError, match="do not fit together"):
        mech.state(q={"A": np.zeros(2), "B": np.zeros(3)})
    with pytest.raises(tm.ElementError, match="q of 'B' is nan in state"):
        mech.state(q={"B": np.array([0.0, np.nan])})
    with pytest.raises(tm.TopologyError, match="no hinge"):
        mech.state(q={"nothing": np.zeros(2)})
    with pytest.raises(tm.ElementError, match="another shape"):
        mech.state(q=np.zeros((2, mech.nq + 1)))


def test_every_state_is_one_piece_and_one_state_is_asked_for_where_it_must_be():
    mech, state = PLAIN["tree"]()
    many = mech.state(q=np.tile(state.q, (4, 1)), u=np.tile(state.u, (4, 1)))
    assert many.q.flags.c_contiguous and many.u.flags.c_contiguous
    with pytest.raises(
        tm.ElementError, match=r"linearize takes one state, and these are 4\. Go through them"
    ):
        mech.linearize(many)


def test_numbers_of_other_kinds_and_strides_make_a_state():
    """A column of an array, whole numbers and single precision are states too, for every analysis."""
    system = tm.System("pendulums", gravity=(0, 0, -9.81))
    upper, lower = (system.body(n, 1.0, (0.1, 0.1, 0.1), com=(0.1, 0, -0.4)) for n in ("upper", "lower"))
    system.connect("A", tm.Revolute("y"), system.ground, upper)
    system.connect("B", tm.Revolute("y"), upper.at((0, 0, -1)), lower)
    mech = system.build()
    q = np.asfortranarray(np.tile([0.5, 0.25], (4, 1)))
    balance = mech.equilibrium(mech.state(q=[0.5, 0.25])).state.q
    for own in (q[2], q[2].astype(np.float32)):
        assert np.array_equal(
            mech.equilibrium(tm.State(0.0, own, np.zeros(2, dtype=np.int64))).state.q, balance
        )
