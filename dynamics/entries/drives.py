# mypy: ignore-errors
"""Entry points of inverse dynamics of closed chains: given accelerations, and the loads of the drives that make them."""

import numpy as np

from treemech.kinematics.kernel.language import floats, floats2, ints
from treemech.kinematics.kernel.status import NOT_CONVERGED, OK, SIGNAL_FAILED
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.views import counts
from treemech.kinematics.tree.sweep import signals

from ..equations.drives import least, triangular
from .begin import prescribe_accelerations

_GAP, _RATE = 1e-8, 1e-6  # of constraints, relative to accelerations and speeds


def given_accelerations(t, given, ud, context):
    """Copy accelerations; those of prescribed speeds are those of their signals at t."""
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    failed = signals(plan, t)
    if failed >= 0:
        return np.int32(SIGNAL_FAILED + 16 * failed)
    x, to = floats(given, nu), floats(ud, nu)
    for k in range(nu):
        to[k] = x[k]
    prescribe_accelerations(plan, to)
    return np.int32(OK)


def consistent(n, m, u, ud, velocity, bias):
    """Return OK if rates and accelerations fit the constraints: P u + P0 (m) and P ud + P00 (m) vanish."""
    x, y, speed, rate = floats(u, n), floats(ud, n), 1.0, 1.0
    for k in range(n):
        speed, rate = max(speed, 1.0 + abs(x[k])), max(rate, 1.0 + abs(y[k]))
    v, a = floats(velocity, m), floats(bias, m)
    for k in range(m):
        if not (abs(v[k]) <= _RATE * speed and abs(a[k]) <= _GAP * rate):
            return np.int32(NOT_CONVERGED)
    return np.int32(OK)


def drive_loads(n, m, k, P, S, roots, required, loads, room):
    """Compute the smallest loads (k) on n speeds that with multipliers of P (m, n) give `required` (n).

    S (k, n): effect of every drive on the speeds. Smallest means the least sum of squares of loads / roots. `room` is
    workspace (`room_of_drives`). Returns NOT_CONVERGED where a rank is doubtful or the drives do not move all
    freedoms: singular values decide then.
    """
    at = room
    rows, at = floats2(at, m, n), at + 8 * m * n
    turned, at = floats2(at, k + 1, n), at + 8 * (k + 1) * n
    free, at = floats2(at, n, k), at + 8 * n * k
    factor, at = floats(at, n), at + 8 * n
    diagonal, at = floats(at, n), at + 8 * n
    right, at = floats(at, n), at + 8 * n
    y, at = floats(at, k), at + 8 * k
    order = ints(at, max(m, n))
    given, drives, root, out = floats2(P, m, n), floats2(S, k, n), floats(roots, k), floats(loads, k)
    for i in range(m):
        for j in range(n):
            rows[i, j] = given[i, j]
    wanted = floats(required, n)
    for j in range(n):
        turned[k, j] = wanted[j]
        for i in range(k):
            turned[i, j] = root[i] * drives[i, j]
    rank = triangular(rows, m, n, order, factor, diagonal, turned, k + 1)
    if rank < 0 or n - rank > k:
        return np.int32(NOT_CONVERGED)
    left = n - rank
    for j in range(left):
        right[j] = turned[k, rank + j]
        for i in range(k):
            free[j, i] = turned[i, rank + j]
    if triangular(free, left, k, order, factor, diagonal, free, 0) != left:
        return np.int32(NOT_CONVERGED)
    least(free, left, k, order, factor, diagonal, right, y)
    for i in range(k):
        out[i] = root[i] * y[i]
    return np.int32(OK)
