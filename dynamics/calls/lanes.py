"""Many rows of one model in one call: evaluations and steps, several rows at once on SIMD lanes where that can be.

The seam between the compiled core and everything that computes with many states (`treemech/calls/`, batches,
studies). A row is one state with its own time and, if wanted, its own numbers of the model (`Given`). Every
function computes the rows of the arrays it is given, in place, in the calling thread and without the interpreter
lock; whoever has several cores gives every thread a core of its own (`dynamics.model.workspaces`) and a slice of
the rows. It returns a status for every row (`kinematics.kernel.status`, 1 = ok): a row that failed keeps what it had,
and the others go on. `Core.fail(status, t, None)` turns a status into an error with the user's names.

A row has the same numbers whatever stands beside it, to the bit, and those of the scalar path (closed chains: to rounding).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.kernel.status import OK
from treemech.kinematics.layout.layout import Layout
from treemech.kinematics.plan.columns import effort
from treemech.topology.arrays import Floats, address, addresses

from ..equations import watch
from ..integrators import layout as m
from ..model.core import Core
from ..model.state_vector import without_prescribed
from ..native import entry_points as native
from ..simulation.integrator import METHODS, Closure, Integrator
from .lane_loops import LaneLoops
from .lane_model import LaneModel, lane_model

_BUDGET = 1_000_000  # steps of the method in one call
# Workspace of an integration on lanes, as in integrators.lane_integration: rows of n numbers, and numbers behind them
_ROOM, _CONTROL = 30, 48
Status = NDArray[np.int64]
_NO_NUMBERS = np.zeros((0, 6), dtype=np.int64)
EXPLICIT = tuple(name for name, (loop, _) in METHODS.items() if loop == "integrate")


class Given(NamedTuple):
    """Numbers of the model that differ from row to row; None where all rows have those of the core."""

    constants: Floats | None = None  # (B, *plan.constants.shape)
    end_points: Floats | None = None  # (B, *plan.end_points.shape)
    gravity: Floats | None = None  # (B, 3)
    parameters: Floats | None = None  # (B, len(layout.parameters)), the records of elements

    @classmethod
    def of(cls, layouts: Sequence[Layout]) -> "Given":
        """Return the numbers of models that differ in parameters only, one layout a row."""

        def joined(arrays: list[Floats]) -> Floats | None:
            same = all(a is arrays[0] or np.array_equal(a, arrays[0]) for a in arrays[1:])
            return None if same else np.array(arrays)

        return cls(
            joined([x.plan.constants for x in layouts]), joined([x.plan.end_points for x in layouts]),
            joined([x.plan.gravity for x in layouts]), joined([x.parameters for x in layouts]),
        )  # fmt: skip

    def rows(self, first: int, last: int) -> "Given":
        """Return the numbers of some rows."""
        return Given(*(None if array is None else array[first:last] for array in self))


class Row:
    """The arrays of a core into which the numbers of one row are written."""

    def __init__(self, core: Core, given: Given | None) -> None:
        plan, work = core.layout.plan, core.work
        to = (plan.constants, plan.end_points, plan.gravity, work.parameters)
        self._pairs = (
            [] if given is None else [(x, y) for x, y in zip(given, to, strict=True) if x is not None]
        )
        self._before = [y.copy() for _, y in self._pairs]

    def take(self, k: int) -> None:
        """Write the numbers of row k."""
        for numbers, to in self._pairs:
            to[...] = numbers[k]

    def put_back(self) -> None:
        """Write the numbers that the core had before."""
        for (_, to), numbers in zip(self._pairs, self._before, strict=True):
            to[...] = numbers


def plain(core: Core) -> bool:
    """Tell whether rows of this model may be stepped here: nothing in Python, nothing that switches, remembers or iterates."""
    if core.interpreted or not core.nu or core.remembers or len(core.layout.plan.points):
        return False
    if np.any(core.layout.plan.efforts[:, effort.REACTION] >= 0):
        return False
    return core.loops is None or not (len(core.loops.plan.unilateral) or core.loops.selected)


# ---------------------------------------------------------------- evaluations
def forward_dynamics(
    core: Core, t: Floats, q: Floats, u: Floats, tau: Floats, ud: Floats, z: Floats | None = None, given: Given | None = None
) -> Status:  # fmt: skip
    """Write ud (B, nu) of the states q, u of a tree at t (B,) under the loads tau on the speeds.

    z (B, nz) are the states and memories of elements; without them all rows have those of the core.
    """
    return _evaluated(core, "forward_dynamics", t, q, u, z, (tau,), ud, given)


def inverse_dynamics(
    core: Core, t: Floats, q: Floats, u: Floats, ud: Floats, tau: Floats, z: Floats | None = None, given: Given | None = None
) -> Status:  # fmt: skip
    """Write tau = A ud - Q (B, nu) of the states q, u of a tree at t (B,)."""
    return _evaluated(core, "inverse_dynamics", t, q, u, z, (ud,), tau, given)


def energy(
    core: Core, t: Floats, q: Floats, u: Floats, out: Floats, z: Floats | None = None, given: Given | None = None
) -> Status:  # fmt: skip
    """Write kinetic, potential and stored energy (B, 3) of the states q, u of a tree at t (B,)."""
    places = core.energy_places
    return _evaluated(core, "energy", t, q, u, z, (len(places), address(places)), out, given)


def pose(
    core: Core, t: Floats, q: Floats, u: Floats, number: int, place: Floats, out: Floats, given: Given | None = None
) -> Status:  # fmt: skip
    """Write position and rotation (B, 12) of an end of body `number`; `place` (12,) as in `Core.end`."""
    return _evaluated(core, "pose", t, q, u, None, (number, address(place)), out, given)


def mass_matrix(
    core: Core, t: Floats, q: Floats, u: Floats, out: Floats, given: Given | None = None
) -> Status:
    """Write A (B, nu, nu), full and symmetric, in the public order of the speeds."""
    lower, order = np.zeros_like(out), core.public_order
    status = _evaluated(core, "mass_matrix", t, q, u, None, (), lower, given)
    upper = np.moveaxis(np.tril(lower, -1), 1, 2)
    out[:, order[:, None], order] = lower + upper
    return status


def _evaluated(
    core: Core, name: str, t: Floats, q: Floats, u: Floats, z: Floats | None, more: tuple[int | Floats, ...], out: Floats,
    given: Given | None,
) -> Status:  # fmt: skip
    """Evaluate all rows on lanes; those that fail, or all if there are no lanes, by the scalar entry."""
    t, q, u = (np.ascontiguousarray(x, dtype=np.float64) for x in (t, q, u))
    rows = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in more]
    if not out.flags.c_contiguous or out.dtype != np.float64:
        raise AssertionError("the core takes C-contiguous float64 arrays")
    own = None if z is None or not core.nz else np.ascontiguousarray(z, dtype=np.float64)
    status = np.zeros(len(t), dtype=np.int64)
    closed = core.loops is not None and name == "forward_dynamics"  # an equation of trees
    lanes = lane_model(core) if given is None and len(t) > 1 and not closed else None
    if lanes is not None:
        with core.guard():  # a row whose element raises is left, and computed again
            lanes.evaluate(name, t, q, u, own, rows, out, status)
    left = np.flatnonzero(status != OK).tolist()
    if not left:
        return status
    entry, row, time, before = native.entry(name), Row(core, given), np.zeros(1), core.work.z.copy()
    for k in left:
        row.take(k)
        time[0] = t[k]
        if own is not None:
            core.work.z[: core.nz] = own[k]
        one = [address(x[k:]) if isinstance(x, np.ndarray) else x for x in rows]
        with core.guard():
            status[k] = entry(
                1, *addresses((time, q[k:], u[k:])), *one, address(out[k:]), core.context_address
            )
    core.work.z[:] = before
    row.put_back()
    return status


# ---------------------------------------------------------------- steps
def rk4_steps(
    core: Core, t: Floats, y: Floats, dt: float, steps: int = 1, given: Given | None = None
) -> Status:
    """Take RK4 steps of one size: t (B,) and the integrator's states y (B, n) of `Core.pack` move on in place.

    Inputs that are set from step to step stand in y (`layout.efforts.held`). A row that fails stays at the step
    before. `simulate(method="RK4", max_step=dt)` and `Stepper` have the same numbers.
    """
    _check(t, y)
    status = np.zeros(len(t), dtype=np.int64)
    lanes = _lanes(core, given, len(t)) if dt > 0.0 else None
    if lanes is not None:
        status = steps_on_lanes(lanes, t, y, dt, steps, lanes.fills(own := _own(given)))
        del own  # alive until here
    left = np.flatnonzero(status != OK).tolist()
    if not left:
        return status
    run, row = _integrator(core, "RK4", dt), Row(core, given)
    for k in left:
        row.take(k)
        for _ in range(steps):
            run.y[:] = y[k]
            end = float(t[k] + dt)
            with core.guard():
                status[k] = _leg(run, float(t[k]), end, dt)
            if status[k] != OK:
                break
            t[k], y[k] = end, run.y
    row.put_back()
    return status


def steps_on_lanes(
    lanes: LaneModel | LaneLoops,
    t: Floats,
    y: Floats,
    dt: float,
    steps: int,
    table: NDArray[np.int64] | None = None,
) -> Status:
    """Take RK4 steps on lanes; return the status of each row. Rows that fail stay as they are."""
    n, euler, size, status = y.shape[1], lanes.euler, np.array([dt]), np.zeros(len(t), dtype=np.int64)
    fills, context, room = _NO_NUMBERS if table is None else table, lanes.begin(), lanes.room(6 * n)

    def go(first: int, count: int) -> None:
        own = from_row(fills, first)
        lanes.entry("rk4")(
            count, steps, *addresses((size, t[first:], y[first:])), n, len(euler), address(euler), lanes.rhs,
            address(room), len(own), *addresses((own, status[first:])), context,
        )  # fmt: skip

    with lanes.core.guard():
        go(0, len(t))
        if isinstance(lanes, LaneLoops):
            lanes.apart(status, go)
    return status


def from_row(table: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """Return the table of numbers as seen from a row."""
    moved = table.copy()
    moved[:, 0] += 8 * first * moved[:, 5]
    return moved


def runs_on_lanes(
    lanes: LaneModel | LaneLoops, method: int, t: Floats, y: Floats, end: Floats, rtol: float, atol: Floats, max_step: float,
    t_eval: Floats | None = None, out: Floats | None = None, table: NDArray[np.int64] | None = None,
) -> tuple[Status, NDArray[np.int64]]:  # fmt: skip
    """Integrate rows on lanes; return status, and evaluations, steps, rejected (B, 3). Rows that fail stay as they are."""
    n, euler, none = y.shape[1], lanes.euler, np.zeros(0)
    status, counts = np.zeros(len(t), dtype=np.int64), np.zeros((len(t), 3), dtype=np.int64)
    times, samples = (
        (none, none) if t_eval is None or out is None else (np.array(t_eval, dtype=np.float64), out)
    )
    _check(samples, atol, end)
    control, spare = np.array([rtol, max_step, 0.0]), np.zeros(m.N_CONTROL + watch.N_MONITOR)
    control.view(np.int64)[2] = lanes.project
    fills, context = _NO_NUMBERS if table is None else table, lanes.begin()
    room = lanes.room(_ROOM * n + _CONTROL)

    def go(first: int, count: int) -> None:
        own = from_row(fills, first)
        lanes.entry("integrate")(
            method, lanes.rhs, count, n, len(atol), *addresses((t[first:], y[first:], end[first:], control, atol)), len(euler),
            address(euler), len(times), *addresses((times, samples[first:])), address(room), len(own), address(own),
            address(spare), _BUDGET, *addresses((counts[first:], status[first:])), context,
        )  # fmt: skip

    with lanes.core.guard():
        go(0, len(t))
        if isinstance(lanes, LaneLoops):
            lanes.apart(status, go)
    return status, counts


def _check(*arrays: Floats) -> None:
    for array in arrays:
        if array.dtype != np.float64 or not array.flags.c_contiguous:
            raise AssertionError("rows are C-contiguous arrays of float64")


def _own(given: Given | None) -> dict[str, Floats]:
    """Return the numbers that rows have of their own, by name."""
    found = {} if given is None else given._asdict()
    return {name: np.ascontiguousarray(x, dtype=np.float64) for name, x in found.items() if x is not None}


def _lanes(core: Core, given: Given | None, count: int) -> LaneModel | None:
    """Return the model on lanes if rows go that way: trees, as `Given` has no numbers of chords."""
    alone = core.loops is None and count > 1 and plain(core)
    return lane_model(core, bool(_own(given))) if alone else None


class Progress(NamedTuple):
    """What an error-controlled run cost, a row each."""

    status: Status
    evaluations: NDArray[np.int64]
    steps: NDArray[np.int64]
    rejected: NDArray[np.int64]


def integrate(
    core: Core, method: str, t: Floats, y: Floats, end: Floats, rtol: float, atol: Floats,
    t_eval: Floats | None = None, out: Floats | None = None, given: Given | None = None, max_step: float = np.inf,
) -> Progress:  # fmt: skip
    """Integrate every row from t (B,) to end (B,) with its own steps; t and y (B, n) move on in place.

    `method` (DP5 or DOP853), rtol and atol (n,) mean what they mean in `simulate`. With t_eval (T,), increasing and between
    start and end of every row, out (B, T, n) gets the states at these times. A row that fails stays at the time it has
    reached. On lanes every row has its own time and step, and a lane that arrives takes the next row.
    """
    _check(t, y)
    status, counts = np.zeros(len(t), dtype=np.int64), np.zeros((len(t), 3), dtype=np.int64)
    limits = without_prescribed(core, np.ascontiguousarray(atol, dtype=np.float64))
    lanes = _lanes(core, given, len(t)) if method in ("DP5", "DOP853") else None
    if lanes is not None:
        fills, aims = lanes.fills(own := _own(given)), np.array(end, dtype=np.float64)
        status, counts = runs_on_lanes(
            lanes, METHODS[method][1], t, y, aims, rtol, limits, max_step, t_eval, out, fills
        )
        del own  # alive until here
    left = np.flatnonzero(status != OK).tolist()
    if left:
        run, row = _integrator(core, method, max_step, rtol, atol), Row(core, given)
        for k in left:
            row.take(k)
            run.y[:] = y[k]
            samples = None if out is None else out[k]
            with core.guard():
                status[k] = _leg(run, float(t[k]), float(end[k]), 0.0, t_eval, samples)
            t[k], y[k] = run.t, run.y
            counts[k] = run.count[m.EVALUATIONS], run.count[m.STEPS], run.count[m.REJECTED]
        row.put_back()
    return Progress(status, *(np.ascontiguousarray(x) for x in counts.T))


def _integrator(
    core: Core, method: str, max_step: float, rtol: float = 1e-6, atol: Floats | None = None
) -> Integrator:
    if atol is None:
        atol = np.ones(core.nq + core.nu + core.nx + core.n_audit)
    n = core.nq + core.nu + core.nz + core.n_audit + core.n_cut
    return Integrator(core, method, 0.0, np.zeros(n), rtol, np.array(atol), max_step, Closure())


def _leg(
    run: Integrator,
    start: float,
    end: float,
    first: float,
    t_eval: Floats | None = None,
    out: Floats | None = None,
) -> int:
    """Integrate from start to end; return the status, OK at the end."""
    run.count[:] = 0
    run.count[m.CONTROLLED], run.count[m.HAS_JACOBIAN] = len(run.atol), -1
    run.control[m.TIME], run.control[m.END], run.control[m.STEP] = start, end, first
    none = np.zeros(0)
    times, states = (
        (np.array([end]), np.zeros((1, run.n))) if t_eval is None or out is None else (t_eval, out)
    )
    return run.advance(times, states, none, none.reshape(0, run.n), None, _BUDGET)
