"""Stops of a hinge: one-sided contact at the ends of its range."""

from dataclasses import dataclass, field
from typing import Any

from treemech.topology.errors import ElementError

from ..element import structure
from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, refuse_unless_positive

_NOWHERE = 1e300


@dataclass(frozen=True)
class HingeStop(Energetic):
    """Contact at a lower and an upper limit of a hinge coordinate q.

    At a depth d > 0 beyond a limit, the stop pushes back with (Hunt and Crossley)::

        stiffness d^exponent (1 + damping d')      never less than 0

    The load is continuous, also where contact begins; with exponent 2 and no damping, so is its slope. Two
    bodies that meet at the speed v separate at e v, where damping v (1 + e) = ln((1 + damping v) / (1 -
    damping e v)), for any stiffness and exponent; approximately e = 1 - 2/3 damping v.

    Parameters
    ----------
    lower, upper : float or None [rad or m]
        The limits; None: no stop on that side.
    stiffness : float [N m/rad^exponent or N/m^exponent]
    damping : float [s/rad or s/m]
    exponent : float
        At least 1.

    Examples
    --------
    >>> HingeStop(lower=-0.5, upper=1.0, stiffness=1e4, damping=0.3).exponent
    1.5
    """

    lower: float | None = structure(default=None)
    upper: float | None = structure(default=None)
    stiffness: float = 1e4
    damping: float = 0.0
    exponent: float = 1.5
    low: float = field(default=-_NOWHERE, init=False, repr=False)
    high: float = field(default=_NOWHERE, init=False, repr=False)
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    one_sided = True

    @classmethod
    def example(cls) -> "HingeStop":
        return cls(lower=-0.5, upper=0.5)

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "damping", "exponent")
        refuse_unless_positive(self, "stiffness")
        if self.lower is None and self.upper is None:
            raise ElementError(f"{self.kind} has no limit: give lower=, upper= or both.")
        for name, given, away in (("low", self.lower, -_NOWHERE), ("high", self.upper, _NOWHERE)):
            object.__setattr__(self, name, away if given is None else given)
        make_numbers(self, "low", "high")
        if not self.low < self.high:
            raise ElementError(f"{self.kind}: lower {self.low:g} is not below upper {self.high:g}.")
        if self.exponent < 1.0 or self.damping < 0.0:
            raise ElementError(
                f"{self.kind}: exponent {self.exponent:g} and damping {self.damping:g}; wanted at least 1 and 0."
            )

    def sample(self, rng: Any, t: float) -> Any:
        record = super().sample(rng, t)
        limits = [x for x in (self.lower, self.upper) if x is not None]
        record[0] = rng.choice(limits) + rng.uniform(-0.1, 0.1)
        return record

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        q, side = motion.q[0], 1.0
        depth = q - self.high
        if q < self.low:
            side, depth = -1.0, self.low - q
        if depth <= 0.0:
            return
        rate = side * motion.u[0]
        elastic = self.stiffness * depth**self.exponent
        push = max(0.0, elastic * (1.0 + self.damping * rate))
        out.load[0] = -side * push
        out.energy[0] = elastic * depth / (self.exponent + 1.0)
        out.dissipated[0] = (push - elastic) * rate
        out.deformation[0] = side * depth
        out.effort[0] = side * push
