# mypy: ignore-errors
"""Entry points of closed chains: their equations of motion, projections, and solutions at many states."""

import numpy as np

from treemech.kinematics.chords.coordinates import (
    chord_accelerations,
    chord_rates,
    chord_speeds,
    fit_chord_coordinates,
)
from treemech.kinematics.chords.motion import constraint_rows
from treemech.kinematics.kernel.language import call_part, floats, floats2, ints
from treemech.kinematics.kernel.status import CHORD_FAILED, OK
from treemech.kinematics.plan.arrays import N_CONTEXT, REACTIONS
from treemech.kinematics.plan.chord_views import N_CHORD_CONTEXT, chord_q, chord_u
from treemech.kinematics.plan.chord_views import chords as chord_table
from treemech.kinematics.plan.columns import row
from treemech.kinematics.plan.views import (
    body_work,
    counts,
    effort_records,
    n_audit,
    n_efforts,
    n_states,
    own_q,
    own_tau,
    own_u,
    own_ud,
    speed_work,
)
from treemech.kinematics.tree.sweep import (
    columns,
    coordinate_rates,
    origin_velocities,
    speeds_of_rates,
    turn_speeds,
)

from ..equations import watch
from ..equations.loop_views import N_LOOP_CONTEXT, kept_rows, monitors, solutions, workspace_u
from ..equations.loops import (
    accelerate,
    choose_complements,
    chord_loads,
    evaluate_rows,
    largest,
    measure,
    note_spin,
    project,
    relieve,
    select_rows,
    select_speeds,
    switching,
    tangential,
)
from ..equations.loops import evaluate as evaluate_loops
from ..equations.virtual_work import evaluate_motion
from ..equations.virtual_work import inverse_dynamics as load_tree
from .begin import begin, begin_loops, begin_row, hold_prescribed, prescribe_accelerations, state_rates


def constraints(t, q, u, ud, tau, loops):
    """Evaluate the constraint rows of one state (kinematics.chords.motion) and tau = A ud - Q.

    The biases of the rows are P ud + P00.
    """
    chords = ints(loops, N_CHORD_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    status = begin(plan, t, q, u)
    if status != OK:
        return np.int32(status)
    W, S, state_u = body_work(plan), speed_work(plan), own_u(plan)
    status = evaluate_motion(plan, W, S, t, own_q(plan), state_u)
    if status != OK:
        return np.int32(status)
    given, own = floats(ud, nu), own_ud(plan)
    for k in range(nu):
        own[k] = given[k]
    load_tree(plan, W, S, own, floats(tau, nu))
    origin_velocities(plan, W, S, state_u)
    columns(plan, W, S)
    failed = constraint_rows(plan, chords, W, S, t)
    if failed >= 0:
        return np.int32(CHORD_FAILED + 16 * failed)
    fit_chord_coordinates(chords)
    chord_speeds(chords)
    return np.int32(OK)


def loop_rhs(t, y, dy, loops):
    """Compute y' as `rhs` does, with chords: y = (q, speeds, ..., coordinates of the cut hinges).

    If the monitor says STAGED, the state is projected onto the constraints first.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = begin_loops(plan, chords, t, y)
    if status != OK:
        return np.int32(status)
    q, u = own_q(plan), own_u(plan)
    W, S = body_work(plan), speed_work(plan)
    if monitors(chords)[watch.STAGED] > 0.0:
        status = project(plan, chords, W, S, t, False)
    if status == OK:
        status = evaluate_loops(plan, chords, W, S, t, q, u)
    if status != OK:
        return np.int32(status)
    ud, rates = floats(dy + 8 * nq, nu), floats(dy, nq)
    status = accelerate(plan, chords, t, own_tau(plan), ud)
    if status != OK:
        return np.int32(status)
    coordinate_rates(plan, q, u, rates)
    turn_speeds(plan, q, ud, 1.0)
    hold_prescribed(plan, rates, ud)
    n_cut = chord_q(chords).shape[0]
    if n_efforts(plan) > 0:
        state_rates(plan, dy)
    chord_rates(chords, floats(dy + 8 * (nq + nu + nz + n_audit(plan)), n_cut))
    return np.int32(OK)


def loop_residual(t, y, dy, loops):
    """Replace the rates of the speeds in dy by the loads A ud - Q that they need: `loop_rhs` in reverse.

    Prescribed speeds have the rates of their signals and no load. All other rates are those of `loop_rhs`.
    The constraint rows of the state stay in the work arrays, and the coordinates of the cut hinges follow.
    Reaction-dependent elements see the reaction of the multipliers in the solution.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = begin_loops(plan, chords, t, y)
    if status != OK:
        return np.int32(status)
    q, u, ud = own_q(plan), own_u(plan), own_ud(plan)
    W, S = body_work(plan), speed_work(plan)
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return np.int32(status)
    origin_velocities(plan, W, S, u)
    columns(plan, W, S)
    failed = constraint_rows(plan, chords, W, S, t)
    if failed >= 0:
        return np.int32(CHORD_FAILED + 16 * failed)
    if plan[REACTIONS] != 0:
        status = call_part(plan[REACTIONS], 1, t, chords)
        if status != OK:
            return np.int32(status)
    tau, rates = floats(dy + 8 * nq, nu), floats(dy, nq)
    for k in range(nu):
        ud[k] = tau[k]
    turn_speeds(plan, q, ud, -1.0)
    prescribe_accelerations(plan, ud)
    load_tree(plan, W, S, ud, tau)
    turn_speeds(plan, q, tau, 1.0)
    coordinate_rates(plan, q, u, rates)
    hold_prescribed(plan, rates, tau)
    if n_efforts(plan) > 0:
        state_rates(plan, dy)
    fit_chord_coordinates(chords)
    chord_rates(chords, floats(dy + 8 * (nq + nu + nz + n_audit(plan)), chord_q(chords).shape[0]))
    return np.int32(OK)


def loop_project(t, y, rank, loops):
    """Project the integrator state y onto the constraints.

    If rank > 0, that many independent rows are chosen anew. If it is 0, all rows count. If it is negative
    (for an output), nothing is chosen. With MEASURE the state stays as it is, and only the pivots there are
    found.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    fresh = monitors(chords)[watch.FRESH] > 0.0
    if not fresh:
        status = begin_loops(plan, chords, t, y)
        if status != OK:
            return np.int32(status)
    q, u, cut = own_q(plan), own_u(plan), chord_q(chords)
    W, S = body_work(plan), speed_work(plan)
    if rank == watch.MEASURE:
        return np.int32(measure(plan, chords, W, S, t, q, u))
    status = project(plan, chords, W, S, t, fresh)
    if status != OK:
        return np.int32(status)
    if rank >= 0:
        choose_complements(chords)
        if rank > 0:
            evaluate_rows(plan, chords, W, S, t, q, u)
            select_rows(chords, rank)
        note_spin(plan, chords, W)
        if monitors(chords)[watch.PARTITIONED] > 0.0:
            select_speeds(chords)
    turn_speeds(plan, q, u, 1.0)
    nz, nx = n_states(plan)
    to_q, to_u = floats(y, nq), floats(y + 8 * nq, nu)
    to_cut = floats(y + 8 * (nq + nu + nz + n_audit(plan)), cut.shape[0])
    for k in range(nq):
        to_q[k] = q[k]
    for k in range(nu):
        to_u[k] = u[k]
    for k in range(cut.shape[0]):
        to_cut[k] = cut[k]
    return np.int32(OK)


def loop_switch(t, y, out, loops):
    """Find the unilateral chord that should let go or hold again: value and number (`loops.switching`)."""
    chords, to = ints(loops, N_LOOP_CONTEXT), floats(out, 2)
    to[0], to[1] = switching(chords)
    return np.int32(OK)


def loop_tangent(t, y, e, loops):
    """Remove from the error e of the state y its part normal to the constraints.

    The matrix is factorised at y.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    q, dq, du, step = floats(y, nq), floats(e, nq), floats(e + 8 * nq, nu), workspace_u(chords)
    speeds_of_rates(plan, q, dq, step)
    tangential(plan, chords, step)
    coordinate_rates(plan, q, step, dq)
    turn_speeds(plan, q, du, -1.0)
    tangential(plan, chords, du)
    turn_speeds(plan, q, du, 1.0)
    return np.int32(OK)


def loop_dynamics(
    count, t, q, u, cut, tau, rank, ud, multipliers, residual, cut_u, cut_ud, loads, required, elements, loops
):
    """Compute ud, multipliers and results of the chords of each state under loads tau on the speeds (6.3.6).

    `cut` holds coordinates of cut hinges, approximate before and exact afterwards; cut_u and cut_ud are their
    speeds and rates of speeds. `residual` is the largest residual of the three levels, `loads` are force and
    moment of every chord on the body of its end b, at that end, `required` are the loads on the speeds that
    drives have to add, and `elements` are the records of elements (Work.effort_records). If rank > 0, that
    many independent rows are chosen.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    kept, x, near, speeds = kept_rows(chords), solutions(chords), chord_q(chords), chord_u(chords)
    m, nc = kept.shape[0], chord_table(chords).shape[0]
    for k in range(count):
        status = begin_row(plan, times[k], q, u, k)
        if status == OK:
            given = floats(cut + 8 * near.shape[0] * k, near.shape[0])
            for j in range(near.shape[0]):
                if given[j] == given[j]:  # not nan
                    near[j] = given[j]
            status = evaluate_loops(plan, chords, W, S, times[k], own_q(plan), own_u(plan))
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        if rank > 0:
            select_rows(chords, rank)
        accelerations, out = floats(ud + 8 * nu * k, nu), floats(multipliers + 8 * m * k, m)
        status = accelerate(plan, chords, times[k], floats(tau + 8 * nu * k, nu), accelerations)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        for r in range(m):
            out[r] = -x[nu + kept[r]] if kept[r] >= 0 else 0.0
        needed, level = floats(required + 8 * nu * k, nu), floats(residual + 24 * k, 3)
        own = own_ud(plan)
        for j in range(nu):
            own[j] = accelerations[j]
        load_tree(plan, W, S, own, needed)
        relieve(plan, chords, out, needed)
        constraint_rows(plan, chords, W, S, times[k])  # once more, with these accelerations
        level[0] = largest(chords, row.POSITION)
        level[1] = largest(chords, row.VELOCITY)
        level[2] = largest(chords, row.BIAS)
        chord_loads(chords, out, floats2(loads + 48 * nc * k, nc, 6))
        workspace = effort_records(plan)
        record = floats(elements + 8 * workspace.shape[0] * k, workspace.shape[0])
        for j in range(workspace.shape[0]):
            record[j] = workspace[j]
        fit_chord_coordinates(chords)
        chord_speeds(chords)
        rates = floats(cut_u + 8 * speeds.shape[0] * k, speeds.shape[0])
        chord_accelerations(chords, floats(cut_ud + 8 * speeds.shape[0] * k, speeds.shape[0]))
        for j in range(near.shape[0]):
            given[j] = near[j]
        for j in range(speeds.shape[0]):
            rates[j] = speeds[j]
    return np.int32(OK)
