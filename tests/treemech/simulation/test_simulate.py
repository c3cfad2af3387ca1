"""Tolerances of `simulate`: the same digits whatever else the model holds."""

import numpy as np
import pytest

import treemech as tm
from treemech.simulation.simulate import tolerances


def small_oscillator(chain: bool) -> tm.Mechanism:
    """Return an oscillator (10 rad/s), with or without a closed chain that has nothing to do with it."""
    system = tm.System("small", gravity=(0, 0, 0))
    hinge = system.connect("x", tm.Prismatic("x"), system.ground, system.body("a", 1.0, (0.1, 0.1, 0.1)))
    system.connect("k", tm.RotationalSpring(stiffness=100.0), hinge)
    if chain:
        slider = system.body("b", 1.0, (0.1, 0.1, 0.1))
        system.connect("g", tm.Prismatic("x"), system.ground.at((0, 0, 5)), slider)
        system.connect("rod", tm.Distance(1.0), system.ground.at((1, 0, 5)), slider)
    return system.build()


@pytest.mark.parametrize("method", ["DOP853", "Radau", "Adams"])
@pytest.mark.parametrize("amplitude", [1e-5, 1e-3])
def test_an_unrelated_chain_leaves_the_accuracy_of_small_motions_as_it_is(method, amplitude):
    errors = []
    for chain in (False, True):
        mech = small_oscillator(chain)
        run = mech.simulate((0, 10), mech.assemble(fix={"x": amplitude}), method, t_eval=[10.0])
        errors.append(abs(run.connection("x").q[-1] / amplitude - np.cos(100.0)))
    # tree and chain differ by the number of entries in the norm of the error only
    assert errors[1] < 3.0 * errors[0] + 1e-6


def test_the_default_atol_is_one_rule_and_stays_above_rounding():
    for rtol, atol in ((1e-6, 1e-9), (1e-10, 1e-13), (1e-13, 1e-14)):
        for chain in (False, True):
            assert np.all(tolerances(small_oscillator(chain), None, rtol) == pytest.approx(atol))
