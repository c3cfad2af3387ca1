"""Derivatives for the checks: central differences with the tolerances of a check."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.differences import Central, adaptive_difference

from .report import FIRST, SECOND, TINY


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

    def compare(now: Central, before: Central) -> tuple[float, bool]:
        size = _size(now, groups)
        error = float(np.max(np.abs(now.first - before.first) / (FIRST * size + TINY), initial=0.0))
        if orders > 1:
            gap = np.abs(now.second - before.second)
            error = max(error, float(np.max(gap / (SECOND * size + TINY), initial=0.0)))
        error = error if np.isfinite(error) else np.inf
        return error, error < 0.1

    best, error = adaptive_difference(f, 0.01, 9, compare)
    return Differences(best.first, best.second, _size(best, groups), error)


def _size(d: Central, groups: tuple[int, ...]) -> Floats:
    """Return the largest term of the group of each component."""
    size, start = np.empty(len(d.value)), 0
    for length in groups:
        part = slice(start, start + length)
        size[part] = max(np.max(x[part], initial=0.0) for x in (d.largest, abs(d.first), abs(d.second)))
        start += length
    return size
