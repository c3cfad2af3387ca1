# mypy: ignore-errors
"""The integration loop for stiff motions: Radau IIA, order 5, compiled, the right-hand side by address.

Same arguments, memory and pauses as `runge_kutta.integrate`. Step sizes by the predictive controller of Gustafsson
(Hairer and Wanner, IV.8); Jacobian and factors are kept as long as Newton's iteration converges well with them.
"""

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, ints, kernel
from treemech.kinematics.kernel.status import (
    CHAIN_OPEN,
    CHORD_SWITCHED,
    NOT_CONVERGED,
    OK,
    PAUSED,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
)

from ..equations.loop_monitor import LARGEST_PIVOT, N_MONITOR, NEAR, SPIN, STAGED, STEP_PIVOT, STEP_ROW
from .layout import (
    CONTROLLED,
    DENSE,
    END,
    EVALUATIONS,
    FACTORED_STEP,
    GROUPS,
    HAS_JACOBIAN,
    HAS_PAST,
    JACOBIAN,
    LAST,
    LAST_ERROR,
    MAX_STEP,
    MONITOR,
    N_CONTROL,
    N_COUNT,
    N_HOOKS,
    NEW,
    OLD_ERROR,
    OLD_STEP,
    PENDING,
    PROJECT,
    RANK,
    REJECTED,
    REMEMBER,
    RTOL,
    STAGE_TIME,
    STARTED,
    STEP,
    STEPS,
    SWITCH,
    SWITCHED,
    TIME,
    USUAL_STEP,
    Z,
)
from .loop_step import GIVEN_UP, TURN, onto_constraints, switches, usual_reach
from .output import (
    begin,
    note_usual_step,
    write_interpolant,
    write_reached,
    write_step,
    write_within,
)
from .radau_step import MOST_ITERATIONS, estimate, factorise, guess, linearise, newton, polynomial
from .runge_kutta_step import lost, remember, retract

_EPSILON, _TINY = 2.0**-52, 2.0**-1022
# Rate of Newton's iteration above which the Jacobian is made anew, more where that takes many evaluations
_SLOW, _SLOWEST = 1e-3, 0.1


@kernel
def _predicted(h, error, control):
    """Factor for the step size from the errors of this step and the one before (Gustafsson)."""
    factor = error**-0.25
    if control[OLD_ERROR] > 0.0:
        factor *= min(1.0, abs(h / control[OLD_STEP]) * (control[OLD_ERROR] / error) ** 0.25)
    return factor


def radau_integrate(
    method, rhs, context, n, control_, count_, y_, atol_, work, n_euler, euler_, n_out, t_out_, y_out_,
    capacity, t_step_, y_step_, dense_, budget, hooks_,
):  # fmt: skip
    """Integrate y' = rhs(t, y) from control[TIME] to control[END]; a status.

    The hooks are always given; without chords they name no projection. With chords every accepted step and
    output is projected onto the constraints; near a singular position the integration ends.
    """
    control, count = floats(control_, N_CONTROL), ints(count_, N_COUNT)
    y, atol, hooks = floats(y_, n), floats(atol_, n), ints(hooks_, N_HOOKS)
    euler = ints(euler_, n_euler)
    t_out, t_step = floats(t_out_, n_out), floats(t_step_, capacity)
    end, max_step = control[END], control[MAX_STEP]
    K, last, new = floats(work, n), floats(work + 8 * n * LAST, n), floats(work + 8 * n * NEW, n)
    m = count[CONTROLLED]
    closed = hooks[PROJECT] != 0
    monitor = floats(hooks[MONITOR], N_MONITOR if closed else 0)
    t = control[TIME]
    if count[STARTED] == 0:
        if closed:
            monitor[STAGED] = 0.0
        status = begin(n, 4, y_, atol, control, count, work, euler, n_euler, monitor, rhs, context)
        if status != OK:
            return status
        count[HAS_JACOBIAN] = -1
        write_reached(n, t, y, n_out, t_out, y_out_, count)
    if count[HAS_JACOBIAN] < 0:  # the past is none of this method's
        count[HAS_JACOBIAN], count[HAS_PAST] = 0, 0
        control[OLD_ERROR], control[FACTORED_STEP] = 0.0, 0.0
        for r in range(8):
            f = floats(work + 8 * n * (DENSE + r), n)
            for i in range(n):
                f[i] = 0.0
    direction = 1.0 if end >= t else -1.0
    stored = 0
    tried = 0
    while (end - t) * direction > 0.0:
        if tried >= budget or (n_out == 0 and stored >= capacity):
            count[PENDING] = stored
            return np.int32(PAUSED)
        tried += 1
        rejected, failure = False, np.int32(STEP_TOO_SMALL)
        h, factor = control[STEP], 1.0
        while True:
            smallest = 10.0 * max(_EPSILON * abs(t), _TINY)
            most = max_step
            if closed and monitor[SPIN] > 0.0:
                most = min(most, TURN / monitor[SPIN])
            if abs(h) > most:
                h = direction * most
            if abs(h) < smallest:
                if rejected:
                    control[STEP] = h
                    count[PENDING] = stored
                    return failure
                h = direction * smallest
            t_new = t + h
            if (t_new - end) * direction > 0.0:
                t_new = end
            h = t_new - t
            if closed:
                monitor[STEP_PIVOT], monitor[STAGED] = 1e300, 0.0
            status = OK
            if count[HAS_JACOBIAN] == 0:
                status = linearise(
                    n, m, t, h, y, atol, count, work, rhs, hooks[JACOBIAN], hooks[GROUPS], context
                )
                control[FACTORED_STEP] = 0.0
            iterations, rate = 0, 0.0
            if status == OK:
                regular = True
                if not abs(h - control[FACTORED_STEP]) < 1e-8 * abs(h):
                    regular = factorise(n, m, h, control, count, work)
                if regular:
                    guess(n, h, control, count, work)
                    status, iterations, rate = newton(n, m, t, h, y, atol, control, count, work, rhs, context)
            if status != OK and not lost(status):
                control[TIME] = t
                control[STEP] = h
                count[PENDING] = stored
                return status
            if lost(status):
                rejected, failure = True, status
                count[REJECTED] += 1
                h *= 0.5
                continue
            if iterations == 0:
                count[REJECTED] += 1
                if count[HAS_JACOBIAN] == 1:
                    count[HAS_JACOBIAN] = 0
                    continue
                rejected, failure = True, np.int32(NOT_CONVERGED)
                h *= 0.5
                continue
            z = floats(work + 8 * n * (Z + 2), n)
            for i in range(n):
                new[i] = y[i] + z[i]
            again = rejected or count[HAS_PAST] == 0
            error = estimate(n, m, t, h, y, atol, again, control, count, work, rhs, context)
            control[LAST_ERROR] = error
            safety = 0.9 * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + iterations)
            if not error < 1.0:
                rejected, failure = True, np.int32(STEP_TOO_SMALL)
                count[REJECTED] += 1
                shrink = safety * _predicted(h, error, control)
                h *= shrink if shrink > 0.2 else 0.2  # also when the error is not a number
                continue
            if closed:
                if monitor[STEP_PIVOT] < monitor[NEAR] * monitor[LARGEST_PIVOT]:
                    count[PENDING] = stored
                    return np.int32(SINGULAR_POSITION + 16 * int(monitor[STEP_ROW]))
                status = onto_constraints(
                    n, t_new, work, LAST, usual_reach(control[RTOL]), False, hooks[RANK], monitor, rhs, hooks[PROJECT], context
                )  # fmt: skip
                count[EVALUATIONS] += 2
                if status == CHAIN_OPEN:
                    rejected = True
                    count[REJECTED] += 1
                    h *= 0.5
                    if abs(h) < GIVEN_UP * control[USUAL_STEP]:
                        control[STEP] = h
                        count[PENDING] = stored
                        return np.int32(CHAIN_OPEN)
                    continue
                if (
                    status == OK
                    and hooks[SWITCH] != 0
                    and switches(n, t_new, h, work, control, hooks[SWITCH], context) >= 0
                ):
                    rejected = True
                    count[REJECTED] += 1
                    h *= 0.5
                    continue
            else:
                status = call_rhs(rhs, t_new, work + 8 * n * NEW, work + 8 * n * LAST, context)
                count[EVALUATIONS] += 1
            if status != OK:
                control[STAGE_TIME] = t_new
                count[PENDING] = stored
                return status
            break
        count[STEPS] += 1
        error = max(error, 1e-10)
        factor = min(10.0, safety * _predicted(h, error, control))
        if rejected:
            factor = min(1.0, factor)
        slow = iterations > 2 and rate > (
            _SLOW if hooks[JACOBIAN] != 0 else min(_SLOWEST, _SLOW * (1.0 + m / 8))
        )
        if not slow and 1.0 <= factor < 1.2:
            factor = 1.0
        count[HAS_JACOBIAN] = 0 if slow else 1
        control[OLD_STEP], control[OLD_ERROR] = h, error
        note_usual_step(h, rejected, control)
        polynomial(n, y, work)
        count[HAS_PAST] = 1
        status = write_within(
            n, t_new, y, work, euler, n_euler, n_out, t_out, y_out_, control, count, hooks[PROJECT], context
        )
        if status != OK:
            count[PENDING] = stored
            return status
        if dense_ != 0:
            write_interpolant(dense_, stored, n, y, work)
        retract(new, last, euler, n_euler)
        for i in range(n):
            y[i] = new[i]
            K[i] = last[i]
        t = t_new
        control[TIME] = control[STAGE_TIME] = t
        control[STEP] = h * factor
        if hooks[REMEMBER] != 0:
            status = remember(hooks, t, y_, work, rhs, context)
            if status != OK:
                count[PENDING] = stored
                return status
        stored = write_step(n, t, y, n_out, t_out, y_out_, stored, t_step, y_step_, count)
        if closed and hooks[SWITCH] != 0 and control[SWITCHED] >= 0.0:
            count[PENDING] = stored
            return np.int32(CHORD_SWITCHED + 16 * int(control[SWITCHED]))
    count[PENDING] = stored
    return np.int32(OK)
