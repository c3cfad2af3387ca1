"""Universal hinge (Hooke's joint): two turns about perpendicular axes."""

from dataclasses import dataclass
from math import cos, sin

from treemech.topology.arrays import Floats

from ..hinge import Hinge, Motion


@dataclass(frozen=True)
class Universal(Hinge):
    """Turn by q0 about the x axis of end a, then by q1 about the y axis of end b.

    Two coordinates, angles [rad]::

        C = Rx(q0) Ry(q1)                                     (3.3.23)
        w_0 = (1, 0, 0)      w_1 = (0, c0, s0)                (3.3.28)
        w00 = (0, -s0, c0) u0 u1                              (3.3.30)

    >>> Universal().motion(q=[0.0, 0.2]).rotation_partials.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    n_coordinates = 2

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        c0, s0, c1, s1 = cos(q[0]), sin(q[0]), cos(q[1]), sin(q[1])
        C = motion.rotation
        C[0, 0] = c1
        C[0, 2] = s1
        C[1, 0] = s0 * s1
        C[1, 1] = c0
        C[1, 2] = -s0 * c1
        C[2, 0] = -c0 * s1
        C[2, 1] = s0
        C[2, 2] = c0 * c1
        motion.rotation_partials[0, 0] = 1.0
        motion.rotation_partials[1, 1] = c0
        motion.rotation_partials[1, 2] = s0
        motion.rotation_bias[1] = -s0 * u[0] * u[1]
        motion.rotation_bias[2] = c0 * u[0] * u[1]
