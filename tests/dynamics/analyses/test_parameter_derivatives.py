"""Derivatives by parameters: of accelerations, multipliers and states, against differences of forward dynamics."""

import numpy as np
import pytest

import treemech as tm
from tests.support.parametric import four_bar, four_bar_start, spatial, spatial_start, tree, tree_start
from treemech.dynamics.analyses.displacement import difference, displaced
from treemech.dynamics.analyses.parameter_derivatives import AHEAD, CENTRAL, weights

EIGHTH = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
TIGHT = 1e-9  # differences of eighth order, step 0.2 %: truncation 1e-20, rounding 1e-13 / 0.002 of ill-conditioned solves


def by_differences(mech, name, f, step=0.002):
    """Eighth-order difference of f(mechanism) by a parameter, over mechanisms built anew."""
    value = mech.parameters[name]
    h = step * value
    terms = [
        w
        * (
            f(mech.with_parameters(**{name: value + k * h}))
            - f(mech.with_parameters(**{name: value - k * h}))
        )
        for k, w in enumerate(EIGHTH, start=1)
    ]
    return sum(terms) / h


@pytest.mark.parametrize("nodes", [CENTRAL, AHEAD, tuple(-k for k in AHEAD)])
def test_weights_differentiate_polynomials_exactly(nodes):
    for power in range(len(nodes)):
        values = np.array([float(k) ** power for k in nodes])
        assert abs(weights(nodes) @ values - (power == 1)) < 1e-12


def test_accelerations_of_a_tree_by_its_parameters():
    mech = tree().build()
    names = list(mech.parameters)
    start = tree_start(mech)
    found = mech.derivatives(start, parameters=names)
    for j, name in enumerate(names):

        def accelerations(m):
            return m.forward_dynamics(tree_start(m)).ud

        want = by_differences(mech, name, accelerations)
        assert np.max(np.abs(want)) > 1e-3, name
        assert np.max(np.abs(found.ud_p[:, j] - want)) < TIGHT * np.max(np.abs(want)), name


@pytest.mark.parametrize(("model", "start"), [(four_bar, four_bar_start), (spatial, spatial_start)])
def test_accelerations_and_multipliers_of_a_closed_chain_by_its_parameters(model, start):
    """At fixed q, u the chain would open: along assembled states the total derivative is that of forward dynamics."""
    mech = model().build()
    names, state = list(mech.parameters), start(mech)
    d = mech.derivatives(state, parameters=names)
    for j, name in enumerate(names):

        def motion(m):
            s = start(m)
            found = m.forward_dynamics(s)
            return np.concatenate((found.ud, difference(m._core, state.q, s.q), s.u, found.multipliers))

        ud, s_q, s_u, multipliers = np.split(by_differences(mech, name, motion), np.cumsum([mech.nu] * 3))
        total = d.ud_p[:, j] + d.ud_q @ s_q + d.ud_u @ s_u
        assert np.max(np.abs(total - ud)) < TIGHT * max(np.max(np.abs(ud)), 1e-2), name
        loads = d.multipliers_p[:, j] + d.multipliers_q @ s_q + d.multipliers_u @ s_u
        assert np.max(np.abs(loads - multipliers)) < 10 * TIGHT * max(np.max(np.abs(multipliers)), 1e-1), name


def test_rates_of_states_by_parameters():
    system, k = tm.System("lag"), tm.Parameter("k", 40.0)
    bob = system.body("bob", 1.0, (0.1, 0.1, 0.1))
    system.connect("pin", tm.Prismatic("z"), system.ground, bob)
    system.connect("solid", tm.Viscoelastic(k, [2 * k], [0.3], length=1.5), bob, system.ground.at((0, 0, 2)))
    mech = system.build()
    state = mech.state(q={"pin": 0.3}, u={"pin": -1.0})
    d = mech.derivatives(state, parameters=["k"])

    def rates(m):
        s = mech.state(q={"pin": 0.3}, u={"pin": -1.0})
        return np.concatenate((m.forward_dynamics(s).ud, m.derivatives(s).x_rates))

    want = by_differences(mech, "k", rates)
    assert np.max(np.abs(np.concatenate((d.ud_p[:, 0], d.x_rates_p[:, 0])) - want)) < TIGHT * np.max(
        np.abs(want)
    )
    assert d.x_rates_p.shape == (mech._core.nx, 1) and mech._core.nx > 0


def test_parameters_at_a_limit_of_what_can_be_made():
    """Derivatives exist where a moment of a rod, (0, a, a), cannot change alone, or a zero mass become negative."""
    system = tm.System("limits")
    J, m, c = tm.Parameter("J", 0.4), tm.Parameter("m", 0.0), tm.Parameter("c", 0.0)
    rod = system.body("rod", 1.0, (0, J, 0.4), com=(0.5, 0, 0))
    tip = system.body("tip", m, (0, 0, 0))
    pin = system.connect("pin", tm.Revolute("y"), system.ground, rod)
    system.connect("weld", tm.Rigid(), rod.at((1, 0, 0)), tip)
    system.connect("friction", tm.RotationalSpring(damping=c), pin)
    mech = system.build()
    state = mech.state(u={"pin": 2.0})
    d = mech.derivatives(state, parameters=["J", "m", "c"])
    inertia, torque = 0.4 + 0.25, 9.81 * 0.5
    want = [-torque / inertia**2, 9.81 / inertia - torque / inertia**2, -2.0 / inertia]
    assert np.max(np.abs(d.ud_p[0] - want)) < 1e-9


def test_without_parameters_there_are_no_columns():
    mech = tree().build()
    assert mech.derivatives(tree_start(mech)).ud_p.shape == (mech.nu, 0)
    with pytest.raises(tm.ElementError, match="there is no parameter 'q'"):
        mech.derivatives(tree_start(mech), parameters=["q"])


def test_small_motions_there_and_back():
    mech = tree().build()
    rng = np.random.default_rng(3)
    q, step = tree_start(mech).q, 1e-4 * rng.normal(size=mech.nu)
    there = displaced(mech._core, q[None], step[None])[0]
    assert np.max(np.abs(difference(mech._core, q, there) - step)) < 1e-11
    hinge = mech._lagrange.hinges[1]
    assert (
        np.max(np.abs(hinge.hinge.move(q[hinge.q_slice], step[hinge.u_slice]) - there[hinge.q_slice])) < 1e-11
    )
