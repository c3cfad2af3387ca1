"""Spring and damper on a hinge coordinate, Haug's RSDA."""

from dataclasses import dataclass, field
from typing import Any

from ..element import structure
from ..energetic import Deformed, Effort, Energetic
from ..fields import make_numbers, make_signals, warn_negative
from ..shared.table import make_table, shifted, table_area, table_value


@dataclass(frozen=True, eq=False)
class RotationalSpring(Energetic):
    """Spring and damper on the coordinate q of a hinge.

    The torque on the spring is stiffness (q - angle) + table(q) + damping q' + torque; its opposite acts on
    the hinge. q continues beyond a full turn, so turns count. For a sliding hinge read m and N instead of rad
    and N m.

    Parameters
    ----------
    stiffness : float [N m/rad]
    damping : float [N m s/rad]
    angle : float [rad]
        Coordinate without torque.
    torque : number, signal or function of t [N m]
        Torque of an actuator parallel to the spring; if positive, it acts against the coordinate.
    table : rows (q [rad], torque [N m]), angles increasing
        Parallel to the linear spring; its energy is zero at `angle`.
    interpolation : "spline" (C2, natural ends) or "linear"

    Examples
    --------
    >>> RotationalSpring(stiffness=2.0, angle=0.5).angle
    0.5
    """

    stiffness: float = 0.0
    damping: float = 0.0
    angle: float = 0.0
    torque: Any = 0.0
    table: Any = structure(default=None)
    interpolation: str = structure(default="spline")
    curve: Any = field(default=None, init=False, repr=False)
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1

    @classmethod
    def example(cls) -> "RotationalSpring":
        return cls(stiffness=2.0, damping=0.1, angle=0.5)

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "damping", "angle")
        warn_negative(self, "stiffness", "damping")
        make_signals(self, "torque")
        curve = make_table(self.table, self.interpolation, f"{self.kind}.table")
        object.__setattr__(self, "curve", shifted(curve, self.angle))

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        q, rate, torque = now.deformation[0], now.rate[0], self.torque.value
        turned = q - self.angle
        out.effort[0] = self.stiffness * turned + table_value(self.curve, q) + self.damping * rate + torque
        out.energy[0] = 0.5 * self.stiffness * turned * turned + table_area(self.curve, q)
        out.dissipated[0] = self.damping * rate * rate
        out.supplied[0] = -torque * rate
