"""Closing the chains (8.3): positions (KSP/0) and velocities (KSP/1) that satisfy the constraints; rank (8.2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from treemech.topology import ConvergenceError

from .lagrange import Lagrange

Floats = NDArray[np.float64]
Rows = list[tuple[str, int]]
_CLOSED = 1e-12  # residual of a closed chain [m, rad], relative to the size of the mechanism
_RANK = 1e-8  # singular values below this part of the largest count as zero


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
    """q with f(q, t) = 0, nearest to the start: Gauss-Newton on the free coordinates.

    A start from which it leads nowhere (a stretched chain, say) is disturbed a little, then more, a few times.
    """
    rng, best = np.random.default_rng(0), None
    for attempt in range(9):
        start = q if attempt == 0 else move(lagrange, q, free * rng.normal(size=lagrange.nu) * 0.15 * attempt)
        found = _descend(lagrange, evaluate, start, free, scale)
        size = float(np.linalg.norm(found.residual))
        if size < 1e3 * _CLOSED * scale:
            return found.q
        if best is None or size < float(np.linalg.norm(best.residual)):
            best = found
    name, gap = worst_row(rows, best.residual) if best is not None else ("?", 0.0)
    raise ConvergenceError(
        f"the chain does not close at {name!r}: the nearest approach leaves a gap of {gap:.3g} (m, rad). Check the "
        "lengths and attachments on the way around it, or give another guess; what is fixed may be out of reach."
    )


def _descend(
    lagrange: Lagrange, evaluate: Evaluate, q: Floats, free: NDArray[np.bool_], scale: float
) -> Nearest:
    """Gauss-Newton with limited steps that must bring the ends closer, until they close or no step does."""
    rest = np.zeros(lagrange.nu)
    now = evaluate(q, rest)
    size = float(np.linalg.norm(now.residual))
    for _ in range(200):
        if size < _CLOSED * scale:
            break
        P = now.partials * free
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
        Number of speeds less the rank of P.
    gruebler : int
        Number of speeds less the number of constraint rows: what counting alone would give.
    redundant : list of str
        Rows that follow from the others, by the name of their connection.
    suitable : list of str
        Speeds that can be prescribed: with them given, all others follow.
    ratio : float
        Smallest singular value that counts, relative to the largest: near 0 next to a singular position.
    """

    dof: int
    gruebler: int
    rank: int
    redundant: list[str]
    suitable: list[str]
    ratio: float

    def __str__(self) -> str:
        text = f"{self.dof} degrees of freedom ({self.gruebler} by counting, rank {self.rank})"
        if self.redundant:
            text += f"; redundant rows at {', '.join(sorted(set(self.redundant)))}"
        return text + (f"; prescribe {', '.join(self.suitable)}" if self.suitable else "")


def pivoted(rows: Floats) -> list[int]:
    """Row numbers in the order of a pivoted Gram-Schmidt: independent ones first."""
    left = np.array(rows)
    order: list[int] = []
    for _ in range(len(rows)):
        norms = np.linalg.norm(left, axis=1)
        norms[order] = -1.0
        k = int(np.argmax(norms))
        order.append(k)
        if norms[k] > 0.0:
            e = left[k] / norms[k]
            left = left - np.outer(left @ e, e)
    return order


def mobility(P: Floats, rows: Rows, names: list[str], free: NDArray[np.bool_]) -> Mobility:
    """Rank, redundancy and suitable coordinates of the constraints P on the free speeds."""
    F = P[:, free]
    count = int(np.sum(free))
    if not F.size:
        return Mobility(count, count, 0, [], [n for n, f in zip(names, free, strict=True) if f], 1.0)
    U, s, Vt = np.linalg.svd(F)
    rank = int(np.sum(s > _RANK * max(float(s[0]), 1e-300))) if len(s) else 0
    order = pivoted(F)
    null = Vt[rank:]
    free_names = [n for n, f in zip(names, free, strict=True) if f]
    suitable = [free_names[k] for k in pivoted(null.T)[: count - rank]] if count > rank else []
    return Mobility(
        dof=count - rank,
        gruebler=count - len(rows),
        rank=rank,
        redundant=[rows[k][0] for k in order[rank:]],
        suitable=suitable,
        ratio=float(s[rank - 1] / s[0]) if rank else 0.0,
    )
