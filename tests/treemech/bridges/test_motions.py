"""Gradients of motions: those of `mech.sensitivities`; what has none is refused."""

import numpy as np
import pytest

import treemech as tm
from tests.support import parametric
from tests.support.tolerances import ROUND
from treemech.bridges.model import Model
from treemech.bridges.motions import Simulation
from treemech.bridges.start import by_speeds

TIMES = np.linspace(0.0, 0.6, 4)
NAMES = ("l", "k", "m")


def assert_as_sensitivities(mech, start, found, state, rtol, bound):
    wanted = mech.sensitivities((0.0, 0.6), start, list(NAMES), TIMES, rtol=rtol)
    model = Model(mech, NAMES, independent=found, rtol=rtol)
    operation = Simulation(model, TIMES, False)
    arguments = [state.q, state.u, state.x, np.zeros(0), model.nominal, 0.0]
    q, u, _, *slopes = operation.with_slopes(*arguments)
    for k in range(len(TIMES)):
        for j in range(mech.nu):
            of_u = np.zeros_like(u)
            of_u[k, j] = 1.0
            of_p = operation.pullback(slopes, [np.zeros_like(q), of_u, np.zeros((4, 0))])[4]
            size = np.max(np.abs(wanted.u))
            assert np.max(np.abs(of_p - wanted.u[k, j])) < bound * size
        of_q = np.array([
            operation.pullback(slopes, [e.reshape(q.shape), 0 * u, np.zeros((4, 0))])[4]
            for e in np.eye(q.size)[k * mech.nq : (k + 1) * mech.nq]
        ])  # fmt: skip
        there = by_speeds(mech._core, q[k]) @ wanted.q[k]
        assert np.max(np.abs(of_q - there)) < bound * np.max(np.abs(wanted.q))


@pytest.mark.parametrize("name", ["tree", "four_bar", "spatial"])
def test_gradients_by_parameters_are_the_sensitivities(name):
    mech = getattr(parametric, name)().build()
    begin = getattr(parametric, f"{name}_start")
    state = begin(mech)
    if name == "tree":
        assert_as_sensitivities(mech, state, None, state, 1e-12, ROUND)
        return
    angle = float(state["A"][0][0])
    rate = float(state["A"][1][0])
    guess = {} if name == "four_bar" else {"S": 0.8}
    start = lambda m: m.assemble(fix={"A": angle}, guess=guess, rates={"A": rate})  # noqa: E731
    assert_as_sensitivities(mech, start, ("A",), state, 1e-12, ROUND)


def test_what_has_no_derivatives_is_refused_by_name():
    mech = parametric.four_bar().build()
    with pytest.raises(tm.TreemechError, match=r"independent=\('A', \.\.\.\)"):
        Model(mech)
    with pytest.raises(tm.TreemechError, match="'push'"):
        Model(mech, (), ("push",))
    flat = np.zeros(mech.nq)  # singular: a bar lies on the others
    with pytest.raises(tm.TreemechError, match="^independent= names 1 of 2"):
        Simulation(Model(mech, (), independent=("A",)), TIMES, False).values(flat, flat, [], [], [], 0.0)
    with pytest.raises(tm.TreemechError, match="is a tree"):
        Model(parametric.tree().build(), ("l",), independent=("B",))
    with pytest.raises(tm.TreemechError, match="parameter 'll'"):
        Model(mech, ("ll",))
    model = Model(mech, ("l",), independent=("A",))
    state = parametric.four_bar_start(mech)
    with pytest.raises(tm.TreemechError, match="does not close|closed|close"):  # too short to reach
        Simulation(model, TIMES, False).values(state.q, state.u, [], [], [9.5], 0.0)


def test_motions_that_switch_have_no_derivatives():
    system = tm.System("bouncer", gravity=(0, 0, -9.81))
    ball = system.body("ball", 1.0, (0.1, 0.1, 0.1))
    system.connect("A", tm.Prismatic("z"), system.ground, ball)
    system.connect("floor", tm.InPlane(unilateral=True), system.ground, ball)
    mech = system.build()
    with pytest.raises(tm.TreemechError, match="'floor' hold on one side"):
        Model(mech)


def test_starts_in_closed_chains_depend_on_nothing_but_the_independent_coordinates():
    mech = parametric.four_bar().build()
    state = parametric.four_bar_start(mech)
    operation = Simulation(Model(mech, (), independent=("A",)), TIMES, False)
    one = operation.values(state.q, state.u, [], [], [], 0.0)
    other = operation.values(state.q + [0, 0.05, -0.05], state.u + [0, 0.3, 0.1], [], [], [], 0.0)
    assert np.allclose(one[0], other[0], rtol=0, atol=1e-10) and np.allclose(one[1], other[1], atol=1e-9)
    assert np.allclose(one[0][0], state.q, rtol=0, atol=1e-14)


def test_any_closed_state_goes_on_without_independent_coordinates_being_named():
    """Also where the crank stands in a dead point of the rocker's angle: the choice follows the position."""
    mech = parametric.four_bar().build()
    free = Simulation(Model(mech, ()), np.array([0.0, 0.05]), False)
    run = mech.simulate((0, 3), parametric.four_bar_start(mech), rtol=1e-10, t_eval=np.linspace(0, 3, 61))
    for k in range(0, 60, 7):
        there = free.values(run.q[k], run.u[k], [], [], [], run.t[k])
        shifted = mech.simulate((run.t[k], run.t[k] + 0.05), run.state(k), rtol=1e-10)
        assert np.allclose(there[0][-1], shifted.q[-1], rtol=0, atol=1e-8)
