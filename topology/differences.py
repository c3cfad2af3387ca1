"""Derivatives of Python functions by central differences of eighth order; the step is chosen automatically."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .arrays import Floats

_FIRST = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_SECOND = (8 / 5, -1 / 5, 8 / 315, -1 / 560)
_SECOND_AT_CENTRE = -205 / 72


class Central(NamedTuple):
    """Value and derivatives of a function at 0, from the values at 0 and at four steps to both sides."""

    value: Floats
    first: Floats
    second: Floats
    largest: Floats  # largest size of each component, over all steps


def central_difference(f: Callable[[float], Floats], value: Floats, h: float) -> Central:
    """Return the derivatives of f at 0 with the step h. `value` is f(0).

    >>> d = central_difference(lambda x: np.array([1.0 + x**3 + 4.0 * x**2 + 2.0 * x]), np.array([1.0]), 0.1)
    >>> d.first.round(12).tolist(), d.second.round(12).tolist()
    ([2.0], [8.0])
    """
    first, second, largest = np.zeros(len(value)), _SECOND_AT_CENTRE * value, np.abs(value)
    for k in range(4):
        ahead, behind = f((k + 1) * h), f(-(k + 1) * h)
        first += _FIRST[k] * (ahead - behind)
        second += _SECOND[k] * (ahead + behind)
        largest = np.maximum(largest, np.maximum(np.abs(ahead), np.abs(behind)))
    return Central(value, first / h, second / h**2, largest)


def adaptive_difference(
    f: Callable[[float], Floats],
    first_step: float,
    levels: int,
    compare: Callable[[Central, Central], tuple[float, bool]],
) -> tuple[Central, float]:
    """Return the best derivatives of f at 0 and their error; the step is halved until two of them agree.

    ``compare(now, before)`` returns the error of `now`, estimated from the result with twice the step, and whether it
    is small enough. If no step gives a small error, the result with the smallest error is returned.
    """
    value = f(0.0)
    before, best, least = central_difference(f, value, first_step), None, np.inf
    for level in range(1, levels):
        now = central_difference(f, value, first_step * 0.5**level)
        error, enough = compare(now, before)
        if best is None or error < least:
            best, least = now, error
        if enough:
            break
        before = now
    assert best is not None
    return best, least
