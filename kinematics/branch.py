"""Follow closed positions from one design to others, so that they stay on their branch.

The numbers of a design go straight from those of the first one, p(s) = p0 + s (p1 - p0). From a closed position at s a step leads
to the one at s + h that Newton's method finds there: it is on the same branch if every correction is a small part of the one
before, for then no other position is as near. Otherwise the step is halved. A way that cannot go on has come to a
singular position, or to designs that do not close.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats

from .layout.lagrange import Lagrange

_PART = 0.25  # of a correction the next one may have
_FARTHEST = 0.5  # [rad, m] a first correction may lead
_SHORTEST = 2.0**-10  # part of the way
_CORRECTIONS = 10
_THERE = 1e-8  # correction that ends them
_CLOSED = 1e-6  # residual then, relative to the partials

Mask = NDArray[np.bool_]
# positions (B, nq), which ways these are (B,), how far on them (B,) -> residuals (B, m), partials (B, m, nu) of what is free; nan
# where a design is refused. What is held in the positions is brought up to date.
Evaluate = Callable[[Floats, NDArray[np.int64], Floats], tuple[Floats, Floats]]


class Followed(NamedTuple):
    """Positions at the ends of ways, or as far as they go."""

    q: Floats
    reached: Floats  # part of the way; 1 at its end


def follow(lagrange: Lagrange, q: Floats, evaluate: Evaluate) -> Followed:
    """Follow closed positions (B, nq), each along its own way."""
    q, reached, step = q.copy(), np.zeros(len(q)), np.ones(len(q))
    while True:
        going = np.flatnonzero((reached < 1.0) & (step >= _SHORTEST))
        if not len(going):
            return Followed(q, reached)
        s = np.minimum(reached[going] + step[going], 1.0)
        there, near = _corrected(lagrange, q[going], going, s, evaluate)
        kept = going[near]
        q[kept], reached[kept] = there[near], s[near]
        step[kept] *= 2.0
        step[going[~near]] *= 0.5


def _corrected(
    lagrange: Lagrange, q: Floats, which: NDArray[np.int64], s: Floats, evaluate: Evaluate
) -> tuple[Floats, Mask]:
    """Return positions that close the chains at s, and which of them are next to q."""
    near, before = np.ones(len(q), dtype=bool), np.full(len(q), np.inf)
    there = np.zeros(len(q), dtype=bool)
    for k in range(_CORRECTIONS):
        left = np.flatnonzero(near & ~there)
        if not len(left):
            break
        own = q[left]
        residual, P = evaluate(own, which[left], s[left])
        step = -least(P, residual)
        size = np.linalg.norm(step, axis=1)
        with np.errstate(invalid="ignore"):
            if k == 0:
                fine = np.abs(step).max(axis=1, initial=0.0) <= _FARTHEST
            else:
                fine = size <= np.maximum(_PART * before[left], _THERE)
            largest = 1.0 + np.abs(P).max(axis=(1, 2), initial=0.0)
            there[left] = (
                fine & (size <= _THERE) & (np.abs(residual).max(axis=1, initial=0.0) <= _CLOSED * largest)
            )
        near[left], before[left] = fine, size
        q[left] = np.where(fine[:, None], moved(lagrange, own, np.where(fine[:, None], step, 0.0)), own)
    return q, near & there


def least(P: Floats, gaps: Floats) -> Floats:
    """Return the least solutions x of P x = gaps; rows with numbers that are not finite get nan."""
    bad = np.asarray(~(np.isfinite(P).all(axis=(1, 2)) & np.isfinite(gaps).all(axis=1)))
    if bad.any():
        P, gaps = np.where(bad[:, None, None], 0.0, P), np.where(bad[:, None], np.nan, gaps)
    U, s, V = np.linalg.svd(P, full_matrices=False)
    counts = s > 1e-10 * s[:, :1]
    along = np.einsum("bij,bi->bj", U, gaps) * np.where(counts, 1.0 / np.where(counts, s, 1.0), 0.0)
    return np.asarray(np.einsum("bj,bjk->bk", along, V))


def moved(lagrange: Lagrange, q: Floats, step: Floats) -> Floats:
    """Return the coordinates of many rows after small motions (`manifold.move`)."""
    found, places = q.copy(), lagrange.places
    found[:, places.q] += step[:, places.u]
    for i, j in places.attitudes:
        w = step[:, j : j + 3]
        angle = np.sqrt((w * w).sum(axis=1))
        a = np.cos(0.5 * angle)
        w = w * np.where(angle > 0.0, np.sin(0.5 * angle) / np.where(angle > 0.0, angle, 1.0), 0.5)[:, None]
        e0, e = q[:, i], q[:, i + 1 : i + 4]
        found[:, i] = a * e0 - (w * e).sum(axis=1)
        found[:, i + 1 : i + 4] = a[:, None] * e + e0[:, None] * w + np.cross(w, e)
    return found
