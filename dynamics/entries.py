# mypy: ignore-errors
"""The entry points of the core: what Python reaches, by name, through an address.

Flat arguments (numbers and addresses), an int32 status, no allocation, no exception: so that the same source
can be built into a plain shared library (dynamics.library), jitted, or run as plain Python (dynamics.native).
Arrays over `count` states are contiguous, one state a row, in the public order of the coordinates.
"""

import numpy as np
from numba import types

from treemech.kinematics.chord_coordinates import chord_accelerations, chord_rates, chord_speeds, settle
from treemech.kinematics.chord_element import element_rows
from treemech.kinematics.chord_motion import constraint_rows
from treemech.kinematics.chord_plan import BIAS, MOST_DIRECTIONS, POSITION
from treemech.kinematics.chord_plan import VELOCITY as VELOCITY_LEVEL
from treemech.kinematics.chord_slopes import chord_slopes as sloped_rows
from treemech.kinematics.chord_views import N_CHORD_CONTEXT, chord_q, chord_u
from treemech.kinematics.chord_views import chords as chord_table
from treemech.kinematics.kernel import (
    address_of,
    call_derivatives,
    call_part,
    floats,
    floats2,
    inlined,
    ints,
    load3,
    load9,
    store,
)
from treemech.kinematics.plan import (
    ACC,
    ALPHA,
    DERIVATIVES,
    FORCE,
    MOMENT,
    N_CONTEXT,
    OMEGA,
    PRESCRIBED_DOF,
    PRESCRIBED_Q,
    PRESCRIBED_SIGNAL,
    PRESCRIBED_U,
    REACTIONS,
    VELOCITY,
    Z_ROWS,
    P,
    R,
)
from treemech.kinematics.status import CHORD_FAILED, HINGE_FAILED, OK, SIGNAL_FAILED
from treemech.kinematics.sweep import (
    columns,
    coordinate_rates,
    origin_velocities,
    prescribe,
    signals,
    speeds_of_rates,
    turn_speeds,
)
from treemech.kinematics.sweep import positions as place
from treemech.kinematics.table_hinge import place_hinge
from treemech.kinematics.vector import add, cross, multiply, rotate
from treemech.kinematics.views import (
    body_work,
    counts,
    frames,
    gravity,
    n_audit,
    n_efforts,
    n_states,
    own_effort,
    own_q,
    own_required,
    own_tau,
    own_u,
    own_ud,
    own_z,
    own_zd,
    prescriptions,
    room_work,
    signal_values,
    speed_work,
)

from .adams import adams_integrate
from .alpha import alpha_integrate
from .applied_loads import apply_efforts
from .articulated import forward_dynamics as solve_tree
from .composites import settle_points
from .derivative_plan import (
    BY,
    CONTEXT,
    DIFFERENTIATE,
    DIFFERENTIATE_ROWS,
    FACTORS,
    GIVEN_Q,
    GIVEN_TAU,
    GIVEN_U,
    INVERSE,
    MASSES,
    MULTIPLIERS,
    N_ROW_TABLE,
    N_TABLE,
    OUT,
    ROWS,
    TAU_X,
    UD,
    UD_X,
)
from .efforts import audit
from .efforts import remember as write_down
from .inverse_matrix import invert, less_product
from .loop_derivatives import loop_derivatives
from .loop_plan import FRESH, PARTITIONED, STAGED
from .loop_views import N_LOOP_CONTEXT, kept_rows, masks, monitors, room_u, solutions
from .loops import (
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
from .loops import evaluate as evaluate_loops
from .radau import radau_integrate
from .reaction_loads import apply_reactions, solve_reactions
from .residual_derivatives import residual_derivatives
from .row_derivatives import row_derivatives as differentiate_rows
from .runge_kutta import integrate, loop_integrate
from .state_jacobian import state_jacobian
from .tree_derivatives import tree_derivatives
from .varied_entries import VARIED_ENTRIES
from .virtual_work import evaluate_motion
from .virtual_work import inverse_dynamics as load_tree
from .virtual_work import mass_matrix as assemble_mass_matrix

_f, _n, _status = types.float64, types.int64, types.int32
N_TRACE = 30  # rotation 9, position 3, omega 3, velocity 3, alpha 3, acceleration 3, moment 3, force 3


@inlined
def _begin(plan, t, q, u):
    """Signals at t, and the state at the addresses q, u copied to the work arrays; a status."""
    failed = signals(plan, t)
    if failed >= 0:
        return SIGNAL_FAILED + 16 * failed
    rows, nq, nu = counts(plan)
    prescribe(plan, floats(q, nq), floats(u, nu))
    return OK


@inlined
def _begin_row(plan, t, q, u, k):
    """As `_begin` for state k of many, with its own z if there are any."""
    if plan[Z_ROWS] != 0:
        nz, nx = n_states(plan)
        z, given = own_z(plan), floats(plan[Z_ROWS] + 8 * nz * k, nz)
        for j in range(nz):
            z[j] = given[j]
    rows, nq, nu = counts(plan)
    return _begin(plan, t, q + 8 * nq * k, u + 8 * nu * k)


@inlined
def _begin_states(plan, t, y):
    """As `_begin` for an integrator state (q, speeds, x, audit, memory): speeds turned to the public base."""
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = _begin(plan, t, y, y + 8 * nq)
    if status != OK:
        return status
    turn_speeds(plan, own_q(plan), own_u(plan), -1.0)
    z, given, remembered = (
        own_z(plan),
        floats(y + 8 * (nq + nu), nx),
        floats(y + 8 * (nq + nu + n_audit(plan)), nz),
    )
    for k in range(nz):
        z[k] = given[k] if k < nx else remembered[k]
    return OK


@inlined
def _state_rates(plan, dy):
    """Rates of the states of elements and of the audit; what elements remember stands still."""
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    zd, rates, remembered = (
        own_zd(plan),
        floats(dy + 8 * (nq + nu), nx),
        floats(dy + 8 * (nq + nu + n_audit(plan)), nz),
    )
    for k in range(nx):
        rates[k] = zd[k]
    for k in range(nx, nz):
        remembered[k] = 0.0
    if n_audit(plan) > 0:
        audit(plan, floats(dy + 8 * (nq + nu + nx), n_audit(plan)))


@inlined
def _loads_on_speeds(plan, tau):
    """tau and the loads of elements."""
    if n_efforts(plan) == 0:
        return tau
    effort = own_effort(plan)
    for k in range(effort.shape[0]):
        effort[k] += tau[k]
    return effort


def rhs(t, y, dy, context):
    """y' of y = (q, speeds, states of elements, audit, what they remember): the equations of motion as the integrator sees them.

    Angular speeds of Euler parameters are in the base of the outer body; prescribed entries stand still.
    """
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    status = _begin_states(plan, t, y)
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
        _state_rates(plan, dy)
    coordinate_rates(plan, q, u, rates)
    turn_speeds(plan, q, ud, 1.0)
    prescribed = prescriptions(plan)
    for k in range(prescribed.shape[0]):
        rates[prescribed[k, PRESCRIBED_Q]] = 0.0
        ud[prescribed[k, PRESCRIBED_U]] = 0.0
    return np.int32(status)


def table_hinge(i, t, context):
    """Place body i, whose hinge is called through its address; called from the sweep over positions."""
    return np.int32(1) if place_hinge(ints(context, N_CONTEXT), i, t) else np.int32(0)


def applied_loads(i, t, context):
    """Elements and external loads at the state in the work arrays; called from within the equations of motion."""
    return np.int32(apply_efforts(ints(context, N_CONTEXT), t))


def composite(c, t, context):
    """Internal points of composite c in equilibrium, and its loads; called from within the applied loads."""
    return np.int32(settle_points(ints(context, N_CONTEXT), c, t))


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
        status = _begin(plan, times[k], at, at + 8 * nq)
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
        status = _begin_row(plan, times[k], q, u, k)
        if status == OK:
            status = evaluate_motion(plan, W, S, times[k], state_q, state_u)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        solve_tree(
            plan, W, S, _loads_on_speeds(plan, floats(tau + 8 * nu * k, nu)), floats(ud + 8 * nu * k, nu)
        )
    return np.int32(OK)


def inverse_dynamics(count, t, q, u, ud, tau, context):
    """tau = A ud - Q of each state."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    state_q, state_u = own_q(plan), own_u(plan)
    for k in range(count):
        status = _begin_row(plan, times[k], q, u, k)
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
    status = _begin(plan, t, q, u)
    if status != OK:
        return status
    failed = place(plan, W, S, t, own_q(plan))
    return OK if failed < 0 else HINGE_FAILED + 16 * failed


def constraints(t, q, u, ud, tau, loops):
    """Constraint rows of one state (kinematics.chord_motion) and tau = A ud - Q; the biases are P ud + P00."""
    chords = ints(loops, N_CHORD_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    status = _begin(plan, t, q, u)
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
    settle(chords)
    chord_speeds(chords)
    return np.int32(OK)


@inlined
def _begin_loops(plan, chords, t, y):
    """As `_begin_states` for an integrator state with the coordinates of cut hinges behind it."""
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = _begin_states(plan, t, y)
    if status != OK:
        return status
    cut = chord_q(chords)
    given = floats(y + 8 * (nq + nu + nz + n_audit(plan)), cut.shape[0])
    for k in range(cut.shape[0]):
        cut[k] = given[k]
    return OK


def loop_rhs(t, y, dy, loops):
    """As `rhs`, with chords: y = (q, speeds, ..., coordinates of the cut hinges), projected first if so told."""
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = _begin_loops(plan, chords, t, y)
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
        rates[prescribed[k, PRESCRIBED_Q]] = 0.0
        ud[prescribed[k, PRESCRIBED_U]] = 0.0
    n_cut = chord_q(chords).shape[0]
    if n_efforts(plan) > 0:
        _state_rates(plan, dy)
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
    status = _begin_loops(plan, chords, t, y)
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
        ud[prescribed[k, PRESCRIBED_U]] = values[prescribed[k, PRESCRIBED_SIGNAL], 2]
    load_tree(plan, W, S, ud, tau)
    turn_speeds(plan, q, tau, 1.0)
    coordinate_rates(plan, q, u, rates)
    for k in range(prescribed.shape[0]):
        rates[prescribed[k, PRESCRIBED_Q]] = 0.0
        tau[prescribed[k, PRESCRIBED_U]] = 0.0
    if n_efforts(plan) > 0:
        _state_rates(plan, dy)
    settle(chords)
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
        status = _begin_loops(plan, chords, t, y)
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
    q, dq, du, step = floats(y, nq), floats(e, nq), floats(e + 8 * nq, nu), room_u(chords)
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
    loads on the speeds beyond what acts, those of the drives; elements: their records (Work.room). With a rank, that many independent rows are chosen.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    kept, x, near, speeds = kept_rows(chords), solutions(chords), chord_q(chords), chord_u(chords)
    m, nc = kept.shape[0], chord_table(chords).shape[0]
    for k in range(count):
        status = _begin_row(plan, times[k], q, u, k)
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
        level[0] = largest(chords, POSITION)
        level[1] = largest(chords, VELOCITY_LEVEL)
        level[2] = largest(chords, BIAS)
        chord_loads(chords, out, floats2(loads + 48 * nc * k, nc, 6))
        room = room_work(plan)
        record = floats(elements + 8 * room.shape[0] * k, room.shape[0])
        for j in range(room.shape[0]):
            record[j] = room[j]
        settle(chords)
        chord_speeds(chords)
        rates = floats(cut_u + 8 * speeds.shape[0] * k, speeds.shape[0])
        chord_accelerations(chords, floats(cut_ud + 8 * speeds.shape[0] * k, speeds.shape[0]))
        for j in range(near.shape[0]):
            given[j] = near[j]
        for j in range(speeds.shape[0]):
            rates[j] = speeds[j]
    return np.int32(OK)


@inlined
def _forward_derivatives(plan, W, S, t, tau, table):
    """ud, d(ud)/d(q, u), d(ud)/d(tau), d(ud)/dx, after `evaluate_motion`; a status."""
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    ud, A, inverse, factors = floats(table[UD], nu), table[MASSES], table[INVERSE], table[FACTORS]
    solve_tree(plan, W, S, tau, ud)
    status = tree_derivatives(plan, W, S, t, ud, table)
    if status != OK:
        return status
    prescribed, lower, by = prescriptions(plan), floats(A, nu * nu), floats(table[BY], 2 * nu * nu)
    by_x = floats(table[TAU_X], nu * nx)
    for k in range(prescribed.shape[0]):
        d = prescribed[k, PRESCRIBED_DOF]
        for j in range(nu):
            lower[nu * max(d, j) + min(d, j)] = 1.0 if d == j else 0.0
            by[2 * nu * d + j] = 0.0
            by[2 * nu * d + nu + j] = 0.0
        for j in range(nx):
            by_x[nx * d + j] = 0.0
    invert(nu, A, factors, factors + 8 * nu * nu, inverse)
    less_product(nu, 2 * nu, inverse, table[BY], table[OUT])
    if nx > 0:
        less_product(nu, nx, inverse, table[TAU_X], table[UD_X])
    for k in range(prescribed.shape[0]):
        d = prescribed[k, PRESCRIBED_DOF]
        floats(inverse + 8 * (nu * d + d), 1)[0] = 0.0
    return OK


def derivatives(t, forward, table_):
    """Derivatives at one state, regular order of the speeds, rows (by q, by u) of 2 nu numbers.

    The table (derivative_plan): BY of tau = A ud - Q, and MASSES, the lower triangle of A. With `forward` ud follows from
    the loads tau first, and from BY then OUT: of ud, and INVERSE: of ud by tau (both zero in the rows of prescribed
    speeds); BY, MASSES are used up. Likewise TAU_X and UD_X by states of elements, and RATES, RATES_X of those.
    """
    table = ints(table_, N_TABLE)
    plan = ints(table[CONTEXT], N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S = body_work(plan), speed_work(plan)
    status = _begin(plan, t, table[GIVEN_Q], table[GIVEN_U])
    if status == OK:
        status = evaluate_motion(plan, W, S, t, own_q(plan), own_u(plan))
    if status != OK:
        return np.int32(status)
    if forward == 1:
        tau = _loads_on_speeds(plan, floats(table[GIVEN_TAU], nu))
        status = _forward_derivatives(plan, W, S, t, tau, table)
    else:
        status = tree_derivatives(plan, W, S, t, floats(table[UD], nu), table)
    return np.int32(status)


def jacobian(t, y, J, context):
    """d(y')/dy of `rhs`, column by column: J[n j + i] = d y'_i / d y_j; the context holds the table of derivatives."""
    plan = ints(context, N_CONTEXT)
    table = ints(plan[DERIVATIVES], N_TABLE)
    W, S = body_work(plan), speed_work(plan)
    status = _begin_states(plan, t, y)
    if status == OK:
        status = evaluate_motion(plan, W, S, t, own_q(plan), own_u(plan))
    if status == OK:
        status = _forward_derivatives(plan, W, S, t, own_effort(plan), table)
    if status == OK:
        state_jacobian(plan, table, J, 0)
    return np.int32(status)


def row_derivatives(t, table_, loops):
    """Derivatives of the constraint rows (derivative_plan, table of rows) after `derivatives` and `constraints` of one state."""
    chords, table = ints(loops, N_LOOP_CONTEXT), ints(table_, N_TABLE)
    plan = ints(chords[0], N_CONTEXT)
    return np.int32(differentiate_rows(plan, chords, body_work(plan), speed_work(plan), t, table))


def chord_slopes(t, number, room, loops):
    """Derivatives of the rows of a chord by address along a direction (number: MOST_DIRECTIONS times chord, plus direction).

    They are left at `room`, which is scratch otherwise; 1 if there are any.
    """
    chords = ints(loops, N_CHORD_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    worked = sloped_rows(plan, chords, number // MOST_DIRECTIONS, t, number % MOST_DIRECTIONS, room)
    return np.int32(1 if worked else 0)


@inlined
def _closed_derivatives(plan, chords, W, S, t, table, required):
    """Derivatives of A ud - Q and of the rows at the accelerations and multipliers of the tables; a status.

    After the motion of the state; `required`: where A ud - Q goes. The constraint rows are those with these accelerations.
    """
    rows, nq, nu = counts(plan)
    q, u, own, ud = own_q(plan), own_u(plan), own_ud(plan), floats(table[UD], nu)
    given_q, given_u = floats(table[GIVEN_Q], nq), floats(table[GIVEN_U], nu)
    for k in range(nq):
        given_q[k] = q[k]
    for k in range(nu):
        given_u[k] = u[k]
        own[k] = ud[k]
    load_tree(plan, W, S, own, required)
    failed = constraint_rows(plan, chords, W, S, t)
    if failed >= 0:
        return CHORD_FAILED + 16 * failed
    status = call_derivatives(table[DIFFERENTIATE], t, 0, address_of(table))
    if status == OK:
        status = call_derivatives(table[DIFFERENTIATE_ROWS], t, address_of(table), address_of(chords))
    return status


def loop_jacobian(t, y, J, loops):
    """As `jacobian` of `loop_rhs`: the coordinates of cut hinges have neither columns nor rows but zeros."""
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    table = ints(plan[DERIVATIVES], N_TABLE)
    rows, nq, nu = counts(plan)
    status = _begin_loops(plan, chords, t, y)
    if status != OK:
        return np.int32(status)
    W, S, kept, x = body_work(plan), speed_work(plan), kept_rows(chords), solutions(chords)
    status = evaluate_loops(plan, chords, W, S, t, own_q(plan), own_u(plan))
    if status == OK:
        status = accelerate(plan, chords, t, own_tau(plan), floats(table[UD], nu))
    if status != OK:
        return np.int32(status)
    multipliers = floats(ints(table[ROWS], N_ROW_TABLE)[MULTIPLIERS], kept.shape[0])
    for r in range(kept.shape[0]):
        multipliers[r] = -x[nu + kept[r]] if kept[r] >= 0 else 0.0
    status = _closed_derivatives(plan, chords, W, S, t, table, own_required(plan))
    if status == OK:
        loop_derivatives(plan, chords, table)
        state_jacobian(plan, table, J, chord_q(chords).shape[0])
    return np.int32(status)


def residual_jacobian(t, y, G, loops):
    """Derivatives of what `loop_residual` finds, less P^T lambda, and of the rates of the rows, column by column: by the
    coordinates along the speeds, by speeds and states (residual_derivatives).

    G brings the rates of the speeds, then the multipliers of the rows that do not vanish.
    """
    chords = ints(loops, N_LOOP_CONTEXT)
    plan = ints(chords[0], N_CONTEXT)
    table = ints(plan[DERIVATIVES], N_TABLE)
    rows, nq, nu = counts(plan)
    status = _begin_loops(plan, chords, t, y)
    if status != OK:
        return np.int32(status)
    q, u, W, S = own_q(plan), own_u(plan), body_work(plan), speed_work(plan)
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return np.int32(status)
    kept, masked = kept_rows(chords), masks(chords)
    given, ud = floats(G, nu + masked.shape[0]), floats(table[UD], nu)
    multipliers = floats(ints(table[ROWS], N_ROW_TABLE)[MULTIPLIERS], kept.shape[0])
    for k in range(nu):
        ud[k] = given[k]
    for r in range(kept.shape[0]):
        multipliers[r] = given[nu + kept[r]] if kept[r] >= 0 and masked[kept[r]] == 0 else 0.0
    turn_speeds(plan, q, ud, -1.0)
    prescribed, values = prescriptions(plan), signal_values(plan)
    for k in range(prescribed.shape[0]):
        ud[prescribed[k, PRESCRIBED_U]] = values[prescribed[k, PRESCRIBED_SIGNAL], 2]
    origin_velocities(plan, W, S, u)
    columns(plan, W, S)
    required = own_required(plan)
    status = _closed_derivatives(plan, chords, W, S, t, table, required)
    if status == OK:
        relieve(plan, chords, multipliers, required)
        residual_derivatives(plan, chords, table, required, G)
    return np.int32(status)


def elements(count, t, q, u, out, context):
    """Records of all elements (Work.room) at each state."""
    plan = ints(context, N_CONTEXT)
    W, S, times, room = body_work(plan), speed_work(plan), floats(t, count), room_work(plan)
    n = room.shape[0]
    for k in range(count):
        status = _begin_row(plan, times[k], q, u, k)
        if status == OK:
            status = evaluate_motion(plan, W, S, times[k], own_q(plan), own_u(plan))
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        to = floats(out + 8 * n * k, n)
        for j in range(n):
            to[j] = room[j]
    return np.int32(OK)


def remember(t, y, dy, context):
    """After an accepted step: what elements write down, into the z of the state y; dy is not used."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    status = _begin_states(plan, t, y)
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
        status = _begin_row(plan, times[k], q, u, k)
        if status == OK:
            given_q, given_u = floats(q + 8 * nq * k, nq), floats(u + 8 * nu * k, nu)
            for j in range(prescribed.shape[0]):
                a, b, s = (
                    prescribed[j, PRESCRIBED_Q],
                    prescribed[j, PRESCRIBED_U],
                    prescribed[j, PRESCRIBED_SIGNAL],
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
            Ri = load9(W, i, R)
            arm = rotate(Ri, load3(frame, i, 9))
            w, dw = load3(W, i, OMEGA), load3(W, i, ALPHA)
            store(to, i, 0, multiply(Ri, load9(frame, i, 0)))
            store(to, i, 9, add(load3(W, i, P), arm))
            store(to, i, 12, w)
            store(to, i, 15, add(load3(W, i, VELOCITY), cross(w, arm)))
            store(to, i, 18, dw)
            a = add(load3(W, i, ACC), (g[0], g[1], g[2]))
            store(to, i, 21, add(a, add(cross(dw, arm), cross(w, cross(w, arm)))))
            store(to, i, 24, load3(W, i, MOMENT))
            store(to, i, 27, load3(W, i, FORCE))
    return np.int32(OK)


# name -> function, C signature
ENTRIES = {
    "rhs": (rhs, _status(_f, _n, _n, _n)),
    "table_hinge": (table_hinge, _status(_n, _f, _n)),
    "applied_loads": (applied_loads, _status(_n, _f, _n)),
    "composite": (composite, _status(_n, _f, _n)),
    "reactions": (reactions, _status(_n, _f, _n)),
    "chord_element": (chord_element, _status(_n, _f, _n)),
    "chord_slopes": (chord_slopes, _status(_f, _n, _n, _n)),
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
    "derivatives": (derivatives, _status(_f, _n, _n)),
    "row_derivatives": (row_derivatives, _status(_f, _n, _n)),
    "jacobian": (jacobian, _status(_f, _n, _n, _n)),
    "loop_jacobian": (loop_jacobian, _status(_f, _n, _n, _n)),
    "residual_jacobian": (residual_jacobian, _status(_f, _n, _n, _n)),
    "mass_matrix": (mass_matrix, _status(*[_n] * 6)),
    "positions": (positions, _status(*[_n] * 5)),
    "trace": (trace, _status(*[_n] * 8)),
    "integrate": (integrate, _status(*[_n] * 20)),
    "loop_integrate": (loop_integrate, _status(*[_n] * 20)),
    "adams_integrate": (adams_integrate, _status(*[_n] * 20)),
    "radau_integrate": (radau_integrate, _status(*[_n] * 20)),
    "alpha_integrate": (alpha_integrate, _status(*[_n] * 20)),
    **VARIED_ENTRIES,
}
