# mypy: ignore-errors
"""Integration loop of generalized-alpha, index 3 and index 2, compiled; it calls the entry points by address.

Arguments, memory and pauses are those of `runge_kutta.integrate`; the additional memory of the method is
found through hooks[ALPHA] (layout.py beside this file). Step sizes follow from the local error, of order 3,
or all steps have the same size, without error control. Derivatives and factors are kept as long as Newton's
iteration converges well with them. The method itself keeps closed chains closed, also where their constraints
lose rank: it solves Newton's matrix only.
"""

from math import sqrt

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, ints, kernel
from treemech.kinematics.kernel.status import (
    CHAIN_OPEN,
    NOT_CONVERGED,
    OK,
    PAUSED,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
)
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.columns import row
from treemech.kinematics.plan.views import body_work

from ...equations import watch
from ...equations.loop_views import N_LOOP_CONTEXT
from ...equations.loops import largest, note_spin
from .. import layout
from ..loop_step import BESIDE, GIVEN_UP, switches
from ..output import wanted
from ..passage import OTHER, full, note_step, passes, suspects
from ..runge_kutta_step import DOP853, copy, hermite, interpolate, lost, retract, square_norm
from ..step_control import commit_step, largest_step, limit_step, note_usual_step, open_leg, take_step
from . import layout as alpha
from .error import estimate, freedoms, unevenness
from .reactions import derive
from .residual import INDEX_2, INDEX_3
from .state import begin_step
from .step import (
    ROUNDED,
    accept,
    factorise,
    finish,
    leave_multipliers,
    look_at_end,
    newton,
    note_multipliers,
    note_rates,
    recall_multipliers,
    renew_normal,
    rescale_speeds,
)

_OPEN = 1e-7  # [m, rad] limit of the gap of any row, selected or not, at the end of a step
# rate of convergence of Newton's iteration above which the derivatives are renewed; larger if that takes many
# evaluations
_SLOW, _SLOWEST = 0.02, 0.2
# A coordinate may be on another branch if its change differs from that of its rates by more than _LEAP
# [rad, m] and by more than the part _UNEVEN of the largest change of all coordinates
_LEAP, _UNEVEN = 0.05, 0.1
# After the second and the fourth step that Newton's iteration does not solve, a step longer by this factor is
# tried: every short step from a state next to a singular position ends next to it as well
_HOP = 1.4
# part of the largest pivot below which a state is next to a singular position, if all steps have the same
# size and few of them shall be changed
_FIXED_BESIDE = 1e-8
# part of the usual step below which a step is solved with index 2: residuals of positions, divided by its
# square, would be nothing but rounding
_SHORT = 1e-3
_LEAST = 1e-3  # part of the fixed step size below which a step that is not solved is given up


@kernel
def _drowned(table, h, y, rtol, atol):
    """Return whether the rounding of positions, divided by the step, exceeds the tolerance of speeds (index 3)."""
    nq, nu, total = table[alpha.NQ], table[alpha.NU], 0.0
    for j in range(nq, nq + nu):
        x = 4.0 * ROUNDED / (abs(h) * (atol[j] + rtol * abs(y[j])))
        total += x * x
    return total > nu


@kernel
def _close(n, m, t, y, rtol, atol, work, project, context):
    """Project the output in OUT, unless that moves it too far, as it may near a singular position."""
    out, raw, new = (
        floats(work + 8 * n * layout.OUT, n),
        floats(work + 8 * n * layout.OLD, n),
        floats(work + 8 * n * layout.NEW, n),
    )
    copy(work, layout.OLD, n, out)
    fits = call_rhs(project, t, work + 8 * n * layout.OUT, -1, context) == OK
    reach = 0.0
    for i in range(m):
        reach = max(reach, abs(new[i] - y[i]))
    for i in range(m):
        fits = fits and abs(out[i] - raw[i]) < 10.0 * (atol[i] + rtol * abs(raw[i])) + 0.05 * reach
    if not fits:
        copy(work, layout.OUT, n, raw)


def alpha_integrate(
    method, rhs, context, n, control_, count_, y_, atol_, work, n_euler, euler_, n_out, t_out_, y_out_,
    capacity, t_step_, y_step_, dense_, budget, hooks_,
):  # fmt: skip
    """Integrate from control[TIME] to control[END]. Returns a status. method: INDEX_3 or INDEX_2."""
    control, count = floats(control_, layout.N_CONTROL), ints(count_, layout.N_COUNT)
    y, atol, hooks = floats(y_, n), floats(atol_, n), ints(hooks_, layout.N_HOOKS)
    table = ints(hooks[layout.ALPHA], alpha.N_TABLE)
    euler = ints(euler_, n_euler)
    t_out, t_step = floats(t_out_, n_out), floats(t_step_, capacity)
    rtol, end, max_step = control[layout.RTOL], control[layout.END], control[layout.MAX_STEP]
    new = floats(work + 8 * n * layout.NEW, n)
    e5, out = floats(work + 8 * n * layout.E5, n), floats(work + 8 * n * layout.OUT, n)
    m = count[layout.CONTROLLED]
    closed, fixed = table[alpha.N_ROWS] > 0, control[alpha.FIXED] > 0.0
    monitor = floats(hooks[layout.MONITOR], watch.N_MONITOR if closed else 0)
    t = control[layout.TIME]
    if count[layout.STARTED] == 0:
        if closed:
            monitor[watch.STAGED] = 0.0
        if fixed and control[layout.STEP] == 0.0:
            control[layout.STEP] = max_step if end >= t else -max_step
        status = open_leg(
            3, n, y_, atol, work, n_euler, euler, n_out, t_out, y_out_, control, count, monitor, rhs, context
        )  # fmt: skip
        if status != OK:
            return status
        if closed:
            note_multipliers(table, n, context)
            note_rates(table, n, work, alpha.TRUE_RATES)
        count[layout.HAS_JACOBIAN], count[layout.HAS_PAST] = 0, 0
    direction = 1.0 if end >= t else -1.0
    count[layout.PENDING] = 0
    tried = 0
    while (end - t) * direction > 0.0:
        if tried >= budget or (n_out == 0 and count[layout.PENDING] >= capacity) or full(monitor):
            return np.int32(PAUSED)
        tried += 1
        rejected, failure = False, np.int32(STEP_TOO_SMALL)
        h, hops, pivot = control[layout.STEP], 0, 0.0
        usual_pivot = monitor[watch.LARGEST_PIVOT] if closed else 0.0
        # size of the first step that was not solved, number of such steps, number of longer steps tried
        first, failures, longer = h, 0, 0
        while True:
            most = max_step if fixed else largest_step(control, monitor)
            if hops > 0:
                most *= _HOP
            h, vanishes = limit_step(
                t, h, direction, _LEAST * max_step if fixed else 0.0, most, rejected, control
            )
            if vanishes:
                return failure
            # avoid a short last step: residuals are divided by its square
            rest = (end - t) * direction
            if rest <= (1.0 + 1e-6 if fixed else 1.05) * abs(h):
                h = end - t
            elif not fixed and rest < 1.9 * abs(h):
                h = 0.5 * (end - t)
            t_new = end if h == end - t else t + h
            index = INDEX_2 if abs(h) < _SHORT * control[layout.USUAL_STEP] else method
            lowered = index == INDEX_3 and closed and not fixed and _drowned(table, h, y, rtol, atol)
            if lowered:
                index = INDEX_2
            status = OK
            if count[layout.HAS_JACOBIAN] == 0:
                recall_multipliers(table, n)
                status = derive(
                    table,
                    n,
                    t,
                    h,
                    y,
                    hooks[layout.RANK] if closed else 0,
                    control,
                    count,
                    work,
                    rhs,
                    hooks[layout.JACOBIAN],
                    context,
                )
                control[layout.FACTORED_STEP] = 0.0
            iterations, rate = 0, 0.0
            if status == OK:
                regular = True
                if not abs(h - control[layout.FACTORED_STEP]) < 1e-8 * abs(h):
                    regular = factorise(table, n, h, control, count, context)
                if regular:
                    begin_step(table, n, h, y, control, count, work)
                    if index == INDEX_3 and closed and count[layout.HAS_PAST] == 1:
                        same = (
                            abs(h - control[layout.OLD_STEP]) < 1e-8 * abs(h)
                            and control[alpha.LAST_INDEX] == INDEX_3
                        )
                        if monitor[watch.START_PIVOT] < monitor[watch.NEAR] * usual_pivot:
                            rescale_speeds(table, n, h, control)
                        elif not same:
                            renew_normal(table, n, h, control, count, work, context)
                    status, iterations, rate = newton(
                        index,
                        table,
                        n,
                        t,
                        h,
                        y,
                        atol,
                        hooks[layout.RANK] if closed else 0,
                        control,
                        count,
                        work,
                        rhs,
                        hooks[layout.JACOBIAN],
                        context,
                    )
            if status != OK and not lost(status):
                control[layout.TIME] = t
                control[layout.STEP] = h
                return status
            if lost(status):
                rejected, failure = True, status
                count[layout.REJECTED] += 1
                count[layout.HAS_JACOBIAN] = 0
                h *= 0.5
                continue
            if iterations == 0:
                count[layout.REJECTED] += 1
                fresh = count[layout.HAS_JACOBIAN] == 2
                count[layout.HAS_JACOBIAN] = 0  # the end or the iterates of a longer step may be far away
                if not fresh:
                    continue
                rejected, failure = True, np.int32(NOT_CONVERGED)
                failures += 1
                if failures == 1:
                    first = h
                if closed and failures in (2, 4):
                    hops, longer = hops + 1, longer + 1
                    h = first * _HOP**longer
                else:
                    h = first * 0.5 ** (failures - longer)
                continue
            error = 0.0
            if not fixed:
                error = estimate(table, n, m, h, y, atol, control, count, work)
            if closed and not fixed:
                driven = freedoms(table, context) <= 0
                leap, way = unevenness(table, n, h, y, work, e5 if driven else out)
                if driven:  # there is no degree of freedom whose error could limit the step
                    error = max(error, sqrt(square_norm(e5, y, new, m, rtol, atol) / m))
                if leap > _LEAP and leap > _UNEVEN * way:
                    error = max(error, 2.0)
            control[layout.LAST_ERROR] = error
            if not error < 1.0:
                rejected, failure = True, np.int32(STEP_TOO_SMALL)
                count[layout.REJECTED] += 1
                shrink = 0.9 * error ** (-1.0 / 3.0)
                h *= shrink if shrink > 0.2 else 0.2  # also if the error is not a number
                continue
            finish(table, n, h, y, work, context)
            if closed:
                loops = ints(context, N_LOOP_CONTEXT)
                if not largest(loops, row.POSITION) < _OPEN:
                    rejected = True
                    count[layout.REJECTED] += 1
                    h *= 0.5
                    if abs(h) < GIVEN_UP * control[layout.USUAL_STEP]:
                        control[layout.STEP], count[layout.HAS_JACOBIAN] = h, 0
                        return np.int32(CHAIN_OPEN)
                    continue
                status = look_at_end(n, t_new, usual_pivot, count, work, monitor, rhs, context)
                if status != OK:
                    control[layout.TIME], control[layout.STEP] = t, h
                    return status
                note_rates(table, n, work + 8 * n * layout.OLD, alpha.NEW_TRUE_RATES)
                pivot = monitor[watch.LAST_PIVOT]
                beside = (_FIXED_BESIDE if fixed else BESIDE) * monitor[watch.LARGEST_PIVOT]
                if pivot < beside and hops < 8 and t_new != end:
                    hops += 1
                    count[layout.REJECTED] += 1
                    count[layout.HAS_JACOBIAN] = 0  # it was made next to the position
                    h *= 0.7 if monitor[watch.START_PIVOT] > 16.0 * beside else 1.4
                    continue
                leave_multipliers(table, n, context)
                if (
                    hooks[layout.SWITCH] != 0
                    and switches(n, t_new, h, work, control, hooks[layout.SWITCH], context) >= 0
                ):
                    rejected = True
                    count[layout.REJECTED] += 1
                    h *= 0.5
                    continue
                note_spin(ints(loops[0], N_CONTEXT), loops, body_work(ints(loops[0], N_CONTEXT)))
            break
        count[layout.STEPS] += 1
        if lowered:
            count[alpha.N_LOWERED] += 1
        factor = 1.0
        if not fixed:
            factor = min(2.0, 0.9 * max(error, 1e-10) ** (-1.0 / 3.0))
            if rejected:
                factor = min(1.0, factor)
        slow = iterations > 1 and rate > (
            _SLOW if hooks[layout.JACOBIAN] != 0 else min(_SLOWEST, _SLOW * (1.0 + 0.5 * table[alpha.NU]))
        )
        if not slow and 1.0 <= factor < 1.2:
            factor = 1.0
        count[layout.HAS_JACOBIAN] = 0 if slow else 1
        note_usual_step(h, rejected, control)
        hermite(n, h, y, layout.LAST, work)
        if closed:
            samples, steepest = suspects(OTHER, h, monitor[watch.START_PIVOT], pivot, monitor)
            if samples > 0:
                time, passed = passes(
                    samples, steepest, n, t, h, y, layout.LAST, work, n_euler, euler, rtol, count, monitor, hooks[layout.PROJECT], context
                )  # fmt: skip
                if passed >= 0 and hooks[layout.STOP] != 0:
                    control[layout.STAGE_TIME] = time
                    return np.int32(SINGULAR_POSITION + 16 * passed)
            note_step(h, monitor[watch.START_PIVOT], pivot, usual_pivot, monitor)
            monitor[watch.START_PIVOT] = pivot
            leave_multipliers(table, n, context)
        while wanted(t_new, n_out, t_out, control, count):
            wish = t_out[count[layout.WRITTEN]]
            interpolate(DOP853, n, (wish - t) / h, y, work + 8 * n * layout.DENSE, out)
            retract(out, e5, euler, n_euler)
            if closed:
                _close(n, m, wish, y, rtol, atol, work, hooks[layout.PROJECT], context)
            copy(y_out_, count[layout.WRITTEN], n, out)
            count[layout.WRITTEN] += 1
        accept(table, n, h, work)
        control[layout.OLD_STEP], control[alpha.LAST_INDEX], count[layout.HAS_PAST] = h, index, 1
        take_step(n, y, layout.LAST, work, dense_, n_euler, euler, count)
        t = t_new
        status = commit_step(
            n, t, direction * max_step if fixed else h * factor, y_, 0, n_out, t_out, y_out_, t_step, y_step_,
            control, count, hooks, rhs, context,
        )  # fmt: skip
        if status != OK:
            return status
    return np.int32(OK)
