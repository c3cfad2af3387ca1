"""Close the chains (8.3): find positions (KSP/0) and velocities (KSP/1) that satisfy the constraints."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.topology import ConvergenceError
from treemech.topology.arrays import Floats

from .layout.lagrange import Lagrange
from .rank import allowed, rank
from .rows import Evaluate, Rows, freedoms, quoted, worst_row

_CLOSED = 1e-12  # residual of a closed chain [m, rad], relative to the size of the mechanism
# Where closing stops: next to a singular position the position is only as exact as the root of this
_ROUNDOFF = 4e-16


class Nearest(NamedTuple):
    """Position nearest to closing, and its residual."""

    q: Floats
    residual: Floats


# q -> (deviations to minimise, their partials by the speeds), both times the root of the weights
Deviation = Callable[[Floats], tuple[Floats, Floats]]


def move(lagrange: Lagrange, q: Floats, step: Floats) -> Floats:
    """Return the coordinates after a small motion, on the manifold of each hinge."""
    moved = [c.hinge.move(q[c.q_slice], step[c.u_slice]) for c in lagrange.hinges]
    return np.concatenate([np.zeros(0), *moved])


def close_positions(
    lagrange: Lagrange, evaluate: Evaluate, rows: Rows, q: Floats, free: NDArray[np.bool_], scale: float
) -> Floats:
    """Find q with f(q, t) = 0 next to the start by Gauss-Newton on the free coordinates.

    If the search fails from this start (a stretched chain, for example), the start is disturbed, more with
    each attempt.
    """
    rng, best = np.random.default_rng(0), None
    for attempt in range(9):
        start = q if attempt == 0 else move(lagrange, q, free * rng.normal(size=lagrange.nu) * 0.15 * attempt)
        found = nearest(lagrange, evaluate, start, free, scale)
        size = float(np.linalg.norm(found.residual))
        if size < 1e3 * _CLOSED * scale:
            return found.q
        if best is None or size < float(np.linalg.norm(best.residual)):
            best = found
    assert best is not None
    name, gap = worst_row(rows, best.residual)
    if not np.isfinite(gap):
        raise ConvergenceError(
            f"{name!r} has no finite equations where the search starts, nor next to it: its ends are in a position it cannot be in "
            "(points that coincide, a disk that lies flat). Give another guess, or turn the base of one of its ends."
        )
    message = (
        f"the chain does not close at {name!r}: the nearest approach leaves a gap of {gap:.3g} (m, rad). "
    )
    dof, given = lagrange.nu - rank(evaluate(best.q, np.zeros(lagrange.nu)).partials), np.flatnonzero(~free)
    if len(given) > dof:
        message += (
            f"{len(given)} coordinates are fixed or prescribed ({quoted(np.array(lagrange.u_names)[given])}), but the "
            f"mechanism has {freedoms(dof)}: give fewer."
        )
    else:
        message += (
            "Check the lengths and attachments on the way around it, or give another guess; what is fixed may be out "
            "of reach."
        )
    raise ConvergenceError(message)


def nearest(
    lagrange: Lagrange, evaluate: Evaluate, q: Floats, free: NDArray[np.bool_], scale: float
) -> Nearest:
    """Bring the ends together by Gauss-Newton with limited steps, until they close or no step helps."""
    rest = np.zeros(lagrange.nu)
    now = evaluate(q, rest)
    size = float(np.linalg.norm(now.residual))
    for _ in range(200):
        if size < _ROUNDOFF * scale:
            break
        P = now.partials * free
        lost = ~(np.isfinite(now.residual) & np.all(np.isfinite(P), axis=1))
        if np.any(lost):  # at the start only: no step leads to such a position
            return Nearest(q, np.where(lost, np.inf, now.residual))
        step = -np.asarray(np.linalg.lstsq(P, now.residual, rcond=1e-10)[0], dtype=np.float64)
        largest = float(np.max(np.abs(step), initial=0.0))
        step *= min(1.0, 0.5 / largest) if largest > 0.0 else 1.0
        for _ in range(12):
            trial = move(lagrange, q, step)
            then = evaluate(trial, rest)
            then_size = float(np.linalg.norm(then.residual))
            if then_size < size:
                break
            step *= 0.4
        if not then_size < size * (1.0 - 1e-9):
            break
        q, now, size = trial, then, then_size
    return Nearest(q, now.residual)


def nearest_positions(
    lagrange: Lagrange,
    evaluate: Evaluate,
    deviation: Deviation,
    q: Floats,
    free: NDArray[np.bool_],
    scale: float,
) -> Floats:
    """Move from a closed position to the closed one with the least sum of squares of the deviations.

    Newton's method in the rates N y the chains allow, on grad (d . d / 2 + lambda . f), whose derivative
    along N comes from differences. Every step is closed again and must reduce the sum. Rates that change no
    deviation are left out.
    """
    rest, h = np.zeros(lagrange.nu), 1e-6

    def gradient(q: Floats, multipliers: Floats) -> Floats:
        d, J = deviation(q)
        return np.asarray((d @ J + multipliers @ evaluate(q, rest).partials) * free, dtype=np.float64)

    size = float(np.sum(deviation(q)[0] ** 2))
    for _ in range(60):
        P = evaluate(q, rest).partials * free
        N = allowed(P, free)
        d, J = deviation(q)
        pull = (d @ J) * free
        largest = float(np.linalg.norm(J) * np.linalg.norm(d))
        if not float(np.linalg.norm(pull @ N)) > 1e-13 * largest:
            break
        multipliers = -np.asarray(np.linalg.lstsq(P.T, pull, rcond=1e-10)[0], dtype=np.float64)
        ahead = [gradient(move(lagrange, q, h * n), multipliers) for n in N.T]
        back = [gradient(move(lagrange, q, -h * n), multipliers) for n in N.T]
        H = (np.array(ahead) - np.array(back)) @ N / (2.0 * h)
        e, V = np.linalg.eigh(0.5 * (H + H.T))
        e = np.abs(e)  # downhill for either sign of the curvature
        counts = e > 1e-8 * np.max(e)
        step = -N @ (V[:, counts] @ ((V[:, counts].T @ (pull @ N)) / e[counts]))
        step *= min(1.0, 0.3 / float(np.max(np.abs(step))))
        for _ in range(20):
            trial = nearest(lagrange, evaluate, move(lagrange, q, step), free, scale)
            then = float(np.sum(deviation(trial.q)[0] ** 2))
            if np.linalg.norm(trial.residual) < 1e3 * _CLOSED * scale and then <= size * (1.0 + 1e-14):
                break
            step *= 0.4
        else:
            break
        q, size = trial.q, then
    return q


def nearest_velocities(
    evaluate: Evaluate,
    q: Floats,
    u: Floats,
    free: NDArray[np.bool_],
    wish: Callable[[Floats], tuple[Floats, Floats]],
) -> Floats:
    """Return the allowed rates with the least sum of squares of the deviations `wish(u)`."""
    N = allowed(evaluate(q, u).partials, free)
    d, J = wish(u)
    return np.asarray(u - N @ np.linalg.lstsq(J @ N, d, rcond=1e-10)[0])


def close_velocities(evaluate: Evaluate, rows: Rows, q: Floats, u: Floats, free: NDArray[np.bool_]) -> Floats:
    """Find u with P u + P0 = 0 nearest to the start; given rates are kept."""
    for _ in range(3):
        now = evaluate(q, u)
        u = u - np.linalg.lstsq(now.partials * free, now.velocity, rcond=1e-10)[0]
    left = evaluate(q, u).velocity
    scale = 1.0 + float(np.max(np.abs(u), initial=0.0))
    if float(np.max(np.abs(left), initial=0.0)) > 1e-9 * scale:
        name, gap = worst_row(rows, left)
        raise ConvergenceError(
            f"the given rates do not fit together: {name!r} would open with {gap:.3g} (m/s, rad/s). Give fewer rates, "
            "or rates that the chain allows."
        )
    return u
