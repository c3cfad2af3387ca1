# mypy: ignore-errors
"""One step of generalized-alpha on a manifold: residual, its derivatives, Newton's iteration, error estimate.

Unknown are the rates v = (u', x') at the end of the step and the multipliers. With the auxiliary a of both sides::

    (1 - alpha_m) a_new + alpha_m a = (1 - alpha_f) v_new + alpha_f v
    u_new = u + h ((1 - gamma) a + gamma a_new)             x likewise, with coefficients of its own
    q_new = q o exp(h u + h^2 ((1/2 - beta) a + beta a_new) + p)

(Arnold and Bruels 2007, Bruels, Cardona and Arnold 2012.) The equations of motion hold at the end of the step. Index 3:
f(q_new) = 0 and p = 0. Index 2: P u_new + P0 = 0, and p closes the position as well (Gear, Gupta and Leimkuhler). Rows of
constraints on rates alone hold as such in both. Residuals are divided by what their unknown is multiplied with (Bottasso), so
that Newton's matrix has entries of the size of A and P, however small the step.
"""

from math import cos, isfinite, sin, sqrt

import numpy as np

from treemech.kinematics.chord_plan import POSITION, VELOCITY
from treemech.kinematics.chord_views import chord_q, partials, rows
from treemech.kinematics.kernel import address_of, call_rhs, floats, floats2, inlined, ints, ints2, kernel
from treemech.kinematics.plan import N_CONTEXT, PUBLIC
from treemech.kinematics.status import CHAIN_OPEN, OK
from treemech.kinematics.sweep import turn_speeds
from treemech.kinematics.views import dofs, own_q

from .alpha_memory import (
    ALPHA_F,
    ALPHA_M,
    ALPHA_X,
    AUXILIARY,
    BETA,
    ERROR_Q,
    ERROR_U,
    ERROR_X,
    FOUND,
    GAMMA,
    GAMMA_X,
    MATRICES,
    MOVE,
    MOVES,
    MULTIPLIERS,
    N_ROWS,
    N_TURNS,
    NEW_AUXILIARY,
    NEW_MULTIPLIERS,
    NEW_OPENING,
    NONHOLONOMIC,
    NQ,
    NU,
    NX,
    OPENING,
    PIVOTS,
    PRESCRIBED,
    RESIDUAL,
    RESIDUALS,
    RIGHT,
    ROOM,
    SCALED,
    SHIFT,
    SIZES,
    SLOPE,
    SPEEDS,
    START,
    TURNS,
)
from .loop_plan import LARGEST_PIVOT, LAST_PIVOT, NEAR
from .loop_views import (
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
from .loops import choose_complements, select_rows
from .lu import factor, solve
from .stages import copy, square_norm
from .step_memory import (
    E3,
    E5,
    EVALUATIONS,
    FACTORED_STEP,
    FACTORISATIONS,
    HAS_JACOBIAN,
    HAS_PAST,
    JACOBIANS,
    LAST,
    NEW,
    OLD_STEP,
    OUT,
    RTOL,
    STAGE_TIME,
)

_EPSILON = 2.0**-52
MOST_ITERATIONS = 10
_SMALLEST = (
    0.1  # a number below counts as one of this size [m, rad, m/s, ...] when it is moved for a difference
)
_CLOSED, _NEARLY_CLOSED = (
    1e-14,
    1e-10,
)  # a gap [m, rad] that is closed; that is if it does not shrink any more
_ROUNDING = 0.01  # an increment, relative to the tolerance, that does not shrink any more is rounding
INDEX_3, INDEX_2 = 0, 1


# ---------------------------------------------------------------- where things stand
@inlined
def sizes(table):
    """Numbers in q, rates that are unknown, multipliers, all unknowns, speeds."""
    ns = table[NU] + table[NX]
    return table[NQ], ns, table[N_ROWS], ns + table[N_ROWS], table[NU]


@inlined
def _row(table, n, k):
    """Address of a row of the room."""
    return table[ROOM] + 8 * k * (max(n, table[NU] + table[NX] + table[N_ROWS]) + 1)


@inlined
def _matrices(table, n):
    """Addresses: residual by q (those by u and x follow), A, P, factors, Jacobian of a tree."""
    nq, ns, m, size, nu = sizes(table)
    G = _row(table, n, MATRICES)
    A = G + 8 * (nu + ns) * size
    P = A + 8 * nu * nu
    M = P + 8 * m * nu
    return G, A, P, M, M + 8 * size * size


# ---------------------------------------------------------------- the manifold
@kernel
def turn(q, at, x, y, z, left, out):
    """Euler parameters at q[at:], turned by a rotation vector in the base of end a (left) or b, to out[at:]."""
    angle = sqrt(x * x + y * y + z * z)
    half = 0.5 - angle * angle / 48.0 if angle < 1e-3 else sin(0.5 * angle) / angle
    c, x, y, z = cos(0.5 * angle), half * x, half * y, half * z
    s = -1.0 if left else 1.0
    a, b, d, e = q[at], q[at + 1], q[at + 2], q[at + 3]
    out[at] = a * c - b * x - d * y - e * z
    out[at + 1] = a * x + b * c + s * (d * z - e * y)
    out[at + 2] = a * y + d * c + s * (e * x - b * z)
    out[at + 3] = a * z + e * c + s * (b * y - d * x)


@kernel
def displace(table, q, step, out):
    """out = q o exp(step), of all coordinates; prescribed ones stand still."""
    nq, ns, m, size, nu = sizes(table)
    moves, turns = ints(table[MOVES], nu), ints2(table[TURNS], table[N_TURNS], 3)
    for k in range(nq):
        out[k] = q[k]
    for j in range(nu):
        if moves[j] >= 0:
            out[moves[j]] = q[moves[j]] + step[j]
    for k in range(table[N_TURNS]):
        j = turns[k, 1]
        turn(q, turns[k, 0], step[j], step[j + 1], step[j + 2], turns[k, 2] == 1, out)


@kernel
def tangent(table, q, step, out):
    """out = N(q) step, of all coordinates."""
    nq, ns, m, size, nu = sizes(table)
    moves, turns = ints(table[MOVES], nu), ints2(table[TURNS], table[N_TURNS], 3)
    for k in range(nq):
        out[k] = 0.0
    for j in range(nu):
        if moves[j] >= 0:
            out[moves[j]] = step[j]
    for k in range(table[N_TURNS]):
        a, j, s = turns[k, 0], turns[k, 1], -0.5 if turns[k, 2] == 1 else 0.5
        x, y, z = step[j], step[j + 1], step[j + 2]
        out[a] = 0.5 * (-q[a + 1] * x - q[a + 2] * y - q[a + 3] * z)
        out[a + 1] = 0.5 * q[a] * x + s * (q[a + 2] * z - q[a + 3] * y)
        out[a + 2] = 0.5 * q[a] * y + s * (q[a + 3] * x - q[a + 1] * z)
        out[a + 3] = 0.5 * q[a] * z + s * (q[a + 1] * y - q[a + 2] * x)


# ---------------------------------------------------------------- the residual
@kernel
def _dense_rows(table, n, plan, loops):
    """P of the last evaluation, row by row, by the speeds of the integrator."""
    nq, ns, m, size, nu = sizes(table)
    G, A, P_, M, J = _matrices(table, n)
    P, entries, kept, dof = floats2(P_, m, nu), partials(loops), kept_rows(loops), dofs(plan)
    entry_row, entry_speed, q = entry_rows(loops), entry_speeds(loops), own_q(plan)
    for r in range(m):
        for j in range(nu):
            P[r, j] = 0.0
    for k in range(entry_row.shape[0]):
        r = kept[entry_row[k]]
        if r >= 0:
            P[r, dof[entry_speed[k], PUBLIC]] += entries[k]
    for r in range(m):
        turn_speeds(plan, q, floats(P_ + 8 * nu * r, nu), 1.0)


@kernel
def _dense_mass(table, n, plan, loops):
    """A of the last evaluation by `loop_rhs`, by the speeds of the integrator."""
    nq, ns, m, size, nu = sizes(table)
    G, A_, P, M, J = _matrices(table, n)
    A, packed, dof, q = floats2(A_, nu, nu), packed_mass(loops), dofs(plan), own_q(plan)
    row, column = speed_rows(loops), speed_columns(loops)
    for i in range(nu):
        for j in range(nu):
            A[i, j] = 0.0
    for k in range(row.shape[0]):
        i, j = dof[row[k], PUBLIC], dof[column[k], PUBLIC]
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
    """What the equations lack at the state and rates at addresses y, rates; a status.

    Of a tree v - (u', x'), with chords A u' - Q - P^T lambda, x' alike, then the rows of the constraints on their level. What
    the entry point found stays in FOUND.
    """
    nq, ns, m, size, nu = sizes(table)
    found_, out = _row(table, n, FOUND), floats(out_, size)
    found, v = floats(found_, n), floats(rates + 8 * nq, ns)
    if table[RESIDUAL] == 0:
        status = call_rhs(rhs, t, y, found_, context)
        if status == OK:
            for i in range(ns):
                out[i] = v[i] - found[nq + i]
        return status
    for i in range(nu):
        found[nq + i] = v[i]
    status = call_rhs(table[RESIDUAL], t, y, found_, context)
    if status != OK:
        return status
    loops = ints(context, N_LOOP_CONTEXT)
    plan = ints(loops[0], N_CONTEXT)
    _dense_rows(table, n, plan, loops)
    G, A, P_, M, J = _matrices(table, n)
    P, Y, kept, masked = floats2(P_, m, nu), rows(loops), kept_rows(loops), masks(loops)
    rates_only, moves = ints(table[NONHOLONOMIC], m), ints(table[MOVES], nu)
    for i in range(nu):
        out[i] = found[nq + i]
    for i in range(nu, ns):
        out[i] = v[i] - found[nq + i]
    for r in range(kept.shape[0]):
        k = kept[r]
        if k >= 0:
            out[ns + k] = 0.0
            if masked[k] == 0:
                out[ns + k] = Y[r, POSITION if method == INDEX_3 and rates_only[k] == 0 else VELOCITY]
                for j in range(nu):
                    out[j] -= P[k, j] * multipliers[k]
    for j in range(nu):
        if moves[j] == PRESCRIBED:
            out[j] = 0.0
    return status


@kernel
def gaps(loops, out):
    """Largest gap of the rows that count; out: gap of each."""
    Y, kept, masked, largest = rows(loops), kept_rows(loops), masks(loops), 0.0
    for r in range(kept.shape[0]):
        k = kept[r]
        if k >= 0:
            out[k] = Y[r, POSITION] if masked[k] == 0 else 0.0
            largest = max(largest, abs(out[k]))
    return largest


# ---------------------------------------------------------------- the new state
@kernel
def begin_step(table, n, h, y, control, count, work):
    """The auxiliary accelerations for a step of this size: their distance from the true ones goes with it. The speeds."""
    nq, ns, m, size, nu = sizes(table)
    a, scaled, rate, speed = (
        floats(_row(table, n, AUXILIARY), ns),
        floats(_row(table, n, SCALED), ns),
        floats(work, n),
        floats(_row(table, n, SPEEDS), nu),
    )
    ratio = h / control[OLD_STEP] if count[HAS_PAST] == 1 else 0.0
    for i in range(ns):
        scaled[i] = rate[nq + i] + ratio * (a[i] - rate[nq + i])
    for j in range(nu):
        speed[j] = y[nq + j]


@kernel
def _advance(table, n, h, y, control, work):
    """The new state NEW that follows from the rates in LAST and the shift."""
    nq, ns, m, size, nu = sizes(table)
    a, a_new = floats(_row(table, n, SCALED), ns), floats(_row(table, n, NEW_AUXILIARY), ns)
    step, shift, moves = (
        floats(_row(table, n, MOVE), nu),
        floats(_row(table, n, SHIFT), nu),
        ints(table[MOVES], nu),
    )
    new, v, rate = floats(work + 8 * n * NEW, n), floats(work + 8 * n * LAST, n), floats(work, n)
    speed = floats(_row(table, n, SPEEDS), nu)
    f, beta = control[ALPHA_F], control[BETA]
    for i in range(ns):
        m_, g = (control[ALPHA_M], control[GAMMA]) if i < nu else (control[ALPHA_X], control[GAMMA_X])
        a_new[i] = ((1.0 - f) * v[nq + i] + f * rate[nq + i] - m_ * a[i]) / (1.0 - m_)
        new[nq + i] = (speed[i] if i < nu else y[nq + i]) + h * ((1.0 - g) * a[i] + g * a_new[i])
    for j in range(nu):
        step[j] = h * speed[j] + h * h * ((0.5 - beta) * a[j] + beta * a_new[j]) + shift[j]
        if moves[j] == PRESCRIBED:
            new[nq + j] = y[nq + j]
    displace(table, y, step, new)


@kernel
def _predict(table, n, h, y, control, work):
    """NEW with the rates at the start."""
    nq, ns, m, size, nu = sizes(table)
    new, v, rate = floats(work + 8 * n * NEW, n), floats(work + 8 * n * LAST, n), floats(work, n)
    shift = floats(_row(table, n, SHIFT), nu)
    for i in range(n):
        new[i] = y[i] + (h * rate[i] if i >= nq + ns else 0.0)
        v[i] = rate[i]
    for j in range(nu):
        shift[j] = 0.0
    _advance(table, n, h, y, control, work)


# ---------------------------------------------------------------- its derivatives
@kernel
def _difference(method, table, n, t, amount, at, count, work, rhs, context):
    """A column of the derivatives, at the address `at`: from the state in OUT, moved by an amount. A status."""
    nq, ns, m, size, nu = sizes(table)
    start, column = floats(_row(table, n, START), size), floats(at, size)
    multipliers = floats(_row(table, n, MULTIPLIERS), m)
    status = residual(method, table, n, t, work + 8 * n * OUT, work, multipliers, at, rhs, context)
    count[EVALUATIONS] += 1
    for i in range(size):
        column[i] = (column[i] - start[i]) / amount
    return status


@kernel
def _differences(method, table, n, t, h, y, count, work, rhs, context):
    """Derivatives of the residual at y by q (along the speeds), u and x, by forward differences; a status."""
    nq, ns, m, size, nu = sizes(table)
    G = _row(table, n, MATRICES)
    out, step, moves = floats(work + 8 * n * OUT, n), floats(_row(table, n, MOVE), nu), ints(table[MOVES], nu)
    multipliers = floats(_row(table, n, MULTIPLIERS), m)
    status = residual(
        method, table, n, t, address_of(y), work, multipliers, _row(table, n, START), rhs, context
    )
    count[EVALUATIONS] += 1
    for i in range(n):
        out[i] = y[i]
    for j in range(nu):
        step[j] = 0.0
    for j in range(nu + ns):
        k = j - nu if j >= nu else j  # of all speeds and states; first along the speeds, then they themselves
        column = floats(G + 8 * size * j, size)
        if k < nu and moves[k] == PRESCRIBED:
            for i in range(size):
                column[i] = 0.0
            continue
        if j < nu:
            value = y[moves[j]] if moves[j] >= 0 else 1.0
            step[j] = max(max(abs(value), abs(h * y[nq + j])), _SMALLEST) * sqrt(_EPSILON)
            displace(table, y, step, out)
            amount = step[j]
            step[j] = 0.0
        else:
            value = y[nq + k]
            out[nq + k] = value + max(abs(value), _SMALLEST) * sqrt(_EPSILON)
            amount = out[nq + k] - value
        if status == OK:
            status = _difference(method, table, n, t, amount, G + 8 * size * j, count, work, rhs, context)
        if j < nu:
            for i in range(nq):
                out[i] = y[i]
        else:
            out[nq + k] = y[nq + k]
    return status


@kernel
def _from_jacobian(table, n, y):
    """The same of a tree, from its Jacobian d(y')/dy."""
    nq, ns, m, size, nu = sizes(table)
    G_, A, P, M, J_ = _matrices(table, n)
    G, J, moves = floats2(G_, nu + ns, size), floats2(J_, n, n), ints(table[MOVES], nu)
    along, step = floats(_row(table, n, FOUND), nq), floats(_row(table, n, MOVE), nu)
    for j in range(nu):
        for i in range(ns):
            G[j, i] = 0.0
        if moves[j] >= 0:
            for i in range(ns):
                G[j, i] = -J[moves[j], nq + i]
        elif moves[j] != PRESCRIBED:
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
def linearise(method, table, n, t, h, y, rank, control, count, work, rhs, jacobian, context):
    """Derivatives of the residual, and A, where the step would end with the rates it starts with; a status.

    Independent rows are chosen anew.
    """
    nq, ns, m, size, nu = sizes(table)
    begin_step(table, n, h, y, control, count, work)
    _predict(table, n, h, y, control, work)
    copy(work, E3, n, floats(work + 8 * n * NEW, n))
    y = floats(work + 8 * n * E3, n)
    t = t + h
    control[STAGE_TIME] = t
    G, A_, P, M, J = _matrices(table, n)
    count[JACOBIANS] += 1
    count[HAS_JACOBIAN] = 2
    if table[RESIDUAL] == 0:
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
    found = _row(table, n, FOUND)
    choose_complements(loops)
    status = call_rhs(rhs, t, address_of(y), found, context)
    count[EVALUATIONS] += 1
    if status == OK and rank > 0:
        select_rows(loops, rank)
        status = call_rhs(rhs, t, address_of(y), found, context)
        count[EVALUATIONS] += 1
    if status != OK:
        return status
    _dense_mass(table, n, ints(loops[0], N_CONTEXT), loops)
    monitor = monitors(loops)
    if monitor[LAST_PIVOT] > monitor[NEAR] * monitor[LARGEST_PIVOT]:
        x, multipliers = solutions(loops), floats(_row(table, n, MULTIPLIERS), m)
        for k in range(m):
            multipliers[k] = -x[nu + k]
    return _differences(method, table, n, t, h, y, count, work, rhs, context)


@inlined
def factors(control, h):
    """By how much q, u and x change with their rates."""
    second = (1.0 - control[ALPHA_F]) / (1.0 - control[ALPHA_M])
    first = (1.0 - control[ALPHA_F]) / (1.0 - control[ALPHA_X])
    return h * h * control[BETA] * second, h * control[GAMMA] * second, h * control[GAMMA_X] * first


@kernel
def factorise(method, table, n, h, control, count, context):
    """LU factors of Newton's matrix for steps of size h; whether that went well."""
    nq, ns, m, size, nu = sizes(table)
    G_, A_, P_, M_, J = _matrices(table, n)
    G, A, P, M = floats2(G_, nu + ns, size), floats2(A_, nu, nu), floats2(P_, m, nu), floats2(M_, size, size)
    moves, rates_only = ints(table[MOVES], nu), ints(table[NONHOLONOMIC], m)
    by_q, by_u, by_x = factors(control, h)
    for j in range(size):
        for i in range(size):
            M[j, i] = 0.0
    for j in range(nu):
        for i in range(ns):
            M[j, i] = by_u * G[nu + j, i] + by_q * G[j, i]
        for i in range(nu):
            M[j, i] += A[j, i]
    for j in range(nu, ns):
        for i in range(ns):
            M[j, i] = by_x * G[nu + j, i]
        M[j, j] += 1.0
    if m > 0:
        masked = masks(ints(context, N_LOOP_CONTEXT))
        for k in range(m):
            if masked[k] == 1:
                M[ns + k, ns + k] = 1.0
                continue
            bent = 0.0 if method == INDEX_3 and rates_only[k] == 0 else by_q / by_u
            for j in range(nu):
                M[j, ns + k] = P[k, j] + bent * G[j, ns + k]
                M[ns + k, j] = -P[k, j]
    for j in range(nu):
        if moves[j] == PRESCRIBED:
            for i in range(size):
                M[i, j] = 0.0
                M[j, i] = 0.0
            M[j, j] = 1.0
    count[FACTORISATIONS] += 1
    control[FACTORED_STEP] = h
    return factor(M, size, ints(_row(table, n, PIVOTS), size), floats(_row(table, n, SIZES), size))


@kernel
def _solve(table, n, right):
    """right = M^-1 right"""
    nq, ns, m, size, nu = sizes(table)
    G, A, P, M_, J = _matrices(table, n)
    solve(floats2(M_, size, size), size, ints(_row(table, n, PIVOTS), size), right)


# ---------------------------------------------------------------- Newton's iteration
@kernel
def rescale_speeds(table, n, h, control, count):
    """Index 3, a shorter step than the one before: the part of the speeds that opens the chains goes with its square.

    Positions that are closed need speeds that are not, by ERROR_Q h^2 times the slope of the accelerations; what a longer
    step left of that a shorter one would have to take back at once, and its accelerations would jump. (A longer one
    builds it up by itself; to enlarge it would enlarge what is left of an earlier jump as well.)
    """
    nq, ns, m, size, nu = sizes(table)
    if count[HAS_PAST] == 0 or m == 0 or abs(h) >= abs(control[OLD_STEP]):
        return
    right, opening = floats(_row(table, n, RIGHT), size), floats(_row(table, n, OPENING), m)
    speed, moves = floats(_row(table, n, SPEEDS), nu), ints(table[MOVES], nu)
    ratio = h / control[OLD_STEP]
    for i in range(ns):
        right[i] = 0.0
    for k in range(m):
        right[ns + k] = (ratio * ratio - 1.0) * opening[k]
    _solve(table, n, right)
    for j in range(nu):
        if moves[j] != PRESCRIBED:
            speed[j] += right[j]


@kernel
def _shift(table, n, ratio, lack, right, shift):
    """Add what closes the gaps, which stand in `right`, in the metric of Newton's matrix; the residual follows.

    The step of the speeds to come moves the position as well: by the ratio of their factors.
    """
    nq, ns, m, size, nu = sizes(table)
    G, moves, rates_only = (
        floats2(_row(table, n, MATRICES), nu + ns, size),
        ints(table[MOVES], nu),
        ints(table[NONHOLONOMIC], m),
    )
    for k in range(m - 1, -1, -1):
        right[ns + k] = 0.0 if rates_only[k] == 1 else ratio * lack[ns + k] - right[k]
    for i in range(ns):
        right[i] = 0.0
    _solve(table, n, right)
    for j in range(nu):
        if moves[j] != PRESCRIBED:
            shift[j] += right[j]
            for i in range(size):
                lack[i] += G[j, i] * right[j]


@kernel
def _noise(table, n, h, y, atol, control, work):
    """What the rounding of the rates makes of the state, relative to the tolerance; in E5, which is used up."""
    nq, ns, m, size, nu = sizes(table)
    by_q, by_u, by_x = factors(control, h)
    v, last, step = (
        floats(work + 8 * n * LAST, n),
        floats(work + 8 * n * E5, n),
        floats(_row(table, n, MOVE), nu),
    )
    for i in range(ns):
        size_ = 16.0 * _EPSILON * v[nq + i]
        last[nq + i] = (by_u if i < nu else by_x) * size_
        if i < nu:
            step[i] = by_q * size_
    tangent(table, y, step, last)
    return sqrt(square_norm(last, y, y, nq + ns, control[RTOL], atol) / (nq + ns))


@kernel
def newton(method, table, n, t, h, y, atol, control, count, work, rhs, context):
    """Newton's iteration for the rates and multipliers at the end of the step; (status, iterations, rate), no iterations if it fails.

    The last increment of the state is left in E5. With chords it ends where the positions are closed to rounding.
    """
    nq, ns, m, size, nu = sizes(table)
    v, new = floats(work + 8 * n * LAST, n), floats(work + 8 * n * NEW, n)
    shift, right, step = (
        floats(_row(table, n, SHIFT), nu),
        floats(_row(table, n, RIGHT), size),
        floats(_row(table, n, MOVE), nu),
    )
    lack, last = floats(_row(table, n, RESIDUALS), size), floats(work + 8 * n * E5, n)
    old, multipliers = floats(_row(table, n, MULTIPLIERS), m), floats(_row(table, n, NEW_MULTIPLIERS), m)
    rates_only = ints(table[NONHOLONOMIC], m)
    by_q, by_u, by_x = factors(control, h)
    rtol = control[RTOL]
    tolerance = max(10.0 * _EPSILON / rtol, min(0.03, sqrt(rtol)))
    _predict(table, n, h, y, control, work)
    for i in range(n):
        last[i] = 0.0
    for k in range(m):
        multipliers[k] = old[k]
    speed, before, gap_before, settled = 0.0, 0.0, 1e300, False
    control[STAGE_TIME] = t + h
    for iteration in range(MOST_ITERATIONS + 1):
        status = residual(
            method, table, n, t + h, work + 8 * n * NEW, work + 8 * n * LAST, multipliers,
            _row(table, n, RESIDUALS), rhs, context,
        )  # fmt: skip
        count[EVALUATIONS] += 1
        if status == CHAIN_OPEN:
            return np.int32(OK), 0, speed
        if status != OK:
            return status, 0, speed
        gap = 0.0
        if m > 0:
            gap = gaps(ints(context, N_LOOP_CONTEXT), right)
        if settled and (gap <= _CLOSED or (gap <= _NEARLY_CLOSED and gap > 0.3 * gap_before)):
            return np.int32(OK), max(iteration, 1), speed
        if iteration == MOST_ITERATIONS:
            break
        gap_before = gap
        if method == INDEX_2 and m > 0:
            _shift(table, n, by_q / by_u, lack, right, shift)
        for i in range(ns):
            right[i] = -lack[i]
        for k in range(m):
            right[ns + k] = -lack[ns + k] / (by_q if method == INDEX_3 and rates_only[k] == 0 else by_u)
        _solve(table, n, right)
        for j in range(nu):
            step[j] = by_q * right[j]
        tangent(table, new, step, last)
        for i in range(ns):
            last[nq + i] = (by_u if i < nu else by_x) * right[i]
            v[nq + i] += right[i]
        for k in range(m):
            multipliers[k] += right[ns + k]
        _advance(table, n, h, y, control, work)
        norm = sqrt(square_norm(last, y, y, nq + ns, rtol, atol) / (nq + ns))
        if not isfinite(norm):
            return np.int32(OK), 0, 1.0
        if iteration > 0:
            speed = norm / before if before > 0.0 else 0.0
            settled = settled or norm == 0.0 or (speed < 1.0 and speed / (1.0 - speed) * norm < tolerance)
            if not settled and speed > 0.3:
                settled = norm < max(_ROUNDING, _noise(table, n, h, y, atol, control, work))
            if not settled and speed >= 0.99 and iteration > 1:
                return np.int32(OK), 0, speed
        settled = settled or norm <= 1e-3 * tolerance
        before = norm
    return np.int32(OK), 0, speed


@kernel
def finish(table, n, h, y, work, context):
    """Rates and state at the end of the step that no iteration was needed for: q', the audit, cut hinges."""
    nq, ns, m, size, nu = sizes(table)
    new, last, rate, found = (
        floats(work + 8 * n * NEW, n),
        floats(work + 8 * n * LAST, n),
        floats(work, n),
        floats(_row(table, n, FOUND), n),
    )
    for i in range(nq):
        last[i] = found[i]
    for i in range(nq + ns, n):
        last[i] = found[i]
        new[i] = y[i] + 0.5 * h * (rate[i] + last[i])
    if m > 0:
        loops = ints(context, N_LOOP_CONTEXT)
        cut, x, multipliers = chord_q(loops), solutions(loops), floats(_row(table, n, NEW_MULTIPLIERS), m)
        for k in range(cut.shape[0]):
            new[n - cut.shape[0] + k] = cut[k]
        Y, kept, masked, opening = (
            rows(loops),
            kept_rows(loops),
            masks(loops),
            floats(_row(table, n, NEW_OPENING), m),
        )
        rates_only = ints(table[NONHOLONOMIC], m)
        for r in range(kept.shape[0]):
            k = kept[r]
            if k >= 0:
                x[nu + k] = -multipliers[k]
                opening[k] = Y[r, VELOCITY] if masked[k] == 0 and rates_only[k] == 0 else 0.0


@kernel
def estimate(table, n, m_controlled, h, y, atol, control, count, work):
    """Error of the step relative to the tolerance, its components in E5.

    From the slope of the auxiliary accelerations and its change since the step before; through Newton's matrix, which leaves
    slow parts as they are, takes the part normal to the constraints out, and brings fast parts down to the size they have:
    of positions only what is fast by stiffness, since what damping holds back they have moved all the same.
    """
    nq, ns, m, size, nu = sizes(table)
    G_, A_, P, M, J = _matrices(table, n)
    G = floats2(G_, nu + ns, size)
    by_q, by_u, by_x = factors(control, h)
    A, right, step = (
        floats2(A_, nu, nu),
        floats(_row(table, n, RIGHT), size),
        floats(_row(table, n, MOVE), nu),
    )
    a, a_new = floats(_row(table, n, SCALED), ns), floats(_row(table, n, NEW_AUXILIARY), ns)
    slope, e, new = (
        floats(_row(table, n, SLOPE), ns),
        floats(work + 8 * n * E5, n),
        floats(work + 8 * n * NEW, n),
    )
    moves = ints(table[MOVES], nu)
    for i in range(n):
        e[i] = 0.0
    for level in range(2):
        for i in range(size):
            right[i] = 0.0
        for i in range(ns):
            now = (a_new[i] - a[i]) / h
            if level == 0:
                x = control[ERROR_Q] * h * h * h * now if i < nu else 0.0
            else:
                bend = (now - slope[i]) / (0.5 * (h + control[OLD_STEP])) if count[HAS_PAST] == 1 else 0.0
                x = control[ERROR_U if i < nu else ERROR_X] * h * h * h * bend
            if i >= nu:
                right[i] += x
            elif moves[i] != PRESCRIBED:
                for j in range(nu):
                    right[j] += A[i, j] * x
                if level == 0:
                    for j in range(ns):
                        right[j] += by_u * G[nu + i, j] * x
        for j in range(nu):
            if moves[j] == PRESCRIBED:
                right[j] = 0.0
        _solve(table, n, right)
        if level == 0:
            for j in range(nu):
                step[j] = right[j]
            tangent(table, new, step, e)
        else:
            for i in range(ns):
                e[nq + i] = right[i]
    return sqrt(square_norm(e, y, new, m_controlled, control[RTOL], atol) / m_controlled)


@kernel
def accept(table, n, h, work):
    """The memory of the method for the next step."""
    nq, ns, m, size, nu = sizes(table)
    a, scaled, a_new = (
        floats(_row(table, n, AUXILIARY), ns),
        floats(_row(table, n, SCALED), ns),
        floats(_row(table, n, NEW_AUXILIARY), ns),
    )
    slope = floats(_row(table, n, SLOPE), ns)
    old, new = floats(_row(table, n, MULTIPLIERS), m), floats(_row(table, n, NEW_MULTIPLIERS), m)
    for i in range(ns):
        slope[i] = (a_new[i] - scaled[i]) / h
        a[i] = a_new[i]
    opening, opened = floats(_row(table, n, OPENING), m), floats(_row(table, n, NEW_OPENING), m)
    for k in range(m):
        old[k] = new[k]
        opening[k] = opened[k]
