"""Numbers of the model that differ from row to row of a batch, because parameters do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.calls.row_constraints import RowConstraints
from treemech.dynamics.calls.row_steps import Numbers
from treemech.dynamics.model.core import Core
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from .designs import Designs, arrays_of, numbers_at, split_places
from .job import Rows

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def _arrays(core: Core) -> list[Floats]:
    """Return the arrays of a core whose numbers depend on parameters."""
    found = arrays_of(core.layout, core.work.parameters)
    return found if core.loops is None else [*found, core.loops.work.scale]


class RowNumbers:
    """Values of the parameters of every row, and the numbers of the Plan that follow from them."""

    def __init__(self, mech: Mechanism, size: int) -> None:
        self.mech, self.size = mech, size
        self.values = {name: np.full(size, value) for name, value in mech.parameters.items()}
        self._seen = {name: x.copy() for name, x in self.values.items()}
        self._base = [a.copy() for a in _arrays(mech._core)]
        self.places = [np.zeros(0, dtype=np.int64) for _ in self._base]
        self.table = np.zeros((size, 0))
        self.version = 0  # of the places
        self._designs: dict[int, Mechanism] = {}
        self._by_names: dict[frozenset[str], Designs | None] = {}

    def refresh(self, failed: Collection[int]) -> dict[int, str]:
        """Compute the numbers of rows whose parameters have changed. Return the rows that cannot be built, and why."""
        changed = np.zeros(self.size, dtype=bool)
        for name, x in self.values.items():
            changed |= x != self._seen[name]
        which, refused = np.flatnonzero(changed).tolist(), dict[int, str]()
        if not which:
            return refused
        self.mech._refilling.announce(
            [n for n, x in self.values.items() if (x != self.mech.parameters[n]).any()]
        )
        for k in which:
            self._designs.pop(k, None)
        which = [k for k in which if k not in failed]
        if len(which) > 1:
            which = self._together(np.array(which))
        for k in which:
            try:
                core = self._design(k)._core
                if core.loops is not None and not np.array_equal(core.loops.kept, self._kept):
                    raise TreemechError(
                        "the constraints of this design are of another kind: give it a batch of its own."
                    )
            except TreemechError as error:
                refused[k] = f"parameters: {error}"
                continue
            self._write(k, _arrays(core))
            for name, x in self.values.items():
                self._seen[name][k] = x[k]
        return refused

    def _together(self, which: NDArray[np.int64]) -> list[int]:
        """Compute the numbers of rows that differ in numbers only. Return the rows that are left to be built."""
        mech, everything = self.mech, [int(k) for k in which]
        names = frozenset(n for n, x in self.values.items() if (x != mech.parameters[n]).any())
        if not names or mech._fast.pack is None:
            return everything
        if names not in self._by_names:
            self._by_names[names] = Designs.of(mech, names)
        designs = self._by_names[names]
        if designs is None:
            return everything
        found = designs(Rows(len(which), {n: self.values[n][which] for n in names}, {}))
        core, calls = self._checking
        places, table, good = found.places, found.table, found.good
        checks = RowConstraints(core, calls, numbers_at(core, places))
        sizes = [a.size for a in self._base[: len(arrays_of(core.layout))]]
        parts = split_places(places, sizes)
        if core.loops is None:
            good = good & checks.weighty(len(which), table)
        else:
            scales, regular = checks.scales(len(which), table)
            good, table = good & regular, np.hstack((table, scales))
            parts.append(np.arange(scales.shape[1]))
        rows = which[good]
        self._take_places(parts)
        self.table[rows] = np.concatenate(
            [b.ravel()[p] for b, p in zip(self._base, self.places, strict=True)]
        )
        ends = np.cumsum([0, *(len(p) for p in self.places)])
        at = np.concatenate(
            [
                end + np.searchsorted(all_, own)
                for end, all_, own in zip(ends, self.places, parts, strict=False)
            ]
        )
        self.table[np.ix_(rows, at)] = table[good]
        for name, x in self.values.items():
            self._seen[name][rows] = x[rows]
        return [int(k) for k in which[~good]]

    @cached_property
    def _checking(self) -> tuple[Core, Any]:
        """A core to look at designs with."""
        spaces = self.mech._workspaces.by_depth
        core = spaces.make()
        return core, spaces.calls(core)

    @property
    def _kept(self) -> np.ndarray:
        loops = self.mech._core.loops
        assert loops is not None
        return loops.kept

    def _write(self, k: int, arrays: list[Floats]) -> None:
        """Write the numbers of a row; take places into the table where it differs from the model."""
        self._take_places(
            [np.flatnonzero(a.ravel() != b.ravel()) for a, b in zip(arrays, self._base, strict=True)]
        )
        self.table[k] = np.concatenate([a.ravel()[p] for a, p in zip(arrays, self.places, strict=True)])

    def _take_places(self, more: Sequence[NDArray[np.int64]]) -> None:
        """Take places into the table where it has none yet."""
        if any(len(np.setdiff1d(m, p)) for m, p in zip(more, self.places, strict=True)):
            places = [np.union1d(m, p) for m, p in zip(more, self.places, strict=True)]
            table = np.tile(
                np.concatenate([b.ravel()[p] for b, p in zip(self._base, places, strict=True)]),
                (self.size, 1),
            )
            at = np.concatenate(
                [np.isin(new, old) for new, old in zip(places, self.places, strict=True)]
            )  # where the old numbers go
            table[:, at] = self.table
            self.places, self.table, self.version = places, table, self.version + 1

    def _design(self, k: int) -> Mechanism:
        return self.mech.with_parameters(**{name: float(x[k]) for name, x in self.values.items()})

    def mechanism(self, k: int) -> Mechanism:
        """Return the mechanism of a row."""
        if k not in self._designs:
            if len(self._designs) > 64:
                self._designs.clear()
            self._designs[k] = self._design(k)
        return self._designs[k]

    def of(self, core: Core) -> Numbers:
        """Return the places in the arrays of a core."""
        return Numbers(core, _arrays(core), self.places)
