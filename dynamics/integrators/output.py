# mypy: ignore-errors
"""Output of all integration loops: states at wished times, accepted steps, interpolants."""

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, kernel
from treemech.kinematics.kernel.status import OK

from .layout import DENSE, E5, END, OUT, PENDING, TIME, WRITTEN
from .runge_kutta_step import DOP853, copy, interpolate, retract


@kernel
def wanted(t_new, n_out, t_out, control, count):
    """Whether an output is wished for before the end of the step."""
    ahead = 1.0 if control[END] >= control[TIME] else -1.0
    return count[WRITTEN] < n_out and (t_out[count[WRITTEN]] - t_new) * ahead < 0.0


@kernel
def write_within(n, t_new, y, work, euler, n_euler, n_out, t_out, y_out, control, count, project, context):
    """Outputs within a step, from its interpolant, brought onto the constraints if there are any; a status."""
    e5, out, t = floats(work + 8 * n * E5, n), floats(work + 8 * n * OUT, n), control[TIME]
    while wanted(t_new, n_out, t_out, control, count):
        wish = t_out[count[WRITTEN]]
        interpolate(DOP853, n, (wish - t) / (t_new - t), y, work + 8 * n * DENSE, out)
        retract(out, e5, euler, n_euler)
        if project != 0:
            status = call_rhs(project, wish, work + 8 * n * OUT, -1, context)
            if status != OK:
                return status
        copy(y_out, count[WRITTEN], n, out)
        count[WRITTEN] += 1
    return np.int32(OK)


@kernel
def write_interpolant(dense, n, y, work, count):
    """Write the start of a step and the coefficients of its interpolant."""
    stored = count[PENDING]
    copy(dense, 8 * stored, n, y)
    for r in range(7):
        copy(dense, 8 * stored + 1 + r, n, floats(work + 8 * n * (DENSE + r), n))


@kernel
def write_reached(n, t, y, n_out, t_out, y_out, count):
    """Outputs at a time that was reached exactly."""
    while count[WRITTEN] < n_out and t_out[count[WRITTEN]] == t:
        copy(y_out, count[WRITTEN], n, y)
        count[WRITTEN] += 1


@kernel
def write_step(n, t, y, n_out, t_out, y_out, t_step, y_step, count):
    """Write an accepted step, where steps are wished for, else the outputs at its end."""
    if n_out > 0:
        write_reached(n, t, y, n_out, t_out, y_out, count)
        return
    copy(y_step, count[PENDING], n, y)
    t_step[count[PENDING]] = t
    count[PENDING] += 1
