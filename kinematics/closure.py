"""Closing the chains (8.3): positions (KSP/0) and velocities (KSP/1) that satisfy the constraints; rank (8.2)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from treemech.topology import ConvergenceError
from treemech.topology.arrays import Floats

from .layout.lagrange import Lagrange

Rows = list[tuple[str, int]]
_CLOSED = 1e-12  # residual of a closed chain [m, rad], relative to the size of the mechanism
_ROUNDOFF = (
    4e-16  # where closing stops: next to a singular position the position is worth only the root of it
)
_RANK = 1e-6  # singular values below this part of the largest count as zero
_EQUAL = 1e-9  # norms that differ by no more are equal: which one is larger is a matter of the BLAS


class Closure(Protocol):
    """Constraints at a state, as the core gives them."""

    @property
    def residual(self) -> Floats: ...
    @property
    def partials(self) -> Floats: ...
    @property
    def velocity(self) -> Floats: ...


class Nearest(NamedTuple):
    """How close an assembly came."""

    q: Floats
    residual: Floats


Evaluate = Callable[[Floats, Floats], Closure]  # q, u -> constraints
# q -> (what is wished to be zero, its partials to the speeds), both times the root of the weights
Deviation = Callable[[Floats], tuple[Floats, Floats]]


def move(lagrange: Lagrange, q: Floats, step: Floats) -> Floats:
    """Coordinates after a small motion, on the manifold of each hinge."""
    moved = [c.hinge.move(q[c.q_slice], step[c.u_slice]) for c in lagrange.hinges]
    return np.concatenate([np.zeros(0), *moved])


def worst_row(rows: Rows, residual: Floats) -> tuple[str, float]:
    """(connection, gap): the chord that is farthest from closing."""
    gaps: dict[str, float] = {}
    for (name, _), value in zip(rows, residual, strict=True):
        gaps[name] = float(np.hypot(gaps.get(name, 0.0), value))
    name = max(gaps, key=lambda n: gaps[n])
    return name, gaps[name]


def close_positions(
    lagrange: Lagrange, evaluate: Evaluate, rows: Rows, q: Floats, free: NDArray[np.bool_], scale: float
) -> Floats:
    """q with f(q, t) = 0, next to the start: Gauss-Newton on the free coordinates.

    A start from which it leads nowhere (a stretched chain, say) is disturbed a little, then more, a few times.
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
    """Gauss-Newton with limited steps that must bring the ends closer, until they close or no step does."""
    rest = np.zeros(lagrange.nu)
    now = evaluate(q, rest)
    size = float(np.linalg.norm(now.residual))
    for _ in range(200):
        if size < _ROUNDOFF * scale:
            break
        P = now.partials * free
        lost = ~(np.isfinite(now.residual) & np.all(np.isfinite(P), axis=1))
        if np.any(lost):  # only where it starts: no step leads to such a place
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
    """From a closed position to the closed one with the least sum of squares of the deviations.

    Newton's method in the rates N y the chains allow, on grad (d . d / 2 + lambda . f), whose derivative along N comes
    from differences; every step is closed again and must lessen the sum. Rates nobody has a wish for stay out.
    """
    rest, h = np.zeros(lagrange.nu), 1e-6

    def slope(q: Floats, multipliers: Floats) -> Floats:
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
        ahead = [slope(move(lagrange, q, h * n), multipliers) for n in N.T]
        back = [slope(move(lagrange, q, -h * n), multipliers) for n in N.T]
        H = (np.array(ahead) - np.array(back)) @ N / (2.0 * h)
        e, V = np.linalg.eigh(0.5 * (H + H.T))
        e = np.abs(e)  # downhill, whatever the curvature
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
    """From rates the chains allow to those among them with the least sum of squares of the deviations `wish(u)`."""
    N = allowed(evaluate(q, u).partials, free)
    d, J = wish(u)
    return np.asarray(u - N @ np.linalg.lstsq(J @ N, d, rcond=1e-10)[0])


def close_velocities(evaluate: Evaluate, rows: Rows, q: Floats, u: Floats, free: NDArray[np.bool_]) -> Floats:
    """u with P u + P0 = 0, nearest to the start, given rates kept."""
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


@dataclass(frozen=True)
class Mobility:
    """Degrees of freedom by rank (8.2.1), and what stands in the way of a plain count.

    Attributes
    ----------
    dof : int
        Number of speeds less the rank of the holonomic rows: the freedoms of position.
    admissible : int
        The same less the independent nonholonomic rows: the freedoms of velocity (8.3.6).
    gruebler : int
        Number of speeds less the number of holonomic rows: what counting alone would give.
    rank : int
        Of the holonomic rows.
    redundant : list of str
        Rows that follow from the others, by the name of their connection.
    suitable : list of str
        Speeds that can be prescribed: with them given, all others follow.
    singular : list of str
        Those of `suitable` that have to be prescribed only here: in a singular position, which the mechanism can
        leave on more than one branch (8.3). Empty elsewhere.
    ratio : float
        Smallest singular value that counts, relative to the largest: near 0 next to a singular position.
    """

    dof: int
    gruebler: int
    rank: int
    redundant: list[str]
    suitable: list[str]
    ratio: float
    admissible: int
    singular: list[str]

    def __str__(self) -> str:
        text = f"{self.dof} degrees of freedom ({self.gruebler} by counting, rank {self.rank})"
        if self.admissible != self.dof:
            text += f", {self.admissible} of velocity"
        if self.redundant:
            text += f"; redundant rows at {', '.join(sorted(set(self.redundant)))}"
        if self.suitable:
            text += f"; prescribe {', '.join(self.suitable)}"
        return text + (f"; singular position: {', '.join(self.singular)} only here" if self.singular else "")


def quoted(names: Iterable[str]) -> str:
    """Names for a message.

    >>> quoted(["A", "B"])
    "'A', 'B'"
    """
    return ", ".join(repr(str(name)) for name in names)


def freedoms(n: int) -> str:
    """
    >>> freedoms(1)
    '1 degree of freedom'
    """
    return f"{n} degree{'' if n == 1 else 's'} of freedom"


def rank(P: Floats, largest: float = 0.0) -> int:
    """Number of independent rows (8.2), by singular values relative to the largest (or to a given one)."""
    if not P.size:
        return 0
    s = np.linalg.svd(P, compute_uv=False)
    return int(np.sum(s > _RANK * max(float(s[0]), largest, 1e-300)))


def null_space(P: Floats) -> Floats:
    """Orthonormal columns that span the rates P allows (nu, nu - rank)."""
    n = P.shape[1]
    return np.asarray(np.linalg.svd(P)[2][rank(P) :].T) if P.size else np.eye(n)


def allowed(P: Floats, free: NDArray[np.bool_]) -> Floats:
    """Orthonormal columns that span the rates P allows with only the free ones moving."""
    N = np.zeros((len(free), 0))
    if np.any(free):
        inner = null_space(P[:, free])
        N = np.zeros((len(free), inner.shape[1]))
        N[free] = inner
    return N


def pivoted(rows: Floats) -> list[int]:
    """Row numbers in the order of a pivoted Gram-Schmidt: independent ones first, of equal ones the first.

    >>> pivoted(np.array([[1.0, 1.0 - 1e-15], [1.0, 1.0], [0.0, 0.1]]))
    [0, 2, 1]
    """
    left = np.array(rows)
    order: list[int] = []
    for _ in range(len(rows)):
        norms = np.linalg.norm(left, axis=1)
        norms[order] = -1.0
        k = int(np.argmax(norms >= (1.0 - _EQUAL) * np.max(norms)))
        order.append(k)
        if norms[k] > 0.0:
            e = left[k] / norms[k]
            left = left - np.outer(left @ e, e)
    return order


def complete(N: Floats, chosen: list[int]) -> list[int]:
    """Speeds that together with the chosen ones determine all rates in the null space N, best ones first."""
    own = N[chosen]
    left = N - N @ np.linalg.pinv(own, rcond=_RANK) @ own if own.size else N
    return pivoted(left)[: N.shape[1] - rank(own, 1.0)]


def mobility(
    P: Floats,
    rows: Rows,
    names: list[str],
    free: NDArray[np.bool_],
    nonholonomic: NDArray[np.bool_] | None = None,
    regular: int = 0,
) -> Mobility:
    """Rank, redundancy and suitable coordinates of the constraints P on the free speeds.

    `regular` is the rank in positions next to this one; more than here if it is singular.
    """
    F, holonomic = P[:, free], np.ones(len(rows), dtype=bool) if nonholonomic is None else ~nonholonomic
    count, own = int(np.sum(free)), rank(F[holonomic])
    free_names = np.array(names)[free].tolist()
    s = np.linalg.svd(F[holonomic], compute_uv=False)
    N = null_space(F)
    suitable = [free_names[k] for k in complete(N, [])]
    return Mobility(
        dof=count - own,
        gruebler=count - int(np.sum(holonomic)),
        rank=own,
        redundant=[rows[k][0] for k in pivoted(F)[rank(F) :]],
        suitable=suitable,
        ratio=float(s[own - 1] / s[0]) if own else 1.0,
        admissible=N.shape[1],
        singular=suitable[count - max(regular, own) - (rank(F) - own) :] if regular > own else [],
    )


def regular_rank(
    lagrange: Lagrange,
    evaluate: Evaluate,
    q: Floats,
    free: NDArray[np.bool_],
    holonomic: NDArray[np.bool_],
    scale: float,
) -> int:
    """Largest rank of the holonomic rows at closed positions next to one: what it is where nothing is singular.

    Those are looked for from a few random sides by Levenberg-Marquardt steps with the gap as damping: they meet the
    nearest branch, where Gauss-Newton, with more rows than needed, would fall back to the singular position itself.
    """
    rest, rng = np.zeros(lagrange.nu), np.random.default_rng(0)

    def rows(q: Floats) -> tuple[Floats, Floats]:
        now = evaluate(q, rest)
        return now.residual[holonomic], now.partials[np.ix_(holonomic, free)]

    N, found = null_space(rows(q)[1]), rank(rows(q)[1])
    for _ in range(5 if np.any(holonomic) and N.size else 0):
        side, step = N @ rng.normal(size=N.shape[1]), rest.copy()
        step[free] = 1e-2 * side / np.max(np.abs(side))
        near = move(lagrange, q, step)
        for _ in range(50):
            f, P = rows(near)
            gap = float(np.linalg.norm(f))
            if gap < 1e-14 * scale:
                break
            U, s, Vt = np.linalg.svd(P, full_matrices=False)
            step[free] = -Vt.T @ (s / (s * s + gap) * (U.T @ f))
            near = move(lagrange, near, step)
        found = max(found, rank(P)) if gap < 1e-9 * scale else found
    return found
