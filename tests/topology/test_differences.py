"""Central differences: the order, the choice of the step, functions that are not smooth."""

import numpy as np
import pytest

from treemech.topology.differences import adaptive_difference, central_difference


def smooth(x):
    return np.array([np.exp(3.0 * x), np.sin(20.0 * x)])


def agree(now, before):
    gap = float(np.max(np.abs(now.first - before.first)))
    return gap, gap <= 1e-11 * float(np.max(np.abs(now.first)))


def test_differences_are_of_eighth_order():
    gaps = [abs(central_difference(smooth, smooth(0.0), h).first[1] - 20.0) for h in (0.02, 0.01)]
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(8.0, abs=0.2)
    gaps = [abs(central_difference(smooth, smooth(0.0), h).second[0] - 9.0) for h in (0.2, 0.1)]
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(8.0, abs=0.2)


def test_the_step_is_halved_until_two_results_agree():
    found, error = adaptive_difference(smooth, 0.1, 9, agree)
    np.testing.assert_allclose(found.first, [3.0, 20.0], rtol=1e-11)
    assert error <= 2e-10
    assert found.value.tolist() == [1.0, 0.0]


def test_the_best_result_is_kept_if_none_agree():
    errors = []

    def never(now, before):
        errors.append(agree(now, before)[0])
        return errors[-1], False

    found, error = adaptive_difference(smooth, 0.1, 12, never)
    assert len(errors) == 11
    assert error == min(errors) < errors[-1]  # rounding makes the last ones worse
    np.testing.assert_allclose(found.first, [3.0, 20.0], rtol=1e-10)
