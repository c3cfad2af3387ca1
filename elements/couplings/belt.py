"""Belt, chain or cable that joins two pulleys without slip."""

from dataclasses import dataclass, field
from typing import Any

from treemech.topology.arrays import Floats

from ..coupling import Coupling
from ..element import structure
from ..fields import make_numbers, make_signals, refuse_unless_positive


@dataclass(frozen=True)
class Belt(Coupling):
    """Two pulleys on one carrier, joined by a belt; the coordinates are their angles (q_a, q_b) [rad].

    One holonomic row: one pulley takes up as much belt as leaves the other::

        radius_b q_b - radius_a q_a = offset        open: the pulleys turn the same way
        radius_b q_b + radius_a q_a = offset        crossed

    Parameters
    ----------
    radius_a, radius_b : float
        Radii of the pulleys [m], positive.
    crossed : bool
        Whether the belt crosses itself.
    offset : signal or number
        Length of belt wound on b at q_a = 0 [m].

    Examples
    --------
    >>> Belt(0.1, 0.05).rows(q=[1.0, 2.0], u=[0.0, 0.0]).residual.tolist()
    [0.0]
    """

    radius_a: float
    radius_b: float
    crossed: bool = structure(default=False)
    offset: Any = 0.0
    sense: float = field(default=1.0, init=False, repr=False)
    n_arguments = 2

    @classmethod
    def example(cls) -> "Belt":
        return cls(radius_a=0.1, radius_b=0.2)

    def __post_init__(self) -> None:
        make_numbers(self, "radius_a", "radius_b")
        refuse_unless_positive(self, "radius_a", "radius_b", instead="say crossed=True for a crossed belt")
        make_signals(self, "offset")
        object.__setattr__(self, "sense", -1.0 if self.crossed else 1.0)

    def residual(self, q: Floats, t: float, f: Floats) -> None:
        f[0] = self.radius_b * q[1] - self.sense * self.radius_a * q[0] - self.offset
