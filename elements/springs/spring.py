"""Spring and damper between two points (3.4.17), Haug's TSDA: linear, with an actuator force."""

from dataclasses import dataclass, field
from typing import Any

from ..element import structure
from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, make_signals, refuse_negative, warn_negative
from ..shared.line import line_between, one_sided, pull, side_of


@dataclass(frozen=True)
class Spring(Energetic):
    """Spring and damper between two points.

    The tension is stiffness (l - length) + damping l' + force; it pulls the ends together. With `only`,
    spring and damper act only while l > length ("tension": a rope) or l < length ("compression": a buffer),
    and their sum never acts in the other direction. The actuator force is added to them.

    Where the ends coincide there is no line of action, and a run stops with an error. Only a spring of length
    0 without damping and force may pass such a position: its force, stiffness times the vector between the
    ends, is smooth.

    Parameters
    ----------
    stiffness : float [N/m]
    damping : float [N s/m]
    length : float [m]
        Length without tension.
    force : number, signal or function of t [N]
        Tension of an actuator parallel to the spring.
    only : None, "tension" or "compression"

    Examples
    --------
    >>> Spring(stiffness=40.0, damping=0.1, length=1.0).stiffness
    40.0
    """

    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    force: Any = 0.0
    only: str | None = structure(default=None)
    side: float = field(default=0.0, init=False, repr=False)
    n_deformations = 1

    @classmethod
    def example(cls) -> "Spring":
        return cls(stiffness=40.0, damping=0.5, length=0.3)

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "damping", "length")
        refuse_negative(self, "length")
        warn_negative(self, "stiffness", "damping")
        make_signals(self, "force")
        object.__setattr__(self, "side", side_of(self))

    @property
    def one_sided(self) -> bool:  # type: ignore[override]
        return self.side != 0.0

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        size, rate, x, y, z = line_between(motion.position, motion.velocity)
        force = self.force.value
        if size == 0.0 and self.length == 0.0 and self.damping == 0.0 and force == 0.0:
            for k in range(3):  # the value is zero, its derivative is not
                out.force[0, k] = self.stiffness * (motion.position[1, k] - motion.position[0, k])
                out.force[1, k] = -out.force[0, k]
            return
        stretch = size - self.length
        elastic, passive = 0.0, 0.0
        if self.side * stretch >= 0.0:
            elastic = self.stiffness * stretch
            passive = one_sided(self.side, elastic, self.damping * rate)
            out.energy[0] = 0.5 * elastic * stretch
            out.dissipated[0] = (passive - elastic) * rate
        pull(passive + force, x, y, z, out.force)
        out.supplied[0] = -force * rate
        out.deformation[0] = stretch
        out.effort[0] = passive + force
