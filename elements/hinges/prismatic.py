"""Prismatic hinge: displacement along one axis."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..hinge import AxialHinge, Motion, axis_field


@dataclass(frozen=True)
class Prismatic(AxialHinge):
    """Slide along one line without turning.

    One coordinate q, the displacement [m]. Along z::

        c = (0, 0, q)      C = 1          (3.3.23)
        v = (0, 0, 1)      w = 0          (3.3.32)

    >>> Prismatic("x").motion(q=[0.3]).offset.tolist()  # in the base of the axis
    [0.0, 0.0, 0.3]
    """

    axis: Any = axis_field()
    n_coordinates = 1

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        motion.offset[2] = q[0]
        motion.translation_partials[0, 2] = 1.0
