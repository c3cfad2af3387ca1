# mypy: ignore-errors
"""Sparse LU of matrices with one pattern and changing values.

Columns are ordered once (minimum degree). `factor` finds rows to pivot on as it goes, column by column (J. R. Gilbert,
T. Peierls, SIAM J. Sci. Stat. Comput. 9 (1988) 862), with preference for the diagonal; `refactor` keeps them, and the
pattern of L and U, as long as they stay large enough: the way of KLU (T. A. Davis, E. Palamadai Natarajan, ACM TOMS 37
(2010) 36). So zeros on the diagonal, of multipliers and of slender rods, are no obstacle.
"""

import numpy as np
from numba import types

from treemech.dynamics.model.ordering import _order
from treemech.kinematics.kernel.language import kernel

KEEP = 1e-3  # part of the largest entry of its column a pivot must reach to be kept
PREFER = 0.05  # and the diagonal to be preferred


def analyse(n, rows, cols, waiting=0):
    """Return (Ap, Ai, slot, order): columns of the entries (rows, cols), where each goes, the order of the
    columns.

    The last `waiting` indices wait for their neighbours: multipliers.
    """
    rows, cols = np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64)
    key = cols * n + rows
    keys = np.unique(key)
    Ap = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n).astype(np.int64)
    slot = np.searchsorted(keys, key).astype(np.int64)
    free = n - waiting
    below = (rows < free) | (cols < free)  # between multipliers there is nothing
    lower = below & (rows > cols), below & (cols > rows)
    a = np.concatenate((rows[lower[0]], cols[lower[1]]))
    b = np.concatenate((cols[lower[0]], rows[lower[1]]))
    order = np.array(_order(free, waiting, a.tolist(), b.tolist(), False), dtype=np.int64)
    return Ap, np.ascontiguousarray(keys % n), slot, order


def context_fields(size, entries, matrix, capacity, whole):
    """Return name, type and shape of the arrays that a context holds for a matrix and its factors, dense or sparse.

    The arguments are places of numbers in the context: of the size n, the entries before they are added up, those of
    the matrix, the entries L and U may have, and 3 n.
    """
    real, integer = types.float64, types.int64
    n, own, most = (size, 0), (matrix, 0), (capacity, 0)
    return (
        ("values", real, ((entries, 0),)),
        ("slot", integer, ((entries, 0),)),
        ("matrix", real, (own,)),
        ("right", real, (n,)),
        ("workspace", real, (n,)),
        ("pivots", integer, (n,)),  # of dense factors
        ("order", integer, (n,)),
        ("Ap", integer, ((size, 1),)),
        ("Ai", integer, (own,)),
        ("Lp", integer, ((size, 1),)),
        ("Li", integer, (most,)),
        ("Lx", real, (most,)),
        ("Up", integer, ((size, 1),)),
        ("Ui", integer, (most,)),
        ("Ux", real, (most,)),
        ("pinv", integer, ((whole, 0),)),  # 2 n
        ("stack", integer, ((whole, 0),)),  # 3 n
        ("mark", integer, (n,)),
    )


@kernel
def factorise(again, n, Ap, Ai, Ax, order, Lp, Li, Lx, Up, Ui, Ux, pinv, x, stack, mark):
    """Factorise with the pivots found before (`again`), or with new ones where those are too small.

    Returns the status of `factor`.
    """
    if again and refactor(n, Ap, Ai, Ax, order, Lp, Li, Lx, Up, Ui, Ux, pinv, x):
        return 0
    return factor(n, Ap, Ai, Ax, order, Lp, Li, Lx, Up, Ui, Ux, pinv, x, stack, mark)


@kernel
def factor(n, Ap, Ai, Ax, order, Lp, Li, Lx, Up, Ui, Ux, pinv, x, stack, mark):
    """Find L, U and the pivot rows.

    Entries of U stand before its diagonal in the order in which they are used.

    Row indices of L are those of the matrix until the end, then positions. 0: done, 1: L or U has more entries than fit,
    2: singular. pinv: (2 n) position of a row; the row of a position.
    """
    capacity = Li.shape[0]
    for i in range(n):
        pinv[i] = -1
        x[i] = 0.0
        mark[i] = -1
    lnz, unz = 0, 0
    for k in range(n):
        Lp[k], Up[k] = lnz, unz
        if lnz + n > capacity or unz + n > capacity:
            return 1
        column = order[k]
        # rows reached from the pattern of this column through L, by depth-first search; last ones first
        top = n
        for p in range(Ap[column], Ap[column + 1]):
            start = Ai[p]
            if mark[start] == k:
                continue
            head = 0
            stack[0] = start
            while head >= 0:
                i = stack[head]
                j = pinv[i]
                if mark[i] != k:
                    mark[i] = k
                    stack[2 * n + head] = Lp[j] if j >= 0 else 0
                done = True
                if j >= 0:
                    end = Lp[j + 1]
                    q = stack[2 * n + head]
                    while q < end:
                        r = Li[q]
                        q += 1
                        if mark[r] != k:
                            stack[2 * n + head] = q
                            head += 1
                            stack[head] = r
                            done = False
                            break
                if done:
                    head -= 1
                    top -= 1
                    stack[n + top] = i
        for p in range(top, n):
            x[stack[n + p]] = 0.0
        for p in range(Ap[column], Ap[column + 1]):
            x[Ai[p]] = Ax[p]
        largest, pivot = 0.0, -1
        for p in range(top, n):
            i = stack[n + p]
            j = pinv[i]
            if j >= 0:
                v = x[i]
                Ui[unz] = j
                Ux[unz] = v
                unz += 1
                for q in range(Lp[j], Lp[j + 1]):
                    x[Li[q]] -= Lx[q] * v
            elif abs(x[i]) > largest:
                largest = abs(x[i])
        for p in range(top, n):
            i = stack[n + p]
            if pinv[i] < 0 and abs(x[i]) == largest and pivot < 0:
                pivot = i
        if pivot < 0 or not largest > 0.0:
            return 2
        if mark[column] == k and pinv[column] < 0 and abs(x[column]) >= PREFER * largest:
            pivot = column
        d = x[pivot]
        Ui[unz] = k
        Ux[unz] = d
        unz += 1
        pinv[pivot] = k
        pinv[n + k] = pivot
        for p in range(top, n):
            i = stack[n + p]
            if pinv[i] < 0:
                Li[lnz] = i
                Lx[lnz] = x[i] / d
                lnz += 1
        Lp[k + 1], Up[k + 1] = lnz, unz
    for p in range(lnz):
        Li[p] = pinv[Li[p]]
    return 0


@kernel
def refactor(n, Ap, Ai, Ax, order, Lp, Li, Lx, Up, Ui, Ux, pinv, x):
    """Factorise new values with the same pivots. Returns whether the pivots are still large enough."""
    for k in range(n):
        for p in range(Up[k], Up[k + 1]):
            x[Ui[p]] = 0.0
        for p in range(Lp[k], Lp[k + 1]):
            x[Li[p]] = 0.0
        column = order[k]
        for p in range(Ap[column], Ap[column + 1]):
            x[pinv[Ai[p]]] = Ax[p]
        end = Up[k + 1] - 1
        for p in range(Up[k], end):
            j = Ui[p]
            v = x[j]
            Ux[p] = v
            if v != 0.0:
                for q in range(Lp[j], Lp[j + 1]):
                    x[Li[q]] -= Lx[q] * v
        d = x[k]
        Ux[end] = d
        largest, inverse = 0.0, 1.0 / d
        for p in range(Lp[k], Lp[k + 1]):
            v = x[Li[p]]
            if abs(v) > largest:
                largest = abs(v)
            Lx[p] = v * inverse
        if not abs(d) > KEEP * largest:
            return False
    return True


@kernel
def solve(n, order, Lp, Li, Lx, Up, Ui, Ux, pinv, b, x):
    """Solve with the factors: b <- A^-1 b."""
    for k in range(n):
        x[k] = b[pinv[n + k]]
    for k in range(n):
        v = x[k]
        for p in range(Lp[k], Lp[k + 1]):
            x[Li[p]] -= Lx[p] * v
    for k in range(n - 1, -1, -1):
        end = Up[k + 1] - 1
        v = x[k] / Ux[end]
        x[k] = v
        for p in range(Up[k], end):
            x[Ui[p]] -= Ux[p] * v
    for k in range(n):
        b[order[k]] = x[k]
