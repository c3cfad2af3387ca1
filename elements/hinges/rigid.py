"""Rigid hinge without relative motion (3.3.38)."""

from dataclasses import dataclass

from treemech.topology.arrays import Floats

from ..hinge import Hinge, Motion


@dataclass(frozen=True)
class Rigid(Hinge):
    """Weld the two ends: their points and bases coincide. With ends apart this is Sol's rigid bar.

    The hinge has no coordinates, and every partial is zero.

    >>> Rigid().n_coordinates
    0
    """

    n_coordinates = 0

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        pass
