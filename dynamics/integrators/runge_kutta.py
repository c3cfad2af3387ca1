# mypy: ignore-errors
"""Integration loop of explicit Runge-Kutta methods, compiled; it calls the right-hand side by address.

The loop pauses when the output buffer is full or the budget of steps is used up, and can be continued: its
whole memory is `control`, `count` and `work` (layout.py), which the caller owns. Euler parameters are scaled
back to length 1 after every step and in every interpolated output (the retraction of the manifold); with
chords the whole state is projected onto the constraints.
"""

from math import sqrt

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, ints
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK, PAUSED, SINGULAR_POSITION, STEP_TOO_SMALL

from ..equations import watch
from . import layout
from .corners import LANDINGS, acting, acting_at, corner_within
from .loop_step import (
    BESIDE,
    GIVEN_UP,
    dense_on_manifold,
    fits,
    growth,
    onto_constraints,
    step_to,
    switches,
    usual_reach,
)
from .output import wanted
from .passage import follow_turns, full, note_step, passes, suspects, turns_too_far
from .runge_kutta_step import (
    DOP853,
    DP5,
    RK4,
    copy,
    dense,
    errors,
    interpolate,
    lost,
    norm,
    retract,
    run_stages,
)
from .step_control import (
    commit_step,
    end_of_step,
    largest_step,
    limit_step,
    note_usual_step,
    open_leg,
    take_step,
)


def make_integrate(closed):
    """Make the integration loop of trees or closed chains; code for closed chains is not compiled for trees."""

    def integrate(
        method, rhs, context, n, control_, count_, y_, atol_, work, n_euler, euler_, n_out, t_out_, y_out_,
        capacity, t_step_, y_step_, dense_, budget, hooks_,
    ):  # fmt: skip
        """Integrate y' = rhs(t, y) from control[TIME] to control[END]. Returns a status.

        With t_out, the states at these times are written. Without, every accepted step goes to t_step, y_step
        (and, if dense_ is not 0, the 8 n coefficients of its interpolant). The status is PAUSED when the
        buffer or the budget of steps is used up.

        With chords (hooks), every accepted step and output is projected onto the constraints. Near a singular
        position, where the multiplier pivot falls below 1e-2 of its largest value, only the tangential part
        of the error counts. If it is too large, all stages are projected: stages off the manifold by e, at a
        distance d from the position, may be wrong by e / d, and the step would shrink until it does not
        advance. No step ends next to the position, and the projection moves its end by no more than a part of
        the distance, so the motion stays on its branch. Positions passed are noted. A step that shrinks
        nevertheless ends the integration.
        """
        control, count = floats(control_, layout.N_CONTROL), ints(count_, layout.N_COUNT)
        y, atol = floats(y_, n), floats(atol_, n)
        euler = ints(euler_, n_euler)
        t_out, t_step = floats(t_out_, n_out), floats(t_step_, capacity)
        rtol, end = control[layout.RTOL], control[layout.END]
        stages, order = (12, 8) if method == DOP853 else (6, 5) if method == DP5 else (4, 4)
        e5, out = floats(work + 8 * n * layout.E5, n), floats(work + 8 * n * layout.OUT, n)
        m = count[layout.CONTROLLED]
        hooks = ints(hooks_, layout.N_HOOKS)
        project = hooks[layout.PROJECT] if closed else 0
        tangent = hooks[layout.TANGENT] if closed else 0
        rank = hooks[layout.RANK] if closed else 0
        monitor = floats(hooks[layout.MONITOR] if closed else 0, watch.N_MONITOR if closed else 0)
        t = control[layout.TIME]
        if count[layout.STARTED] == 0:
            status = open_leg(
                order, n, y_, atol, work, n_euler, euler, n_out, t_out, y_out_, control, count, monitor, rhs, context
            )  # fmt: skip
            if status != OK:
                return status
            if hooks[layout.ONE_SIDED] != 0:
                count[layout.EVALUATIONS] += 1
                count[layout.ACTING] = acting_at(n, t, y_, work + 8 * n * layout.E5, hooks, rhs, context)
        one_sided = hooks[layout.ONE_SIDED] != 0 and method != RK4
        direction = 1.0 if end >= t else -1.0
        count[layout.PENDING] = 0
        tried = 0
        while (end - t) * direction > 0.0:
            if tried >= budget or (n_out == 0 and count[layout.PENDING] >= capacity) or full(monitor):
                return np.int32(PAUSED)
            tried += 1
            rejected, status = False, np.int32(OK)
            hops, hits, landings, natural, acts = 0, 0, 0, 0.0, count[layout.ACTING]
            staged = closed and (
                monitor[watch.PARTITIONED] > 0.0
                or monitor[watch.START_PIVOT] < monitor[watch.NEAR] * monitor[watch.LARGEST_PIVOT]
            )
            if closed:
                monitor[watch.STAGE_PIVOTS] = monitor[watch.START_PIVOT]
            usual, spin = (monitor[watch.LARGEST_PIVOT], monitor[watch.SPIN]) if closed else (0.0, 0.0)
            h = control[layout.STEP]
            while True:
                if closed:
                    monitor[watch.STEP_PIVOT] = 1e300
                    monitor[watch.STAGED] = 1.0 if staged else 0.0
                most = np.inf if hops > 0 else largest_step(control, monitor)
                h, vanishes = limit_step(t, h, direction, 0.0, most, rejected, control)
                if vanishes:
                    return status if lost(status) else np.int32(STEP_TOO_SMALL)
                t_new = end_of_step(t, h, direction, end, 1e-6 if method == RK4 else 0.0)
                h = t_new - t
                status = run_stages(method, n, t, h, y, work, control, monitor, rhs, project, context)
                if status != OK and status != CHAIN_OPEN and not lost(status):
                    control[layout.TIME] = t
                    control[layout.STEP] = h
                    return status
                count[layout.EVALUATIONS] += stages
                if one_sided and not closed:
                    acts = acting(hooks)
                if closed:
                    monitor[watch.LARGEST_PIVOT] = usual  # pivots far off the motion may have any size
                errors(method, n, work)
                singular = (
                    closed and monitor[watch.STEP_PIVOT] < monitor[watch.NEAR] * monitor[watch.LARGEST_PIVOT]
                )
                if (
                    closed
                    and singular
                    and monitor[watch.STEP_PIVOT] < BESIDE * monitor[watch.LARGEST_PIVOT]
                    and hits < 6
                ):
                    hits += 1
                    count[layout.REJECTED] += 1
                    h *= 0.93
                    continue
                normal = 0.0
                if closed and singular:
                    count[layout.SINGULAR] += 1
                    # the projection removes this part except for its square
                    normal = 3.0 * sqrt(rtol) * norm(method, n, m, h, y, work, rtol, atol)
                    call_rhs(tangent, t_new, work + 8 * n * layout.NEW, work + 8 * n * layout.E5, context)
                    if method == DOP853:
                        call_rhs(tangent, t_new, work + 8 * n * layout.NEW, work + 8 * n * layout.E3, context)
                error = norm(method, n, m, h, y, work, rtol, atol)
                if not normal <= error:
                    error = normal
                control[layout.LAST_ERROR] = error
                if status != OK:
                    error = 1e30
                if singular and not staged and not error < 1.0:
                    staged = True
                    continue
                if closed and error < 1.0:
                    reach = 1e300 if method == RK4 else usual_reach(rtol)
                    if singular:
                        reach = 0.5 * sqrt(monitor[watch.LAST_PIVOT] / monitor[watch.LARGEST_PIVOT])
                        if reach * reach < 0.25 * BESIDE:
                            if hops < 8 and t_new != end:
                                # end before the position, or beyond it if steps are too short
                                hops += 1
                                count[layout.REJECTED] += 1
                                far = (
                                    monitor[watch.START_PIVOT] > 16.0 * BESIDE * monitor[watch.LARGEST_PIVOT]
                                )
                                h *= 0.7 if far else 1.4
                                continue
                            reach = 1e300
                    status = onto_constraints(
                        n,
                        m,
                        t_new,
                        work,
                        stages,
                        atol,
                        reach,
                        method != DP5 or not staged,
                        rank,
                        monitor,
                        rhs,
                        project,
                        context,
                    )
                    count[layout.EVALUATIONS] += 2
                    if one_sided:
                        acts = acting(hooks)
                    if status == CHAIN_OPEN:
                        error = 2.0
                    elif lost(status):
                        error = 1e30
                    elif status != OK:
                        return status
                    elif (
                        hooks[layout.SWITCH] != 0
                        and switches(n, t_new, h, work, control, hooks[layout.SWITCH], context) >= 0
                    ):
                        rejected = True
                        count[layout.REJECTED] += 1
                        h *= 0.5
                        continue
                    elif method != RK4 and turns_too_far(spin, h, monitor):
                        monitor[watch.SPIN] = spin
                        rejected = True
                        count[layout.REJECTED] += 1
                        h *= 0.6
                        continue
                if (
                    one_sided and error < 1.0 and acts != count[layout.ACTING] and landings < LANDINGS and not singular
                ):  # fmt: skip
                    natural = h if landings == 0 else natural
                    size = corner_within(
                        method, n, t, h, natural, y, work, control, count, hooks, rhs, context
                    )
                    if size != h:
                        landings += 1
                        count[layout.REJECTED] += 1
                        h = size
                        continue
                if error < 1.0:
                    factor = 10.0 if error == 0.0 else min(10.0, 0.9 * error ** (-1.0 / order))
                    if closed:
                        factor = growth(order, error, control)
                    if rejected:
                        factor = min(1.0, factor)
                    if landings > 0:  # the step was short for the corner only
                        factor = max(factor, natural / h)
                    break
                rejected = True
                count[layout.REJECTED] += 1
                shrink, least = 0.9 * error ** (-1.0 / order), 0.5 if singular else 0.2
                h *= shrink if shrink > least else least  # also if the error is not a number
                if (
                    closed
                    and (singular or status == CHAIN_OPEN)
                    and abs(h) < GIVEN_UP * control[layout.USUAL_STEP]
                ):
                    control[layout.STEP] = h
                    return np.int32(
                        SINGULAR_POSITION + 16 * int(monitor[watch.STEP_ROW]) if singular else CHAIN_OPEN
                    )
            count[layout.STEPS] += 1
            if closed and monitor[watch.WATCHED] > 0.0:
                monitor[watch.LARGEST_PIVOT] = max(usual, monitor[watch.START_PIVOT])
                if method == DOP853:
                    follow_turns(h, monitor)
                samples, steepest = suspects(
                    method, h, monitor[watch.STAGE_PIVOTS], monitor[watch.START_PIVOT], monitor
                )
                if samples > 0:
                    time, row = passes(
                        samples, steepest, n, t, h, y, stages, work, n_euler, euler, rtol, count, monitor, project, context
                    )  # fmt: skip
                    if row >= 0 and hooks[layout.STOP] != 0:
                        control[layout.STAGE_TIME] = time
                        return np.int32(SINGULAR_POSITION + 16 * row)
                note_step(h, monitor[watch.STAGE_PIVOTS], monitor[watch.START_PIVOT], usual, monitor)
            note_usual_step(h, rejected or landings > 0, control)
            inside = wanted(t_new, n_out, t_out, control, count)
            if inside or dense_ != 0:
                usual = monitor[watch.LARGEST_PIVOT] if closed else 0.0  # outputs change no step
                status = dense(method, n, t, h, y, work, rhs, context)
                if status != OK:
                    return status
                if method == DOP853:
                    count[layout.EVALUATIONS] += 3
                if closed and dense_ != 0 and not staged:
                    interpolate(method, n, 0.5, y, work + 8 * n * layout.DENSE, out)
                    if not fits(n, m, t + 0.5 * h, work, rtol, atol, project, context):
                        # the noise of stages off the manifold spoils the interpolant; the step stays what it is
                        dense_on_manifold(
                            method, n, t, h, y, stages, work, control, monitor, rhs, project, context
                        )
                        count[layout.EVALUATIONS] += stages + 3
                while inside:
                    wish = t_out[count[layout.WRITTEN]]
                    status = OK
                    if closed and singular:
                        status = step_to(
                            method, n, wish, t, y, t_new, stages, staged, work, control, monitor, rhs, project, context
                        )  # fmt: skip
                    else:
                        interpolate(method, n, (wish - t) / h, y, work + 8 * n * layout.DENSE, out)
                        retract(out, e5, euler, n_euler)
                        if closed and not fits(n, m, wish, work, rtol, atol, project, context):
                            status = step_to(
                                method, n, wish, t, y, t_new, stages, True, work, control, monitor, rhs, project, context
                            )  # fmt: skip
                    if status != OK:
                        return status
                    copy(y_out_, count[layout.WRITTEN], n, out)
                    count[layout.WRITTEN] += 1
                    inside = wanted(t_new, n_out, t_out, control, count)
                if closed:
                    monitor[watch.LARGEST_PIVOT] = usual
            take_step(n, y, stages, work, dense_, n_euler, euler, count)
            t = t_new
            count[layout.ACTING] = acts
            status = commit_step(
                n, t, h * factor, y_, work, n_out, t_out, y_out_, t_step, y_step_, control, count, hooks, rhs, context
            )  # fmt: skip
            if status != OK:
                return status
        return np.int32(OK)

    return integrate


integrate = make_integrate(False)
loop_integrate = make_integrate(True)
