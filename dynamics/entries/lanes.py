# mypy: ignore-errors
"""Entry points on lanes: the same kernels, compiled for a context of lanes, over rows of states.

Rows are taken in blocks of LANES; a last block repeats its last row. Every row has a status of its own (`states`): that of
its block. Where a block failed its results are left alone, and the caller asks the scalar entry, which names the culprit.
"""

import numpy as np
from numba import types

from treemech.elements.lanes import functions as _functions  # noqa: F401  teaches numba sin, exp, ... of lanes
from treemech.elements.lanes.numbers import LANES, every, from_rows, to_rows
from treemech.kinematics.kernel.language import (
    floats,
    inlined,
    ints,
    ints2,
    lane_context,
    load3,
    load6,
    load9,
    number_size,
    numbers,
    varied_context,
)
from treemech.kinematics.kernel.status import HINGE_FAILED, NOT_FINITE, OK, SIGNAL_FAILED
from treemech.kinematics.kernel.vector import add, cross, dot, multiply, rotate, symmetric, unrotate
from treemech.kinematics.plan.arrays import N_LANE_CONTEXT
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import (
    ancestor_runs,
    body_work,
    constants,
    counts,
    effort_records,
    gravity,
    own_q,
    own_required,
    own_tau,
    own_u,
    own_ud,
    own_z,
    rotors,
    run_starts,
    speed_work,
)
from treemech.kinematics.tree.general_hinge import place_hinge
from treemech.kinematics.tree.sweep import columns, origin_velocities, prescribe, signals
from treemech.kinematics.tree.sweep import positions as place

from ..equations.articulated import forward_dynamics as solve_tree
from ..equations.virtual_work import evaluate_motion
from ..equations.virtual_work import inverse_dynamics as load_tree
from ..equations.virtual_work import mass_matrix as assemble_mass_matrix
from ..integrators import layout
from ..integrators.lane_integration import fill_lane, integrate_lanes
from ..integrators.lane_steps import rk4_step
from ..loads.applied import apply_efforts
from .begin import loads_on_speeds, tree_rates


@inlined
def read(to, address, last):
    """Read rows of numbers, one behind the other, side by side."""
    n = to.shape[0]
    for j in range(n):
        to[j] = from_rows(address + 8 * j, 8 * n, last)


@inlined
def write(values, n, address, last):
    for j in range(n):
        to_rows(values[j], address + 8 * j, 8 * n, last)


@inlined
def take_states(plan, t, q, u, z, k, last):
    """Begin the states of a block that starts with row k, at their times t. Returns a status."""
    rows, nq, nu = counts(plan)
    failed = signals(plan, t)
    if failed >= 0:
        return SIGNAL_FAILED + 16 * failed
    state_q, state_u = own_q(plan), own_u(plan)
    read(state_q, q + 8 * nq * k, last)
    read(state_u, u + 8 * nu * k, last)
    if z != 0:
        own = own_z(plan)
        read(own, z + 8 * own.shape[0] * k, last)
    prescribe(plan, state_q, state_u)
    return OK


@inlined
def _evaluate(plan, t, q, u, z, k, last):
    """Evaluate the motion of a block. Returns a status."""
    status = take_states(plan, t, q, u, z, k, last)
    if status == OK:
        status = evaluate_motion(plan, body_work(plan), speed_work(plan), t, own_q(plan), own_u(plan))
    return status


@inlined
def _place(plan, t, q, u, z, k, last):
    """Place the bodies of a block. Returns a status."""
    status = take_states(plan, t, q, u, z, k, last)
    if status == OK:
        failed = place(plan, body_work(plan), speed_work(plan), t, own_q(plan))
        status = OK if failed < 0 else HINGE_FAILED + 16 * failed
    return status


@inlined
def mark(states, k, last, status):
    for j in range(k, k + last + 1):
        states[j] = status


# ---------------------------------------------------------------- evaluations
def lane_forward_dynamics(count, t, q, u, z, tau, ud, state, context):
    """Compute ud of each row under the loads tau on the speeds; z may be 0."""
    plan, states = lane_context(context, N_LANE_CONTEXT), ints(state, count)
    rows, nq, nu = counts(plan)
    loads, out = own_tau(plan), own_ud(plan)
    for k in range(0, count, LANES):
        last = min(LANES, count - k) - 1
        status = _evaluate(plan, from_rows(t + 8 * k, 8, last), q, u, z, k, last)
        mark(states, k, last, status)
        if status == OK:
            read(loads, tau + 8 * nu * k, last)
            solve_tree(plan, body_work(plan), speed_work(plan), loads_on_speeds(plan, loads), out)
            write(out, nu, ud + 8 * nu * k, last)
    return np.int32(OK)


def lane_inverse_dynamics(count, t, q, u, z, ud, tau, state, context):
    """Compute tau = A ud - Q of each row; z may be 0."""
    plan, states = lane_context(context, N_LANE_CONTEXT), ints(state, count)
    rows, nq, nu = counts(plan)
    given, out = own_ud(plan), own_required(plan)
    for k in range(0, count, LANES):
        last = min(LANES, count - k) - 1
        status = _evaluate(plan, from_rows(t + 8 * k, 8, last), q, u, z, k, last)
        mark(states, k, last, status)
        if status == OK:
            read(given, ud + 8 * nu * k, last)
            load_tree(plan, body_work(plan), speed_work(plan), given, out)
            write(out, nu, tau + 8 * nu * k, last)
    return np.int32(OK)


def lane_mass_matrix(count, t, q, u, z, A, room, state, context):
    """Compute the lower triangle of A of each row, in the regular order of the speeds.

    The caller sets A, and the matrix of lanes at `room`, to zero before.
    """
    plan, states = lane_context(context, N_LANE_CONTEXT), ints(state, count)
    rows, nq, nu = counts(plan)
    run_start, runs, matrix = run_starts(plan), ancestor_runs(plan), numbers(plan, room, nu * nu)
    for k in range(0, count, LANES):
        last = min(LANES, count - k) - 1
        status = _place(plan, from_rows(t + 8 * k, 8, last), q, u, z, k, last)
        mark(states, k, last, status)
        if status == OK:
            columns(plan, body_work(plan), speed_work(plan))
            assemble_mass_matrix(plan, body_work(plan), speed_work(plan), room, False)
            for d in range(nu):
                for r in range(run_start[d], run_start[d + 1]):
                    for j in range(nu * d + runs[r, 0], nu * d + runs[r, 1]):
                        to_rows(matrix[j], A + 8 * (nu * nu * k + j), 8 * nu * nu, last)
    return np.int32(OK)


def lane_pose(count, t, q, u, z, number, end, out, state, context):
    """Compute position (3) and rotation (9) of an end of body `number` at each row."""
    plan, states, at = lane_context(context, N_LANE_CONTEXT), ints(state, count), floats(end, 12)
    W = body_work(plan)
    base = (at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8])
    for k in range(0, count, LANES):
        last = min(LANES, count - k) - 1
        status = _place(plan, from_rows(t + 8 * k, 8, last), q, u, z, k, last)
        mark(states, k, last, status)
        if status == OK:
            R = load9(W, number, body.R)
            p, own = add(load3(W, number, body.P), rotate(R, (at[9], at[10], at[11]))), multiply(R, base)
            for j in range(3):
                to_rows(p[j], out + 96 * k + 8 * j, 96, last)
            for j in range(9):
                to_rows(own[j], out + 96 * k + 24 + 8 * j, 96, last)
    return np.int32(OK)


def lane_energy(count, t, q, u, z, n, stores, out, state, context):
    """Compute kinetic (6.2.13), potential and stored energy at each row, as `energy` does."""
    plan, states, where = lane_context(context, N_LANE_CONTEXT), ints(state, count), ints(stores, n)
    W, S = body_work(plan), speed_work(plan)
    C, state_u, g, records = constants(plan), own_u(plan), gravity(plan), effort_records(plan)
    table = rotors(plan)
    down = (g[0], g[1], g[2])
    for k in range(0, count, LANES):
        last = min(LANES, count - k) - 1
        status = _evaluate(plan, from_rows(t + 8 * k, 8, last), q, u, z, k, last)
        mark(states, k, last, status)
        if status == OK:
            origin_velocities(plan, W, S, state_u)
            kinetic, potential, stored = 0.0 * W[0, 0], 0.0 * W[0, 0], 0.0 * W[0, 0]
            for i in range(1, W.shape[0]):
                m, R, w = C[i, body.MASS], load9(W, i, body.R), load3(W, i, body.OMEGA)
                arm = rotate(R, load3(C, i, body.COM))
                v, wb = add(load3(W, i, body.VELOCITY), cross(w, arm)), unrotate(R, w)
                kinetic += 0.5 * (m * dot(v, v) + dot(wb, symmetric(load6(C, i, body.INERTIA), wb)))
                potential -= m * dot(down, add(load3(W, i, body.P), arm))
            for j in range(table.shape[0]):
                x = state_u[table[j, speed.ROTOR_U]]
                kinetic += 0.5 * C[table[j, speed.ROTOR_BODY], body.ROTOR] * x * x
            for j in range(n):
                stored += records[where[j]]
            to_rows(kinetic, out + 24 * k, 24, last)
            to_rows(potential, out + 24 * k + 8, 24, last)
            to_rows(stored, out + 24 * k + 16, 24, last)
    return np.int32(OK)


# ---------------------------------------------------------------- parts, called by address
def lane_hinge(i, t, context):
    """Place body i as `general_hinge` does; t is an address."""
    plan = lane_context(context, N_LANE_CONTEXT)
    return np.int32(1) if place_hinge(plan, i, numbers(plan, t, 1)[0]) else np.int32(0)


def lane_loads(i, t, context):
    """Apply elements and external loads as `applied_loads` does; t is an address."""
    plan = lane_context(context, N_LANE_CONTEXT)
    return np.int32(apply_efforts(plan, numbers(plan, t, 1)[0]))


def lane_rhs(t, y, dy, context):
    """Compute y' as `rhs` does, of states side by side; t is an address."""
    plan = lane_context(context, N_LANE_CONTEXT)
    return np.int32(tree_rates(plan, numbers(plan, t, 1)[0], y, dy))


def varied_hinge(i, t, context):
    """Place body i where the model has numbers of its own in each lane."""
    plan = varied_context(context, N_LANE_CONTEXT)
    return np.int32(1) if place_hinge(plan, i, numbers(plan, t, 1)[0]) else np.int32(0)


def varied_loads(i, t, context):
    """Apply elements and external loads where the model has numbers of its own in each lane."""
    plan = varied_context(context, N_LANE_CONTEXT)
    return np.int32(apply_efforts(plan, numbers(plan, t, 1)[0]))


def varied_rhs(t, y, dy, context):
    """Compute y' where the model has numbers of its own in each lane."""
    plan = varied_context(context, N_LANE_CONTEXT)
    return np.int32(tree_rates(plan, numbers(plan, t, 1)[0], y, dy))


# ---------------------------------------------------------------- steps
def lane_rk4(count, steps, dt, t, y, n, n_euler, euler, rhs, room, n_table, table, state, context):
    """Take steps of RK4 of the size at the address dt. The rows of t and y move on in place, where the block succeeds.

    `rhs` is the address of the equations of motion on lanes, `room` that of 6 n numbers, `table` says which numbers
    of the model every row has of its own (`fill_lane`).
    """
    plan, states = lane_context(context, N_LANE_CONTEXT), ints(state, count)
    step, euler_, size = floats(dt, 1)[0], ints(euler, n_euler), number_size(plan)
    own, given, fills = numbers(plan, room + 5 * size * n, n), floats(y, n * count), ints2(table, n_table, 6)
    doubles = floats(room + 5 * size * n, LANES * n)
    for k in range(0, count, LANES):
        last = min(LANES, count - k) - 1
        time, status = from_rows(t + 8 * k, 8, last), np.int32(OK)
        for lane in range(LANES):
            fill_lane(lane, k + min(lane, last), n, given, doubles, fills)
        for _ in range(steps):
            if status == OK:
                end = time + step
                status = rk4_step(plan, rhs, n, time, end - time, own, room, euler_, context)
                time = end
        mark(states, k, last, status)
        if status == OK:
            total = 0.0 * own[0]
            for j in range(1, n):
                total += 0.0 * own[j]
            if every(total == 0.0):
                write(own, n, y + 8 * n * k, last)
                to_rows(time, t + 8 * k, 8, last)
            else:
                mark(states, k, last, NOT_FINITE)
    return np.int32(OK)


def lane_integrate(
    method, rhs, count, n, m, t, y, end, control, atol, n_euler, euler, n_out, t_out, out, room, n_table, table, spare,
    budget, counts, state, context,
):  # fmt: skip
    """Integrate rows with error control (`integrate_lanes`); control: rtol, largest step."""
    plan, given = lane_context(context, N_LANE_CONTEXT), floats(control, 2)
    return np.int32(
        integrate_lanes(
            plan,
            method,
            rhs,
            count,
            n,
            m,
            t,
            y,
            end,
            given[1],
            given[0],
            floats(atol, m),
            ints(euler, n_euler),
            n_out,
            floats(t_out, n_out),
            out,
            room,
            ints2(table, n_table, 6),
            floats(spare, layout.N_CONTROL),
            budget,
            ints2(counts, count, 3),
            ints(state, count),
            context,
        )
    )


_n, _status = types.int64, types.int32
# name -> function, C signature
LANE_ENTRIES = {
    "lane_forward_dynamics": (lane_forward_dynamics, _status(*[_n] * 9)),
    "lane_inverse_dynamics": (lane_inverse_dynamics, _status(*[_n] * 9)),
    "lane_mass_matrix": (lane_mass_matrix, _status(*[_n] * 9)),
    "lane_pose": (lane_pose, _status(*[_n] * 10)),
    "lane_energy": (lane_energy, _status(*[_n] * 10)),
    "lane_hinge": (lane_hinge, _status(*[_n] * 3)),
    "lane_loads": (lane_loads, _status(*[_n] * 3)),
    "lane_rhs": (lane_rhs, _status(*[_n] * 4)),
    "varied_hinge": (varied_hinge, _status(*[_n] * 3)),
    "varied_loads": (varied_loads, _status(*[_n] * 3)),
    "varied_rhs": (varied_rhs, _status(*[_n] * 4)),
    "lane_rk4": (lane_rk4, _status(*[_n] * 14)),
    "lane_integrate": (lane_integrate, _status(*[_n] * 23)),
}
