"""Relative drivers: an offset or an angle of the relative motion follows a signal (Haug 3.5.2, 9.5)."""

from dataclasses import dataclass
from math import atan2, cos, sin
from typing import Any

from treemech.topology.arrays import Floats

from ..constraint import Constraint
from ..fields import make_directions, make_signals
from .distance import Distance


@dataclass(frozen=True, eq=False)
class RelativeOffset(Constraint):
    """The component of the offset c along a direction e of end a follows a signal.

    One holonomic row, rheonomic unless the value is constant::

        f = e . c - value

    Parameters
    ----------
    direction : "x", "y", "z" or vector
        The direction e, in the base of end a.
    value : signal or number
        The offset along e [m]; it may pass through zero.

    Examples
    --------
    >>> RelativeOffset("x", lambda t: 0.1 * t).direction.tolist()
    [1.0, 0.0, 0.0]
    """

    direction: Any = "z"
    value: Any = 0.0
    n_holonomic = 1

    def __post_init__(self) -> None:
        make_directions(self, "direction")
        make_signals(self, "value")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        e = self.direction
        f[0] = e[0] * offset[0] + e[1] * offset[1] + e[2] * offset[2] - self.value


@dataclass(frozen=True)
class RelativeAngle(Constraint):
    """The angle of the x axis of end b, seen in the x,y plane of end a, follows a signal phi.

    One holonomic row, the difference of the two angles in (-pi, pi]::

        f = atan2(C_yx cos phi - C_xx sin phi, C_xx cos phi + C_yx sin phi)

    Its derivative equals the derivative of the angle, so phi may run over any number of turns, and there is
    no second solution half a turn away. Use it for ends whose z axes stay parallel (revolute, cylindrical,
    screw); for other ends it fails where the x axis of end b is along the z axis of end a.

    Parameters
    ----------
    angle : signal or number
        The angle phi about the z axis of end a [rad].

    Examples
    --------
    >>> RelativeAngle(lambda t: 6.28 * t).n_holonomic
    1
    """

    angle: Any = 0.0
    n_holonomic = 1

    def __post_init__(self) -> None:
        make_signals(self, "angle")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        x, y = rotation[0, 0], rotation[1, 0]
        c, d = cos(self.angle), sin(self.angle)
        f[0] = atan2(y * c - x * d, x * c + y * d)


RelativeDistance = Distance  # a driver if its length is a signal
