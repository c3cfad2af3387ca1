"""Rank of constraint rows: independent rows, allowed rates and suitable speeds of random matrices."""

import numpy as np
import pytest

from tests.support.tolerances import ROUND
from treemech.kinematics.rank import allowed, complete, null_space, pivoted, rank

SHAPES = [(4, 7, 3), (7, 4, 4), (5, 5, 2), (0, 3, 0), (3, 6, 0)]  # rows, speeds, rank


def of_rank(seed, m, n, r):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, r)) @ rng.normal(size=(r, n))


@pytest.mark.parametrize(("m", "n", "r"), SHAPES)
def test_the_null_space_holds_all_rates_the_rows_allow(m, n, r):
    P = of_rank(1, m, n, r)
    N = null_space(P)
    assert rank(P) == r and N.shape == (n, n - r)
    assert np.max(np.abs(P @ N), initial=0.0) < ROUND * max(1.0, np.max(np.abs(P), initial=0.0))
    assert np.allclose(N.T @ N, np.eye(n - r), atol=ROUND)


def test_rank_counts_relative_to_the_largest_singular_value_or_a_given_one():
    P = np.diag([1.0, 1e-3, 1e-9])
    assert rank(P) == 2 and rank(1e9 * P) == 2
    assert rank(P, 1e5) == 1


def test_allowed_rates_move_free_speeds_only():
    P, free = of_rank(2, 3, 8, 2), np.arange(8) % 3 != 0
    N = allowed(P, free)
    assert not np.any(N[~free]) and N.shape[1] == np.sum(free) - 2
    assert np.max(np.abs(P @ N)) < ROUND * np.max(np.abs(P))
    assert allowed(P, np.zeros(8, dtype=bool)).shape == (8, 0)


def test_independent_rows_come_first():
    P = of_rank(3, 6, 9, 3)
    order = pivoted(P)
    assert sorted(order) == list(range(6))
    assert rank(P[order[:3]]) == 3


def test_completed_speeds_determine_all_others():
    N = null_space(of_rank(4, 5, 9, 4))
    for chosen in ([], [2], [2, 7]):
        suitable = [*chosen, *complete(N, chosen)]
        assert len(suitable) == N.shape[1] and rank(N[suitable]) == N.shape[1]
