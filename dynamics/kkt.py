# mypy: ignore-errors
"""Sparse LDL^T of the equations of motion with constraints, on a pattern fixed once per model.

    [A  P^T] [ ud     ]   [ Q    ]
    [P  -e ] [-lambda ] = [ -P00 ]                       (6.3.4), (6.3.5)

Rows of A come first, in the regular order of the speeds, then the constraint rows. Prescribed speeds and masked
rows are taken out by zeroing what joins them and putting 1 or -1 on their diagonal: the pattern stays. The
small e makes the matrix quasi-definite, so no pivoting is needed; one refinement against e = 0 removes it again.
"""

from treemech.kinematics.kernel import kernel


@kernel
def factorise(n, Ap, Ai, Ax, Lp, parent, count, Li, Lx, D, Y, pattern, flag):
    """L and D of the permuted matrix given by its upper columns (Ap, Ai, Ax): up-looking, column by column."""
    for k in range(n):
        Y[k] = 0.0
        top = n
        flag[k] = k
        count[k] = 0
        for p in range(Ap[k], Ap[k + 1]):
            i = Ai[p]
            Y[i] += Ax[p]
            length = 0
            while flag[i] != k:
                pattern[length] = i
                length += 1
                flag[i] = k
                i = parent[i]
            while length > 0:
                top -= 1
                length -= 1
                pattern[top] = pattern[length]
        D[k] = Y[k]
        Y[k] = 0.0
        for j in range(top, n):
            i = pattern[j]
            y = Y[i]
            Y[i] = 0.0
            first, last = Lp[i], Lp[i] + count[i]
            for p in range(first, last):
                Y[Li[p]] -= Lx[p] * y
            l = y / D[i]
            D[k] -= l * y
            Li[last] = k
            Lx[last] = l
            count[i] += 1


@kernel
def solve(n, Lp, Li, Lx, D, b):
    """b <- (L D L^T)^-1 b"""
    for j in range(n):
        x = b[j]
        for p in range(Lp[j], Lp[j + 1]):
            b[Li[p]] -= Lx[p] * x
    for j in range(n):
        b[j] /= D[j]
    for j in range(n - 1, -1, -1):
        x = b[j]
        for p in range(Lp[j], Lp[j + 1]):
            x -= Lx[p] * b[Li[p]]
        b[j] = x
