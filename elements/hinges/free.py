"""Free hinge with all six freedoms; an isolated body gets this hinge (4.2)."""

from dataclasses import dataclass

from treemech.topology.arrays import Floats

from ..hinge import Hinge, Motion
from .ball import euler_rotation


@dataclass(frozen=True)
class Free(Hinge):
    """Move and turn without restriction.

    The seven coordinates are the offset q[0:3] [m] and Euler parameters q[3:7] (scalar first). The six speeds
    are the velocity and the angular velocity of end b, both in the base of end a, so v and w are constant.

    >>> Free().n_speeds
    6
    """

    n_coordinates = 7
    euler_parameters = 3

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        euler_rotation(q[3], q[4], q[5], q[6], motion.rotation)
        for k in range(3):
            motion.offset[k] = q[k]
            motion.translation_partials[k, k] = 1.0
            motion.rotation_partials[3 + k, k] = 1.0
