# mypy: ignore-errors
"""Sparse LDL^T of the equations of motion with constraints, on a pattern fixed once per model.

    [A  P^T] [ ud     ]   [ Q    ]
    [P  -e ] [-lambda ] = [ -P00 ]                       (6.3.4), (6.3.5)

Rows of A come first, in the regular order of the speeds, then the constraint rows.
`dynamics.model.ordering.analyse` gives the order of elimination and the pattern. To take out prescribed
speeds and masked rows, their entries are set to zero and their diagonal to 1 or -1, so that the pattern
stays. There is no pivoting: the order keeps pivots nonzero for independent rows, a small e in rows that are nearly
dependent does so for these; one refinement against e = 0 removes the effect of e.

The matrix and the columns b, x, r stand in the order of elimination (positions, not indices).
"""

from treemech.elements.lanes.numbers import select
from treemech.kinematics.kernel.language import kernel

# A pivot of a row below the part WEAK of its usual size is regularised by the part EPSILON of it
WEAK, EPSILON = 1e-6, 1e-14


@kernel
def factorise(size, n, Ap, Ai, Ax, Lp, Li, Rp, Ri, Rs, perm, scale, Lx, D, inverse, Y):
    """Compute L (Lx) and D of the matrix with the upper columns (Ap, Ai, Ax): up-looking, row by row of L.

    `scale` holds the usual sizes of the pivots of the constraint rows, which follow n speeds. `inverse` becomes
    1 / D; Y is workspace. A zero pivot gives a zero in D and infinite numbers or nan after it.
    """
    for k in range(size):
        for p in range(Rp[k], Rp[k + 1]):
            Y[Ri[p]] = 0.0
        d = 0.0
        for p in range(Ap[k], Ap[k + 1]):
            d = Ax[p]  # the diagonal comes last
            Y[Ai[p]] = d
        for j in range(Rp[k], Rp[k + 1]):  # a triangular solve with the rows above
            i, slot = Ri[j], Rs[j]
            y = Y[i]
            for p in range(Lp[i], slot):
                Y[Li[p]] -= Lx[p] * y
            l = y * inverse[i]
            d -= l * y
            Lx[slot] = l
        if perm[k] >= n:
            usual = scale[perm[k] - n]
            d = select(abs(d) < WEAK * usual, d - EPSILON * usual, d)
        D[k] = d
        inverse[k] = 1.0 / d


@kernel
def solve(size, Lp, Li, Lx, inverse, b):
    """Replace b by (L D L^T)^-1 b."""
    for j in range(size):
        x = b[j]
        for p in range(Lp[j], Lp[j + 1]):
            b[Li[p]] -= Lx[p] * x
    for j in range(size - 1, -1, -1):
        x = b[j] * inverse[j]
        for p in range(Lp[j], Lp[j + 1]):
            x -= Lx[p] * b[Li[p]]
        b[j] = x


@kernel
def residual(size, Ap, Ai, Ax, b, x, r):
    """Compute r = b - K x, where K is the matrix without regularisation. r may be b itself, not x."""
    for k in range(size):
        r[k] = b[k]
    for k in range(size):
        xk, rk = x[k], r[k]
        for p in range(Ap[k], Ap[k + 1]):
            i = Ai[p]
            rk -= Ax[p] * x[i]
            if i != k:
                r[i] -= Ax[p] * xk
        r[k] = rk
