"""Derivatives by central differences of eighth order with automatic step size."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats

from .report import FIRST, SECOND, TINY

_CENTRAL = ((4 / 5, -1 / 5, 4 / 105, -1 / 280), (8 / 5, -1 / 5, 8 / 315, -1 / 560, -205 / 72))


class Differences(NamedTuple):
    """First and second derivative at eps = 0; `error` is the difference of two steps over the allowed one."""

    first: Floats
    second: Floats
    size: Floats  # largest term, per component group
    error: float


def differences(f: Callable[[float], Floats], groups: tuple[int, ...], orders: int = 2) -> Differences:
    """Return derivatives of f at 0 by central differences of eighth order, with steps from 0.01 down to 4e-5.

    `groups`: lengths of the parts of f that share one scale (an offset, a rotation).
    """
    centre = f(0.0)
    best: Differences | None = None
    before: tuple[Floats, Floats] | None = None
    for halving in range(9):
        h = 0.01 * 0.5**halving
        first, second, largest = np.zeros(len(centre)), _CENTRAL[1][4] * centre, np.abs(centre)
        for k in range(4):
            ahead, behind = f((k + 1) * h), f(-(k + 1) * h)
            first += _CENTRAL[0][k] * (ahead - behind)
            second += _CENTRAL[1][k] * (ahead + behind)
            largest = np.maximum(largest, np.maximum(np.abs(ahead), np.abs(behind)))
        first, second = first / h, second / h**2
        if before is not None:
            size = np.empty(len(centre))
            start = 0
            for length in groups:
                part = slice(start, start + length)
                size[part] = max(np.max(x[part], initial=0.0) for x in (largest, abs(first), abs(second)))
                start += length
            error = float(np.max(np.abs(first - before[0]) / (FIRST * size + TINY), initial=0.0))
            if orders > 1:
                error = max(
                    error, float(np.max(np.abs(second - before[1]) / (SECOND * size + TINY), initial=0.0))
                )
            if not np.isfinite(error):
                error = np.inf
            if best is None or error < best.error:
                best = Differences(first, second, size, error)
            if error < 0.1:
                break
        before = first, second
    assert best is not None
    return best


def axial(M: Floats) -> Floats:
    """Return the vector w of the skew part of M: w x = (M - M^T)/2."""
    return 0.5 * np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])
