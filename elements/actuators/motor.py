"""Electric motor (3.5.7-8): the voltage is its input, the current its state."""

from dataclasses import dataclass

from ..energetic import Deformed, Effort, Energetic
from ..fields import make_numbers, refuse_negative, refuse_unless_positive


@dataclass(frozen=True)
class ElectricMotor(Energetic):
    """Direct current motor on a hinge coordinate eps (end b relative to end a).

    It has one input, the ``voltage`` V [V], and one state, the current x [A]. Effort on the element, and
    circuit::

        F = -c x                        (3.5.7)
        l x' = V - r x - c eps'         (3.5.8)

    The thesis prints F = c x and a voltage of +c eps'. If that F acts on the hinge, the motor creates the
    power 2 c x eps'; if it acts on the element, the motor turns backwards. Our signs follow from the power
    balance (V x supplied, l x^2 / 2 stored, r x^2 dissipated).

    Parameters
    ----------
    constant : float [N m/A = V s/rad]
        E.m.f. constant c: torque per ampere, and voltage per radian per second.
    resistance, inductance : float [ohm], [H]
        r and l of the circuit.

    Examples
    --------
    >>> ElectricMotor(constant=0.1, resistance=2.0, inductance=1e-3).input_names
    ('voltage',)
    """

    constant: float = 1.0
    resistance: float = 1.0
    inductance: float = 1.0
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    n_states = 1
    input_names = ("voltage",)

    def __post_init__(self) -> None:
        make_numbers(self, "constant", "resistance", "inductance")
        refuse_negative(self, "resistance")
        refuse_unless_positive(self, "inductance")

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        x, voltage = now.x[0], now.inputs[0]
        lost = self.resistance * x
        out.effort[0] = -self.constant * x
        out.rates[0] = (voltage - lost - self.constant * now.rate[0]) / self.inductance
        out.energy[0] = 0.5 * self.inductance * x * x
        out.dissipated[0] = lost * x
        out.supplied[0] = voltage * x
