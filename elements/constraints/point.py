"""Constraints on the point of end b only: in a plane or on a line of end a."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats

from ..constraint import Constraint
from ..element import structure
from ..fields import make_signals
from ..hinge import axis_base


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


@dataclass(frozen=True, eq=False)
class InLine(Constraint):
    """The point of end b stays on an axis through the point of end a; it slides freely, and end b turns freely.

    Two holonomic rows (Haug's parallel-2), which are also regular where the points coincide; e_1 and e_2 are
    perpendicular to the axis::

        f = (e_1 . c, e_2 . c)          (c_x, c_y) for the z axis

    Parameters
    ----------
    axis : "x", "y", "z" or vector
        Direction of the line, in the base of end a.

    Examples
    --------
    >>> InLine().n_holonomic, InLine("x").across.tolist()
    (2, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """

    axis: Any = structure(default="z")
    across: Any = field(default=None, init=False, repr=False)
    n_holonomic = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "across", np.ascontiguousarray(axis_base(self.axis, "InLine").T[:2]))

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        for i in range(2):
            for j in range(3):
                f[i] += self.across[i, j] * offset[j]
