# mypy: ignore-errors
"""One step of generalized-alpha: Newton's iteration for the rates and multipliers at its end.

Index 3 closes the positions. Index 2 also closes the speeds, by a shift of the positions (Gear, Gupta and
Leimkuhler). Residuals are divided by the factors of their unknowns (Bottasso), so that the entries of
Newton's matrix have the size of A and P for any step size; the matrix is the same for both indices.
"""

from math import isfinite, sqrt

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, floats2, ints, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK
from treemech.kinematics.plan.chord_views import chord_q, rows
from treemech.kinematics.plan.columns import row

from ...equations import watch
from ...equations.loop_views import N_LOOP_CONTEXT, kept_rows, masks, solutions
from ...equations.lu import factor, solve
from .. import layout
from ..runge_kutta_step import copy, square_norm
from . import layout as alpha
from .reactions import derive
from .residual import INDEX_2, INDEX_3, extent, gaps, residual
from .state import advance, by_multipliers, factors, matrices, predict, row_of, sizes, tangent

_EPSILON = 2.0**-52
MOST_ITERATIONS = 10
MOST_RENEWED = 3  # number of times the derivatives are renewed at an iterate
# Gaps [m, rad] of a mechanism of the size of 1 m: one that counts as closed; one that is rounding; one that
# is accepted as closed if nothing else helps
CLOSED, ROUNDED, _NEARLY_CLOSED = 1e-14, 5e-16, 1e-10
_ROUNDING = 0.01  # increments that no longer shrink are rounding below this part of the tolerance


@kernel
def factorise(table, n, h, control, count, context):
    """Compute the LU factors of Newton's matrix for steps of size h. Returns whether they exist."""
    nq, ns, m, size, nu = sizes(table)
    G_, A_, P_, M_, J = matrices(table, n)
    G, A, P, M = floats2(G_, nu + ns, size), floats2(A_, nu, nu), floats2(P_, m, nu), floats2(M_, size, size)
    moves, rates_only = ints(table[alpha.MOVES], nu), ints(table[alpha.NONHOLONOMIC], m)
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
        masked, L = masks(ints(context, N_LOOP_CONTEXT)), floats2(by_multipliers(table, n), m, size)
        for k in range(m):
            if masked[k] == 1:
                M[ns + k, ns + k] = 1.0
                continue
            bent = by_q / by_u if rates_only[k] == 1 else 0.0
            for j in range(nu):
                M[j, ns + k] = P[k, j] + bent * G[j, ns + k]
                M[ns + k, j] = -P[k, j]
            if table[alpha.REACTION_DEPENDENT] == 1:
                for i in range(ns):
                    M[ns + k, i] = L[k, i]
    for j in range(nu):
        if moves[j] == alpha.PRESCRIBED:
            for i in range(size):
                M[i, j] = 0.0
                M[j, i] = 0.0
            M[j, j] = 1.0
    count[layout.FACTORISATIONS] += 1
    control[layout.FACTORED_STEP] = h
    return factor(
        M, size, ints(row_of(table, n, alpha.PIVOTS), size), floats(row_of(table, n, alpha.SIZES), size)
    )


@kernel
def note_multipliers(table, n, context):
    """Start a leg with the multipliers of the last evaluation by `loop_rhs`."""
    nq, ns, m, size, nu = sizes(table)
    last, x = floats(row_of(table, n, alpha.LAST_MULTIPLIERS), m), solutions(ints(context, N_LOOP_CONTEXT))
    for k in range(m):
        last[k] = -x[nu + k]


@kernel
def recall_multipliers(table, n):
    """Restore the multipliers of the last step after an iteration that failed."""
    m = table[alpha.N_ROWS]
    start, last = (
        floats(row_of(table, n, alpha.MULTIPLIERS), m),
        floats(row_of(table, n, alpha.LAST_MULTIPLIERS), m),
    )
    for k in range(m):
        start[k] = last[k]


@kernel
def solve_newton(table, n, right):
    """Compute right = M^-1 right."""
    nq, ns, m, size, nu = sizes(table)
    G, A, P, M_, J = matrices(table, n)
    solve(floats2(M_, size, size), size, ints(row_of(table, n, alpha.PIVOTS), size), right)


@kernel
def note_rates(table, n, address, row):
    """Copy the rates of the speeds that `loop_rhs` left at an address to a row of the workspace."""
    nq, ns, m, size, nu = sizes(table)
    given, kept = floats(address, n), floats(row_of(table, n, row), nu)
    for j in range(nu):
        kept[j] = given[nq + j]


@kernel
def renew_normal(table, n, h, control, count, work, context):
    """Adapt the parts of speeds and accelerations normal to the constraints to a new step size (index 3).

    Closed positions need speeds that open by ERROR_Q h^2 times the time derivative of the accelerations, and
    auxiliary accelerations that are those (alpha_m - alpha_f) h ahead. Any other normal part left by the
    steps before would oscillate for some steps. True accelerations are those of `loop_rhs`; they differ from
    the computed ones only in the normal part.
    """
    nq, ns, m, size, nu = sizes(table)
    G, A, P_, M, J = matrices(table, n)
    P, masked = floats2(P_, m, nu), masks(ints(context, N_LOOP_CONTEXT))
    right, opening = floats(row_of(table, n, alpha.RIGHT), size), floats(row_of(table, n, alpha.OPENING), m)
    speed, moves = floats(row_of(table, n, alpha.SPEEDS), nu), ints(table[alpha.MOVES], nu)
    true, slope = (
        floats(row_of(table, n, alpha.TRUE_RATES), nu),
        floats(row_of(table, n, alpha.TRUE_SLOPE), nu),
    )
    scaled, rate, rates_only = (
        floats(row_of(table, n, alpha.SCALED), ns),
        floats(work, n),
        ints(table[alpha.NONHOLONOMIC], m),
    )
    ahead = (control[alpha.ALPHA_M] - control[alpha.ALPHA_F]) * h
    for level in range(2):
        for i in range(ns):
            right[i] = 0.0
        for k in range(m):
            lack = 0.0 if level == 1 else -opening[k]
            for j in range(nu):
                lack += P[k, j] * (
                    control[alpha.ERROR_Q] * h * h * slope[j]
                    if level == 0
                    else true[j] + ahead * slope[j] - scaled[j]
                )
            right[ns + k] = lack if masked[k] == 0 and rates_only[k] == 0 else 0.0
        solve_newton(table, n, right)
        for j in range(nu):
            if moves[j] != alpha.PRESCRIBED:
                if level == 0:
                    speed[j] += right[j]
                else:
                    scaled[j] += right[j]
                    rate[nq + j] = true[j]


@kernel
def rescale_speeds(table, n, h, control):
    """Adapt the part of the speeds that opens the chains to a shorter step near a singular position.

    Closed positions need speeds that open by ERROR_Q h^2 times the time derivative of the accelerations. A
    shorter step would have to remove the excess left by a longer one at once, and its accelerations would
    jump. (A longer step builds this part up by itself; enlarging it would also enlarge the remains of an
    earlier jump.)
    """
    nq, ns, m, size, nu = sizes(table)
    if abs(h) >= abs(control[layout.OLD_STEP]):
        return
    right, opening = floats(row_of(table, n, alpha.RIGHT), size), floats(row_of(table, n, alpha.OPENING), m)
    speed, moves = floats(row_of(table, n, alpha.SPEEDS), nu), ints(table[alpha.MOVES], nu)
    ratio = h / control[layout.OLD_STEP]
    for i in range(ns):
        right[i] = 0.0
    for k in range(m):
        right[ns + k] = (ratio * ratio - 1.0) * opening[k]
    solve_newton(table, n, right)
    for j in range(nu):
        if moves[j] != alpha.PRESCRIBED:
            speed[j] += right[j]


@kernel
def _shift(table, n, ratio, lack, gap, move, right, shift):
    """Shift the position, in the metric of Newton's matrix, so that the speeds are closed as well (index 2).

    With the total displacement `move` and the gaps that it closes, P shift = (P u + P0 + slope move) by_q /
    by_u - gap. The shift changes the multipliers and, through stiffness only, the other equations of motion.
    Its part of the unknowns is left in `right`. With ratio 0 the shift closes the gaps itself.
    """
    nq, ns, m, size, nu = sizes(table)
    G, moves, rates_only = (
        floats2(row_of(table, n, alpha.MATRICES), nu + ns, size),
        ints(table[alpha.MOVES], nu),
        ints(table[alpha.NONHOLONOMIC], m),
    )
    for i in range(ns):
        right[i] = 0.0
    for k in range(m):
        right[ns + k] = 0.0
        if rates_only[k] == 0:
            opening = lack[ns + k]
            for j in range(nu):
                opening += G[j, ns + k] * move[j]
            right[ns + k] = ratio * opening - gap[k]
    solve_newton(table, n, right)
    for j in range(nu):
        if moves[j] != alpha.PRESCRIBED:
            shift[j] += right[j]


@kernel
def _noise(method, table, n, h, y, atol, control, work):
    """Return the effect of rounding in rates and closed positions on the state, relative to the tolerance.

    OUT is overwritten.
    """
    nq, ns, m, size, nu = sizes(table)
    by_q, by_u, by_x = factors(control, h)
    v, last, step = (
        floats(work + 8 * n * layout.LAST, n),
        floats(work + 8 * n * layout.OUT, n),
        floats(row_of(table, n, alpha.MOVE), nu),
    )
    gap = 4.0 * ROUNDED if method == INDEX_3 and m > 0 else 0.0
    for i in range(ns):
        size_ = 16.0 * _EPSILON * abs(v[nq + i])
        last[nq + i] = (by_u if i < nu else by_x) * size_
        if i < nu:
            step[i] = by_q * size_ + gap
            last[nq + i] += abs(by_u / by_q) * gap
    tangent(table, y, step, last)
    return sqrt(square_norm(last, y, y, nq + ns, control[layout.RTOL], atol) / (nq + ns))


@kernel
def _renew(table, n, t, h, y, rank, control, count, work, rhs, jacobian, context):
    """Compute derivatives at the iterate and the factors of Newton's matrix.

    Returns a status, and whether the factors exist.

    The derivatives are those at the end of a step of length 0 from the iterate, with its multipliers.
    """
    nq, ns, m, size, nu = sizes(table)
    rate, last, old = (
        floats(work, n),
        floats(work + 8 * n * layout.LAST, n),
        floats(work + 8 * n * layout.OLD, n),
    )
    scaled, speed, shift = (
        floats(row_of(table, n, alpha.SCALED), ns),
        floats(row_of(table, n, alpha.SPEEDS), nu),
        floats(row_of(table, n, alpha.SHIFT), nu),
    )
    kept_rate, kept_scaled, kept_speed, kept_shift = (
        floats(row_of(table, n, alpha.KEPT_RATES), n),
        floats(row_of(table, n, alpha.KEPT_SCALED), ns),
        floats(row_of(table, n, alpha.KEPT_SPEEDS), nu),
        floats(row_of(table, n, alpha.KEPT_SHIFT), nu),
    )
    multipliers, now = (
        floats(row_of(table, n, alpha.MULTIPLIERS), m),
        floats(row_of(table, n, alpha.NEW_MULTIPLIERS), m),
    )
    copy(work, layout.OLD, n, floats(work + 8 * n * layout.NEW, n))
    for i in range(n):
        kept_rate[i], rate[i] = rate[i], last[i]
    for i in range(ns):
        kept_scaled[i] = scaled[i]
    for j in range(nu):
        kept_speed[j], kept_shift[j] = speed[j], shift[j]
    for k in range(m):
        multipliers[k] = now[k]
    status = derive(table, n, t + h, 0.0, old, rank, control, count, work, rhs, jacobian, context)
    for i in range(n):
        last[i], rate[i] = rate[i], kept_rate[i]
    for i in range(ns):
        scaled[i] = kept_scaled[i]
    for j in range(nu):
        speed[j], shift[j] = kept_speed[j], kept_shift[j]
    for k in range(m):
        now[k] = multipliers[k]
    advance(table, n, h, y, control, work)
    if status != OK:
        return status, False
    return status, factorise(table, n, h, control, count, context)


@kernel
def newton(method, table, n, t, h, y, atol, rank, control, count, work, rhs, jacobian, context):
    """Solve for the rates and multipliers at the end of the step.

    Returns (status, iterations, rate of convergence).

    The number of iterations is 0 if it fails. The last increment of the state is left in E5. With chords the
    iteration ends when the positions are closed to rounding. If it converges too slowly with derivatives made
    for this step, they are made again at the iterate: near a position where the multipliers grow by a factor
    within the step, derivatives at its predicted end do not lead to convergence at any step size.
    """
    nq, ns, m, size, nu = sizes(table)
    v, new = floats(work + 8 * n * layout.LAST, n), floats(work + 8 * n * layout.NEW, n)
    shift, right, step = (
        floats(row_of(table, n, alpha.SHIFT), nu),
        floats(row_of(table, n, alpha.RIGHT), size),
        floats(row_of(table, n, alpha.MOVE), nu),
    )
    lack, last = floats(row_of(table, n, alpha.RESIDUALS), size), floats(work + 8 * n * layout.E5, n)
    old, multipliers = (
        floats(row_of(table, n, alpha.MULTIPLIERS), m),
        floats(row_of(table, n, alpha.NEW_MULTIPLIERS), m),
    )
    open_, shifted = floats(row_of(table, n, alpha.GAPS), m), floats(row_of(table, n, alpha.SHIFTED), size)
    rates_only = ints(table[alpha.NONHOLONOMIC], m)
    by_q, by_u, by_x = factors(control, h)
    rtol = control[layout.RTOL]
    # index 3 finds speeds from positions: their noise is a gap divided by the step
    closed = CLOSED if method == INDEX_2 else max(ROUNDED, min(CLOSED, 0.01 * rtol * abs(h)))
    tolerance = max(10.0 * _EPSILON / rtol, min(0.03, sqrt(rtol)))
    predict(table, n, h, y, control, work)
    for i in range(n):
        last[i] = 0.0
    for k in range(m):
        multipliers[k] = old[k]
    speed, before, gap_earlier, gap_before, settled = 0.0, 0.0, 1e300, 1e300, False
    renewed, own = 0, 0  # number of times the derivatives were made at an iterate, iterations with them
    control[layout.STAGE_TIME] = t + h
    for iteration in range(2 * (MOST_RENEWED + 1) * MOST_ITERATIONS + 1):
        status = residual(
            method, table, n, t + h, work + 8 * n * layout.NEW, work + 8 * n * layout.LAST, multipliers,
            row_of(table, n, alpha.RESIDUALS), rhs, context,
        )  # fmt: skip
        count[layout.EVALUATIONS] += 1
        if status == CHAIN_OPEN:
            return np.int32(OK), 0, speed
        if status != OK:
            return status, 0, speed
        gap, hopeless = 0.0, own >= (2 if settled else 1) * MOST_ITERATIONS
        if m > 0:
            gap = gaps(ints(context, N_LOOP_CONTEXT), open_)
            if method == INDEX_2 and gap <= ROUNDED * max(1.0, extent(ints(context, N_LOOP_CONTEXT))):
                # next to a singular position closing them would move the state by more than a fine tolerance
                for k in range(m):
                    open_[k] = 0.0
        if settled:
            far = max(1.0, extent(ints(context, N_LOOP_CONTEXT))) if gap > closed else 1.0
            hopeless = hopeless or gap > 0.5 * gap_earlier
            enough = _NEARLY_CLOSED if renewed == MOST_RENEWED else 10.0 * CLOSED * far
            if gap <= closed * far or (hopeless and gap <= enough):
                return np.int32(OK), max(iteration, 1), speed
        if not hopeless:
            gap_earlier, gap_before = gap_before, gap
            if settled and method == INDEX_2 and m > 0:  # only the positions remain to be closed
                for j in range(nu):
                    step[j] = 0.0
                _shift(table, n, 0.0, lack, open_, step, right, shift)
                advance(table, n, h, y, control, work)
                own += 1
                continue
            for i in range(ns):
                right[i] = -lack[i]
            for k in range(m):
                right[ns + k] = -lack[ns + k] / by_u if rates_only[k] == 1 else -open_[k] / by_q
            solve_newton(table, n, right)
            for j in range(nu):
                step[j] = by_q * right[j]
            tangent(table, new, step, last)
            if method == INDEX_2 and m > 0:
                _shift(table, n, by_q / by_u, lack, open_, step, shifted, shift)
                for i in range(size):
                    right[i] -= shifted[i] / by_q
            for i in range(ns):
                last[nq + i] = (by_u if i < nu else by_x) * right[i]
                v[nq + i] += right[i]
            for k in range(m):
                multipliers[k] += right[ns + k]
            advance(table, n, h, y, control, work)
            norm = sqrt(square_norm(last, y, y, nq + ns, rtol, atol) / (nq + ns))
            if not isfinite(norm):
                return np.int32(OK), 0, 1.0
            if own > 0:
                speed = norm / before if before > 0.0 else 0.0
                settled = settled or norm == 0.0 or (speed < 1.0 and speed / (1.0 - speed) * norm < tolerance)
                if not settled and speed > 0.3:
                    noise = _noise(method, table, n, h, y, atol, control, work)
                    if own > 1 and gap <= 2.0 * ROUNDED:  # gaps alternate by single units of rounding
                        noise *= 20.0
                    settled = norm < max(_ROUNDING, noise)
                # estimate of the remaining error after the last iteration that is allowed
                hopeless = (
                    not settled
                    and own > 1
                    and (speed >= 0.99 or speed ** (MOST_ITERATIONS - own) * norm > tolerance)
                )
            settled = settled or norm <= 1e-3 * tolerance
            before = norm
            own += 1
        if hopeless:
            if count[layout.HAS_JACOBIAN] != 2 or renewed == MOST_RENEWED:
                return np.int32(OK), 0, speed
            status, regular = _renew(table, n, t, h, y, rank, control, count, work, rhs, jacobian, context)
            if status != OK or not regular:
                return status, 0, speed
            renewed, own, settled, gap_earlier, gap_before = renewed + 1, 0, False, 1e300, 1e300
    return np.int32(OK), 0, speed


@kernel
def finish(table, n, h, y, work, context):
    """Complete rates and state at the end of the step without iteration: q', the audit, cut hinges."""
    nq, ns, m, size, nu = sizes(table)
    new, last, rate, found = (
        floats(work + 8 * n * layout.NEW, n),
        floats(work + 8 * n * layout.LAST, n),
        floats(work, n),
        floats(row_of(table, n, alpha.FOUND), n),
    )
    for i in range(nq):
        last[i] = found[i]
    for i in range(nq + ns, n):
        last[i] = found[i]
        new[i] = y[i] + 0.5 * h * (rate[i] + last[i])
    if m > 0:
        loops = ints(context, N_LOOP_CONTEXT)
        cut = chord_q(loops)
        for k in range(cut.shape[0]):
            new[n - cut.shape[0] + k] = cut[k]
        Y, kept, masked, opening = (
            rows(loops),
            kept_rows(loops),
            masks(loops),
            floats(row_of(table, n, alpha.NEW_OPENING), m),
        )
        rates_only = ints(table[alpha.NONHOLONOMIC], m)
        for r in range(kept.shape[0]):
            k = kept[r]
            if k >= 0:
                opening[k] = Y[r, row.VELOCITY] if masked[k] == 0 and rates_only[k] == 0 else 0.0


@kernel
def look_at_end(n, t, usual, count, work, monitor, rhs, context):
    """Evaluate the pivot at the new state, and leave it in the monitor. Returns a status.

    `usual` is the largest pivot of the steps before. Pivots of iterates do not count: far away they may have
    any size.
    """
    monitor[watch.STEP_PIVOT], monitor[watch.LARGEST_PIVOT] = 1e300, usual
    count[layout.EVALUATIONS] += 1
    return call_rhs(rhs, t, work + 8 * n * layout.NEW, work + 8 * n * layout.OLD, context)


@kernel
def leave_multipliers(table, n, context):
    """Write the multipliers of the step where `loop_rhs` leaves its own."""
    nq, ns, m, size, nu = sizes(table)
    x, multipliers = (
        solutions(ints(context, N_LOOP_CONTEXT)),
        floats(row_of(table, n, alpha.NEW_MULTIPLIERS), m),
    )
    for k in range(m):
        x[nu + k] = -multipliers[k]


@kernel
def accept(table, n, h, work):
    """Update the memory of the method for the next step."""
    nq, ns, m, size, nu = sizes(table)
    a, scaled, a_new = (
        floats(row_of(table, n, alpha.AUXILIARY), ns),
        floats(row_of(table, n, alpha.SCALED), ns),
        floats(row_of(table, n, alpha.NEW_AUXILIARY), ns),
    )
    slope = floats(row_of(table, n, alpha.SLOPE), ns)
    start, old, new = (
        floats(row_of(table, n, alpha.MULTIPLIERS), m),
        floats(row_of(table, n, alpha.LAST_MULTIPLIERS), m),
        floats(row_of(table, n, alpha.NEW_MULTIPLIERS), m),
    )
    for i in range(ns):
        slope[i] = (a_new[i] - scaled[i]) / h
        a[i] = a_new[i]
    true, true_new, true_slope = (
        floats(row_of(table, n, alpha.TRUE_RATES), nu),
        floats(row_of(table, n, alpha.NEW_TRUE_RATES), nu),
        floats(row_of(table, n, alpha.TRUE_SLOPE), nu),
    )
    for j in range(nu):
        true_slope[j] = (true_new[j] - true[j]) / h
        true[j] = true_new[j]
    opening, opened = (
        floats(row_of(table, n, alpha.OPENING), m),
        floats(row_of(table, n, alpha.NEW_OPENING), m),
    )
    for k in range(m):
        old[k] = start[k] = new[k]
        opening[k] = opened[k]
