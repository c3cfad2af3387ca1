"""Whole runs of many motions of one model, row by row in one crossing, each as a simulation takes it.

A row has its own start and its own numbers of the model. It is integrated by the same compiled loop as by `Driver`, from a
fresh memory, so it has the numbers and the counts of `simulate`, to the bit. A row that needs more than the loop (too many
steps, a status that a report explains) is handed back.
"""

from typing import Any

import numpy as np

from treemech.kinematics.kernel.status import OK
from treemech.topology.arrays import Floats, Ints, address

from ..integrators import layout as m
from ..model.core import Core
from ..native import entry_points as native
from ..simulation.integrator import Closure, Integrator
from .calls import Calls
from .lane_loops import LaneLoops, lane_loops
from .lane_model import LaneModel, lane_model
from .lanes import plain, runs_on_lanes
from .row_steps import Numbers, checked_start

_MOST = 4096  # steps of a run without output times


class RowRuns:
    """Runs of rows by one core; one thread at a time."""

    def __init__(
        self, core: Core, calls: Calls, method: str, rtol: float, atol: Floats, times: Floats | None,
        numbers: Numbers | None = None, n_kept: int = 0,
    ) -> None:  # fmt: skip
        self.times, self.n_kept = times, n_kept
        pack = calls.pack
        assert pack is not None
        self.core, self.n, self.numbers = core, core.nq + core.nu + core.nz + core.n_cut, numbers
        run = self.run = Integrator(core, method, 0.0, np.zeros(self.n), rtol, atol, np.inf, Closure())
        count, rest = pack.keep(run.count.copy()), pack.keep(run.control[3:].copy())
        copies = [*pack.copy(run.count, count), *pack.copy(run.control[3:], rest)]
        inputs, steps = [run.control[:3], run.y], list[Any]()
        checks = list[Any]()
        if numbers is not None:
            values = pack.zeros(len(numbers.at))
            inputs.append(values)
            steps.append(pack.step("scatter", len(values), values, pack.keep(numbers.at), numbers.base))
        if core.loops is not None:
            own = checked_start(pack, core, run)
            copies, steps, checks = [*copies, *own[0]], [*steps, *own[1]], own[2]
        n_out, capacity = (0, n_kept or _MOST) if times is None else (len(times), 0)
        at = pack.keep(np.zeros(1) if times is None else times.copy())
        out, t_step = pack.zeros(max(n_out, 1), self.n), pack.zeros(max(capacity, 1))
        y_step = pack.zeros(max(capacity, 1), self.n)
        integrate = (
            run.method, run.rhs, run.context, run.n, address(run.control), address(run.count), address(run.y),
            address(run.atol), address(run.work), len(run.euler) - 1, address(run.euler), n_out, address(at),
            address(out), capacity, address(t_step), address(y_step), 0, 10**9 if n_out else capacity, address(run.hooks),
        )  # fmt: skip
        name = "loop_integrate" if run.projects else "integrate"
        steps.append((native.address(name), False, integrate))
        kept = (t_step, y_step) if n_kept else ()
        results = (run.y if times is None else out, run.count, *kept)
        self._call = pack.call(steps, results, None, tuple(inputs), copies, checks)
        self._zero = np.zeros(max(core.nq, core.nu, core.nz, 1))

    def on_lanes(
        self, first: int, last: int, aim: Floats, y: Floats, numbers: Floats | None, out: Floats, counts: Ints
    ) -> list[int] | None:
        """Integrate rows as `take` does, several at once on SIMD lanes. Return the rows that were not; None: all are left."""
        run, core, part = self.run, self.core, slice(first, last)
        lanes: LaneModel | LaneLoops | None = None
        if plain(core) and core.loops is not None:
            lanes = lane_loops(core) if run.projects else None
        elif plain(core) and last - first > 1:
            lanes = lane_model(core, numbers is not None)
        # on lanes no step ends at the corner of a one-sided element
        if lanes is None or self.n_kept or run.name not in ("DP5", "DOP853") or core.one_sided:
            return None
        table = None
        if numbers is not None:
            assert self.numbers is not None
            table = lanes.scattered(own := numbers[part], self.numbers.places)
        t, end, rows, samples = aim[part, 0].copy(), aim[part, 1].copy(), y[part].copy(), out[part]
        rtol = float(run.control[m.RTOL])
        kept = None if self.times is None else samples
        status, spent = runs_on_lanes(
            lanes, run.method, t, rows, end, rtol, run.atol, np.inf, self.times, kept, table
        )
        if numbers is not None:
            del own  # alive until here
        if self.times is None:
            samples[...] = rows
        counts[part, m.EVALUATIONS], counts[part, m.STEPS], counts[part, m.REJECTED] = spent.T
        return (first + np.flatnonzero(status != OK)).tolist()

    def take(
        self, first: int, last: int, aim: Floats, y: Floats, numbers: Floats | None, out: Floats, counts: Ints, q: Floats, u: Floats,
        kept: tuple[Floats, ...] = (),
    ) -> int:  # fmt: skip
        """Integrate rows first to last; return the first row that was not, or `last`.

        aim (B, 3): start, end, 0; y (B, n): starts; out (B, times, n) or (B, n): states; counts (B, .): those of the loop;
        q (B, nq), u (B, nu): the starts in the public convention, by which closed chains are checked; kept: times (B, steps) and
        states (B, steps, n) of the steps, if they are asked for.
        """
        none, core = (address(self._zero), 0), self.core
        inputs = [(address(aim), 3), (address(y), self.n)]
        if self.numbers is not None:
            assert numbers is not None
            inputs.append((address(numbers), numbers.shape[1]))
        results = tuple((address(x), x[0].size) for x in (out, counts, *kept))
        state = [none, none, none]
        if core.loops is not None:
            z = (address(y) + 8 * (core.nq + core.nu), self.n)
            state = [(address(q), core.nq), (address(u), core.nu), z]
        with core.guard():
            done: int = self._call.c.many(
                first, last, (address(aim), 3), *state, none, tuple(inputs), results
            )
        return done
