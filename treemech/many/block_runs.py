"""Runs in blocks, without Python in every run: what `Job` takes where it can.

Only what the compiled loop does by itself is taken: explicit methods with error control, coordinates and speeds as
results, parameters that can be refilled. Every run has the numbers of `simulate`, to the bit; what is left over goes there.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.calls.row_constraints import RowConstraints
from treemech.dynamics.calls.row_runs import RowRuns
from treemech.dynamics.integrators import layout as m
from treemech.kinematics.plan.columns import body
from treemech.topology.arrays import Floats

from ..description.parameters import changed_parameters
from ..simulation.simulate import tolerances
from .block_starts import BlockStarts
from .columns import Columns
from .designs import Designs, numbers_at

if TYPE_CHECKING:
    from .job import Job, Rows

_METHODS = ("DOP853", "DP5")
_STEPS, _TOGETHER = 1000, 32  # steps of a run that measures may need, and runs whose steps are kept at a time


def takes(job: Job, rows: Rows) -> bool:
    """Tell whether runs of a job may go this way."""
    mech, options = job.mech, job.options
    if job.kinematic or set(options) - {"rtol", "atol", "method"}:
        return False
    if job.measures is not None and Columns.of(mech, job.measures, job.t_eval is not None) is None:
        return False
    if options.get("method", "DOP853") not in _METHODS or mech._prescriptions or mech._core.layout.kinematic:
        return False
    if not 0.0 < options.get("rtol", 1e-6) < 1.0 or not mech.nu or not job.t_span[1] > job.t_span[0]:
        return False
    from .batch import is_plain

    pack = mech._fast.pack if is_plain(mech) else None
    loops = mech._core.loops
    return pack is not None and not pack.near and (loops is None or not len(loops.plan.added_row))


def _go(runs: RowRuns, good: Any, first: int, last: int, *arrays: Any) -> None:
    """Integrate rows that are good; those that are handed back are not."""
    while first < last:
        stop = first if not good[first] else first + int(np.argmin(np.append(good[first:last], False)))
        done = runs.take(first, stop, *arrays) if stop > first else first
        if done < stop or done == first:
            good[done] = False
            first = done + 1
        else:
            first = done


def _known(values: dict[str, Floats], count: int) -> Any:
    """Tell which runs have all their results."""
    return np.all([np.isfinite(x.reshape(count, -1)).all(axis=1) for x in values.values()], axis=0)


class _Own(NamedTuple):
    """What a thread computes with."""

    runs: RowRuns
    constraints: RowConstraints | None  # of closed chains


class BlockRuns:
    """Runs by the cores of the threads that ask."""

    def __init__(self, job: Job, names: Iterable[str]) -> None:
        self.job = job
        names = list(names)
        if names and job.mech._core.loops is not None:  # starts follow the way from the declared values
            names += [n for n in changed_parameters(job.mech) if n not in names]
        self.designs = Designs.of(job.mech, names) if names else None
        self.starts = BlockStarts(job.mech, job.start, job.t_span[0], self.designs)
        self.columns = (
            None if job.measures is None else Columns.of(job.mech, job.measures, job.t_eval is not None)
        )
        self.steps = _STEPS if self.columns is not None and self.columns.needs_steps else 0
        self._own: dict[tuple[int, bytes], _Own] = {}

    def block(self, rows: Rows) -> tuple[dict[str, Floats], Any, Any] | None:
        """Return results, counts, and which runs are done; None if the parameters cannot be refilled."""
        job, mech, n = self.job, self.job.mech, rows.count
        core = mech._core
        first_z = core.nq + core.nu
        y = np.zeros((n, first_z + core.nz + core.n_cut))
        good = np.ones(n, dtype=bool)
        y[:, first_z : first_z + core.nz] = core.layout.efforts.start[: core.nz]
        table, places = None, np.zeros(0, dtype=np.int64)
        if rows.parameters:
            if self.designs is None:
                return None
            places, table, start, good = self.designs(rows)
            y[:, first_z : first_z + core.nz] = start[:, : core.nz]
            if not len(places):  # the parameters change no number of the model
                table = None
        runs, constraints = self._of_thread(places)
        sizes = self._sizes(places, table, n)
        found = self.starts(rows, constraints, table, sizes)
        good = good & found.good
        if table is not None and constraints is not None:
            scales, regular = constraints.scales(n, table)
            table, good = np.ascontiguousarray(np.hstack((table, scales))), good & regular
        y[:, : core.nq], y[:, core.nq : first_z] = found.q, found.u
        y[:, first_z + core.nz :] = found.cut
        self._fill(y, rows)
        q, u = found.q, found.u
        aim = np.tile([job.t_span[0], job.t_span[1], 0.0], (n, 1))
        times = () if job.t_eval is None else (len(job.t_eval),)
        out, counts = np.full((n, *times, y.shape[1]), np.nan), np.zeros((n, m.N_COUNT), dtype=np.int64)
        if self.steps:
            values = self._stepwise(runs, good, aim, y, table, counts, q, u)
            return values, counts, good & _known(values, n)
        arrays = aim, y, table, out, counts
        left = self._on_lanes(runs, good, *arrays)
        for first, last in [(0, n)] if left is None else [(k, k + 1) for k in left]:
            _go(runs, good, first, last, *arrays, q, u)
        q, u = self.states(out)
        values = {"q": q, "u": u} if self.columns is None else self.columns.of_times(job.t_eval, q, u)
        return values, counts, good & _known(values, n)

    @staticmethod
    def _on_lanes(
        runs: RowRuns, good: Any, aim: Floats, y: Floats, table: Floats | None, out: Floats, counts: Any
    ) -> list[int] | None:
        """Integrate the rows that are good on lanes. Return those that are left; None: all."""
        which = np.flatnonzero(good)
        if len(which) == len(good):
            return runs.on_lanes(0, len(good), aim, y, table, out, counts)
        own, own_out, own_counts = None if table is None else table[which], out[which], counts[which]
        left = runs.on_lanes(0, len(which), aim[which], y[which], own, own_out, own_counts)
        if left is None:
            return None
        out[which], counts[which] = own_out, own_counts
        found: list[int] = which[left].tolist()
        return found

    def _stepwise(
        self, runs: RowRuns, good: Any, aim: Floats, y: Floats, table: Floats | None, counts: Any, q: Floats, u: Floats
    ) -> dict[str, Floats]:  # fmt: skip
        """Return measures over the steps of runs, some runs at a time."""
        assert self.columns is not None
        n, (t0, t1) = len(y), self.job.t_span
        values = {name: np.full(n, np.nan) for name in self.columns.columns}
        size = min(n, _TOGETHER)
        kept = np.zeros((size, self.steps)), np.zeros((size, self.steps, y.shape[1]))
        for first in range(0, n, size):
            part = slice(first, min(first + size, n))
            own, out = None if table is None else table[part], y[part].copy()
            _go(
                runs,
                good[part],
                0,
                len(out),
                aim[part],
                y[part],
                own,
                out,
                counts[part],
                q[part],
                u[part],
                tuple(kept),
            )
            for k in np.flatnonzero(good[part]).tolist():
                taken = int(counts[first + k, m.PENDING])
                t = np.concatenate(([t0], kept[0][k, :taken]))
                t[-1] = t1
                found = self.states(np.concatenate((y[first + k][None], kept[1][k, :taken])))
                for name, x in self.columns.of_steps(t, *found).items():
                    values[name][first + k] = x
        return values

    def _sizes(self, places: Any, table: Floats | None, count: int) -> Floats:
        """Return the size of the mechanism of every design (`constraints.size`): one and the largest step between bodies."""
        constants = self.job.mech._layout.plan.constants
        at = np.arange(constants.size).reshape(constants.shape)[:, body.PLACE_P : body.PLACE_P + 3].ravel()
        still = np.abs(constants.ravel()[np.setdiff1d(at, places)]).max(initial=0.0)
        found = np.full(count, still)
        if table is not None:
            found = np.maximum(found, np.abs(table[:, np.isin(places, at)]).max(axis=1, initial=0.0))
        return 1.0 + found

    def _fill(self, y: Floats, rows: Rows) -> None:
        """Write states and memory of elements into the integrator's states, and bring speeds in their base."""
        mech = self.job.mech
        core, same = mech._core, getattr(self.job.start, "x", None)
        nq, nu, nx = core.nq, core.nu, core.nx
        memory = slice(nq + nu + nx, nq + nu + core.nz)
        if rows.q is not None:
            if rows.x is not None:
                y[:, nq + nu : nq + nu + nx] = rows.x
            if rows.memory is not None:
                y[:, memory] = rows.memory
        elif same is not None and len(same) == nx:
            y[:, nq + nu : nq + nu + nx] = same
        for name, x in rows.inputs.items():
            y[:, nq + nu + core.layout.efforts.held[name]] = x
        if any(c.hinge.euler_parameters is not None and c.forward for c in core.coordinates.hinges):
            for row in y:
                z, cut = row[nq + nu : nq + nu + core.nz].copy(), row[nq + nu + core.nz :].copy()
                row[:] = core.pack(row[:nq].copy(), row[nq : nq + nu].copy(), z, cut)

    def _of_thread(self, places: Any) -> _Own:
        """Return what this thread computes with, for numbers at these places."""
        key = get_ident(), places.tobytes()
        if key not in self._own:
            job, mech = self.job, self.job.mech
            spaces = mech._workspaces.by_depth
            core = spaces.make()
            rtol = max(job.options.get("rtol", 1e-6), 100 * np.finfo(float).eps)
            atol = tolerances(mech, job.options.get("atol"), rtol)
            closed, method = core.loops is not None, job.options.get("method", "DOP853")
            numbers = numbers_at(core, places, closed) if len(places) else None
            runs = RowRuns(core, spaces.calls(core), method, rtol, atol, job.t_eval, numbers, self.steps)
            own = None
            if closed:
                core = spaces.make()
                numbers = numbers_at(core, places) if len(places) else None
                own = RowConstraints(core, spaces.calls(core), numbers)
            self._own[key] = _Own(runs, own)
        return self._own[key]

    def states(self, out: Floats) -> tuple[Floats, Floats]:
        """Return q and u of integrator states (B, ..., n)."""
        core, flat = self.job.mech._core, np.ascontiguousarray(out.reshape(-1, out.shape[-1]))
        q, u = core.states(np.zeros(len(flat)), flat)
        return q.reshape(*out.shape[:-1], -1), u.reshape(*out.shape[:-1], -1)
