# mypy: ignore-errors
"""Steps of closed chains: projection onto the constraints, singular positions, chords that switch."""

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK

from ..equations import watch
from . import layout
from .runge_kutta_step import C4, C5, C8, CM, COEFFICIENTS, CS, DOP853, DP5, RK4, SAMPLES, copy, run_stages

# The multiplier pivot falls with the square of the distance to a singular position: a state is next to the
# position if its pivot is below the part BESIDE of the largest. A step near it is given up below the part
# GIVEN_UP of the usual step.
BESIDE, GIVEN_UP = 1e-6, 1e-5
REGARD = 0.05  # exponent of the previous error in the size of the next step
INSTANT = 1e-9  # accuracy of the time of switching, as a part of the usual step
TURN = 1.5  # [rad] largest rotation of a hinge in a step, so that no singular position is jumped over


@kernel
def passes(method, t, h, monitor):
    """Note a singular position within the step. Returns whether there is one.

    It is where the parabola through the three smallest pivots reaches zero.
    """
    # stages: without the last one, since the last but one is at the end of the step as well
    stages, nodes = (
        (11, C8) if method == DOP853 else (5, C5) if method == DP5 else (3, C4) if method == RK4 else
        (4, CS) if method == SAMPLES else (12, CM)
    )  # fmt: skip
    a, b, c = 0, -1, -1
    for s in range(1, stages + 1):
        p = monitor[watch.STAGE_PIVOTS + s]
        if p < monitor[watch.STAGE_PIVOTS + a]:
            a, b, c = s, a, b
        elif b < 0 or p < monitor[watch.STAGE_PIVOTS + b]:
            b, c = s, b
        elif c < 0 or p < monitor[watch.STAGE_PIVOTS + c]:
            c = s
    x, pa = COEFFICIENTS[nodes + a], monitor[watch.STAGE_PIVOTS + a]
    xb, xc = COEFFICIENTS[nodes + b] - x, COEFFICIENTS[nodes + c] - x
    slope_b, slope_c = (
        (monitor[watch.STAGE_PIVOTS + b] - pa) / xb,
        (monitor[watch.STAGE_PIVOTS + c] - pa) / xc,
    )
    bend = (slope_b - slope_c) / (xb - xc)
    if not bend > 0.0:
        return False
    slope = slope_b - bend * xb
    x -= 0.5 * slope / bend
    least = pa - 0.25 * slope * slope / bend
    if not (0.0 <= x < 1.0 and least < 0.1 * monitor[watch.STAGE_PIVOTS + c]):
        return False
    k = int(monitor[watch.N_PASSED])
    if k < watch.MOST_PASSED:
        monitor[watch.PASSED + 2 * k] = t + x * h
        monitor[watch.PASSED + 2 * k + 1] = monitor[watch.STEP_ROW]
    monitor[watch.N_PASSED] += 1.0
    return True


@kernel
def _lead(method, n, t, h, y, rates, work, control, monitor, rhs, project, context):
    """Compute in OUT the end of a step of another size from y, whose rates are in the row `rates` of work.

    Returns a status.
    """
    other = work + 8 * n * layout.N_WORK_ROWS
    copy(other, 0, n, floats(work + 8 * n * rates, n))
    status = run_stages(method, n, t, h, y, other, control, monitor, rhs, context)
    if status == OK:
        copy(work, layout.OUT, n, floats(other + 8 * n * layout.NEW, n))
        status = call_rhs(project, t + h, work + 8 * n * layout.OUT, -1, context)
    return status


@kernel
def step_to(method, n, wish, t, y, t_new, rates, staged, work, control, monitor, rhs, project, context):
    """Compute in OUT the projected state at an output time within a step, by a shorter step.

    Returns a status.

    An interpolant is not good enough near a singular position, where its projection could end on the other
    branch, nor where the noise of stages off the manifold spoils it. If a stage of the shorter step is next
    to the position, the step is repeated backwards from the end of the step, whose rates are in the row
    `rates`.
    """
    monitor[watch.STAGED], monitor[watch.STEP_PIVOT] = 1.0 if staged else 0.0, 1e300
    status = _lead(method, n, t, wish - t, y, 0, work, control, monitor, rhs, project, context)
    if status == OK and monitor[watch.STEP_PIVOT] < BESIDE * monitor[watch.LARGEST_PIVOT]:
        new = floats(work + 8 * n * layout.NEW, n)
        status = _lead(
            method, n, t_new, wish - t_new, new, rates, work, control, monitor, rhs, project, context
        )
    return status


@kernel
def fits(n, m, t, work, rtol, atol, project, context):
    """Project an interpolated output. Returns whether that moved it by less than ten times the tolerance."""
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
    """Return how far the projection may move a step; beyond that the constraints have a kink."""
    return max(1e-2, 1e3 * rtol)


@kernel
def onto_constraints(n, t, work, stages, reach, fresh, rank, monitor, rhs, project, context):
    """Project the new state onto the constraints and evaluate it there; its rates go to the row `stages`.

    Returns a status; CHAIN_OPEN if the state must not be accepted, because the chains do not close or the
    projection moves it by more than `reach`.
    """
    new, raw = floats(work + 8 * n * layout.NEW, n), floats(work + 8 * n * layout.OLD, n)
    copy(work, layout.OLD, n, new)
    monitor[watch.FRESH], monitor[watch.STAGED] = 1.0 if fresh else 0.0, 0.0
    status = call_rhs(project, t, work + 8 * n * layout.NEW, rank, context)
    monitor[watch.FRESH] = 0.0
    if status != OK:
        return status
    for i in range(n):
        if not abs(new[i] - raw[i]) < reach * (1.0 + abs(raw[i])):
            return np.int32(CHAIN_OPEN)
    status = call_rhs(rhs, t, work + 8 * n * layout.NEW, work + 8 * n * stages, context)
    monitor[watch.START_PIVOT] = monitor[watch.LAST_PIVOT]
    return status


@kernel
def switches(n, t, h, work, control, switch, context):
    """Return the chord that switches within the step, or -1.

    Also -1 if the step is as short as the accuracy of the time of switching; control[SWITCHED] is then the chord.
    """
    out = floats(work + 8 * n * layout.OUT, 2)
    call_rhs(switch, t, work + 8 * n * layout.NEW, work + 8 * n * layout.OUT, context)
    control[layout.SWITCHED] = out[1] if abs(h) < INSTANT * control[layout.USUAL_STEP] else -1.0
    return -1 if control[layout.SWITCHED] >= 0.0 else int(out[1])
