"""Signals: given functions of time, with their rate and acceleration (inputs, motions, moving scalars)."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, floor, sin
from reprlib import repr as shortened
from types import BuiltinFunctionType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_float, plain

from .element import Element, SignalValue, structure


class Signal(Element):
    """The contract of a signal. A subclass is a frozen dataclass; its fields are its parameters.

    1. Write ``evaluate(self, t, out)`` with out = value, rate, acceleration; or ``value(self, t)`` alone: the
       rates then follow exactly from the same source compiled for jet numbers.
    2. Value and rate must be continuous except at ``breaks``, times at which the integrator ends a step
       exactly.
    """

    is_signal: ClassVar[bool] = True
    author_methods = ("value",)

    @property
    def breaks(self) -> tuple[float, ...]:
        return ()

    def evaluate(self, t: float, out: Floats) -> None:
        raise ElementError(f"{self.kind} has neither evaluate() nor value(): write one of them.")

    def at(self, t: float) -> SignalValue:
        """Return value, rate and acceleration at one time.

        >>> Polynomial([1.0, 2.0, 3.0]).at(2.0)
        SignalValue(value=17.0, rate=14.0, acceleration=6.0)
        """
        out = np.zeros(3)
        if type(self).evaluate is Signal.evaluate and hasattr(type(self), "value"):
            from .compilation.entry import call

            try:
                call(self, "signal", out, out, t, out)
            except Exception as error:  # from the author's function or from numba
                raise ElementError(
                    f"{self.kind} gives no value with its rates at t = {t:.6g}: {_why(error)}"
                ) from error
        else:
            type(self).evaluate(self, float(t), out)
        return SignalValue(*out.tolist())


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
        _check_numbers(self, "level")

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
        from .fields import as_numbers  # which imports this file

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
        _check_numbers(self, "amplitude", "frequency", "phase", "offset")

    def evaluate(self, t: float, out: Floats) -> None:
        angle = self.frequency * t + self.phase
        out[0] = self.offset + self.amplitude * sin(angle)
        out[1] = self.amplitude * self.frequency * cos(angle)
        out[2] = -self.amplitude * self.frequency * self.frequency * sin(angle)


@dataclass(frozen=True, eq=False)
class Spline(Signal):
    """C2 cubic spline through a table. Outside the table it holds its end values, or repeats if periodic.

    Parameters
    ----------
    times, values : arrays (n,)
        The table, with increasing times.
    ends : "clamped", "natural", "not-a-knot" or "periodic"
        End condition; "clamped" (the default) starts and stops with rate zero, so that the signal stays
        continuously differentiable where it is held.

    Examples
    --------
    >>> Spline([0.0, 1.0], [0.0, 2.0]).at(0.5).value
    1.0
    """

    times: ArrayLike = structure()
    values: ArrayLike = structure()
    ends: str = structure(default="clamped")
    knots: Any = field(default=None, init=False, repr=False)
    table: Any = field(default=None, init=False, repr=False)
    periodic: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def example(cls) -> "Spline":
        return cls(times=[0.0, 1.0], values=[0.0, 1.0])

    def __post_init__(self) -> None:
        from .fields import as_numbers  # which imports this file

        t = as_numbers(self.times, "Spline.times", "a column of numbers", (None,))
        y = as_numbers(self.values, "Spline.values", "a column of numbers", (None,))
        if t.shape != y.shape or len(t) < 2 or not np.all(np.diff(t) > 0.0):
            raise ElementError("Spline: times and values must be equally long, at least 2, times increasing.")
        if self.ends not in ("clamped", "natural", "not-a-knot", "periodic"):
            raise ElementError(
                f"Spline: ends is {self.ends!r}; wanted clamped, natural, not-a-knot or periodic."
            )
        if self.ends == "periodic" and y[0] != y[-1]:
            raise ElementError("Spline: a periodic table must end with the value it starts with.")
        from .shared.splines import cubic_coefficients

        object.__setattr__(self, "knots", t)
        object.__setattr__(
            self, "table", np.ascontiguousarray(cubic_coefficients(t, y, self.ends).T[:, ::-1])
        )
        object.__setattr__(self, "periodic", float(self.ends == "periodic"))

    @property
    def breaks(self) -> tuple[float, ...]:
        return () if self.periodic else (float(self.knots[0]), float(self.knots[-1]))

    def evaluate(self, t: float, out: Floats) -> None:
        n = len(self.knots) - 1
        x = t
        if self.periodic > 0.5:
            period = self.knots[n] - self.knots[0]
            x = x - period * floor((x - self.knots[0]) / period)
        held = x < self.knots[0] or x > self.knots[n]
        x = min(max(x, self.knots[0]), self.knots[n])
        low, high = 0, n
        while high - low > 1:
            middle = (low + high) // 2
            if self.knots[middle] <= x:
                low = middle
            else:
                high = middle
        x = x - self.knots[low]
        a, b, c, d = self.table[low, 0], self.table[low, 1], self.table[low, 2], self.table[low, 3]
        out[0] = a + x * (b + x * (c + x * d))
        out[1] = 0.0 if held else b + x * (2.0 * c + x * 3.0 * d)
        out[2] = 0.0 if held else 2.0 * c + 6.0 * x * d


@dataclass(frozen=True, eq=False)
class Steps(Signal):
    """Values of a table, each held until the next time: what a digital controller gave out.

    The first value holds before the first time too. It jumps, so no coordinate can be prescribed to follow it.

    Parameters
    ----------
    times, values : arrays (n,)
        The table, with increasing times.

    Examples
    --------
    >>> Steps([0.0, 1.0], [2.0, 5.0]).at(0.9).value
    2.0
    """

    times: ArrayLike = structure()
    values: ArrayLike = structure()
    knots: Any = field(default=None, init=False, repr=False)
    table: Any = field(default=None, init=False, repr=False)

    @classmethod
    def example(cls) -> "Steps":
        return cls(times=[0.0, 1.0], values=[0.0, 1.0])

    def __post_init__(self) -> None:
        from .fields import as_numbers  # which imports this file

        t = as_numbers(self.times, "Steps.times", "a column of numbers", (None,))
        y = as_numbers(self.values, "Steps.values", "a column of numbers", (None,))
        if t.shape != y.shape or len(t) < 1 or not np.all(np.diff(t) > 0.0):
            raise ElementError("Steps: times and values must be equally long, at least 1, times increasing.")
        object.__setattr__(self, "knots", t)
        object.__setattr__(self, "table", y)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(self.knots.tolist()[1:])

    def evaluate(self, t: float, out: Floats) -> None:
        low, high = 0, len(self.knots)
        while high - low > 1:
            middle = (low + high) // 2
            if self.knots[middle] <= t:
                low = middle
            else:
                high = middle
        out[0] = self.table[low]
        out[1] = 0.0
        out[2] = 0.0


@dataclass(frozen=True, eq=False)
class Function(Signal):
    """Function of time written in plain Python; its rates come from jet numbers.

    >>> Function(lambda t: 3.0 * t * t).at(2.0)
    SignalValue(value=12.0, rate=12.0, acceleration=6.0)

    Parameters
    ----------
    function : callable
        value = function(t), compiled without changes.
    break_times : sequence of numbers
        Times where value, rate or acceleration jumps.
    """

    function: Any
    break_times: tuple[float, ...] = structure(default=())

    @classmethod
    def example(cls) -> "Function":
        return cls(lambda t: 0.5 * t * t)

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", _function_of_time(self.function, "Function"))

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(float(t) for t in self.break_times)

    def value(self, t: float) -> float:
        return float(self.function(t))


def _check_numbers(signal: Signal, *names: str) -> None:
    """Refuse fields that are no finite numbers."""
    from .fields import make_numbers  # which imports this file

    make_numbers(signal, *names)


def _why(error: BaseException) -> str:
    """Explain the error to the author: its cause, or what to write instead."""
    cause = error.__cause__
    if isinstance(error, ElementError) and cause is not None and not isinstance(cause, ElementError):
        return f"{type(cause).__name__}: {cause}"
    return (
        "numba cannot compile it for numbers that carry their rates. Write it with plain numbers and functions of math or numpy, "
        "or give a table: tm.Spline(times, values)."
    )


def _function_of_time(given: Any, what: str) -> Callable[[float], float]:
    """Return a function of one argument that can be compiled; refuse anything else."""
    if isinstance(given, (np.ufunc, BuiltinFunctionType)):  # np.sin, math.exp
        return lambda t: given(t)  # type: ignore[no-any-return]
    plain = getattr(given, "py_func", given)
    if not inspect.isfunction(plain):
        raise ElementError(
            f"{what} is {given!r}; wanted a function of t, def or lambda, that numba can compile. What objects compute goes into "
            "a table: tm.Spline(times, values)."
        )
    own = inspect.signature(plain).parameters.values()
    needed = [p.name for p in own if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    if len(needed) > 1 or not own:
        raise ElementError(
            f"{what} is a function of {', '.join(needed) or 'nothing'} ({plain.__name__}); wanted one of t alone."
        )
    function: Callable[[float], float] = given
    return function


def as_signal(value: Any, what: str) -> Signal:
    """Return a signal unchanged, a number as a Constant, a callable as a Function, a table (times, values) as a Spline."""
    if isinstance(value, Signal):
        return value
    if isinstance(value, tuple | list) and len(value) == 2 and np.ndim(value[0]) == 1:
        return Spline(value[0], value[1], ends="not-a-knot" if len(value[0]) > 3 else "natural")
    if callable(value):
        return Function(_function_of_time(value, what))
    try:
        number = as_float(value)
    except (TypeError, ValueError):
        raise ElementError(
            f"{what} is {shortened(value)}: wanted a signal, a number, a function of t, or a table (times, values)."
        ) from None
    if not np.isfinite(plain(number)):
        raise ElementError(f"{what} is {value!r}: wanted a finite number.")
    return Constant(number)
