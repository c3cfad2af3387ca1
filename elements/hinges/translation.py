"""Translation hinge: three displacements, no turn."""

from dataclasses import dataclass

from treemech.topology.arrays import Floats

from ..hinge import Hinge, Motion


@dataclass(frozen=True)
class Translation(Hinge):
    """Slide in all three directions of end a without turning.

    Three coordinates q [m]: c = q, C = 1, v = 1.

    >>> Translation().motion(q=[1.0, 2.0, 3.0]).offset.tolist()
    [1.0, 2.0, 3.0]
    """

    n_coordinates = 3

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        for k in range(3):
            motion.offset[k] = q[k]
            motion.translation_partials[k, k] = 1.0
