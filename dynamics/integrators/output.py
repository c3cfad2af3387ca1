# mypy: ignore-errors
"""Output of all integration loops: states at output times, accepted steps, interpolants."""

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import OK

from ..equations import watch
from . import layout
from .runge_kutta_step import DOP853, copy, interpolate, retract


@kernel
def wanted(t_new, n_out, t_out, control, count):
    """Return whether an output is wanted before the end of the step."""
    ahead = 1.0 if control[layout.END] >= control[layout.TIME] else -1.0
    return count[layout.WRITTEN] < n_out and (t_out[count[layout.WRITTEN]] - t_new) * ahead < 0.0


@kernel
def write_within(
    n, t_new, y, work, euler, n_euler, n_out, t_out, y_out, control, count, hooks, monitor, context
):
    """Write the outputs within a step, from its interpolant, projected onto the constraints if there are any.

    Returns a status. The largest pivot stays what it was: outputs change no step.
    """
    project, status = hooks[layout.PROJECT], np.int32(OK)
    largest = monitor[watch.LARGEST_PIVOT] if project != 0 else 0.0
    e5, out, t = (
        floats(work + 8 * n * layout.E5, n),
        floats(work + 8 * n * layout.OUT, n),
        control[layout.TIME],
    )
    while status == OK and wanted(t_new, n_out, t_out, control, count):
        wish = t_out[count[layout.WRITTEN]]
        interpolate(DOP853, n, (wish - t) / (t_new - t), y, work + 8 * n * layout.DENSE, out)
        retract(out, e5, euler, n_euler)
        if project != 0:
            status = call_rhs(project, wish, work + 8 * n * layout.OUT, -1, context)
            monitor[watch.LARGEST_PIVOT] = largest
        if status == OK:
            copy(y_out, count[layout.WRITTEN], n, out)
            count[layout.WRITTEN] += 1
    return status


@kernel
def write_interpolant(dense, n, y, work, count):
    """Write the start of a step and the coefficients of its interpolant."""
    stored = count[layout.PENDING]
    copy(dense, 8 * stored, n, y)
    for r in range(7):
        copy(dense, 8 * stored + 1 + r, n, floats(work + 8 * n * (layout.DENSE + r), n))


@kernel
def write_reached(n, t, y, n_out, t_out, y_out, count):
    """Write the outputs at a time that was reached exactly."""
    while count[layout.WRITTEN] < n_out and t_out[count[layout.WRITTEN]] == t:
        copy(y_out, count[layout.WRITTEN], n, y)
        count[layout.WRITTEN] += 1


@kernel
def write_step(n, t, y, n_out, t_out, y_out, t_step, y_step, count):
    """Write an accepted step if no output times are given, else the outputs at its end."""
    if n_out > 0:
        write_reached(n, t, y, n_out, t_out, y_out, count)
        return
    copy(y_step, count[layout.PENDING], n, y)
    t_step[count[layout.PENDING]] = t
    count[layout.PENDING] += 1
