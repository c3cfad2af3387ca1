"""Loads in chords and hinges (8.5), and which of them the model determines.

Redundant constraints can share their load in more than one way. The result then is the least one: it has the
smallest sum over all chords of |force|^2 + |moment|^2 / (1 m)^2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.layout.efforts import InnerPoint
from treemech.kinematics.layout.layout import Layout
from treemech.kinematics.plan.columns import chord, effort, row, speed
from treemech.topology.arrays import Floats

from ..model.core import Core
from ..model.loops import ClosedMotion
from ..model.trace import FORCE, MOMENT, POSITION, ROTATION

_ZERO = 1e-9


def _weights(core: Core) -> Floats:
    """Return T (m, m), where |T^-1 multipliers|^2 is the sum to minimise, at the rows computed last."""
    wrench = core.chord_work.row[:, row.F : row.F + 6]
    T = np.eye(len(wrench))
    for index in core.layout.chords.plan.chord:
        rows = slice(index[chord.FIRST_ROW], index[chord.FIRST_ROW] + index[chord.N_ROWS])
        G = wrench[rows] @ wrench[rows].T
        if G.any():  # couplings have no wrench
            T[rows, rows] = np.linalg.inv(np.linalg.cholesky(G)).T
    return T


def smallest_multipliers(core: Core, t: Floats, q: Floats, found: ClosedMotion) -> None:
    """Replace multipliers and chord loads of many states by the least ones with the same effect (8.5.1-3)."""
    chords, multipliers, loads = core.layout.chords.plan.chord, found.multipliers, found.loads
    for k in range(len(t)):
        core.chord_work.q[:] = found.cut_q[k]
        P = core.constraints(float(t[k]), q[k], np.zeros(core.nu)).partials
        T = _weights(core)
        least = T @ np.linalg.lstsq(P.T @ T, P.T @ multipliers[k], rcond=_ZERO)[0]
        multipliers[k] = least + 0.0  # the sign of a zero would depend on where the arrays lie
        wrench = core.chord_work.row[:, row.F : row.F + 6] * multipliers[k][:, None]
        for c, index in enumerate(chords):
            loads[k, c] = wrench[index[chord.FIRST_ROW] : index[chord.FIRST_ROW] + index[chord.N_ROWS]].sum(
                axis=0
            )


def _origins(core: Core, trace: Floats) -> tuple[Floats, Floats]:
    """Return the rotations of the bodies and the end points of their hinges, along a trace."""
    frames = core.layout.plan.frames
    inner = -np.einsum("bji,bj->bi", frames[:, :9].reshape(-1, 3, 3), frames[:, 9:])
    R = trace[:, :, ROTATION].reshape(*trace.shape[:2], 3, 3)
    return R, trace[:, :, POSITION] + np.einsum("nbij,bj->nbi", R, inner)


def add_element_loads(core: Core, trace: Floats, records: Floats) -> None:
    """Add the loads of reaction-dependent elements, which a trace does not include, to its hinge loads."""
    R, origins = _origins(core, trace)
    for a, entry in zip(core.layout.efforts.applied, core.layout.plan.efforts, strict=True):
        for k, end in enumerate(a.ends if entry[effort.REACTION] >= 0 else ()):
            if isinstance(end, InnerPoint):
                continue
            number = core.tree.numbers[end.body.name]
            point = trace[:, number, POSITION] + R[:, number] @ end.offset
            f, m = entry[effort.LOAD_RECORD] + 3 * k, entry[effort.LOAD_RECORD] + 3 * (len(a.ends) + k)
            force, moment = records[:, f : f + 3], records[:, m : m + 3]
            for i in core.tree.path(number):
                trace[:, i, FORCE] -= force
                trace[:, i, MOMENT] -= moment + np.cross(point - origins[:, i], force)


class Undecided(NamedTuple):
    """Loads that the model leaves open: each combination of multipliers without effect makes one."""

    chords: Floats  # (nc, k, 6) of every chord, at its end b; zero for couplings
    couplings: NDArray[np.bool_]  # (nc,) whether the load of a coupling is open
    bodies: Floats  # (nb+1, k, 6) of the hinge before every body, about the world origin
    multipliers: Floats  # (k, rows)


def undecided_loads(core: Core, t: float, q: Floats, on: NDArray[np.bool_], trace: Floats) -> Undecided:
    """Return the loads that do not follow from the motion, from the null space of P^T (8.5).

    Only the rows `on` carry loads. Loads on prescribed speeds are unknown themselves: these have no say.
    `trace` is that of the one state.
    """
    P = core.constraints(t, q, np.zeros(core.nu)).partials
    chords, sets = core.layout.chords.plan.chord, core.tree.chords
    rows_on = np.flatnonzero(on)
    effect = P[np.ix_(rows_on, core.free_speeds())].T
    _, values, V = np.linalg.svd(effect, full_matrices=True)
    rank = int(np.sum(values > _ZERO * max(float(values.max(initial=0.0)), 1e-300)))
    open_ = np.zeros((len(rows_on) - rank, len(P)))
    open_[:, rows_on] = V[rank:]  # multipliers without effect
    wrench, k = core.chord_work.row[:, row.F : row.F + 6], len(open_)
    found = Undecided(
        np.zeros((len(chords), k, 6)), np.zeros(len(chords), dtype=bool), np.zeros((core.rows, k, 6)), open_
    )
    for c, index in enumerate(chords):
        rows = slice(index[chord.FIRST_ROW], index[chord.FIRST_ROW] + index[chord.N_ROWS])
        if c >= len(sets):
            found.couplings[c] = np.any(np.abs(open_[:, rows]) > 1e-7)
            continue
        found.chords[c] = load = open_[:, rows] @ wrench[rows]
        numbers = [core.tree.numbers[end.body.name] for end in sets[c].ends]
        point = (
            trace[0, numbers[1], POSITION]
            + trace[0, numbers[1], ROTATION].reshape(3, 3) @ sets[c].ends[1].offset
        )
        about = moved(load, -point)
        for number, sign in zip(numbers, (1.0, -1.0), strict=True):
            for i in core.tree.path(number):
                found.bodies[i] += sign * about
    return found


def moved(load: Floats, point: Floats) -> Floats:
    """Return loads (., 6) about a point in place of the origin."""
    return np.hstack((load[:, :3], load[:, 3:] - np.cross(point, load[:, :3])))


def coupling_loads(core: Core, t: Floats, q: Floats, u: Floats, multipliers: Floats) -> Floats:
    """Return the loads of all couplings on the coordinates they join (n, .), coupling by coupling: P^T lambda."""
    first = len(core.tree.chords)
    rows, speeds = coupled_places(core.layout, first)
    found = np.zeros((len(t), len(speeds)))
    with core.unloaded():
        for k in range(len(t) if len(speeds) else 0):
            P = core.constraints(float(t[k]), q[k], u[k]).partials
            found[k] = [P[own, j] @ multipliers[k, own] for own, j in zip(rows, speeds, strict=True)]
    return found


def coupled_places(layout: Layout, first: int) -> tuple[list[slice], list[int]]:
    """Return the rows of the coupling and the speed, in the public order, of every coupled coordinate."""
    rows, speeds, public = list[slice](), list[int](), layout.plan.dof[:, speed.PUBLIC]
    for index in layout.chords.plan.chord[first:]:
        own = public[layout.chords.plan.path[index[chord.PATH_START] : index[chord.PATH_END], chord.SPEED]]
        speeds += own.tolist()
        rows += [slice(index[chord.FIRST_ROW], index[chord.FIRST_ROW] + index[chord.N_ROWS])] * len(own)
    return rows, speeds
