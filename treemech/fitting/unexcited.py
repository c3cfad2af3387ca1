"""Unknowns that nothing measured decides return to where they started, as far as bodies stay physical.

Along directions N in which no prediction changes, the unknowns x = values + N a minimise::

    sum over bodies [tr(P0^-1 P) - log det P]  +  1/2 sum over other unknowns ((x - x0) / size)^2

The first part is the divergence of a mass distribution from the one at the start (Lee, Wensing, Park 2020). It is convex, zero
slope at P = P0, and infinite where a body ceases to be physical.
"""

import numpy as np

from treemech.topology.arrays import Floats

from .inertia import from_theta, pseudo_inertia, to_theta
from .unknowns import Unknowns

_STEPS = 60  # of Newton's method; it needs about ten
_DONE = 1e-12  # fall of the divergence, by the quadratic model, below which it ends


class _Body:
    """The pseudo-inertia of one body and the divergence from its start."""

    def __init__(self, unknowns: Unknowns, places: list[int], values: Floats, N: Floats) -> None:
        start = from_theta(to_theta(unknowns.start[places]))[
            0
        ]  # a thin body is thickened there, as in the search
        self.wanted = np.linalg.inv(pseudo_inertia(start))
        self.P, self.by = pseudo_inertia(values[places]), [pseudo_inertia(n) for n in N[places].T]

    def at(self, a: Floats) -> Floats:
        """Return P."""
        return np.asarray(self.P + np.tensordot(a, self.by, axes=1))

    def divergence(self, a: Floats) -> float:
        """Return tr(P0^-1 P) - log det P; inf for a body that cannot exist."""
        P = self.at(a)
        try:
            L = np.linalg.cholesky(P)
        except np.linalg.LinAlgError:
            return np.inf
        return float(np.sum(self.wanted * P) - 2.0 * np.sum(np.log(np.diag(L))))

    def slopes(self, a: Floats) -> tuple[Floats, Floats]:
        """Return its gradient and Hessian."""
        K = np.linalg.inv(self.at(a))
        turned = [K @ by for by in self.by]
        gradient = [float(np.sum((self.wanted - K) * by)) for by in self.by]
        return np.array(gradient), np.array([[np.sum(x * y.T) for y in turned] for x in turned])


def nearest_to_start(unknowns: Unknowns, values: Floats, N: Floats) -> Floats:
    """Return values + N a next to the start values, within the bounds."""
    if not N.size:
        return values
    bodies = [_Body(unknowns, group.places, values, N) for group in unknowns.groups]
    others = np.setdiff1d(np.arange(len(values)), unknowns.in_groups)
    M = N[others] / unknowns.scales(unknowns.start)[others, None]
    gap = (values - unknowns.start)[others] / unknowns.scales(unknowns.start)[others]

    def size(a: Floats) -> float:
        x = values + N @ a
        if np.any(x < unknowns.lower) or np.any(x > unknowns.upper):
            return np.inf
        return 0.5 * float(np.sum((gap + M @ a) ** 2)) + sum(body.divergence(a) for body in bodies)

    a, here = np.zeros(N.shape[1]), size(np.zeros(N.shape[1]))
    for _ in range(_STEPS):
        g, H = M.T @ (gap + M @ a), M.T @ M
        for body in bodies:
            own, curved = body.slopes(a)
            g, H = g + own, H + curved
        step = -np.linalg.lstsq(H, g, rcond=1e-14)[0]
        fall, part = float(-g @ step), 1.0
        while part > 1e-12 and not size(a + part * step) <= here - 0.1 * part * fall:
            part *= 0.5
        if fall < _DONE or part <= 1e-12:
            break
        a = a + part * step
        here = size(a)
    return values + N @ a
