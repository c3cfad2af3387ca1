"""States with leading axes: every row has what its state has alone, to the bit, by any number of threads."""

import numpy as np
import pytest

import treemech as tm
from tests.support.general_way import PLAIN, general_way, same
from treemech.calls.rows import row_of, stacked

LEAD = (2, 3)

pytestmark = pytest.mark.filterwarnings("ignore:[qu] of 'C' is")  # prescribed: given all at once


def states(name):
    """Return a mechanism, its state, and six states with other speeds; some of them in other positions."""
    mech, state = PLAIN[name]()
    scale = np.linspace(0.5, 1.0, 6).reshape(*LEAD, 1)
    q = np.broadcast_to(state.q, (*LEAD, mech.nq)).copy()
    if not mech._info.chords and not mech._lagrange.euler_parameters:
        q *= scale
    free = mech.state(
        state.t,
        q=q,
        u=scale * state.u,
        x=np.broadcast_to(state.x, (*LEAD, len(state.x))) if len(state.x) else None,
    )
    return mech, free


def analyses(mech):
    loads = np.random.default_rng(0).normal(size=(*LEAD, mech.nu))
    found = {
        "forward_dynamics": lambda s, at=..., **k: mech.forward_dynamics(s, **k),
        "under loads": lambda s, at=..., **k: mech.forward_dynamics(s, loads[at], **k),
        "mass_matrix": lambda s, at=..., **k: mech.mass_matrix(s, **k),
        "load_column": lambda s, at=..., **k: mech.load_column(s, **k),
        "constraints": lambda s, at=..., **k: mech.constraints(s, **k),
    }
    if not mech._info.chords:
        found["inverse_dynamics"] = lambda s, at=..., **k: mech.inverse_dynamics(s, loads[at], **k)
    return found


def rows_of(found, lead=LEAD):
    """Return the results of every state out of one with leading axes."""
    if isinstance(found, np.ndarray):
        return list(found.reshape(int(np.prod(lead)), *found.shape[len(lead) :]))
    return [type(found)(*parts) for parts in zip(*map(rows_of, found), strict=True)]


@pytest.mark.parametrize("name", PLAIN)
def test_rows_are_equal_to_single_states_to_the_bit(name):
    mech, many = states(name)
    for analysis, one in analyses(mech).items():
        alone = [one(row_of(many, LEAD, k), at) for k, at in enumerate(np.ndindex(*LEAD))]
        for way in ({}, {"threads": 1}, {"threads": 3}, {"threads": 50}):
            assert all(map(same, rows_of(one(many, **way)), alone)), (analysis, way)
        with general_way(mech):
            assert all(map(same, rows_of(one(many)), alone)), analysis


def test_out_takes_all_rows():
    mech, many = states("tree")
    out = np.zeros((*LEAD, mech.nu))
    assert mech.load_column(many, out=out) is out and same(out, mech.load_column(many))
    found = mech.forward_dynamics(many, out=out, threads=2)
    assert found.ud is out and same(out, mech.forward_dynamics(many).ud)
    with pytest.raises(tm.ElementError, match=r"out is an array of float64 of shape \(2, 2, 3.*wanted"):
        mech.load_column(many, out=np.zeros((2, *LEAD)))


@pytest.mark.parametrize("name", list(PLAIN)[:3])
def test_no_rows_give_results_of_no_rows(name):
    mech, many = states(name)
    none = mech.state(np.zeros(0), q=many.q[:0, 0], u=many.u[:0, 0]) if not mech._prescriptions else None
    if none is not None:
        assert mech.forward_dynamics(none).ud.shape == (0, mech.nu)
        assert mech.forward_dynamics(none, np.zeros((0, mech.nu))).ud.shape == (0, mech.nu)
        assert mech.mass_matrix(none).shape == (0, mech.nu, mech.nu)


def test_what_is_wrong_in_one_row_is_named():
    mech, many = states("tree")
    many.u[1, 2, 0] = np.nan
    with pytest.raises(tm.ElementError, match=f"forward_dynamics: u of '{mech.speeds[0].split('[')[0]}.*nan"):
        mech.forward_dynamics(many)
    with pytest.raises(tm.ElementError, match="leading axes of q"):
        mech.mass_matrix(tm.State(0.0, many.q[..., 1:], many.u))
    with pytest.raises(tm.ElementError, match="threads is 0"):
        mech.mass_matrix(many, threads=0)


def test_tuples_and_times_of_their_own_have_leading_axes():
    mech, state = PLAIN["sprung"]()
    q, u, t = np.tile(state.q, (4, 1)), np.tile(state.u, (4, 1)), np.linspace(0.0, 1.0, 4)
    many = mech.state(t, q={"A": state.q[0], "B": np.full(4, state.q[1])}, u=u)
    assert many.t.shape == (4,) and many.q.shape == (4, 3)
    alone = [
        mech.forward_dynamics(mech.state(float(s), q={"A": state.q[0], "B": state.q[1]}, u=u[0])).ud
        for s in t
    ]
    assert same(mech.forward_dynamics(many).ud, np.array(alone))
    tree, one = PLAIN["tree"]()
    both = tree.forward_dynamics((np.tile(one.q, (2, 1)), np.tile(one.u, (2, 1)))).ud
    assert same(both[1], tree.forward_dynamics((one.q, one.u)).ud)
    assert q.shape == (4, 3)


def test_rows_that_the_extension_does_not_take_go_the_general_way():
    mech, state = PLAIN["four-bar"]()
    closed = np.tile(state.q, (3, 1))
    closed[1] += 0.1  # open there
    with pytest.raises(tm.TreemechError, match="open by"):
        mech.forward_dynamics((closed, np.tile(state.u, (3, 1))))


def test_results_of_many_kinds_are_stacked():
    found = stacked([{"a": (1.0, "x")}, {"a": (1.0, "x")}], (2,))
    assert found == {"a": (1.0, "x")}
    both = stacked([tm.Energy(1.0, 2.0), tm.Energy(3.0, 4.0)] if hasattr(tm, "Energy") else [1.0, 2.0], (2,))
    assert np.shape(getattr(both, "total", both)) == (2,)


@pytest.mark.parametrize("name", PLAIN)
def test_derivatives_of_many_states_are_those_of_each(name):
    """By the extension in trees without inputs, one by one in Python else; columns of Euler parameters in the public order."""
    from treemech.analyses.small_motions import _derivatives

    mech, many = states(name)
    loads = np.random.default_rng(1).normal(size=(*LEAD, mech.nu))
    found = mech.derivatives(many, loads, threads=2)
    for k, at in enumerate(np.ndindex(*LEAD)):
        one = row_of(many, LEAD, k)
        wanted = _derivatives(mech, one, loads[at], ())
        for given in (found, mech.derivatives(one, loads[at])):
            for field in wanted._fields:
                a, b = getattr(given, field), getattr(wanted, field)
                assert a == b if field == "inputs" else same(a[at] if given is found else a, b), field


def test_given_arrays_may_be_written_over_after_and_by_a_call():
    """Arrays of many states are not copied: results that are read late, and `out` in the place of u, hold all the same."""
    mech, state = PLAIN["tree"]()
    q, u = np.tile(state.q, (9, 1)), np.tile(state.u, (9, 1)) * np.linspace(0.5, 1.5, 9)[:, None]
    name = mech.info.connections[0].name
    want, ud = mech.reactions((q, u))[name].force.copy(), mech.forward_dynamics((q, u)).ud.copy()
    given_q, given_u = q.copy(), u.copy()
    late = mech.reactions((given_q, given_u))
    given_q[:], given_u[:] = 0.1, 9.0
    assert np.array_equal(late[name].force, want)
    given_u[:] = u
    assert np.array_equal(mech.forward_dynamics((q, given_u), out=given_u).ud, ud)


def test_small_work_stays_in_the_thread_that_asks(monkeypatch):
    """Waking a thread takes longer than that; where the work is more, each takes a part of whole blocks of lanes."""
    from threading import get_ident

    from treemech.calls import rows

    monkeypatch.setattr(rows, "_FEWEST_SPEEDS", 10_000)

    def parts(n, threads, speeds):
        seen = []
        rows.shared(lambda a, b: seen.append((a, b, get_ident() == here)), n, threads, speeds)
        return sorted(seen)

    here = get_ident()
    assert parts(512, 2, 512 * 7) == parts(512, None, 10**9) == [(0, 512, True)]
    assert parts(512, 2, 512 * 127) == [(0, 256, False), (256, 512, True)]
    assert parts(514, 8, 35_000) == [(0, 168, False), (168, 340, False), (340, 514, True)]
    assert parts(3, 2, 10**6) == [(0, 3, True)]


def test_an_error_in_another_thread_is_raised():
    from treemech.calls import rows

    def fail_first(a, b):
        if a == 0:
            raise ValueError("first part")

    with pytest.raises(ValueError, match="first part"):
        rows.shared(fail_first, 8, 2, 10**9)
