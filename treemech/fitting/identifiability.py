"""What measurements can tell: covariance, and combinations of unknowns that cannot be told apart, by name.

The singular value decomposition of the weighted derivatives W D (D: the size of every unknown) finds
directions in which the predictions do not change. A reduced echelon form of these directions has readable
members: an unknown that moves nothing, or two that only count together (base parameters, Gautier 1991).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats

STRUCTURAL = (
    1e-7  # singular values below this part of the largest: the derivatives cannot tell them from zero
)
_SMALL = 1e-4  # coefficients below this part of the largest are not named


class Combination(NamedTuple):
    """A direction in which nothing measured changes: changes of unknowns by name, in their units."""

    changes: dict[str, float]

    def __str__(self) -> str:
        if len(self.changes) == 1:
            return f"{next(iter(self.changes))} moves nothing that was measured"
        return (
            ", ".join(f"{name} {x:+.4g}" for name, x in self.changes.items())
            + ": together they move nothing that was measured"
        )


class Identifiability(NamedTuple):
    """Covariance of the unknowns, singular values, and what cannot be told apart."""

    covariance: Floats  # inf on the diagonal of unknowns that are not determined
    singular_values: Floats
    combinations: list[Combination]
    determined: Floats  # bool (n,)


def identify(W: Floats, meat: Floats, names: list[str], scales: Floats) -> Identifiability:
    """Return what weighted derivatives W (residuals, unknowns) tell about the unknowns.

    `meat` is the covariance of W^T r, W^T W for residuals of unit variance.
    """
    V, values, known = _directions(W, scales)
    inverse = (V[:, known] / values[known] ** 2) @ V[:, known].T
    covariance = inverse @ (meat * np.outer(scales, scales)) @ inverse
    null = V[:, ~known]
    determined = np.linalg.norm(null, axis=1) < 1e-3 if null.size else np.ones(len(names), dtype=bool)
    covariance = covariance * np.outer(scales, scales)
    for k in np.flatnonzero(~determined):
        covariance[k, :] = covariance[:, k] = np.nan
        covariance[k, k] = np.inf
    return Identifiability(covariance, values, _combinations(null, names, scales), determined)


def unseen(W: Floats, scales: Floats) -> Floats:
    """Return directions (n, k) of the unknowns, in their units, in which nothing measured changes."""
    V, _, known = _directions(W, scales)
    return scales[:, None] * V[:, ~known]


def _directions(W: Floats, scales: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return directions of the scaled unknowns as columns, their singular values, and which of them are seen."""
    n = len(scales)
    R = np.linalg.qr(W * scales, mode="r") if len(W) > n else W * scales
    _, values, Vt = np.linalg.svd(np.vstack((R, np.zeros((max(n - len(R), 0), n)))))
    return Vt.T, values, values > STRUCTURAL * max(float(values[0]), 1e-300)


def _combinations(null: Floats, names: list[str], scales: Floats) -> list[Combination]:
    """Return readable directions that span the columns of `null`: the reduced echelon form, largest pivots first."""
    rows, found = null.T.copy(), []
    pivots: list[int] = []
    for k in range(len(rows)):
        left = np.abs(rows[k:])
        left[:, pivots] = 0.0
        j = int(np.argmax(np.max(left, axis=0)))
        best = k + int(np.argmax(left[:, j]))
        rows[[k, best]] = rows[[best, k]]
        rows[k] /= rows[k, j]
        for i in range(len(rows)):
            if i != k:
                rows[i] -= rows[i, j] * rows[k]
        pivots.append(j)
    for row, pivot in zip(rows, pivots, strict=True):
        size = np.abs(row)
        order = [
            pivot,
            *(j for j in np.argsort(-size, kind="stable") if j != pivot and size[j] > _SMALL * size.max()),
        ]
        change = row * scales / scales[pivot]
        found.append(Combination({names[j]: float(change[j]) for j in order}))
    return sorted(found, key=lambda c: (len(c.changes), list(c.changes)))
