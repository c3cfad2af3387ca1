"""Closed chains whose work arrays hold several states side by side, and rows of states computed with them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.kernel.status import ELEMENT_FAILURES
from treemech.kinematics.plan.chord_arrays import CHORD_DUALS, CHORD_ELEMENT, ChordPlan, ChordWork
from treemech.kinematics.plan.columns import chord
from treemech.topology.arrays import Floats, address, addresses

from ..equations.loop_arrays import LoopWork
from ..model.core import Core
from ..native import entry_points as native
from .lane_model import LANES, VARIED, LaneModel, lane_model, side_by_side


def _on_lanes(arrays: ChordWork | LoopWork) -> dict[str, NDArray]:
    """Return arrays by name with the same numbers in all lanes; integers are common to them."""
    return {name: x if x.dtype == np.int64 else side_by_side(x) for name, x in arrays._asdict().items()}


class LaneLoops:
    """Work arrays and context of the closed chains of one core on lanes. Not for two threads at once."""

    def __init__(self, core: Core) -> None:
        loops = core.loops
        assert loops is not None
        self.core, self.loops, self.tree = core, loops, LaneModel(core, True)
        self.place = side_by_side(core.layout.chords.plan.place)
        self.chord_work, self.work = _on_lanes(core.chord_work), _on_lanes(loops.work)
        self.work["masked"] = np.zeros_like(
            loops.work.masked
        )  # all rows count, whatever was chosen for other states
        context = self.context = loops.context.copy()
        context[0] = self.tree.context_address
        plan = CHORD_DUALS + 1  # where arrays of the plan begin; those of the work follow (chord_views)
        first = plan + len(ChordPlan._fields)
        self.table = core.layout.chords.plan.chord.copy()
        for entry, element in zip(self.table, core.layout.chords.elements, strict=True):
            entry[chord.ADDRESS] = self.tree.pair(int(entry[chord.ADDRESS]), element)
        context[plan + ChordPlan._fields.index("place")] = address(self.place)
        context[plan + ChordPlan._fields.index("chord")] = address(self.table)
        context[first : first + len(self.chord_work)] = [address(x) for x in self.chord_work.values()]
        context[len(context) - len(self.work) :] = [address(x) for x in self.work.values()]
        if context[CHORD_ELEMENT]:
            context[CHORD_ELEMENT] = native.address("lane_chord")
        self.pivots = np.full((LANES, *core.chord_work.pivot.shape), -1, dtype=np.int64)
        more = (self._single(), native.address("chord_element"), address(self.pivots))
        self.context = context = np.append(context, np.array(more, dtype=np.int64))
        self.context_address, self.rhs = address(context), native.address("lane_loop_rhs")
        self.project = native.address("lane_loop_project")

    def _single(self) -> int:
        """Return the address of a context for one state, with chord work of its own."""
        core = self.core
        copies: Any = [x.copy() for x in core.chord_work]
        self.one = ChordWork(*copies)
        self.one_tree, self.one_context = core.context.copy(), self.loops.context.copy()
        self.one_context[0] = address(self.one_tree)
        first = CHORD_DUALS + 1 + len(ChordPlan._fields)
        self.one_context[first : first + len(self.one)] = [address(x) for x in self.one]
        return address(self.one_context)

    @property
    def euler(self) -> NDArray[np.int64]:
        """Where Euler parameters start in q."""
        return self.tree.euler

    def entry(self, name: str) -> Any:
        """Return an entry point of closed chains on lanes."""
        return native.entry("lane_loop_" + name)

    def room(self, n: int) -> Floats:
        """Return n numbers of workspace."""
        return self.tree.room(n)

    def begin(self) -> int:
        """Take over what may have changed in the core since the last call. Return the address of the context."""
        self.tree.begin()
        self.place[...] = self.core.layout.chords.plan.place[..., None]
        self.work["scale"][...] = self.loops.work.scale[:, None]
        return self.context_address

    def scattered(self, values: Floats, places: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the table for single numbers of the model, side by side in a row of values.

        The arrays are those of the tree, then the places of the ends of the chords and the usual sizes of the rows.
        """
        first = len(VARIED) + 1
        table = self.tree.scattered(values, places[:first]).tolist()
        column = len(table)
        for array, numbers in zip((self.place, self.work["scale"]), places[first:], strict=False):
            to = address(array)
            for at in numbers.tolist():
                table.append(
                    (address(values) + 8 * column, to + 8 * LANES * at, 1, LANES, 1, values.shape[1])
                )
                column += 1
        return np.array(table, dtype=np.int64).reshape(-1, 6)

    def dynamics(
        self, t: Floats, q: Floats, u: Floats, z: Floats | None, tau: Floats, ud: Floats, multipliers: Floats
    ) -> NDArray[np.int64]:
        """Write ud (B, nu) and multipliers (B, m) of rows under the loads tau on the speeds; return the status of each."""
        status, start, context = np.zeros(len(t), dtype=np.int64), self.core.layout.chords.start, self.begin()

        def go(first: int, count: int) -> None:
            at = [0 if x is None else address(x[first:]) for x in (t, q, u, z, tau)]
            to = addresses((start, ud[first:], multipliers[first:], status[first:]))
            self.entry("dynamics")(count, *at, *to, context)

        with self.core.guard():
            go(0, len(t))
            self.apart(status, go)
        return status

    def apart(self, status: NDArray[np.int64], go: Callable[[int, int], None]) -> None:
        """Compute the rows of blocks that an element stopped one by one: go(first, count). Others do not lose their lane by it."""
        for k in np.flatnonzero(np.isin(status % 16, ELEMENT_FAILURES)).tolist():
            go(k, 1)


def suits(core: Core) -> bool:
    """Tell whether the chords of a model may go on lanes: none lets go."""
    return core.loops is not None and not len(core.loops.plan.unilateral)


def lane_loops(core: Core) -> LaneLoops | None:
    """Return the core's closed chains on lanes, made once; None if there are none."""
    if core.loops is None or lane_model(core) is None:
        return None
    if "loops" not in core.lanes:
        core.lanes["loops"] = LaneLoops(core) if suits(core) else None
    found: LaneLoops | None = core.lanes["loops"]
    return found
