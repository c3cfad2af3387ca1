# mypy: ignore-errors
"""Loads of the drives of a closed chain (6.3.8): the smallest that leave the rest to the constraints.

On the rates that the constraints P allow, only the drives S do work: N^T required = N^T S loads with the columns N of the null
space of P. Both N and the smallest loads come from reflections (Householder), with the largest row first.
"""

from treemech.kinematics.kernel.language import kernel

# Of the largest pivot: what is larger counts, what is smaller is rounding, and what lies between is left to singular values
_KEPT, _ROUNDING = 1e-5, 1e-11


@kernel
def _dot(x, y, first, last):
    """Return the product of two rows from `first` on. Four sums at once, so that none waits for another."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = last - (last - first) % 4
    for k in range(first, whole, 4):
        a += x[k] * y[k]
        b += x[k + 1] * y[k + 1]
        c += x[k + 2] * y[k + 2]
        d += x[k + 3] * y[k + 3]
    for k in range(whole, last):
        a += x[k] * y[k]
    return (a + b) + (c + d)


@kernel
def _reflect(v, factor, y, first, last):
    """Reflect the row y by the vector v, which is zero before `first`."""
    s = factor * _dot(v, y, first, last)
    for k in range(first, last):
        y[k] -= s * v[k]


@kernel
def triangular(x, count, width, order, factor, diagonal, more, n_more):
    """Turn the rows of x by reflections until they are triangular, the largest row first; turn the rows `more` as well.

    Row j of x then holds its entries before the diagonal, and the vector of reflection j from there on. Return the rank, or
    -1 if it is doubtful.
    """
    for j in range(count):
        order[j] = j
    first_pivot, rank, most = 0.0, 0, min(count, width)
    for j in range(count):
        best, size = j, -1.0
        for i in range(j, count):
            s = _dot(x[i], x[i], j, width)
            if s > size * (1.0 + 1e-12):
                best, size = i, s
        norm = size**0.5 if size > 0.0 else 0.0
        if j == 0:
            first_pivot = norm
        if j == most or norm <= _ROUNDING * first_pivot:
            return rank
        if not norm >= _KEPT * first_pivot:
            return -1
        if best != j:
            order[j], order[best] = order[best], order[j]
            for k in range(width):
                x[j, k], x[best, k] = x[best, k], x[j, k]
        v = x[j]
        diagonal[j] = -norm if v[j] > 0.0 else norm
        factor[j] = 1.0 / (norm * (norm + abs(v[j])))
        v[j] -= diagonal[j]
        for i in range(j + 1, count):
            _reflect(v, factor[j], x[i], j, width)
        for i in range(n_more):
            _reflect(v, factor[j], more[i], j, width)
        rank += 1
    return rank


@kernel
def least(x, count, width, order, factor, diagonal, right, y):
    """Write the shortest y (width) with x y = right (count), for the factors of x of full rank."""
    for j in range(width):
        y[j] = 0.0
    for j in range(count):
        y[j] = (right[order[j]] - _dot(x[j], y, 0, j)) / diagonal[j]
    for j in range(count - 1, -1, -1):
        _reflect(x[j], factor[j], y, j, width)
