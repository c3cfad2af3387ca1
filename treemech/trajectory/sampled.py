"""Signals and functions of a run at the points of a trajectory, with derivatives by differences of whole runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from ..analyses.evaluation import results_of_states
from ..plots.signals import signals
from ..results.run import Run
from .points import Points

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_NODES, _WEIGHTS = (-2.0, -1.0, 1.0, 2.0), np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
_STEP = 2e-3


class Sampled:
    """A number at every point, by the name of a signal or a function of a Run that returns one number for every time."""

    def __init__(self, points: Points, what: str | Callable[[Run], Any], where: str) -> None:
        self.points, self.what, self.where = points, what, where

    def values(self, t: Floats, Z: Floats) -> Floats:
        """Return the numbers (points,)."""
        run = run_of(self.points, t, Z)
        if callable(self.what):
            found = np.asarray(self.what(run), dtype=np.float64)
            found = np.full(len(t), float(found)) if found.ndim == 0 else found
        else:
            several = signals(run, self.what)
            if len(several) != 1:
                raise ElementError(
                    f"{self.where}: {self.what!r} stands for {len(several)} numbers: add a place, '{self.what}[0]'."
                )
            found = several[0].values
        if found.shape != t.shape:
            raise ElementError(
                f"{self.where}: the function gives shape {found.shape}; wanted one number for each of {len(t)} times."
            )
        return found

    def gradient(self, t: Floats, Z: Floats) -> Floats:
        """Return the derivatives (points, nz): differences of fourth order."""
        found = np.zeros_like(Z)
        for k in range(Z.shape[1]):
            h = _STEP * np.maximum(1.0, np.abs(Z[:, k]))
            for node, weight in zip(_NODES, _WEIGHTS, strict=True):
                moved = Z.copy()
                moved[:, k] += node * h
                found[:, k] += weight / h * self.values(t, moved)
        return found

    def hessian(self, t: Floats, Z: Floats) -> Floats:
        """Return the second derivatives (points, nz, nz)."""
        found, n = np.zeros((*Z.shape, Z.shape[1])), Z.shape[1]
        h, here = _STEP * np.maximum(1.0, np.abs(Z)), self.values(t, Z)

        def beside(*moves: tuple[int, float]) -> Floats:
            moved = Z.copy()
            for k, sign in moves:
                moved[:, k] += sign * h[:, k]
            return self.values(t, moved)

        for k in range(n):
            found[:, k, k] = (beside((k, 1.0)) - 2.0 * here + beside((k, -1.0))) / h[:, k] ** 2
            for j in range(k):
                corners = [a * b * beside((k, a), (j, b)) for a in (1.0, -1.0) for b in (1.0, -1.0)]
                found[:, k, j] = found[:, j, k] = sum(corners) / (4.0 * h[:, k] * h[:, j])
        return found


def run_of(points: Points, t: Floats, Z: Floats, mech: "Mechanism | None" = None) -> Run:
    """Return a run through points, which need not be a motion."""
    own, n, core = mech or points.mech, points.n, points.core
    z = np.tile(core.layout.efforts.start, (len(t), 1))[:, : core.nz]
    z[:, : points.nx] = Z[:, 2 * n : points.ny]
    z[:, points.places] = Z[:, points.ny :]
    q, u = np.ascontiguousarray(Z[:, :n]), np.ascontiguousarray(Z[:, n : 2 * n])
    return Run(
        own._info, t, q, u, True, "", "trajectory", None, lambda t, q, u, *_: results_of_states(own, t, q, u, None, z), z=z,
        measures=own._wiring.measures, core=lambda: own._core,
    )  # fmt: skip
