"""Constraints on the point of end b only: in a plane or on a line of end a."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..constraint import Constraint
from ..element import structure
from ..fields import make_signals


@dataclass(frozen=True)
class InPlane(Constraint):
    """The point of end b stays in a plane parallel to the x,y plane of end a, at a given distance.

    One holonomic row (Haug's dot-2 of the z axis of end a)::

        f = c_z - distance

    Parameters
    ----------
    distance : signal or number
        Distance of the plane along the z axis of end a [m], of either sign.
    unilateral : bool
        Whether the plane only pushes, along the z axis of end a.

    Examples
    --------
    >>> InPlane(distance=0.2).n_holonomic
    1
    """

    distance: Any = 0.0
    unilateral: bool = structure(default=False)
    n_holonomic = 1

    def __post_init__(self) -> None:
        make_signals(self, "distance")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = offset[2] - self.distance


@dataclass(frozen=True)
class InLine(Constraint):
    """The point of end b stays on the z axis of end a; it slides freely, and end b turns freely.

    Two holonomic rows (Haug's parallel-2), which are also regular where the points coincide::

        f = (c_x, c_y)

    >>> InLine().n_holonomic
    2
    """

    n_holonomic = 2

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = offset[0]
        f[1] = offset[1]
