"""Point on a height field: a surface z(x, y) through a table of heights."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_floats, plain

from ..constraint import Constraint
from ..element import structure
from ..shared.splines import cubic_coefficients


@dataclass(frozen=True, eq=False)
class PointOnHeightField(Constraint):
    """The point of end b stays on the surface z = h(x, y) in the base of end a; end b turns freely.

    One holonomic row, with h a bicubic spline through a table (continuous second derivatives)::

        f = c_z - h(c_x, c_y)

    Outside the table the surface continues with its outermost pieces.

    Parameters
    ----------
    x, y : arrays (n,), (m,)
        The grid: at least 4 increasing numbers each [m].
    heights : array (n, m)
        h at the grid points [m].

    Examples
    --------
    >>> x = np.linspace(0.0, 3.0, 7)
    >>> PointOnHeightField(x, x, np.outer(x, x)).n_holonomic
    1
    """

    x: Any = structure()
    y: Any = structure()
    heights: Any = structure()
    knots_x: Any = field(default=None, init=False, repr=False)
    knots_y: Any = field(default=None, init=False, repr=False)
    table: Any = field(default=None, init=False, repr=False)
    n_holonomic = 1

    @classmethod
    def example(cls) -> "PointOnHeightField":
        return cls(x=range(4), y=range(4), heights=[range(4)] * 4)

    def __post_init__(self) -> None:
        x, y, h = (as_floats(a) for a in (self.x, self.y, self.heights))
        for name, knots in (("x", x), ("y", y)):
            if knots.ndim != 1 or len(knots) < 4 or not np.all(np.diff(knots) > 0.0):
                raise ElementError(f"PointOnHeightField.{name}: wanted at least 4 increasing numbers.")
        if h.shape != (len(x), len(y)) or not np.all(np.isfinite(plain(h))):
            raise ElementError(
                f"PointOnHeightField.heights has shape {h.shape}; wanted {(len(x), len(y))} finite numbers, one row "
                "for each x."
            )
        along_x = cubic_coefficients(x, h)  # [power of x, piece, y]
        both = cubic_coefficients(y, np.moveaxis(along_x, 2, 0))  # [power of y, piece, power of x, piece]
        table = both.transpose(3, 1, 2, 0)[:, :, ::-1, ::-1]  # [piece, piece, power of x, power of y], rising
        for name, value in (("knots_x", x), ("knots_y", y), ("table", np.ascontiguousarray(table))):
            object.__setattr__(self, name, value)

    def sample(self, rng: "np.random.Generator", t: float) -> tuple[Floats, Floats, Floats]:
        offset, rotation, s = super().sample(rng, t)
        offset[0] = rng.uniform(self.knots_x[0], self.knots_x[-1])
        offset[1] = rng.uniform(self.knots_y[0], self.knots_y[-1])
        return offset, rotation, s

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        i, j = piece_of(self.knots_x, offset[0]), piece_of(self.knots_y, offset[1])
        x, y = offset[0] - self.knots_x[i], offset[1] - self.knots_y[j]
        height = 0.0 * x
        for p in range(3, -1, -1):
            a = self.table[i, j, p]
            height = height * x + (a[0] + y * (a[1] + y * (a[2] + y * a[3])))
        f[0] = offset[2] - height


def piece_of(knots, x):  # type: ignore[no-untyped-def]
    """Return the index of the piece of a table that holds x; outside, the first or last piece."""
    low, high = 0, len(knots) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= x:
            low = middle
        else:
            high = middle
    return low
