# mypy: ignore-errors
"""Step control of all integration loops: open a leg, limit a step, close it on the constraints, commit it."""

from math import isfinite, sqrt

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import (
    CHAIN_OPEN,
    CHORD_SWITCHED,
    NOT_FINITE,
    OK,
    ONLY_POINTS,
    SINGULAR_POSITION,
)

from ..equations import watch
from . import layout
from .loop_step import BESIDE, onto_constraints, switches, usual_reach
from .output import write_interpolant, write_reached, write_step
from .passage import OTHER, TURN, passes, suspects
from .runge_kutta_step import lost, retract, square_norm

_EPSILON, _TINY = 2.0**-52, 2.0**-1022


# ---------------------------------------------------------------- opening
@kernel
def _first_step(n, y, atol, order, control, count, work, rhs, context):
    """Choose the first step size as scipy does (Hairer, Norsett, Wanner II.4), with one evaluation.

    Returns a status.
    """
    m, t, end, rtol = (
        count[layout.CONTROLLED],
        control[layout.TIME],
        control[layout.END],
        control[layout.RTOL],
    )
    span = abs(end - t)
    direction = 1.0 if end >= t else -1.0
    K, new, f1 = floats(work, n), floats(work + 8 * layout.NEW * n, n), floats(work + 8 * layout.E5 * n, n)
    d0 = sqrt(square_norm(y, y, y, m, rtol, atol) / m)
    d1 = sqrt(square_norm(K, y, y, m, rtol, atol) / m)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h0 = min(h0, span)
    for i in range(n):
        new[i] = y[i] + direction * h0 * K[i]
    status = call_rhs(rhs, t + direction * h0, work + 8 * layout.NEW * n, work + 8 * layout.E5 * n, context)
    count[layout.EVALUATIONS] += 1
    for i in range(n):
        new[i] = f1[i] - K[i]
    d2 = sqrt(square_norm(new, y, y, m, rtol, atol) / m) / h0
    if d1 <= 1e-15 and d2 <= 1e-15:
        h1 = max(1e-6, h0 * 1e-3)
    else:
        h1 = (0.01 / max(d1, d2)) ** (1.0 / order)
    control[layout.STEP] = direction * min(min(100.0 * h0, h1), min(span, control[layout.MAX_STEP]))
    if lost(status):
        control[layout.STEP] *= 1e-3
        return np.int32(OK)
    return status


@kernel
def open_leg(
    order, n, y_, atol, work, n_euler, euler, n_out, t_out, y_out, control, count, monitor, rhs, context
):
    """Evaluate the rates at the start of a leg, choose its first step unless it is given, write outputs there.

    Returns a status.
    """
    y, K, t = floats(y_, n), floats(work, n), control[layout.TIME]
    retract(y, K, euler, n_euler)
    status = call_rhs(rhs, t, y_, work, context)
    if status != OK:
        return status
    count[layout.EVALUATIONS] += 1
    largest = 0.0
    if monitor.shape[0] > 0:
        largest = monitor[watch.LARGEST_PIVOT]
        monitor[watch.START_PIVOT], monitor[watch.BEFORE_STEP] = monitor[watch.LAST_PIVOT], 0.0
    for i in range(n):
        if not isfinite(K[i]):
            control[layout.LAST_ERROR] = K[i]
            return np.int32(NOT_FINITE + 16 * i)
    if control[layout.STEP] == 0.0 and control[layout.END] != t:
        status = _first_step(n, y, atol, order, control, count, work, rhs, context)
        if monitor.shape[0] > 0:
            monitor[watch.LARGEST_PIVOT] = largest
        if status != OK:
            return status
    if control[layout.USUAL_STEP] == 0.0:
        control[layout.USUAL_STEP] = abs(control[layout.STEP])
    count[layout.STARTED] = 1
    write_reached(n, t, y, n_out, t_out, y_out, count)
    return np.int32(OK)


# ---------------------------------------------------------------- size
@kernel
def largest_step(control, monitor):
    """Return the largest step: max_step, or less if a hinge would turn by more than `TURN`."""
    most = control[layout.MAX_STEP]
    if monitor.shape[0] > 0 and monitor[watch.SPIN] > 0.0:
        most = min(most, TURN * max(1.0, monitor[watch.TURNS]) / monitor[watch.SPIN])
    return most


@kernel
def limit_step(t, h, direction, least, most, rejected, control):
    """Bring the size of a step between `least` (and ten rounding units of the time) and `most`.

    Returns the size, and whether a step that was rejected has become too short; its size is then left in
    control[STEP].
    """
    if abs(h) > most:
        h = direction * most
    smallest = 10.0 * max(_EPSILON * abs(t), _TINY)
    if abs(h) < max(smallest, least):
        if rejected:
            control[layout.STEP] = h
            return h, True
        h = direction * max(smallest, abs(h))
    return h, False


@kernel
def end_of_step(t, h, direction, end, near):
    """Return the end of a step, not beyond the end of the leg.

    It is exactly the end of the leg if less than the part `near` of h is missing.
    """
    t_new = t + h
    if (t_new - end) * direction > 0.0 or abs(t_new - end) < near * abs(h):
        return end
    return t_new


@kernel
def note_usual_step(h, rejected, control):
    """Update the usual size of steps by one that was not rejected."""
    usual = control[layout.USUAL_STEP]
    if not rejected or usual == 0.0:
        control[layout.USUAL_STEP] = abs(h) if usual == 0.0 else 0.8 * usual + 0.2 * abs(h)


# ---------------------------------------------------------------- acceptance
@kernel
def evaluate_end(n, t, h, rates, atol, work, control, count, hooks, monitor, rhs, context):
    """Evaluate the new state, with chords after its projection; its rates go to the row `rates`.

    Returns a status, and whether a shorter step must be tried, because the chains do not close (CHAIN_OPEN)
    or a chord switches within the step. The status is SINGULAR_POSITION if the step ends next to such a
    position.
    """
    if hooks[layout.PROJECT] == 0:
        count[layout.EVALUATIONS] += 1
        return call_rhs(rhs, t, work + 8 * n * layout.NEW, work + 8 * n * rates, context), False
    status = onto_constraints(
        n, count[layout.CONTROLLED], t, work, rates, atol, usual_reach(control[layout.RTOL]), False,
        hooks[layout.RANK], monitor, rhs, hooks[layout.PROJECT], context,
    )  # fmt: skip
    count[layout.EVALUATIONS] += 2
    if status == OK and monitor[watch.START_PIVOT] < BESIDE * monitor[watch.LARGEST_PIVOT]:
        control[layout.STAGE_TIME] = t
        return np.int32(SINGULAR_POSITION + 16 * int(monitor[watch.STEP_ROW])), False
    if status == OK and hooks[layout.SWITCH] != 0:
        return status, switches(n, t, h, work, control, hooks[layout.SWITCH], context) >= 0
    return status, status == CHAIN_OPEN


@kernel
def look_within(n, t, h, y, rates, work, n_euler, euler, control, count, hooks, monitor, context):
    """Look for a singular position in a step of a method that does not pass them.

    The rates at its end are in the row `rates`. Returns a status: OK, or SINGULAR_POSITION; its time is then in
    control[STAGE_TIME].
    """
    if monitor.shape[0] == 0 or monitor[watch.WATCHED] == 0.0:
        return np.int32(OK)
    samples, steepest = suspects(OTHER, h, monitor[watch.STAGE_PIVOTS], monitor[watch.START_PIVOT], monitor)
    if samples == 0:
        return np.int32(OK)
    passed, last = monitor[watch.N_PASSED], monitor[watch.LAST_PASSED]
    time, row = passes(
        samples, steepest, n, t, h, y, rates, work, n_euler, euler, control[layout.RTOL], count, monitor,
        hooks[layout.PROJECT], context,
    )  # fmt: skip
    if row < 0:
        return np.int32(OK)
    monitor[watch.N_PASSED], monitor[watch.LAST_PASSED] = passed, last  # it was not passed
    control[layout.STAGE_TIME] = time
    return np.int32(SINGULAR_POSITION + 16 * row)


@kernel
def take_step(n, y, last, work, dense, n_euler, euler, count):
    """Make the new state that of the leg, and its rates, in the row `last`, those of the first stage.

    If dense is not 0, the interpolant of the step is written there.
    """
    K, new, rates = floats(work, n), floats(work + 8 * n * layout.NEW, n), floats(work + 8 * n * last, n)
    if dense != 0:
        write_interpolant(dense, n, y, work, count)
    retract(new, rates, euler, n_euler)
    for i in range(n):
        y[i] = new[i]
        K[i] = rates[i]


@kernel
def commit_step(
    n, t, step, y_, rates, n_out, t_out, y_out, t_step, y_step, control, count, hooks, rhs, context
):
    """Note the time reached and the next step size, let elements remember, and write the accepted state y.

    Where elements change y by what they remember, the rates of y are evaluated again at the address `rates`,
    unless that is 0. Returns a status; CHORD_SWITCHED if a chord switches at this time.
    """
    control[layout.TIME] = control[layout.STAGE_TIME] = t
    control[layout.STEP] = step
    if hooks[layout.REMEMBER] != 0:
        status = call_rhs(hooks[layout.REMEMBER], t, y_, y_, hooks[layout.REMEMBERING])
        if status == OK and rates != 0:
            status = call_rhs(rhs, t, y_, rates, context)
        if status != OK and status != ONLY_POINTS:
            return status
    write_step(n, t, floats(y_, n), n_out, t_out, y_out, t_step, y_step, count)
    if hooks[layout.SWITCH] != 0 and control[layout.SWITCHED] >= 0.0:
        return np.int32(CHORD_SWITCHED + 16 * int(control[layout.SWITCHED]))
    return np.int32(OK)
