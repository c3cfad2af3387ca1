# mypy: ignore-errors
"""Singular positions in generalized-alpha: distance of the end of a step, passage within a step.

The iteration never solves for the multipliers alone and cannot detect such positions. The pivots of
`loop_rhs` detect them: at the end of every step, and within steps that come near, from their interpolant.
"""

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import OK

from ...equations import watch
from .. import layout
from ..loop_step import passes
from ..runge_kutta_step import CM, COEFFICIENTS, CS, DOP853, MANY_SAMPLES, SAMPLES, interpolate, retract

# Pivots fall with the square of the distance to a singular position, by factors that differ. A step that
# turns by an angle [rad] may contain one if a pivot is below _REACH angle^2 of the largest; from the angle
# _LONG on, many points are examined
_REACH, _LONG = 100.0, 0.25


@kernel
def look_at_end(n, t, usual, count, work, monitor, rhs, context):
    """Evaluate the pivot at the new state, and leave it in the monitor. Returns a status.

    `usual` is the largest pivot of the steps before. Pivots of iterates do not count: far away they may have
    any size.
    """
    monitor[watch.STEP_PIVOT], monitor[watch.LARGEST_PIVOT] = 1e300, usual
    count[layout.EVALUATIONS] += 1
    return call_rhs(rhs, t, work + 8 * n * layout.NEW, work + 8 * n * layout.OLD, context)


@kernel
def passes_singular(n, t, h, y, end_pivot, count, work, euler, n_euler, monitor, rhs, context):
    """Note a singular position within the step, from its interpolant. Returns whether there is one."""
    angle = abs(monitor[watch.SPIN] * h)
    if min(monitor[watch.START_PIVOT], end_pivot) > _REACH * angle * angle * monitor[watch.LARGEST_PIVOT]:
        return False
    samples, count_, nodes = (SAMPLES, 4, CS) if angle < _LONG else (MANY_SAMPLES, 12, CM)
    monitor[watch.STAGE_PIVOTS], monitor[watch.STAGE_PIVOTS + count_] = monitor[watch.START_PIVOT], end_pivot
    out, e5 = floats(work + 8 * n * layout.OUT, n), floats(work + 8 * n * layout.E5, n)
    for s in range(1, count_):
        x = COEFFICIENTS[nodes + s]
        interpolate(DOP853, n, x, y, work + 8 * n * layout.DENSE, out)
        retract(out, e5, euler, n_euler)
        count[layout.EVALUATIONS] += 1
        if call_rhs(rhs, t + x * h, work + 8 * n * layout.OUT, work + 8 * n * layout.OLD, context) != OK:
            return False
        monitor[watch.STAGE_PIVOTS + s] = monitor[watch.LAST_PIVOT]
    least = min(monitor[watch.START_PIVOT], monitor[watch.STEP_PIVOT])
    return least < monitor[watch.NEAR] * monitor[watch.LARGEST_PIVOT] and passes(samples, t, h, monitor)
