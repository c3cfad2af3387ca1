"""Point on a space curve, without own coordinates: a pin in a slot, a bead on a wire (Haug 3.4.3)."""

from dataclasses import dataclass, field
from math import floor
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats

from ..constraint import Constraint
from ..element import structure
from ..hinges.curve import Curve, polynomial


@dataclass(frozen=True, eq=False)
class PointOnCurve(Constraint):
    """The point of end b stays on a spline through given points of end a; end b turns freely.

    Two net holonomic rows. The parameter s on the curve is an auxiliary unknown, so there are three
    equations::

        f = c - r(s)

    Beyond its ends an open curve continues with its last polynomial piece; a closed curve repeats. (The hinge
    Curve also turns with the curve.)

    Parameters
    ----------
    points : array (n, 3)
        Points of the curve in the base of end a [m].
    parameters : array (n,), optional
        Values of s at the points, increasing (n + 1 of them if closed); by default the length of the polygon.
    degree : 5 or 3
        Degree of the spline.
    closed : bool
        Whether the first point follows the last (give it once).
    start : float, optional
        First guess of s, the place on the curve; by default at the first point.

    Examples
    --------
    >>> PointOnCurve([(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 1)], degree=3).n_auxiliary
    1
    """

    points: Any = structure()
    parameters: Any = structure(default=None)
    degree: int = structure(default=5)
    closed: bool = False
    start: float | None = structure(default=None)
    breaks: Any = field(default=None, init=False, repr=False)
    table: Any = field(default=None, init=False, repr=False)
    n_holonomic = 2
    n_auxiliary = 1

    @classmethod
    def example(cls) -> "PointOnCurve":
        return cls([(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 1), (4, 0, 1), (5, 0, 0)])

    def __post_init__(self) -> None:
        curve = Curve(self.points, self.parameters, self.degree, self.closed)
        object.__setattr__(self, "breaks", curve.breaks)
        object.__setattr__(self, "table", curve.table)

    def auxiliary(self) -> Floats:
        return np.array([self.breaks[0] if self.start is None else self.start], dtype=np.float64)

    def sample(self, rng: "np.random.Generator", t: float) -> tuple[Floats, Floats, Floats]:
        offset, rotation, _ = super().sample(rng, t)
        return offset, rotation, rng.uniform(self.breaks[:1], self.breaks[-1:])

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        x, y, z = curve_point(self.breaks, self.table, self.closed, s[0])
        f[0] = offset[0] - x
        f[1] = offset[1] - y
        f[2] = offset[2] - z


def curve_point(breaks, table, closed, s):  # type: ignore[no-untyped-def]
    """Return the point at s of a tabulated curve; s may be a jet."""
    n = len(breaks) - 1
    x = s
    if closed > 0.5:
        period = breaks[n] - breaks[0]
        x = x - period * floor((x - breaks[0]) / period)
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if breaks[middle] <= x:
            low = middle
        else:
            high = middle
    return polynomial(table, low, 0, x - breaks[low], 0)
