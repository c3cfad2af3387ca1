# mypy: ignore-errors
"""Inverse of a symmetric positive matrix by its Cholesky factors, and a product with it.

Rows are given by their addresses and taken eight or four at a time.
"""

from treemech.kinematics.kernel.language import floats, kernel


@kernel
def _less_four(out, a, b, c, d, x0, x1, x2, x3):
    """Subtract x0 a + x1 b + x2 c + x3 d from out; a .. d are addresses."""
    n = out.shape[0]
    r0, r1, r2, r3 = floats(a, n), floats(b, n), floats(c, n), floats(d, n)
    for j in range(n):
        out[j] -= x0 * r0[j] + x1 * r1[j] + x2 * r2[j] + x3 * r3[j]


@kernel
def _less_eight(out, rows, stride, x, step):
    """Subtract eight rows from out, each times its factor.

    The rows start at the address `rows` and are `stride` bytes apart; their factors stand in x, `step` apart.
    """
    n = out.shape[0]
    r0, r1, r2, r3 = (
        floats(rows, n),
        floats(rows + stride, n),
        floats(rows + 2 * stride, n),
        floats(rows + 3 * stride, n),
    )
    at = rows + 4 * stride
    r4, r5, r6, r7 = (
        floats(at, n),
        floats(at + stride, n),
        floats(at + 2 * stride, n),
        floats(at + 3 * stride, n),
    )
    x0, x1, x2, x3 = x[0], x[step], x[2 * step], x[3 * step]
    x4, x5, x6, x7 = x[4 * step], x[5 * step], x[6 * step], x[7 * step]
    for j in range(n):
        a = x0 * r0[j] + x1 * r1[j] + x2 * r2[j] + x3 * r3[j]
        out[j] -= a + (x4 * r4[j] + x5 * r5[j] + x6 * r6[j] + x7 * r7[j])


@kernel
def _less_one(out, a, x):
    n = out.shape[0]
    r = floats(a, n)
    for j in range(n):
        out[j] -= x * r[j]


@kernel
def _scale(out, x):
    for j in range(out.shape[0]):
        out[j] *= x


@kernel
def _less_rows(out, rows, stride, factors, step, first, last):
    """Subtract the rows first .. last - 1 from out, each times its factor.

    The rows start at the address `rows`, `stride` doubles apart; the factors at `factors`, `step` doubles
    apart.
    """
    k = first
    while k + 8 <= last:
        _less_eight(
            out, rows + 8 * stride * k, 8 * stride, floats(factors + 8 * step * k, 7 * step + 1), step
        )
        k += 8
    while k + 4 <= last:
        x = floats(factors + 8 * step * k, 3 * step + 1)
        at, s = rows + 8 * stride * k, 8 * stride
        _less_four(out, at, at + s, at + 2 * s, at + 3 * s, x[0], x[step], x[2 * step], x[3 * step])
        k += 4
    while k < last:
        _less_one(out, rows + 8 * stride * k, floats(factors + 8 * step * k, 1)[0])
        k += 1


@kernel
def invert(n, A, U, Z, X):
    """Compute the full X = A^-1 from the lower triangle of A; all are addresses of (n, n) matrices.

    U^T U = A, Z = U^-T, X = Z^T Z; U and Z are workspace. A pivot that is not positive gives nan.
    """
    lower, upper = floats(A, n * n), floats(U, n * n)
    for i in range(n):
        for j in range(i, n):
            upper[n * i + j] = lower[n * j + i]
    for i in range(n):
        row = floats(U + 8 * (n * i + i), n - i)
        _less_rows(row, U + 8 * i, n, U + 8 * i, n, 0, i)
        _scale(row, row[0] ** -0.5)
    for i in range(n):
        row = floats(Z + 8 * n * i, n)
        for j in range(n):
            row[j] = 0.0
        row[i] = 1.0
        own = floats(Z + 8 * n * i, i + 1)
        _less_rows(own, Z, n, U + 8 * i, n, 0, i)
        _scale(own, 1.0 / upper[n * i + i])
    full = floats(X, n * n)
    for i in range(n):
        own = floats(X + 8 * n * i, i + 1)
        for j in range(i + 1):
            own[j] = 0.0
        _less_rows(own, Z, n, Z + 8 * i, n, i, n)
        for j in range(i + 1):
            own[j] = -own[j]
            full[n * j + i] = own[j]


@kernel
def less_product(n, m, X, J, out):
    """Compute out = -X J with X (n, n) symmetric, J and out (n, m), all given by their addresses."""
    for i in range(n):
        row = floats(out + 8 * m * i, m)
        for j in range(m):
            row[j] = 0.0
        _less_rows(row, J, m, X + 8 * n * i, 1, 0, n)
