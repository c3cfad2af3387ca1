"""Revolute hinge (pin joint): rotation about one axis."""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

from treemech.topology.arrays import Floats

from ..hinge import AxialHinge, Motion, axis_field


@dataclass(frozen=True)
class Revolute(AxialHinge):
    """Turn about one line, fixed in both end bases.

    One coordinate q, the angle [rad]. About z::

        c = 0      C = rotation by q about z          (3.3.23)
        v = 0      w = (0, 0, 1)                      (3.3.28)

    Parameters
    ----------
    axis : "x", "y", "z" or a vector
        Direction of the line in both end bases.

    Examples
    --------
    >>> Revolute("y").motion(q=[0.3]).rotation_partials.tolist()  # in the base of the axis
    [[0.0, 0.0, 1.0]]
    """

    axis: Any = axis_field()
    n_coordinates = 1

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        motion.rotation[0, 0] = cos(q[0])
        motion.rotation[0, 1] = -sin(q[0])
        motion.rotation[1, 0] = sin(q[0])
        motion.rotation[1, 1] = cos(q[0])
        motion.rotation_partials[0, 2] = 1.0
