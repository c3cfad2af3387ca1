"""Differential: a drive shaft turns the mean of two half shafts."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..coupling import Coupling
from ..fields import make_numbers, make_signals, refuse_zero


@dataclass(frozen=True)
class Differential(Coupling):
    """Differential of three shafts in one housing; its coordinates are the angles (drive, left, right) [rad].

    One holonomic row: the carrier turns by the mean of both sides, and the drive turns `ratio` times as far::

        q_drive - ratio (q_left + q_right) / 2 = phase

    Parameters
    ----------
    ratio : float
        Turns of the drive shaft per turn of the carrier (final drive); negative if they turn in opposite
        ways. phase : signal or number
        q_drive at q_left = q_right = 0 [rad].

    Examples
    --------
    >>> Differential(ratio=4.1).n_arguments
    3
    """

    ratio: float = 1.0
    phase: Any = 0.0
    n_arguments = 3

    def __post_init__(self) -> None:
        make_numbers(self, "ratio")
        refuse_zero(self, "ratio")
        make_signals(self, "phase")

    def residual(self, q: Floats, t: float, f: Floats) -> None:
        f[0] = q[0] - 0.5 * self.ratio * (q[1] + q[2]) - self.phase
