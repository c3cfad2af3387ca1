# mypy: ignore-errors
"""Dense LU factors, real and complex, for the small systems of the implicit methods.

Matrices are stored column by column (a[j, i] is the entry in row i, column j), complex ones as two arrays, so
that every inner loop runs along memory. The pivot is the entry that is largest relative to the size of its
row, because q' = u and u' differ by orders of magnitude. Columns where the pivot row has a zero are skipped;
a mechanism has many.
"""

from treemech.kinematics.kernel.language import kernel


@kernel
def factor(a, n, pivots, size):
    """Replace a by its LU factors; `size` is workspace (n). Returns False if a pivot is zero or nan."""
    for i in range(n):
        size[i] = 0.0
    for j in range(n):
        for i in range(n):
            size[i] = max(size[i], abs(a[j, i]))
    for k in range(n):
        p, most = k, -1.0
        for i in range(k, n):
            x = abs(a[k, i]) / size[i]
            if x > most:
                p, most = i, x
        pivots[k] = p
        if not most > 0.0:
            return False
        if p != k:
            size[p] = size[k]
            for j in range(n):
                a[j, k], a[j, p] = a[j, p], a[j, k]
        inverse = 1.0 / a[k, k]
        for i in range(k + 1, n):
            a[k, i] *= inverse
        for j in range(k + 1, n):
            x = a[j, k]
            if x != 0.0:
                for i in range(k + 1, n):
                    a[j, i] -= a[k, i] * x
    return True


@kernel
def solve(a, n, pivots, x):
    """Replace x by A^-1 x, with the factors a."""
    for k in range(n):
        p = pivots[k]
        x[k], x[p] = x[p], x[k]
    for k in range(n):
        s = x[k]
        if s != 0.0:
            for i in range(k + 1, n):
                x[i] -= a[k, i] * s
    for k in range(n - 1, -1, -1):
        s = x[k] / a[k, k]
        x[k] = s
        for i in range(k):
            x[i] -= a[k, i] * s


@kernel
def complex_factor(a, b, n, pivots, size):
    """Replace a + ib by its LU factors, as `factor` does."""
    for i in range(n):
        size[i] = 0.0
    for j in range(n):
        for i in range(n):
            size[i] = max(size[i], abs(a[j, i]) + abs(b[j, i]))
    for k in range(n):
        p, most = k, -1.0
        for i in range(k, n):
            x = (abs(a[k, i]) + abs(b[k, i])) / size[i]
            if x > most:
                p, most = i, x
        pivots[k] = p
        if not most > 0.0:
            return False
        if p != k:
            size[p] = size[k]
            for j in range(n):
                a[j, k], a[j, p] = a[j, p], a[j, k]
                b[j, k], b[j, p] = b[j, p], b[j, k]
        d = a[k, k] * a[k, k] + b[k, k] * b[k, k]
        x, y = a[k, k] / d, -b[k, k] / d
        for i in range(k + 1, n):
            s = a[k, i]
            a[k, i] = s * x - b[k, i] * y
            b[k, i] = s * y + b[k, i] * x
        for j in range(k + 1, n):
            x, y = a[j, k], b[j, k]
            if x != 0.0 or y != 0.0:
                for i in range(k + 1, n):
                    s, r = a[k, i], b[k, i]
                    a[j, i] -= s * x - r * y
                    b[j, i] -= s * y + r * x
    return True


@kernel
def complex_solve(a, b, n, pivots, x, y):
    """Replace x + iy by (A + iB)^-1 (x + iy), with the factors a, b."""
    for k in range(n):
        p = pivots[k]
        x[k], x[p] = x[p], x[k]
        y[k], y[p] = y[p], y[k]
    for k in range(n):
        s, r = x[k], y[k]
        if s != 0.0 or r != 0.0:
            for i in range(k + 1, n):
                x[i] -= a[k, i] * s - b[k, i] * r
                y[i] -= a[k, i] * r + b[k, i] * s
    for k in range(n - 1, -1, -1):
        d = a[k, k] * a[k, k] + b[k, k] * b[k, k]
        s = (x[k] * a[k, k] + y[k] * b[k, k]) / d
        r = (y[k] * a[k, k] - x[k] * b[k, k]) / d
        x[k], y[k] = s, r
        for i in range(k):
            x[i] -= a[k, i] * s - b[k, i] * r
            y[i] -= a[k, i] * r + b[k, i] * s
