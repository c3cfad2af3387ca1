"""Unknowns that nothing decides go back to their start; bodies stay physical on the way."""

import numpy as np
import pytest

from treemech.fitting.inertia import from_theta, part_names, pseudo_inertia
from treemech.fitting.unexcited import nearest_to_start
from treemech.fitting.unknowns import Unknowns

NAMES = part_names("b")


def test_all_free_directions_lead_back_to_the_start():
    rng = np.random.default_rng(0)
    start, far = (from_theta(rng.normal(size=10))[0] for _ in range(2))
    unknowns = Unknowns([*NAMES, "d"], np.append(start, 2.0), [*NAMES, "d"])
    back = nearest_to_start(unknowns, np.append(far, 5.0), np.eye(11))
    np.testing.assert_allclose(back, unknowns.start, rtol=1e-5, atol=1e-5 * np.max(np.abs(start)))


def test_what_is_known_stays_and_the_body_stays_physical():
    rng = np.random.default_rng(1)
    start, far = (from_theta(rng.normal(size=10))[0] for _ in range(2))
    unknowns, N = Unknowns(NAMES, start, NAMES), rng.normal(size=(10, 4))
    back = nearest_to_start(unknowns, far, N)
    assert np.linalg.eigvalsh(pseudo_inertia(back))[0] > 0.0
    seen = np.linalg.qr(np.hstack((N, rng.normal(size=(10, 6)))))[0][:, 4:]
    np.testing.assert_allclose(seen.T @ back, seen.T @ far, atol=1e-9 * np.max(np.abs(far)))
    for step in 1e-3 * np.eye(4):  # a minimum
        for sign in (1, -1):
            assert _divergence(back, start) <= _divergence(back + sign * N @ step, start) + 1e-12


def _divergence(numbers, start):
    P, wanted = pseudo_inertia(numbers), np.linalg.inv(pseudo_inertia(start))
    return np.trace(wanted @ P) - np.linalg.slogdet(P)[1]


def test_bounds_hold():
    unknowns = Unknowns(["a", "b"], np.array([1.0, 1.0]), ["a", "b"])
    unknowns.bound({"a": (0.0, 3.0)})
    back = nearest_to_start(unknowns, np.array([2.0, -2.0]), np.array([[1.0], [-1.0]]))
    assert np.sum(back) == pytest.approx(0.0) and 0.0 <= back[0] < 2.0  # without a bound: (0, 0)
