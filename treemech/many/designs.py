"""Numbers of the model of many designs: what parameters make of the arrays of a Plan, a row for each design.

The description is repeated once with recorded numbers; the tape then gives the rows of all designs together. Where that is
not possible (an element that calls `math`, a table that depends on a parameter), every design is refilled by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.calls.row_steps import Numbers
from treemech.dynamics.model.core import Core
from treemech.elements.native.cache import log
from treemech.kinematics.layout.layout import Layout
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats, Ints

from ..description.refill import NoRefill, Refill, beside
from .recorded import Recorded, Tape

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from .job import Rows

_FACTORS = (1.0 + 2.0**-7, 1.0 - 2.0**-9, 1.0)  # of the parameters: recorded at the first, compared at all
_AGREE = 1e-11  # relative difference of two ways to a number
_HUGE = 1e12


class Numbered(NamedTuple):
    """Numbers of some designs, a row for each."""

    places: Ints  # in all numbers of the model, one after the other
    table: Floats  # (N, len(places))
    start: Floats  # (N, nz) states and memory of elements
    good: NDArray[
        np.bool_
    ]  # designs that have no row here are built anew, which says what is wrong with them


def arrays_of(layout: Layout, parameters: Floats | None = None) -> list[Floats]:
    """Return the arrays whose numbers depend on parameters; in a core the records of elements have a place of their own."""
    plan = layout.plan
    return [
        plan.constants, plan.end_points, plan.gravity, layout.parameters if parameters is None else parameters,
        layout.chords.plan.place,
    ]  # fmt: skip


def numbers_at(core: Core, places: Ints, scales: bool = False) -> Numbers:
    """Return where these numbers are in the arrays of a core; with the usual sizes of its constraint rows behind them."""
    arrays = arrays_of(core.layout, core.work.parameters)
    parts = split_places(places, [a.size for a in arrays])
    if scales and core.loops is not None:
        arrays.append(core.loops.work.scale)
        parts.append(np.arange(core.loops.n_kept))
    return Numbers(core, arrays, parts)


def split_places(places: Ints, sizes: Sequence[int]) -> list[Ints]:
    """Return places in all numbers as places in each of the arrays."""
    ends = np.cumsum([0, *sizes])
    return [places[(places >= a) & (places < b)] - a for a, b in pairwise(ends.tolist())]


class Designs:
    """Numbers that follow from some parameters of a mechanism."""

    def __init__(self, mech: Mechanism, refill: Refill) -> None:
        self.mech, self.refill = mech, refill
        self.known = {**refill.origin.values, **mech.parameters}
        self.base = _flat(mech._layout)
        self.n_start = len(mech._layout.efforts.start)
        self.tape: _Taped | None = None
        try:
            self.tape = _Taped(self)
        except (
            TreemechError,
            NoRefill,
            ArithmeticError,
            AttributeError,
            TypeError,
            ValueError,
            LookupError,
        ) as error:
            log.info("designs of %r are refilled one by one: %s", mech.name, error)

    @classmethod
    def of(cls, mech: Mechanism, names: Iterable[str]) -> Designs | None:
        """Return the numbers by these parameters; None if they decide more than numbers."""
        wanted = list(names)
        mech._refilling.announce(wanted)
        refill = mech._refilling.refill(wanted)
        return None if refill is None else cls(mech, refill)

    def __call__(self, rows: Rows) -> Numbered:
        """Return the numbers of these rows."""
        if self.tape is not None:
            return self.tape(rows)
        n = rows.count
        full, start, good = np.tile(self.base, (n, 1)), np.zeros((n, self.n_start)), np.ones(n, dtype=bool)
        for k in range(n):
            try:
                layout = self.refill({**self.known, **rows.parameters_of(k)}).layout
            except TreemechError:
                good[k] = False
                continue
            full[k], start[k] = _flat(layout), layout.efforts.start
        places = np.flatnonzero((full != self.base).any(axis=0))
        return Numbered(places, np.ascontiguousarray(full[:, places]), start, good)


class _Taped:
    """Numbers on a tape, compared with designs that were refilled."""

    def __init__(self, designs: Designs) -> None:
        self.tape, refill = Tape(), designs.refill
        values: dict[str, Any] = dict(designs.known)
        for name in sorted(refill.names):
            values[name] = self.tape.parameter(name, beside(designs.known[name], _FACTORS[0]))
        layout = refill(values, object).layout
        self.places, self.steps = _recorded(_flat(layout))
        self.started, self.start_steps = _recorded(layout.efforts.start)
        self.known, self.start = designs.known, designs.mech._layout.efforts.start
        for factor in _FACTORS:
            own = {**designs.known, **{n: beside(designs.known[n], factor) for n in refill.names}}
            wanted = refill(own).layout
            found = self.numbers({n: np.array([x]) for n, x in own.items()}, 1)
            full, start = designs.base.copy(), self.start.copy()
            full[self.places] = found.table[0]
            start = found.start[0]
            if not (found.good[0] and _agree(full, _flat(wanted)) and _agree(start, wanted.efforts.start)):
                raise TypeError("recorded numbers are others than those of a design")

    def __call__(self, rows: Rows) -> Numbered:
        n = rows.count
        given = {name: np.full(n, self.known[name]) for name in self.tape.names} | dict(rows.parameters)
        return self.numbers(given, n)

    def numbers(self, columns: dict[str, Floats], n: int) -> Numbered:
        found, good = self.tape.numbers([*self.steps, *self.start_steps], columns, n)
        start = np.tile(self.start, (n, 1))
        start[:, self.started] = found[:, len(self.steps) :]
        return Numbered(self.places, np.ascontiguousarray(found[:, : len(self.steps)]), start, good)


def _flat(layout: Layout) -> Floats:
    return np.concatenate([a.ravel() for a in arrays_of(layout)])


def _recorded(numbers: Any) -> tuple[Ints, list[int]]:
    """Return which numbers of an array are recorded, and their steps."""
    which = [k for k, x in enumerate(numbers.flat) if isinstance(x, Recorded) and x.number is not None]
    return np.array(which, dtype=np.int64), [numbers.flat[k].number for k in which]


def _agree(a: Floats, b: Floats) -> bool:
    size = float(np.max(np.abs(b), where=np.abs(b) < _HUGE, initial=0.0))
    return bool(np.allclose(a, b, rtol=_AGREE, atol=1e-13 * size))
