"""Diagnosis of the state where an integration stopped: residuals, conditioning, jumping loads, stiffness."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from treemech.kinematics.plan.columns import effort
from treemech.kinematics.rows import worst_row
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..equations import watch
from ..integrators import layout as m
from ..model.core import Core
from .integrator import Integrator

_LARGEST_MODEL, _MOST_SPEEDS = (
    200,
    1000,
)  # largest y for which stiffness is examined, most speeds for which conditioning is
_UNKNOWN = suppress(TreemechError, np.linalg.LinAlgError)
_BAD, _SINGULAR = 1e12, 1e-6  # conditioning, and pivot relative to the largest, of a singular position


class Diagnosis(NamedTuple):
    """Numbers of the state reached; nan and "" if unknown."""

    connection: str = ""  # with the largest residual
    residual: float = np.nan  # (m, rad)
    conditioning: float = np.nan  # of the mass matrix; with chords, of their rows in its metric
    weakest: str = ""  # coordinate or connection with the largest part in the weakest direction
    pivot: float = np.nan  # smallest pivot of a multiplier, relative to the largest so far
    load: str = ""  # element whose load changes most within a few of the last steps
    load_change: float = 0.0  # relative change
    fastest: float = np.nan  # largest eigenvalue of the equations [1/s], if examined

    @property
    def singular(self) -> bool:
        return self.conditioning > _BAD or self.pivot < _SINGULAR


def diagnose(core: Core, run: Integrator, stiffness: bool) -> Diagnosis:
    """Diagnose the last accepted state. Whatever an element or a matrix cannot tell there is left out."""
    y = run.y.copy()
    found = diagnose_state(core, run.t, y)
    if not np.all(np.isfinite(y)):
        return found
    with core.guard(), _UNKNOWN, np.errstate(all="ignore"):
        found = _loads(core, run, found, y)
        if stiffness and run.n <= _LARGEST_MODEL:
            found = found._replace(fastest=_fastest(core, run, y))
    return found


def diagnose_state(core: Core, t: float, y: Floats) -> Diagnosis:
    """Diagnose the constraints and the inertia at an integrator state."""
    if np.all(np.isfinite(y)):
        with core.guard(), _UNKNOWN, np.errstate(all="ignore"):
            q, u = (x[0] for x in core.states(np.array([t]), y[None]))
            rest = core.unpack(y)
            core.work.z[: core.nz] = rest.z
            core.chord_work.q[:] = rest.cut
            return _constraints(core, Diagnosis(), t, q, u)
    return Diagnosis()


def _constraints(core: Core, found: Diagnosis, t: float, q: Floats, u: Floats) -> Diagnosis:
    free = core.free_speeds()
    if core.nu > _MOST_SPEEDS:
        return found
    if core.loops is None or not core.loops.n_kept:
        names = [name for name, own in zip(core.coordinates.u_names, free, strict=True) if own]
        A = core.mass_matrix(t, q)[np.ix_(free, free)]
        size = 1.0 / np.sqrt(np.maximum(np.diag(A), usual_inertia(core, t)[free]))
        values, vectors = np.linalg.eigh(size[:, None] * A * size)
        weakest = names[int(np.argmax(np.abs(vectors[:, 0])))] if names else ""
        return found._replace(conditioning=_ratio(values[::-1]), weakest=weakest)
    loops, rows = core.loops, core.layout.chords.rows
    now = core.constraints(t, q, u)
    holds = 1 - loops.work.off[: loops.n_rows]
    name, gap = worst_row(rows, now.residual * holds)
    chosen = loops.work.masked[: loops.n_kept] == 0
    U, values, _ = np.linalg.svd(loops._weighted(t, q, now.partials)[chosen], full_matrices=False)
    weakest = ""
    if values.size:
        own = loops.kept[chosen][int(np.argmax(np.abs(U[:, -1])))]
        weakest = rows[int(own)][0]
    monitor = loops.work.monitor
    pivot = (
        monitor[watch.LAST_PIVOT] / monitor[watch.LARGEST_PIVOT]
        if monitor[watch.LARGEST_PIVOT] > 0.0
        else np.nan
    )
    return found._replace(
        connection=name,
        residual=float(gap),
        conditioning=_ratio(values) ** 2,
        weakest=weakest,
        pivot=float(pivot),
    )


def usual_inertia(core: Core, t: float) -> Floats:
    """Return the largest inertia (nu,) of every speed at some random positions: a measure for small ones."""
    rng, found = np.random.default_rng(2), np.full(core.nu, 1e-300)
    for _ in range(3):
        q = np.concatenate([np.zeros(0), *(c.hinge.sample(rng) for c in core.coordinates.hinges)])
        found = np.fmax(found, np.diag(core.mass_matrix(t, q)))
    return found


def _ratio(values: Floats) -> float:
    """Return the ratio of the first value to the last, infinity if the last is not positive."""
    if not len(values):
        return 1.0
    return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf


def _loads(core: Core, run: Integrator, found: Diagnosis, y: Floats) -> Diagnosis:
    """Find the element with the largest relative change of load within a thousand of the last steps."""
    table = core.layout.plan.efforts
    if not len(table):
        return found
    h = 1e3 * float(run.control[m.STEP]) or 1e-12
    dy = run.rates(run.t, y)
    before = core.work.effort_records.copy()
    ahead = y + h * dy
    run.rates(run.t + h, ahead)
    after, best, change = core.work.effort_records, "", 0.0
    for applied, row in zip(core.layout.efforts.applied, table, strict=True):
        own = slice(
            row[effort.LOAD_RECORD], row[effort.LOAD_RECORD] + 6 * row[effort.N_ENDS] + row[effort.N_ACTED]
        )
        size = float(np.linalg.norm(before[own]))
        part = float(np.linalg.norm(after[own] - before[own])) / max(size, 1e-300)
        if part > change:
            best, change = applied.name, part
    return found._replace(load=best, load_change=change)


def _fastest(core: Core, run: Integrator, y: Floats) -> float:
    """Return the largest absolute eigenvalue of d(y')/dy, by forward differences."""
    base, J = run.rates(run.t, y), np.zeros((len(y), len(y)))
    for k in range(len(y)):
        h = 1e-7 * max(1.0, abs(y[k]))
        there = y.copy()
        there[k] += h
        J[:, k] = (run.rates(run.t, there) - base) / h
    return float(np.max(np.abs(np.linalg.eigvals(J)), initial=0.0))
