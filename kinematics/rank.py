"""Rank of constraint rows (8.2): independent rows, the rates they allow, speeds that determine all others."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats

_RANK = 1e-6  # singular values below this part of the largest count as zero
_EQUAL = (
    1e-9  # norms that differ by less count as equal, because rounding in the BLAS would decide between them
)


def rank(P: Floats, largest: float = 0.0, noise: float = 0.0) -> int:
    """Count independent rows (8.2) by singular values relative to the largest, or to a given one.

    Singular values up to `noise` count as zero.
    """
    if not P.size:
        return 0
    s = np.linalg.svd(P, compute_uv=False)
    return int(np.sum(s > max(_RANK * max(float(s[0]), largest, 1e-300), noise)))


def null_space(P: Floats) -> Floats:
    """Return orthonormal columns that span the rates P allows (nu, nu - rank)."""
    n = P.shape[1]
    return np.asarray(np.linalg.svd(P)[2][rank(P) :].T) if P.size else np.eye(n)


def allowed(P: Floats, free: NDArray[np.bool_]) -> Floats:
    """Return orthonormal columns that span the rates P allows if only the free speeds move."""
    N = np.zeros((len(free), 0))
    if np.any(free):
        inner = null_space(P[:, free])
        N = np.zeros((len(free), inner.shape[1]))
        N[free] = inner
    return N


def pivoted(rows: Floats) -> list[int]:
    """Order row numbers by a pivoted Gram-Schmidt: independent rows first, and the first of equal rows.

    >>> pivoted(np.array([[1.0, 1.0 - 1e-15], [1.0, 1.0], [0.0, 0.1]]))
    [0, 2, 1]
    """
    left = np.array(rows)
    order: list[int] = []
    for _ in range(len(rows)):
        norms = np.linalg.norm(left, axis=1)
        norms[order] = -1.0
        k = int(np.argmax(norms >= (1.0 - _EQUAL) * np.max(norms)))
        order.append(k)
        if norms[k] > 0.0:
            e = left[k] / norms[k]
            left = left - np.outer(left @ e, e)
    return order


def complete(N: Floats, chosen: list[int]) -> list[int]:
    """Return the speeds that with the chosen ones determine all rates in the null space N, best first."""
    own = N[chosen]
    left = N - N @ np.linalg.pinv(own, rcond=_RANK) @ own if own.size else N
    return pivoted(left)[: N.shape[1] - rank(own, 1.0)]


def preferring(N: Floats, wanted: Iterable[int]) -> list[int]:
    """Return speeds that determine all rates in the null space N: the wanted ones as far as they are independent, then the best.

    >>> preferring(np.array([[1.0], [1.0], [0.0]]), [2, 1, 0])
    [1]
    """
    chosen: list[int] = []
    for k in wanted:
        if k not in chosen and rank(N[[*chosen, k]], 1.0) > len(chosen):
            chosen.append(k)
    return [*chosen, *complete(N, chosen)]
