# mypy: ignore-errors
"""Singular positions within an accepted step of any method.

The smallest pivot p of a multiplier is the square of a distance s from the nearest position where the
constraints lose rank, in the metric of A. Along a motion through such a position s falls to zero and rises
again in straight lines, and p is a parabola that touches zero. Near a regular position p is a parabola as
well, but with a positive minimum. So p is followed along the step:

1. Pivots at stages and at both ends, which cost nothing, tell between which times s may reach zero: only where
   both values are smaller than the slope of s times the distance.
2. There the minimum of p is approached along an interpolant of the step: where straight lines of s meet that are as steep.
3. The position is singular if s falls below what the errors of the interpolant leave of a zero.
"""

from math import sqrt

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, ints, kernel
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.views import counts

from ..equations import watch
from ..equations.loop_views import N_LOOP_CONTEXT
from . import layout
from .runge_kutta_step import C4, C5, C8, COEFFICIENTS, DOP853, DP5, RK4, retract

OTHER = 3  # a method whose stages are not examined
# Slope of s, as a part of its largest value, for each radian that a hinge turns; it is larger in few places.
# A zero is possible where the sum of two values is below _STEEPER times the steepest slope times their distance
_SLOPE, _STEEPER = 0.5, 2.5
# s counts as zero below these parts of its largest value: at least, for each unit of rtol, at most
_ZERO, _COARSE, _LARGEST_ZERO = 1e-3, 100.0, 1e-2
_TURNED = 3.0  # times the slope of s on one side of its minimum above which it is not zero on the other
_MOST = 10  # pivots to be found for one position
_STRAIGHT = 0.7  # part of the slope of s at a position above which s has no second one beside it
TURN = 1.5  # [rad] largest rotation between the ends of a chord in a step, so that s is followed


@kernel
def _sample(monitor, k, x, pivot):
    """Note sample k. Returns the number of samples."""
    monitor[watch.SAMPLE_TIMES + k], monitor[watch.SAMPLES + k] = x, sqrt(max(pivot, 0.0))
    return k + 1


@kernel
def _samples(method, h, start, end, monitor):
    """Collect the roots of the pivots along the step in the order of time. Returns their number."""
    k = 0
    if monitor[watch.BEFORE_STEP] != 0.0:
        k = _sample(monitor, k, -monitor[watch.BEFORE_STEP] / h, monitor[watch.BEFORE_PIVOT])
    k = _sample(monitor, k, 0.0, start)
    pivots = watch.STAGE_PIVOTS
    if method == DOP853:
        for s in (3, 6, 9, 10):
            k = _sample(monitor, k, COEFFICIENTS[C8 + s], monitor[pivots + s])
    elif method == DP5:
        for s in (2, 3):
            k = _sample(monitor, k, COEFFICIENTS[C5 + s], monitor[pivots + s])
    elif method == RK4:
        k = _sample(monitor, k, COEFFICIENTS[C4 + 2], monitor[pivots + 2])
    return _sample(monitor, k, 1.0, end)


@kernel
def _may_vanish(k, steepest, monitor):
    """Return whether s may be zero between the samples k and k + 1."""
    x, s = watch.SAMPLE_TIMES + k, watch.SAMPLES + k
    way = monitor[x + 1] - monitor[x]
    return monitor[x + 1] > 0.0 and monitor[s] + monitor[s + 1] < _STEEPER * steepest * way


@kernel
def _slope(k, sign, monitor):
    """Return how steeply s rises from sample k to the next (sign 1), or falls if it is zero between them (-1)."""
    x, s = watch.SAMPLE_TIMES + k, watch.SAMPLES + k
    return (monitor[s + 1] - sign * monitor[s]) / (monitor[x + 1] - monitor[x])


@kernel
def _kink(k, samples, monitor):
    """Return how far the slope of s differs from those beside, as a part of it, if s is zero between samples k and k + 1."""
    across, beside, count = _slope(k, -1.0, monitor), 0.0, 0
    if k > 0:
        beside, count = beside - _slope(k - 1, 1.0, monitor), count + 1
    if k + 2 < samples:
        beside, count = beside + _slope(k + 1, 1.0, monitor), count + 1
    return abs(across - beside / count) / across if count > 0 else 0.0


@kernel
def _goes_on(k, found, monitor):
    """Return whether s goes on straight between the samples k and k + 1, beside the two where it was found to be zero."""
    return abs(_slope(k, 1.0, monitor)) > _STRAIGHT * _slope(found, -1.0, monitor)


@kernel
def suspects(method, h, start, end, monitor):
    """Return the number of samples if the step may contain a singular position, else 0, and the slope of s.

    start, end: pivots at both ends of the step.
    """
    count = _samples(method, h, start, end, monitor)
    steepest = _SLOPE * monitor[watch.SPIN] * abs(h) * sqrt(monitor[watch.LARGEST_PIVOT])
    for k in range(count - 1):
        x, s = watch.SAMPLE_TIMES + k, watch.SAMPLES + k
        steepest = max(steepest, abs(monitor[s + 1] - monitor[s]) / (monitor[x + 1] - monitor[x]))
    for k in range(count - 1):
        if _may_vanish(k, steepest, monitor):
            return count, steepest
    return 0, steepest


@kernel
def _within(n, x, h, y, last, work, context, out):
    """Compute the state at the part x of the step, from both of its ends alone.

    Rates of stages are no good next to a singular position. Coordinates whose rates are speeds have a quintic
    through values, rates and accelerations, all others a cubic through values and rates, which stand in the
    row `last` at the end.
    """
    rows, nq, nu = counts(ints(ints(context, N_LOOP_CONTEXT)[0], N_CONTEXT))
    new, rate, end = floats(work + 8 * n * layout.NEW, n), floats(work, n), floats(work + 8 * n * last, n)
    for i in range(n):
        d = new[i] - y[i]
        a, b = h * rate[i] - d, d - h * end[i]
        out[i] = y[i] + x * (d + (1.0 - x) * ((1.0 - x) * a + x * b))
        for shift in range(nq - nu + 1 if i < nq else 0):  # Euler parameters are more than their speeds
            j = nq + i - shift
            if nq <= j < nq + nu and rate[i] != 0.0 and rate[i] == y[j] and end[i] == new[j]:
                a, b = 0.5 * h * h * rate[j] + 2.0 * a - b, 0.5 * h * h * end[j] + 2.0 * b - a
                out[i] += x * x * (1.0 - x) * (1.0 - x) * ((1.0 - x) * a + x * b)
                break


@kernel
def _pivot(n, t, h, x, y, last, work, n_euler, euler, count, monitor, project, context):
    """Return the pivot at the part x of the step; STEP_ROW becomes its row."""
    out, e5 = floats(work + 8 * n * layout.OUT, n), floats(work + 8 * n * layout.E5, n)
    _within(n, x, h, y, last, work, context, out)
    retract(out, e5, euler, n_euler)
    monitor[watch.STEP_PIVOT] = 1e300
    count[layout.EVALUATIONS] += 1
    if call_rhs(project, t + x * h, work + 8 * n * layout.OUT, watch.MEASURE, context) != OK:
        return 1e300
    return monitor[watch.LAST_PIVOT]


@kernel
def _line(a, b, u, v):
    """Return where the straight line through the values u at a and v at b is zero."""
    return (b * u - a * v) / (u - v)


@kernel
def _meeting(k, samples, monitor):
    """Return where s passes zero between the samples k and k + 1: inverse interpolation through their neighbours, too.

    Beyond the position s counts as negative, and a neighbour counts as long as s falls all the way.
    """
    t, s = watch.SAMPLE_TIMES + k, watch.SAMPLES + k
    a, b, u, v = monitor[t], monitor[t + 1], monitor[s], -monitor[s + 1]
    near = _line(a, b, u, v)
    x, before = near, near
    if k > 0 and monitor[s - 1] > u:
        before = _line(_line(monitor[t - 1], a, monitor[s - 1], u), near, monitor[s - 1], v)
        x = before
    if k + 2 < samples and -monitor[s + 2] < v:
        x = _line(near, _line(b, monitor[t + 2], v, -monitor[s + 2]), u, -monitor[s + 2])
        if k > 0 and monitor[s - 1] > u:
            x = _line(before, x, monitor[s - 1], -monitor[s + 2])
    return x if a < x < b and abs(x - near) < 0.1 * (b - a) else near


@kernel
def _vanishes(k, samples, n, t, h, y, last, zero, work, n_euler, euler, count, monitor, project, context):
    """Find the minimum of the pivot between the samples k and k + 1.

    Returns the part of the step where the pivot is below `zero`, or -1.
    """
    a, b = monitor[watch.SAMPLE_TIMES + k], monitor[watch.SAMPLE_TIMES + k + 1]
    p, r = monitor[watch.SAMPLES + k] ** 2, monitor[watch.SAMPLES + k + 1] ** 2
    x = _meeting(k, samples, monitor)
    least = min(1e-3 * (b - a), 0.5 * (x - a), 0.5 * (b - x))  # it may begin next to the position
    inner, q, nearer, again = (
        -1.0,
        1e300,
        0,
        False,
    )  # the best point between a and b, its pivot, moves of the higher end
    for tried in range(_MOST):
        x = min(max(x, a + least), b - least)
        found = _pivot(n, t, h, x, y, last, work, n_euler, euler, count, monitor, project, context)
        if found < zero and found <= min(p, r):
            return x
        if tried == 0:
            s, low, high = sqrt(found), sqrt(p), sqrt(r)
            flat = low + (high - low) * (x - a) / (b - a)
            if s > 0.7 * flat and min(low, high) > 0.15 * max(low, high):
                return -1.0  # s is straight from one end to the other
        if inner < 0.0 and found >= min(p, r) and not again:
            # A stage next to the position is off the interpolant by more than its own distance: take it from there too
            again = True
            if p < r and a > 0.0:
                p = _pivot(n, t, h, a, y, last, work, n_euler, euler, count, monitor, project, context)
            elif r <= p and b < 1.0:
                r = _pivot(n, t, h, b, y, last, work, n_euler, euler, count, monitor, project, context)
            lower, beside = (p, k - 1) if p < r else (r, k + 2)
            if lower < zero and lower <= found and 0 <= beside < samples:
                if lower <= monitor[watch.SAMPLES + beside] ** 2:
                    return a if p < r else b
        if inner < 0.0:
            if found >= min(p, r):  # the minimum is beside the lower end, or beyond it
                if nearer == 2 or b - a < 4.0 * least:
                    return -1.0
                nearer += 1
                if p < r:
                    b, r = x, found
                else:
                    a, p = x, found
                x = _line(a, b, sqrt(p), -sqrt(r))
                continue
            inner, q = x, found
        elif found < q:
            if x < inner:
                b, r = inner, q
            else:
                a, p = inner, q
            inner, q = x, found
        elif x < inner:
            a, p = x, found
        else:
            b, r = x, found
        s, low, high = sqrt(q), sqrt(p), sqrt(r)
        # slopes of s if it is zero before or beyond the best point, as parts of those on the other side of it
        before = (low + s) / (inner - a) * (b - inner) / (high - s)
        beyond = (high + s) / (b - inner) * (inner - a) / (low - s)
        if not min(before, beyond) <= _TURNED:
            left, right = (q - p) / (inner - a), (r - q) / (b - inner)
            bend = (right - left) / (b - a)
            slope = left + bend * (inner - a)  # of a parabola of p at the best point
            at_all = q < 2.0 * zero and q - 0.25 * slope * slope / bend < zero
            return inner if at_all else -1.0
        x = _line(a, inner, low, -s) if before < beyond else _line(inner, b, s, -high)
    return -1.0


@kernel
def passes(samples, steepest, n, t, h, y, last, work, n_euler, euler, rtol, count, monitor, project, context):
    """Find the singular positions within a step, after `suspects`, and note them.

    Returns (time, row) of the first that is new; the row is -1 if there is none. The rates at the end of the
    step are in the row `last`.
    """
    zero = min(max(_ZERO, _COARSE * rtol), _LARGEST_ZERO)
    zero *= zero * monitor[watch.LARGEST_PIVOT]
    first, first_row = 0.0, -1
    found = -1  # between this sample and the next the last position was found
    looked, ahead, row_ahead = (
        -1,
        -1.0,
        0.0,
    )  # two samples that were looked between in advance, what was found there
    for k in range(samples - 1):
        a, p, r = monitor[watch.SAMPLE_TIMES + k], monitor[watch.SAMPLES + k], monitor[watch.SAMPLES + k + 1]
        p, r, x = p * p, r * r, -1.0
        if looked == k:
            x, monitor[watch.STEP_ROW] = ahead, row_ahead
        elif _may_vanish(k, steepest, monitor) and not (0 <= found == k - 1 and _goes_on(k, found, monitor)):
            # a sample next to the position makes both of its sides suspect: first the one that fits better
            if k + 2 < samples and _may_vanish(k + 1, steepest, monitor):
                if _kink(k + 1, samples, monitor) < _kink(k, samples, monitor):
                    looked = k + 1
                    ahead = _vanishes(
                        looked, samples, n, t, h, y, last, zero, work, n_euler, euler, count, monitor, project, context
                    )  # fmt: skip
                    row_ahead = monitor[watch.STEP_ROW]
            if not (looked == k + 1 and ahead >= 0.0 and _goes_on(k, looked, monitor)):
                x = _vanishes(
                    k, samples, n, t, h, y, last, zero, work, n_euler, euler, count, monitor, project, context
                )  # fmt: skip
        if x >= 0.0:
            found = k
        if x < 0.0 and a == 0.0 and k > 0 and p < zero and p < r and p < monitor[watch.SAMPLES] ** 2:
            # the step before ended at the position: to both steps it is the end that is lower
            _pivot(n, t, h, 0.0, y, last, work, n_euler, euler, count, monitor, project, context)
            x = 0.0
        if x < 0.0:
            continue
        time = t + x * h
        same = 4.0 * sqrt(zero) * abs(h) / steepest
        if abs(time - monitor[watch.LAST_PASSED]) > same:
            row, at = monitor[watch.STEP_ROW], watch.PASSED + 2 * int(monitor[watch.N_PASSED])
            monitor[at], monitor[at + 1] = time, row
            monitor[watch.N_PASSED] += 1.0
            if first_row < 0:
                first, first_row = time, int(row)
        monitor[watch.LAST_PASSED] = time
    return first, first_row


@kernel
def full(monitor):
    """Return whether no more positions can be noted until they are taken over."""
    return monitor.shape[0] > 0 and monitor[watch.N_PASSED] > watch.MOST_PASSED - watch.MOST_SAMPLES


@kernel
def note_step(h, start, end, usual, monitor):
    """Keep the pivot at the start of an accepted step for the next one, and the largest of all ends of steps."""
    monitor[watch.BEFORE_PIVOT], monitor[watch.BEFORE_STEP] = start, h
    monitor[watch.LARGEST_PIVOT] = max(usual, end)


@kernel
def turns_too_far(spin, h, monitor):
    """Return whether a hinge turned much further in a step than its angular speed `spin` at the start let expect."""
    turned = 0.5 * (spin + monitor[watch.SPIN]) * abs(h)
    return monitor[watch.WATCHED] > 0.0 and turned > 1.3 * TURN * max(1.0, monitor[watch.TURNS])


@kernel
def follow_turns(h, monitor):
    """Allow longer turns in a step of DOP853 while the pivots follow a cubic, and the usual ones where not.

    A wheel may turn many times in a step: the constraints do not change by that.
    """
    turned = monitor[watch.SPIN] * abs(h)
    if turned < TURN:
        monitor[watch.TURNS] = 1.0
        return
    p = watch.STAGE_PIVOTS
    # the cubic through the pivots at 0, 1/4, 3/5, 1, at 6/7
    cubic = _CUBIC[0] * monitor[p] + _CUBIC[1] * monitor[p + 6] + _CUBIC[2] * monitor[p + 9]
    cubic += _CUBIC[3] * monitor[watch.START_PIVOT]
    rest = abs(cubic - monitor[p + 10]) / max(monitor[p], monitor[watch.START_PIVOT])
    if rest > 0.05:
        monitor[watch.TURNS] = 1.0
    elif rest < 0.02 and turned > 0.7 * TURN * monitor[watch.TURNS]:
        monitor[watch.TURNS] *= 2.0


_CUBIC = np.array([
    np.prod([(6 / 7 - x) / (own - x) for x in (0.0, 0.25, 0.6, 1.0) if x != own])
    for own in (0.0, 0.25, 0.6, 1.0)
])  # fmt: skip
