"""Mimic: one coordinate follows another."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..coupling import Coupling
from ..fields import make_numbers, make_signals


@dataclass(frozen=True)
class Mimic(Coupling):
    """The second coordinate is a linear function of the first, like `mimic` in URDF.

    One holonomic row::

        q_b = factor q_a + offset

    Parameters
    ----------
    factor : float
        [unit of b / unit of a]
    offset : signal or number
        [unit of b]

    Examples
    --------
    >>> Mimic(factor=-1.0).n_arguments
    2
    """

    factor: float = 1.0
    offset: Any = 0.0
    n_arguments = 2

    def __post_init__(self) -> None:
        make_numbers(self, "factor")
        make_signals(self, "offset")

    def residual(self, q: Floats, t: float, f: Floats) -> None:
        f[0] = q[1] - self.factor * q[0] - self.offset
