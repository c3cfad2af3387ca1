"""Degrees of freedom of a mechanism by rank (8.2), with redundant rows and suitable coordinates."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats

from .layout.lagrange import Lagrange
from .manifold import move
from .rank import complete, null_space, pivoted, rank
from .rows import Evaluate, Rows


@dataclass(frozen=True)
class Mobility:
    """Degrees of freedom by rank (8.2.1), and the rows and speeds that make a plain count wrong.

    Attributes
    ----------
    dof : int
        Number of speeds less the rank of the holonomic rows: the freedoms of position.
    admissible : int
        The same less the independent nonholonomic rows: the freedoms of velocity (8.3.6).
    gruebler : int
        Number of speeds less the number of holonomic rows: the result of counting alone.
    rank : int
        Rank of the holonomic rows.
    redundant : list of str
        Rows that follow from the others, by the name of their connection.
    suitable : list of str
        Speeds that can be prescribed: with them given, all others follow.
    singular : list of str
        Members of `suitable` that must be prescribed only in this position, because it is singular: the mechanism can
        leave it on more than one branch (8.3). Empty elsewhere.
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

    def _repr_html_(self) -> str:
        """Return the text, for notebooks."""
        from html import escape

        return f"<div>{escape(str(self))}</div>"

    def __str__(self) -> str:
        text = f"{self.dof} degree{'' if self.dof == 1 else 's'} of freedom ({self.gruebler} by counting, rank {self.rank})"
        if self.admissible != self.dof:
            text += f", {self.admissible} of velocity"
        if self.redundant:
            text += f"; redundant rows at {', '.join(sorted(set(self.redundant)))}"
        if self.suitable:
            text += f"; prescribe {', '.join(self.suitable)}"
        return text + (f"; singular position: {', '.join(self.singular)} only here" if self.singular else "")


def mobility(
    P: Floats,
    rows: Rows,
    names: list[str],
    free: NDArray[np.bool_],
    nonholonomic: NDArray[np.bool_] | None = None,
    regular: int = 0,
) -> Mobility:
    """Find rank, redundancy and suitable coordinates of the constraints P on the free speeds.

    `regular` is the rank in positions next to this one; it is larger than here if this position is singular.
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
    """Return the largest rank of the holonomic rows at closed positions next to q: their regular rank.

    The search starts in a few random directions and takes Levenberg-Marquardt steps with the gap as damping.
    They reach the nearest branch; Gauss-Newton, with redundant rows, would fall back to the singular position
    itself.
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
