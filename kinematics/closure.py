"""Close the chains (8.3): find positions (KSP/0) and velocities (KSP/1) that satisfy the constraints."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.elements import Hinge
from treemech.topology import ConvergenceError
from treemech.topology.arrays import Floats

from .layout.lagrange import Lagrange
from .manifold import move, turns
from .rank import allowed, rank
from .rows import Constraints, Evaluate, Rows, freedoms, quoted, worst_row

CLOSED = 1e-12  # residual of a closed chain [m, rad], relative to the size of the mechanism
# Where closing stops: next to a singular position the position is only as exact as the root of this
ROUNDOFF = 4e-16
_ATTEMPTS = 12  # starts of a search
_AS_WISHED = (
    0.1  # [m, rad] a closed position with smaller deviations is taken without looking for nearer ones
)


class Nearest(NamedTuple):
    """Position nearest to closing, and its residual."""

    q: Floats
    residual: Floats


class Wished(NamedTuple):
    """Constraints with deviations as further rows."""

    residual: Floats
    partials: Floats
    velocity: Floats
    bias: Floats


# q -> (deviations to minimise, their partials by the speeds), both times the root of the weights
Deviation = Callable[[Floats], tuple[Floats, Floats]]


def close_positions(
    lagrange: Lagrange,
    evaluate: Evaluate,
    rows: Rows,
    q: Floats,
    free: NDArray[np.bool_],
    scale: float,
    wishes: Deviation | None = None,
    fixed: Sequence[str] = (),
    taken: Callable[[Floats], object] = lambda q: None,
) -> Floats:
    """Find q with f(q, t) = 0 next to the start by Gauss-Newton on the free coordinates.

    With `wishes`, the closed position with the least sum of squared deviations is sought. If the search fails
    from this start (a stretched chain, for example), or comes out far from a wish, it starts again from
    disturbed positions; the nearest closed position counts. `fixed` names what is given besides the
    coordinates that are not free, for the error of a chain that does not close. `taken` is called with every
    position that is the best so far, where the search came to it.
    """
    best, least, gap = None, np.inf, None
    for start in islice(starts(lagrange, q, free, scale), _ATTEMPTS):
        found = search(lagrange, evaluate, start, free, scale, wishes)
        if not is_closed(found, scale):
            gap = found if gap is None or _norm(found.residual) < _norm(gap.residual) else gap
            continue
        if wishes is None:
            taken(found.q)
            return found.q
        closed = unwound(lagrange, evaluate, found.q, q, scale)
        left = wishes(closed)[0]
        if float(left @ left) < least * (1.0 - 1e-6) - 1e-24:  # of equal ones the first
            best, least = closed, float(left @ left)
            taken(closed)
        if float(np.max(np.abs(left), initial=0.0)) < _AS_WISHED:
            break
    if best is not None:
        return best
    assert gap is not None
    raise ConvergenceError(_not_closed(lagrange, evaluate, rows, gap, free, fixed))


def starts(lagrange: Lagrange, q: Floats, free: NDArray[np.bool_], scale: float) -> Iterator[Floats]:
    """Yield positions to start a search from, always the same: q itself, then others farther and farther away."""
    for step in disturbances(lagrange.nu, rng := np.random.default_rng(0)):
        yield move(lagrange, q, free * step) if np.any(step) else q
    reach = np.concatenate([np.zeros(0), *(_reach(c.hinge, scale) for c in lagrange.hinges)])
    while True:
        yield move(lagrange, q, free * rng.uniform(-reach, reach))


def disturbances(nu: int, rng: np.random.Generator | None = None) -> Iterator[Floats]:
    """Yield the motions that lead to the first starts of a search: none, then farther and farther."""
    rng = rng or np.random.default_rng(0)
    for attempt in range(9):
        yield rng.normal(size=nu) * 0.15 * attempt if attempt else np.zeros(nu)


def _reach(hinge: Hinge, scale: float) -> Floats:
    """Return how far each speed may lead: half a turn, or the size of the mechanism."""
    k, turning = hinge.euler_parameters, turns(hinge) > 0.0
    if k is not None:
        turning = np.concatenate((turning[:k], np.ones(3, dtype=bool), turning[k + 4 :]))
    return np.where(turning, np.pi, scale)


def unwound(lagrange: Lagrange, evaluate: Evaluate, q: Floats, near: Floats, scale: float) -> Floats:
    """Return the same closed position with the whole turns of its hinges next to other coordinates.

    Coordinates are left alone if the chain would open: they are coupled then.
    """
    found = np.array(q)
    for c in lagrange.hinges:
        far = np.abs(q[c.q_slice] - near[c.q_slice]) > np.pi
        turn = turns(c.hinge) * far if np.any(far) else far
        for k in np.flatnonzero(turn):
            found[c.q + k] -= turn[k] * np.round((found[c.q + k] - near[c.q + k]) / turn[k])
        if c.hinge.euler_parameters is not None:
            e = slice(c.q + c.hinge.euler_parameters, c.q + c.hinge.euler_parameters + 4)
            found[e] *= 1.0 if found[e] @ near[e] >= 0.0 else -1.0
    if np.array_equal(found, q):
        return found
    return found if is_closed(Nearest(found, evaluate(found, np.zeros(lagrange.nu)).residual), scale) else q


def search(
    lagrange: Lagrange,
    evaluate: Evaluate,
    q: Floats,
    free: NDArray[np.bool_],
    scale: float,
    wishes: Deviation | None = None,
    together: bool = True,
) -> Nearest:
    """Close the chains from one start, and move to the closed position that is nearest to the wishes around.

    First wishes and gaps are reduced `together`, so that what is not wished for gives way.
    """
    if wishes is None:
        return nearest(lagrange, evaluate, q, free, scale)
    sought: Deviation = wishes

    def both(q: Floats, u: Floats) -> Constraints:
        now, (d, J) = evaluate(q, u), sought(q)
        return Wished(np.concatenate((now.residual, d)), np.vstack((now.partials, J)), now.velocity, now.bias)

    if together:
        q = nearest(lagrange, both, q, free, scale, 1e-4).q
    found = nearest(lagrange, evaluate, q, free, scale)
    if not is_closed(found, scale):
        return found
    q = nearest_positions(lagrange, evaluate, sought, found.q, free, scale)
    return Nearest(q, evaluate(q, np.zeros(lagrange.nu)).residual)


def is_closed(found: Nearest, scale: float) -> bool:
    """Tell whether the chains are closed to rounding."""
    return _norm(found.residual) < 1e3 * CLOSED * scale


def _norm(x: Floats) -> float:
    return float(np.linalg.norm(x))


def _not_closed(
    lagrange: Lagrange,
    evaluate: Evaluate,
    rows: Rows,
    best: Nearest,
    free: NDArray[np.bool_],
    fixed: Sequence[str],
) -> str:
    """Say where a chain does not close, and whether too much is fixed."""
    name, gap = worst_row(rows, best.residual)
    if not np.isfinite(gap):
        return (
            f"{name!r} has no finite equations where the search starts, nor next to it: its ends are in a position it cannot be in "
            "(points that coincide, a disk that lies flat). Give another guess, or turn the base of one of its ends."
        )
    message = (
        f"the chain does not close at {name!r}: the nearest approach leaves a gap of {gap:.3g} (m, rad). "
    )
    dof = _freedoms_when_closed(lagrange, evaluate, best.q, len(rows) - len(fixed))
    given = [*np.array(lagrange.u_names)[~free], *fixed]
    if len(given) > dof:
        return message + (
            f"{len(given)} coordinates are fixed or prescribed ({quoted(given)}), but the "
            f"mechanism has {freedoms(dof)}: give fewer."
        )
    return message + (
        "Check the lengths and attachments on the way around it, or give another guess; what is fixed may be out "
        "of reach."
    )


def _freedoms_when_closed(lagrange: Lagrange, evaluate: Evaluate, q: Floats, count: int) -> int:
    """Count the freedoms by rank at a closed position around, of the first rows alone, with all speeds free.

    Where the chain is open, redundant rows are independent: the rank at q counts only if there is no closed
    position around.
    """

    def chords(q: Floats, u: Floats) -> Constraints:
        now = evaluate(q, u)
        return Wished(now.residual[:count], now.partials[:count], now.velocity, now.bias)

    there = nearest(lagrange, chords, q, np.ones(lagrange.nu, dtype=bool), 1.0)
    gap, rest = _norm(there.residual), np.zeros(lagrange.nu)
    if gap < 1e-6:
        return lagrange.nu - rank(chords(there.q, rest).partials, noise=10.0 * gap)
    return lagrange.nu - rank(chords(q, rest).partials)


def nearest(
    lagrange: Lagrange,
    evaluate: Evaluate,
    q: Floats,
    free: NDArray[np.bool_],
    scale: float,
    least: float = 1e-9,
) -> Nearest:
    """Bring the ends together by Gauss-Newton with limited steps, until they close or no step helps.

    A step helps if it reduces the gap by its part `least`.
    """
    rest = np.zeros(lagrange.nu)
    now = evaluate(q, rest)
    size = float(np.linalg.norm(now.residual))
    for _ in range(200):
        if size < ROUNDOFF * scale:
            break
        P = now.partials * free
        lost = ~(np.isfinite(now.residual) & np.all(np.isfinite(P), axis=1))
        if np.any(lost):  # at the start only: no step leads to such a position
            return Nearest(q, np.where(lost, np.inf, now.residual))
        step = -(free * np.linalg.lstsq(P, now.residual, rcond=1e-10)[0])  # without rounding in what is held
        largest = float(np.max(np.abs(step), initial=0.0))
        step *= min(1.0, 0.5 / largest) if largest > 0.0 else 1.0
        for _ in range(12):
            trial = move(lagrange, q, step)
            then = evaluate(trial, rest)
            then_size = float(np.linalg.norm(then.residual))
            if then_size < size:
                break
            step *= 0.4
        if not then_size < size * (1.0 - least):
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
        largest = _norm(J) * _norm(d)
        if not _norm(pull @ N) > 1e-13 * largest or _norm(d) < 1e-14 * scale:
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
            if np.linalg.norm(trial.residual) < 1e3 * CLOSED * scale and then <= size * (1.0 + 1e-14):
                break
            step *= 0.4
        else:
            break
        q, size = trial.q, then
        if float(np.max(np.abs(step))) < 1e-13:
            break
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
        u = u - free * np.linalg.lstsq(now.partials * free, now.velocity, rcond=1e-10)[0]
    left = evaluate(q, u).velocity
    scale = 1.0 + float(np.max(np.abs(u), initial=0.0))
    if float(np.max(np.abs(left), initial=0.0)) > 1e-9 * scale:
        name, gap = worst_row(rows, left)
        raise ConvergenceError(
            f"the given rates do not fit together: {name!r} would open with {gap:.3g} (m/s, rad/s). Give fewer rates, "
            "or rates that the chain allows."
        )
    return u
