"""Snapshots: copies of all numbers that the later steps of a run depend on, restored to the bit.

The compiled loops keep everything in arrays of the caller: those of the integrator, and Work of the model
(fits and equilibria start where the last ones ended, rows stay selected). Controllers and events evaluate the
model `aside`: afterwards these arrays are as they were before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from ..integrators import layout as m
from ..model.core import Core

if TYPE_CHECKING:
    from .automatic import Automatic
    from .integrator import Integrator


class Snapshot(NamedTuple):
    """Copies of the arrays, and everything else in a form for JSON."""

    arrays: list[NDArray[Any]]
    place: dict[str, Any]


class Snapshots:
    """Arrays of one run by name, those of the model first."""

    def __init__(self, run: "Integrator", automatic: "Automatic | None") -> None:
        self.run, self.automatic, core = run, automatic, run.core
        self.arrays = model_arrays(core)
        self.n_model = len(self.arrays)
        self.arrays |= {
            "run.control": run.control, "run.count": run.count, "run.y": run.y, "run.work": run.work,
        }  # fmt: skip
        if run.alpha is not None:
            self.arrays["run.alpha"] = run.alpha.numbers

    def copy(self) -> Snapshot:
        place: dict[str, Any] = {"method": self.run.name, "selected": int(self.run.hooks[m.RANK])}
        if self.run.core.loops is not None:
            place["rank"] = self.run.core.loops.rank
        if self.automatic is not None:
            place["automatic"] = self.automatic.place()
        return Snapshot([a.copy() for a in self.arrays.values()], place)

    def restore(self, kept: Snapshot) -> None:
        """Restore a snapshot."""
        run, place = self.run, kept.place
        run.use(place["method"])
        for array, values in zip(self.arrays.values(), kept.arrays, strict=True):
            array[...] = values
        run.hooks[m.RANK] = place["selected"]
        if run.core.loops is not None:
            run.core.loops.rank = place["rank"]
        if self.automatic is not None:
            self.automatic.resume(place["automatic"])

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Restore the arrays of the model after the block."""
        with aside(self.run.core, list(self.arrays.values())[: self.n_model]):
            yield


@contextmanager
def aside(core: Core, own: list[NDArray[Any]]) -> Iterator[None]:
    """Restore these arrays of a model, and its rank, after the block."""
    loops = core.loops
    kept, rank = [a.copy() for a in own], 0 if loops is None else loops.rank
    try:
        yield
    finally:
        for array, values in zip(own, kept, strict=True):
            array[...] = values
        if loops is not None:
            loops.rank = rank


def model_arrays(core: Core) -> dict[str, NDArray[Any]]:
    """Return all writable arrays of a model except its parameters, by name."""
    groups: dict[str, Any] = {"work": core.work, "chord": core.chord_work}
    if core.loops is not None:
        groups["loop"] = core.loops.work
    return {
        f"{group}.{name}": array
        for group, arrays in groups.items()
        for name, array in arrays._asdict().items()
        if name != "parameters"
    }
