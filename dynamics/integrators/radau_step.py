# mypy: ignore-errors
"""One step of Radau IIA, order 5: Jacobian, factors, Newton iteration, error estimate, interpolant.

Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8. Only the first m numbers of the state are
implicit; the others (coordinates of cut hinges) influence no rate and are quadratures.
"""

from math import isfinite, sqrt

import numpy as np

from treemech.kinematics.kernel.language import address_of, call_rhs, floats, floats2, ints, kernel
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK

from ..equations.lu import complex_factor, complex_solve, factor, solve
from . import layout
from .runge_kutta_step import copy, square_norm
from .tableau import RADAU_C, RADAU_DERIVATIVES, RADAU_IM, RADAU_RE, RADAU_REAL, RADAU_T, RADAU_T_INVERSE

_EPSILON = 2.0**-52
MOST_ITERATIONS = 7
_SMALLEST = 1e-3  # size [m, rad, m/s, ...] of smaller numbers when they are moved for a difference
_C, _T, _TI, _DERIVATIVES = (np.array(x) for x in (RADAU_C, RADAU_T, RADAU_T_INVERSE, RADAU_DERIVATIVES))


@kernel
def differences(n, m, t, h, y, atol, count, work, rhs, groups, context):
    """Compute the Jacobian by forward differences, column by column. Returns a status.

    A number moves by the square root of the rounding unit times its size. The size is the largest of its
    value, its change in the step, its tolerance and a thousandth of a unit, so that a coordinate at rest at
    zero moves as well; prescribed numbers, whose tolerance is infinite, have no effect. Numbers of a Jacobian group move at the same time
    (dynamics/simulation/jacobian_groups.py); without a table of groups each number moves by itself.
    """
    J, rate, out = (
        floats2(work + 8 * n * layout.MATRICES, m, n),
        floats(work + 8 * n * layout.RATE, n),
        floats(work + 8 * n * layout.OUT, n),
    )
    moved, head = floats(work + 8 * n * layout.STAGE_RATES, n), ints(groups, 2 if groups != 0 else 0)
    n_groups, parts = m, 1
    if groups != 0:
        n_groups, parts = head[0], head[1]
    part = ints(groups + 16, n if groups != 0 else 0)
    members = ints(groups + 8 * (2 + n), n_groups * parts if groups != 0 else 0)
    for i in range(n):
        out[i] = y[i]
    for j in range(m):
        for i in range(n):
            J[j, i] = 0.0
    for g in range(n_groups):
        for c in range(parts):
            j = g if groups == 0 else members[parts * g + c]
            if j >= 0:
                size = max(
                    max(abs(y[j]), abs(h * rate[j])), max(atol[j] if atol[j] < np.inf else 0.0, _SMALLEST)
                )
                out[j] = y[j] + (size if rate[j] >= 0.0 else -size) * sqrt(_EPSILON)
        status = call_rhs(rhs, t, work + 8 * n * layout.OUT, work + 8 * n * layout.STAGE_RATES, context)
        count[layout.EVALUATIONS] += 1
        if status != OK:
            return status
        for i in range(m):
            c = 0 if groups == 0 else part[i]
            j = g if groups == 0 else members[parts * g + c] if c >= 0 else -1
            if j >= 0:
                J[j, i] = (moved[i] - rate[i]) / (out[j] - y[j])
        for c in range(parts):
            j = g if groups == 0 else members[parts * g + c]
            if j >= 0:
                out[j] = y[j]
    return np.int32(OK)


@kernel
def linearise(n, m, t, h, y, atol, count, work, rhs, jacobian, groups, context):
    """Compute the Jacobian at the state y, exactly if there is an entry for it. Returns a status.

    jacobian(t, y, J, context) fills J column by column, n numbers each: J[n j + i] = d rhs_i / d y_j.
    """
    if jacobian != 0:
        status = call_rhs(jacobian, t, address_of(y), work + 8 * n * layout.MATRICES, context)
    else:
        status = differences(n, m, t, h, y, atol, count, work, rhs, groups, context)
    count[layout.JACOBIANS] += 1
    count[layout.HAS_JACOBIAN] = 2
    return status


@kernel
def factorise(n, m, h, control, count, work):
    """Compute the LU factors of (eigenvalue of A^-1) / h - J, real and complex.

    Returns whether they exist.
    """
    at = work + 8 * n * layout.MATRICES
    J, E = floats2(at, m, n), floats2(at + 8 * n * n, m, m)
    a, b = floats2(at + 16 * n * n, m, m), floats2(at + 24 * n * n, m, m)
    for j in range(m):
        for i in range(m):
            E[j, i] = -J[j, i]
            a[j, i] = -J[j, i]
            b[j, i] = 0.0
        E[j, j] += RADAU_REAL / h
        a[j, j] += RADAU_RE / h
        b[j, j] = RADAU_IM / h
    size = floats(work + 8 * n * layout.ROW_SIZE, m)
    count[layout.FACTORISATIONS] += 1
    control[layout.FACTORED_STEP] = h
    if not factor(E, m, ints(work + 8 * n * layout.PIVOTS, m), size):
        return False
    return complex_factor(a, b, m, ints(work + 8 * n * layout.COMPLEX_PIVOTS, m), size)


@kernel
def _solve_real(n, m, h, work):
    """Compute RIGHT = E^-1 RIGHT."""
    right = floats(work + 8 * n * layout.RIGHT, n)
    E = floats2(work + 8 * n * layout.MATRICES + 8 * n * n, m, m)
    solve(E, m, ints(work + 8 * n * layout.PIVOTS, m), right)
    for i in range(m, n):
        right[i] *= h / RADAU_REAL


@kernel
def _solve_complex(n, m, h, work):
    """Compute RIGHT_RE + i RIGHT_IM = (a + ib)^-1 (RIGHT_RE + i RIGHT_IM)."""
    x, y = floats(work + 8 * n * layout.RIGHT_RE, n), floats(work + 8 * n * layout.RIGHT_IM, n)
    at = work + 8 * n * layout.MATRICES + 16 * n * n
    a, b = floats2(at, m, m), floats2(at + 8 * n * n, m, m)
    complex_solve(a, b, m, ints(work + 8 * n * layout.COMPLEX_PIVOTS, m), x, y)
    d = h / (RADAU_RE * RADAU_RE + RADAU_IM * RADAU_IM)
    for i in range(m, n):
        s, r = x[i], y[i]
        x[i] = (s * RADAU_RE + r * RADAU_IM) * d
        y[i] = (r * RADAU_RE - s * RADAU_IM) * d


@kernel
def guess(n, h, control, count, work):
    """Guess the stages by extrapolation of the previous interpolant; zero if there is none."""
    z, w = floats2(work + 8 * n * layout.Z, 3, n), floats2(work + 8 * n * layout.TRANSFORMED, 3, n)
    if count[layout.HAS_PAST] == 0:
        for k in range(3):
            for i in range(n):
                z[k, i] = 0.0
                w[k, i] = 0.0
        return
    f = floats2(work + 8 * n * layout.DENSE, 3, n)
    for k in range(3):
        x = 1.0 + _C[k] * h / control[layout.OLD_STEP]
        for i in range(n):
            z[k, i] = (f[0, i] + (1.0 - x) * (f[1, i] + x * f[2, i])) * x - f[0, i]
    for i in range(n):
        for k in range(3):
            w[k, i] = _TI[k, 0] * z[0, i] + _TI[k, 1] * z[1, i] + _TI[k, 2] * z[2, i]


@kernel
def newton(n, m, t, h, y, atol, control, count, work, rhs, context):
    """Solve for the stages by simplified Newton iterations.

    Returns (status, iterations, rate of convergence).

    The number of iterations is 0 if it fails. The last increment of the new state is left in E5.
    """
    z, w = floats2(work + 8 * n * layout.Z, 3, n), floats2(work + 8 * n * layout.TRANSFORMED, 3, n)
    F, scale = floats2(work + 8 * n * layout.STAGE_RATES, 3, n), floats(work + 8 * n * layout.SCALE, n)
    right, out, last = (
        floats(work + 8 * n * layout.RIGHT, n),
        floats(work + 8 * n * layout.OUT, n),
        floats(work + 8 * n * layout.E5, n),
    )
    re, im = floats(work + 8 * n * layout.RIGHT_RE, n), floats(work + 8 * n * layout.RIGHT_IM, n)
    rtol = control[layout.RTOL]
    for i in range(m):
        scale[i] = 1.0 / (atol[i] + rtol * abs(y[i]))
    tolerance = max(10.0 * _EPSILON / rtol, min(0.03, sqrt(rtol)))
    rate, before = 0.0, 0.0
    for iteration in range(1, MOST_ITERATIONS + 1):
        for k in range(3):
            for i in range(n):
                out[i] = y[i] + z[k, i]
            control[layout.STAGE_TIME] = t + _C[k] * h
            status = call_rhs(
                rhs,
                control[layout.STAGE_TIME],
                work + 8 * n * layout.OUT,
                work + 8 * n * (layout.STAGE_RATES + k),
                context,
            )
            count[layout.EVALUATIONS] += 1
            if status == CHAIN_OPEN:
                return np.int32(OK), 0, rate
            if status != OK:
                return status, 0, rate
        for i in range(n):
            a, b, c = F[0, i], F[1, i], F[2, i]
            right[i] = _TI[0, 0] * a + _TI[0, 1] * b + _TI[0, 2] * c - RADAU_REAL / h * w[0, i]
            re[i] = (
                _TI[1, 0] * a + _TI[1, 1] * b + _TI[1, 2] * c - (RADAU_RE * w[1, i] - RADAU_IM * w[2, i]) / h
            )
            im[i] = (
                _TI[2, 0] * a + _TI[2, 1] * b + _TI[2, 2] * c - (RADAU_RE * w[2, i] + RADAU_IM * w[1, i]) / h
            )
        _solve_real(n, m, h, work)
        _solve_complex(n, m, h, work)
        s = 0.0
        for i in range(n):
            last[i] = right[i] + re[i]
        for i in range(m):
            s += (right[i] * right[i] + re[i] * re[i] + im[i] * im[i]) * scale[i] * scale[i]
        norm = sqrt(s / (3 * m))
        if not isfinite(norm):
            return np.int32(OK), 0, 1.0
        if iteration > 1:
            rate = norm / before
            if rate >= 0.99 or rate ** (MOST_ITERATIONS - iteration) / (1.0 - rate) * norm > tolerance:
                return np.int32(OK), 0, rate
        before = norm
        for i in range(n):
            a, b, c = w[0, i] + right[i], w[1, i] + re[i], w[2, i] + im[i]
            w[0, i], w[1, i], w[2, i] = a, b, c
            z[0, i] = _T[0, 0] * a + _T[0, 1] * b + _T[0, 2] * c
            z[1, i] = _T[1, 0] * a + _T[1, 1] * b + _T[1, 2] * c
            z[2, i] = a + b
        if norm == 0.0 or (iteration > 1 and rate / (1.0 - rate) * norm < tolerance):
            return np.int32(OK), iteration, rate
    return np.int32(OK), 0, rate


@kernel
def estimate(n, m, t, h, y, atol, again, control, count, work, rhs, context):
    """Return the error of the step relative to the tolerance, and leave its components in E5.

    The rates at the start are compared with the derivative of the collocation polynomial there. With `again`
    an estimate that is too large is damped once more: for fast parts it is far too large at first (IV.8.20).
    """
    z, rate = floats2(work + 8 * n * layout.Z, 3, n), floats(work + 8 * n * layout.RATE, n)
    right, e, new = (
        floats(work + 8 * n * layout.RIGHT, n),
        floats(work + 8 * n * layout.E5, n),
        floats(work + 8 * n * layout.NEW, n),
    )
    a, b, c = _DERIVATIVES[0, 0], _DERIVATIVES[0, 1], _DERIVATIVES[0, 2]
    for i in range(n):
        right[i] = rate[i] - (a * z[0, i] + b * z[1, i] + c * z[2, i]) / h
    _solve_real(n, m, h, work)
    copy(work, layout.E5, n, right)
    error = sqrt(square_norm(e, y, new, m, control[layout.RTOL], atol) / m)
    if again and not error < 1.0:
        out = floats(work + 8 * n * layout.OUT, n)
        for i in range(n):
            out[i] = y[i] + e[i]
        status = call_rhs(rhs, t, work + 8 * n * layout.OUT, work + 8 * n * layout.RIGHT, context)
        count[layout.EVALUATIONS] += 1
        if status != OK:
            return error
        for i in range(n):
            right[i] -= (a * z[0, i] + b * z[1, i] + c * z[2, i]) / h
        _solve_real(n, m, h, work)
        copy(work, layout.E5, n, right)
        error = sqrt(square_norm(e, y, new, m, control[layout.RTOL], atol) / m)
    return error


@kernel
def polynomial(n, y, work):
    """Write the collocation polynomial in the form of `runge_kutta_step.interpolate` for DOP853."""
    z, new, f = (
        floats2(work + 8 * n * layout.Z, 3, n),
        floats(work + 8 * n * layout.NEW, n),
        floats2(work + 8 * n * layout.DENSE, 3, n),
    )
    for i in range(n):
        a, b, c = z[0, i], z[1, i], z[2, i]
        first = _DERIVATIVES[0, 0] * a + _DERIVATIVES[0, 1] * b + _DERIVATIVES[0, 2] * c
        last = _DERIVATIVES[1, 0] * a + _DERIVATIVES[1, 1] * b + _DERIVATIVES[1, 2] * c
        d = new[i] - y[i]
        f[0, i] = d
        f[1, i] = first - d
        f[2, i] = 2.0 * d - first - last
