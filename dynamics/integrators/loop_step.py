# mypy: ignore-errors
"""Steps of closed chains: projection onto the constraints, singular positions, chords that switch."""

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK

from ..equations import watch
from . import layout
from .runge_kutta_step import copy, interpolate, run_stages

# The multiplier pivot falls with the square of the distance to a singular position: a state is next to the
# position if its pivot is below the part BESIDE of the largest. A step near it is given up below the part
# GIVEN_UP of the usual step.
BESIDE, GIVEN_UP = 1e-6, 1e-5
# Size of the next step from this error and the one before (Hairer, Norsett and Wanner, IV.2): exponent of the
# error before; factor with which equal steps of DOP853 have an error of 0.93^(1/0.0375) = 0.14 of the tolerance
REGARD, SAFETY = 0.05, 0.93
ASTRAY = 0.05  # part of the way of a step that an interpolant is not off by
INSTANT = 1e-9  # accuracy of the time of switching, as a part of the usual step


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
def _gap(method, n, x, y, work):
    """Return how far the state in OUT is from the interpolant at the part x of the step, as a part of its way."""
    out, near = floats(work + 8 * n * layout.OUT, n), floats(work + 8 * n * layout.E5, n)
    new, way, gap = floats(work + 8 * n * layout.NEW, n), 0.0, 0.0
    interpolate(method, n, x, y, work + 8 * n * layout.DENSE, near)
    for i in range(n):
        way, gap = max(way, abs(new[i] - y[i])), max(gap, abs(out[i] - near[i]))
    return gap / max(way, 1e-300)


@kernel
def step_to(method, n, wish, t, y, t_new, rates, staged, work, control, monitor, rhs, project, context):
    """Compute in OUT the projected state at an output time within a step, by a shorter step.

    Returns a status.

    An interpolant is not good enough near a singular position, where its projection could end on the other
    branch, nor where the noise of stages off the manifold spoils it. If a stage of the shorter step is next
    to the position, if its end cannot be closed or is far from the interpolant (nobody controls its error), the
    step is repeated backwards from the end of the step, whose rates are in the row `rates`.
    """
    monitor[watch.STAGED], monitor[watch.STEP_PIVOT] = 1.0 if staged else 0.0, 1e300
    status = _lead(method, n, t, wish - t, y, 0, work, control, monitor, rhs, project, context)
    beside = monitor[watch.STEP_PIVOT] < BESIDE * monitor[watch.LARGEST_PIVOT]
    x, new = (wish - t) / (t_new - t), floats(work + 8 * n * layout.NEW, n)
    if status == OK and not beside:
        gap, found = _gap(method, n, x, y, work), floats(work + 8 * n * layout.OUT, n)
        if gap < ASTRAY:
            return status
        copy(work, layout.OLD, n, found)
        status = _lead(
            method, n, t_new, wish - t_new, new, rates, work, control, monitor, rhs, project, context
        )
        if status != OK or not _gap(method, n, x, y, work) < 0.5 * gap:  # the interpolant itself is astray
            copy(work, layout.OUT, n, floats(work + 8 * n * layout.OLD, n))
        return np.int32(OK)
    if status == OK or status == CHAIN_OPEN:
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
    control[layout.SWITCHED] = out[1] if abs(h) < INSTANT * control[layout.USUAL_STEP] else -1.0
    return -1 if control[layout.SWITCHED] >= 0.0 else int(out[1])
