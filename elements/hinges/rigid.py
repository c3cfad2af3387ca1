"""Rigid hinge: no relative motion at all (3.3.38)."""

from dataclasses import dataclass

from treemech.topology.arrays import Floats

from ..hinge import Hinge, Motion


@dataclass(frozen=True)
class Rigid(Hinge):
    """The two ends coincide, with their bases: a weld, Sol's rigid bar when the ends stand apart.

    No coordinates, every partial is zero.

    >>> Rigid().n_coordinates
    0
    """

    n_coordinates = 0

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        pass
