"""Starts in singular positions: the rates decide the branch, or are refused."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import treemech as tm
from tests.laws.test_singular import parallelogram, slider_crank

FOLDED = {"B": -np.pi, "S": 0.0, "C": np.pi / 2}  # crank and rod on each other, across the slide


# The speeds of the start are those of the interpolant over the passage, which has errors of 1e-8 in speeds
@pytest.mark.parametrize("method, tolerance", [("DOP853", 3e-8), ("Radau", 3e-8), ("Adams", 3e-8)])
def test_a_start_in_the_middle_of_a_passage_continues_it(method, tolerance):
    mech, fix, guess, _ = slider_crank()
    run = mech.simulate(
        (0, 1.2), mech.assemble(fix=fix, guess=guess, rates={"A": 4.0}), rtol=1e-13, dense_output=True
    )
    a = run._info.hinges[0].q
    t = brentq(lambda t: run.sol(np.array([t]))[0][0, a] - np.pi / 2, 0.05, 0.6, xtol=1e-14)
    u = run.sol(np.array([t]))[1][0]
    rates = {c.name: u[c.u_slice] for c in mech._lagrange.hinges}
    start = mech.assemble(t=t, fix={"A": np.pi / 2}, guess=FOLDED, rates=rates)
    assert mech.mobility(start).singular
    times = t + np.array([0.0, 1e-4, 1e-3, 0.1, 0.4])
    again = mech.simulate((t, t + 0.4), start, rtol=1e-10, t_eval=times, method=method)
    want = run.sol(times)
    assert again.success and again.singular[0] == (t, "C")
    assert np.max(np.abs(again.q - want[0])) < tolerance
    assert np.max(np.abs(again.u - want[1])) < 10 * tolerance
    back = mech.simulate((t, t - 0.2), start, rtol=1e-10, t_eval=[t, t - 0.2])
    assert np.max(np.abs(back.q[-1] - run.sol(np.array([t - 0.2]))[0][0])) < 3e-8
    steps = mech.simulate((t, t + 0.4), start)
    assert steps.t[0] == t and np.all(np.diff(steps.t) > 0)


def test_the_other_branch_is_left_along_too():
    """The slider stays where it is: crank and rod turn as one pendulum of two equal rods."""
    mech = slider_crank()[0]
    start = mech.assemble(fix={"A": np.pi / 2}, guess=FOLDED, rates={"A": 3.0, "B": 0.0})
    assert abs(start["S"][1][0]) < 1e-12
    times = np.linspace(0, 0.5, 6)
    run = mech.simulate((0, 0.5), start, rtol=1e-10, t_eval=times)
    J, m = 2.0 * 1.0 / 3.0, 2.0  # two rods of 1 m, 1 kg, about the hinge of the crank
    want = solve_ivp(
        lambda t, y: [y[1], -m * 9.81 * 0.5 * np.cos(y[0]) / J], (0, 0.5), [np.pi / 2, 3.0], "DOP853", times,
        rtol=1e-12, atol=1e-12,
    ).y[0]  # fmt: skip
    assert np.max(np.abs(run.connection("S").q)) < 1e-12
    assert np.max(np.abs(run.connection("A").q - want)) < 1e-8


@pytest.mark.parametrize("coupler, rocker", [(0.0, 2.0), (-4.0, -6.0)], ids=["parallel", "crossed"])
def test_both_branches_of_a_parallelogram(coupler, rocker):
    """Sides 1 and 2, stretched: a + 2 c = d and a^2 + 2 c^2 = d^2 for the rates of crank, coupler, rocker."""
    mech = parallelogram()[0]
    stretched, rates = {"B": 0.0, "C": 0.0, "D": 0.0}, {"A": 2.0, "B": coupler - 2.0, "D": rocker}
    start = mech.assemble(fix={"A": 0.0}, guess=stretched, rates=rates)
    assert mech.mobility(start).singular
    run = mech.simulate((0, 0.3), start, rtol=1e-10, t_eval=np.linspace(0, 0.3, 7))
    A, D = run.connection("A").q, run.connection("D").q
    assert run.success and abs(D[1] / A[1] - rocker / 2.0) < 0.2
    for a, d in zip(
        A[1:], D[1:]
    ):  # angles of the rocker from the circles about its hinge and the crank's end
        x, y = np.cos(a) - 2.0, np.sin(a)
        middle, half = np.arctan2(y, x), np.arccos((x * x + y * y + 1.0 - 4.0) / (2.0 * np.hypot(x, y)))
        both = [np.mod(middle + s * half + np.pi, 2 * np.pi) - np.pi for s in (1, -1)]
        parallel = min(both, key=lambda x: abs(x - a))
        want = parallel if rocker > 0 else next(x for x in both if x is not parallel)
        assert abs(d - want) < 1e-7
    total = run.energy.kinetic
    np.testing.assert_allclose(total - total[0], 0.3 * A, atol=1e-7)  # the work of the moment


def test_rates_that_lead_onto_no_branch_are_refused():
    mech = slider_crank()[0]
    start = mech.assemble(fix={"A": np.pi / 2}, guess=FOLDED, rates={"A": 1.0, "B": 0.3})
    with pytest.raises(tm.SingularError, match="lead onto no branch: 'C' would open"):
        mech.simulate((0, 1), start)
