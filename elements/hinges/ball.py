"""Ball hinge (ball-and-socket joint) in Euler parameters, without singular positions."""

from dataclasses import dataclass

from treemech.topology.arrays import Floats

from ..hinge import Hinge, Motion


@dataclass(frozen=True)
class Ball(Hinge):
    """Turn about a common point.

    The four coordinates are Euler parameters (scalar first). The three speeds are the relative angular
    velocity in the base of end a [rad/s], so w = 1 and the bias vanishes::

        C = C(e)      e' = (0, u) e / 2      w = 1

    >>> Ball().motion(q=[1, 0, 0, 0]).rotation_partials.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    n_coordinates = 4
    euler_parameters = 0

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        euler_rotation(q[0], q[1], q[2], q[3], motion.rotation)
        for k in range(3):
            motion.rotation_partials[k, k] = 1.0


def euler_rotation(a: float, b: float, c: float, d: float, C: Floats) -> None:
    """Write the rotation C of the Euler parameters (a, b, c, d), a the scalar, of any length except zero."""
    n = 2.0 / (a * a + b * b + c * c + d * d)
    C[0, 0] = 1.0 - n * (c * c + d * d)
    C[0, 1] = n * (b * c - a * d)
    C[0, 2] = n * (b * d + a * c)
    C[1, 0] = n * (b * c + a * d)
    C[1, 1] = 1.0 - n * (b * b + d * d)
    C[1, 2] = n * (c * d - a * b)
    C[2, 0] = n * (b * d - a * c)
    C[2, 1] = n * (c * d + a * b)
    C[2, 2] = 1.0 - n * (b * b + c * c)
