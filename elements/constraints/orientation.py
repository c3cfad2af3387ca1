"""Constraints on the orientation only: parallel axes, perpendicular axes, no rotation."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..constraint import Constraint
from ..fields import make_directions


@dataclass(frozen=True)
class Parallel(Constraint):
    """The z axes of the two ends stay parallel, or antiparallel if they start so.

    Two holonomic rows: the z axis of end b has no x and y component in the base of end a (Haug's parallel-1).
    The rows are regular in both positions::

        f = (C_xz, C_yz)

    >>> Parallel().n_holonomic
    2
    """

    n_holonomic = 2

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = rotation[0, 2]
        f[1] = rotation[1, 2]


@dataclass(frozen=True, eq=False)
class Perpendicular(Constraint):
    """A direction of end a and a direction of end b stay perpendicular.

    One holonomic row (Haug's dot-1)::

        f = e_a . C e_b

    Parameters
    ----------
    axis_a, axis_b : "x", "y", "z" or vector
        The directions, each in the base of its own end.

    Examples
    --------
    >>> Perpendicular("z", (1, 1, 0)).axis_b.round(3).tolist()
    [0.707, 0.707, 0.0]
    """

    axis_a: Any = "z"
    axis_b: Any = "z"
    n_holonomic = 1

    def __post_init__(self) -> None:
        make_directions(self, "axis_a", "axis_b")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        for i in range(3):
            for j in range(3):
                f[0] += self.axis_a[i] * rotation[i, j] * self.axis_b[j]


@dataclass(frozen=True)
class AtRotation(Constraint):
    """End b does not turn relative to end a: C = 1. The point of end b is free.

    Three holonomic rows, the Rodrigues vector of the rotation, tan(angle / 2) times its axis::

        f = (C_zy - C_yz, C_xz - C_zx, C_yx - C_xy) / (1 + trace C)

    They vanish only for C = 1. (The plain axial part also vanishes after half a turn, which would be a false
    solution.) At exactly half a turn f does not exist: assemble from another guess.

    >>> AtRotation().n_holonomic
    3
    """

    n_holonomic = 3

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0], f[1], f[2] = turn_gap(rotation, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def turn_gap(C, x, y, z):  # type: ignore[no-untyped-def]
    """Return the Rodrigues vector of the rotation from R to C; x, y, z are the rows of R."""
    scale = 1.0 / (1.0 + along(C, 0, x) + along(C, 1, y) + along(C, 2, z))
    return (
        (along(C, 2, y) - along(C, 1, z)) * scale,
        (along(C, 0, z) - along(C, 2, x)) * scale,
        (along(C, 1, x) - along(C, 0, y)) * scale,
    )


def along(C, i, r):  # type: ignore[no-untyped-def]
    """Return the dot product of row i of C and the row r: an entry of C R^T."""
    return C[i, 0] * r[0] + C[i, 1] * r[1] + C[i, 2] * r[2]
