"""Wheel on wheel and wheel on rack, on any carriers: rolling without slip, and gears, which keep count of turns."""

from dataclasses import dataclass
from math import atan2, cos, sin
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..constraint import Constraint
from ..fields import make_numbers, make_signals, refuse_zero


@dataclass(frozen=True)
class RollingWheel(Constraint):
    """Two wheels roll on each other without slip; their axes are the parallel z axes of the two ends.

    One nonholonomic row. The points of the ends are the centres. Other connections keep them |radius_a +
    radius_b| apart and the axes parallel. With e = c / |c| and its normal n = e_z x e, both in the x,y
    plane::

        (radius_a + radius_b) (n . v) / |c| - radius_b w_z = 0

    A negative radius makes a ring with the other wheel inside it. (In the plane the row can be integrated:
    GearPair keeps the angles as well; if both wheels are on one carrier, a Gear coupling is cheaper.)

    Parameters
    ----------
    radius_a, radius_b : float
        Radii [m]; negative for a ring.

    Examples
    --------
    >>> RollingWheel(radius_a=-0.5, radius_b=0.2).n_nonholonomic
    1
    """

    radius_a: float
    radius_b: float
    n_nonholonomic = 1

    @classmethod
    def example(cls) -> "RollingWheel":
        return cls(radius_a=1.0, radius_b=1.0)

    def __post_init__(self) -> None:
        make_numbers(self, "radius_a", "radius_b")
        refuse_radii(self)

    def slip(
        self,
        offset: Floats,
        rotation: Floats,
        velocity: Floats,
        angular_velocity: Floats,
        s: Floats,
        t: float,
        f: Floats,
    ) -> None:
        x, y = offset[0], offset[1]
        turn = (x * velocity[1] - y * velocity[0]) / (x * x + y * y)  # (n . v) / |c|: rate of the centre line
        f[0] = (self.radius_a + self.radius_b) * turn - self.radius_b * angular_velocity[2]


@dataclass(frozen=True)
class GearPair(Constraint):
    """Two gears in mesh on centres that may move, as in a planetary gear; no common carrier is needed.

    One net holonomic row. The points of the ends are the centres, the parallel z axes the axes of the gears;
    other connections keep the centres |radius_a + radius_b| apart. The angle s_0 of the line of centres and
    the angle s_1 of gear b, both seen from gear a and counted over any number of turns, are auxiliary
    unknowns::

        (radius_a + radius_b) s_0 - radius_b s_1 = radius_b phase
        angle of c = s_0,  angle of C e_x = s_1          (differences in (-pi, pi])

    A negative radius makes a ring gear with the other gear inside it. Only the ratio of the radii counts:
    numbers of teeth serve as well.

    Parameters
    ----------
    radius_a, radius_b : float
        Pitch radii [m] or numbers of teeth; negative for a ring.
    phase : signal or number
        How the teeth stand: minus the angle of gear b where the line of centres is along the x axis of gear a
        [rad].

    Examples
    --------
    >>> GearPair(radius_a=-60, radius_b=20).n_holonomic
    1
    """

    radius_a: float
    radius_b: float
    phase: Any = 0.0
    n_holonomic = 1
    n_auxiliary = 2

    @classmethod
    def example(cls) -> "GearPair":
        return cls(radius_a=1.0, radius_b=1.0)

    def __post_init__(self) -> None:
        make_numbers(self, "radius_a", "radius_b")
        make_signals(self, "phase")
        refuse_radii(self)

    def sample(self, rng: "np.random.Generator", t: float) -> tuple[Floats, Floats, Floats]:
        return apart(*super().sample(rng, t), rng)

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = (self.radius_a + self.radius_b) / self.radius_b * s[0] - s[1] - self.phase
        f[1] = turn_from(s[0], offset[0], offset[1])
        f[2] = turn_from(s[1], rotation[0, 0], rotation[1, 0])


@dataclass(frozen=True)
class RackPair(Constraint):
    """A pinion (end b) in mesh with a rack along the x axis of end a; no common carrier is needed.

    One net holonomic row. The point of end b is the centre of the pinion, on the side of positive y of the
    rack; the z axes are parallel. Other connections keep the centre at the distance of the radius. The angle
    s of the pinion, seen from the rack and counted over any number of turns, is an auxiliary unknown::

        c_x + radius s = offset,      angle of C e_x = s          (difference in (-pi, pi])

    Parameters
    ----------
    radius : float
        Pitch radius of the pinion [m]; negative if the pinion is on the side of negative y.
    offset : signal or number
        c_x where the pinion has the angle 0 [m].

    Examples
    --------
    >>> RackPair(0.02).n_auxiliary
    1
    """

    radius: float
    offset: Any = 0.0
    n_holonomic = 1
    n_auxiliary = 1

    @classmethod
    def example(cls) -> "RackPair":
        return cls(radius=1.0)

    def __post_init__(self) -> None:
        make_numbers(self, "radius")
        refuse_zero(self, "radius")
        make_signals(self, "offset")

    def sample(self, rng: "np.random.Generator", t: float) -> tuple[Floats, Floats, Floats]:
        return apart(*super().sample(rng, t), rng)

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = offset[0] + self.radius * s[0] - self.offset
        f[1] = turn_from(s[0], rotation[0, 0], rotation[1, 0])


def turn_from(angle, x, y):  # type: ignore[no-untyped-def]
    """Return the angle from the direction `angle` to the direction (x, y), in (-pi, pi]."""
    c, d = cos(angle), sin(angle)
    return atan2(y * c - x * d, x * c + y * d)


def refuse_radii(element: Any) -> None:
    """Refuse radii of wheels that cannot touch at one point."""
    refuse_zero(element, "radius_a", "radius_b")
    if element.radius_a + element.radius_b == 0.0 or (element.radius_a < 0.0 and element.radius_b < 0.0):
        raise ElementError(
            f"{element.kind}: radii {element.radius_a:g} and {element.radius_b:g} cannot touch at one point; "
            "wanted two wheels, or a ring (negative) and a wheel of another size."
        )


def apart(
    offset: Floats, rotation: Floats, s: Floats, rng: "np.random.Generator"
) -> tuple[Floats, Floats, Floats]:
    """Return a configuration whose angles differ from s by less than half a turn, with distinct directions."""
    angle, turn = rng.uniform(-3.0, 3.0, 2)
    tilt = 0.3 * rng.uniform(-1.0, 1.0)
    offset = np.array((np.cos(angle), np.sin(angle), offset[2]))
    flat = np.array(((np.cos(turn), -np.sin(turn), 0.0), (np.sin(turn), np.cos(turn), 0.0), (0.0, 0.0, 1.0)))
    lean = np.array(((1.0, 0.0, 0.0), (0.0, np.cos(tilt), -np.sin(tilt)), (0.0, np.sin(tilt), np.cos(tilt))))
    return offset, flat @ lean, np.array((angle, turn))[-len(s) :] + rng.uniform(-1.0, 1.0, len(s))
