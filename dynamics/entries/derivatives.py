# mypy: ignore-errors
"""Entry points of derivatives: of the equations of motion at one state, and Jacobians for integrators."""

import numpy as np
from numba import types

from treemech.kinematics.chords.duals import chord_duals as dual_rows
from treemech.kinematics.chords.motion import constraint_rows
from treemech.kinematics.kernel.language import address_of, call_derivatives, floats, floats2, inlined, ints
from treemech.kinematics.kernel.status import CHORD_FAILED, OK
from treemech.kinematics.plan.arrays import DERIVATIVES, N_CONTEXT
from treemech.kinematics.plan.chord_views import N_CHORD_CONTEXT, chord_q
from treemech.kinematics.plan.columns import chord
from treemech.kinematics.plan.views import (
    body_work,
    counts,
    n_efforts,
    n_states,
    own_effort,
    own_q,
    own_required,
    own_tau,
    own_u,
    own_ud,
    speed_work,
)
from treemech.kinematics.tree.sweep import columns, origin_velocities, turn_speeds

from ..derivatives import layout
from ..derivatives.accelerations import accelerations, inverse, prepare
from ..derivatives.loops import loop_derivatives
from ..derivatives.residual import residual_derivatives
from ..derivatives.rows import row_derivatives as differentiate_rows
from ..derivatives.state_jacobian import state_jacobian
from ..derivatives.tree import speed_changes, tree_derivatives
from ..equations.articulated import forward_dynamics as solve_tree
from ..equations.loop_views import N_LOOP_CONTEXT, kept_rows, masks, solutions
from ..equations.loops import accelerate, relieve
from ..equations.loops import evaluate as evaluate_loops
from ..equations.virtual_work import evaluate_motion
from ..equations.virtual_work import inverse_dynamics as load_tree
from .begin import begin, begin_loops, begin_states, loads_on_speeds, prescribe_accelerations


@inlined
def _forward_derivatives(plan, W, S, t, tau, table):
    """Compute ud, d(ud)/d(q, u), d(ud)/d(tau), d(ud)/dx, after `evaluate_motion`.

    Returns a status code (kernel.status).
    """
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    ud, factors = floats(table[layout.UD], nu), table[layout.FACTORS]
    everywhere = n_efforts(plan) > 0 or 2 * nu <= layout.FEW  # all columns at once: fewer and longer loops
    solve_tree(plan, W, S, tau, ud)
    status = tree_derivatives(plan, W, S, t, ud, table, False)
    if status != OK:
        return status
    prepare(plan, W, S, floats2(speed_changes(plan, table), layout.N_COMPONENTS, nu), factors)
    accelerations(plan, factors, table[layout.BY], table[layout.OUT], 2 * nu, everywhere)
    if nx > 0:
        accelerations(plan, factors, table[layout.TAU_X], table[layout.UD_X], nx, True)
    inverse(plan, factors, table[layout.INVERSE])
    return OK


def derivatives(t, forward, table_):
    """Differentiate the equations of motion at one state: regular order of the speeds, rows (by q, by u).

    The results stand in the table (dynamics.derivatives.layout): BY are the derivatives of tau = A ud - Q,
    MASSES is the lower triangle of A. With `forward`, ud follows from the loads tau first; then OUT are the
    derivatives of ud and INVERSE those of ud by tau (both are zero in the rows of prescribed speeds), and MASSES
    is not written. TAU_X and UD_X are the derivatives by states of elements, RATES and RATES_X
    those of the rates of these states.
    """
    table = ints(table_, layout.N_TABLE)
    plan = ints(table[layout.CONTEXT], N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S = body_work(plan), speed_work(plan)
    status = begin(plan, t, table[layout.GIVEN_Q], table[layout.GIVEN_U])
    if status == OK:
        status = evaluate_motion(plan, W, S, t, own_q(plan), own_u(plan))
    if status != OK:
        return np.int32(status)
    if forward == 1:
        tau = loads_on_speeds(plan, floats(table[layout.GIVEN_TAU], nu))
        status = _forward_derivatives(plan, W, S, t, tau, table)
    else:
        status = tree_derivatives(plan, W, S, t, floats(table[layout.UD], nu), table, True)
    return np.int32(status)


def jacobian(t, y, J, context):
    """Compute d(y')/dy of `rhs`, column by column: J[n j + i] = d y'_i / d y_j.

    The context holds the table of derivatives.
    """
    plan = ints(context, N_CONTEXT)
    table = ints(plan[DERIVATIVES], layout.N_TABLE)
    W, S = body_work(plan), speed_work(plan)
    status = begin_states(plan, t, y)
    if status == OK:
        status = evaluate_motion(plan, W, S, t, own_q(plan), own_u(plan))
    if status == OK:
        status = _forward_derivatives(plan, W, S, t, own_effort(plan), table)
    if status == OK:
        state_jacobian(plan, table, J, 0)
    return np.int32(status)


def row_derivatives(t, table_, loops):
    """Differentiate the constraint rows, after `derivatives` and `constraints` of the same state.

    The results stand in the table of rows (dynamics.derivatives.layout).
    """
    chords, table = ints(loops, N_LOOP_CONTEXT), ints(table_, layout.N_TABLE)
    plan = ints(chords[0], N_CONTEXT)
    return np.int32(differentiate_rows(plan, chords, body_work(plan), speed_work(plan), t, table))


def chord_duals(t, number, workspace, loops):
    """Differentiate the rows of a chord by address along a direction.

    The number is MOST_DIRECTIONS times the chord, plus the direction. The derivatives stand at `workspace`
    afterwards. Returns 1 if there are any, else 0.
    """
    chords = ints(loops, N_CHORD_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    worked = dual_rows(
        plan, chords, number // chord.MOST_DIRECTIONS, t, number % chord.MOST_DIRECTIONS, workspace
    )
    return np.int32(1 if worked else 0)


@inlined
def _closed_derivatives(plan, chords, W, S, t, table, required):
    """Differentiate A ud - Q and the rows at the accelerations and multipliers of the tables.

    Evaluate the motion of the state before. A ud - Q is written to `required`; the constraint rows are those
    with these accelerations. Returns a status code (kernel.status).
    """
    rows, nq, nu = counts(plan)
    q, u, own, ud = own_q(plan), own_u(plan), own_ud(plan), floats(table[layout.UD], nu)
    given_q, given_u = floats(table[layout.GIVEN_Q], nq), floats(table[layout.GIVEN_U], nu)
    for k in range(nq):
        given_q[k] = q[k]
    for k in range(nu):
        given_u[k] = u[k]
        own[k] = ud[k]
    load_tree(plan, W, S, own, required)
    failed = constraint_rows(plan, chords, W, S, t)
    if failed >= 0:
        return CHORD_FAILED + 16 * failed
    status = call_derivatives(table[layout.DIFFERENTIATE], t, 0, address_of(table))
    if status == OK:
        status = call_derivatives(table[layout.DIFFERENTIATE_ROWS], t, address_of(table), address_of(chords))
    return status


def loop_jacobian(t, y, J, loops):
    """Compute the Jacobian of `loop_rhs` as `jacobian` does; columns and rows of cut hinges are zero."""
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    table = ints(plan[DERIVATIVES], layout.N_TABLE)
    rows, nq, nu = counts(plan)
    status = begin_loops(plan, chords, t, y)
    if status != OK:
        return np.int32(status)
    W, S, kept, x = body_work(plan), speed_work(plan), kept_rows(chords), solutions(chords)
    status = evaluate_loops(plan, chords, W, S, t, own_q(plan), own_u(plan))
    if status == OK:
        status = accelerate(plan, chords, t, own_tau(plan), floats(table[layout.UD], nu))
    if status != OK:
        return np.int32(status)
    multipliers = floats(ints(table[layout.ROWS], layout.N_ROW_TABLE)[layout.MULTIPLIERS], kept.shape[0])
    for r in range(kept.shape[0]):
        multipliers[r] = -x[nu + kept[r]] if kept[r] >= 0 else 0.0
    status = _closed_derivatives(plan, chords, W, S, t, table, own_required(plan))
    if status == OK:
        loop_derivatives(plan, chords, table)
        state_jacobian(plan, table, J, chord_q(chords).shape[0])
    return np.int32(status)


def residual_jacobian(t, y, G, loops):
    """Differentiate the result of `loop_residual` less P^T lambda, and the rates of the rows.

    The derivatives stand column by column: by the coordinates along the speeds, by speeds and by states
    (residual_derivatives). Before the call G holds the rates of the speeds, then the multipliers of the rows
    that do not vanish.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    table = ints(plan[DERIVATIVES], layout.N_TABLE)
    rows, nq, nu = counts(plan)
    status = begin_loops(plan, chords, t, y)
    if status != OK:
        return np.int32(status)
    q, u, W, S = own_q(plan), own_u(plan), body_work(plan), speed_work(plan)
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return np.int32(status)
    kept, masked = kept_rows(chords), masks(chords)
    given, ud = floats(G, nu + masked.shape[0]), floats(table[layout.UD], nu)
    multipliers = floats(ints(table[layout.ROWS], layout.N_ROW_TABLE)[layout.MULTIPLIERS], kept.shape[0])
    for k in range(nu):
        ud[k] = given[k]
    for r in range(kept.shape[0]):
        multipliers[r] = given[nu + kept[r]] if kept[r] >= 0 and masked[kept[r]] == 0 else 0.0
    turn_speeds(plan, q, ud, -1.0)
    prescribe_accelerations(plan, ud)
    origin_velocities(plan, W, S, u)
    columns(plan, W, S)
    required = own_required(plan)
    status = _closed_derivatives(plan, chords, W, S, t, table, required)
    if status == OK:
        relieve(plan, chords, multipliers, required)
        residual_derivatives(plan, chords, table, required, G)
    return np.int32(status)


_f, _n, _status = types.float64, types.int64, types.int32
# name -> function, C signature
DERIVATIVE_ENTRIES = {
    "derivatives": (derivatives, _status(_f, _n, _n)),
    "row_derivatives": (row_derivatives, _status(_f, _n, _n)),
    "jacobian": (jacobian, _status(_f, _n, _n, _n)),
    "loop_jacobian": (loop_jacobian, _status(_f, _n, _n, _n)),
    "residual_jacobian": (residual_jacobian, _status(_f, _n, _n, _n)),
    "chord_duals": (chord_duals, _status(_f, _n, _n, _n)),
}
