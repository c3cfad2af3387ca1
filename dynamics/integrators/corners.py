# mypy: ignore-errors
"""Corners of loads: a step ends where a one-sided element begins or ceases to act, so that none goes over it.

The error estimate of a step presumes smooth rates. Over the corner of a contact, a stop or a slack rope it may be
zero by chance where the error is ten thousand times the tolerance. One-sided elements (`Energetic.one_sided`) have no
load at all where they do not act, so that their records tell on which side of the corner a state is.
"""

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, ints, kernel
from treemech.kinematics.kernel.status import OK

from . import layout
from .loop_step import TICKS
from .runge_kutta_step import dense, interpolate

LANDINGS = 6  # at most, for one step
_PLACES = 31  # bits of the number that `acting` returns, two for an element; further ones share them


@kernel
def acting(hooks):
    """Return a number that tells which one-sided elements act at the state of the last evaluation.

    The table has the number of elements, then for each the addresses of its loads, how many they are, and the
    address of its energy: an actuator parallel to a rope pulls where the rope is slack, but stores nothing.
    """
    n, found = ints(hooks[layout.ONE_SIDED], 1)[0], np.int64(0)
    table = ints(hooks[layout.ONE_SIDED], 1 + 3 * n)
    for k in range(n):
        loads = floats(table[1 + 3 * k], table[2 + 3 * k])
        bit = np.int64(1) << np.int64(2 * (k % _PLACES))
        for i in range(loads.shape[0]):
            if loads[i] != 0.0:
                found += bit
                break
        if floats(table[3 + 3 * k], 1)[0] != 0.0:
            found += 2 * bit
    return found


@kernel
def acting_at(n, t, y, scratch, hooks, rhs, context):
    """Evaluate a state, whose rates go to the address `scratch`, and return what acts there; -1: it has no rates."""
    if call_rhs(rhs, t, y, scratch, context) != OK:
        return np.int64(-1)
    return acting(hooks)


@kernel
def corner_within(method, n, t, h, natural, y, work, control, count, hooks, rhs, context):
    """Return the size of the step that ends just behind the first corner within this one; h if there is none to end at.

    What acts at the start is count[ACTING]; something else does at the end. The corner is found by bisection on the
    interpolant, so finely that a jump of the load costs no more than the tolerance over a step of the size `natural`,
    which the error alone allows.
    """
    finest = max(0.1 * control[layout.RTOL] * abs(natural), TICKS * abs(t))
    low, high = 0.0, 1.0 - 2.0 * finest / abs(h)
    if high <= 0.0 or dense(method, n, t, h, y, work, rhs, context) != OK:
        return h
    out, at, scratch = (
        floats(work + 8 * n * layout.OUT, n),
        work + 8 * n * layout.OUT,
        work + 8 * n * layout.E5,
    )
    interpolate(method, n, high, y, work + 8 * n * layout.DENSE, out)
    count[layout.EVALUATIONS] += 4 if method == 0 else 1
    there = acting_at(n, t + high * h, at, scratch, hooks, rhs, context)
    if there == count[layout.ACTING] or there < 0:
        return h
    while (high - low) * abs(h) > finest:
        middle = 0.5 * (low + high)
        interpolate(method, n, middle, y, work + 8 * n * layout.DENSE, out)
        count[layout.EVALUATIONS] += 1
        there = acting_at(n, t + middle * h, at, scratch, hooks, rhs, context)
        if there < 0:
            return h
        if there == count[layout.ACTING]:
            low = middle
        else:
            high = middle
    return h if high * abs(h) < 2.0 * finest else high * h
