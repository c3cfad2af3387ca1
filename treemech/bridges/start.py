"""Starts from plain arrays: attitudes normalised, prescribed coordinates at their signals, chains closed.

In a closed chain the independent coordinates and speeds of the arrays hold, and the others are an estimate from which the
closed state follows. So every array q, u near a closed state means one state, and its derivatives are exact::

    dq = N dq_i,   du = M dq_i + K du_i      (N, M, K of dynamics.analyses.linearization)

Directions dq_i are those of the speeds; W takes changes of the numbers q to them, and back q' = N(q) u.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.analyses.derivatives import Derivatives
from treemech.dynamics.analyses.displacement import rates
from treemech.dynamics.analyses.linearization import Reduction, reduce
from treemech.dynamics.analyses.parameter_derivatives import Direction
from treemech.dynamics.model.core import Core
from treemech.dynamics.model.row_derivatives import row_derivatives
from treemech.kinematics.closure import close_positions, close_velocities
from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from ..analyses.constraints import holonomic, size
from ..analyses.small_motions import derivative_workspace
from ..analyses.states import prescribed_drives, unpack
from ..mechanism import Mechanism
from ..results.state import State
from .model import Model

Marks = NDArray[np.bool_]
_RANK = 1e-9


def start(model: Model, mech: Mechanism, t: float, q: Floats, u: Floats, x: Floats, inputs: Floats) -> State:
    """Return the state that arrays mean."""
    q, u = normalised(mech._core, q), u.copy()
    for drive in prescribed_drives(mech):
        q[drive.q], u[drive.u], _ = drive.signal.at(t)
    state = mech.state(t, q, u)
    core = mech._core
    if core.loops is not None:
        q, u = state.q.copy(), state.u.copy()
        unpack(mech, (t, q, u), "start")
        free, rows = core.free_speeds(), core.layout.chords.rows
        with core.unloaded():
            P = core.constraints(t, q, u).partials
            r = _reduction(model, core, P, np.zeros_like(P))
            q = close_positions(
                mech._lagrange, holonomic(mech, t), rows, q, free & ~_marks(r.positions, free), size(mech)
            )
            u = close_velocities(partial(core.constraints, t), rows, q, u, free & ~_marks(r.speeds, free))
        state = mech.state(t, q, u)
    return model.with_inputs(mech, state, x, inputs)


def independent_of(model: Model, mech: Mechanism, state: State) -> tuple[list[int], list[int]]:
    """Return the numbers of the independent coordinates, and of the independent speeds, of a closed chain."""
    t, q, u = unpack(mech, state, "start")
    with mech._core.unloaded():
        P = mech._core.constraints(t, q, u).partials
        r = _reduction(model, mech._core, P, np.zeros_like(P))
    return r.positions, r.speeds


def start_slopes(
    model: Model,
    mech: Mechanism,
    t: float,
    q: Floats,
    u: Floats,
    given: Floats,
    directions: list[Direction],
    now: Derivatives,
) -> Floats:
    """Return the derivatives (2 nu + nx, nq + nu + nx + np) of a start by the arrays it was made of.

    q, u are those of the start, and `given` the array q as it was given; the core stands at the start.
    """
    n, nq, nx, core = mech.nu, mech.nq, model.nx, mech._core
    W, free = by_numbers(core, q, given), core.free_speeds()
    s = np.zeros((2 * n + nx, nq + n + nx + len(directions)))
    s[2 * n :, nq + n : nq + n + nx] = np.eye(nx)
    of_p = s[:, nq + n + nx :]
    if core.loops is None:
        s[:n, :nq], s[n : 2 * n, nq : nq + n] = free[:, None] * W, np.diag(free * 1.0)
        for own, parameter in zip(of_p.T, directions, strict=True):
            prescribed = parameter.equations(t, q, u, now.ud, now.multipliers).prescribed
            own[:n], own[n : 2 * n] = prescribed[0], prescribed[1]
        return s
    workspace, near = derivative_workspace(mech), core.chord_work.q.copy()
    workspace.inverse_dynamics(t, q, u, now.ud)
    rows = row_derivatives(core, workspace, t, q, u, now.ud, now.multipliers)
    r = _reduction(model, core, rows.partials, rows.velocity_q)
    s[:n, :nq] = r.N @ W[r.positions]
    s[n : 2 * n, :nq] = r.M @ W[r.positions]
    s[n : 2 * n, nq : nq + n] = r.K @ np.eye(n)[r.speeds]
    follow_q, follow_u = free & ~_marks(r.positions, free), free & ~_marks(r.speeds, free)
    core.chord_work.q[:] = near
    P = core.constraints(t, q, u).partials
    ofq, state = ~core.layout.chords.nonholonomic, (t, q, u, np.zeros(n), np.zeros(len(P)))
    for own, parameter in zip(of_p.T, directions, strict=True):
        by = parameter.equations(*state)
        own[:n], own[n : 2 * n] = by.prescribed[0], by.prescribed[1]
        gap = by.position[ofq] + P[ofq] @ own[:n]
        own[:n][follow_q] -= np.linalg.lstsq(P[ofq][:, follow_q], gap, rcond=_RANK)[0]
        gap = parameter.equations(*state, own).velocity
        own[n : 2 * n][follow_u] -= np.linalg.lstsq(P[:, follow_u], gap, rcond=_RANK)[0]
    return s


def normalised(core: Core, q: Floats) -> Floats:
    """Return coordinates (..., nq) with Euler parameters of length 1, whatever length they are given with."""
    q = q.copy()
    for k in core.coordinates.euler_parameters:
        q[..., k : k + 4] /= np.linalg.norm(q[..., k : k + 4], axis=-1, keepdims=True)
    return q


def by_speeds(core: Core, q: Floats) -> Floats:
    """Return N(q) (..., nq, nu) of q' = N(q) u at a position (nq,) or at many (n, nq)."""
    n, many = core.nu, q.reshape(-1, q.shape[-1])
    columns = rates(core, np.repeat(many, n, axis=0), np.tile(np.eye(n), (len(many), 1)))
    return columns.reshape(*q.shape[:-1], n, q.shape[-1]).swapaxes(-1, -2)


def by_numbers(core: Core, q: Floats, given: Floats) -> Floats:
    """Return W (..., nu, nq): displacements in the directions of the speeds by the numbers q, normalised from `given`."""
    scale = np.ones(q.shape)
    for k in core.coordinates.euler_parameters:
        scale[..., k : k + 4] = 4.0 / np.linalg.norm(given[..., k : k + 4], axis=-1, keepdims=True)
    return by_speeds(core, q).swapaxes(-1, -2) * scale[..., None, :]


def _reduction(model: Model, core: Core, P: Floats, velocity_q: Floats) -> Reduction:
    rows, n = core.layout.chords.nonholonomic, core.nu
    names = core.coordinates.u_names
    try:
        return reduce(P, rows, velocity_q, core.free_speeds(), np.eye(n), names, model.wanted)
    except ElementError as error:
        told = str(error).removeprefix("linearize: ").replace("coordinates=", "independent=")
        raise ElementError(told if "independent=" in told else f"independent=: {told}") from None


def _marks(numbers: list[int], free: Marks) -> Marks:
    marks = np.zeros(len(free), dtype=np.bool_)
    marks[numbers] = True
    return marks
