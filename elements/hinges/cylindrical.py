"""Cylindrical hinge: turn about and slide along one axis."""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

from treemech.topology.arrays import Floats

from ..hinge import AxialHinge, Motion, axis_field


@dataclass(frozen=True)
class Cylindrical(AxialHinge):
    """Turn about and slide along one line, independently.

    Two coordinates: the angle q0 [rad] and the displacement q1 [m]. About z::

        c = (0, 0, q1)        C = rotation by q0 about z          (3.3.23)
        w_0 = (0, 0, 1)       v_1 = (0, 0, 1)

    >>> Cylindrical().motion(q=[0.1, 0.3]).offset.tolist()
    [0.0, 0.0, 0.3]
    """

    axis: Any = axis_field()
    n_coordinates = 2

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        motion.offset[2] = q[1]
        motion.rotation[0, 0] = cos(q[0])
        motion.rotation[0, 1] = -sin(q[0])
        motion.rotation[1, 0] = sin(q[0])
        motion.rotation[1, 1] = cos(q[0])
        motion.rotation_partials[0, 2] = 1.0
        motion.translation_partials[1, 2] = 1.0
