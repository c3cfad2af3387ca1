"""A model whose work arrays hold several states side by side: what the entry points on lanes compute with.

It belongs to one core and has its Plan, but for the addresses of elements: each becomes that of a pair, the C function
for one state and that for lanes (elements.lane_forms.entry), or 0: then the element is called lane by lane.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemech.elements.compilation.callback import Entry
from treemech.elements.element import Element
from treemech.elements.lane_forms.entry import make_lane_entry
from treemech.elements.native import library
from treemech.kinematics.plan.arrays import (
    APPLIED_LOADS,
    AUDIT,
    FIRST_WORK,
    GENERAL_HINGE,
    LANE_STRIDE,
    N_CONTEXT,
    N_LANE_CONTEXT,
    N_SIZES,
    Work,
)
from treemech.kinematics.plan.columns import body, effort, signal
from treemech.topology.arrays import Floats, address

from ..model.core import Core
from ..native import entry_points as native

LANES = 4  # states side by side, as in elements.lanes.numbers, which cannot be read without importing numba
_COMMON = ("parameters", "parameter_duals")  # of Work
VARIED = ("constants", "end_points", "gravity")  # of Plan, where every row has numbers of its own
_LINE = 8  # numbers in a cache line


def served() -> bool:
    """Tell whether this process has compiled entry points on lanes; the jit makes them if TREEMECH_JIT names them."""
    return bool(library.symbol("lane_rhs")) or "lane_rhs" in library.jitted()


def aligned(*shape: int) -> Floats:
    """Return zeros that start on a cache line: vectors are then loaded whole."""
    n = int(np.prod(shape))
    room = np.zeros(n + _LINE)
    first = (-address(room) // 8) % _LINE
    return room[first : first + n].reshape(shape)


def side_by_side(array: Floats) -> Floats:
    """Return an array with the same numbers in all lanes."""
    out = aligned(*array.shape, LANES)
    out[...] = array[..., None]
    return out


class LaneModel:
    """Work arrays and context of one core on lanes. Not for two threads at once, as the core itself.

    Where it is `varied`, the numbers of the model (VARIED and the records of elements) stand side by side as well.
    """

    project = 0  # entry that projects states onto constraints: trees have none

    def __init__(self, core: Core, varied: bool = False) -> None:
        self.core = core
        plan = core.layout.plan
        self.work = [
            array if name in _COMMON else side_by_side(array) for name, array in core.work._asdict().items()
        ]
        self._pairs: dict[int, NDArray[np.int64]] = {}
        self._entries = list[Entry | None]()  # kept alive
        tables = plan._replace(
            body=plan.body.copy(), efforts=plan.efforts.copy(), signals=plan.signals.copy()
        )
        element: Element
        hinges, applied = core.layout.hinges, [x.element for x in core.layout.efforts.applied]
        for k, row in enumerate(tables.body):
            row[body.ADDRESS] = self.pair(int(row[body.ADDRESS]), hinges.get(k))
        for row, element in zip(tables.efforts, applied, strict=True):
            row[effort.ADDRESS] = self.pair(int(row[effort.ADDRESS]), element)
        for row, element in zip(tables.signals, core.layout.signals, strict=True):
            row[signal.ADDRESS] = self.pair(int(row[signal.ADDRESS]), element)
        self.numbers = {name: side_by_side(getattr(plan, name)) for name in VARIED if varied}
        kept: Any = self.numbers
        self.plan = tables._replace(**kept)
        self.context = np.zeros(N_LANE_CONTEXT, dtype=np.int64)
        self.context[:N_CONTEXT] = core.context
        for k, array in enumerate((*self.plan, *self.work)):
            self.context[N_SIZES + k] = address(array)
        kind = "varied" if varied else "lane"
        for part, own in ((GENERAL_HINGE, "hinge"), (APPLIED_LOADS, "loads")):
            if core.context[part]:
                self.context[part] = native.address(f"{kind}_{own}")
        self.context_address, self.rhs = address(self.context), native.address(f"{kind}_rhs")
        self._room = aligned(0, LANES)
        self._matrix: Floats | None = None
        self.records: Floats | None = None
        if varied or len(
            plan.links
        ):  # signals are written into the records of elements, at the time of each lane
            self.records = np.tile(core.work.parameters, (LANES, 1))
            self.context[FIRST_WORK + Work._fields.index("parameters")] = address(self.records)
            self.context[LANE_STRIDE] = self.records.strides[0]

    def pair(self, single: int, element: Element | None = None) -> int:
        """Return the address of the pair of an element's addresses, 0 for none."""
        if not single:
            return 0
        if single not in self._pairs:
            entry = make_lane_entry(element) if element is not None else None
            self._entries.append(entry)
            self._pairs[single] = np.array([single, entry.address if entry else 0], dtype=np.int64)
        return address(self._pairs[single])

    @cached_property
    def euler(self) -> NDArray[np.int64]:
        """Where Euler parameters start in q."""
        return np.array([*self.core.coordinates.euler_parameters, 0], dtype=np.int64)[:-1]

    def fills(self, given: Mapping[str, Floats]) -> NDArray[np.int64]:
        """Return the table by which `fill_lane` takes the numbers of a row into a lane; keep the arrays alive."""
        table = []
        for name, rows in given.items():
            count = rows[0].size
            table.append((address(rows), *self.place(name, 0, count), count))
        return np.array(table, dtype=np.int64).reshape(-1, 6)

    def scattered(self, values: Floats, places: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the table for single numbers of the arrays (*VARIED, "parameters"), side by side in a row of values."""
        table, column = [], 0
        for name, numbers in zip((*VARIED, "parameters"), places, strict=False):
            for at in numbers.tolist():
                table.append((address(values) + 8 * column, *self.place(name, at, 1), values.shape[1]))
                column += 1
        return np.array(table, dtype=np.int64).reshape(-1, 6)

    def place(self, name: str, at: int, count: int) -> tuple[int, int, int, int]:
        """Return where `count` numbers of an array of the model go, how many, and how far they and the lanes are apart."""
        if name == "parameters":
            assert self.records is not None
            return address(self.records) + 8 * at, count, 1, self.records.shape[1]
        return address(self.numbers[name]) + 8 * LANES * at, count, LANES, 1

    def entry(self, name: str) -> Any:
        """Return an entry point of trees on lanes."""
        return native.entry("lane_" + name)

    def room(self, n: int) -> Floats:
        """Return n numbers of workspace; they stay the same array as long as that is large enough."""
        if self._room.size < n * LANES:
            self._room = aligned(n, LANES)
        return self._room

    def evaluate(
        self, name: str, t: Floats, q: Floats, u: Floats, z: Floats | None, more: Sequence[int | NDArray], out: Floats,
        status: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Evaluate rows by the entry point lane_`name`, and write the status of each.

        Without z all rows have the states of elements that the core has.
        """
        if z is None:
            self.work[Work._fields.index("z")][...] = self.core.work.z[:, None]
        at = [
            address(x) if isinstance(x, np.ndarray) else x
            for x in (t, q, u, 0 if z is None else z, *more, out)
        ]
        if name == "mass_matrix":
            self._matrix = aligned(self.core.nu**2, LANES) if self._matrix is None else self._matrix
            at.append(address(self._matrix))
        self.entry(name)(len(t), *at, address(status), self.begin())

    def begin(self) -> int:
        """Take over what may have changed in the core since the last call. Return the address of the context."""
        self.context[AUDIT] = self.core.context[AUDIT]
        if self.records is not None:
            self.records[:] = self.core.work.parameters
        for name, numbers in self.numbers.items():
            numbers[...] = getattr(self.core.layout.plan, name)[..., None]
        return self.context_address


def lane_model(core: Core, varied: bool = False) -> LaneModel | None:
    """Return the core's tree on lanes, made once; None if there is none."""
    if core.lanes is None:
        core.lanes = {} if served() and _suits(core) else False
    if core.lanes is False:
        return None
    if varied not in core.lanes:
        core.lanes[varied] = LaneModel(core, varied)
    found: LaneModel = core.lanes[varied]
    return found


def _suits(core: Core) -> bool:
    """Tell whether the tree of a model runs on lanes: without internal points, reaction-dependent elements and elements in Python."""
    plan = core.layout.plan
    alone = not len(plan.composites) and not core.interpreted and core.nu > 0 and core.nq > 0
    return bool(alone and not np.any(plan.efforts[:, effort.REACTION] >= 0))
