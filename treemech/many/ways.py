"""Close the chains of many designs on the branch of the reference design: what `assembly/branch.py` does, a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.calls.row_constraints import RowConstraints
from treemech.kinematics.branch import follow
from treemech.topology.arrays import Floats

from .closing import closed_positions, nearest_closed
from .job import Rows

if TYPE_CHECKING:
    from .designs import Designs

Mask = NDArray[np.bool_]


class Ways:
    """Straight ways of parameters from their declared values to those of some designs."""

    def __init__(self, designs: Designs, at: RowConstraints, t: float, free: Mask, rows: Rows) -> None:
        self.designs, self.at, self.t, self.free = designs, at, t, free
        origin = designs.mech._origin
        assert origin is not None
        own = {name: np.full(rows.count, x) for name, x in origin.values.items()} | dict(rows.parameters)
        names = sorted(designs.refill.names)
        self.declared = {name: origin.declared[name] for name in names}
        self.last = {name: own[name] for name in names}
        self.holonomic = ~designs.mech._core.layout.chords.nonholonomic

    def closed(self, start: Floats, table: Floats, sizes: Floats) -> tuple[Floats, Mask]:
        """Return closed positions, and which were found; others are left to a search of their own."""
        q, found = start.copy(), np.zeros(len(start), dtype=bool)
        if self.designs.tape is None:  # every design has other places for its numbers
            return q, found
        here = np.all([x == self.declared[name] for name, x in self.last.items()], axis=0)
        starts, which = np.unique(start, axis=0, return_inverse=True)
        first = self.designs(Rows(1, {name: np.array([x]) for name, x in self.declared.items()}, {}))
        if not first.good[0]:
            return q, found
        numbers = np.repeat(first.table, len(starts), axis=0)
        mech, arguments = self.designs.mech, (self.at, self.t)
        size = np.full(len(starts), self._size_declared())
        closed, known = closed_positions(mech, *arguments, starts, self.free, numbers, size)
        which = which.reshape(-1)
        goes = known[which]
        ways = np.flatnonzero(goes)
        way = follow(mech._lagrange, closed[which[ways]], lambda q, k, s: self._evaluate(q, ways[k], s))
        there = ways[way.reached == 1.0]
        q[ways] = way.q
        q[there], found[there] = nearest_closed(
            mech, *arguments, q[there], self.free, table[there], sizes[there]
        )
        same = here & goes
        q[same], found[same] = closed[which[same]], True
        if not known.all():  # the reference design does not close with these arguments
            left = np.flatnonzero(~goes)
            q[left], found[left] = closed_positions(
                mech, *arguments, start[left], self.free, table[left], sizes[left]
            )
        return q, found

    def _evaluate(self, q: Floats, which: NDArray[np.int64], s: Floats) -> tuple[Floats, Floats]:
        columns = {
            name: first + s * (self.last[name][which] - first) for name, first in self.declared.items()
        }
        numbered = self.designs(Rows(len(which), columns, {}))
        now = self.at.constraints(self.t, q, np.zeros((len(q), self.designs.mech.nu)), numbered.table)
        residual = np.where(numbered.good[:, None], now.residual * self.holonomic, np.nan)
        return residual, now.partials * (self.holonomic[:, None] & self.free)

    def _size_declared(self) -> float:
        from ..analyses.constraints import size
        from ..description.parameters import reference_of

        return size(reference_of(self.designs.mech) or self.designs.mech)
