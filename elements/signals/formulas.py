"""Signals given by a formula: a constant, a polynomial, a harmonic."""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..fields import as_numbers, make_numbers
from ..signal import Signal


@dataclass(frozen=True)
class Constant(Signal):
    """Constant value.

    >>> Constant(2.0).at(1.0).rate
    0.0
    """

    level: float

    @classmethod
    def example(cls) -> "Constant":
        return cls(1.0)

    def __post_init__(self) -> None:
        make_numbers(self, "level")

    def evaluate(self, t: float, out: Floats) -> None:
        out[0] = self.level
        out[1] = 0.0
        out[2] = 0.0


@dataclass(frozen=True)
class Polynomial(Signal):
    """Polynomial c0 + c1 t + c2 t^2 + ...

    >>> Polynomial([0.0, 3.0]).at(2.0).value
    6.0
    """

    coefficients: Any

    @classmethod
    def example(cls) -> "Polynomial":
        return cls([0.0, 1.0])

    def __post_init__(self) -> None:
        c = as_numbers(self.coefficients, "Polynomial.coefficients", "numbers, [c0, c1, ...]", (None,))
        if not len(c):
            raise ElementError("Polynomial.coefficients is empty: wanted at least one number, [c0, c1, ...].")

    def evaluate(self, t: float, out: Floats) -> None:
        value, rate, half = 0.0, 0.0, 0.0
        for k in range(len(self.coefficients) - 1, -1, -1):
            half = half * t + rate
            rate = rate * t + value
            value = value * t + self.coefficients[k]
        out[0] = value
        out[1] = rate
        out[2] = 2.0 * half


@dataclass(frozen=True)
class Harmonic(Signal):
    """Harmonic offset + amplitude sin(frequency t + phase); frequency in rad/s.

    >>> Harmonic(amplitude=2.0, frequency=3.0).at(0.0).rate
    6.0
    """

    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0

    @classmethod
    def example(cls) -> "Harmonic":
        return cls(amplitude=0.5, frequency=2.0)

    def __post_init__(self) -> None:
        make_numbers(self, "amplitude", "frequency", "phase", "offset")

    def evaluate(self, t: float, out: Floats) -> None:
        angle = self.frequency * t + self.phase
        out[0] = self.offset + self.amplitude * sin(angle)
        out[1] = self.amplitude * self.frequency * cos(angle)
        out[2] = -self.amplitude * self.frequency * self.frequency * sin(angle)
