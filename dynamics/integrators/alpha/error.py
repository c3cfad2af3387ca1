# mypy: ignore-errors
"""Error of a step of generalized-alpha, and the unevenness of the motion of closed chains."""

from math import sqrt

from treemech.kinematics.kernel.language import floats, floats2, ints, kernel

from ...equations.loop_views import N_LOOP_CONTEXT, masks
from .. import layout
from ..runge_kutta_step import square_norm
from . import layout as alpha
from .state import factors, matrices, row_of, sizes, tangent
from .step import solve_newton


@kernel
def estimate(table, n, m_controlled, h, y, atol, control, count, work):
    """Return the error of the step relative to the tolerance, and leave its components in E5.

    The error follows from the time derivative of the auxiliary accelerations and its change since the step
    before. Newton's matrix filters it: slow parts are kept, the part normal to the constraints is removed,
    and fast parts are reduced to their true size. In positions, only parts that are fast by stiffness are
    reduced, not those that are fast by damping.
    """
    nq, ns, m, size, nu = sizes(table)
    G_, A_, P, M, J = matrices(table, n)
    G = floats2(G_, nu + ns, size)
    by_q, by_u, by_x = factors(control, h)
    A, right, step = (
        floats2(A_, nu, nu),
        floats(row_of(table, n, alpha.RIGHT), size),
        floats(row_of(table, n, alpha.MOVE), nu),
    )
    a, a_new = floats(row_of(table, n, alpha.SCALED), ns), floats(row_of(table, n, alpha.NEW_AUXILIARY), ns)
    slope, e, new = (
        floats(row_of(table, n, alpha.SLOPE), ns),
        floats(work + 8 * n * layout.E5, n),
        floats(work + 8 * n * layout.NEW, n),
    )
    moves = ints(table[alpha.MOVES], nu)
    for i in range(n):
        e[i] = 0.0
    for level in range(2):
        for i in range(size):
            right[i] = 0.0
        for i in range(ns):
            now = (a_new[i] - a[i]) / h
            if level == 0:
                x = control[alpha.ERROR_Q] * h * h * h * now if i < nu else 0.0
            else:
                bend = (
                    (now - slope[i]) / (0.5 * (h + control[layout.OLD_STEP]))
                    if count[layout.HAS_PAST] == 1
                    else 0.0
                )
                x = control[alpha.ERROR_U if i < nu else alpha.ERROR_X] * h * h * h * bend
            if i >= nu:
                right[i] += x
            elif moves[i] != alpha.PRESCRIBED:
                for j in range(nu):
                    right[j] += A[i, j] * x
                if level == 0:
                    for j in range(ns):
                        right[j] += by_u * G[nu + i, j] * x
        for j in range(nu):
            if moves[j] == alpha.PRESCRIBED:
                right[j] = 0.0
        solve_newton(table, n, right)
        if level == 0:
            for j in range(nu):
                step[j] = right[j]
            tangent(table, new, step, e)
        else:
            for i in range(ns):
                e[nq + i] = right[i]
    return sqrt(square_norm(e, y, new, m_controlled, control[layout.RTOL], atol) / m_controlled)


@kernel
def unevenness(table, n, h, y, work, e):
    """Compute in e how far the change of coordinates differs from that of their rates at both ends.

    Returns the largest of these differences and the largest change. The differences are of third order, and
    large if the end of the step is on another branch.
    """
    nq, ns, m, size, nu = sizes(table)
    rate, found, new = (
        floats(work, n),
        floats(row_of(table, n, alpha.FOUND), n),
        floats(work + 8 * n * layout.NEW, n),
    )
    largest, longest = 0.0, 0.0
    for i in range(nq):
        e[i] = new[i] - y[i] - 0.5 * h * (rate[i] + found[i])
        largest = max(largest, abs(e[i]))
        longest = max(longest, 0.5 * abs(h) * (abs(rate[i]) + abs(found[i])))
    return largest, longest


@kernel
def freedoms(table, context):
    """Return the number of speeds that neither are prescribed nor follow from the rows selected now."""
    nq, ns, m, size, nu = sizes(table)
    moves, masked, free = ints(table[alpha.MOVES], nu), masks(ints(context, N_LOOP_CONTEXT)), 0
    for j in range(nu):
        if moves[j] != alpha.PRESCRIBED:
            free += 1
    for k in range(masked.shape[0]):
        if masked[k] == 0:
            free -= 1
    return free
