"""Ideal actuator: a load on a hinge coordinate, proportional to its input and limited."""

from dataclasses import dataclass

from treemech.topology.errors import ElementError

from ..energetic import Deformed, Effort, Energetic
from ..fields import make_numbers

UNLIMITED = 1e300


@dataclass(frozen=True)
class Actuator(Energetic):
    """Load on a hinge coordinate eps that an input commands: torque on a revolute, force on a prismatic hinge.

    It has one input, the ``command`` i, and no state of its own. Load on the hinge, from end a on end b::

        P = gain i        limited to [lower, upper]

    All its power P eps' is supplied. Computed torque needs nothing more: gain 1, and the loads that
    `Mechanism.inverse_dynamics` returns as commands (docs/calls.md).

    Parameters
    ----------
    gain : float
        Load per unit of the input [N m] or [N].
    lower, upper : float [N m] or [N]
        Least and largest load; default: none. With ``upper`` alone the limits are symmetric.

    Examples
    --------
    >>> Actuator(gain=50.0, upper=120.0).lower
    -120.0
    """

    gain: float = 1.0
    lower: float = -UNLIMITED
    upper: float = UNLIMITED
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    input_names = ("command",)

    @classmethod
    def example(cls) -> "Actuator":
        return cls(gain=20.0, upper=30.0)

    def __post_init__(self) -> None:
        make_numbers(self, "gain", "lower", "upper")
        if self.lower == -UNLIMITED and self.upper > 0.0:
            object.__setattr__(self, "lower", -self.upper)
        if not self.lower < self.upper:
            raise ElementError(
                f"Actuator.lower is {self.lower:g} and .upper {self.upper:g}; wanted the least load below the largest."
            )

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        load = min(max(self.gain * now.inputs[0], self.lower), self.upper)
        out.effort[0] = -load
        out.supplied[0] = load * now.rate[0]
