"""Loads in chords and hinges (8.5), and which of them the model determines.

Redundant constraints can share their load in more than one way. The result then is the least one: it has the
smallest sum over all chords of |force|^2 + |moment|^2 / (1 m)^2.
"""

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.layout.efforts import InnerPoint
from treemech.kinematics.plan.columns import chord, effort, row
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
        multipliers[k] = T @ np.linalg.lstsq(P.T @ T, P.T @ multipliers[k], rcond=_ZERO)[0]
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


def add_chord_loads(core: Core, trace: Floats, loads: Floats) -> None:
    """Add the chord loads to the hinge loads of a trace (8.5.6): a chord relieves the hinges before it."""
    R, origins = _origins(core, trace)
    for c, connection in enumerate(core.tree.chords):
        numbers = [core.tree.numbers[end.body.name] for end in connection.ends]
        points = trace[:, numbers[1], POSITION] + R[:, numbers[1]] @ connection.ends[1].offset
        force, moment = loads[:, c, :3], loads[:, c, 3:]
        for number, sign in zip(numbers, (1.0, -1.0), strict=True):
            for i in core.tree.path(number):
                trace[:, i, FORCE] += sign * force
                trace[:, i, MOMENT] += sign * (moment + np.cross(points - origins[:, i], force))


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


def unique_loads(core: Core, t: float, q: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for every chord, and for the hinge before every body, whether the model determines its load."""
    P = core.constraints(t, q, np.zeros(core.nu)).partials
    chords, sets = np.ones(len(core.layout.chords.plan.chord), dtype=bool), core.tree.chords
    bodies = np.ones(len(core.tree.bodies), dtype=bool)
    if not P.size:
        return chords, bodies
    _, values, V = np.linalg.svd(P.T, full_matrices=True)
    rank = int(np.sum(values > _ZERO * max(float(values.max(initial=0.0)), 1e-300)))
    open_ = V[rank:]  # multipliers without effect
    inner = [np.zeros((len(open_), 6)) for _ in core.tree.bodies]
    wrench = core.chord_work.row[:, row.F : row.F + 6]
    trace, _ = core.trace(np.array([t]), np.array([q]), np.zeros((1, core.nu)), np.zeros((1, core.nu)))
    for c, index in enumerate(core.layout.chords.plan.chord):
        rows = slice(index[chord.FIRST_ROW], index[chord.FIRST_ROW] + index[chord.N_ROWS])
        load = open_[:, rows] @ wrench[rows]
        chords[c] = not np.any(np.abs(open_[:, rows]) > 1e-7)
        if c >= len(sets):
            continue
        numbers = [core.tree.numbers[end.body.name] for end in sets[c].ends]
        point = (
            trace[0, numbers[1], POSITION]
            + trace[0, numbers[1], ROTATION].reshape(3, 3) @ sets[c].ends[1].offset
        )
        about = np.hstack((load[:, :3], load[:, 3:] + np.cross(point, load[:, :3])))  # about the world origin
        for number, sign in zip(numbers, (1.0, -1.0), strict=True):
            for i in core.tree.path(number):
                inner[i] += sign * about
    for i, carried in enumerate(inner):
        bodies[i] = not np.any(np.abs(carried) > 1e-7)
    return chords, bodies
