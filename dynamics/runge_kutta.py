# mypy: ignore-errors
"""The integration loop: explicit Runge-Kutta with error control, compiled, the right-hand side by address.

The loop stops at every output buffer or step budget and goes on where it stood: all it knows lies in
`control`, `count` and `work`, which the caller owns. Euler parameters are brought back to length 1 after
every step and in every interpolated output (the retraction of the manifold).
"""

from math import isfinite, sqrt

import numpy as np

from treemech.kinematics.kernel import call_rhs, floats, ints, kernel
from treemech.kinematics.status import NOT_FINITE, OK, PAUSED, STEP_TOO_SMALL

from . import tableau

DOP853, DP5 = 0, 1
_EPSILON, _TINY = 2.0**-52, 2.0**-1022
# control (float64)
TIME, END, STEP, RTOL, MAX_STEP, LAST_ERROR, PREVIOUS_TIME = range(7)
N_CONTROL = 8
# count (int64)
EVALUATIONS, STEPS, REJECTED, WRITTEN, STARTED, PENDING = range(6)
N_COUNT = 8
N_WORK_ROWS = 29  # rows of n doubles: 16 stages, new state, two errors, 8 of dense output, scratch
_NEW, _E5, _E3, _OLD, _F, _OUT = 16, 17, 18, 19, 20, 28


# All coefficients in one flat array, so that every kernel below exists once: where each row starts
_TABLES = (
    *tableau.DOP853_A, *tableau.DP5_A, tableau.DOP853_E5, tableau.DOP853_E3, *tableau.DOP853_D,
    tableau.DP5_E, *zip(*tableau.DP5_P, strict=True), tableau.DOP853_C, tableau.DP5_C,
)  # fmt: skip
_COEFFICIENTS = np.array([x for row in _TABLES for x in row])
_START = np.cumsum([0] + [len(row) for row in _TABLES])
_A8, _A5 = 0, 16  # first rows
_E5C, _E3C, _D8, _EC, _P5 = 23, 24, 25, 29, 30
_C8, _C5 = int(_START[34]), int(_START[35])


@kernel
def _weigh(out, n, K, row):
    """out = sum_j coefficients[row, j] K[j]"""
    start, count = _START[row], _START[row + 1] - _START[row]
    for i in range(n):
        out[i] = 0.0
    for j in range(count):
        a = _COEFFICIENTS[start + j]
        if a != 0.0:
            k = floats(K + 8 * n * j, n)
            for i in range(n):
                out[i] += a * k[i]


@kernel
def _combine(out, n, y, h, K, row):
    """out = y + h sum_j coefficients[row, j] K[j]"""
    _weigh(out, n, K, row)
    for i in range(n):
        out[i] = y[i] + h * out[i]


@kernel
def _copy(address, row, n, y):
    """Write y to row `row` of the array at an address."""
    to = floats(address + 8 * n * row, n)
    for i in range(n):
        to[i] = y[i]


@kernel
def _square_norm(e, a, b, n, rtol, atol):
    s = 0.0
    for i in range(n):
        x = e[i] / (atol[i] + max(abs(a[i]), abs(b[i])) * rtol)
        s += x * x
    return s


@kernel
def _retract(y, rates, euler, n_euler):
    """Euler parameters of length 1; the rates are linear in them and follow."""
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
def _first_step(n, t, y, end, rtol, atol, max_step, order, work, rhs, context):
    """Starting step size (Hairer, Norsett, Wanner II.4), as scipy chooses it; one evaluation."""
    span = abs(end - t)
    direction = 1.0 if end >= t else -1.0
    K, new, f1 = floats(work, n), floats(work + 8 * _NEW * n, n), floats(work + 8 * _E5 * n, n)
    d0 = sqrt(_square_norm(y, y, y, n, rtol, atol) / n)
    d1 = sqrt(_square_norm(K, y, y, n, rtol, atol) / n)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h0 = min(h0, span)
    for i in range(n):
        new[i] = y[i] + direction * h0 * K[i]
    status = call_rhs(rhs, t + direction * h0, work + 8 * _NEW * n, work + 8 * _E5 * n, context)
    for i in range(n):
        new[i] = f1[i] - K[i]
    d2 = sqrt(_square_norm(new, y, y, n, rtol, atol) / n) / h0
    if d1 <= 1e-15 and d2 <= 1e-15:
        h1 = max(1e-6, h0 * 1e-3)
    else:
        h1 = (0.01 / max(d1, d2)) ** (1.0 / order)
    return status, direction * min(min(100.0 * h0, h1), min(span, max_step))


@kernel
def _dense(method, n, t, h, y, work, rhs, context):
    """Coefficients of the interpolant: order 7 with three more evaluations (DOP853), order 4 (DP5)."""
    if method == DP5:
        for r in range(4):
            f = floats(work + 8 * n * (_F + r), n)
            _weigh(f, n, work, _P5 + r)
            for i in range(n):
                f[i] *= h
        return np.int32(OK)
    scratch = floats(work + 8 * n * _OUT, n)
    for s in range(13, 16):
        _combine(scratch, n, y, h, work, _A8 + s)
        time = t + _COEFFICIENTS[_C8 + s] * h
        status = call_rhs(rhs, time, work + 8 * n * _OUT, work + 8 * n * s, context)
        if status != OK:
            return status
    first, last, new = floats(work, n), floats(work + 8 * n * 12, n), floats(work + 8 * n * _NEW, n)
    f0, f1 = floats(work + 8 * n * _F, n), floats(work + 8 * n * (_F + 1), n)
    f2 = floats(work + 8 * n * (_F + 2), n)
    for i in range(n):
        d = new[i] - y[i]
        f0[i] = d
        f1[i] = h * first[i] - d
        f2[i] = 2.0 * d - h * (last[i] + first[i])
    for r in range(4):
        f = floats(work + 8 * n * (_F + 3 + r), n)
        _weigh(f, n, work, _D8 + r)
        for i in range(n):
            f[i] *= h
    return np.int32(OK)


@kernel
def _interpolate(method, n, x, y, F, out):
    """State at the fraction x of the step, from the coefficients at the address F."""
    for i in range(n):
        out[i] = 0.0
    for r in range(6 if method == DOP853 else 3, -1, -1):
        f = floats(F + 8 * n * r, n)
        factor = 1.0 - x if method == DOP853 and r % 2 == 1 else x
        for i in range(n):
            out[i] = (out[i] + f[i]) * factor
    for i in range(n):
        out[i] += y[i]


@kernel
def _error(method, n, h, y, work, rtol, atol):
    """Error of the step relative to the tolerance."""
    new, e5 = floats(work + 8 * n * _NEW, n), floats(work + 8 * n * _E5, n)
    row = (_EC if method == DP5 else _E5C) + 0 * n  # not a literal: one instance of _weigh
    _weigh(e5, n, work, row)
    if method == DP5:
        return abs(h) * sqrt(_square_norm(e5, y, new, n, rtol, atol) / n)
    e3 = floats(work + 8 * n * _E3, n)
    _weigh(e3, n, work, row + _E3C - _E5C)
    n5 = _square_norm(e5, y, new, n, rtol, atol)
    n3 = _square_norm(e3, y, new, n, rtol, atol)
    if n5 == 0.0 and n3 == 0.0:
        return 0.0
    return abs(h) * n5 / sqrt((n5 + 0.01 * n3) * n)


def integrate(
    method, rhs, context, n, control_, count_, y_, atol_, work, n_euler, euler_, n_out, t_out_, y_out_,
    capacity, t_step_, y_step_, dense_, budget,
):  # fmt: skip
    """Integrate y' = rhs(t, y) from control[TIME] to control[END]; a status.

    With t_out: states at those times. Without: every accepted step goes to t_step, y_step (and, if dense_ is
    not 0, the 8 n coefficients of its interpolant). PAUSED when the buffer or the budget of steps is used up.
    """
    control, count = floats(control_, N_CONTROL), ints(count_, N_COUNT)
    y, atol = floats(y_, n), floats(atol_, n)
    euler = ints(euler_, n_euler)
    t_out, t_step = floats(t_out_, n_out), floats(t_step_, capacity)
    rtol, end, max_step = control[RTOL], control[END], control[MAX_STEP]
    stages, order = (12, 8) if method == DOP853 else (6, 5)
    table, nodes = (_A8, _C8) if method == DOP853 else (_A5, _C5)
    K, last, new = floats(work, n), floats(work + 8 * n * stages, n), floats(work + 8 * n * _NEW, n)
    e5, out = floats(work + 8 * n * _E5, n), floats(work + 8 * n * _OUT, n)
    t = control[TIME]
    if count[STARTED] == 0:
        _retract(y, K, euler, n_euler)
        status = call_rhs(rhs, t, y_, work, context)
        if status != OK:
            return status
        count[EVALUATIONS] += 2
        for i in range(n):
            if not isfinite(K[i]):
                control[LAST_ERROR] = K[i]
                return np.int32(NOT_FINITE + 16 * i)
        if control[STEP] == 0.0 and end != t:
            status, control[STEP] = _first_step(n, t, y, end, rtol, atol, max_step, order, work, rhs, context)
            if status != OK:
                return status
        count[STARTED] = 1
        while count[WRITTEN] < n_out and t_out[count[WRITTEN]] == t:
            _copy(y_out_, count[WRITTEN], n, y)
            count[WRITTEN] += 1
    direction = 1.0 if end >= t else -1.0
    stored = 0
    tried = 0
    while (end - t) * direction > 0.0:
        if tried >= budget or (n_out == 0 and stored >= capacity):
            count[PENDING] = stored
            return np.int32(PAUSED)
        tried += 1
        rejected = False
        h = control[STEP]
        while True:
            smallest = 10.0 * max(_EPSILON * abs(t), _TINY)
            if abs(h) > max_step:
                h = direction * max_step
            if abs(h) < smallest:
                if rejected:
                    control[STEP] = h
                    count[PENDING] = stored
                    return np.int32(STEP_TOO_SMALL)
                h = direction * smallest
            t_new = t + h
            if (t_new - end) * direction > 0.0:
                t_new = end
            h = t_new - t
            for s in range(1, stages + 1):
                _combine(new, n, y, h, work, table + s)
                c = _COEFFICIENTS[nodes + s]
                status = call_rhs(rhs, t + c * h, work + 8 * _NEW * n, work + 8 * s * n, context)
                if status != OK:
                    control[TIME] = t
                    control[STEP] = h
                    control[PREVIOUS_TIME] = t + c * h
                    count[PENDING] = stored
                    return status
            count[EVALUATIONS] += stages
            error = _error(method, n, h, y, work, rtol, atol)
            control[LAST_ERROR] = error
            if error < 1.0:
                factor = 10.0 if error == 0.0 else min(10.0, 0.9 * error ** (-1.0 / order))
                if rejected:
                    factor = min(1.0, factor)
                break
            rejected = True
            count[REJECTED] += 1
            shrink = 0.9 * error ** (-1.0 / order)
            h *= shrink if shrink > 0.2 else 0.2  # also when the error is not a number
        count[STEPS] += 1
        wanted = n_out > 0 and count[WRITTEN] < n_out and (t_out[count[WRITTEN]] - t_new) * direction < 0.0
        if wanted or dense_ != 0:
            status = _dense(method, n, t, h, y, work, rhs, context)
            if status != OK:
                count[PENDING] = stored
                return status
            if method == DOP853:
                count[EVALUATIONS] += 3
            while wanted:
                _interpolate(method, n, (t_out[count[WRITTEN]] - t) / h, y, work + 8 * n * _F, out)
                _retract(out, e5, euler, n_euler)
                _copy(y_out_, count[WRITTEN], n, out)
                count[WRITTEN] += 1
                wanted = count[WRITTEN] < n_out and (t_out[count[WRITTEN]] - t_new) * direction < 0.0
        if dense_ != 0:
            _copy(dense_, 8 * stored, n, y)
            for r in range(7):
                _copy(dense_, 8 * stored + 1 + r, n, floats(work + 8 * n * (_F + r), n))
        _retract(new, last, euler, n_euler)
        for i in range(n):
            y[i] = new[i]
            K[i] = last[i]
        control[PREVIOUS_TIME] = t
        t = t_new
        control[TIME] = t
        control[STEP] = h * factor
        while count[WRITTEN] < n_out and t_out[count[WRITTEN]] == t:
            _copy(y_out_, count[WRITTEN], n, y)
            count[WRITTEN] += 1
        if n_out == 0:
            _copy(y_step_, stored, n, y)
            t_step[stored] = t
            stored += 1
    count[PENDING] = stored
    return np.int32(OK)
