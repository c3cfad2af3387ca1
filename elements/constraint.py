"""Constraint elements: equations on the relative motion of two ends, without own coordinates (5.3.17)."""

from math import prod
from typing import ClassVar, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from .element import Element


class RelativeMotion(NamedTuple):
    """Motion of end b relative to end a, in the base of end a: c' = v, C' = [w x] C."""

    offset: Floats  # c (3,)
    rotation: Floats  # C (3, 3)
    velocity: Floats  # v (3,)
    angular_velocity: Floats  # w (3,)
    s: Floats  # (na,) auxiliary unknowns
    s_rate: Floats  # (na,)


class Rows(NamedTuple):
    """Equations of a constraint, one row each. Arrives zeroed.

    velocity        force . v  + moment . w  + auxiliary . s'  + drift = 0
    acceleration    force . v' + moment . w' + auxiliary . s'' + bias  = 0
    """

    residual: Floats  # (n,), zero in nonholonomic rows
    drift: Floats  # (n,)
    bias: Floats  # (n,)
    force: Floats  # (n, 3)
    moment: Floats  # (n, 3)
    auxiliary: Floats  # (n, na)


def rows_layout(n_rows: int, n_auxiliary: int) -> list[tuple[str, tuple[int, ...], int]]:
    """Return (name, shape, start) of each quantity in the flat record of rows."""
    layout, start = [], 0
    for name in Rows._fields:
        shape: tuple[int, ...] = {
            "force": (n_rows, 3),
            "moment": (n_rows, 3),
            "auxiliary": (n_rows, n_auxiliary),
        }.get(name, (n_rows,))
        layout.append((name, shape, start))
        start += prod(shape)
    return layout


def rows_size(n_rows: int, n_auxiliary: int) -> int:
    """Return the length of the flat record of rows."""
    return n_rows * (9 + n_auxiliary)


def rows_views(record: Floats, n_rows: int, n_auxiliary: int) -> Rows:
    """Return the flat record as Rows of views."""
    layout = rows_layout(n_rows, n_auxiliary)
    return Rows(*(record[start : start + prod(shape)].reshape(shape) for _, shape, start in layout))


class Constraint(Element):
    """The contract of a constraint. A subclass is a frozen dataclass; its fields are its parameters.

    Offset c, rotation C, velocity v and angular velocity w are those of end b relative to end a, in the base
    of end a: c' = v, C' = [w x] C.

    1. ``n_holonomic`` and ``n_nonholonomic`` count the equations on position and on velocity. ``n_auxiliary``
       counts massless unknowns s (contact parameters) of the element; each of them adds one equation on
       position. These are class attributes, or properties that depend on structure() fields.
    2. Write ``residual(self, offset, rotation, s, t, f)``: n_holonomic + n_auxiliary equations f = 0; and,
       for equations on velocity, ``slip(self, offset, rotation, velocity, angular_velocity, s, t, f)``:
       n_nonholonomic equations f = 0, linear in velocity and angular_velocity. f arrives zeroed; a signal
       field is a number. The rows follow exactly from the same source compiled for jet numbers.
    3. Or write ``evaluate(self, motion, t, rows)``: from the RelativeMotion it fills in all Rows, first the
       equations of ``residual``, then the equations of ``slip``. Here a signal field has value, rate and
       acceleration. If residual or slip exist too, `tm.check` compares them with evaluate.
    4. ``force`` and ``moment`` are the load of a multiplier of one on the body of end b, at the point of end
       b, in the base of end a. Neither they nor ``auxiliary`` and ``drift`` depend on velocities.
    5. Plain scalar Python is enough and best. It must depend on its arguments and fields only.
    6. The rows must be independent, and ``auxiliary`` of rank n_auxiliary, where the constraint is used.
    7. Optional: ``auxiliary()`` (start values of s), ``sample(rng, t)`` (a configuration for the check), and
       ``unilateral``: the first equation is a gap that may open, f > 0, but not become negative. The
       constraint releases when its multiplier would become negative, and holds again when the gap returns to
       zero. (The first equation must not depend on s to first order where it holds.)

    `tm.check(constraint)` checks all of this.
    """

    n_holonomic: int = 0
    n_nonholonomic: int = 0
    n_auxiliary: int = 0
    unilateral: bool = False
    is_constraint: ClassVar[bool] = True
    author_methods = ("residual", "slip")

    @property
    def n_rows(self) -> int:
        return self.n_holonomic + self.n_auxiliary + self.n_nonholonomic

    def evaluate(self, motion: RelativeMotion, t: float, rows: Rows) -> None:
        raise ElementError(f"{self.kind} has neither evaluate() nor residual() or slip(): write one of them.")

    def auxiliary(self) -> Floats:
        """Return the start values of s."""
        return np.zeros(self.n_auxiliary)

    def sample(self, rng: "np.random.Generator", t: float) -> tuple[Floats, Floats, Floats]:
        """Return (offset, rotation, s) at random for `tm.check`; they need not satisfy the constraint."""
        e = rng.normal(size=4)
        e0, (a, b, c) = e[0], e[1:]
        x = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
        rotation = np.eye(3) + 2.0 * (e0 * x + x @ x) / (e @ e)
        s = np.asarray(self.auxiliary(), dtype=np.float64) + rng.uniform(-1.0, 1.0, self.n_auxiliary)
        return rng.uniform(-1.0, 1.0, 3), rotation, s

    def rows(self, motion: RelativeMotion, t: float = 0.0) -> Rows:
        """Evaluate the rows at one motion once and return them.

        Python evaluates them, or the compiled function if the author wrote residual and slip.
        """
        record = np.zeros(rows_size(self.n_rows, self.n_auxiliary))
        rows = rows_views(record, self.n_rows, self.n_auxiliary)
        if type(self).evaluate is Constraint.evaluate:
            from .compilation.entry import call  # imported here because it compiles

            a = np.concatenate([np.ravel(x) for x in motion[:4]]).astype(np.float64)
            call(self, "constraint", a, np.concatenate(motion[4:]), t, record)
        else:
            from .compilation.callback import python_self

            type(self).evaluate(python_self(self, t), motion, t, rows)
        return rows
