"""Constraints inside a series of hinges: explicit equations between its coordinates (7.2.1-3), (7.2.9)."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..compilation.members import address_at, call_element, stack_array
from ..constraint import Constraint
from ..coupling import Coupling, CouplingRows
from ..element import Element, record, structure
from .series import (
    ALPHA,
    PARTIAL_V,
    PARTIAL_W,
    V0,
    W0,
    A,
    R,
    Series,
    V,
    W,
    X,
    carry,
    cross,
    follow,
    plus,
    set_three,
    three,
    times,
    turn,
    turned,
    turned_back,
)

if TYPE_CHECKING:
    from ..compilation.callback import Entry

# Indices in `numbers`: address, record and rows of the constraint, its ends (frame, offset, rotation), the series
ADDRESS, RECORD, N_ROWS, END_A, END_B, SERIES = 0, 1, 2, 3, 16, 29


class SeriesEnd(NamedTuple):
    """End of a constraint: the number of members before it, and its place in the frame behind them."""

    stage: int
    offset: Floats
    rotation: Floats


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SeriesRows(Coupling):
    """Equations of a constraint between two frames of a series, in the coordinates of the series.

    With the partials v_k, w_k of the relative motion of its ends (5.3.7-15), y = (v, w), and its rows::

        P = force . v_k + moment . w_k      P0 = drift + (force, moment) . y0      P00 = bias + (force, moment) . y00

    The printed (7.2.10) has a wrong sign of P0; it should read P1 g1' = -(P2 g2' + P0).
    """

    numbers: Any
    constraint: Constraint = structure()
    series: Series = structure()
    sizes_at: ClassVar[tuple[int, ...]] = (
        1 + N_ROWS,
        1 + SERIES + 1,
    )  # indices of the numbers of rows and arguments in the record

    def __init__(self, constraint: Constraint, series: Series, a: SeriesEnd, b: SeriesEnd) -> None:
        if constraint.n_auxiliary or constraint.unilateral or constraint.n_rows > 6:
            raise ElementError(
                f"{constraint.kind} cannot stand inside an assembly: it has unknowns of its own, lets go, or has more than six "
                "equations. Make its frame a body."
            )
        ends = [np.concatenate(([e.stage], e.offset, np.ravel(e.rotation))) for e in (a, b)]
        start = SERIES + len(series.numbers)
        numbers = np.concatenate(
            ([0.0, start, constraint.n_rows], *ends, series.numbers, record(constraint)[0])
        )
        for name, value in (
            ("constraint", constraint), ("series", series), ("numbers", numbers),
            ("n_holonomic", constraint.n_holonomic), ("n_nonholonomic", constraint.n_nonholonomic),
            ("n_arguments", series.n_coordinates),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @classmethod
    def example(cls) -> "SeriesRows":
        from .. import Distance

        a = SeriesEnd(0, np.array((0.0, 0.5, 0.0)), np.eye(3))
        b = SeriesEnd(1, np.array((1.0, 0.0, 0.0)), np.eye(3))
        return cls(Distance.example(), Series.example(), a, b)

    def __repr__(self) -> str:
        return f"SeriesRows({self.constraint!r} in {self.series!r})"

    @cached_property
    def _entry(self) -> "Entry":
        """The constraint as the core calls it; records that hold its address need it to stay."""
        from ..compilation.entry import make_entry

        return make_entry(self.constraint)

    def complete(self, numbers: Floats, signals: list[tuple[int, Any]]) -> None:
        self.series.complete_at(numbers, 1 + SERIES, signals)
        if numbers.dtype == object:
            numbers[1 + ADDRESS] = np.nan
        else:
            numbers[1 + ADDRESS] = self._entry.address
        start = 1 + int(self.numbers[RECORD])
        signals += [(start + at, signal) for at, signal in record(self.constraint)[1]]

    def members_at(self, start: int) -> list[tuple[int, Element]]:
        """Return the constraint and the hinges with the index of each address; the record begins at `start`."""
        return [(start + 1 + ADDRESS, self.constraint), *self.series.members_at(start + SERIES)]

    def sample(self, rng: "np.random.Generator", t: float) -> Floats:
        return self.series.sample(rng)

    def evaluate(self, q: Floats, u: Floats, t: float, rows: CouplingRows) -> None:
        a, b = stack_array("float", 1, (66,)), stack_array("float", 1, (66,))
        motion, s, found = (
            stack_array("float", 1, (18,)),
            stack_array("float", 1, (1,)),
            stack_array("float", 1, (54,)),
        )
        numbers = self.numbers
        n = int(numbers[SERIES + 1])
        for end, frame in ((END_A, a), (END_B, b)):
            if follow(numbers, SERIES, int(numbers[end]), q, u, t, frame) != 1:
                raise RuntimeError("a hinge of the assembly failed")
            carry(frame, turned(frame, R, three(numbers, end + 1)), n)
            turn(frame, numbers, end + 4)
        d = plus(three(b, X), times(-1.0, three(a, X)))
        set_three(motion, 0, turned_back(a, R, d))
        for i in range(3):
            for j in range(3):
                motion[3 + 3 * i + j] = (
                    a[R + i] * b[R + j] + a[R + 3 + i] * b[R + 3 + j] + a[R + 6 + i] * b[R + 6 + j]
                )
        v, w = relative(a, b, d, V, W)
        set_three(motion, 12, turned_back(a, R, v))
        set_three(motion, 15, turned_back(a, R, w))
        if (
            call_element(
                address_at(numbers, ADDRESS), motion, 0, s, 0, t, numbers, int(numbers[RECORD]), found, 0
            )
            != 1
        ):
            raise RuntimeError("a constraint of the assembly failed")
        v0, w0 = relative(a, b, d, V0, W0)
        omega = three(a, W)
        acceleration, turning = relative(
            a, b, d, A, ALPHA
        )  # (5.2.8), (5.2.18) solved for the relative motion
        carried = plus(cross(omega, cross(omega, d)), times(2.0, cross(omega, v)))
        acceleration = plus(acceleration, times(-1.0, carried))
        turning = plus(turning, times(-1.0, cross(omega, w)))
        m = int(numbers[N_ROWS])
        for r in range(m):
            force = turned(a, R, three(found, 3 * (m + r)))
            moment = turned(a, R, three(found, 3 * (2 * m + r)))
            rows.residual[r] = found[r]
            rows.drift[r] = found[m + r] + dot(force, v0) + dot(moment, w0)
            rows.bias[r] = found[2 * m + r] + dot(force, acceleration) + dot(moment, turning)
            for k in range(n):
                vk, wk = relative(a, b, d, PARTIAL_V + 3 * k, PARTIAL_W + 3 * k)
                rows.partials[r, k] = dot(force, vk) + dot(moment, wk)


def relative(a, b, d, v, w):  # type: ignore[no-untyped-def]
    """Return the rates (translation, rotation) of frame b relative to frame a, at b; v, w are their columns."""
    turning = three(a, w)
    carried = plus(three(a, v), cross(turning, d))
    return plus(three(b, v), times(-1.0, carried)), plus(three(b, w), times(-1.0, turning))


def dot(a, b):  # type: ignore[no-untyped-def]
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
