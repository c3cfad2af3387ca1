"""Position servo (3.5.9): a motor; its voltage is the amplified difference of set-point and position."""

from dataclasses import dataclass

from ..energetic import Deformed, Effort, Energetic
from ..fields import make_numbers, refuse_negative, refuse_unless_positive


@dataclass(frozen=True)
class PositionServo(Energetic):
    """Electric motor on a hinge coordinate eps that follows a set-point.

    It has one input, the ``setpoint`` i [rad], and one state, the current x [A]. Effort on the element, and
    circuit::

        F = -c x
        l x' = b (i - eps) - r x - c eps'           (3.5.9)

    The signs are those of ElectricMotor: with the printed ones, B = [b, -b, c]/l and F = c x, a servo either
    creates energy or moves away from its set-point.

    Parameters
    ----------
    gain : float [V/rad]
        Amplification b of the difference.
    constant : float [N m/A = V s/rad]
        E.m.f. constant c.
    resistance, inductance : float [ohm], [H]
        r and l of the circuit.

    Examples
    --------
    >>> PositionServo(gain=20.0, constant=0.1, resistance=2.0, inductance=1e-3).input_names
    ('setpoint',)
    """

    gain: float = 1.0
    constant: float = 1.0
    resistance: float = 1.0
    inductance: float = 1.0
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    n_states = 1
    input_names = ("setpoint",)

    def __post_init__(self) -> None:
        make_numbers(self, "gain", "constant", "resistance", "inductance")
        refuse_negative(self, "gain", "resistance")
        refuse_unless_positive(self, "inductance")

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        x, voltage = now.x[0], self.gain * (now.inputs[0] - now.deformation[0])
        lost = self.resistance * x
        out.effort[0] = -self.constant * x
        out.rates[0] = (voltage - lost - self.constant * now.rate[0]) / self.inductance
        out.energy[0] = 0.5 * self.inductance * x * x
        out.dissipated[0] = lost * x
        out.supplied[0] = voltage * x
