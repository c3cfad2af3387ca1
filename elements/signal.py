"""Signals: given functions of time, with their rate and acceleration (inputs, motions, moving scalars)."""

from typing import Any, ClassVar

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_float, plain

from .element import Element, SignalValue


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

        >>> from treemech import Polynomial
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


def _why(error: BaseException) -> str:
    """Explain the error to the author: its cause, or what to write instead."""
    cause = error.__cause__
    if isinstance(error, ElementError) and cause is not None and not isinstance(cause, ElementError):
        return f"{type(cause).__name__}: {cause}"
    return (
        "numba cannot compile it for numbers that carry their rates. Write it with plain numbers and functions of math or numpy, "
        "or give a table: tm.Spline(times, values)."
    )


def as_signal(value: Any, what: str) -> Signal:
    """Return a signal unchanged, a number as a Constant, a callable as a Function, a table (times, values) as a Spline."""
    if isinstance(value, Signal):
        return value
    if isinstance(value, tuple | list) and len(value) == 2 and np.ndim(value[0]) == 1:
        from .signals.tables import Spline

        return Spline(value[0], value[1], ends="not-a-knot" if len(value[0]) > 3 else "natural")
    if callable(value):
        from .signals.function import Function, function_of_time

        return Function(function_of_time(value, what))
    try:
        number = as_float(value)
    except (TypeError, ValueError):
        from reprlib import repr as shortened

        raise ElementError(
            f"{what} is {shortened(value)}: wanted a signal, a number, a function of t, or a table (times, values)."
        ) from None
    if not np.isfinite(plain(number)):
        raise ElementError(f"{what} is {value!r}: wanted a finite number.")
    from .signals.formulas import Constant

    return Constant(number)
