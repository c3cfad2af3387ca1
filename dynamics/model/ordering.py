"""Order in which the unknowns of the augmented equations are eliminated, and the fill that it causes.

The matrix [A P^T; P -e] of (6.3.4), (6.3.5) keeps its pattern, so everything that depends on the pattern
alone is found once per model: a minimum-degree order, the place of each value, and the columns of L.

Without pivoting the order must also keep the pivots away from zero. Here a multiplier is eliminated after
*all* its coordinates. At any point the eliminated unknowns are then some coordinates and only complete rows.
A is positive definite, so the pivot of a multiplier is zero only if its row depends on earlier rows. If a
multiplier waited for a single coordinate, two rows that share this coordinate would give an exact zero, and
so would a row whose entry there vanishes during the motion.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Ints


@dataclass(frozen=True)
class Pattern:
    """Order and pattern of a symmetric matrix of n coordinates, then m multipliers (size = n + m).

    Positions follow the order of elimination, indices are those of the caller.

    Parameters
    ----------
    n, m : int
    perm, inverse : (size,)
        Index at a position; position of an index.
    Ap, Ai : (size + 1,), (nnz of the upper half,)
        Upper columns of the permuted matrix, rows ascending; the diagonal comes last in its column.
    slot : (number of entries,)
        Place in the values Ax of the columns to which each value of the caller is added.
    diagonal : (size,)
        Place of the diagonal of each index in Ax.
    Lp, Li : (size + 1,), (nnz,)
        Columns of L (strictly below its unit diagonal), rows ascending.
    Rp, Ri, Rs : (size + 1,), (nnz,), (nnz,)
        Rows of L, columns ascending, and the place of each entry in the columns.
    """

    n: int
    m: int
    perm: Ints
    inverse: Ints
    Ap: Ints
    Ai: Ints
    slot: Ints
    diagonal: Ints
    Lp: Ints
    Li: Ints
    Rp: Ints
    Ri: Ints
    Rs: Ints

    @property
    def size(self) -> int:
        return self.n + self.m

    @property
    def nnz(self) -> int:
        """Number of entries of L below its diagonal."""
        return int(self.Lp[-1])


def analyse(n: int, m: int, rows: ArrayLike, cols: ArrayLike, *, early: bool = False) -> Pattern:
    """Find order and pattern for the entries (rows, cols) of the lower half, in the order of their values.

    Entries of A lie among 0..n-1, those of P have row n + r and a column below n; entries given twice add up.
    The pattern always includes the diagonal. With `early` a multiplier waits for only one of its coordinates:
    less fill, but a pivot may vanish although the rows are independent.

    Examples
    --------
    Two coordinates and one row that ties them:

    >>> pattern = analyse(2, 1, [0, 1, 2, 2], [0, 1, 0, 1])
    >>> pattern.perm.tolist(), pattern.nnz
    ([0, 1, 2], 2)
    """
    size = n + m
    row = np.asarray(rows, dtype=np.int64).ravel()
    col = np.asarray(cols, dtype=np.int64).ravel()
    if row.shape != col.shape:
        raise ValueError(f"{len(row)} rows for {len(col)} columns; wanted one of each per entry.")
    if len(row) and (min(row.min(), col.min()) < 0 or row.max() >= size or col.max() >= n):
        raise ValueError(f"entries reach beyond {size} rows and {n} columns, or below 0.")
    perm = np.array(_order(n, m, row.tolist(), col.tolist(), early), dtype=np.int64)
    inverse = np.empty(size, dtype=np.int64)
    inverse[perm] = every = np.arange(size, dtype=np.int64)

    a, b = inverse[row], inverse[col]
    key = np.maximum(a, b) * size + np.minimum(a, b)
    keys = np.union1d(key, every * (size + 1))
    Ap = np.searchsorted(keys, np.arange(size + 1, dtype=np.int64) * size).astype(np.int64)
    Ai = keys % size if size else keys
    slot = np.searchsorted(keys, key).astype(np.int64)
    diagonal = np.ascontiguousarray((Ap[1:] - 1)[inverse])
    return Pattern(n, m, perm, inverse, Ap, Ai, slot, diagonal, *_factor(Ap.tolist(), Ai.tolist()))


def _order(n: int, m: int, rows: list[int], cols: list[int], early: bool) -> list[int]:
    """Order by minimum degree on the quotient graph, with bounds for the degrees instead of counts.

    An eliminated index remains as an element: the set of indices that it connects. Connections through an
    element are not stored as edges, so the work is proportional to the entries of L, not to its fill steps.
    P. R. Amestoy, T. A. Davis, I. S. Duff, SIAM J. Matrix Anal. Appl. 17 (1996) 886.
    """
    size = n + m
    edges: list[set[int]] = [set() for _ in range(size)]
    for r, c in zip(rows, cols):
        if r != c:
            edges[r].add(c)
            edges[c].add(r)
    tied_by: list[set[int]] = [set() for _ in range(size)]  # elements next to an index
    element: dict[int, set[int]] = {}
    # Edges within an element are dropped below, so the coordinates that a multiplier waits for are noted here
    waiting = [[i for i in e if i >= n] for e in edges[:n]]
    waits_for = [0] * n + [min(len(e), 1) if early else len(e) for e in edges[n:]]
    degree = [len(e) for e in edges]
    heap = [(degree[i], i) for i in range(n)]
    heapq.heapify(heap)
    done = [False] * size
    order: list[int] = []
    while heap:
        d, k = heapq.heappop(heap)
        if done[k] or d != degree[k]:
            continue
        done[k] = True
        order.append(k)
        front = edges[k].union(*[element.pop(e) for e in tied_by[k]])
        front.discard(k)
        for i in front:
            tied_by[i] -= tied_by[k]
        for i in waiting[k] if k < n else ():
            waits_for[i] -= 1
        # Number of indices that each older element connects besides those of the new one
        beyond: dict[int, int] = {}
        for i in front:
            for e in tied_by[i]:
                beyond[e] = beyond.get(e, len(element[e])) - 1
        for e, number in beyond.items():
            if number == 0:
                del element[e]
        left = size - len(order) - 1
        for i in front:
            edges[i] = edges[i] - front
            edges[i].discard(k)
            tied_by[i] = {e for e in tied_by[i] if beyond[e]}
            bound = len(edges[i]) + len(front) - 1 + sum(beyond[e] for e in tied_by[i])
            degree[i] = min(left, degree[i] + len(front) - 1, bound)
            tied_by[i].add(k)
            if waits_for[i] <= 0:
                heapq.heappush(heap, (degree[i], i))
        element[k] = front
        edges[k] = tied_by[k] = set()
    return order + [i for i in range(n, size) if not done[i]]  # rows without an entry


def _factor(Ap: list[int], Ai: list[int]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return columns (Lp, Li) and rows (Rp, Ri, Rs) of L, by its elimination tree.

    J. W. H. Liu; T. A. Davis, LDL.
    """
    size = len(Ap) - 1
    parent, seen = [-1] * size, [-1] * size
    rows: list[list[int]] = []
    for k in range(size):
        seen[k], row = k, []
        for p in range(Ap[k], Ap[k + 1]):
            i = Ai[p]
            while seen[i] != k:
                if parent[i] < 0:
                    parent[i] = k
                row.append(i)
                seen[i] = k
                i = parent[i]
        rows.append(sorted(row))
    Rp = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
    Ri = np.array([i for row in rows for i in row], dtype=np.int64)
    Lp = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(Ri, minlength=size), out=Lp[1:])
    Rs = np.argsort(np.argsort(Ri, kind="stable"), kind="stable").astype(np.int64)
    Li = np.zeros(len(Ri), dtype=np.int64)
    Li[Rs] = np.repeat(np.arange(size, dtype=np.int64), np.diff(Rp))
    return Lp, Li, Rp, Ri, Rs
