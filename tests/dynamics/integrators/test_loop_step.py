"""Coordinate partitioning: every run chooses its own independent speeds."""

import numpy as np
import pytest

from treemech.benchmarks.problems import problems


@pytest.mark.parametrize("name", ["chaplygin_sleigh", "skate_on_incline", "slider_crank_driven"])
def test_a_second_run_does_not_see_the_partition_of_the_first(name):
    """At its start the sleigh heads along x, at the end elsewhere: what is independent there determines nothing here."""
    problem = problems()[name]
    mech = problem.system().build()
    state = problem.start(mech, problem.cases[0])
    end = min(problem.t_end, 5.0)

    def simulate(rtol, how):
        run = mech.simulate((0.0, end), state, rtol=rtol, atol=rtol, t_eval=[end], stabilisation=how)
        return np.concatenate((run.q[-1], run.u[-1]))

    exact = simulate(1e-12, "projection")
    first, second = simulate(1e-9, "partitioning"), simulate(1e-9, "partitioning")
    np.testing.assert_array_equal(first, second)
    own = np.max(np.abs(simulate(1e-9, "projection") - exact))
    assert np.max(np.abs(second - exact)) < 10 * own + 1e-11
