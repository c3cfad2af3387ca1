"""Calls by the C extension give what the general way gives, to the bit, and leave to it what they cannot take."""

import gc
import pickle
import weakref
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

import treemech as tm
from tests.support.driven import elements, platform
from tests.support.general_way import PLAIN, general_way, same
from treemech.dynamics.native.caller import caller

with_extension = pytest.mark.skipif(caller() is None, reason="the C extension was not built")


@cache
def model(name):
    return PLAIN[name]()


def analyses(mech):
    """Return name -> (analysis, whether the extension must take it)."""
    loads = np.random.default_rng(1).normal(size=mech.nu)
    found = {
        "forward_dynamics": lambda s: mech.forward_dynamics(s),
        "forward_dynamics under loads": lambda s: mech.forward_dynamics(s, loads),
        "mass_matrix": lambda s: mech.mass_matrix(s),
        "load_column": lambda s: mech.load_column(s),
        "constraints": lambda s: mech.constraints(s),
    }
    if not mech._info.chords:
        found["inverse_dynamics"] = lambda s: mech.inverse_dynamics(s, loads)
    return found


@pytest.mark.parametrize("name", PLAIN)
def test_calls_are_equal_to_the_general_way_to_the_bit(name):
    mech, state = model(name)
    for analysis, one in analyses(mech).items():
        quick = one(state)
        with general_way(mech):
            assert same(quick, one(state)), analysis


@with_extension
@pytest.mark.parametrize("name", PLAIN)
def test_the_extension_takes_plain_states(name):
    mech, state = model(name)
    for analysis in analyses(mech):
        own = getattr(mech._fast, analysis.split()[0])
        assert own(state, *([np.zeros(mech.nu)] if "inverse" in analysis else [])) is not None, analysis


@pytest.mark.parametrize("name", PLAIN)
def test_an_answer_depends_on_its_state_alone(name):
    mech, state = model(name)
    other = tm.State(
        state.t + 0.1, state.q + 1e-3, 2.0 * state.u, state.x, state.memory, coordinates=mech._lagrange
    )
    for analysis, one in analyses(mech).items():
        before = one(state)
        try:
            one(other)  # an open position, where there are chords
        except tm.TreemechError:
            pass
        assert same(before, one(state)), analysis


def test_a_state_that_was_just_used_is_read_again():
    """Its arrays may have been written since, and other states may share them."""
    mech, state = model("tree")
    own = replace(state, q=state.q.copy(), u=state.u.copy())
    mech.load_column(own)
    own.u[0] += 0.5
    later = replace(own, t=own.t + 0.3)
    for s in (own, later, own, replace(own, u=-own.u), own):
        quick = mech.load_column(s)
        with general_way(mech):
            assert same(quick, mech.load_column(s))
    own.q[0] = np.nan
    with pytest.raises(tm.TreemechError):
        mech.load_column(own)


def test_states_of_several_origins_are_taken():
    mech, state = model("tree")
    want = mech.forward_dynamics(state).ud
    run = mech.simulate((state.t, state.t + 0.01), state)
    assert same(mech.forward_dynamics((state.t, state.q, state.u)).ud, want)
    assert same(mech.forward_dynamics(pickle.loads(pickle.dumps(state))).ud, want)
    again = mech.forward_dynamics(run.state(0)).ud
    assert np.allclose(again, want, rtol=1e-12) and same(mech.forward_dynamics(run.state(0)).ud, again)
    listed = tm.State(state.t, state.q.tolist(), state.u.tolist())
    assert same(mech.forward_dynamics(listed).ud, want)


def test_wrong_states_are_refused_by_name():
    mech, state = model("tree")
    bad = state.q.copy()
    bad[1] = np.nan
    with pytest.raises(
        tm.ElementError, match=f"forward_dynamics: q of '{mech.coordinates[1].split('[')[0]}.*nan"
    ):
        mech.forward_dynamics((bad, state.u))
    with pytest.raises(tm.ElementError, match="mass_matrix: q, u have shapes"):
        mech.mass_matrix((state.q[1:], state.u))
    with pytest.raises(tm.ElementError, match="of another mechanism"):
        mech.load_column(model("pendulum")[1])
    with pytest.raises(tm.ElementError, match="is not a state"):
        mech.load_column(None)
    with pytest.raises(tm.ElementError, match="u has shape"):
        mech.inverse_dynamics(state, np.zeros(mech.nu + 1))


def test_an_open_chain_is_refused_also_after_a_closed_one():
    mech, state = model("four-bar")
    mech.forward_dynamics(state)
    with pytest.raises(tm.TreemechError, match="the chain is open by"):
        mech.forward_dynamics((state.q + [0.1, 0.0, 0.0], state.u))


def test_redundant_rows_are_chosen_in_the_general_way():
    system = tm.System("Bennett-like", gravity=(0, 0, -9.81))
    a, b = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in "ab")
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("A again", tm.Revolute("z"), system.ground.at((0, 0, 1)), a.at((0, 0, 1)))
    system.connect("B", tm.Revolute("z"), a.at((1, 0, 0)), b)
    mech = system.build()
    state = mech.assemble(rates={"A": 1.0})
    found = mech.forward_dynamics(state)
    assert np.isfinite(found.ud).all() and same(found, mech.forward_dynamics(state))


def test_results_are_arrays_of_the_caller():
    mech, state = model("tree")
    first = mech.forward_dynamics(state).ud
    kept = first.copy()
    mech.forward_dynamics((state.q, 2.0 * state.u))
    assert same(first, kept)


@pytest.mark.parametrize("name", ["tree", "four-bar"])
def test_out_is_written_and_returned(name):
    mech, state = model(name)
    out = np.zeros(mech.nu)
    found = mech.forward_dynamics(state, out=out)
    assert found.ud is out and same(out, mech.forward_dynamics(state).ud)
    A = np.zeros((mech.nu, mech.nu))
    assert mech.mass_matrix(state, out=A) is A and same(A, mech.mass_matrix(state))
    assert mech.load_column(state, out=out) is out and same(out, mech.load_column(state))
    with general_way(mech):
        assert mech.mass_matrix(state, out=A) is A
        strided = np.zeros((mech.nu, 2))[:, 0]
        assert mech.load_column(state, out=strided) is strided and same(strided.copy(), out)
    for wrong in (np.zeros(mech.nu + 1), np.zeros(mech.nu, dtype=np.float32), [0.0] * mech.nu):
        with pytest.raises(tm.ElementError, match="load_column: out is .*wanted an array of float64"):
            mech.load_column(state, out=wrong)


def test_models_that_iterate_or_switch_are_left_to_the_general_way():
    @dataclass(frozen=True)
    class Gust(tm.Load):
        size: float

        def evaluate(self, end, t, load):
            load.force[0] = self.size

    system = tm.System("gusty")
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1), com=(0, 0, -1))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.load("gust", Gust(3.0), bob)
    gusty = system.build()
    for mech, state in ((gusty, gusty.state()), elements(), platform()):
        assert mech._fast.forward_dynamics(state) is None
        assert np.isfinite(mech.forward_dynamics(state).ud).all()


def test_a_mechanism_with_calls_is_forgotten():
    mech, state = PLAIN["four-bar"]()
    for one in analyses(mech).values():
        one(state)
    mech.state(q=state.q)
    core, gone = weakref.ref(mech._core), weakref.ref(mech)
    del mech, state, one
    gc.collect()
    assert gone() is None and core() is None
