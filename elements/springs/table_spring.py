"""Spring and damper between two points with tables instead of constants."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_float

from ..element import structure
from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, make_signals, warn_negative
from ..shared.line import line_between, one_sided, pull, side_of
from ..shared.table import START, VALUE, make_table, shifted, table_area, table_value, zero_of


@dataclass(frozen=True, eq=False)
class TableSpring(Energetic):
    """Spring and damper between two points, both given by tables.

    The tension is table(l) + damping l' + damping_table(l') + force. Beyond its rows a table continues as a
    straight line. The energy counts from `length`, the first zero of the table, or from its first row. With
    `only`, spring and damper act on one side of `length`, as in `Spring`.

    Parameters
    ----------
    table : rows (length [m], tension [N]), lengths increasing
    damping_table : rows (rate [m/s], tension [N]), rates increasing; 0 at 0
    interpolation : "spline" (C2, natural ends) or "linear"
    damping : float [N s/m]
    force : number, signal or function of t [N]
    only : None, "tension" or "compression"

    Examples
    --------
    >>> TableSpring([(0.8, -20.0), (1.0, 0.0), (1.3, 60.0)], interpolation="linear").length
    1.0
    """

    table: Any = structure()
    damping_table: Any = structure(default=None)
    interpolation: str = structure(default="spline")
    damping: float = 0.0
    force: Any = 0.0
    only: str | None = structure(default=None)
    side: float = field(default=0.0, init=False, repr=False)
    length: float = field(default=0.0, init=False, repr=False)
    spring: Any = field(default=None, init=False, repr=False)
    damper: Any = field(default=None, init=False, repr=False)
    n_deformations = 1

    @classmethod
    def example(cls) -> "TableSpring":
        return cls([(0.0, 0.0), (1.0, 1.0)])

    def __post_init__(self) -> None:
        make_numbers(self, "damping")
        warn_negative(self, "damping")
        make_signals(self, "force")
        spring = make_table(self.table, self.interpolation, f"{self.kind}.table")
        damper = make_table(self.damping_table, self.interpolation, f"{self.kind}.damping_table")
        if np.any(damper[:, START] * damper[:, VALUE] < 0.0) or abs(
            table_value(damper, 0.0)
        ) > 1e-12 * np.max(np.abs(damper[:, VALUE])):
            raise ElementError(
                f"{self.kind}.damping_table drives: wanted tensions with the sign of their rates, and 0 at 0."
            )
        side, length = side_of(self), zero_of(spring)
        if side and length is None:
            raise ElementError(
                f"{self.kind}.table has no zero between its rows: with only={self.only!r} it must hold the length "
                "without tension."
            )
        length = as_float(spring[0, START]) if length is None else length
        beyond = side * (spring[:, START] - length) > 0.0
        if np.any(side * spring[beyond, VALUE] < 0.0):
            raise ElementError(
                f"{self.kind}.table changes sign twice: that is no spring for only={self.only!r}."
            )
        for name, value in (
            ("side", side),
            ("length", length),
            ("spring", shifted(spring, length)),
            ("damper", damper),
        ):
            object.__setattr__(self, name, value)

    @property
    def one_sided(self) -> bool:  # type: ignore[override]
        return self.side != 0.0

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        size, rate, x, y, z = line_between(motion.position, motion.velocity)
        stretch, force = size - self.length, self.force.value
        elastic, passive = 0.0, 0.0
        if self.side * stretch >= 0.0:
            elastic = table_value(self.spring, size)
            viscous = self.damping * rate + table_value(self.damper, rate)
            passive = one_sided(self.side, elastic, viscous)
            out.energy[0] = table_area(self.spring, size)
            out.dissipated[0] = (passive - elastic) * rate
        pull(passive + force, x, y, z, out.force)
        out.supplied[0] = -force * rate
        out.deformation[0] = stretch
        out.effort[0] = passive + force
