"""Impulses: what speeds do when loads of no duration act on rows of partials."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.plan import PRESCRIBED_U

from .core import Constraints, Core

Floats = NDArray[np.float64]


class Impulse(NamedTuple):
    """Speeds after it, what the rows exert [N s, N m s], what is missing of the change they should make."""

    u: Floats
    impulses: Floats
    missing: Floats


def holding(core: Core, t: float, q: Floats, u: Floats) -> Constraints:
    """The constraints of the chords that hold; without those that have let go."""
    if core.loops is None:
        none = np.zeros(0)
        return Constraints(none, np.zeros((0, core.nu)), none, none, none)
    now, on = core.constraints(t, q, u), core.loops.work.off[: core.loops.n_rows] == 0
    return Constraints(now.residual[on], now.partials[on], now.velocity[on], now.bias[on], now.loads)


def free_speeds(core: Core) -> NDArray[np.bool_]:
    """Those that are not prescribed."""
    free = np.ones(core.nu, dtype=bool)
    free[core.layout.plan.prescribed[:, PRESCRIBED_U]] = False
    return free


def answers(
    core: Core, t: float, q: Floats, rows: Floats, now: Constraints, free: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Changes of the speeds by unit impulses on rows (nu, k), constraints holding; and what these need to hold by themselves."""
    A, B, P = core.mass_matrix(t, q)[np.ix_(free, free)], rows[:, free], now.partials[:, free]
    by_rows, by_constraints = np.linalg.solve(A, B.T), np.linalg.solve(A, P.T)
    found, kept = np.zeros((core.nu, len(rows))), np.zeros(core.nu)
    share = np.linalg.lstsq(P @ by_constraints, np.column_stack((P @ by_rows, now.velocity)), rcond=1e-10)[0]
    found[free] = by_rows - by_constraints @ share[:, :-1]
    kept[free] = -by_constraints @ share[:, -1]
    return found, kept


def impulse(
    core: Core, t: float, q: Floats, u: Floats, rows: Floats, change: Floats, free: NDArray[np.bool_]
) -> Impulse:
    """A (u+ - u) = B^T L with B (u+ - u) = change, on the free speeds; redundant rows share L."""
    after = np.array(u)
    A, B = core.mass_matrix(t, q)[np.ix_(free, free)], rows[:, free]
    answer = np.linalg.solve(A, B.T)
    L: Floats = np.asarray(np.linalg.lstsq(B @ answer, change, rcond=1e-10)[0], dtype=np.float64)
    after[free] += answer @ L
    return Impulse(after, L, change - rows @ (after - u))
