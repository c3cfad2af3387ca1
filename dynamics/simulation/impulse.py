"""Impulses: jumps of the speeds by loads of no duration that act along rows of partials.

An impact of several gaps at one instant, with Newton's restitution, is a linear complementarity problem. With the
rates v of the gaps, W = J A^-1 J^T on the motions that the constraints allow, and impulses L that
only push::

    v+ = v + W L      v+ + e v >= 0      L >= 0      L (v+ + e v) = 0

A gap gets no impulse if the impulse of another one opens it faster than its own restitution. As every v is
negative, the kinetic energy changes by the sum of (1 - e) v L / 2: it never grows, whatever the restitutions.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats

from ..model.core import Constraints, Core

# [m/s, rad/s] gaps that open no faster stay closed: a gap is seen at 1e-12 m, which a fall reaches at 4e-6
AT_REST = 2e-5
OPENS = 1e-9  # part of the largest rate before an impact: gaps that open faster have come apart
_SWEEPS = 20_000
_CONVERGED = 1e-15  # largest change of an impulse in a sweep, relative to the largest impulse


class Impulse(NamedTuple):
    """Speeds afterwards, impulses of the rows [N s, N m s], and what is missing of the wanted change."""

    u: Floats
    impulses: Floats
    missing: Floats


def holding(core: Core, t: float, q: Floats, u: Floats, but: Sequence[int] = ()) -> Constraints:
    """Return the constraints of the chords that hold, without the rows `but`."""
    if core.loops is None:
        none = np.zeros(0)
        return Constraints(none, np.zeros((0, core.nu)), none, none, none)
    now, on = core.constraints(t, q, u), core.loops.work.off[: core.loops.n_rows] == 0
    on[list(but)] = False
    return Constraints(now.residual[on], now.partials[on], now.velocity[on], now.bias[on], now.loads)


def resting(core: Core) -> dict[int, int]:
    """Return the unilateral chords of one row that hold: number among the unilateral chords -> row."""
    if core.loops is None:
        return {}
    pairs = core.loops.plan.unilateral.reshape(-1, 2).tolist()
    return {k: first for k, (first, n) in enumerate(pairs) if n == 1 and not core.loops.work.off[first]}


def let_go(core: Core, t: float, q: Floats, u: Floats, closing: int) -> list[int]:
    """Return the resting unilateral chords that an impact without rebound on one of them opens."""
    chords = resting(core)
    if closing not in chords or len(chords) < 2:
        return []
    rows = list(chords.values())
    now, others = core.constraints(t, q, u), holding(core, t, q, u, rows)
    J, v = now.partials[rows], now.velocity[rows]
    answer, kept = answers(core, t, q, J, others, core.free_speeds())
    found = solve_impact(J @ answer, v + J @ kept, np.zeros(len(rows)))
    after = v + J @ (kept + answer @ found.impulses)
    return thrown_apart(list(chords), after, v, (closing,))


def thrown_apart(
    chords: Sequence[int], after: Floats, before: Floats, but: Sequence[int] = (), at_rest: float = AT_REST
) -> list[int]:
    """Return the chords whose gaps open after an impact, beyond rounding.

    They open fast enough to be seen: slower ones would close again at once, without end.
    """
    least = max(OPENS * float(np.max(np.abs(before), initial=0.0)), at_rest)
    return [k for k, rate in zip(chords, after.tolist(), strict=True) if rate > least and k not in but]


def answers(
    core: Core, t: float, q: Floats, rows: Floats, now: Constraints, free: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the changes of the speeds by unit impulses on rows (nu, k), with the constraints holding.

    The second result is the change that makes the speeds satisfy the constraints without these impulses.
    """
    A, B, P = core.inertia(t, q)[np.ix_(free, free)], rows[:, free], now.partials[:, free]
    by_rows, by_constraints = np.linalg.solve(A, B.T), np.linalg.solve(A, P.T)
    found, kept = np.zeros((core.nu, len(rows))), np.zeros(core.nu)
    share = np.linalg.lstsq(P @ by_constraints, np.column_stack((P @ by_rows, now.velocity)), rcond=1e-10)[0]
    found[free] = by_rows - by_constraints @ share[:, :-1]
    kept[free] = -by_constraints @ share[:, -1]
    return found, kept


def impulse(
    core: Core, t: float, q: Floats, u: Floats, rows: Floats, change: Floats, free: NDArray[np.bool_]
) -> Impulse:
    """Solve A (u+ - u) = B^T L with B (u+ - u) = change, on the free speeds; redundant rows share L."""
    after = np.array(u)
    A, B = core.inertia(t, q)[np.ix_(free, free)], rows[:, free]
    answer = np.linalg.solve(A, B.T)
    L: Floats = np.asarray(np.linalg.lstsq(B @ answer, change, rcond=1e-10)[0], dtype=np.float64)
    after[free] += answer @ L
    return Impulse(after, L, change - rows @ (after - u))


class ImpactSolution(NamedTuple):
    """Impulses of the gaps, and what their rates afterwards lack."""

    impulses: Floats
    missing: Floats


def solve_impact(W: Floats, rate: Floats, restitution: Floats) -> ImpactSolution:
    """Return the impulses at closing rates (negative).

    Projected Gauss-Seidel sweeps find those that push, which are then solved exactly.

    >>> solve_impact(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-3.0, -3.0]), np.ones(2)).impulses.round(12).tolist()
    [2.0, 2.0]
    """
    wanted = -(1.0 + restitution) * rate
    L = np.zeros(len(rate))
    movable = np.flatnonzero(np.diag(W) > 1e-12 * np.max(np.diag(W), initial=1e-300))
    for _ in range(_SWEEPS):
        before = L.copy()
        for k in movable:
            L[k] = max(0.0, L[k] + (wanted[k] - W[k] @ L) / W[k, k])
        if np.max(np.abs(L - before), initial=0.0) <= _CONVERGED * np.max(L, initial=0.0):
            break
    pushing = L > 0.0
    exact = np.zeros(len(L))
    exact[pushing] = np.linalg.lstsq(W[np.ix_(pushing, pushing)], wanted[pushing], rcond=1e-12)[0]
    sized = 1e-12 * np.max(L, initial=0.0)
    if np.all(exact >= -sized) and np.max(wanted - W @ exact, initial=0.0) <= np.max(
        wanted - W @ L, initial=0.0
    ):
        L = np.maximum(exact, 0.0)
    return ImpactSolution(L, np.maximum(wanted - W @ L, 0.0))
