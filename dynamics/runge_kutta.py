# mypy: ignore-errors
"""The integration loop: explicit Runge-Kutta with error control, compiled, the right-hand side by address.

The loop stops at every output buffer or step budget and goes on where it stood: all it knows lies in
`control`, `count` and `work`, which the caller owns. Euler parameters are brought back to length 1 after
every step and in every interpolated output (the retraction of the manifold); with chords the whole state is
brought back onto the constraints.
"""

from math import isfinite, sqrt

import numpy as np

from treemech.kinematics.kernel import call_rhs, floats, ints, kernel
from treemech.kinematics.status import (
    CHAIN_OPEN,
    CHORD_SWITCHED,
    NOT_FINITE,
    OK,
    PAUSED,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
)

from . import tableau
from .loop_plan import (
    FRESH,
    LARGEST_PIVOT,
    LAST_PIVOT,
    MOST_PASSED,
    N_MONITOR,
    N_PASSED,
    NEAR,
    PARTITIONED,
    PASSED,
    SPIN,
    STAGE_PIVOTS,
    STAGED,
    START_PIVOT,
    STEP_PIVOT,
    STEP_ROW,
)

DOP853, DP5 = 0, 1
_EPSILON, _TINY = 2.0**-52, 2.0**-1022
# control (float64)
TIME, END, STEP, RTOL, MAX_STEP, LAST_ERROR, PREVIOUS_TIME, USUAL_STEP, SWITCHED, ACCEPTED_ERROR = range(10)
N_CONTROL = 10
# count (int64)
EVALUATIONS, STEPS, REJECTED, WRITTEN, STARTED, PENDING, CONTROLLED, SINGULAR = range(8)
N_COUNT = 8
# hooks (int64): entries that project a state and an error, the address of the monitor, rank if rows are selected,
# whether to stop at a singular position, the entry that says which chord switches
PROJECT, TANGENT, MONITOR, RANK, STOP, SWITCH = range(6)
N_HOOKS = 6
# Part of the largest multiplier pivot, which falls with the square of the distance to a singular position, that is
# next to it; part of the usual step below which a step near it is given up.
_BESIDE, _GIVEN_UP = 1e-6, 1e-5
_REGARD = 0.05  # exponent of the error of the step before in the size of the next one, with chords
_INSTANT = 1e-9  # part of the usual step within which the time of switching is found
_TURN = 1.5  # [rad] no hinge of a closed chain turns more in a step, else singular positions could be jumped
# work: rows of n doubles: 16 stages, new state, two errors, 8 of dense output, scratch; with chords room for the
# stages of another step
N_WORK_ROWS, N_LOOP_WORK_ROWS = 29, 46
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
def _first_step(n, m, t, y, end, rtol, atol, max_step, order, work, rhs, context):
    """Starting step size (Hairer, Norsett, Wanner II.4), as scipy chooses it; one evaluation."""
    span = abs(end - t)
    direction = 1.0 if end >= t else -1.0
    K, new, f1 = floats(work, n), floats(work + 8 * _NEW * n, n), floats(work + 8 * _E5 * n, n)
    d0 = sqrt(_square_norm(y, y, y, m, rtol, atol) / m)
    d1 = sqrt(_square_norm(K, y, y, m, rtol, atol) / m)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h0 = min(h0, span)
    for i in range(n):
        new[i] = y[i] + direction * h0 * K[i]
    status = call_rhs(rhs, t + direction * h0, work + 8 * _NEW * n, work + 8 * _E5 * n, context)
    for i in range(n):
        new[i] = f1[i] - K[i]
    d2 = sqrt(_square_norm(new, y, y, m, rtol, atol) / m) / h0
    if d1 <= 1e-15 and d2 <= 1e-15:
        h1 = max(1e-6, h0 * 1e-3)
    else:
        h1 = (0.01 / max(d1, d2)) ** (1.0 / order)
    return status, direction * min(min(100.0 * h0, h1), min(span, max_step))


@kernel
def _stages(method, n, t, h, y, work, control, monitor, rhs, context):
    """The stages of a step from y, whose rate is the first of them, and the new state; a status."""
    stages, table, nodes = (12, _A8, _C8) if method == DOP853 else (6, _A5, _C5)
    new = floats(work + 8 * n * _NEW, n)
    for s in range(1, stages + 1):
        _combine(new, n, y, h, work, table + s)
        control[PREVIOUS_TIME] = t + _COEFFICIENTS[nodes + s] * h
        status = call_rhs(rhs, control[PREVIOUS_TIME], work + 8 * _NEW * n, work + 8 * s * n, context)
        if status != OK:
            return status
        if monitor.shape[0] > 0:
            monitor[STAGE_PIVOTS + s] = monitor[LAST_PIVOT]
    return np.int32(OK)


@kernel
def _passes(method, t, h, monitor):
    """Note a singular position within the step, if there is one: where the parabola through the three smallest pivots comes to zero."""
    stages, nodes = (11, _C8) if method == DOP853 else (5, _C5)  # the last but one stands at the end as well
    a, b, c = 0, -1, -1
    for s in range(1, stages + 1):
        p = monitor[STAGE_PIVOTS + s]
        if p < monitor[STAGE_PIVOTS + a]:
            a, b, c = s, a, b
        elif b < 0 or p < monitor[STAGE_PIVOTS + b]:
            b, c = s, b
        elif c < 0 or p < monitor[STAGE_PIVOTS + c]:
            c = s
    x, pa = _COEFFICIENTS[nodes + a], monitor[STAGE_PIVOTS + a]
    xb, xc = _COEFFICIENTS[nodes + b] - x, _COEFFICIENTS[nodes + c] - x
    slope_b, slope_c = (monitor[STAGE_PIVOTS + b] - pa) / xb, (monitor[STAGE_PIVOTS + c] - pa) / xc
    bend = (slope_b - slope_c) / (xb - xc)
    if not bend > 0.0:
        return False
    slope = slope_b - bend * xb
    x -= 0.5 * slope / bend
    least = pa - 0.25 * slope * slope / bend
    if not (0.0 <= x < 1.0 and least < 0.1 * monitor[STAGE_PIVOTS + c]):
        return False
    k = int(monitor[N_PASSED])
    if k < MOST_PASSED:
        monitor[PASSED + 2 * k] = t + x * h
        monitor[PASSED + 2 * k + 1] = monitor[STEP_ROW]
    monitor[N_PASSED] += 1.0
    return True


@kernel
def _reach(method, n, t, h, y, work, control, monitor, rhs, project, context):
    """The state a shorter step leads to, projected, in the room for outputs; a status.

    Near a singular position an interpolant is not good enough: off by more than the distance to the other branch, its
    projection could end there; nor where the noise of stages off the manifold spoils it.
    """
    other = work + 8 * n * N_WORK_ROWS
    _copy(other, 0, n, floats(work, n))
    status = _stages(method, n, t, h, y, other, control, monitor, rhs, context)
    if status == OK:
        _copy(work, _OUT, n, floats(other + 8 * n * _NEW, n))
        status = call_rhs(project, t + h, work + 8 * n * _OUT, -1, context)
    return status


@kernel
def _fits(n, m, t, work, rtol, atol, project, context):
    """Project an interpolated output; whether that took no more than ten times the tolerance."""
    out, raw = floats(work + 8 * n * _OUT, n), floats(work + 8 * n * _OLD, n)
    _copy(work, _OLD, n, out)
    if call_rhs(project, t, work + 8 * n * _OUT, -1, context) != OK:
        return False
    for i in range(m):
        if not abs(out[i] - raw[i]) < 10.0 * (atol[i] + rtol * abs(raw[i])):
            return False
    return True


@kernel
def _settle(n, t, work, stages, reach, fresh, rank, monitor, rhs, project, context):
    """Bring the new state onto the constraints and evaluate it there.

    CHAIN_OPEN if it is not to be accepted: it does not close, or the projection moves it by more than `reach`.
    """
    new, raw = floats(work + 8 * n * _NEW, n), floats(work + 8 * n * _OLD, n)
    _copy(work, _OLD, n, new)
    monitor[FRESH], monitor[STAGED] = 1.0 if fresh else 0.0, 0.0
    status = call_rhs(project, t, work + 8 * n * _NEW, rank, context)
    monitor[FRESH] = 0.0
    if status != OK:
        return status
    for i in range(n):
        if not abs(new[i] - raw[i]) < reach * (1.0 + abs(raw[i])):
            return np.int32(CHAIN_OPEN)
    status = call_rhs(rhs, t, work + 8 * n * _NEW, work + 8 * n * stages, context)
    monitor[START_PIVOT] = monitor[LAST_PIVOT]
    return status


@kernel
def _switches(n, t, h, work, control, switch, context):
    """The chord that switches within the step, or -1; also -1 where the step is as short as the time of switching."""
    out = floats(work + 8 * n * _OUT, 2)
    call_rhs(switch, t, work + 8 * n * _NEW, work + 8 * n * _OUT, context)
    control[SWITCHED] = out[1] if abs(h) < _INSTANT * control[USUAL_STEP] else -1.0
    return -1 if control[SWITCHED] >= 0.0 else int(out[1])


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
def _errors(method, n, work):
    """The error estimates of a step, divided by its size."""
    row = (_EC if method == DP5 else _E5C) + 0 * n  # not a literal: one instance of _weigh
    _weigh(floats(work + 8 * n * _E5, n), n, work, row)
    if method == DOP853:
        _weigh(floats(work + 8 * n * _E3, n), n, work, row + _E3C - _E5C)


@kernel
def _norm(method, n, m, h, y, work, rtol, atol):
    """Error of the first m components relative to the tolerance."""
    new, e5 = floats(work + 8 * n * _NEW, n), floats(work + 8 * n * _E5, n)
    n5 = _square_norm(e5, y, new, m, rtol, atol)
    if method == DP5:
        return abs(h) * sqrt(n5 / m)
    n3 = _square_norm(floats(work + 8 * n * _E3, n), y, new, m, rtol, atol)
    if n5 == 0.0 and n3 == 0.0:
        return 0.0
    return abs(h) * n5 / sqrt((n5 + 0.01 * n3) * m)


def integrate(
    method, rhs, context, n, control_, count_, y_, atol_, work, n_euler, euler_, n_out, t_out_, y_out_,
    capacity, t_step_, y_step_, dense_, budget, hooks_,
):  # fmt: skip
    """Integrate y' = rhs(t, y) from control[TIME] to control[END]; a status.

    With t_out: states at those times. Without: every accepted step goes to t_step, y_step (and, if dense_ is
    not 0, the 8 n coefficients of its interpolant). PAUSED when the buffer or the budget of steps is used up.

    With chords (hooks): every accepted step and output is projected onto the constraints. Near a singular
    position, where the multiplier pivot falls below 1e-2 of its largest, only the tangential part of the error
    counts, and if that is too large all stages are projected: off the manifold by e, at a distance d from the position,
    they may be wrong by e / d, and the step would shrink until it stands there. No step ends next to the position, nor does the
    projection move its end by more than a part of the distance: so the branch is kept. Positions passed are noted; a
    step that shrinks all the same ends the integration.
    """
    control, count = floats(control_, N_CONTROL), ints(count_, N_COUNT)
    y, atol = floats(y_, n), floats(atol_, n)
    euler = ints(euler_, n_euler)
    t_out, t_step = floats(t_out_, n_out), floats(t_step_, capacity)
    rtol, end, max_step = control[RTOL], control[END], control[MAX_STEP]
    stages, order = (12, 8) if method == DOP853 else (6, 5)
    K, last, new = floats(work, n), floats(work + 8 * n * stages, n), floats(work + 8 * n * _NEW, n)
    e5, out = floats(work + 8 * n * _E5, n), floats(work + 8 * n * _OUT, n)
    m = count[CONTROLLED]
    hooks = ints(hooks_, N_HOOKS if hooks_ != 0 else 0)
    project = hooks[PROJECT] if hooks_ != 0 else 0
    tangent = hooks[TANGENT] if hooks_ != 0 else 0
    rank = hooks[RANK] if hooks_ != 0 else 0
    monitor = floats(hooks[MONITOR] if hooks_ != 0 else 0, N_MONITOR if hooks_ != 0 else 0)
    t = control[TIME]
    if count[STARTED] == 0:
        _retract(y, K, euler, n_euler)
        status = call_rhs(rhs, t, y_, work, context)
        if status != OK:
            return status
        count[EVALUATIONS] += 2
        if project != 0:
            monitor[START_PIVOT] = monitor[LAST_PIVOT]
        for i in range(n):
            if not isfinite(K[i]):
                control[LAST_ERROR] = K[i]
                return np.int32(NOT_FINITE + 16 * i)
        if control[STEP] == 0.0 and end != t:
            status, control[STEP] = _first_step(
                n, m, t, y, end, rtol, atol, max_step, order, work, rhs, context
            )
            if status != OK:
                return status
        count[STARTED] = 1
        if control[USUAL_STEP] == 0.0:
            control[USUAL_STEP] = abs(control[STEP])
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
        hops, hits = 0, 0
        staged = project != 0 and (
            monitor[PARTITIONED] > 0.0 or monitor[START_PIVOT] < monitor[NEAR] * monitor[LARGEST_PIVOT]
        )
        if project != 0:
            monitor[STAGE_PIVOTS] = monitor[START_PIVOT]
        h = control[STEP]
        while True:
            smallest = 10.0 * max(_EPSILON * abs(t), _TINY)
            most = max_step
            if project != 0 and monitor[SPIN] * most > _TURN:
                most = _TURN / monitor[SPIN]
            if abs(h) > most and hops == 0:
                h = direction * most
            if project != 0:
                monitor[STEP_PIVOT] = 1e300
                monitor[STAGED] = 1.0 if staged else 0.0
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
            status = _stages(method, n, t, h, y, work, control, monitor, rhs, context)
            if status != OK and status != CHAIN_OPEN:
                control[TIME] = t
                control[STEP] = h
                count[PENDING] = stored
                return status
            count[EVALUATIONS] += stages
            _errors(method, n, work)
            singular = project != 0 and monitor[STEP_PIVOT] < monitor[NEAR] * monitor[LARGEST_PIVOT]
            if singular and monitor[STEP_PIVOT] < _BESIDE * monitor[LARGEST_PIVOT] and hits < 6:
                hits += 1
                count[REJECTED] += 1
                h *= 0.93
                continue
            normal = 0.0
            if singular:
                count[SINGULAR] += 1
                # removed by the projection, but for its square
                normal = 3.0 * sqrt(rtol) * _norm(method, n, m, h, y, work, rtol, atol)
                call_rhs(tangent, t_new, work + 8 * n * _NEW, work + 8 * n * _E5, context)
                if method == DOP853:
                    call_rhs(tangent, t_new, work + 8 * n * _NEW, work + 8 * n * _E3, context)
            error = _norm(method, n, m, h, y, work, rtol, atol)
            if not normal <= error:
                error = normal
            control[LAST_ERROR] = error
            if status == CHAIN_OPEN:
                error = 1e30
            if singular and not staged and not error < 1.0:
                staged = True
                continue
            if error < 1.0 and project != 0:
                reach = 1e300
                if singular:
                    reach = 0.5 * sqrt(monitor[LAST_PIVOT] / monitor[LARGEST_PIVOT])
                    if reach * reach < 0.25 * _BESIDE:
                        if (
                            hops < 8 and t_new != end
                        ):  # end before it, or, where steps are too short, beyond it
                            hops += 1
                            count[REJECTED] += 1
                            far = monitor[START_PIVOT] > 16.0 * _BESIDE * monitor[LARGEST_PIVOT]
                            h *= 0.7 if far else 1.4
                            continue
                        reach = 1e300
                status = _settle(
                    n, t_new, work, stages, reach, not staged, rank, monitor, rhs, project, context
                )
                count[EVALUATIONS] += 2
                if status == CHAIN_OPEN:
                    error = 2.0
                elif status != OK:
                    count[PENDING] = stored
                    return status
                elif (
                    hooks[SWITCH] != 0 and _switches(n, t_new, h, work, control, hooks[SWITCH], context) >= 0
                ):
                    rejected = True
                    count[REJECTED] += 1
                    h *= 0.5
                    continue
                elif dense_ != 0 and not staged:
                    status = _dense(method, n, t, h, y, work, rhs, context)
                    _interpolate(method, n, 0.5, y, work + 8 * n * _F, out)
                    if status != OK or not _fits(n, m, t + 0.5 * h, work, rtol, atol, project, context):
                        staged = True  # noise of stages off the manifold would spoil the interpolant
                        continue
            if error < 1.0:
                factor = 10.0 if error == 0.0 else min(10.0, 0.9 * error ** (-1.0 / order))
                if project != 0:
                    # with regard to the error before: chains with one freedom meet zeros of the estimate more often
                    error = max(error, 1e-4)
                    before = control[ACCEPTED_ERROR] if control[ACCEPTED_ERROR] > 0.0 else error
                    factor = min(10.0, 0.9 * error ** (0.75 * _REGARD - 1.0 / order) * before**_REGARD)
                    control[ACCEPTED_ERROR] = error
                if rejected:
                    factor = min(1.0, factor)
                break
            rejected = True
            count[REJECTED] += 1
            shrink, least = 0.9 * error ** (-1.0 / order), 0.5 if singular else 0.2
            h *= shrink if shrink > least else least  # also when the error is not a number
            if (singular or status == CHAIN_OPEN) and abs(h) < _GIVEN_UP * control[USUAL_STEP]:
                control[STEP] = h
                count[PENDING] = stored
                return np.int32(SINGULAR_POSITION + 16 * int(monitor[STEP_ROW]) if singular else CHAIN_OPEN)
        count[STEPS] += 1
        if singular and _passes(method, t, h, monitor) and hooks[STOP] != 0:
            count[PENDING] = stored
            return np.int32(SINGULAR_POSITION + 16 * int(monitor[STEP_ROW]))
        usual = control[USUAL_STEP]
        if not rejected or usual == 0.0:
            control[USUAL_STEP] = abs(h) if usual == 0.0 else 0.8 * usual + 0.2 * abs(h)
        wanted = n_out > 0 and count[WRITTEN] < n_out and (t_out[count[WRITTEN]] - t_new) * direction < 0.0
        if wanted or dense_ != 0:
            status = _dense(method, n, t, h, y, work, rhs, context)
            if status != OK:
                count[PENDING] = stored
                return status
            if method == DOP853:
                count[EVALUATIONS] += 3
            while wanted:
                wish = t_out[count[WRITTEN]]
                status = OK
                if singular:
                    monitor[STAGED] = 1.0
                    status = _reach(method, n, t, wish - t, y, work, control, monitor, rhs, project, context)
                else:
                    _interpolate(method, n, (wish - t) / h, y, work + 8 * n * _F, out)
                    _retract(out, e5, euler, n_euler)
                    if project != 0 and not _fits(n, m, wish, work, rtol, atol, project, context):
                        monitor[STAGED] = 1.0
                        status = _reach(
                            method, n, t, wish - t, y, work, control, monitor, rhs, project, context
                        )
                if status != OK:
                    count[PENDING] = stored
                    return status
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
        if hooks_ != 0 and hooks[SWITCH] != 0 and control[SWITCHED] >= 0.0:
            count[PENDING] = stored
            return np.int32(CHORD_SWITCHED + 16 * int(control[SWITCHED]))
    count[PENDING] = stored
    return np.int32(OK)
