"""Tendon: an elastic cord between two points, slack below its length, stiffer the more it is stretched."""

from dataclasses import dataclass
from math import sqrt

from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, refuse_unless_positive
from .hill import toe


@dataclass(frozen=True)
class Tendon(Energetic):
    """Tendon, ligament, or parallel elastic part of a muscle, between two points.

    Its tension is force (eps / (strain length))^2 for a stretch eps = l - length > 0, else 0.

    Parameters
    ----------
    force : float [N]
        Tension at the strain `strain`.
    strain : float
        Strain at the tension `force`.
    length : float [m]
        Slack length.

    Examples
    --------
    >>> Tendon(force=1000.0, length=0.2).strain
    0.04
    """

    force: float = 1.0
    length: float = 1.0
    strain: float = 0.04
    n_deformations = 1
    one_sided = True

    def __post_init__(self) -> None:
        make_numbers(self, "force", "length", "strain")
        refuse_unless_positive(self, "force", "length", "strain")

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p = motion.position
        x, y, z = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        size = sqrt(x * x + y * y + z * z)
        stretch = size - self.length
        tension = toe(stretch, self.force, self.strain * self.length)
        out.force[0, 0] = tension * x / size
        out.force[0, 1] = tension * y / size
        out.force[0, 2] = tension * z / size
        out.force[1, 0] = -tension * x / size
        out.force[1, 1] = -tension * y / size
        out.force[1, 2] = -tension * z / size
        out.energy[0] = tension * stretch / 3.0
        out.deformation[0] = stretch
        out.effort[0] = tension
