# mypy: ignore-errors
"""Orthonormal rows in a flat array: the first ones span a space, the others its complement."""

from .language import kernel


@kernel
def orthonormalise(x, first, count, at, width):
    """Make the row at `at` orthogonal to the `count` rows from `first` on, and of length 1.

    Returns the length before normalising. Gram-Schmidt, done twice against rounding.
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
    """Complete `count` orthonormal rows to a base by `width - count` rows behind them.

    Each is made from the unit direction pivot[c, k]; where that is -1, the direction farthest from the rows
    is chosen and stored. As long as the pivots stay, the rows change as smoothly as the space.
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
    """Return the unit direction farthest from the space of the rows."""
    best, far = 0, -1.0
    for j in range(width):
        s = 1.0
        for i in range(count):
            s -= x[first + width * i + j] * x[first + width * i + j]
        if s > far + 1e-9:
            best, far = j, s
    return best
