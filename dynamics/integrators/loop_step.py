# mypy: ignore-errors
"""Steps of closed chains: projection onto the constraints, singular positions, chords that switch."""

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK

from ..equations import watch
from . import layout
from .runge_kutta_step import DP5, copy, dense, hermite, interpolate, run_stages

# The multiplier pivot falls with the square of the distance to a singular position: a state is next to the
# position if its pivot is below the part BESIDE of the largest. A step near it is given up below the part
# GIVEN_UP of the usual step.
BESIDE, GIVEN_UP = 1e-6, 1e-5
# Size of the next step from this error and the one before (Hairer, Norsett and Wanner, IV.2): exponents of both,
# as parts of 1 / order; the error that equal steps have, as a part of the tolerance; errors below SMALL are far
# too small: they are at a start, and a step that follows two of them is chosen by the last alone
REGARD, REGARD_BEFORE, AIM, SMALL = 0.7, 0.4, 0.3, 1e-4
ASTRAY = 0.05  # part of its way in a step that the interpolant of a number is not off by
INSTANT = 1e-9  # accuracy of the time of switching, as a part of the usual step
TICKS = 2e-14  # and as a part of the time itself, which has no finer ones


@kernel
def growth(order, error, control):
    """Return the factor from a step with this error to the next, and note the error for the one after it.

    The error before is regarded too: chains with one degree of freedom meet zeros of the estimate often, which
    say nothing about the next step.
    """
    before = control[layout.ACCEPTED_ERROR] if control[layout.ACCEPTED_ERROR] > 0.0 else 1.0
    control[layout.ACCEPTED_ERROR] = max(error, SMALL)
    if error < SMALL and before <= SMALL:
        return min(10.0, 0.9 * max(error, 1e-12) ** (-1.0 / order))
    part = max(error, 1e-12) / AIM
    return min(10.0, part ** (-REGARD / order) * (before / AIM) ** (REGARD_BEFORE / order))


@kernel
def _lead(method, n, t, h, y, rates, work, control, monitor, rhs, project, context):
    """Compute in OUT the end of a step of another size from y, whose rates are in the row `rates` of work.

    Returns a status. The largest pivot stays what it was: pivots far off the motion may have any size.
    """
    other, largest = work + 8 * n * layout.N_WORK_ROWS, monitor[watch.LARGEST_PIVOT]
    monitor[watch.STEP_PIVOT] = 1e300
    copy(other, 0, n, floats(work + 8 * n * rates, n))
    status = run_stages(method, n, t, h, y, other, control, monitor, rhs, project, context)
    if status == OK:
        copy(work, layout.OUT, n, floats(other + 8 * n * layout.NEW, n))
        monitor[watch.FRESH] = 1.0 if method != DP5 or monitor[watch.STAGED] == 0.0 else 0.0
        status = call_rhs(project, t + h, work + 8 * n * layout.OUT, -1, context)
        monitor[watch.FRESH] = 0.0
    monitor[watch.LARGEST_PIVOT] = largest
    return status


@kernel
def _gap(method, n, x, h, y, rates, work):
    """Return how far the state in OUT is from the interpolant at the part x of the step of size h from y.

    Every number counts as a part of its way in the step, which has its rates at the end in the row `rates`.
    """
    out, near, new = (
        floats(work + 8 * n * layout.OUT, n),
        floats(work + 8 * n * layout.E5, n),
        floats(work + 8 * n * layout.NEW, n),
    )
    before, after, gap = floats(work, n), floats(work + 8 * n * rates, n), 0.0
    interpolate(method, n, x, y, work + 8 * n * layout.DENSE, near)
    for i in range(n):
        way = max(abs(new[i] - y[i]), abs(h) * max(abs(before[i]), abs(after[i])))
        gap = max(gap, abs(out[i] - near[i]) / (way + 1e-6 * (1.0 + abs(y[i]))))
    return gap


@kernel
def step_to(method, n, wish, t, y, t_new, rates, staged, work, control, monitor, rhs, project, context):
    """Compute in OUT the projected state at an output time within a step, by a shorter step.

    Returns a status.

    An interpolant is not good enough near a singular position, where its projection could end on the other
    branch, nor where the noise of stages off the manifold spoils it. But nobody controls the error of the
    shorter step: if one of its stages is next to the position, its end cannot be closed or is far from the
    interpolant, the step is repeated backwards from the end of the step, whose rates are in the row `rates`. Of
    the two ends, the nearer one is taken then, or the second if only the first has a stage next to the position.
    """
    monitor[watch.STAGED] = 1.0 if staged else 0.0
    x, h, new = (wish - t) / (t_new - t), t_new - t, floats(work + 8 * n * layout.NEW, n)
    first = _lead(method, n, t, wish - t, y, 0, work, control, monitor, rhs, project, context)
    if first != OK and first != CHAIN_OPEN:
        return first
    beside = monitor[watch.STEP_PIVOT] < BESIDE * monitor[watch.LARGEST_PIVOT]
    gap = _gap(method, n, x, h, y, rates, work) if first == OK else np.inf
    if gap < ASTRAY and not beside:
        return first
    copy(work, layout.OLD, n, floats(work + 8 * n * layout.OUT, n))
    second = _lead(method, n, t_new, wish - t_new, new, rates, work, control, monitor, rhs, project, context)
    other = _gap(method, n, x, h, y, rates, work) if second == OK else np.inf
    if other < gap or (beside and other < ASTRAY) or first != OK:
        return second
    copy(work, layout.OUT, n, floats(work + 8 * n * layout.OLD, n))
    return first


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
def dense_on_manifold(method, n, t, h, y, rates, work, control, monitor, rhs, project, context):
    """Compute the interpolant of an accepted step from stages that are all projected; both ends stay as they are.

    The rates at its end are in the row `rates`. Without such stages it is the cubic of both ends.
    """
    kept, new = work + 8 * n * layout.N_WORK_ROWS, floats(work + 8 * n * layout.NEW, n)
    copy(kept, 0, n, new)
    copy(kept, 1, n, floats(work + 8 * n * rates, n))
    monitor[watch.STAGED] = 1.0
    status = run_stages(method, n, t, h, y, work, control, monitor, rhs, project, context)
    copy(work, layout.NEW, n, floats(kept, n))
    copy(work, rates, n, floats(kept + 8 * n, n))
    if status == OK:
        status = dense(method, n, t, h, y, work, rhs, context)
    if status != OK:
        hermite(n, h, y, rates, work)
    monitor[watch.STAGED] = 0.0


@kernel
def usual_reach(rtol):
    """Return how far the projection may move a step; beyond that the constraints have a kink."""
    return max(1e-2, 1e3 * rtol)


@kernel
def onto_constraints(n, m, t, work, stages, atol, reach, fresh, rank, monitor, rhs, project, context):
    """Project the new state onto the constraints and evaluate it there; its rates go to the row `stages`.

    Returns a status; CHAIN_OPEN if the state must not be accepted, because the chains do not close or the
    projection moves one of its first m numbers by more than `reach`. Prescribed numbers, whose tolerance is
    infinite, are not moved by the projection: they get the values of their signals.
    """
    new, raw = floats(work + 8 * n * layout.NEW, n), floats(work + 8 * n * layout.OLD, n)
    copy(work, layout.OLD, n, new)
    monitor[watch.FRESH], monitor[watch.STAGED] = 1.0 if fresh else 0.0, 0.0
    status = call_rhs(project, t, work + 8 * n * layout.NEW, rank, context)
    monitor[watch.FRESH] = 0.0
    if status != OK:
        return status
    for i in range(m):
        if atol[i] < np.inf and not abs(new[i] - raw[i]) < reach * (1.0 + abs(raw[i])):
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
    finest = max(INSTANT * control[layout.USUAL_STEP], TICKS * abs(t))
    control[layout.SWITCHED] = out[1] if abs(h) < finest else -1.0
    return -1 if control[layout.SWITCHED] >= 0.0 else int(out[1])
