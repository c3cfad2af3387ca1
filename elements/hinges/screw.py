"""Screw hinge: rotation about one axis with proportional advance along it."""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

from treemech.topology.arrays import Floats

from ..hinge import AxialHinge, Motion, axis_field


@dataclass(frozen=True)
class Screw(AxialHinge):
    """Turn and advance along one line, fixed in both end bases.

    One coordinate q, the angle [rad]. With pitch p [m/rad], about z::

        c = (0, 0, p q)      C = rotation by q about z          (3.3.23)
        v = (0, 0, p)        w = (0, 0, 1)                      (3.3.28), (3.3.32)

    The hinge is scleronomic, and v and w are constant, so every drift and bias is zero.

    Parameters
    ----------
    pitch : float
        Advance per radian; a positive pitch is right-handed.

    Examples
    --------
    >>> Screw(pitch=0.5).motion(q=[2.0]).offset.tolist()
    [0.0, 0.0, 1.0]
    """

    pitch: float
    axis: Any = axis_field()
    n_coordinates = 1

    @classmethod
    def example(cls) -> "Screw":
        return cls(pitch=0.1)

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        motion.offset[2] = self.pitch * q[0]
        motion.rotation[0, 0] = cos(q[0])
        motion.rotation[0, 1] = -sin(q[0])
        motion.rotation[1, 0] = sin(q[0])
        motion.rotation[1, 1] = cos(q[0])
        motion.translation_partials[0, 2] = self.pitch
        motion.rotation_partials[0, 2] = 1.0
