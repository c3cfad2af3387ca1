# mypy: ignore-errors
"""One step of DOP853, Dormand-Prince 5 (DP5) or RK4: stages, error estimates, interpolant."""

from math import sqrt

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, floats2, kernel
from treemech.kinematics.kernel.status import EFFORT_NOT_FINITE, OK, POINT_LOST, REACTION_LOST

from ..equations import watch
from . import layout, tableau

DOP853, DP5, RK4 = range(3)

# All coefficients are in one flat array, so that every kernel below exists once; _START holds the first index
# of each row
_TABLES = (
    *tableau.DOP853_A, *tableau.DP5_A, tableau.DOP853_E5, tableau.DOP853_E3, *tableau.DOP853_D,
    tableau.DP5_E, *zip(*tableau.DP5_P, strict=True), tableau.DOP853_C, tableau.DP5_C,
    *tableau.RK4_A, tableau.RK4_C,
)  # fmt: skip
COEFFICIENTS = np.array([x for row in _TABLES for x in row])
_START = np.cumsum([0] + [len(row) for row in _TABLES])
_A8, _A5 = 0, 16  # first row of each table
E5C, E3C, _D8, _EC, _P5 = 23, 24, 25, 29, 30
_A4 = 36
C8, C5, C4 = (int(_START[k]) for k in (34, 35, 41))


@kernel
def weigh(out, n, K, row):
    """Compute out = sum_j coefficients[row, j] K[j]."""
    start, count = _START[row], _START[row + 1] - _START[row]
    for i in range(n):
        out[i] = 0.0
    for j in range(count):
        a = COEFFICIENTS[start + j]
        if a != 0.0:
            k = floats(K + 8 * n * j, n)
            for i in range(n):
                out[i] += a * k[i]


@kernel
def combine(out, n, y, h, K, row):
    """Compute out = y + h sum_j coefficients[row, j] K[j]."""
    weigh(out, n, K, row)
    for i in range(n):
        out[i] = y[i] + h * out[i]


@kernel
def copy(address, row, n, y):
    """Write y to row `row` of the array at an address."""
    to = floats(address + 8 * n * row, n)
    for i in range(n):
        to[i] = y[i]


@kernel
def square_norm(e, a, b, n, rtol, atol):
    """Return the sum of squares of the errors e relative to the tolerance at the states a and b."""
    s = 0.0
    for i in range(n):
        x = e[i] / (atol[i] + max(abs(a[i]), abs(b[i])) * rtol)
        s += x * x
    return s


@kernel
def retract(y, rates, euler, n_euler):
    """Scale Euler parameters to length 1; their rates are linear in them and scaled as well."""
    for j in range(n_euler):
        a = euler[j]
        s = 0.0
        for k in range(a, a + 4):
            s += y[k] * y[k]
        s = 1.0 / sqrt(s)
        for k in range(a, a + 4):
            y[k] *= s
            rates[k] *= s


@kernel
def lost(status):
    """Return whether an element found no solution at a trial state, so that a shorter step may help."""
    return status % 16 in (EFFORT_NOT_FINITE, POINT_LOST, REACTION_LOST)


@kernel
def run_stages(method, n, t, h, y, work, control, monitor, rhs, project, context):
    """Compute the stages of a step from y (the first is the rates of y) and the new state.

    Of the new state of closed chains, which is projected before its rates count, only the pivots are found, unless the error
    estimate needs its rates (DP5). Returns a status.
    """
    stages, table, nodes = (
        (12, _A8, C8) if method == DOP853 else (6, _A5, C5) if method == DP5 else (4, _A4, C4)
    )
    new = floats(work + 8 * n * layout.NEW, n)
    for s in range(1, stages + 1):
        combine(new, n, y, h, work, table + s)
        control[layout.STAGE_TIME] = t + COEFFICIENTS[nodes + s] * h
        if project != 0 and s == stages and method != DP5:
            status = call_rhs(
                project, control[layout.STAGE_TIME], work + 8 * layout.NEW * n, watch.MEASURE, context
            )
        else:
            status = call_rhs(
                rhs, control[layout.STAGE_TIME], work + 8 * layout.NEW * n, work + 8 * s * n, context
            )
        if status != OK:
            return status
        if monitor.shape[0] > 0:
            monitor[watch.STAGE_PIVOTS + s] = monitor[watch.LAST_PIVOT]
    return np.int32(OK)


@kernel
def hermite(n, h, y, last, work):
    """Write the cubic of values and rates at both ends of a step in the form of `interpolate`.

    The rates at the end are in the row `last`.
    """
    rate, F = floats(work, n), floats2(work + 8 * n * layout.DENSE, 7, n)
    new, f = floats(work + 8 * n * layout.NEW, n), floats(work + 8 * n * last, n)
    for i in range(n):
        d = new[i] - y[i]
        F[0, i] = d
        F[1, i] = h * rate[i] - d
        F[2, i] = 2.0 * d - h * (f[i] + rate[i])
        for r in range(3, 7):
            F[r, i] = 0.0


@kernel
def dense(method, n, t, h, y, work, rhs, context):
    """Compute the interpolant: order 7 with three more evaluations (DOP853), order 4 (DP5), order 3 (RK4).

    Returns a status.
    """
    if method == DP5:
        for r in range(4):
            f = floats(work + 8 * n * (layout.DENSE + r), n)
            weigh(f, n, work, _P5 + r)
            for i in range(n):
                f[i] *= h
        return np.int32(OK)
    scratch = floats(work + 8 * n * layout.OUT, n)
    for s in range(13, 16 if method == DOP853 else 13):
        combine(scratch, n, y, h, work, _A8 + s)
        time = t + COEFFICIENTS[C8 + s] * h
        status = call_rhs(rhs, time, work + 8 * n * layout.OUT, work + 8 * n * s, context)
        if status != OK:
            return status
    hermite(n, h, y, 12 if method == DOP853 else 4, work)
    for r in range(4 if method == DOP853 else 0):
        f = floats(work + 8 * n * (layout.DENSE + 3 + r), n)
        weigh(f, n, work, _D8 + r)
        for i in range(n):
            f[i] *= h
    return np.int32(OK)


@kernel
def interpolate(method, n, x, y, F, out):
    """Compute the state at the fraction x of the step from the coefficients at the address F."""
    for i in range(n):
        out[i] = 0.0
    for r in range(3 if method == DP5 else 6, -1, -1):
        f = floats(F + 8 * n * r, n)
        factor = 1.0 - x if method != DP5 and r % 2 == 1 else x
        for i in range(n):
            out[i] = (out[i] + f[i]) * factor
    for i in range(n):
        out[i] += y[i]


@kernel
def errors(method, n, work):
    """Estimate the errors of a step, divided by its size; RK4 has no estimate."""
    if method == RK4:
        return
    row = (_EC if method == DP5 else E5C) + 0 * n  # not a literal, so that `weigh` is compiled once
    weigh(floats(work + 8 * n * layout.E5, n), n, work, row)
    if method == DOP853:
        weigh(floats(work + 8 * n * layout.E3, n), n, work, row + E3C - E5C)


@kernel
def norm(method, n, m, h, y, work, rtol, atol):
    """Return the error of the first m components relative to the tolerance."""
    if method == RK4:
        return 0.0
    new, e5 = floats(work + 8 * n * layout.NEW, n), floats(work + 8 * n * layout.E5, n)
    n5 = square_norm(e5, y, new, m, rtol, atol)
    if method == DP5:
        return abs(h) * sqrt(n5 / m)
    n3 = square_norm(floats(work + 8 * n * layout.E3, n), y, new, m, rtol, atol)
    if n5 == 0.0 and n3 == 0.0:
        return 0.0
    return abs(h) * n5 / sqrt((n5 + 0.01 * n3) * m)
