"""One search at a time t: which coordinates may move, which chains stay closed, between which limits."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.kinematics.closure import nearest, starts, unwound
from treemech.kinematics.manifold import move
from treemech.topology.arrays import Floats

from ..analyses.constraints import holonomic, nonholonomic, size
from ..analyses.states import left_free
from .compiled import Compiled
from .ends import Ends
from .limits import Limits

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Rows = Callable[[Floats], tuple[Floats, Floats]]  # q -> residuals, their partials by the speeds

_CLOSED = 1e-12  # [m, rad] residual of a closed chain, in parts of the size of the mechanism
_RANK = 1e-9  # smaller singular values of the constraints count as none
_LONGEST = 1.0  # [rad, sizes] step


class Problem:
    """What a search may do. The chords are where the search came to: `reset` lets them start anew."""

    def __init__(self, mech: "Mechanism", t: float, ends: Ends, limits: Limits) -> None:
        self.mech, self.t, self.ends, self.limits = mech, t, ends, limits
        self.lagrange, self.scale = mech._lagrange, size(mech)
        self.free = left_free(mech, {})
        self.chained = bool(mech._core.layout.chords.rows)
        self._columns = np.eye(mech.nu)[:, self.free]
        self.plain = bool(self.free.all()) and not mech._core.layout.chords.rows  # every rate is allowed
        self.compiled = Compiled(mech, t, ends, limits, _LONGEST * self.scale) if self._suits() else None
        if self.chained:
            self._constraints, self._rest = holonomic(mech, t), np.zeros(mech.nu)
            self._counts = ~nonholonomic(mech)

    def _suits(self) -> bool:
        """Tell whether the compiled search can do it: a tree of compiled hinges, nothing prescribed."""
        return self.plain and bool(self.mech.nu) and not self.mech._core.foreign

    def chords(self, q: Floats) -> tuple[Floats, Floats]:
        """Return residuals and partials of the chains: nothing in a tree."""
        if not self.chained:
            return np.zeros(0), np.zeros((0, self.mech.nu))
        now = self._constraints(q, self._rest)
        return now.residual[self._counts], now.partials[self._counts]

    def reset(self, near: Any) -> None:
        """Let cut hinges be sought next to these coordinates."""
        if self.chained:
            self.mech._core.reset_chords(near)

    def allowed(self, P: Floats) -> Floats:
        """Return an orthonormal basis (nu, n) of the rates that the rows P and the prescribed coordinates allow."""
        if not len(P):
            return self._columns
        _, s, V = np.linalg.svd(P[:, self.free])
        rank = int(np.sum(s > _RANK * max(float(s[0]), 1e-300))) if len(s) else 0
        return np.asarray(self._columns @ V[rank:].T)

    def bounds(self, q: Floats, N: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (C, low, high): steps N y stay within the limits if low <= C y <= high."""
        if not len(self.limits):
            return np.zeros((0, N.shape[1])), np.zeros(0), np.zeros(0)
        if self.limits.cut:
            self.chords(q)
        now = self.limits.values(q)
        low, high = np.minimum(self.limits.low - now, 0.0), np.maximum(self.limits.high - now, 0.0)
        C = self.limits.partials(q)
        return C if N is self._columns and self.plain else C @ N, low, high

    def shortened(self, step: Floats) -> Floats:
        """Return a step of at most the largest length."""
        largest = float(np.abs(step).max(initial=0.0))
        return step * (_LONGEST * self.scale / largest) if largest > _LONGEST * self.scale else step

    def moved(self, q: Floats, step: Floats, rows: Rows | None = None) -> Floats | None:
        """Return the position after a step, closed again and within the limits; None if it cannot be."""
        q = move(self.lagrange, q, step)
        if rows is None and not self.chained:
            return self._clipped(q)
        return self.closed(q, rows or self.chords)

    def _clipped(self, q: Floats) -> Floats:
        n = len(self.limits.q)
        if n:
            q[self.limits.q] = np.minimum(
                np.maximum(q[self.limits.q], self.limits.low[:n]), self.limits.high[:n]
            )
        return q

    def closed(self, q: Floats, rows: Rows) -> Floats | None:
        """Satisfy the rows next to q by Gauss-Newton; limits that are passed on the way hold from then on."""
        limits, held = self.limits, np.zeros(len(self.limits), dtype=bool)
        last, slow = np.inf, 0
        for _ in range(25):
            f, P = rows(q)
            if len(limits):
                now = limits.values(q)
                bound = np.clip(now, limits.low, limits.high)
                held |= np.abs(now - bound) > 1e-13
                if np.any(held):
                    side = np.where(now - limits.low < limits.high - now, limits.low, limits.high)
                    f = np.concatenate((f, (now - side)[held]))
                    P = np.vstack((P, limits.partials(q)[held]))
            size = float(np.linalg.norm(f))
            if not np.isfinite(size) or not np.all(np.isfinite(P)):
                return None
            if size < _CLOSED * self.scale:
                return self._clipped(q)
            slow = slow + 1 if size > 0.5 * last else 0
            if slow > 3:
                return None
            last = min(last, size)
            step = np.zeros(len(self.free))
            step[self.free] = -np.linalg.lstsq(P[:, self.free], f, rcond=1e-10)[0]
            q = move(self.lagrange, q, self.shortened(step))
        return None

    def starts(self, q: Floats, near: Any) -> Iterator[Floats]:
        """Yield closed positions within the limits to start from, always the same: q first, then farther ones."""
        for start in starts(self.lagrange, q, self.free, self.scale):
            self.reset(near)
            start = self._folded(start)
            if self.chained:
                found = nearest(self.lagrange, self._constraints, start, self.free, self.scale)
                closed = self.closed(self.limits.within(found.q), self.chords)
                if closed is None:
                    yield np.zeros(0)
                    continue
                start = closed
            yield start

    def _folded(self, q: Floats) -> Floats:
        """Return q with coordinates beyond a limit mirrored at it, so that starts are spread between the limits."""
        q, n = np.array(q), len(self.limits.q)
        x, low, high = q[self.limits.q], self.limits.low[:n], self.limits.high[:n]
        if not ((x >= low) & (x <= high)).all():
            both = np.isfinite(low) & np.isfinite(high)
            with np.errstate(invalid="ignore"):
                wide = np.where(both, high - low, 1.0)
                wave = np.mod(np.where(both, x - low, 0.0), 2.0 * np.maximum(wide, 1e-300))
                inside = low + np.where(wave > wide, 2.0 * wide - wave, wave)
            x = np.where(both & ((x < low) | (x > high)), inside, x)
            x = np.where(~both & (x < low), 2.0 * low - x, x)
            x = np.where(~both & (x > high), 2.0 * high - x, x)
            q[self.limits.q] = np.clip(x, low, high)
        return q

    def near(self, q: Floats, start: Floats) -> Floats:
        """Return the same position with whole turns of hinges next to a start, where the limits and the chains allow it."""
        if float(np.max(np.abs(q - start), initial=0.0)) < np.pi:
            return q
        if self.chained:
            turned = unwound(self.lagrange, self._constraints, q, start, self.scale)
        else:
            turned = unwound(self.lagrange, _no_constraints, q, start, self.scale)
        return q if self.limits.within(turned) is not turned else turned


class _Nothing:
    residual = np.zeros(0)
    partials = np.zeros((0, 0))
    velocity = np.zeros(0)
    bias = np.zeros(0)


def _no_constraints(q: Floats, u: Floats) -> Any:
    return _Nothing()
