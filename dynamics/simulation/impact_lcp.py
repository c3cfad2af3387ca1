"""Impact of several gaps at one instant, with Newton's restitution: a linear complementarity problem.

With the rates v of the gaps, W = J A^-1 J^T on the motions that the constraints allow, and impulses L that
only push::

    v+ = v + W L      v+ + e v >= 0      L >= 0      L (v+ + e v) = 0

A gap gets no impulse if the impulse of another one opens it faster than its own restitution. As every v is
negative, the kinetic energy changes by the sum of (1 - e) v L / 2: it never grows, whatever the restitutions.
"""

from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats

_SWEEPS = 20_000
_CONVERGED = 1e-15  # largest change of an impulse in a sweep, relative to the largest impulse


class ImpactSolution(NamedTuple):
    """Impulses of the gaps, and what their rates afterwards lack."""

    impulses: Floats
    missing: Floats


def solve_impact(W: Floats, rate: Floats, restitution: Floats) -> ImpactSolution:
    """Return the impulses at closing rates (negative).

    Projected Gauss-Seidel sweeps find those that push, which are then solved exactly.

    >>> solve_impact(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-3.0, -3.0]), np.ones(2)).impulses.round(12).tolist()
    [2.0, 2.0]
    """
    wanted = -(1.0 + restitution) * rate
    L = np.zeros(len(rate))
    movable = np.flatnonzero(np.diag(W) > 1e-12 * np.max(np.diag(W), initial=1e-300))
    for _ in range(_SWEEPS):
        before = L.copy()
        for k in movable:
            L[k] = max(0.0, L[k] + (wanted[k] - W[k] @ L) / W[k, k])
        if np.max(np.abs(L - before), initial=0.0) <= _CONVERGED * np.max(L, initial=0.0):
            break
    pushing = L > 0.0
    exact = np.zeros(len(L))
    exact[pushing] = np.linalg.lstsq(W[np.ix_(pushing, pushing)], wanted[pushing], rcond=1e-12)[0]
    sized = 1e-12 * np.max(L, initial=0.0)
    if np.all(exact >= -sized) and np.max(wanted - W @ exact, initial=0.0) <= np.max(
        wanted - W @ L, initial=0.0
    ):
        L = np.maximum(exact, 0.0)
    return ImpactSolution(L, np.maximum(wanted - W @ L, 0.0))
