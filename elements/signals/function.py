"""Signal given by a function of time in Python."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from treemech.topology.errors import ElementError

from ..element import structure
from ..signal import Signal


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
        object.__setattr__(self, "function", function_of_time(self.function, "Function"))

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(float(t) for t in self.break_times)

    def value(self, t: float) -> float:
        return float(self.function(t))


def function_of_time(given: Any, what: str) -> Callable[[float], float]:
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
