"""Planar hinge: two displacements in a plane and a turn about its normal."""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

from treemech.topology.arrays import Floats

from ..hinge import AxialHinge, Motion, axis_field


@dataclass(frozen=True)
class Planar(AxialHinge):
    """Slide in the plane of end a and turn about its normal, the `axis`.

    Three coordinates: q0, q1 [m] along the first two directions of the plane, q2 [rad]. With normal z::

        c = (q0, q1, 0)      C = rotation by q2 about z          (3.3.23)

    With axis "z" the directions are x, y; with "x" they are y, z; with "y" they are z, x.

    >>> Planar().motion(q=[1.0, 2.0, 0.0]).offset.tolist()
    [1.0, 2.0, 0.0]
    """

    axis: Any = axis_field()
    n_coordinates = 3

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        motion.offset[0] = q[0]
        motion.offset[1] = q[1]
        motion.rotation[0, 0] = cos(q[2])
        motion.rotation[0, 1] = -sin(q[2])
        motion.rotation[1, 0] = sin(q[2])
        motion.rotation[1, 1] = cos(q[2])
        motion.translation_partials[0, 0] = 1.0
        motion.translation_partials[1, 1] = 1.0
        motion.rotation_partials[2, 2] = 1.0
