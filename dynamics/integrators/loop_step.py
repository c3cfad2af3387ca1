# mypy: ignore-errors
"""What a step of a closed chain needs besides its stages: onto the constraints, past singular positions, switching."""

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK

from ..equations.loop_monitor import (
    FRESH,
    LARGEST_PIVOT,
    LAST_PIVOT,
    MOST_PASSED,
    N_PASSED,
    PASSED,
    STAGE_PIVOTS,
    STAGED,
    START_PIVOT,
    STEP_PIVOT,
    STEP_ROW,
)
from . import layout
from .runge_kutta_step import C4, C5, C8, CM, COEFFICIENTS, CS, DOP853, DP5, RK4, SAMPLES, copy, run_stages

# Part of the largest multiplier pivot, which falls with the square of the distance to a singular position, that is
# next to it; part of the usual step below which a step near it is given up.
BESIDE, GIVEN_UP = 1e-6, 1e-5
REGARD = 0.05  # exponent of the error of the step before in the size of the next one
INSTANT = 1e-9  # part of the usual step within which the time of switching is found
TURN = 1.5  # [rad] no hinge turns more in a step, else singular positions could be jumped


@kernel
def passes(method, t, h, monitor):
    """Note a singular position within the step, if there is one: where the parabola through the three smallest pivots comes to zero."""
    # the last but one stands at the end as well
    stages, nodes = (
        (11, C8) if method == DOP853 else (5, C5) if method == DP5 else (3, C4) if method == RK4 else
        (4, CS) if method == SAMPLES else (12, CM)
    )  # fmt: skip
    a, b, c = 0, -1, -1
    for s in range(1, stages + 1):
        p = monitor[STAGE_PIVOTS + s]
        if p < monitor[STAGE_PIVOTS + a]:
            a, b, c = s, a, b
        elif b < 0 or p < monitor[STAGE_PIVOTS + b]:
            b, c = s, b
        elif c < 0 or p < monitor[STAGE_PIVOTS + c]:
            c = s
    x, pa = COEFFICIENTS[nodes + a], monitor[STAGE_PIVOTS + a]
    xb, xc = COEFFICIENTS[nodes + b] - x, COEFFICIENTS[nodes + c] - x
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
def _lead(method, n, t, h, y, rates, work, control, monitor, rhs, project, context):
    """The state a step of another size leads to from y, whose rates stand in a row of the work."""
    other = work + 8 * n * layout.N_WORK_ROWS
    copy(other, 0, n, floats(work + 8 * n * rates, n))
    status = run_stages(method, n, t, h, y, other, control, monitor, rhs, context)
    if status == OK:
        copy(work, layout.OUT, n, floats(other + 8 * n * layout.NEW, n))
        status = call_rhs(project, t + h, work + 8 * n * layout.OUT, -1, context)
    return status


@kernel
def step_to(method, n, wish, t, y, t_new, rates, staged, work, control, monitor, rhs, project, context):
    """The state within a step at a wished time, by a shorter step, projected, in the room for outputs; a status.

    Near a singular position an interpolant is not good enough: off by more than the distance to the other branch, its
    projection could end there; nor where the noise of stages off the manifold spoils it. A shorter step with a stage next
    to the position is made anew, from the end of the step (whose rates stand in the row `rates`) backwards.
    """
    monitor[STAGED], monitor[STEP_PIVOT] = 1.0 if staged else 0.0, 1e300
    status = _lead(method, n, t, wish - t, y, 0, work, control, monitor, rhs, project, context)
    if status == OK and monitor[STEP_PIVOT] < BESIDE * monitor[LARGEST_PIVOT]:
        new = floats(work + 8 * n * layout.NEW, n)
        status = _lead(
            method, n, t_new, wish - t_new, new, rates, work, control, monitor, rhs, project, context
        )
    return status


@kernel
def fits(n, m, t, work, rtol, atol, project, context):
    """Project an interpolated output; whether that took no more than ten times the tolerance."""
    out, raw = floats(work + 8 * n * layout.OUT, n), floats(work + 8 * n * layout.OLD, n)
    copy(work, layout.OLD, n, out)
    if call_rhs(project, t, work + 8 * n * layout.OUT, -1, context) != OK:
        return False
    for i in range(m):
        if not abs(out[i] - raw[i]) < 10.0 * (atol[i] + rtol * abs(raw[i])):
            return False
    return True


@kernel
def usual_reach(rtol):
    """How far the projection of a step within its tolerance may lead: beyond that the constraints have a kink."""
    return max(1e-2, 1e3 * rtol)


@kernel
def onto_constraints(n, t, work, stages, reach, fresh, rank, monitor, rhs, project, context):
    """Bring the new state onto the constraints and evaluate it there.

    CHAIN_OPEN if it is not to be accepted: it does not close, or the projection moves it by more than `reach`.
    """
    new, raw = floats(work + 8 * n * layout.NEW, n), floats(work + 8 * n * layout.OLD, n)
    copy(work, layout.OLD, n, new)
    monitor[FRESH], monitor[STAGED] = 1.0 if fresh else 0.0, 0.0
    status = call_rhs(project, t, work + 8 * n * layout.NEW, rank, context)
    monitor[FRESH] = 0.0
    if status != OK:
        return status
    for i in range(n):
        if not abs(new[i] - raw[i]) < reach * (1.0 + abs(raw[i])):
            return np.int32(CHAIN_OPEN)
    status = call_rhs(rhs, t, work + 8 * n * layout.NEW, work + 8 * n * stages, context)
    monitor[START_PIVOT] = monitor[LAST_PIVOT]
    return status


@kernel
def switches(n, t, h, work, control, switch, context):
    """The chord that switches within the step, or -1; also -1 where the step is as short as the time of switching."""
    out = floats(work + 8 * n * layout.OUT, 2)
    call_rhs(switch, t, work + 8 * n * layout.NEW, work + 8 * n * layout.OUT, context)
    control[layout.SWITCHED] = out[1] if abs(h) < INSTANT * control[layout.USUAL_STEP] else -1.0
    return -1 if control[layout.SWITCHED] >= 0.0 else int(out[1])
