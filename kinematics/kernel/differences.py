# mypy: ignore-errors
"""Central differences in compiled code, for elements that have no form on dual numbers.

A derivative is a sum over the sides of a stencil of weight times the value at the displaced place. Two orders are in
use, with two rules for the choice of the step; their results differ in the last digits, so that both stay.
"""

from .language import kernel

ROUGH_STEP = 2.0**-26  # forward differences for Newton's method in an integrator
ENOUGH = 1e-12  # accepted error, relative to the size of the numbers


@kernel
def eighth_order(side, h):
    """Return (displacement, weight) of side 0 .. 7 of the stencil of eighth order with the step h."""
    step = 1 + side // 2
    sign = 1.0 - 2.0 * (side % 2)
    weight = 0.8 if step == 1 else -0.2 if step == 2 else 4.0 / 105.0 if step == 3 else -1.0 / 280.0
    return sign * step * h, sign * weight / h


@kernel
def sixth_order(side, h):
    """Return (displacement, weight) of side 0 .. 5 of the stencil of sixth order with the step h."""
    step = 1.0 + side // 2
    weight = (1.5 if side < 2 else -0.6 if side < 4 else 0.1) / (2.0 * step * h)
    if side % 2 == 1:
        step, weight = -step, -weight
    return step * h, weight


@kernel
def keep_best(level, size, best, now, before, least):
    """Compare the derivative `now` with the one `before`, and keep the best and the last.

    Returns (whether it is accurate enough, the least gap so far).
    """
    gap, largest = 0.0, size
    for k in range(now.shape[0]):
        gap = max(gap, abs(now[k] - before[k]))
        largest = max(largest, abs(now[k]))
    if level == 0 or gap < least:
        for k in range(now.shape[0]):
            best[k] = now[k]
    least = 1e300 if level == 0 else min(least, gap)
    for k in range(now.shape[0]):
        before[k] = now[k]
    return level > 0 and gap <= ENOUGH * largest, least
