"""Rates of a start: of ends, and without momentum."""

import numpy as np
import pytest

import treemech as tm

from .test_targets import four_bar


def floating_arm():
    """A base that floats freely, with two links."""
    s = tm.System("floating arm", gravity=(0, 0, 0))
    base = s.body("base", 5.0, (1.0, 2.0, 1.5), com=(0.1, 0.2, -0.1))
    one, two = (s.body(n, 1.0, (0.02, 0.3, 0.3), com=(0.5, 0, 0)) for n in ("one", "two"))
    s.connect("base", tm.Free(), s.ground, base)
    s.connect("A", tm.Revolute("y"), base.at((0.3, 0, 0.2)), one)
    s.connect("B", tm.Revolute((0, 1, 1)), one.at((1, 0, 0)), two)
    return s.build()


def test_rates_without_momentum_stay_without_it():
    mech = floating_arm()
    state = mech.assemble(guess={"A": 0.3, "B": -0.8}, rates={"A": 2.0, "B": -3.0}, momentum=0)
    assert state["A"][1][0] == 2.0 and state["B"][1][0] == -3.0
    assert max(np.max(np.abs(x)) for x in mech.momentum(state)) < 1e-12
    assert np.max(np.abs(state["base"][1])) > 0.1  # the base turns against the arm
    run = mech.simulate((0, 2), state, rtol=1e-10)
    assert max(np.max(np.abs(x)) for x in mech.momentum(run.state())) < 1e-7
    wanted = ((1.0, None, -0.5), (None, 0.3, None))
    state = mech.assemble(rates={"A": 2.0, "B": -3.0}, momentum=wanted)
    linear, angular = mech.momentum(state)
    np.testing.assert_allclose([linear[0], linear[2], angular[1]], [1.0, -0.5, 0.3], atol=1e-12)
    with pytest.raises(tm.ElementError, match="momentum is 'none'; wanted 0 or"):
        mech.assemble(momentum="none")


def test_momentum_that_a_hinge_to_the_ground_does_not_leave_free_is_named():
    mech = four_bar()[0]
    with pytest.raises(tm.ConvergenceError, match="'momentum' would open"):
        mech.assemble(fix={"A": 0.4}, rates={"A": 1.0}, momentum=0)


def test_rates_of_ends_are_velocities_and_angular_velocities():
    mech = floating_arm()
    base = mech.tree.bodies[mech.tree.numbers["base"]]
    state = mech.assemble(rates={base: ((1, 2, 3), (0.1, 0.2, 0.3)), "A": 1.0})
    np.testing.assert_allclose(state["base"][1], (1, 2, 3, 0.1, 0.2, 0.3), atol=1e-13)
    state = mech.assemble(rates={base: (None, (0.1, None, 0.3))})
    np.testing.assert_allclose(state["base"][1][[3, 5]], (0.1, 0.3), atol=1e-13)
