"""Primal-dual interior-point method for sparse nonlinear programs with exact second derivatives.

min f(x),  c(x) = 0,  l <= x <= u. Steps solve the regularised equations (Waechter, Biegler 2006)::

    [H + S + d I   J^T ] [ dx ]     [ grad f - z + J^T y ]
    [ J          -e I  ] [ dy ] = - [ c                  ]

with S = z_l / (x - l) + z_u / (u - x). d grows until H + S + d I is positive definite where J dx = 0, so that an optimum is a
minimum. A filter globalises: a step is taken if it makes the barrier function phi or theta = |c| smaller
than at all points kept, with second-order corrections. Where there is none, a point that satisfies the constraints better is
sought first (restoration, by `scipy.optimize.least_squares`), and the search begins anew from there.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.sparse import bmat, csc_matrix, diags, identity
from scipy.sparse.linalg import splu

from treemech.topology.arrays import Floats

_FRACTION = 0.995  # of the way to a bound
_DUAL = 1e-11  # regularisation of the constraints: rows may be redundant
_FIRST, _MOST = 1e-4, 1e40  # shifts of the Hessian: the first that is tried, and where trying ends
_TEST = 1e-7  # the same for the test of curvature
_GAIN = (1e-5, 1e-8)  # that a step has to bring, parts of theta: less theta or less phi
_POWERS = (1.1, 2.3)  # of theta and the slope of phi, which decide that phi has to fall
_ARMIJO, _LEAST, _CORRECTIONS = 1e-8, 0.05, 4
_RESTORATIONS, _FAILURES = 5, 3
_BETTER = 0.9  # part of the infeasibility that a restoration may leave

Tell = Callable[[str], None]


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
    program: Program, x: Floats, tolerance: float, iterations: int, tell: Tell | None = None
) -> Solved:
    """Return a local minimum next to x."""
    return _Search(program, x, tolerance).run(iterations, tell)


class _Step(NamedTuple):
    """A direction of the primal and dual variables, and what solved for it."""

    d: Floats
    dy: Floats
    right: Floats  # gradient of the barrier function, free variables
    solver: Any


class _Search:
    """The iterate, its multipliers, and the barrier parameter mu."""

    def __init__(self, program: Program, x: Floats, tolerance: float) -> None:
        low, high = program.lower, program.upper
        self.program, self.tolerance, self.low, self.high = program, tolerance, low, high
        free = high > low
        self.own = np.flatnonzero(free)
        self.below, self.above = free & np.isfinite(low), free & np.isfinite(high)
        self.shift, self.last_shift, self.step = 0.0, 0.0, 0.0
        self._begin(np.where(free, x, low))

    def _begin(self, x: Floats) -> None:
        """Start at a point, moved a little away from its bounds, without multipliers."""
        width = np.where(np.isfinite(self.high - self.low), self.high - self.low, np.inf)
        room = np.minimum(1e-2 * np.maximum(1.0, np.abs(x)), 0.1 * width)
        x = np.where(self.below, np.maximum(x, self.low + room), x)
        self.x = np.where(self.above, np.minimum(x, self.high - room), x)
        self.zl, self.zu = self.below.astype(np.float64), self.above.astype(np.float64)
        self.mu = 0.1
        self.filter: list[tuple[float, float]] = []  # (theta, phi) that steps have to beat, one of the two
        self._evaluate()
        self.y, self.theta = np.zeros(len(self.c)), max(1.0, _size(self.c))

    def _evaluate(self) -> None:
        p = self.program
        self.g, self.c = p.gradient(self.x), p.constraints(self.x)
        self.J = p.jacobian(self.x).tocsr()

    # ------------------------------------------------------------ the loop
    def run(self, iterations: int, tell: Tell | None) -> Solved:
        """Go on to an optimum, or to where no step leads further."""
        message, count, restored, failed = "the iterations were used up", 0, 0, 0
        for count in range(iterations):
            at_zero = self.errors(0.0)
            if tell is not None:
                tell(
                    f"{count:4d}  f {self.program.objective(self.x):13.6g}  feasible {at_zero[1]:.1e}  dual {at_zero[0]:.1e}  "
                    f"mu {self.mu:.0e}  shift {self.shift:.0e}  step {self.step:.1e}"
                )
            if max(at_zero) <= self.tolerance:
                message = "an optimum was found"
                break
            while max(self.errors(self.mu)) <= 10.0 * self.mu and self.mu > 0.1 * self.tolerance:
                self.mu = max(0.1 * self.tolerance, min(0.2 * self.mu, self.mu**1.5))
                self.filter = []
            if self._advance():
                failed = 0
                continue
            failed += 1
            if at_zero[1] > self.tolerance and restored < _RESTORATIONS and self._restore():
                restored += 1
            elif failed > _FAILURES:
                message = (
                    "no step leads further: the problem may have no solution that satisfies all constraints"
                )
                break
        final = self.errors(0.0)
        return Solved(self.x, self.y, max(final) <= self.tolerance, message, count, *final)

    def _advance(self) -> bool:
        """Go a step; tell whether one was found."""
        made = self._direction()
        found, self.step = self._line_search(made)
        if found is None:
            self.last_shift = max(_FIRST, 100.0 * self.last_shift)
            self.filter = []
            return False
        a, b = self._gaps(self.x)
        dzl = np.where(self.below, self.mu / a - self.zl - self.zl / a * made.d, 0.0)
        dzu = np.where(self.above, self.mu / b - self.zu + self.zu / b * made.d, 0.0)
        beta = min(
            _reach(np.where(self.below, self.zl, 1.0), dzl, self.below),
            _reach(np.where(self.above, self.zu, 1.0), dzu, self.above),
        )
        self.x, self.y = found, self.y + self.step * made.dy
        self.zl, self.zu = self.zl + beta * dzl, self.zu + beta * dzu
        a, b = self._gaps(self.x)
        self.zl = np.where(self.below, np.clip(self.zl, self.mu / a / 1e10, self.mu / a * 1e10), 0.0)
        self.zu = np.where(self.above, np.clip(self.zu, self.mu / b / 1e10, self.mu / b * 1e10), 0.0)
        self._evaluate()
        return True

    # ------------------------------------------------------------ measures
    def _gaps(self, x: Floats) -> tuple[Floats, Floats]:
        return np.where(self.below, x - self.low, 1.0), np.where(self.above, self.high - x, 1.0)

    def _barrier(self, x: Floats) -> float:
        a, b = self._gaps(x)
        if np.any(a <= 0.0) or np.any(b <= 0.0):
            return np.inf
        logs = np.sum(np.log(a[self.below])) + np.sum(np.log(b[self.above]))
        return float(self.program.objective(x) - self.mu * logs)

    def errors(self, mu: float) -> tuple[float, float, float]:
        """Return how far the conditions of an optimum are from holding: stationarity, feasibility, complementarity."""
        a, b = self._gaps(self.x)
        dual = (self.g + self.J.T @ self.y - self.zl + self.zu)[self.own]
        multipliers = np.concatenate((self.y, self.zl, self.zu))
        size = max(1.0, float(np.mean(np.abs(multipliers))) / 100.0) if len(self.y) else 1.0
        slack = np.concatenate(((a * self.zl - mu)[self.below], (b * self.zu - mu)[self.above]))
        first, second, third = (float(np.max(np.abs(v), initial=0.0)) for v in (dual, self.c, slack))
        return first / size, second, third / size

    # ------------------------------------------------------------ steps
    def _direction(self) -> _Step:
        """Solve for a direction of positive curvature."""
        own, (a, b), m = self.own, self._gaps(self.x), len(self.c)
        sigma = np.where(self.below, self.zl / a, 0.0) + np.where(self.above, self.zu / b, 0.0)
        right = (self.g - np.where(self.below, self.mu / a, 0.0) + np.where(self.above, self.mu / b, 0.0))[
            own
        ]
        H = csc_matrix(self.program.hessian(self.x, self.y))[own][:, own]
        J = self.J[:, own]
        self.shift = 0.0
        while True:
            W = H + diags(sigma[own] + self.shift)
            K = bmat([[W, J.T], [J, -_DUAL * identity(m)]], format="csc")
            try:
                solver = splu(K)
                step = solver.solve(-np.concatenate((right + J.T @ self.y, self.c)))
            except RuntimeError:  # singular: another shift
                solver, step = None, np.full(len(own) + m, np.nan)
            if (np.all(np.isfinite(step)) and _convex(W, J)) or self.shift > _MOST:
                break
            growth = 8.0 if self.last_shift else 100.0
            self.shift = growth * self.shift if self.shift else max(1e-20, self.last_shift / 3.0 or _FIRST)
        self.last_shift = self.shift or self.last_shift
        d = np.zeros(len(self.x))
        d[own] = step[: len(own)]
        return _Step(d, step[len(own) :], right, solver)

    def _line_search(self, made: _Step) -> tuple[Floats | None, float]:
        """Return a point that the filter accepts, if there is one, and the part of the step."""
        (a, b), own = self._gaps(self.x), self.own
        theta, phi, slope = _size(self.c), self._barrier(self.x), float(made.right @ made.d[own])
        alpha = min(_reach(a, made.d, self.below), _reach(b, -made.d, self.above))
        if not np.all(np.isfinite(made.d)):
            return None, 0.0
        downhill, noise = slope < 0.0, 1e-14 * max(abs(phi), 1.0)
        shortest = max(_LEAST * self._shortest(theta, slope), 1e-12)
        first, trial, c = True, self.x + alpha * made.d, self.program.constraints(self.x + alpha * made.d)
        while alpha > shortest:
            towards = (
                downhill
                and theta <= 1e-4 * self.theta
                and alpha * (-slope) ** _POWERS[1] > theta ** _POWERS[0]
            )
            for _ in range(1 + _CORRECTIONS * first):
                reached, value = _size(c), self._barrier(trial)
                if self._passes(reached, value) and (
                    value <= phi + _ARMIJO * alpha * slope + noise
                    if towards
                    else reached <= (1.0 - _GAIN[0]) * theta or value <= phi - _GAIN[1] * theta + noise
                ):
                    if not towards:
                        self.filter.append(((1.0 - _GAIN[0]) * theta, phi - _GAIN[1] * theta))
                    return trial, alpha
                if not first or reached < theta or not np.isfinite(reached):
                    break
                # second-order correction: the step that also meets the constraints at its end
                left = np.concatenate((made.right + self.J[:, own].T @ self.y, c + alpha * self.c))
                d = np.zeros(len(self.x))
                d[own] = made.solver.solve(-left)[: len(own)]
                trial = self.x + min(_reach(a, d, self.below), _reach(b, -d, self.above)) * d
                c = self.program.constraints(trial)
            alpha, first = 0.5 * alpha, False
            trial = self.x + alpha * made.d
            c = self.program.constraints(trial)
        return None, 0.0

    def _passes(self, theta: float, phi: float) -> bool:
        """Tell whether a point is better than all in the filter, in one way or the other."""
        if not (np.isfinite(phi) and theta <= 1e4 * self.theta):
            return False
        return all(theta < t or phi < f for t, f in self.filter)

    def _shortest(self, theta: float, slope: float) -> float:
        """Return the part of a step below which no point can be accepted (their equation 23)."""
        if slope >= 0.0:
            return _GAIN[0]
        parts = [_GAIN[0], _GAIN[1] * theta / -slope]
        if theta <= 1e-4 * self.theta:
            parts.append(theta ** _POWERS[0] / (-slope) ** _POWERS[1])
        return min(parts)

    def _restore(self) -> bool:
        """Begin anew where the constraints hold better; tell whether there is such a point."""
        p, own, base = self.program, self.own, self.x.copy()

        def whole(v: Floats) -> Floats:
            full = base.copy()
            full[own] = v
            return full

        found = least_squares(
            lambda v: p.constraints(whole(v)), base[own], lambda v: p.jacobian(whole(v)).tocsr()[:, own],
            bounds=(self.low[own], self.high[own]), tr_solver="lsmr", max_nfev=100,
        )  # fmt: skip
        before, after = (float(np.max(np.abs(c), initial=0.0)) for c in (self.c, found.fun))
        if after > max(_BETTER * before, self.tolerance):
            return False
        self._begin(whole(found.x))
        return True


def _convex(W: Any, J: Any) -> bool:
    """Tell whether W is positive definite where J dx = 0: by the signs of pivots of [W J^T; J -e], which is symmetric.

    Both are so if W + J^T J / e is; as many pivots are negative then as there are constraints.
    """
    m = J.shape[0]
    K = bmat([[W, J.T], [J, -_TEST * identity(m)]], format="csc")
    try:
        factors = splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        return False
    same = np.array_equal(factors.perm_r, factors.perm_c)
    return same and int(np.sum(factors.U.diagonal() < 0.0)) == m


def _size(c: Floats) -> float:
    """Return theta, the sum of the absolute values of constraints."""
    return float(np.sum(np.abs(c)))


def _reach(v: Floats, dv: Floats, where: Any) -> float:
    """Return the part of dv, at most 1, that leaves v positive."""
    back = where & (dv < 0.0)
    return min(1.0, float(np.min(-_FRACTION * v[back] / dv[back], initial=1.0)))
