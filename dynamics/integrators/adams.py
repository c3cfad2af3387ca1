# mypy: ignore-errors
"""Integration loop for smooth motions with expensive rates: Adams-Bashforth-Moulton, PECE, orders 1 to 12.

Step and order vary by modified divided differences (Hairer, Norsett and Wanner, Solving Ordinary Differential
Equations I, III.5 and III.7, after Krogh, Shampine and Gordon), with two evaluations per step at any order.
Arguments, memory and pauses are those of `runge_kutta.integrate`. With chords every accepted step is
projected onto the constraints, and the differences are continued from there.
"""

from math import sqrt

import numpy as np

from treemech.kinematics.kernel.language import call_rhs, floats, floats2, ints, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK, PAUSED, STEP_TOO_SMALL

from ..equations import watch
from . import layout
from .loop_step import GIVEN_UP
from .output import wanted, write_interpolant, write_within
from .passage import full, note_step
from .runge_kutta_step import hermite, lost, retract, square_norm
from .step_control import (
    commit_step,
    end_of_step,
    evaluate_end,
    largest_step,
    limit_step,
    look_within,
    note_usual_step,
    open_leg,
)

HIGHEST = 12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)
# Points where the interpolant is fitted to the integral of the differences, and the coefficients of that fit
_INNER = np.array([0.2, 0.4, 0.6, 0.8])
_FIT = np.linalg.inv(
    np.stack([_INNER ** (j // 2 + 1) * (1 - _INNER) ** ((j + 1) // 2) for j in range(3, 7)], axis=1)
)


@kernel
def _coefficients(t, h, k, control, past):
    """Compute beta_j, g_j (III.5.10-15) of a step of size h from t.

    Returns the highest order: k + 1, or less if the past is short.
    """
    most = min(k + 1, past + 1)
    control[layout.BETA] = 1.0
    for j in range(1, most + 1):
        if j <= past:
            control[layout.BETA + j] = (
                control[layout.BETA + j - 1]
                * (t + h - control[layout.PAST + j - 1])
                / (t - control[layout.PAST + j])
            )
    for q in range(1, most + 2):
        control[layout.WORKSPACE + q] = 1.0 / q
    control[layout.G] = 1.0
    for j in range(1, most + 1):
        for q in range(1, most + 2 - j):
            control[layout.WORKSPACE + q] -= (
                control[layout.WORKSPACE + q + 1] * h / (t + h - control[layout.PAST + j - 1])
            )
        control[layout.G + j] = control[layout.WORKSPACE + 1]
    return most


@kernel
def _predict(n, h, k, y, control, work):
    """Compute NEW = y + h sum g_j beta_j phi_j."""
    new = floats(work + 8 * n * layout.NEW, n)
    for i in range(n):
        new[i] = 0.0
    for j in range(k - 1, -1, -1):
        a, phi = control[layout.G + j] * control[layout.BETA + j], floats(work + 8 * n * j, n)
        for i in range(n):
            new[i] += a * phi[i]
    for i in range(n):
        new[i] = y[i] + h * new[i]


@kernel
def _correct(n, m, h, k, most, y, atol, control, work):
    """Correct the step to order k + 1.

    Returns the errors of orders k - 2 ... k + 1 relative to the tolerance (-1: unknown).

    The components of the error of order k are left in E5.
    """
    new, f = floats(work + 8 * n * layout.NEW, n), floats(work + 8 * n * layout.NEW_RATE, n)
    d, e = floats(work + 8 * n * layout.DIFFERENCE, n), floats(work + 8 * n * layout.E5, n)
    rtol = control[layout.RTOL]
    for i in range(n):
        d[i] = f[i]
    lower2, lower, error, higher = -1.0, -1.0, 0.0, -1.0
    for j in range(1, most + 1):
        beta, phi = control[layout.BETA + j - 1], floats(work + 8 * n * (j - 1), n)
        for i in range(n):
            d[i] -= beta * phi[i]
        if j < k - 2:
            continue
        if j == k:
            for i in range(n):
                new[i] += h * control[layout.G + k] * d[i]
        size = abs(h * (control[layout.G + j] - control[layout.G + j - 1])) * sqrt(
            square_norm(d, y, new, m, rtol, atol) / m
        )
        if j == k - 2:
            lower2 = size
        elif j == k - 1:
            lower = size
        elif j == k:
            error = size
            for i in range(n):
                e[i] = d[i]
        else:
            higher = size
    return lower2, lower, error, higher


@kernel
def _shift(n, k, control, work):
    """Compute the new differences: phi_0 = f, phi_(j+1) = phi_j - beta_j (phi_j of the old time)."""
    phi, f = floats2(work, 14, n), floats(work + 8 * n * layout.NEW_RATE, n)
    for i in range(n):
        x = f[i]
        for j in range(k + 2):
            old = phi[j, i]
            phi[j, i] = x
            x -= control[layout.BETA + j] * old


@kernel
def _within(n, t, h, k, y, control, work):
    """Complete the interpolant by four values within the step, integrals of the polynomial of the differences.

    Continued back to the start of the step, the integral misses the state there by a small gap (the rates
    were corrected, and the state may have been projected). The gap is distributed linearly over the step.
    """
    new, gap = floats(work + 8 * n * layout.NEW, n), floats(work + 8 * n * layout.DIFFERENCE, n)
    phi, F = floats2(work, 14, n), floats2(work + 8 * n * layout.DENSE, 7, n)
    for p in range(-1, 4):
        x = _INNER[p] if p >= 0 else 0.0
        for j in range(k + 1):
            total = 0.0
            for s in range(7):
                at = t + h * (1.0 + 0.5 * (x - 1.0) * (1.0 + _NODES[s]))
                product = 1.0
                for r in range(j):
                    product *= (at - (t + h if r == 0 else control[layout.PAST + r - 1])) / (
                        t + h - control[layout.PAST + r]
                    )
                total += _WEIGHTS[s] * product
            control[layout.WORKSPACE + j] = 0.5 * h * (x - 1.0) * total
        for i in range(n):
            v = 0.0
            for j in range(k, -1, -1):
                v += control[layout.WORKSPACE + j] * phi[j, i]
            if p < 0:
                gap[i] = y[i] - new[i] - v
            else:
                v += new[i] + (1.0 - x) * gap[i] - y[i]
                v -= (F[0, i] + (1.0 - x) * (F[1, i] + x * F[2, i])) * x
                for r in range(4):
                    F[3 + r, i] += _FIT[r, p] * v


def adams_integrate(
    method, rhs, context, n, control_, count_, y_, atol_, work, n_euler, euler_, n_out, t_out_, y_out_,
    capacity, t_step_, y_step_, dense_, budget, hooks_,
):  # fmt: skip
    """Integrate y' = rhs(t, y) from control[TIME] to control[END]. Returns a status.

    Hooks are those of `radau_integrate`.
    """
    control, count = floats(control_, layout.N_CONTROL), ints(count_, layout.N_COUNT)
    y, atol, hooks = floats(y_, n), floats(atol_, n), ints(hooks_, layout.N_HOOKS)
    euler = ints(euler_, n_euler)
    t_out, t_step = floats(t_out_, n_out), floats(t_step_, capacity)
    end = control[layout.END]
    last, new = floats(work + 8 * n * layout.NEW_RATE, n), floats(work + 8 * n * layout.NEW, n)
    m = count[layout.CONTROLLED]
    closed = hooks[layout.PROJECT] != 0
    monitor = floats(hooks[layout.MONITOR], watch.N_MONITOR if closed else 0)
    t = control[layout.TIME]
    if count[layout.STARTED] == 0:
        if closed:
            monitor[watch.STAGED] = 0.0
        status = open_leg(
            2, n, y_, atol, work, n_euler, euler, n_out, t_out, y_out_, control, count, monitor, rhs, context
        )  # fmt: skip
        if status != OK:
            return status
        count[layout.STARTING] = 1
        count[layout.ORDER], count[layout.STEADY], count[layout.N_PAST] = 1, 0, 0
        control[layout.PAST] = t
    direction = 1.0 if end >= t else -1.0
    count[layout.PENDING] = 0
    tried = 0
    while (end - t) * direction > 0.0:
        if tried >= budget or (n_out == 0 and count[layout.PENDING] >= capacity) or full(monitor):
            return np.int32(PAUSED)
        tried += 1
        failures, status = 0, np.int32(OK)
        h = control[layout.STEP]
        if closed:
            monitor[watch.STAGE_PIVOTS] = monitor[watch.START_PIVOT]
        usual = monitor[watch.LARGEST_PIVOT] if closed else 0.0  # others may be those of states far away
        while True:
            h, vanishes = limit_step(
                t, h, direction, 0.0, largest_step(control, monitor), failures > 0, control
            )
            if vanishes:
                return status if lost(status) else np.int32(STEP_TOO_SMALL)
            t_new = end_of_step(t, h, direction, end, 0.0)
            h = t_new - t
            if closed:
                monitor[watch.STEP_PIVOT], monitor[watch.STAGED] = 1e300, 0.0
            k = count[layout.ORDER]
            known = _coefficients(t, h, k, control, count[layout.N_PAST])
            _predict(n, h, k, y, control, work)
            control[layout.STAGE_TIME] = t_new
            status = call_rhs(rhs, t_new, work + 8 * n * layout.NEW, work + 8 * n * layout.NEW_RATE, context)
            count[layout.EVALUATIONS] += 1
            if status != OK and status != CHAIN_OPEN and not lost(status):
                control[layout.STEP] = h
                return status
            lower2, lower, error, higher = -1.0, -1.0, 1e30, -1.0
            if status == OK:
                lower2, lower, error, higher = _correct(n, m, h, k, known, y, atol, control, work)
            control[layout.LAST_ERROR] = error
            opens = status == CHAIN_OPEN
            if error < 1.0:
                if closed:
                    monitor[watch.LARGEST_PIVOT] = usual
                status, opens = evaluate_end(
                    n, t_new, h, layout.NEW_RATE, atol, work, control, count, hooks, monitor, rhs, context
                )
            if error < 1.0 and not opens:
                if status != OK:
                    return status
                break
            failures += 1
            count[layout.REJECTED] += 1
            count[layout.STARTING], count[layout.STEADY] = 0, 0
            if failures > 3:
                count[layout.ORDER] = 1
            elif k > 1 and 0.0 <= lower < error:
                count[layout.ORDER] = k - 1
            h *= 0.5
            if status == CHAIN_OPEN and abs(h) < GIVEN_UP * control[layout.USUAL_STEP]:
                control[layout.STEP] = h
                return np.int32(CHAIN_OPEN)
        count[layout.STEPS] += 1
        status = look_within(
            n, t, h, y, layout.NEW_RATE, work, n_euler, euler, control, count, hooks, monitor, context
        )
        if status != OK:
            return status
        inside = dense_ != 0 or wanted(t_new, n_out, t_out, control, count)
        retract(new, last, euler, n_euler)
        if inside:
            hermite(n, h, y, layout.NEW_RATE, work)
        _shift(n, min(k, count[layout.N_PAST]), control, work)
        if inside:
            _within(n, t, h, k, y, control, work)
        if closed:
            note_step(h, monitor[watch.STAGE_PIVOTS], monitor[watch.START_PIVOT], usual, monitor)
        status = write_within(
            n, t_new, y, work, euler, n_euler, n_out, t_out, y_out_, control, count, hooks, monitor, context
        )  # fmt: skip
        if status != OK:
            return status
        if dense_ != 0:
            write_interpolant(dense_, n, y, work, count)
        for i in range(n):
            y[i] = new[i]
        for j in range(min(count[layout.N_PAST], HIGHEST) + 1, 0, -1):
            control[layout.PAST + j] = control[layout.PAST + j - 1]
        control[layout.PAST] = t_new
        count[layout.N_PAST] = min(count[layout.N_PAST] + 1, HIGHEST + 1)
        note_usual_step(h, failures > 0, control)
        # order (III.7): lower if that is as good; higher if that is better, after more than k equal steps
        count[layout.STEADY] += 1
        order = k
        if (k > 2 and max(lower, lower2) <= error) or (k == 2 and lower <= 0.5 * error):
            order = k - 1
            error = lower
            count[layout.STARTING] = 0
        elif count[layout.STARTING] == 1:
            if k < HIGHEST:
                order = k + 1
            else:
                count[layout.STARTING] = 0
        elif count[layout.STEADY] > k and k < HIGHEST and higher >= 0.0:
            if k > 1 and lower <= min(error, higher):
                order, error = k - 1, lower
            elif higher < (error if k > 1 else 0.5 * error):
                order, error = k + 1, higher
        factor = 2.0
        if count[layout.STARTING] == 0:
            factor = (0.5 / max(error, 1e-10)) ** (1.0 / (order + 1))
            factor = 2.0 if factor >= 2.0 else 1.0 if factor >= 1.0 else min(0.9, max(0.5, factor))
        elif error * 2.0 ** (k + 1) > 0.5:
            count[layout.STARTING] = 0
            factor = 1.0
        if failures > 0:
            factor = min(factor, 1.0)
        if order != k or factor != 1.0:
            count[layout.STEADY] = 0
        count[layout.ORDER] = order
        t = t_new
        status = commit_step(
            n, t, h * factor, y_, work + 8 * n * layout.NEW, n_out, t_out, y_out_, t_step, y_step_, control, count, hooks, rhs, context
        )  # fmt: skip
        if status != OK:
            return status
    return np.int32(OK)
