# mypy: ignore-errors
"""Residual of the equations of motion and the constraints in generalized-alpha, and its derivatives.

The equations of motion hold at the end of the step. Index 3: f(q_new) = 0. Index 2: P u_new + P0 = 0.
Constraints that restrict rates only are satisfied as rates with both.
"""

from math import sqrt

from treemech.kinematics.kernel.language import (
    address_of,
    call_rhs,
    floats,
    floats2,
    ints,
    ints2,
    kernel,
    load3,
)
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.chord_views import partials, rows
from treemech.kinematics.plan.columns import body, row, speed
from treemech.kinematics.plan.views import bodies, body_work, dofs, own_q
from treemech.kinematics.tree.sweep import turn_speeds

from ...equations import watch
from ...equations.loop_views import (
    N_LOOP_CONTEXT,
    entry_rows,
    entry_speeds,
    kept_rows,
    masks,
    monitors,
    packed_mass,
    solutions,
    speed_columns,
    speed_rows,
)
from ...equations.loops import choose_complements, select_rows
from .. import layout
from ..runge_kutta_step import copy
from . import layout as alpha
from .state import begin_step, displace, matrices, predict, row_of, sizes, tangent

_EPSILON = 2.0**-52
_SMALLEST = 0.1  # size [m, rad, m/s, ...] of smaller numbers when they are moved for a difference
INDEX_3, INDEX_2 = 0, 1


@kernel
def _dense_rows(table, n, plan, loops):
    """Write P of the last evaluation as a dense matrix, row by row, in the order of the state."""
    nq, ns, m, size, nu = sizes(table)
    G, A, P_, M, J = matrices(table, n)
    P, entries, kept, dof = floats2(P_, m, nu), partials(loops), kept_rows(loops), dofs(plan)
    entry_row, entry_speed, q = entry_rows(loops), entry_speeds(loops), own_q(plan)
    for r in range(m):
        for j in range(nu):
            P[r, j] = 0.0
    for k in range(entry_row.shape[0]):
        r = kept[entry_row[k]]
        if r >= 0:
            P[r, dof[entry_speed[k], speed.PUBLIC]] += entries[k]
    for r in range(m):
        turn_speeds(plan, q, floats(P_ + 8 * nu * r, nu), 1.0)


@kernel
def _dense_mass(table, n, plan, loops):
    """Write A of the last evaluation by `loop_rhs` as a dense matrix, in the order of the state."""
    nq, ns, m, size, nu = sizes(table)
    G, A_, P, M, J = matrices(table, n)
    A, packed, dof, q = floats2(A_, nu, nu), packed_mass(loops), dofs(plan), own_q(plan)
    row, column = speed_rows(loops), speed_columns(loops)
    for i in range(nu):
        for j in range(nu):
            A[i, j] = 0.0
    for k in range(row.shape[0]):
        i, j = dof[row[k], speed.PUBLIC], dof[column[k], speed.PUBLIC]
        A[i, j] = packed[k]
        A[j, i] = packed[k]
    for _ in range(2):
        for i in range(nu):
            turn_speeds(plan, q, floats(A_ + 8 * nu * i, nu), 1.0)
        for i in range(nu):
            for j in range(i):
                A[i, j], A[j, i] = A[j, i], A[i, j]


@kernel
def residual(method, table, n, t, y, rates, multipliers, out_, rhs, context):
    """Compute the residual of the equations at the state and rates at the addresses y and rates.

    Returns a status.

    For a tree it is v - (u', x'). With chords it is A u' - Q - P^T lambda, the same for x', then the rows of
    the constraints on the level of the method. The result of the entry point is left in FOUND.
    """
    nq, ns, m, size, nu = sizes(table)
    found_, out = row_of(table, n, alpha.FOUND), floats(out_, size)
    found, v = floats(found_, n), floats(rates + 8 * nq, ns)
    if table[alpha.RESIDUAL] == 0:
        status = call_rhs(rhs, t, y, found_, context)
        if status == OK:
            for i in range(ns):
                out[i] = v[i] - found[nq + i]
        return status
    for i in range(nu):
        found[nq + i] = v[i]
    loops = ints(context, N_LOOP_CONTEXT)
    if table[alpha.REACTION_DEPENDENT] == 1:
        x = solutions(loops)
        for k in range(m):
            x[nu + k] = -multipliers[k]
    status = call_rhs(table[alpha.RESIDUAL], t, y, found_, context)
    if status != OK:
        return status
    plan = ints(loops[0], N_CONTEXT)
    _dense_rows(table, n, plan, loops)
    G, A, P_, M, J = matrices(table, n)
    P, Y, kept, masked = floats2(P_, m, nu), rows(loops), kept_rows(loops), masks(loops)
    rates_only, moves = ints(table[alpha.NONHOLONOMIC], m), ints(table[alpha.MOVES], nu)
    for i in range(nu):
        out[i] = found[nq + i]
    for i in range(nu, ns):
        out[i] = v[i] - found[nq + i]
    for r in range(kept.shape[0]):
        k = kept[r]
        if k >= 0:
            out[ns + k] = 0.0
            if masked[k] == 0:
                out[ns + k] = Y[r, row.POSITION if method == INDEX_3 and rates_only[k] == 0 else row.VELOCITY]
                for j in range(nu):
                    out[j] -= P[k, j] * multipliers[k]
    for j in range(nu):
        if moves[j] == alpha.PRESCRIBED:
            out[j] = 0.0
    return status


@kernel
def gaps(loops, out):
    """Return the largest gap of the selected rows, and write the gap of each to out."""
    Y, kept, masked, largest = rows(loops), kept_rows(loops), masks(loops), 0.0
    for r in range(kept.shape[0]):
        k = kept[r]
        if k >= 0:
            out[k] = Y[r, row.POSITION] if masked[k] == 0 else 0.0
            largest = max(largest, abs(out[k]))
    return largest


@kernel
def extent(loops):
    """Return the largest coordinate of a body [m]: the rounding of gaps is proportional to it."""
    plan = ints(loops[0], N_CONTEXT)
    W, plan_body, far = body_work(plan), bodies(plan), 0.0
    for i in range(1, plan_body.shape[0]):
        x = load3(W, i, body.P)
        far = max(far, max(abs(x[0]), max(abs(x[1]), abs(x[2]))))
    return far


@kernel
def _differences(method, table, n, t, h, y, count, work, rhs, context):
    """Compute the derivatives of the residual at y by q (along the speeds), u and x, by forward differences.

    Returns a status.

    Columns of a Jacobian group are moved at the same time; prescribed ones stay zero.
    """
    nq, ns, m, size, nu = sizes(table)
    G, head = floats2(row_of(table, n, alpha.MATRICES), nu + ns, size), ints(table[alpha.GROUPS], 2)
    parts, part = head[1], ints(table[alpha.GROUPS] + 16, size)
    members = ints2(table[alpha.GROUPS] + 8 * (2 + size), head[0], parts)
    out, step, moves = (
        floats(work + 8 * n * layout.OUT, n),
        floats(row_of(table, n, alpha.MOVE), nu),
        ints(table[alpha.MOVES], nu),
    )
    multipliers, start = (
        floats(row_of(table, n, alpha.MULTIPLIERS), m),
        floats(row_of(table, n, alpha.START), size),
    )
    found, amount = (
        floats(row_of(table, n, alpha.RESIDUALS), size),
        floats(row_of(table, n, alpha.RIGHT), nu + ns),
    )
    status = residual(
        method, table, n, t, address_of(y), work, multipliers, row_of(table, n, alpha.START), rhs, context
    )
    count[layout.EVALUATIONS] += 1
    for j in range(nu + ns):
        for i in range(size):
            G[j, i] = 0.0
    for g in range(head[0]):
        for i in range(n):
            out[i] = y[i]
        for j in range(nu):
            step[j] = 0.0
        for c in range(parts):
            j = members[g, c]
            if j >= nu:
                value = y[nq + j - nu]
                out[nq + j - nu] = value + max(abs(value), _SMALLEST) * sqrt(_EPSILON)
                amount[j] = out[nq + j - nu] - value
            elif j >= 0:
                value = y[moves[j]] if moves[j] >= 0 else 1.0
                step[j] = max(max(abs(value), abs(h * y[nq + j])), _SMALLEST) * sqrt(_EPSILON)
                amount[j] = step[j]
        displace(table, y, step, out)
        if status == OK:
            at = row_of(table, n, alpha.RESIDUALS)
            status = residual(
                method, table, n, t, work + 8 * n * layout.OUT, work, multipliers, at, rhs, context
            )
            count[layout.EVALUATIONS] += 1
        for i in range(size):
            j = members[g, part[i]] if part[i] >= 0 else -1
            if j >= 0:
                G[j, i] = (found[i] - start[i]) / amount[j]
    return status


@kernel
def _from_jacobian(table, n, y):
    """Compute the derivatives of the residual of a tree from its Jacobian d(y')/dy."""
    nq, ns, m, size, nu = sizes(table)
    G_, A, P, M, J_ = matrices(table, n)
    G, J, moves = floats2(G_, nu + ns, size), floats2(J_, n, n), ints(table[alpha.MOVES], nu)
    along, step = floats(row_of(table, n, alpha.FOUND), nq), floats(row_of(table, n, alpha.MOVE), nu)
    for j in range(nu):
        for i in range(ns):
            G[j, i] = 0.0
        if moves[j] >= 0:
            for i in range(ns):
                G[j, i] = -J[moves[j], nq + i]
        elif moves[j] != alpha.PRESCRIBED:
            for k in range(nu):
                step[k] = 1.0 if k == j else 0.0
            tangent(table, y, step, along)
            for k in range(nq):
                if along[k] != 0.0:
                    for i in range(ns):
                        G[j, i] -= J[k, nq + i] * along[k]
    for j in range(ns):
        for i in range(ns):
            G[nu + j, i] = -J[nq + j, nq + i]


@kernel
def _from_residual_jacobian(table, n, t, y, work, jacobian, context):
    """Compute the derivatives of the residual of closed chains by the entry `residual_jacobian`, and P.

    Returns a status.
    """
    nq, ns, m, size, nu = sizes(table)
    G = row_of(table, n, alpha.MATRICES)
    given, rate, multipliers = (
        floats(G, nu + m),
        floats(work, n),
        floats(row_of(table, n, alpha.MULTIPLIERS), m),
    )
    for j in range(nu):
        given[j] = rate[nq + j]
    for k in range(m):
        given[nu + k] = multipliers[k]
    status = call_rhs(jacobian, t, address_of(y), G, context)
    if status == OK:
        loops = ints(context, N_LOOP_CONTEXT)
        _dense_rows(table, n, ints(loops[0], N_CONTEXT), loops)
    return status


@kernel
def linearise(method, table, n, t, h, y, rank, control, count, work, rhs, jacobian, context):
    """Compute A and the derivatives of the residual at the end that the rates at the start predict.

    Returns a status.

    Independent rows are selected again.
    """
    nq, ns, m, size, nu = sizes(table)
    begin_step(table, n, h, y, control, count, work)
    predict(table, n, h, y, control, work)
    copy(work, layout.E3, n, floats(work + 8 * n * layout.NEW, n))
    y = floats(work + 8 * n * layout.E3, n)
    t = t + h
    control[layout.STAGE_TIME] = t
    G, A_, P, M, J = matrices(table, n)
    count[layout.JACOBIANS] += 1
    count[layout.HAS_JACOBIAN] = 2
    if table[alpha.RESIDUAL] == 0:
        A = floats2(A_, nu, nu)
        for i in range(nu):
            for j in range(nu):
                A[i, j] = 1.0 if i == j else 0.0
        if jacobian == 0:
            return _differences(method, table, n, t, h, y, count, work, rhs, context)
        status = call_rhs(jacobian, t, address_of(y), J, context)
        if status == OK:
            _from_jacobian(table, n, y)
        return status
    loops = ints(context, N_LOOP_CONTEXT)
    found = row_of(table, n, alpha.FOUND)
    choose_complements(loops)
    status = call_rhs(rhs, t, address_of(y), found, context)
    count[layout.EVALUATIONS] += 1
    if status == OK and rank > 0:
        select_rows(loops, rank)
        status = call_rhs(rhs, t, address_of(y), found, context)
        count[layout.EVALUATIONS] += 1
    if status != OK:
        return status
    _dense_mass(table, n, ints(loops[0], N_CONTEXT), loops)
    monitor = monitors(loops)
    if monitor[watch.LAST_PIVOT] > monitor[watch.NEAR] * monitor[watch.LARGEST_PIVOT]:
        x, multipliers = solutions(loops), floats(row_of(table, n, alpha.MULTIPLIERS), m)
        for k in range(m):
            multipliers[k] = -x[nu + k]
    if jacobian != 0:
        return _from_residual_jacobian(table, n, t, y, work, jacobian, context)
    return _differences(method, table, n, t, h, y, count, work, rhs, context)
