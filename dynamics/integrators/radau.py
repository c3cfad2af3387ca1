# mypy: ignore-errors
"""Integration loop for stiff motions: Radau IIA, order 5, compiled; it calls the right-hand side by address.

Arguments, memory and pauses are those of `runge_kutta.integrate`. Step sizes come from the predictive
controller of Gustafsson (Hairer and Wanner, IV.8). Jacobian and factors are kept as long as Newton's
iteration converges well with them.
"""

import numpy as np

from treemech.kinematics.kernel.language import floats, ints, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, NOT_CONVERGED, OK, PAUSED, STEP_TOO_SMALL

from ..equations import watch
from . import layout
from .loop_step import GIVEN_UP
from .output import write_within
from .passage import full, note_step
from .radau_step import MOST_ITERATIONS, estimate, factorise, guess, linearise, newton, polynomial
from .runge_kutta_step import lost
from .step_control import (
    commit_step,
    end_of_step,
    evaluate_end,
    largest_step,
    limit_step,
    look_within,
    note_usual_step,
    open_leg,
    take_step,
)

# Rate of convergence of Newton's iteration above which the Jacobian is renewed; larger if that takes many
# evaluations
_SLOW, _SLOWEST = 1e-3, 0.1


@kernel
def _predicted(h, error, control):
    """Return the factor for the step size from the errors of this step and the one before (Gustafsson)."""
    factor = error**-0.25
    if control[layout.OLD_ERROR] > 0.0:
        factor *= min(1.0, abs(h / control[layout.OLD_STEP]) * (control[layout.OLD_ERROR] / error) ** 0.25)
    return factor


def radau_integrate(
    method, rhs, context, n, control_, count_, y_, atol_, work, n_euler, euler_, n_out, t_out_, y_out_,
    capacity, t_step_, y_step_, dense_, budget, hooks_,
):  # fmt: skip
    """Integrate y' = rhs(t, y) from control[TIME] to control[END]. Returns a status.

    The hooks are always given; without chords they name no projection. With chords every accepted step and
    output is projected onto the constraints, and before a singular position the integration ends.
    """
    control, count = floats(control_, layout.N_CONTROL), ints(count_, layout.N_COUNT)
    y, atol, hooks = floats(y_, n), floats(atol_, n), ints(hooks_, layout.N_HOOKS)
    euler = ints(euler_, n_euler)
    t_out, t_step = floats(t_out_, n_out), floats(t_step_, capacity)
    end = control[layout.END]
    new = floats(work + 8 * n * layout.NEW, n)
    m = count[layout.CONTROLLED]
    closed = hooks[layout.PROJECT] != 0
    monitor = floats(hooks[layout.MONITOR], watch.N_MONITOR if closed else 0)
    t = control[layout.TIME]
    if count[layout.STARTED] == 0:
        if closed:
            monitor[watch.STAGED] = 0.0
        status = open_leg(
            4, n, y_, atol, work, n_euler, euler, n_out, t_out, y_out_, control, count, monitor, rhs, context
        )  # fmt: skip
        if status != OK:
            return status
        count[layout.HAS_JACOBIAN] = -1
    if count[layout.HAS_JACOBIAN] < 0:  # the past is that of another method
        count[layout.HAS_JACOBIAN], count[layout.HAS_PAST] = 0, 0
        control[layout.OLD_ERROR], control[layout.FACTORED_STEP] = 0.0, 0.0
        for r in range(8):
            f = floats(work + 8 * n * (layout.DENSE + r), n)
            for i in range(n):
                f[i] = 0.0
    direction = 1.0 if end >= t else -1.0
    count[layout.PENDING] = 0
    tried = 0
    while (end - t) * direction > 0.0:
        if tried >= budget or (n_out == 0 and count[layout.PENDING] >= capacity) or full(monitor):
            return np.int32(PAUSED)
        tried += 1
        rejected, failure = False, np.int32(STEP_TOO_SMALL)
        h, factor = control[layout.STEP], 1.0
        if closed:
            monitor[watch.STAGE_PIVOTS] = monitor[watch.START_PIVOT]
        usual = monitor[watch.LARGEST_PIVOT] if closed else 0.0  # others may be those of states far away
        while True:
            h, vanishes = limit_step(t, h, direction, 0.0, largest_step(control, monitor), rejected, control)
            if vanishes:
                return failure
            t_new = end_of_step(t, h, direction, end, 0.0)
            h = t_new - t
            if closed:
                monitor[watch.STEP_PIVOT], monitor[watch.STAGED] = 1e300, 0.0
            status = OK
            if count[layout.HAS_JACOBIAN] == 0:
                status = linearise(
                    n,
                    m,
                    t,
                    h,
                    y,
                    atol,
                    count,
                    work,
                    rhs,
                    hooks[layout.JACOBIAN],
                    hooks[layout.GROUPS],
                    context,
                )
                control[layout.FACTORED_STEP] = 0.0
            iterations, rate = 0, 0.0
            if status == OK:
                regular = True
                if not abs(h - control[layout.FACTORED_STEP]) < 1e-8 * abs(h):
                    regular = factorise(n, m, h, control, count, work)
                if regular:
                    guess(n, h, control, count, work)
                    status, iterations, rate = newton(n, m, t, h, y, atol, control, count, work, rhs, context)
            if status != OK and not lost(status):
                control[layout.TIME] = t
                control[layout.STEP] = h
                return status
            if lost(status):
                rejected, failure = True, status
                count[layout.REJECTED] += 1
                h *= 0.5
                continue
            if iterations == 0:
                count[layout.REJECTED] += 1
                if count[layout.HAS_JACOBIAN] == 1:
                    count[layout.HAS_JACOBIAN] = 0
                    continue
                rejected, failure = True, np.int32(NOT_CONVERGED)
                h *= 0.5
                continue
            z = floats(work + 8 * n * (layout.Z + 2), n)
            for i in range(n):
                new[i] = y[i] + z[i]
            again = rejected or count[layout.HAS_PAST] == 0
            error = estimate(n, m, t, h, y, atol, again, control, count, work, rhs, context)
            control[layout.LAST_ERROR] = error
            safety = 0.9 * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + iterations)
            if not error < 1.0:
                rejected, failure = True, np.int32(STEP_TOO_SMALL)
                count[layout.REJECTED] += 1
                shrink = safety * _predicted(h, error, control)
                h *= shrink if shrink > 0.2 else 0.2  # also if the error is not a number
                if count[layout.HAS_JACOBIAN] == 1:  # an old Jacobian does not damp the estimate (IV.8)
                    count[layout.HAS_JACOBIAN] = 0
                continue
            if closed:
                monitor[watch.LARGEST_PIVOT] = usual
            status, retry = evaluate_end(
                n, t_new, h, layout.LAST, atol, work, control, count, hooks, monitor, rhs, context
            )
            if retry:
                rejected = True
                count[layout.REJECTED] += 1
                h *= 0.5
                if status == CHAIN_OPEN and abs(h) < GIVEN_UP * control[layout.USUAL_STEP]:
                    control[layout.STEP] = h
                    return status
                continue
            if status != OK:
                control[layout.STAGE_TIME] = t_new
                return status
            break
        status = look_within(
            n, t, h, y, layout.LAST, work, n_euler, euler, control, count, hooks, monitor, context
        )
        if status != OK:
            return status
        if closed:
            note_step(h, monitor[watch.STAGE_PIVOTS], monitor[watch.START_PIVOT], usual, monitor)
        count[layout.STEPS] += 1
        error = max(error, 1e-10)
        factor = min(10.0, safety * _predicted(h, error, control))
        if rejected:
            factor = min(1.0, factor)
        slow = iterations > 2 and rate > (
            _SLOW if hooks[layout.JACOBIAN] != 0 else min(_SLOWEST, _SLOW * (1.0 + m / 8))
        )
        if not slow and 1.0 <= factor < 1.2:
            factor = 1.0
        count[layout.HAS_JACOBIAN] = 0 if slow else 1
        control[layout.OLD_STEP], control[layout.OLD_ERROR] = h, error
        note_usual_step(h, rejected, control)
        polynomial(n, y, work)
        count[layout.HAS_PAST] = 1
        status = write_within(
            n, t_new, y, work, euler, n_euler, n_out, t_out, y_out_, control, count, hooks, monitor, context
        )  # fmt: skip
        if status != OK:
            return status
        take_step(n, y, layout.LAST, work, dense_, n_euler, euler, count)
        t = t_new
        status = commit_step(
            n, t, h * factor, y_, work, n_out, t_out, y_out_, t_step, y_step_, control, count, hooks, rhs, context
        )  # fmt: skip
        if status != OK:
            return status
    return np.int32(OK)
