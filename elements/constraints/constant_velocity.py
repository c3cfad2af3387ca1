"""Constant velocity (homokinetic) joint: shafts that meet at an angle turn at equal speed."""

from dataclasses import dataclass

from treemech.topology.arrays import Floats

from ..constraint import Constraint


@dataclass(frozen=True)
class ConstantVelocity(Constraint):
    """Two shafts meet in one point at any angle and turn by equal angles; they are the z axes of the ends.

    Four holonomic rows: the points coincide, and the turn from end a to end b is a pure bend about an axis
    perpendicular to the shafts (the bisecting plane of a Rzeppa or tripod joint)::

        f = (c_x, c_y, c_z, (C_yx - C_xy) / 2)

    The rows are regular for bends of less than half a turn.

    >>> ConstantVelocity().n_holonomic
    4
    """

    n_holonomic = 4

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = offset[0]
        f[1] = offset[1]
        f[2] = offset[2]
        f[3] = 0.5 * (rotation[1, 0] - rotation[0, 1])
