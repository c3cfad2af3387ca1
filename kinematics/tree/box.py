# mypy: ignore-errors
"""Smallest value of a convex quadratic function with every variable between bounds of its own."""

from treemech.kinematics.kernel.language import floats, floats2, kernel

_FREE, _LOW, _HIGH = 0.0, 1.0, 2.0
_ROUNDS = 4  # times the number of variables
_SIGN = (
    1e-12  # a pull into the region that is smaller than this, in parts of the largest, lets go of no bound
)


@kernel
def _factorise(H, added, kept, count, L):
    """Write the Cholesky factor of the rows and columns `kept` of H + added. Return whether they are positive."""
    for i in range(count):
        a = int(kept[i])
        for j in range(i + 1):
            x = H[a, int(kept[j])]
            if i == j:
                x += added
            for k in range(j):
                x -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = x / L[j, j]
            elif x > 0.0:
                L[i, i] = x**0.5
            else:
                return False
    return True


@kernel
def _solve(L, count, x):
    """Solve L L^T x = x in place."""
    for i in range(count):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@kernel
def smallest_in_box(H, added, g, low, high, y, side, work):
    """Write the y with the least y (H + added) y / 2 + g y and low <= y <= high. Return whether it was found.

    Variables that pass a bound are held there, all at once; then the one that is pulled away from its bound the most is
    let go, until none is. 0 is between the bounds. `side` (n) and, at the address `work`, n (n + 2) doubles are workspace.
    """
    n = y.shape[0]
    L, kept, x = floats2(work, n, n), floats(work + 8 * n * n, n), floats(work + 8 * (n * n + n), n)
    for k in range(n):
        side[k] = _FREE
    for turn in range(_ROUNDS * n + 1):
        count = 0
        for k in range(n):
            if side[k] == _FREE:
                kept[count] = k
                count += 1
            else:
                y[k] = low[k] if side[k] == _LOW else high[k]
        for i in range(count):
            a = int(kept[i])
            x[i] = -g[a]
            for k in range(n):
                if side[k] != _FREE:
                    x[i] -= H[a, k] * y[k]
        if not _factorise(H, added, kept, count, L):
            return False
        _solve(L, count, x)
        passed = False
        for i in range(count):
            a = int(kept[i])
            y[a] = x[i]
            if x[i] < low[a]:
                side[a] = _LOW
                passed = True
            elif x[i] > high[a]:
                side[a] = _HIGH
                passed = True
        if passed:
            continue
        worst, largest, scale = -1, 0.0, 0.0
        for k in range(n):
            scale = max(scale, abs(g[k]))
        for k in range(n):
            if side[k] == _FREE:
                continue
            pull = -g[k] - added * y[k]
            for j in range(n):
                pull -= H[k, j] * y[j]
            pull = pull if side[k] == _LOW else -pull  # into the region
            if pull > largest:
                worst, largest = k, pull
        if worst < 0 or largest <= _SIGN * scale:
            return True
        side[worst] = _FREE
    return False
