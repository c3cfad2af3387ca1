"""The differentiated motion asks for nothing outside of the motion, whatever its steps are."""

import numpy as np

import treemech as tm
from treemech.analyses.small_motions import derivative_workspace
from treemech.description.parameters import directions
from treemech.design.sensitivities import Along
from treemech.dynamics.analyses.sensitivity import Variation


def test_rounding_of_the_steps_does_not_lead_past_the_end():
    system = tm.System("oscillator")
    mass = system.body("mass", 1.0, (0.1, 0.1, 0.1))
    system.connect("slide", tm.Prismatic("x"), system.ground, mass)
    system.connect("spring", tm.Spring(tm.Parameter("k", 30.0), 0.0, 0.5), system.ground.at((-1, 0, 0)), mass)
    mech = system.build()
    run = mech.simulate((0, 0.04), mech.state(), dense_output=True)
    along = Along(mech._core, run)
    variation = Variation(mech._core, derivative_workspace(mech), directions(mech, ["k"]))
    between = np.random.default_rng(0).uniform(0.001, 0.015, 400)
    passing = [x for x in between if x + (0.04 - x) > 0.04]
    assert passing  # where the end of a step, computed from its start, is later than the end of the run
    for x in passing[:3]:
        s, _ = variation.solve(along, np.array([0.0, x, 0.04]), np.zeros((2, 1)), 1e-8)
        assert s.shape == (3, 2, 1)
