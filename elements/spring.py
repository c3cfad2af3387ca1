"""Spring and damper between two points (3.4.17), Haug's TSDA: linear, with an actuator force."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

from .energetic import EndsLoad, EndsMotion, Energetic
from .fields import make_numbers, make_signals


@dataclass(frozen=True)
class Spring(Energetic):
    """A spring and a damper between two points.

    The tension is stiffness (l - length) + damping l' + force; it pulls the ends together.

    Parameters
    ----------
    stiffness : float [N/m]
    length : float [m]
        Length without tension.
    damping : float [N s/m]
    force : number, signal or function of t [N]
        Tension of an actuator beside the spring.

    Examples
    --------
    >>> Spring(stiffness=40.0, damping=0.1, length=1.0).stiffness
    40.0
    """

    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    force: Any = 0.0
    n_deformations = 1

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "damping", "length")
        make_signals(self, "force")

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p, v = motion.position, motion.velocity
        x, y, z = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        size = sqrt(x * x + y * y + z * z)
        ux, uy, uz = x / size, y / size, z / size
        rate = ux * (v[1, 0] - v[0, 0]) + uy * (v[1, 1] - v[0, 1]) + uz * (v[1, 2] - v[0, 2])
        stretch = size - self.length
        tension = self.stiffness * stretch + self.damping * rate + self.force.value
        out.force[0, 0] = tension * ux
        out.force[0, 1] = tension * uy
        out.force[0, 2] = tension * uz
        out.force[1, 0] = -tension * ux
        out.force[1, 1] = -tension * uy
        out.force[1, 2] = -tension * uz
        out.energy[0] = 0.5 * self.stiffness * stretch * stretch
        out.dissipated[0] = self.damping * rate * rate
        out.supplied[0] = -self.force.value * rate
        out.deformation[0] = stretch
        out.effort[0] = tension
