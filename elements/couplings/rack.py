"""Rack and pinion: an angle and a displacement in a fixed ratio."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..coupling import Coupling
from ..fields import make_numbers, make_signals, refuse_zero


@dataclass(frozen=True)
class RackAndPinion(Coupling):
    """Rack and pinion on one carrier; the coordinates are (angle of the pinion [rad], slide of the rack [m]).

    One holonomic row (Haug 3.4.8)::

        q_rack - radius q_pinion = offset

    Parameters
    ----------
    radius : float
        Pitch radius of the pinion [m]; negative if a positive angle moves the rack in its negative direction.
    offset : signal or number
        q_rack at q_pinion = 0 [m].

    Examples
    --------
    >>> RackAndPinion(0.02).n_arguments
    2
    """

    radius: float
    offset: Any = 0.0
    n_arguments = 2

    @classmethod
    def example(cls) -> "RackAndPinion":
        return cls(radius=0.1)

    def __post_init__(self) -> None:
        make_numbers(self, "radius")
        refuse_zero(self, "radius", instead="prescribe the rack to hold it")
        make_signals(self, "offset")

    def residual(self, q: Floats, t: float, f: Floats) -> None:
        f[0] = q[1] - self.radius * q[0] - self.offset
