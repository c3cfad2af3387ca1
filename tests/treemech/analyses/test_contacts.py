"""Analyses of states in which unilateral constraints are open, touch, or would have to pull."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm
from tests.laws.test_unilateral import flight, platform
from tests.support.driven import four_bar_system
from tests.support.tolerances import ROUND

G = 9.81


def four_bar(floor=True):
    """A four-bar linkage whose coupler may touch a floor."""
    system = four_bar_system()
    coupler = system.bodies[1]
    if floor:
        system.connect(
            "floor", tm.InPlane(unilateral=True), system.ground.at((0, 0, 0.4)), coupler.at((1.5, 0, 0))
        )
    return system.build()


WHERE = {"fix": {"A": -0.6}, "guess": {"B": 0.3, "D": -1.5}, "rates": {"A": 2.0}}


def test_a_chain_is_assembled_with_a_contact_open_as_if_there_was_none():
    mech, bare = four_bar(), four_bar(floor=False)
    state, want = mech.assemble(**WHERE, open=["floor"]), bare.assemble(**WHERE)
    assert_allclose(state.q, want.q, rtol=ROUND)
    assert_allclose(state.u, want.u, rtol=ROUND)
    run = mech.simulate((0, 0.05), state, rtol=1e-10)
    assert run.success and not run.switched


def test_an_open_contact_is_not_passed_through_and_has_a_name():
    mech = four_bar()
    with pytest.raises(tm.ConvergenceError, match="'floor' is to be open, but is passed"):
        mech.assemble(fix={"A": 0.6}, guess={"D": 1.0}, open=["floor"])
    with pytest.raises(tm.TopologyError, match="unilateral constraint 'flor'.*'floor'"):
        mech.assemble(open=["flor"])
    with pytest.raises(tm.ConvergenceError, match=r"'floor'.*open=\['floor'\]"):
        mech.assemble(**WHERE)


def test_analyses_of_an_open_contact_are_those_without_it():
    mech, bare = four_bar(), four_bar(floor=False)
    state, want = mech.assemble(**WHERE, open=["floor"]), bare.assemble(**WHERE)
    load = {"A": 3.0}
    assert_allclose(
        mech.forward_dynamics(state, load).ud, bare.forward_dynamics(want, load).ud, rtol=1e3 * ROUND
    )
    assert mech.forward_dynamics(state).multipliers[-1] == 0.0
    for name, reaction in bare.reactions(want).items():
        assert_allclose(mech.reactions(state)[name].force, reaction.force, atol=1e-9)
        assert mech.reactions(state)[name].unique == reaction.unique
    d, d0 = mech.derivatives(state), bare.derivatives(want)
    for part in ("ud_q", "ud_u", "ud_load"):
        assert_allclose(getattr(d, part), getattr(d0, part), rtol=1e-9, atol=1e-9)
    assert_allclose(mech.linearize(state).A, bare.linearize(want).A, rtol=1e-9, atol=1e-9)
    assert mech.mobility(state).dof == bare.mobility(want).dof == 1
    ud = {"A": 1.0}
    assert mech.drive_loads(state, ud, ["A"])["A"] == pytest.approx(bare.drive_loads(want, ud, ["A"])["A"])


def test_where_it_touches_it_holds():
    mech = four_bar()
    touching = mech.assemble(guess={"A": -0.6, "B": 0.3, "D": -1.5})
    assert mech.mobility(touching).dof == 0
    assert np.abs(mech.forward_dynamics(touching).ud).max() < 1e-9
    assert mech.reactions(touching)["floor"].force[2] > 0.0


def test_accelerations_at_states_of_a_run_are_those_of_the_run():
    mech, state = platform()
    _, on = flight()
    run = mech.simulate((0.0, on + 0.02), state, rtol=1e-9, max_step=0.02)
    switches = [s.t for s in run.switched]
    for k in range(len(run.t)):
        if min(abs(run.t[k] - t) for t in switches) > 1e-3:
            assert_allclose(mech.forward_dynamics(run.state(k)).ud, run.ud[k], atol=1e-6)
            force = mech.reactions(run.state(k))["platform"].force
            assert_allclose(force, run.connection("platform").force[k], atol=1e-5)


def test_a_contact_that_would_have_to_pull_lets_go():
    mech, state = platform()
    assert mech.forward_dynamics(state).multipliers[0] > 0.0
    found = mech.forward_dynamics(state, loads={"guide": 100.0})  # more than its weight
    assert found.multipliers[0] == 0.0 and found.ud[0] == pytest.approx(100.0 / 2.0 - G)
    assert mech.derivatives(state, loads={"guide": 100.0}).ud_load[0, 0] == pytest.approx(1 / 2.0)
    assert mech.derivatives(state).ud_load[0, 0] == pytest.approx(0.0, abs=1e-12)


def hung(stiffness):
    """A mass of 2 kg on a spring of 1 m without load that hangs from 2 m above a floor."""
    system = tm.System("hung", gravity=(0, 0, -G))
    mass = system.body("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    system.connect("guide", tm.Prismatic("z"), system.ground, mass)
    system.connect("spring", tm.Spring(stiffness, length=1.0), system.ground.at((0, 0, 2)), mass)
    system.connect("floor", tm.InPlane(unilateral=True), system.ground, mass)
    return system.build()


@pytest.mark.parametrize("start", [0.0, 0.5])
@pytest.mark.parametrize("method", ["Newton", "energy", "settling"])
def test_equilibrium_finds_out_whether_it_rests_or_hangs(start, method):
    strong, weak = hung(200.0), hung(10.0)
    found = strong.equilibrium(strong.state(q={"guide": start}), method=method)
    assert found.state["guide"][0][0] == pytest.approx(1.0 - 2.0 * G / 200.0) and found.stable
    assert len(found.eigenvalues) == 2
    found = weak.equilibrium(weak.state(q={"guide": start}), method=method)
    assert found.state["guide"][0][0] == pytest.approx(0.0, abs=1e-9) and found.stable
    assert found.multipliers[0] == pytest.approx(2.0 * G - 10.0)


def test_loads_of_redundant_rods_are_not_shared_with_an_open_contact():
    system = tm.System("rods", gravity=(0, 0, -G))
    mass = system.body("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    system.connect("guide", tm.Prismatic("z"), system.ground, mass)
    length = tm.Harmonic(0.1, 3.0, offset=1.0)
    for name, x in (("left", -1.0), ("right", 1.0)):
        system.connect(name, tm.Distance(length), system.ground.at((x, 0, 2)), mass.at((x, 0, 0)))
    system.connect("floor", tm.InPlane(unilateral=True), system.ground, mass)
    mech = system.build()
    state = mech.assemble(guess={"guide": 1.0}, open=["floor"])
    run = mech.simulate((0, 1), state, rtol=1e-9)
    assert run.success and not run.switched
    assert np.all(run.connection("floor").force == 0.0)
    both = run.connection("left").force[:, 2] + run.connection("right").force[:, 2]
    assert_allclose(both, 2.0 * (G + run.ud[:, 0]), rtol=1e-9)
    assert np.all(mech.reactions(run.state(3))["floor"].force == 0.0)
