"""Numbers of the model that differ from row to row of a batch, because parameters do."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from treemech.dynamics.calls.row_steps import Numbers
from treemech.dynamics.model.core import Core
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def _arrays(core: Core) -> list[Floats]:
    """Return the arrays of a core whose numbers depend on parameters."""
    plan = core.layout.plan
    found = [
        plan.constants,
        plan.end_points,
        plan.gravity,
        core.work.parameters,
        core.layout.chords.plan.place,
    ]
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
            if k in failed:
                continue
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

    @property
    def _kept(self) -> np.ndarray:
        loops = self.mech._core.loops
        assert loops is not None
        return loops.kept

    def _write(self, k: int, arrays: list[Floats]) -> None:
        """Write the numbers of a row; take places into the table where it differs from the model."""
        more = [np.flatnonzero(a.ravel() != b.ravel()) for a, b in zip(arrays, self._base, strict=True)]
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
        self.table[k] = np.concatenate([a.ravel()[p] for a, p in zip(arrays, self.places, strict=True)])

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
