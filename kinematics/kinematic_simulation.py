"""Kinematic simulation problem over a time grid (8.3): the motion of a mechanism whose drives are given.

Positions (KSP/0) are continued from point to point along their branch, velocities (KSP/1) and accelerations
(KSP/2) follow from the rows of the constraints. A singular position is passed on the branch with continuous
velocity; where no position exists any more, the mechanism locks.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.elements import Signal
from treemech.topology import SingularError, TreemechError
from treemech.topology.arrays import Floats

from .closure import nearest
from .coordinate_rates import CoordinateRates
from .layout.lagrange import Lagrange
from .manifold import move
from .rank import complete, null_space, pivoted, rank
from .rows import Constraints, Rows, freedoms, quoted, worst_row

_STEP = 0.3  # largest motion of a coordinate between two points [rad, m]
_BEND = 0.02  # largest error of a prediction, relative to the motion
_CLOSED = 1e-11  # residual of a closed chain [m, rad], relative to the size of the mechanism
# Smallest singular value of P_f relative to its maximum: near a singular position, and at one
_NEAR, _AT = 1e-2, 1e-3
_COARSE, _FINE = (
    1e-6,
    1e-11,
)  # rtol of an integrated motion: closed again at every output, or not decided by position
_SHORTEST = 1e-11  # step at which a mechanism counts as locked, relative to the time to go


class Drive(NamedTuple):
    """Prescribed coordinate: its place in q and in u, and its signal (5.4)."""

    q: int
    u: int
    signal: Signal


class Point(NamedTuple):
    """Position, velocity and acceleration at one time, with P_f, the columns of the free speeds."""

    t: float
    q: Floats
    u: Floats
    ud: Floats
    partials: Floats
    smallest: float  # singular value of P_f


class Trajectory(NamedTuple):
    """Points over a time grid, as far as the mechanism moves; `message` tells why it stops earlier."""

    t: Floats
    q: Floats
    u: Floats
    ud: Floats
    message: str
    singular: list[tuple[float, str]]  # time at which a singular position was passed, connection concerned
    n_points: int
    reached: float  # the last time, or that of the lock-up


class Motion(NamedTuple):
    """Positions, velocities and accelerations at given times of a motion that passes no singular position."""

    q: Floats
    u: Floats
    ud: Floats


# (start, times, rtol) -> the motion, or None where it must be followed point by point
Integrate = Callable[[Point, Floats, float], Motion | None]


class Kinematics:
    """KSP of one mechanism: constraints(t, q, u, ud), names of rows, drives, times at which rates jump.

    `integrate` finds smooth motions in compiled code; `drivers` names connections that move with time.
    """

    def __init__(
        self,
        lagrange: Lagrange,
        constraints: Callable[[float, Floats, Floats, Floats], Constraints],
        rows: Rows,
        nonholonomic: NDArray[np.bool_],
        drives: Sequence[Drive],
        breaks: Sequence[float],
        scale: float,
        integrate: Integrate | None = None,
        drivers: Sequence[str] = (),
    ) -> None:
        self.lagrange, self.constraints, self.rows, self.scale = lagrange, constraints, rows, scale
        self.integrate, self.drivers = integrate, tuple(drivers)
        self.drives, self.breaks, self.holonomic = tuple(drives), sorted(set(breaks)), ~nonholonomic
        self.free = np.ones(lagrange.nu, dtype=bool)
        self.free[[d.u for d in drives]] = False
        self.coordinate_rates = CoordinateRates(lagrange)
        self.largest, self.n_points = 0.0, 0  # largest of the smallest singular values of P_f; points solved
        self.singular: list[tuple[float, str]] = []

    def trajectory(self, times: Floats, q: Floats) -> Trajectory:
        """Find the motion at all times, starting from closed positions q at the first one."""
        a = self.point(float(times[0]), q)
        self._check(a)
        if not np.any(self.free):  # nothing to follow
            return self._trajectory([self.point(float(t), a.q) for t in times], "", float(times[-1]))
        integrated = rank(a.partials[self.holonomic]) < int(np.sum(self.free))
        smooth = self.integrate(a, times, _FINE if integrated else _COARSE) if self.integrate else None
        if smooth is not None:
            for i in np.flatnonzero(np.isin(times, self.breaks)):
                _, smooth.q[i], smooth.u[i], smooth.ud[i] = self.point(float(times[i]), smooth.q[i])[:4]
            return Trajectory(times, *smooth, "", [], len(times), float(times[-1]))
        span, message, found, k = float(times[-1] - times[0]), "", [a], 1
        h = span
        while k < len(times):
            end = self._end(a.t, float(times[k] if integrated else times[-1]))
            b, h = (self._integrated(a, end), h) if integrated else self._next(a, end, h, _SHORTEST * span)
            if b is None:
                message = self._locked(a, span)
                break
            while k < len(times) and (times[k] - b.t) * span <= 0.0:
                at = float(times[k])
                found.append(
                    self._between(a, b, at) if at != b.t else self.point(at, b.q) if at in self.breaks else b
                )
                k += 1
            if not integrated and _crossed(a, b.partials):
                self.singular.append(self._passed(a, b))
            a = self._after_break(b, span) if b.t in self.breaks else b
        return self._trajectory(found, message, a.t)

    def _trajectory(self, found: list[Point], message: str, reached: float) -> Trajectory:
        t, q, u, ud = (np.array([p[i] for p in found]) for i in range(4))
        return Trajectory(t, q, u, ud, message, self.singular, self.n_points, reached)

    def _passed(self, a: Point, b: Point) -> tuple[float, str]:
        """Return time and connection of the singular position between two points: the row that depends most on others."""
        t, rest = self._crossing(a, b), np.zeros(self.lagrange.nu)
        q = self.place(t, self._interpolate(a, b, t)[0])
        U = np.linalg.svd(self.constraints(t, q, rest, rest).partials[:, self.free], full_matrices=False)[0]
        return t, self.rows[int(np.argmax(np.abs(U[:, -1])))][0]

    # ------------------------------------------------------------ one time
    def place(self, t: float, q: Floats) -> Floats:
        """Return q with the prescribed coordinates from their signals."""
        q = np.array(q)
        for drive in self.drives:
            q[drive.q] = drive.signal.at(t).value
        return q

    def point(self, t: float, q: Floats, like: tuple[Floats, Floats] | None = None) -> Point:
        """Solve for velocities (8.3.5) and accelerations at a closed position.

        With `like` = (u, ud) only the directions that P determines well are solved for; the others keep the
        given values.
        """
        u, ud = (np.array(x) for x in (like or 2 * (np.zeros(self.lagrange.nu),)))
        for drive in self.drives:
            _, u[drive.u], ud[drive.u] = drive.signal.at(t)
        q, cut = self.place(t, q), 0.0 if like is None else _AT * self.largest
        now = self.constraints(t, q, u, ud)
        P = now.partials[:, self.free]
        factors = np.linalg.svd(P, full_matrices=False)
        u[self.free] -= _solve(factors, now.velocity, cut)
        ud[self.free] -= _solve(factors, self.constraints(t, q, u, ud).bias, cut)
        values = factors[1]
        smallest = 0.0 if len(values) < P.shape[1] else float(np.min(values, initial=np.inf))
        if np.isfinite(smallest):
            self.largest = max(self.largest, smallest)
        self.n_points += 1
        return Point(t, q, u, ud, P, smallest)

    def correct(self, t: float, guess: Floats, cut: float = 0.0) -> tuple[Floats, float] | None:
        """Solve f(q, t) = 0 next to a guess (8.3.4).

        Return (q, correction), or None if the steps do not contract.
        """
        nu, holonomic = self.lagrange.nu, self.holonomic
        q, rest, moved, last = self.place(t, guess), np.zeros(nu), np.zeros(nu), 2.0 * _STEP
        for _ in range(15):
            now, step = self.constraints(t, q, rest, rest), np.zeros(nu)
            factors = np.linalg.svd(now.partials[holonomic][:, self.free], full_matrices=False)
            step[self.free] = -_solve(factors, now.residual[holonomic], cut)
            size = _largest(step)
            if not size <= 0.5 * last + 1e-9:
                return None
            q, moved, last = move(self.lagrange, q, step), moved + step, size
            if size < 1e-9:
                residual = self.constraints(t, q, rest, rest).residual[holonomic]
                return (q, _largest(moved)) if _largest(residual) < _CLOSED * self.scale else None
        return None

    def _check(self, start: Point) -> None:
        """Check that the drives are independent and leave no freedom (8.2).

        The error names the speeds to prescribe.
        """
        names, driven = np.array(self.lagrange.u_names), [d.u for d in self.drives]
        now = self.constraints(start.t, start.q, start.u, start.ud)
        N = null_space(now.partials)
        own, dof = rank(N[driven], 1.0), N.shape[1]
        good = [driven[k] for k in pivoted(N[driven])[:own]]
        bad, more = quoted(names[[k for k in driven if k not in good]]), quoted(names[complete(N, good)])
        if len(driven) > dof:
            raise SingularError(
                f"{len(driven)} coordinates are prescribed, but the mechanism has {freedoms(dof)}: {bad} cannot be chosen "
                f"besides {quoted(names[good])}. Do not prescribe {bad}."
            )
        if bad:
            raise SingularError(
                f"prescribing {bad} is unsuitable: in the position at t = {start.t:.6g} s its rate cannot be chosen, and "
                f"{freedoms(dof - own)} stay open. Prescribe {more} instead."
            )
        if more:
            raise SingularError(
                f"the motion is not determined: {freedoms(dof - own)} stay open at t = {start.t:.6g} s. Prescribe "
                f"{more} (system.prescribe), or simulate."
            )
        if _largest(now.velocity) > 1e-8 * (1.0 + _largest(start.u)):
            name, gap = worst_row(self.rows, now.velocity)
            raise SingularError(
                f"the prescribed motions do not fit together: {name!r} would open with {gap:.3g} (m/s, rad/s)."
            )

    # ------------------------------------------------------------ from point to point
    def _end(self, t: float, last: float) -> float:
        """Return the end of a smooth piece of the motion: the next break, or the last time."""
        return min([last, *(x for x in self.breaks if (x - t) * (last - x) > 0.0)], key=lambda x: abs(x - t))

    def _next(self, a: Point, end: float, h: float, shortest: float) -> tuple[Point | None, float]:
        """Take one step along the branch, halved until prediction and solution agree.

        Return (point, next step to try).
        """
        speed = _largest(a.u)
        h = np.copysign(min(abs(h), _STEP / speed if speed else np.inf), shortest)
        first = h
        while abs(h) > abs(shortest):
            t = end if abs(end - a.t) <= 1.001 * abs(h) else a.t + h
            b, error = self._follow(a, t)
            if b is not None:
                if b.smallest < _AT * self.largest:  # too close to a singular position: step over it
                    b = self._over(a, b.t - a.t, 1.4, 8, end) or b
                return b, h * min(3.0, 0.8 / max(error, 1e-3) ** 0.5)
            h *= 0.5
        return self._over(a, 1e-3 * first, 1.6, 16, end), 0.1 * first

    def _over(self, a: Point, h: float, factor: float, tries: int, end: float) -> Point | None:
        """Search with growing steps for a regular point on the branch beyond a singular position (8.3)."""
        for _ in range(tries):
            h *= factor
            if end in self.breaks and abs(h) > abs(end - a.t):
                return None
            b, _ = self._follow(a, a.t + h)
            if b is not None and b.smallest >= _AT * self.largest:
                return b
        return None

    def _follow(self, a: Point, t: float) -> tuple[Point | None, float]:
        """Follow the branch of `a` to t; the solution must agree with the prediction from `a`.

        Return (point, error).
        """
        h = t - a.t
        step = h * a.u + 0.5 * h * h * a.ud
        found = self.correct(t, move(self.lagrange, a.q, step))
        if found is None:
            return None, np.inf
        b = self.point(t if t not in self.breaks else float(np.nextafter(t, a.t)), found[0])
        allowed = _BEND * _largest(step) + 1e-7
        error = max(found[1] / allowed, abs(h) * _largest(b.u - a.u - h * a.ud) / (3.0 * allowed))
        if (
            error > 1.0
            or _largest(step) > 2.0 * _STEP
            or (_crossed(a, b.partials) and not self._passes(a, b))
        ):
            return None, error
        return b._replace(t=t), error

    def _crossing(self, a: Point, b: Point) -> float:
        """Return the time at which the determinant of P_f changes its sign between two points."""
        low, high, rest = a.t, b.t, np.zeros(self.lagrange.nu)
        for _ in range(45):
            middle = 0.5 * (low + high)
            q = self.place(middle, self._interpolate(a, b, middle)[0])
            changed = _crossed(a, self.constraints(middle, q, rest, rest).partials[:, self.free])
            low, high = (low, middle) if changed else (middle, high)
        return high

    def _passes(self, a: Point, b: Point) -> bool:
        """Tell whether the motion passes a singular position, and does not jump from one branch to another.

        The determinant changes its sign in both cases, but there is no closed position between two branches.
        """
        t = self._crossing(a, b)
        return self.correct(t, self._interpolate(a, b, t)[0], _AT * self.largest) is not None

    def _between(self, a: Point, b: Point, t: float) -> Point:
        """Return the point at a time between two others; next to a singular position it is interpolated."""

        def solved(t: float, a: Point, b: Point) -> Point | None:
            found = self.correct(t, self._interpolate(a, b, t)[0])
            return None if found is None else self.point(t, found[0])

        p = solved(t, a, b)
        limit = (_NEAR if _crossed(a, b.partials) else 1e-5) * self.largest
        if p is not None and p.smallest >= limit:
            return p
        for left in (True, False):  # the nearest regular points on both sides
            far, near = (a.t, t) if left else (b.t, t)
            for _ in range(12):
                middle = 0.5 * (far + near)
                p = solved(middle, a, b)
                if p is None or p.smallest < _NEAR * self.largest:
                    near = middle
                else:
                    far, a, b = (middle, p, b) if left else (middle, a, p)
        q, u, ud = self._interpolate(a, b, t)
        found = self.correct(t, q, _AT * self.largest)
        return self.point(t, q if found is None else found[0], (u, ud))

    def _interpolate(self, a: Point, b: Point, t: float) -> tuple[Floats, Floats, Floats]:
        """Interpolate q, u, ud at t: quintic through positions, velocities, accelerations of two points."""
        h, s = b.t - a.t, (t - a.t) / (b.t - a.t)
        (a1, a2), (b1, b2) = (self.coordinate_rates.derivatives(p.q, p.u, p.ud) for p in (a, b))
        c = np.array([a.q, h * a1, 0.5 * h * h * a2])
        d = b.q - c.sum(axis=0), h * b1 - c[1] - 2.0 * c[2], h * h * b2 - 2.0 * c[2]
        c = np.array([
            *c, 10.0 * d[0] - 4.0 * d[1] + 0.5 * d[2], -15.0 * d[0] + 7.0 * d[1] - d[2],
            6.0 * d[0] - 3.0 * d[1] + 0.5 * d[2],
        ])  # fmt: skip
        k = np.arange(6)
        q, q1 = s**k @ c, k[1:] * s ** k[:5] @ c[1:] / h
        q2 = k[2:] * k[1:5] * s ** k[:4] @ c[2:] / (h * h)
        return self.coordinate_rates.speeds(q, q1, q2)

    def _after_break(self, b: Point, span: float) -> Point:
        """Return the point an instant after a time at which prescribed rates jump."""
        after = float(np.nextafter(b.t, b.t + span))
        jump = _largest(self.place(after, b.q) - self.place(float(np.nextafter(b.t, b.t - span)), b.q))
        if jump > 1e-9 * (1.0 + _largest(b.q)):
            raise TreemechError(
                f"a prescribed motion jumps by {jump:.6g} at t = {b.t:.6g} s: it must be continuous."
            )
        return self.point(after, b.q)._replace(t=b.t)

    def _integrated(self, a: Point, t: float) -> Point | None:
        """Integrate the speeds that nonholonomic rows determine to t; close the holonomic rows (8.3.6)."""
        from scipy.integrate import solve_ivp

        def rates(t: float, q: Floats) -> Floats:
            p = self.point(t, q)
            return self.coordinate_rates.derivatives(p.q, p.u, p.ud)[0]

        q = solve_ivp(rates, (a.t, t), a.q, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
        found = self.correct(t, self.coordinate_rates.speeds(q, q, q)[0])
        return None if found is None else self.point(t, found[0])

    def _locked(self, a: Point, span: float) -> str:
        """Report a lock-up: its time, and the joint that would open beyond it."""
        t = a.t + 1e-3 * span
        rest = np.zeros(self.lagrange.nu)
        found = nearest(
            self.lagrange,
            lambda q, u: self.constraints(t, q, u, rest),
            self.place(t, a.q),
            self.free,
            self.scale,
        )
        name, gap = worst_row(self.rows, found.residual)
        moving = quoted([*np.array(self.lagrange.u_names)[[d.u for d in self.drives]], *self.drivers])
        return (
            f"the mechanism locks at t = {a.t:.9g} s: beyond it {name!r} will not close (gap {gap:.3g} at "
            f"t = {t:.6g} s). Prescribe a motion of {moving} that stays within reach, or change the lengths."
        )


def _largest(x: Floats) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _solve(factors: tuple[Floats, Floats, Floats], b: Floats, cut: float) -> Floats:
    """Return the least-squares solution of P x = b, without directions of singular values below cut."""
    U, s, Vt = factors
    keep = s > max(cut, 1e-12 * float(s.max(initial=0.0)))
    return np.asarray(Vt[keep].T @ ((U.T @ b)[keep] / s[keep]))


def _crossed(a: Point, P: Floats) -> bool:
    """Tell whether the determinant of P_f has changed its sign since a point."""
    return bool(np.linalg.slogdet(a.partials.T @ P)[0] < 0.0)
