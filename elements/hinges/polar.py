"""Polar hinge: polar displacements in a plane and a turn, as for the roller of Sol's fuel pump (9.2.3)."""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats

from ..hinge import AxialHinge, Motion, axis_field


@dataclass(frozen=True)
class Polar(AxialHinge):
    """Move the end point to angle q0 and distance q1 in the plane of end a, and turn the base by q2.

    Three coordinates: q0 [rad], q1 [m] (not zero), q2 [rad]; angles are positive about the `axis`, the normal
    of the plane. With normal z::

        c = (q1 cos q0, q1 sin q0, 0)      C = rotation by q2 about z          (9.2.3)

    (The thesis uses the plane x, z and so turns about -y: its w_4 = (0, -1, 0) is our +1 about that normal.)

    >>> Polar().motion(q=[0.0, 2.0, 0.0]).offset.tolist()
    [2.0, 0.0, 0.0]
    """

    axis: Any = axis_field()
    n_coordinates = 3

    def domain(self) -> tuple[ArrayLike, ArrayLike]:
        return (-3.0, 0.3, -3.0), (3.0, 2.0, 3.0)

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        c, s = cos(q[0]), sin(q[0])
        motion.offset[0] = q[1] * c
        motion.offset[1] = q[1] * s
        motion.rotation[0, 0] = cos(q[2])
        motion.rotation[0, 1] = -sin(q[2])
        motion.rotation[1, 0] = sin(q[2])
        motion.rotation[1, 1] = cos(q[2])
        motion.translation_partials[0, 0] = -q[1] * s
        motion.translation_partials[0, 1] = q[1] * c
        motion.translation_partials[1, 0] = c
        motion.translation_partials[1, 1] = s
        motion.rotation_partials[2, 2] = 1.0
        motion.translation_bias[0] = -c * q[1] * u[0] * u[0] - 2.0 * s * u[0] * u[1]
        motion.translation_bias[1] = -s * q[1] * u[0] * u[0] + 2.0 * c * u[0] * u[1]
