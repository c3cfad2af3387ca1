"""Bring ends to their targets: damped Gauss-Newton, then Newton where no position reaches them.

Where the targets can be reached, steps of Levenberg and Marquardt whose damping goes with the square of what is
left converge quadratically, also next to singular positions. Where they cannot, the nearest position has gaps,
and the curvature of the way there counts: Newton's method on the Lagrange function, with its derivative from
differences. Every step is the smallest value of a quadratic function between the limits, in the rates that the
chains allow.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treemech.kinematics.manifold import move
from treemech.topology.arrays import Floats

from .problem import Problem, Rows
from .quadratic import smallest

_ITERATIONS = 100
_SLOW = 6  # steps that hardly help in a row end the search
_HARDLY = 0.97
_NEWTON = 60  # most steps
_DAMPING = 1.0  # at the start, times the sum of squared gaps

Deviation = Callable[[Floats], tuple[Floats, Floats]]


class Found(NamedTuple):
    """Where a search ended: position, half the sum of squared gaps, iterations, and whether all are reached."""

    q: Floats
    cost: float
    iterations: int
    reached: bool
    chords: Floats  # numbers of the chords there


def reach(problem: Problem, q: Floats, tolerance: float, most: int = _ITERATIONS) -> Found:
    """Bring the ends to their targets from a closed position within the limits, as far as first derivatives lead."""
    if problem.compiled is not None:
        return Found(*problem.compiled.reach(q, tolerance, most), problem.mech._core.chord_work.q.copy())
    ends, weight = problem.ends, _DAMPING
    gaps, J = ends.measure(q)
    cost, slow, done = float(gaps @ gaps), 0, 0
    for done in range(most + 1):
        if ends.reached(gaps, tolerance) or slow >= _SLOW or done == most:
            break
        N = problem.allowed(problem.chords(q)[1]) if problem.chained else problem.allowed(_NO_ROWS)
        if not N.shape[1]:
            break
        A = J if problem.plain else J @ N
        H, g = A.T @ A, gaps @ A
        largest = float(H.diagonal().max())
        if not largest > 0.0 or not float(np.abs(g).max()) > 1e-15 * largest:
            break
        C, low, high = problem.bounds(q, N)
        for _ in range(12):
            damping = weight * min(cost, largest) + 1e-12 * largest
            H.reshape(-1)[:: len(H) + 1] += damping
            y = smallest(H, g, C, low, high)
            H.reshape(-1)[:: len(H) + 1] -= damping
            trial = None if y is None else problem.moved(q, problem.shortened(y if problem.plain else N @ y))
            if trial is not None:
                then, slope = ends.measure(trial)
                after = float(then @ then)
                if after < cost:
                    break
            weight *= 8.0
        else:
            break
        slow = slow + 1 if after > _HARDLY * cost else 0
        weight = max(weight * (0.2 if after < 0.3 * cost else 0.7), 1e-3)
        q, gaps, J, cost = trial, then, slope, after
    return problem_found(problem, q, tolerance, done)


_NO_ROWS = np.zeros((0, 0))


def problem_found(problem: Problem, q: Floats, tolerance: float, iterations: int) -> Found:
    """Return what was found, with the chords fitted to it."""
    problem.chords(q)
    gaps = problem.ends.measure(q)[0]
    chords = problem.mech._core.chord_work.q.copy()
    return Found(q, float(gaps @ gaps), iterations, problem.ends.reached(gaps, tolerance), chords)


def descend(
    problem: Problem, deviation: Deviation, rows: Rows, q: Floats, held: bool = False
) -> tuple[Floats, int]:
    """Move to the position with the least sum of squares of the deviations that keeps the rows and the limits.

    Newton's method in the rates N y the rows allow, on grad (d . d / 2 + lambda . f), whose derivative along N
    comes from differences; directions that change nothing are left out. If `held`, the rows are more than the
    chains and every step is brought back to them.
    """
    h, free, done = 1e-6, problem.free, 0

    def gradient(q: Floats, multipliers: Floats) -> Floats:
        d, J = deviation(q)
        pull = d @ J
        return np.asarray(pull + multipliers @ rows(q)[1] if len(multipliers) else pull)

    d, J = deviation(q)
    size, still = float(d @ d), 0
    active = np.zeros(len(problem.limits), dtype=bool)
    while done < _NEWTON:
        done += 1
        P = rows(q)[1]
        N = problem.allowed(P)
        pull = d @ J
        C, low, high = problem.bounds(q, N)
        if not N.shape[1]:
            break
        multipliers: Floats = np.zeros(0)
        if len(P):
            bound = problem.limits.partials(q)[active] if np.any(active) else np.zeros((0, len(free)))
            full = np.vstack((P, bound))[:, free]
            found = np.linalg.lstsq(full.T, pull[free], rcond=1e-10)[0]
            multipliers = np.asarray(-found[: len(P)], dtype=np.float64)
        ahead = [gradient(move(problem.lagrange, q, h * n), multipliers) for n in N.T]
        back = [gradient(move(problem.lagrange, q, -h * n), multipliers) for n in N.T]
        H = (np.array(ahead) - np.array(back)) @ N / (2.0 * h)
        e, V = np.linalg.eigh(0.5 * (H + H.T))
        e = np.abs(e)  # downhill for either sign of the curvature
        counts = e > 1e-8 * np.max(e)
        if not np.any(counts):
            break
        V, e = V[:, counts], e[counts]
        y = smallest(np.diag(e), V.T @ (pull @ N), C @ V, low, high)
        if y is None:
            break
        move_by = C @ (V @ y)
        active = (move_by < low + 1e-12) | (move_by > high - 1e-12)
        step = problem.shortened(N @ (V @ y))
        for _ in range(25):
            trial = problem.moved(q, step, rows if held else None)
            if trial is not None:
                then, slope = deviation(trial)
                after = float(then @ then)
                if after <= size * (1.0 + 1e-15):
                    break
            step *= 0.4
        else:
            break
        still = still + 1 if after > size * (1.0 - 1e-14) else 0
        q, d, J, size = trial, then, slope, after
        if float(np.max(np.abs(step))) < 1e-11 or still >= 3:
            break
    return q, done
