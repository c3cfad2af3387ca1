"""Steps of many motions of one model, row by row in one crossing: what a batch is stepped by.

A row is one integrator state y (`Core.pack`) with its own time. Every step starts anew from what the row holds,
as `Stepper` does after a reset, so it depends on nothing else: not on the rows beside it, not on the thread, not
on what the core computed before. A row that needs more than plain steps stays as it was and is handed back.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.kernel.status import OK
from treemech.topology.arrays import Floats, Ints, address

from ..equations import watch
from ..integrators import layout as m
from ..model.core import Core
from ..model.loops import OPEN, REGULAR
from ..native import entry_points as native
from ..simulation.integrator import Closure, Integrator
from .calls import ABOVE, AT_MOST, Calls, Pack, forward
from .lane_loops import LaneLoops, lane_loops
from .lane_model import LaneModel, lane_model
from .lanes import plain, runs_on_lanes, steps_on_lanes

_BLOCK = 256  # rows that go on lanes in one call
_BUDGET = 20_000  # steps of the method in one call; a row that needs more is looked at by a simulation


class Numbers:
    """Numbers of a core that differ from row to row: their places, counted from the first one in doubles."""

    def __init__(self, core: Core, arrays: Sequence[Floats], places: Sequence[Ints]) -> None:
        """Take arrays of the core, and which of their numbers (flat) differ."""
        self.base, self.places = address(arrays[0]), [np.asarray(p, dtype=np.int64) for p in places]
        self.at = np.concatenate(
            [
                (address(a) - self.base) // 8 + np.asarray(p, dtype=np.int64)
                for a, p in zip(arrays, places, strict=True)
            ]
        ).astype(np.int64)
        self.kept = list(arrays)


class RowSteps:
    """Steps of rows by one core; one thread at a time."""

    def __init__(
        self, core: Core, calls: Calls, method: str, rtol: float, atol: Floats, numbers: Numbers | None = None
    ) -> None:
        n = core.nq + core.nu + core.nz + core.n_cut
        self.core, self.n, self.numbers = core, n, numbers
        run = self.run = Integrator(core, method, 0.0, np.zeros(n), rtol, atol, np.inf, Closure())
        pack = calls.pack
        self.pack = pack
        if pack is None:
            return
        self._end, self._out, self._q, self._u = (
            np.zeros(1),
            np.zeros((1, n)),
            np.zeros(core.nq),
            np.zeros(core.nu),
        )
        count, rest = pack.keep(run.count.copy()), pack.keep(run.control[3:].copy())
        copies = [
            *pack.copy(self._end, run.control[m.END : m.END + 1]),
            *pack.copy(run.count, count), *pack.copy(run.control[3:], rest),
        ]  # fmt: skip
        steps: list[Any] = []
        checks: list[Any] = []
        inputs = [run.control[:3], run.y]
        if numbers is not None:
            values = pack.zeros(len(numbers.at))
            inputs.append(values)
            steps.append(pack.step("scatter", len(values), values, pack.keep(numbers.at), numbers.base))
        if core.loops is not None:
            own = checked_start(pack, core, run)
            copies, steps, checks = [*copies, *own[0]], [*steps, *own[1]], [*checks, *own[2]]
        integrate = (
            run.method, run.rhs, run.context, run.n, address(run.control), address(run.count), address(run.y),
            address(run.atol), address(run.work), len(run.euler) - 1, address(run.euler), 1, address(self._end),
            address(self._out), 0, address(self._end), address(self._out), 0, _BUDGET, address(run.hooks),
        )  # fmt: skip
        name = "loop_integrate" if run.projects else "integrate"
        states = (1, *(address(x) for x in (self._end, run.y, self._q, self._u)), core.context_address)
        steps += [(native.address(name), False, integrate), (native.address("states"), False, states)]
        self._call = pack.call(steps, (run.y, self._q, self._u), None, tuple(inputs), copies, checks)
        self._zero = np.zeros(1)

    def on_lanes(
        self,
        first: int,
        last: int,
        aim: Floats,
        dt: float,
        y: Floats,
        u: Floats,
        numbers: Floats | None = None,
    ) -> list[int] | None:
        """Move rows on by dt as `take` does, several at once on SIMD lanes. Return the rows that were left as they were.

        None: this model, or so few rows, are not for lanes; nothing was moved.
        """
        lanes = self._lanes(last - first, numbers is not None)
        if lanes is None:
            return None
        left: list[int] = []
        for start in range(first, last, _BLOCK):  # memory does not grow with the rows
            left += self._block_on_lanes(lanes, start, min(start + _BLOCK, last), aim, dt, y, u, numbers)
        return left

    def _lanes(self, count: int, varied: bool) -> LaneModel | LaneLoops | None:
        """Return the model on lanes if so many rows go that way."""
        if not plain(self.core) or self.run.name not in ("RK4", "DP5", "DOP853"):
            return None
        if self.core.one_sided and self.run.name != "RK4":  # on lanes no step ends at a corner
            return None
        if self.core.loops is None:
            return lane_model(self.core, varied) if count > 1 else None
        return lane_loops(self.core) if self.run.projects else None

    def _block_on_lanes(
        self, lanes: LaneModel | LaneLoops, first: int, last: int, aim: Floats, dt: float, y: Floats, u: Floats, numbers: Floats | None
    ) -> list[int]:  # fmt: skip
        part, core, table = slice(first, last), self.core, None
        if numbers is not None:
            assert self.numbers is not None
            table = lanes.scattered(numbers[part], self.numbers.places)
        t, end, rows = aim[part, 0].copy(), aim[part, 1].copy(), y[part]
        if self.run.name == "RK4":
            status = steps_on_lanes(lanes, t, rows, dt, 1, table)
        else:
            rtol, atol = float(self.run.control[m.RTOL]), self.run.atol
            status, _ = runs_on_lanes(lanes, self.run.method, t, rows, end, rtol, atol, np.inf, table=table)
        moved = status == OK
        if len(core.layout.plan.prescribed) or core.coordinates.euler_parameters:
            q, speeds = core.states(end, rows)
            rows[moved, : core.nq], u[part][moved] = q[moved], speeds[moved]
        return (first + np.flatnonzero(~moved)).tolist()

    def take(
        self, first: int, last: int, aim: Floats, y: Floats, u: Floats, numbers: Floats | None = None
    ) -> int:
        """Move rows first to last on, in place; return the first row that was left as it was, or `last`.

        aim (B, 3): start, end, first step (0: chosen); y (B, n); u (B, nu) gets the speeds in the public
        convention (a view of y where they are the same); numbers (B, m) of the model.
        """
        if self.pack is None:
            return first
        core, n = self.core, self.n
        at, none = address(y), (address(self._zero), 0)
        speeds = (address(u), u.strides[0] // 8)
        inputs = [(address(aim), 3), (at, n)]
        if self.numbers is not None:
            assert numbers is not None
            inputs.append((address(numbers), numbers.shape[1]))
        z = (at + 8 * (core.nq + core.nu), n)
        results = ((at, n), (at, n) if core.nq else none, speeds if core.nu else none)
        with core.guard():
            done: int = self._call.c.many(
                first, last, (address(aim), 3), (at, n), speeds, z, self._near, tuple(inputs), results
            )
        return done

    @property
    def _near(self) -> tuple[int, int]:
        """Where the pack reads cut hinges from; the steps read them from y."""
        assert self.pack is not None
        if not hasattr(self, "_starts"):
            self._starts: NDArray[np.float64] = np.zeros(max(sum(size for _, _, size in self.pack.near), 1))
        return address(self._starts), 0


def checked_start(pack: Pack, core: Core, run: Integrator) -> tuple[list[Any], list[Any], list[Any]]:
    """Evaluate a start with all rows: it must be closed, stay closed, and be regular."""
    loops, f = core.loops, forward(pack)
    assert loops is not None
    monitor, work = loops.work.monitor, core.chord_work
    before = pack.keep(np.zeros_like(monitor))
    before[watch.LARGEST_PIVOT] = 1e300  # always refine
    chosen = (
        watch.LARGEST_PIVOT,
        watch.NEAR,
        watch.GAIN,
        watch.PARTITIONED,
        watch.WATCHED,
        watch.LAST_PASSED,
    )
    at = pack.keep(np.array(chosen, dtype=np.int64))
    then = pack.keep(np.array([0.0, *(float(monitor[k]) for k in chosen[1:])]))
    cut, pivot = run.y[len(run.y) - core.n_cut :], pack.zeros(1)
    copies = [
        *f.copies, *pack.copy(monitor, before), *pack.copy(work.q, cut), *pack.copy(f.tau, pack.zeros(core.nu)),
        *pack.copy(loops.work.independent, pack.keep(np.zeros_like(loops.work.independent))),
    ]  # fmt: skip
    steps = [
        f.steps[0],
        pack.step("gather", 1, monitor[watch.LAST_PIVOT :], 1, pivot),
        pack.step("scatter", len(at), then, at, monitor),
    ]
    if core.n_cut:
        steps.append(pack.step("gather", core.n_cut, cut, 1, work.q))
    checks = [*f.checks[:1], (f.checks[1][0], 2, AT_MOST, OPEN), (address(pivot), 1, ABOVE, REGULAR)]
    return copies, steps, checks
