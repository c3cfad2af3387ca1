# mypy: ignore-errors
"""The entry points of the core: what Python reaches, by name, through an address.

Flat arguments (numbers and addresses), an int32 status, no allocation, no exception: so that the same source
can be built into a plain shared library (dynamics.library), jitted, or run as plain Python (dynamics.native.entry_points).
Arrays over `count` states are contiguous, one state a row, in the public order of the coordinates.
"""

import numpy as np
from numba import types

from treemech.kinematics.chords.coordinates import (
    chord_accelerations,
    chord_rates,
    chord_speeds,
    fit_chord_coordinates,
)
from treemech.kinematics.chords.element import element_rows
from treemech.kinematics.chords.motion import constraint_rows
from treemech.kinematics.kernel.language import call_part, floats, floats2, inlined, ints, load3, load9, store
from treemech.kinematics.kernel.status import CHORD_FAILED, HINGE_FAILED, OK
from treemech.kinematics.kernel.vector import add, cross, multiply, rotate
from treemech.kinematics.plan.arrays import N_CONTEXT, REACTIONS
from treemech.kinematics.plan.chord_views import N_CHORD_CONTEXT, chord_q, chord_u
from treemech.kinematics.plan.chord_views import chords as chord_table
from treemech.kinematics.plan.columns import body, row, speed
from treemech.kinematics.plan.views import (
    body_work,
    counts,
    effort_records,
    frames,
    gravity,
    n_audit,
    n_efforts,
    n_states,
    own_effort,
    own_q,
    own_tau,
    own_u,
    own_ud,
    prescriptions,
    signal_values,
    speed_work,
)
from treemech.kinematics.tree.general_hinge import place_hinge
from treemech.kinematics.tree.sweep import (
    columns,
    coordinate_rates,
    origin_velocities,
    speeds_of_rates,
    turn_speeds,
)
from treemech.kinematics.tree.sweep import positions as place

from ..equations.articulated import forward_dynamics as solve_tree
from ..equations.loop_monitor import FRESH, PARTITIONED, STAGED
from ..equations.loop_views import N_LOOP_CONTEXT, kept_rows, monitors, solutions, workspace_u
from ..equations.loops import (
    accelerate,
    choose_complements,
    chord_loads,
    evaluate_rows,
    largest,
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
from ..equations.virtual_work import mass_matrix as assemble_mass_matrix
from ..integrators.adams import adams_integrate
from ..integrators.alpha.loop import alpha_integrate
from ..integrators.radau import radau_integrate
from ..integrators.runge_kutta import integrate, loop_integrate
from ..loads.applied import apply_efforts
from ..loads.composites import solve_points
from ..loads.efforts import remember as write_down
from ..loads.reactions import apply_reactions, solve_reactions
from .begin import begin, begin_loops, begin_row, begin_states, loads_on_speeds, state_rates
from .derivatives import DERIVATIVE_ENTRIES
from .duals import DUAL_ENTRIES

_f, _n, _status = types.float64, types.int64, types.int32
N_TRACE = 30  # rotation 9, position 3, omega 3, velocity 3, alpha 3, acceleration 3, moment 3, force 3


def rhs(t, y, dy, context):
    """y' of y = (q, speeds, states of elements, audit, what they remember): the equations of motion as the integrator sees them.

    Angular speeds of Euler parameters are in the base of the outer body; prescribed entries stand still.
    """
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    status = begin_states(plan, t, y)
    if status != OK:
        return np.int32(status)
    q, u = own_q(plan), own_u(plan)
    ud, rates = floats(dy + 8 * nq, nu), floats(dy, nq)
    W, S = body_work(plan), speed_work(plan)
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return np.int32(status)
    solve_tree(plan, W, S, own_effort(plan), ud)
    if n_efforts(plan) > 0:
        state_rates(plan, dy)
    coordinate_rates(plan, q, u, rates)
    turn_speeds(plan, q, ud, 1.0)
    prescribed = prescriptions(plan)
    for k in range(prescribed.shape[0]):
        rates[prescribed[k, speed.PRESCRIBED_Q]] = 0.0
        ud[prescribed[k, speed.PRESCRIBED_U]] = 0.0
    return np.int32(status)


def general_hinge(i, t, context):
    """Place body i, whose hinge is called through its address; called from the sweep over positions."""
    return np.int32(1) if place_hinge(ints(context, N_CONTEXT), i, t) else np.int32(0)


def applied_loads(i, t, context):
    """Elements and external loads at the state in the work arrays; called from within the equations of motion."""
    return np.int32(apply_efforts(ints(context, N_CONTEXT), t))


def composite(c, t, context):
    """Internal points of composite c in equilibrium, and its loads; called from within the applied loads."""
    return np.int32(solve_points(ints(context, N_CONTEXT), c, t))


def reactions(i, t, loops):
    """Elements that depend on loads of chords, with the multipliers; called from within the equations of motion.

    i: 0 where the multipliers are to be found as well, 1 where they are given.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    if i == 1:
        return np.int32(apply_reactions(plan, chords, t))
    return np.int32(solve_reactions(plan, chords, t))


def chord_element(c, t, loops):
    """Rows of chord c, whose element is called through its address; called from within the constraint rows."""
    chords = ints(loops, N_CHORD_CONTEXT)
    return np.int32(1) if element_rows(ints(chords[0], N_CONTEXT), chords, c, t) else np.int32(0)


def states(count, t, y, q, u, context):
    """q and u, in the public conventions, of each integrator state y; prescribed entries from their signals."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    times = floats(t, count)
    state_q, state_u = own_q(plan), own_u(plan)
    for k in range(count):
        at = y + 8 * (nq + nu) * k
        status = begin(plan, times[k], at, at + 8 * nq)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        turn_speeds(plan, state_q, state_u, -1.0)
        out_q, out_u = floats(q + 8 * nq * k, nq), floats(u + 8 * nu * k, nu)
        for j in range(nq):
            out_q[j] = state_q[j]
        for j in range(nu):
            out_u[j] = state_u[j]
    return np.int32(OK)


def forward_dynamics(count, t, q, u, tau, ud, context):
    """ud of each state under the loads tau on the speeds."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    state_q, state_u = own_q(plan), own_u(plan)
    for k in range(count):
        status = begin_row(plan, times[k], q, u, k)
        if status == OK:
            status = evaluate_motion(plan, W, S, times[k], state_q, state_u)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        solve_tree(
            plan, W, S, loads_on_speeds(plan, floats(tau + 8 * nu * k, nu)), floats(ud + 8 * nu * k, nu)
        )
    return np.int32(OK)


def inverse_dynamics(count, t, q, u, ud, tau, context):
    """tau = A ud - Q of each state."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    state_q, state_u = own_q(plan), own_u(plan)
    for k in range(count):
        status = begin_row(plan, times[k], q, u, k)
        if status == OK:
            status = evaluate_motion(plan, W, S, times[k], state_q, state_u)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        load_tree(plan, W, S, floats(ud + 8 * nu * k, nu), floats(tau + 8 * nu * k, nu))
    return np.int32(OK)


@inlined
def _place(plan, W, S, t, q, u):
    """Poses of the state at the addresses q, u; a status."""
    status = begin(plan, t, q, u)
    if status != OK:
        return status
    failed = place(plan, W, S, t, own_q(plan))
    return OK if failed < 0 else HINGE_FAILED + 16 * failed


def constraints(t, q, u, ud, tau, loops):
    """Constraint rows of one state (kinematics.chords.motion) and tau = A ud - Q; the biases are P ud + P00."""
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
    """As `rhs`, with chords: y = (q, speeds, ..., coordinates of the cut hinges), projected first if so told."""
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = begin_loops(plan, chords, t, y)
    if status != OK:
        return np.int32(status)
    q, u = own_q(plan), own_u(plan)
    W, S = body_work(plan), speed_work(plan)
    if monitors(chords)[STAGED] > 0.0:
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
    prescribed = prescriptions(plan)
    for k in range(prescribed.shape[0]):
        rates[prescribed[k, speed.PRESCRIBED_Q]] = 0.0
        ud[prescribed[k, speed.PRESCRIBED_U]] = 0.0
    n_cut = chord_q(chords).shape[0]
    if n_efforts(plan) > 0:
        state_rates(plan, dy)
    chord_rates(chords, floats(dy + 8 * (nq + nu + nz + n_audit(plan)), n_cut))
    return np.int32(OK)


def loop_residual(t, y, dy, loops):
    """As `loop_rhs`, backwards: for given rates of the speeds, in dy, the loads A ud - Q they need, in their place.

    Prescribed speeds have the rates of their signals, and no load. Rates of all else as there; the constraint rows of the
    state are left behind, the coordinates of the cut hinges settled. Elements that wait for a reaction see that of the
    multipliers in the solution.
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
    prescribed, values = prescriptions(plan), signal_values(plan)
    for k in range(prescribed.shape[0]):
        ud[prescribed[k, speed.PRESCRIBED_U]] = values[prescribed[k, speed.PRESCRIBED_SIGNAL], 2]
    load_tree(plan, W, S, ud, tau)
    turn_speeds(plan, q, tau, 1.0)
    coordinate_rates(plan, q, u, rates)
    for k in range(prescribed.shape[0]):
        rates[prescribed[k, speed.PRESCRIBED_Q]] = 0.0
        tau[prescribed[k, speed.PRESCRIBED_U]] = 0.0
    if n_efforts(plan) > 0:
        state_rates(plan, dy)
    fit_chord_coordinates(chords)
    chord_rates(chords, floats(dy + 8 * (nq + nu + nz + n_audit(plan)), chord_q(chords).shape[0]))
    return np.int32(OK)


def loop_project(t, y, rank, loops):
    """The integrator state y onto the constraints.

    rank > 0: that many independent rows are chosen anew; 0: all rows count; < 0: nothing is chosen (an output).
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    fresh = monitors(chords)[FRESH] > 0.0
    if not fresh:
        status = begin_loops(plan, chords, t, y)
        if status != OK:
            return np.int32(status)
    q, u, cut = own_q(plan), own_u(plan), chord_q(chords)
    W, S = body_work(plan), speed_work(plan)
    status = project(plan, chords, W, S, t, fresh)
    if status != OK:
        return np.int32(status)
    if rank >= 0:
        choose_complements(chords)
        if rank > 0:
            evaluate_rows(plan, chords, W, S, t, q, u)
            select_rows(chords, rank)
        note_spin(plan, chords, W)
        if monitors(chords)[PARTITIONED] > 0.0:
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
    """Which unilateral chord, counted among them, should let go or hold again (`loops.switching`): value, number."""
    chords, to = ints(loops, N_LOOP_CONTEXT), floats(out, 2)
    to[0], to[1] = switching(chords)
    return np.int32(OK)


def loop_tangent(t, y, e, loops):
    """The error e of the state y less its part normal to the constraints; matrix and factors are those of y."""
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
    """ud and multipliers of each state under the loads tau on the speeds (6.3.6), and what else follows for its chords.

    `cut`: coordinates of cut hinges, nearly right before and exact afterwards; cut_u, cut_ud: their speeds; residual: the
    largest of the three levels; loads: force and moment of every chord on the body of its end b, there; required:
    loads on the speeds beyond what acts, those of the drives; elements: their records (Work.effort_records). With a rank, that many independent rows are chosen.
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


def elements(count, t, q, u, out, context):
    """Records of all elements (Work.effort_records) at each state."""
    plan = ints(context, N_CONTEXT)
    W, S, times, workspace = body_work(plan), speed_work(plan), floats(t, count), effort_records(plan)
    n = workspace.shape[0]
    for k in range(count):
        status = begin_row(plan, times[k], q, u, k)
        if status == OK:
            status = evaluate_motion(plan, W, S, times[k], own_q(plan), own_u(plan))
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        to = floats(out + 8 * n * k, n)
        for j in range(n):
            to[j] = workspace[j]
    return np.int32(OK)


def remember(t, y, dy, context):
    """After an accepted step: what elements write down, into the z of the state y; dy is not used."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = begin_states(plan, t, y)
    if status == OK:
        status = evaluate_motion(plan, body_work(plan), speed_work(plan), t, own_q(plan), own_u(plan))
    if status == OK:
        status = write_down(plan, t, floats(y + 8 * (nq + nu + n_audit(plan)), nz))
    return np.int32(status)


def mass_matrix(count, t, q, u, A, context):
    """Lower triangle of A of each state, in the regular order of the speeds; A arrives zeroed."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    for k in range(count):
        status = _place(plan, W, S, times[k], q + 8 * nq * k, u + 8 * nu * k)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        assemble_mass_matrix(plan, W, S, A + 8 * nu * nu * k, False)
    return np.int32(OK)


def positions(count, t, q, u, context):
    """Poses of all bodies, left in Work: for timing, and for whoever looks there."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    for k in range(count):
        status = _place(plan, W, S, times[k], q + 8 * nq * k, u + 8 * nu * k)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
    return np.int32(OK)


def trace(count, t, q, u, ud, tau, out, context):
    """Motion of every body in the user's base, and the load its hinge carries: N_TRACE numbers a body.

    Moment and force act on the body, about the end point of its hinge; all in world components. Writes the
    prescribed q, u, ud back.
    """
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    state_q, state_u = own_q(plan), own_u(plan)
    prescribed, values, frame, g = prescriptions(plan), signal_values(plan), frames(plan), gravity(plan)
    for k in range(count):
        given = floats(ud + 8 * nu * k, nu)
        status = begin_row(plan, times[k], q, u, k)
        if status == OK:
            given_q, given_u = floats(q + 8 * nq * k, nq), floats(u + 8 * nu * k, nu)
            for j in range(prescribed.shape[0]):
                a, b, s = (
                    prescribed[j, speed.PRESCRIBED_Q],
                    prescribed[j, speed.PRESCRIBED_U],
                    prescribed[j, speed.PRESCRIBED_SIGNAL],
                )
                given_q[a] = values[s, 0]
                given_u[b] = values[s, 1]
                given[b] = values[s, 2]
            status = evaluate_motion(plan, W, S, times[k], state_q, state_u)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        load_tree(plan, W, S, given, floats(tau + 8 * nu * k, nu))
        origin_velocities(plan, W, S, state_u)
        to = floats2(out + 8 * rows * N_TRACE * k, rows, N_TRACE)
        for i in range(rows):
            Ri = load9(W, i, body.R)
            arm = rotate(Ri, load3(frame, i, 9))
            w, dw = load3(W, i, body.OMEGA), load3(W, i, body.ALPHA)
            store(to, i, 0, multiply(Ri, load9(frame, i, 0)))
            store(to, i, 9, add(load3(W, i, body.P), arm))
            store(to, i, 12, w)
            store(to, i, 15, add(load3(W, i, body.VELOCITY), cross(w, arm)))
            store(to, i, 18, dw)
            a = add(load3(W, i, body.ACC), (g[0], g[1], g[2]))
            store(to, i, 21, add(a, add(cross(dw, arm), cross(w, cross(w, arm)))))
            store(to, i, 24, load3(W, i, body.MOMENT))
            store(to, i, 27, load3(W, i, body.FORCE))
    return np.int32(OK)


# name -> function, C signature
ENTRIES = {
    "rhs": (rhs, _status(_f, _n, _n, _n)),
    "general_hinge": (general_hinge, _status(_n, _f, _n)),
    "applied_loads": (applied_loads, _status(_n, _f, _n)),
    "composite": (composite, _status(_n, _f, _n)),
    "reactions": (reactions, _status(_n, _f, _n)),
    "chord_element": (chord_element, _status(_n, _f, _n)),
    "states": (states, _status(*[_n] * 6)),
    "forward_dynamics": (forward_dynamics, _status(*[_n] * 7)),
    "inverse_dynamics": (inverse_dynamics, _status(*[_n] * 7)),
    "constraints": (constraints, _status(_f, *[_n] * 5)),
    "loop_rhs": (loop_rhs, _status(_f, _n, _n, _n)),
    "loop_residual": (loop_residual, _status(_f, _n, _n, _n)),
    "loop_project": (loop_project, _status(_f, _n, _n, _n)),
    "loop_switch": (loop_switch, _status(_f, _n, _n, _n)),
    "loop_tangent": (loop_tangent, _status(_f, _n, _n, _n)),
    "loop_dynamics": (loop_dynamics, _status(*[_n] * 16)),
    "elements": (elements, _status(*[_n] * 6)),
    "remember": (remember, _status(_f, _n, _n, _n)),
    "mass_matrix": (mass_matrix, _status(*[_n] * 6)),
    "positions": (positions, _status(*[_n] * 5)),
    "trace": (trace, _status(*[_n] * 8)),
    "integrate": (integrate, _status(*[_n] * 20)),
    "loop_integrate": (loop_integrate, _status(*[_n] * 20)),
    "adams_integrate": (adams_integrate, _status(*[_n] * 20)),
    "radau_integrate": (radau_integrate, _status(*[_n] * 20)),
    "alpha_integrate": (alpha_integrate, _status(*[_n] * 20)),
    **DERIVATIVE_ENTRIES,
    **DUAL_ENTRIES,
}
