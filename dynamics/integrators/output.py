# mypy: ignore-errors
"""What all integration loops do alike: the first evaluation and step size, and what is written down of a step."""

from math import isfinite, sqrt

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import NOT_FINITE, OK

from ..equations.loop_monitor import LAST_PIVOT, START_PIVOT
from .layout import (
    CONTROLLED,
    DENSE,
    E5,
    END,
    EVALUATIONS,
    LAST_ERROR,
    MAX_STEP,
    NEW,
    OUT,
    RTOL,
    STARTED,
    STEP,
    TIME,
    USUAL_STEP,
    WRITTEN,
)
from .runge_kutta_step import DOP853, copy, interpolate, lost, retract, square_norm


@kernel
def _first_step(n, y, atol, order, control, count, work, rhs, context):
    """Starting step size (Hairer, Norsett, Wanner II.4), as scipy chooses it; one evaluation. A status."""
    m, t, end, rtol = count[CONTROLLED], control[TIME], control[END], control[RTOL]
    span = abs(end - t)
    direction = 1.0 if end >= t else -1.0
    K, new, f1 = floats(work, n), floats(work + 8 * NEW * n, n), floats(work + 8 * E5 * n, n)
    d0 = sqrt(square_norm(y, y, y, m, rtol, atol) / m)
    d1 = sqrt(square_norm(K, y, y, m, rtol, atol) / m)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h0 = min(h0, span)
    for i in range(n):
        new[i] = y[i] + direction * h0 * K[i]
    status = call_rhs(rhs, t + direction * h0, work + 8 * NEW * n, work + 8 * E5 * n, context)
    count[EVALUATIONS] += 1
    for i in range(n):
        new[i] = f1[i] - K[i]
    d2 = sqrt(square_norm(new, y, y, m, rtol, atol) / m) / h0
    if d1 <= 1e-15 and d2 <= 1e-15:
        h1 = max(1e-6, h0 * 1e-3)
    else:
        h1 = (0.01 / max(d1, d2)) ** (1.0 / order)
    control[STEP] = direction * min(min(100.0 * h0, h1), min(span, control[MAX_STEP]))
    if lost(status):
        control[STEP] *= 1e-3
        return np.int32(OK)
    return status


@kernel
def begin(n, order, y_, atol, control, count, work, euler, n_euler, monitor, rhs, context):
    """The start of a leg: its rates, and its first step unless that is given; a status."""
    y, K, t = floats(y_, n), floats(work, n), control[TIME]
    retract(y, K, euler, n_euler)
    status = call_rhs(rhs, t, y_, work, context)
    if status != OK:
        return status
    count[EVALUATIONS] += 1
    if monitor.shape[0] > 0:
        monitor[START_PIVOT] = monitor[LAST_PIVOT]
    for i in range(n):
        if not isfinite(K[i]):
            control[LAST_ERROR] = K[i]
            return np.int32(NOT_FINITE + 16 * i)
    if control[STEP] == 0.0 and control[END] != t:
        status = _first_step(n, y, atol, order, control, count, work, rhs, context)
        if status != OK:
            return status
    if control[USUAL_STEP] == 0.0:
        control[USUAL_STEP] = abs(control[STEP])
    count[STARTED] = 1
    return np.int32(OK)


@kernel
def note_usual_step(h, rejected, control):
    """The usual size of steps, of those that were not rejected."""
    usual = control[USUAL_STEP]
    if not rejected or usual == 0.0:
        control[USUAL_STEP] = abs(h) if usual == 0.0 else 0.8 * usual + 0.2 * abs(h)


@kernel
def wanted(t_new, n_out, t_out, control, count):
    """Whether an output is wished for before the end of the step."""
    ahead = 1.0 if control[END] >= control[TIME] else -1.0
    return count[WRITTEN] < n_out and (t_out[count[WRITTEN]] - t_new) * ahead < 0.0


@kernel
def write_within(n, t_new, y, work, euler, n_euler, n_out, t_out, y_out, control, count, project, context):
    """Outputs within a step, from its interpolant, brought onto the constraints if there are any; a status."""
    e5, out, t = floats(work + 8 * n * E5, n), floats(work + 8 * n * OUT, n), control[TIME]
    while wanted(t_new, n_out, t_out, control, count):
        wish = t_out[count[WRITTEN]]
        interpolate(DOP853, n, (wish - t) / (t_new - t), y, work + 8 * n * DENSE, out)
        retract(out, e5, euler, n_euler)
        if project != 0:
            status = call_rhs(project, wish, work + 8 * n * OUT, -1, context)
            if status != OK:
                return status
        copy(y_out, count[WRITTEN], n, out)
        count[WRITTEN] += 1
    return np.int32(OK)


@kernel
def write_interpolant(dense, stored, n, y, work):
    """The start of a step and the coefficients of its interpolant."""
    copy(dense, 8 * stored, n, y)
    for r in range(7):
        copy(dense, 8 * stored + 1 + r, n, floats(work + 8 * n * (DENSE + r), n))


@kernel
def write_reached(n, t, y, n_out, t_out, y_out, count):
    """Outputs at a time that was reached exactly."""
    while count[WRITTEN] < n_out and t_out[count[WRITTEN]] == t:
        copy(y_out, count[WRITTEN], n, y)
        count[WRITTEN] += 1


@kernel
def write_step(n, t, y, n_out, t_out, y_out, stored, t_step, y_step, count):
    """A step that was accepted, where steps are wished for, else outputs at its end; steps written so far."""
    if n_out > 0:
        write_reached(n, t, y, n_out, t_out, y_out, count)
        return stored
    copy(y_step, stored, n, y)
    t_step[stored] = t
    return stored + 1
