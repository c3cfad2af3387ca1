"""Signals given by a table of numbers: a spline through it, or steps."""

from dataclasses import dataclass, field
from math import floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..element import structure
from ..fields import as_numbers
from ..shared.splines import cubic_coefficients
from ..signal import Signal


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
