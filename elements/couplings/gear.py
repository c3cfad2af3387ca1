"""Gear: two angles in a fixed ratio."""

from dataclasses import dataclass, field
from typing import Any

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..coupling import Coupling
from ..element import structure
from ..fields import make_numbers, make_signals, refuse_unless_positive


@dataclass(frozen=True)
class Gear(Coupling):
    """Two wheels on one carrier in mesh; the coordinates are the angles (q_a, q_b) of the wheels [rad].

    One holonomic row (Haug 3.4.1)::

        q_b + ratio q_a = phase       external: the wheels turn in opposite directions
        q_b - ratio q_a = phase       internal: one of the wheels is a ring

    Parameters
    ----------
    ratio : float
        Angle of b per angle of a, positive: teeth of a over teeth of b.
    internal : bool
        Whether one wheel is a ring with the other wheel inside it.
    phase : signal or number
        q_b at q_a = 0 [rad].

    Examples
    --------
    >>> Gear.of_teeth(20, 40)
    Gear(ratio=0.5, internal=False, phase=Constant(level=0.0))
    """

    ratio: float
    internal: bool = structure(default=False)
    phase: Any = 0.0
    factor: float = field(default=0.0, init=False, repr=False)
    n_arguments = 2

    @classmethod
    def example(cls) -> "Gear":
        return cls(ratio=2.0)

    def __post_init__(self) -> None:
        make_numbers(self, "ratio")
        refuse_unless_positive(self, "ratio", instead="say internal=True for wheels that turn the same way")
        make_signals(self, "phase")
        object.__setattr__(self, "factor", self.ratio if self.internal else -self.ratio)

    @classmethod
    def of_teeth(cls, teeth_a: int, teeth_b: int, internal: bool = False, phase: Any = 0.0) -> "Gear":
        """Return the gear of two wheels with these numbers of teeth."""
        if not (teeth_a > 0 and teeth_b > 0):
            raise ElementError(
                f"Gear.of_teeth: {teeth_a!r} and {teeth_b!r} teeth; wanted two positive numbers."
            )
        return cls(teeth_a / teeth_b, internal, phase)

    def residual(self, q: Floats, t: float, f: Floats) -> None:
        f[0] = q[1] - self.factor * q[0] - self.phase
