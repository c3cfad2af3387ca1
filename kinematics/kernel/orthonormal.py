# mypy: ignore-errors
"""Orthonormal rows, one behind the other in a flat array: a space spanned by some, its complement by the rest."""

from .language import kernel


@kernel
def orthonormalise(x, first, count, at, width):
    """Row at `at` less its parts along the `count` rows from `first` on, at length 1; its length before.

    By Gram and Schmidt, twice for good measure.
    """
    for _ in range(2):
        for i in range(count):
            s = 0.0
            for j in range(width):
                s += x[at + j] * x[first + width * i + j]
            for j in range(width):
                x[at + j] -= s * x[first + width * i + j]
    s = 0.0
    for j in range(width):
        s += x[at + j] * x[at + j]
    s = s**0.5
    for j in range(width):
        x[at + j] /= s
    return s


@kernel
def complement(x, first, count, width, pivot, c):
    """Behind `count` orthonormal rows the `width - count` that make them a base.

    Each is made from a unit direction, pivot[c, k]: the farthest one where that is still -1. While the pivots stay,
    the rows change as smoothly as the space.
    """
    for k in range(width - count):
        if pivot[c, k] < 0:
            pivot[c, k] = _farthest(x, first, count + k, width)
        at = first + width * (count + k)
        for j in range(width):
            x[at + j] = 1.0 if j == pivot[c, k] else 0.0
        orthonormalise(x, first, count + k, at, width)


@kernel
def _farthest(x, first, count, width):
    """The unit direction farthest from the space of the rows."""
    best, far = 0, -1.0
    for j in range(width):
        s = 1.0
        for i in range(count):
            s -= x[first + width * i + j] * x[first + width * i + j]
        if s > far + 1e-9:
            best, far = j, s
    return best
