"""PID drive on a hinge coordinate, with filtered derivative, limit and anti-windup."""

from dataclasses import dataclass

from ..energetic import Deformed, Effort, Energetic
from ..fields import make_numbers, refuse_negative, refuse_unless_positive

UNLIMITED = 1e300


@dataclass(frozen=True)
class Pid(Energetic):
    """Drive that brings a hinge coordinate eps to its input, the ``setpoint`` i.

    The states are the integral part I [N m] and the filtered speed w [rad/s], which starts equal to the
    speed. Load on the hinge::

        P = proportional (i - eps) + I - derivative w       limited to [-limit, limit]
        I' = integral (i - eps) + (limited P - P) / tracking
        w' = (eps' - w) / filter

    The derivative is taken of the position only, so a jump of the set-point causes no peak. While the load is
    limited, the integral part follows the limit (anti-windup by back-calculation).

    Parameters
    ----------
    proportional, integral, derivative : float [N m/rad], [N m/(rad s)], [N m s/rad]
        Gains; on a sliding hinge [N/m], ...
    filter : float [s]
        Time constant of the derivative; 0: none.
    limit : float [N m]
        Largest load; default: none.
    tracking : float [s]
        Time constant of the anti-windup; default proportional / integral, or 1 without one of them.

    Examples
    --------
    >>> Pid(proportional=50.0, integral=20.0, derivative=5.0, filter=0.01, limit=30.0).tracking
    2.5
    """

    proportional: float = 0.0
    integral: float = 0.0
    derivative: float = 0.0
    filter: float = 0.0
    limit: float = UNLIMITED
    tracking: float = 0.0
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    n_states = 2
    settled = (1,)
    input_names = ("setpoint",)

    @classmethod
    def example(cls) -> "Pid":
        return cls(proportional=10.0, integral=2.0, derivative=1.0, filter=0.01)

    def __post_init__(self) -> None:
        make_numbers(self, "proportional", "integral", "derivative", "filter", "limit", "tracking")
        refuse_negative(self, "proportional", "integral", "derivative", "filter", "tracking")
        refuse_unless_positive(self, "limit")
        if self.tracking == 0.0:
            both = self.proportional > 0.0 and self.integral > 0.0
            object.__setattr__(self, "tracking", self.proportional / self.integral if both else 1.0)

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        error, speed = now.inputs[0] - now.deformation[0], now.rate[0]
        if self.filter > 0.0:
            out.rates[1] = (speed - now.x[1]) / self.filter
            speed = now.x[1]
        wanted = self.proportional * error + now.x[0] - self.derivative * speed
        load = min(max(wanted, -self.limit), self.limit)
        out.rates[0] = self.integral * error + (load - wanted) / self.tracking
        out.effort[0] = -load
        out.supplied[0] = load * now.rate[0]
