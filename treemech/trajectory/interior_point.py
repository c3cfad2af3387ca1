"""Primal-dual interior-point method for sparse nonlinear programs with exact second derivatives.

min f(x),  c(x) = 0,  l <= x <= u. Steps solve the regularised equations (Waechter, Biegler 2006)::

    [H + S + d I   J^T ] [ dx ]     [ grad f - z + J^T y ]
    [ J          -e I  ] [ dy ] = - [ c                  ]

with S = z_l / (x - l) + z_u / (u - x). The curvature test dx^T (H + S + d I) dx > 0 (Chiang, Zavala 2016) takes the place of an
inertia: d grows until it holds. Far from a feasible point H is that of the objective alone (Gauss-Newton: the curvature of the
constraints, with multipliers that mean little yet, leads astray). A line search on the barrier function plus nu |c| globalises,
with a second-order correction.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import bmat, csc_matrix, diags, identity
from scipy.sparse.linalg import splu

from treemech.topology.arrays import Floats

_FRACTION = 0.995  # of the way to a bound
_NEAR = 1e-2  # constraints that hold to this are near enough for exact second derivatives
_DUAL = 1e-11  # regularisation of the constraints: rows may be redundant


class Program(NamedTuple):
    """A nonlinear program by its functions; `hessian(x, y)` is that of f + y c."""

    objective: Callable[[Floats], float]
    gradient: Callable[[Floats], Floats]
    constraints: Callable[[Floats], Floats]
    jacobian: Callable[[Floats], Any]
    hessian: Callable[[Floats, Floats], Any]
    lower: Floats
    upper: Floats


class Solved(NamedTuple):
    """Solution of a program, its multipliers and how well it satisfies the conditions of an optimum."""

    x: Floats
    multipliers: Floats
    success: bool
    message: str
    iterations: int
    stationarity: float
    feasibility: float
    complementarity: float


def minimise(
    program: Program, x: Floats, tolerance: float, iterations: int, tell: Callable[[str], None] | None = None
) -> Solved:
    """Return a local minimum next to x."""
    low, high = program.lower, program.upper
    free = high > low
    x = np.where(free, x, low)
    width = np.where(np.isfinite(high - low), high - low, np.inf)
    room = np.minimum(1e-2 * np.maximum(1.0, np.abs(x)), 0.1 * width)
    x = np.where(free & np.isfinite(low), np.maximum(x, low + room), x)
    x = np.where(free & np.isfinite(high), np.minimum(x, high - room), x)
    below, above = free & np.isfinite(low), free & np.isfinite(high)
    zl, zu = below.astype(np.float64), above.astype(np.float64)
    mu, nu, shift = 0.1, 1.0, 0.0
    y = np.zeros(len(program.constraints(x)))
    own = np.flatnonzero(free)
    message, count, short, alpha, exact, none = (
        "the iterations were used up",
        0,
        0,
        0.0,
        False,
        np.zeros(len(y)),
    )

    def gaps(x: Floats) -> tuple[Floats, Floats]:
        return np.where(below, x - low, 1.0), np.where(above, high - x, 1.0)

    def barrier(x: Floats, mu: float) -> float:
        a, b = gaps(x)
        if np.any(a <= 0.0) or np.any(b <= 0.0):
            return np.inf
        return float(program.objective(x) - mu * (np.sum(np.log(a[below])) + np.sum(np.log(b[above]))))

    def errors(mu: float) -> tuple[float, float, float]:
        a, b = gaps(x)
        dual = (g + J.T @ y - zl + zu)[own]
        size = max(1.0, float(np.mean(np.abs(np.concatenate((y, zl, zu))))) / 100.0) if len(y) else 1.0
        slack = np.concatenate(((a * zl - mu)[below], (b * zu - mu)[above]))
        return tuple(
            float(np.max(np.abs(v), initial=0.0)) / s for v, s in ((dual, size), (c, 1.0), (slack, size))
        )  # type: ignore[return-value]

    g, c, J = program.gradient(x), program.constraints(x), program.jacobian(x).tocsr()
    for count in range(iterations):
        at_zero = errors(0.0)
        if tell is not None:
            tell(
                f"{count:4d}  f {program.objective(x):13.6g}  feasible {at_zero[1]:.1e}  dual {at_zero[0]:.1e}  mu {mu:.0e}  shift {shift:.0e}  step {alpha:.1e}{' exact' if exact else ''}"
            )
        if max(at_zero) <= tolerance:
            message = "an optimum was found"
            break
        while max(errors(mu)) <= 10.0 * mu and mu > 0.1 * tolerance:
            mu = max(0.1 * tolerance, min(0.2 * mu, mu**1.5))
        a, b = gaps(x)
        sigma = np.where(below, zl / a, 0.0) + np.where(above, zu / b, 0.0)
        right = (g - np.where(below, mu / a, 0.0) + np.where(above, mu / b, 0.0))[own]
        exact = short == 0 and (exact or (alpha > 0.5 and float(np.max(np.abs(c), initial=0.0)) < _NEAR))
        H = csc_matrix(program.hessian(x, y if exact else none))[own][:, own]
        Jf = J[:, own]
        size_H = max(float(np.max(np.abs(H.data), initial=0.0)), 1.0)
        shift = 0.0 if shift < 1e-9 * size_H else shift / 3.0
        for _ in range(40):
            W = H + diags(sigma[own] + shift)
            K = bmat([[W, Jf.T], [Jf, -_DUAL * identity(len(c))]], format="csc")
            try:
                solver = splu(K)
                step = solver.solve(-np.concatenate((right + Jf.T @ y, c)))
            except RuntimeError:
                step = np.full(len(own) + len(c), np.nan)
            dx, dy = step[: len(own)], step[len(own) :]
            curved = float(dx @ (W @ dx))
            if np.all(np.isfinite(step)) and curved > 1e-9 * float(dx @ dx) * min(1.0, size_H):
                break
            if exact:
                exact = False
                H = csc_matrix(program.hessian(x, none))[own][:, own]
                continue
            shift = max(1e-8 * size_H, 8.0 * shift)
        d = np.zeros(len(x))
        d[own] = dx
        dzl = np.where(below, mu / a - zl - zl / a * d, 0.0)
        dzu = np.where(above, mu / b - zu + zu / b * d, 0.0)

        def reach(v: Floats, dv: Floats, where: Any) -> float:
            back = where & (dv < 0.0)
            return min(1.0, float(np.min(-_FRACTION * v[back] / dv[back], initial=1.0)))

        most = min(reach(a, d, below), reach(b, -d, above))
        theta, slope = float(np.sum(np.abs(c))), float(right @ dx)
        if theta > 1e-14:
            nu = max(
                0.5 * nu,
                1.0,
                (slope + 0.5 * max(curved, 0.0)) / (0.7 * theta) + 1e-3,
                1.1 * float(np.max(np.abs(y + dy), initial=0.0)),
            )
        merit = barrier(x, mu) + nu * theta
        fall, alpha, found = slope - nu * theta, most, None
        for back in range(30):
            trial = x + alpha * d
            c_trial = program.constraints(trial)
            value = barrier(trial, mu) + nu * float(np.sum(np.abs(c_trial)))
            noise = 1e-13 * max(abs(merit), 1.0)
            if np.isfinite(value) and value <= merit + 1e-4 * alpha * fall + noise:
                found = trial
                break
            if back == 0 and np.all(np.isfinite(c_trial)):  # second-order correction
                again = solver.solve(-np.concatenate((right + Jf.T @ y, c_trial + alpha * c)))[: len(own)]
                dd = np.zeros(len(x))
                dd[own] = again
                corrected = x + min(reach(a, dd, below), reach(b, -dd, above)) * dd
                c_again = program.constraints(corrected)
                value = barrier(corrected, mu) + nu * float(np.sum(np.abs(c_again)))
                if np.isfinite(value) and value <= merit + 1e-4 * alpha * fall + noise:
                    found = corrected
                    break
            alpha *= 0.5
        if found is None:
            short += 1
            if not exact:
                shift = max(1e-4 * size_H, 100.0 * shift)
            if short > 6:
                message = (
                    "no step leads further: the problem may have no solution that satisfies all constraints"
                )
                break
            continue
        short = 0
        x = found
        y = y + alpha * dy
        beta = min(reach(np.where(below, zl, 1.0), dzl, below), reach(np.where(above, zu, 1.0), dzu, above))
        zl, zu = zl + beta * dzl, zu + beta * dzu
        a, b = gaps(x)
        zl = np.where(below, np.clip(zl, mu / a / 1e10, mu / a * 1e10), 0.0)
        zu = np.where(above, np.clip(zu, mu / b / 1e10, mu / b * 1e10), 0.0)
        g, c, J = program.gradient(x), program.constraints(x), program.jacobian(x).tocsr()
    final = errors(0.0)
    return Solved(x, y, max(final) <= tolerance, message, count, *final)
