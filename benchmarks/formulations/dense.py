# mypy: ignore-errors
"""Factors of dense matrices by LAPACK, in compiled code.

The routines come by address (`compiled.lapack`). `w` holds whole numbers that LAPACK takes by address: the size, the
number of right sides, "T" or "U", and the place for its answer. LAPACK reads columns where we have rows.
"""

from treemech.kinematics.kernel.language import address_of, kernel, routine_call

_call5, _call6, _call8, _call9 = routine_call(5), routine_call(6), routine_call(8), routine_call(9)


@kernel
def lu(getrf, w, n, M, pivots):
    """Factorise the n x n matrix M in its place. Return whether it is regular."""
    w[0], w[3] = n, 0
    at = address_of(w)
    _call6(getrf, at, at, address_of(M), at, address_of(pivots), at + 24)
    return w[3] == 0


@kernel
def lu_solve(getrs, w, n, M, pivots, b):
    """Replace b by the solution of M x = b, with the factors of `lu`."""
    w[0], w[1], w[2], w[3] = n, 1, 84, 0  # "T"
    at = address_of(w)
    _call9(getrs, at + 16, at, at + 8, address_of(M), at, address_of(pivots), address_of(b), at, at + 24)


@kernel
def cholesky(potrf, w, n, matrix):
    """Factorise the n x n matrix at an address into U^T U in its place. Return whether it is positive definite."""
    w[0], w[1], w[3], w[4] = n, 1, 0, 85  # "U" of LAPACK's columns: our lower rows
    at = address_of(w)
    _call5(potrf, at + 32, at, matrix, at, at + 24)
    return w[3] == 0


@kernel
def cholesky_solve(potrs, w, n, matrix, count, right):
    """Replace `count` right sides (rows of n numbers, at an address) by the solutions."""
    w[0], w[1], w[3], w[4] = n, count, 0, 85
    at = address_of(w)
    _call8(potrs, at + 32, at, at + 8, matrix, at, right, at, at + 24)
