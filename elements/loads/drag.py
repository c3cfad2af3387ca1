"""Drag of a point that moves through a medium."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

from treemech.topology.errors import ElementError

from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, make_signals


@dataclass(frozen=True)
class Drag(Energetic):
    """Resistance of air or water to the motion of a point, along its velocity v relative to the medium::

        force = -(linear + 1/2 density coefficient area |v|) v

    Parameters
    ----------
    linear : float [N s/m]
        Slow motion (Stokes).
    coefficient : float
        Drag coefficient of fast motion.
    area : float [m2]
        Projected area.
    density : float [kg/m3]
        Of the medium, air by default.
    wind_x, wind_y, wind_z : number, signal or function of t [m/s]
        Velocity of the medium, world components.

    Examples
    --------
    >>> Drag(coefficient=0.47, area=0.01).density
    1.225
    """

    linear: float = 0.0
    coefficient: float = 0.0
    area: float = 0.0
    density: float = 1.225
    wind_x: Any = 0.0
    wind_y: Any = 0.0
    wind_z: Any = 0.0
    n_ends = 1
    world = True

    @classmethod
    def example(cls) -> "Drag":
        return cls(linear=0.2, coefficient=0.5, area=0.1)

    def __post_init__(self) -> None:
        make_numbers(self, "linear", "coefficient", "area", "density")
        make_signals(self, "wind_x", "wind_y", "wind_z")
        for name in ("linear", "coefficient", "area", "density"):
            if getattr(self, name) < 0.0:
                raise ElementError(f"{self.kind}.{name} is {getattr(self, name):g}: wanted at least 0.")
        if self.linear == 0.0 and self.coefficient * self.area * self.density == 0.0:
            raise ElementError(f"{self.kind} has no drag: give linear=, or coefficient= and area=.")

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        wx, wy, wz = self.wind_x.value, self.wind_y.value, self.wind_z.value
        x, y, z = motion.velocity[0, 0] - wx, motion.velocity[0, 1] - wy, motion.velocity[0, 2] - wz
        square = x * x + y * y + z * z
        factor = self.linear + 0.5 * self.density * self.coefficient * self.area * sqrt(square)
        out.force[0, 0] = -factor * x
        out.force[0, 1] = -factor * y
        out.force[0, 2] = -factor * z
        out.dissipated[0] = factor * square
        out.supplied[0] = -factor * (x * wx + y * wy + z * wz)
