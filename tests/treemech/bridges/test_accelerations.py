"""Rows that one call of the compiled core takes have the slopes that each has alone."""

import numpy as np
import pytest

from treemech.benchmarks.families.trees import chain, humanoid
from treemech.bridges.accelerations import ForwardDynamics
from treemech.bridges.model import Model
from treemech.bridges.operation import Operation


@pytest.mark.parametrize("make", [lambda: chain(3), humanoid])
def test_slopes_of_many_rows_are_those_of_each(make):
    mech = make().build()
    operation, rng = ForwardDynamics(Model(mech)), np.random.default_rng(4)
    q = mech.state().q + 0.3 * rng.normal(size=(2, 3, mech.nq))  # Euler parameters of any length
    u, loads = rng.normal(size=(2, 2, 3, mech.nu))
    none, t = np.zeros((2, 3, 0)), np.zeros((2, 3))
    given = (q, u, none, none, none, loads, t)
    assert operation._many(given) is not None
    for found, wanted in zip(
        operation.with_slopes(*given), Operation.with_slopes(operation, *given), strict=True
    ):
        assert found.shape == wanted.shape and np.array_equal(found, wanted)
