"""All numbers the later steps of a run depend on: copied, and brought back to the bit.

The compiled loops keep what they know in arrays of the caller: those of the integrator, and Work of the model (fits and
equilibria start where the last ones ended, rows stay selected). Whoever looks at a run on its way, a controller,
an event, does so aside: with these arrays as they were when it goes on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..integrators import layout as m
from ..model.core import Core
from .automatic import Automatic
from .integrator import Integrator


class Snapshot(NamedTuple):
    """Copies of the arrays, and what else there is, as JSON can hold it."""

    arrays: list[NDArray[Any]]
    place: dict[str, Any]


class Snapshots:
    """The arrays of one run by name, those of the model first."""

    def __init__(self, run: Integrator, automatic: Automatic | None) -> None:
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
        """Back to where it was."""
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
        """Whatever is computed with the model inside leaves no trace in it."""
        with aside(self.run.core, list(self.arrays.values())[: self.n_model]):
            yield


@contextmanager
def aside(core: Core, own: list[NDArray[Any]]) -> Iterator[None]:
    """Whatever is computed with a model inside leaves no trace in its arrays."""
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
    """All writable arrays of a model but its parameters, by name."""
    groups: dict[str, Any] = {"work": core.work, "chord": core.chord_work}
    if core.loops is not None:
        groups["loop"] = core.loops.work
    return {
        f"{group}.{name}": array
        for group, arrays in groups.items()
        for name, array in arrays._asdict().items()
        if name != "parameters"
    }
