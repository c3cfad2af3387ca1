"""Derivatives of the constraint rows of closed chains by coordinates and speeds.

The rows are differentiated as the core computes them, for every kind of chord alike: by the speeds exactly (what stands
in P ud + P00 is a polynomial of second degree in them, P u + P0 of first), by the coordinates with central differences of
eighth order whose step is cut until two of them agree (about 1e-12 of the rows).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.assembly import move
from treemech.kinematics.chord_plan import PATH_END, PATH_START, SPEED
from treemech.kinematics.plan import PUBLIC

from .core import Core

Floats = NDArray[np.float64]
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_FIRST_STEP, _LEVELS = 2.0**-6, 6
_ENOUGH = 1e-12


class RowDerivatives(NamedTuple):
    """Of the rows at given ud and multipliers, columns in the public order."""

    partials: Floats  # P (m, nu) itself
    loads_q: Floats  # d(P^T lambda)/dq (nu, nu)
    velocity_q: Floats  # d(P u + P0)/dq (m, nu)
    bias_q: Floats  # d(P ud + P00)/dq (m, nu)
    bias_u: Floats  # d(P ud + P00)/du (m, nu)


def derivative(f: Callable[[float], Floats]) -> Floats:
    """f'(0) by central differences; the step is cut to a half until two derivatives agree."""
    size = float(np.max(np.abs(f(0.0)), initial=0.0))
    best, least, before = np.zeros(0), np.inf, None
    for level in range(_LEVELS):
        h = _FIRST_STEP * 0.5**level
        now = sum(
            (w * (f((k + 1) * h) - f(-(k + 1) * h)) for k, w in enumerate(_WEIGHTS)), np.zeros(1)
        ) / h  # fmt: skip
        if before is not None:
            gap = float(np.max(np.abs(now - before), initial=0.0))
            if gap < least:
                best, least = now, gap
            if gap <= _ENOUGH * max(size, float(np.max(np.abs(now), initial=0.0))):
                break
        before = now
    return best


def row_derivatives(
    core: Core, t: float, q: Floats, u: Floats, ud: Floats, multipliers: Floats
) -> RowDerivatives:
    """Derivatives at a state whose cut hinges stand in the work arrays, which are left as they were."""
    chords, nu, m = core.layout.chords, core.nu, len(core.layout.chords.rows)
    near, pivots = core.chord_work.q.copy(), core.chord_work.pivot
    here = core.constraints(t, q, u, ud)
    fixed = pivots.copy()  # the choice of rows does not change on the way

    def rows(q: Floats, u: Floats) -> Floats:
        core.chord_work.q[:] = near
        pivots[:] = fixed
        now = core.constraints(t, q, u, ud)
        return np.concatenate((now.partials.T @ multipliers, now.velocity, now.bias))

    by_q, bias_u = np.zeros((nu + 2 * m, nu)), np.zeros((m, nu))
    public = core.layout.plan.dof[:, PUBLIC]
    moved = {
        int(public[d])
        for row in chords.plan.chord
        for d in chords.plan.path[row[PATH_START] : row[PATH_END], SPEED]
    }
    for j, e in enumerate(np.eye(nu)):
        bias_u[:, j] = 0.5 * (rows(q, u + e) - rows(q, u - e))[nu + m :]
        if j in moved:
            by_q[:, j] = derivative(lambda h, e=e: rows(move(core.coordinates, q, h * e), u))  # type: ignore[misc]
    rows(q, u)
    return RowDerivatives(here.partials, by_q[:nu], by_q[nu : nu + m], by_q[nu + m :], bias_u)
