"""Runs of trees in blocks, without Python in every run: what `Job` takes where it can.

Only what the compiled loop does by itself is taken: explicit methods with error control, coordinates and speeds as
results, parameters that can be refilled. Every run has the numbers of `simulate`, to the bit; what is left over goes there.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.calls.row_runs import RowRuns
from treemech.dynamics.integrators import layout as m
from treemech.topology.arrays import Floats

from ..simulation.simulate import tolerances
from .designs import Designs, numbers_at

if TYPE_CHECKING:
    from .job import Job, Rows

_METHODS = ("DOP853", "DP5")


def takes(job: Job, rows: Rows) -> bool:
    """Tell whether runs of a job may go this way."""
    mech, options = job.mech, job.options
    if job.measures is not None or job.kinematic or set(options) - {"rtol", "atol", "method"}:
        return False
    if options.get("method", "DOP853") not in _METHODS or mech._prescriptions or mech._core.loops is not None:
        return False
    if not 0.0 < options.get("rtol", 1e-6) < 1.0 or not mech.nu:
        return False
    if rows.q is None and not hasattr(job.start, "q"):
        return False
    from .batch import is_plain

    return is_plain(mech) and mech._fast.pack is not None and job.t_span[1] > job.t_span[0]


class TreeRuns:
    """Runs of trees by the cores of the threads that ask."""

    def __init__(self, job: Job, names: Iterable[str]) -> None:
        self.job = job
        self.designs = Designs.of(job.mech, names) if names else None
        self._runs: dict[tuple[int, bytes], RowRuns] = {}

    def block(self, rows: Rows) -> tuple[Floats, Any, Any] | None:
        """Return states (B, ..., n), counts, and which runs are done; None if the parameters cannot be refilled."""
        job, mech, n = self.job, self.job.mech, rows.count
        core = mech._core
        y = np.zeros((n, core.nq + core.nu + core.nz))
        good = np.ones(n, dtype=bool)
        y[:, core.nq + core.nu :] = core.layout.efforts.start[: core.nz]
        table, places = None, np.zeros(0, dtype=np.int64)
        if rows.parameters:
            if self.designs is None:
                return None
            places, table, start, good = self.designs(rows)
            y[:, core.nq + core.nu :] = start[:, : core.nz]
        self._fill(y, rows)
        aim = np.tile([job.t_span[0], job.t_span[1], 0.0], (n, 1))
        times = () if job.t_eval is None else (len(job.t_eval),)
        out, counts = np.full((n, *times, y.shape[1]), np.nan), np.zeros((n, m.N_COUNT), dtype=np.int64)
        runs = self._own(places)
        arrays = aim, y, table, out, counts
        left = runs.on_lanes(0, n, *arrays)
        for first, last in [(0, n)] if left is None else [(k, k + 1) for k in left]:
            while first < last:
                stop = (
                    first if not good[first] else first + int(np.argmin(np.append(good[first:last], False)))
                )
                done = runs.take(first, stop, *arrays) if stop > first else first
                if done < stop or done == first:
                    good[done] = False
                    first = done + 1
                else:
                    first = done
        return out, counts, good

    def _fill(self, y: Floats, rows: Rows) -> None:
        """Write the starts into the integrator's states."""
        mech = self.job.mech
        core, same = mech._core, self.job.start
        nq, nu, nx = core.nq, core.nu, core.nx
        if rows.q is not None:
            y[:, :nq], y[:, nq : nq + nu] = rows.q, 0.0 if rows.u is None else rows.u
            if rows.x is not None:
                y[:, nq + nu : nq + nu + nx] = rows.x
            if rows.memory is not None:
                y[:, nq + nu + nx :] = rows.memory
        else:
            y[:, :nq], y[:, nq : nq + nu] = same.q, same.u  # type: ignore[union-attr]
            if len(same.x) == nx:  # type: ignore[union-attr]
                y[:, nq + nu : nq + nu + nx] = same.x  # type: ignore[union-attr]
        for name, x in rows.inputs.items():
            y[:, nq + nu + core.layout.efforts.held[name]] = x
        if any(c.hinge.euler_parameters is not None and c.forward for c in core.coordinates.hinges):
            for row in y:
                row[:] = core.pack(row[:nq].copy(), row[nq : nq + nu].copy(), row[nq + nu :].copy())

    def _own(self, places: Any) -> RowRuns:
        """Return the runs of this thread for numbers at these places."""
        key = get_ident(), places.tobytes()
        if key not in self._runs:
            job, mech = self.job, self.job.mech
            spaces = mech._workspaces.by_depth
            core = spaces.make()
            rtol = max(job.options.get("rtol", 1e-6), 100 * np.finfo(float).eps)
            atol = tolerances(mech, job.options.get("atol"), rtol)
            numbers = numbers_at(core, places) if len(places) else None
            method = job.options.get("method", "DOP853")
            self._runs[key] = RowRuns(core, spaces.calls(core), method, rtol, atol, job.t_eval, numbers)
        return self._runs[key]

    def states(self, out: Floats) -> tuple[Floats, Floats]:
        """Return q and u of integrator states (B, ..., n)."""
        core, flat = self.job.mech._core, np.ascontiguousarray(out.reshape(-1, out.shape[-1]))
        q, u = core.states(np.zeros(len(flat)), flat)
        return q.reshape(*out.shape[:-1], -1), u.reshape(*out.shape[:-1], -1)
