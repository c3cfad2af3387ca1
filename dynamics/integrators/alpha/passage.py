# mypy: ignore-errors
"""Singular positions on the way of generalized-alpha: how near the end of a step is to one, whether the step passes one.

The iteration itself never solves for the multipliers alone, so nothing tells it. The pivots of `loop_rhs` do, at the end of
every step, and within those that come near, from its interpolant.
"""

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import OK

from ...equations.loop_monitor import (
    LARGEST_PIVOT,
    LAST_PIVOT,
    NEAR,
    SPIN,
    STAGE_PIVOTS,
    START_PIVOT,
    STEP_PIVOT,
)
from .. import layout
from ..loop_step import passes
from ..runge_kutta_step import CM, COEFFICIENTS, CS, DOP853, MANY_SAMPLES, SAMPLES, interpolate, retract

# Pivots fall with the square of the distance, by factors that differ: part of the largest, in squares of the angle [rad] a step
# turns, within which a singular position may lie in it; angle from which on it is looked at in many places
_REACH, _LONG = 100.0, 0.25


@kernel
def look_at_end(n, t, usual, count, work, monitor, rhs, context):
    """The pivot at the new state, left in the monitor; a status. `usual`: the largest of the steps before.

    (Those of iterates do not count: where one leads far away they may have any size.)
    """
    monitor[STEP_PIVOT], monitor[LARGEST_PIVOT] = 1e300, usual
    count[layout.EVALUATIONS] += 1
    return call_rhs(rhs, t, work + 8 * n * layout.NEW, work + 8 * n * layout.OLD, context)


@kernel
def passes_singular(n, t, h, y, end_pivot, count, work, euler, n_euler, monitor, rhs, context):
    """Note a singular position within the step, whose interpolant is there, if there is one."""
    angle = abs(monitor[SPIN] * h)
    if min(monitor[START_PIVOT], end_pivot) > _REACH * angle * angle * monitor[LARGEST_PIVOT]:
        return False
    samples, count_, nodes = (SAMPLES, 4, CS) if angle < _LONG else (MANY_SAMPLES, 12, CM)
    monitor[STAGE_PIVOTS], monitor[STAGE_PIVOTS + count_] = monitor[START_PIVOT], end_pivot
    out, e5 = floats(work + 8 * n * layout.OUT, n), floats(work + 8 * n * layout.E5, n)
    for s in range(1, count_):
        x = COEFFICIENTS[nodes + s]
        interpolate(DOP853, n, x, y, work + 8 * n * layout.DENSE, out)
        retract(out, e5, euler, n_euler)
        count[layout.EVALUATIONS] += 1
        if call_rhs(rhs, t + x * h, work + 8 * n * layout.OUT, work + 8 * n * layout.OLD, context) != OK:
            return False
        monitor[STAGE_PIVOTS + s] = monitor[LAST_PIVOT]
    least = min(monitor[START_PIVOT], monitor[STEP_PIVOT])
    return least < monitor[NEAR] * monitor[LARGEST_PIVOT] and passes(samples, t, h, monitor)
