"""Distance: a massless rod with a ball at each end (Haug's spherical-spherical joint)."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..constraint import Constraint
from ..fields import make_signals, refuse_unless_positive


@dataclass(frozen=True)
class Distance(Constraint):
    """The points of the two ends keep a given distance l; directions are free.

    One holonomic row, with the offset c from the point of end a to the point of end b::

        f = (c . c - l^2) / (2 l)

    Where it holds, the row is the unit vector c / l, and the multiplier is the force in the rod [N], positive
    in compression. A length that is a signal makes the rod a distance driver (a hydraulic cylinder); the
    length must stay positive.

    Parameters
    ----------
    length : signal or number
        Distance of the points [m], positive.

    Examples
    --------
    >>> Distance(2.0).n_holonomic, Distance(length=lambda t: 1.0 + 0.1 * t).n_holonomic
    (1, 1)
    """

    length: Any
    n_holonomic = 1

    @classmethod
    def example(cls) -> "Distance":
        return cls(1.0)

    def __post_init__(self) -> None:
        make_signals(self, "length")
        refuse_unless_positive(self, "length", instead="points that coincide are a Ball hinge")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = distance_gap(offset, self.length)


def distance_gap(c, length):  # type: ignore[no-untyped-def]
    """Return (c . c - l^2) / (2 l), which is about |c| - l and needs no square root."""
    return 0.5 * ((c[0] * c[0] + c[1] * c[1] + c[2] * c[2]) / length - length)
