# mypy: ignore-errors
"""Steps of several states at once: Runge-Kutta stages on numbers of any type, with time and step size of each lane.

The formulas are those of `runge_kutta_step.py` and are evaluated in the same order, so every lane has the digits of its
state alone. Sums of stages run over the numbers of the state once where that file runs over them once for each stage; the
first product is stored before the next is added to it, so that the compiler contracts the same pairs.
"""

import numpy as np

from treemech.kinematics.kernel.language import address_of, call_rates, inlined, kernel, number_size, numbers
from treemech.kinematics.kernel.status import OK

from .runge_kutta_step import _A4, _START, C4, COEFFICIENTS, retract

_W4 = int(_START[_A4 + 4])  # weights of RK4


@kernel
def weigh_lanes(plan, out, n, K, row):
    """Compute out = sum_j coefficients[row, j] K[j]."""
    start, count, size = _START[row], _START[row + 1] - _START[row], number_size(plan)
    for i in range(n):
        out[i] = 0.0
    for j in range(count):
        a = COEFFICIENTS[start + j]
        if a != 0.0:
            k = numbers(plan, K + size * n * j, n)
            for i in range(n):
                out[i] += a * k[i]


@kernel
def combine_lanes(plan, out, n, y, h, K, row):
    """Compute out = y + h sum_j coefficients[row, j] K[j]."""
    weigh_lanes(plan, out, n, K, row)
    for i in range(n):
        out[i] = y[i] + h * out[i]


@inlined
def _stage(plan, new, n, y, h, K, s, a):
    """Compute new = y + h a K_s."""
    k = numbers(plan, K + number_size(plan) * n * s, n)
    for i in range(n):
        new[i] = y[i] + h * (a * k[i])


@kernel
def rk4_step(plan, rhs, n, t, h, y, work, euler, context):
    """Take one step of RK4 from the state y, in place. `work` is the address of 5 n numbers. Returns a status."""
    K = numbers(plan, work, n)
    retract(y, K, euler, euler.shape[0])
    status = call_rates(rhs, t, address_of(y), work, context)
    if status == OK:
        status = rk4_rest(plan, rhs, n, t, h, y, work, context)
    retract(y, K, euler, euler.shape[0])
    return status


@kernel
def rk4_rest(plan, rhs, n, t, h, y, work, context):
    """Take the rest of a step, after its first stage. Returns a status."""
    size, status = number_size(plan), np.int32(OK)
    K, new = numbers(plan, work, n), numbers(plan, work + 4 * size * n, n)
    for s in range(1, 4):
        if status != OK:
            return status
        a = 1.0 if s == 3 else 0.5
        _stage(plan, new, n, y, h, work, s - 1, a)
        status = call_rates(rhs, t + COEFFICIENTS[C4 + s] * h, address_of(new), work + s * size * n, context)
    first, w = COEFFICIENTS[_W4], (COEFFICIENTS[_W4 + 1], COEFFICIENTS[_W4 + 2], COEFFICIENTS[_W4 + 3])
    k1, k2, k3 = (
        numbers(plan, work + size * n, n),
        numbers(plan, work + 2 * size * n, n),
        numbers(plan, work + 3 * size * n, n),
    )
    for i in range(n):
        new[i] = first * K[i]
    for i in range(n):
        total = new[i]
        total += w[0] * k1[i]
        total += w[1] * k2[i]
        total += w[2] * k3[i]
        y[i] = y[i] + h * total
    return status
