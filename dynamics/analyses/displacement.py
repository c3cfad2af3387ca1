"""Small motions of a state in the directions of s = (displacements, speeds, states of elements).

Displacements are in the directions of the speeds, q' = N(q) u: for Euler parameters rotations in the base of
the relative angular velocity, plain changes otherwise.
"""

from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats

from ..model.core import Core


class Motion(NamedTuple):
    """States along a motion (rows); `cut`: coordinates of cut hinges."""

    t: Floats
    q: Floats
    u: Floats
    z: Floats
    cut: Floats

    def at(self, rows: slice | list[int]) -> "Motion":
        return Motion(*(part[rows] for part in self))


def moved(core: Core, y: Motion, step: Floats) -> Motion:
    """Return the states after small steps (rows) in the directions of s."""
    n = core.nu
    q, z = displaced(core, y.q, step[:, :n]), y.z.copy()
    z[:, : core.nx] += step[:, 2 * n :]
    return Motion(y.t, q, y.u + step[:, n : 2 * n], z, y.cut)


def rates(core: Core, q: Floats, u: Floats) -> Floats:
    """Return q' = N(q) u of states (rows)."""
    found = np.zeros_like(q)
    for c in core.coordinates.hinges:
        x, d, k = q[:, c.q_slice], u[:, c.u_slice], c.hinge.euler_parameters
        if k is None:
            found[:, c.q_slice] = d
            continue
        e0, e, half = x[:, k, None], x[:, k + 1 : k + 4], 0.5 * d[:, k : k + 3]
        turn = np.hstack((-np.sum(half * e, axis=1)[:, None], e0 * half + np.cross(half, e)))
        found[:, c.q_slice] = np.hstack((d[:, :k], turn, d[:, k + 3 :]))
    return found


def displaced(core: Core, q: Floats, step: Floats) -> Floats:
    """Return the coordinates after small motions (rows) in the directions of the speeds."""
    there = q + rates(core, q, step)
    for c in core.coordinates.hinges:
        k = c.hinge.euler_parameters
        if k is not None:
            e = there[:, c.q_slice][:, k : k + 4]
            e /= np.linalg.norm(e, axis=1)[:, None]
    return there


def difference(core: Core, a: Floats, b: Floats) -> Floats:
    """Return the small motion (nu,) from coordinates a to b, to first order."""
    step = np.zeros(core.nu)
    for c in core.coordinates.hinges:
        k, x, y = c.hinge.euler_parameters, a[c.q_slice], b[c.q_slice]
        if k is None:
            step[c.u_slice] = y - x
            continue
        own = step[c.u_slice]
        own[:k], own[k + 3 :] = (y - x)[:k], (y - x)[k + 4 :]
        (e0, e), (f0, f) = (x[k], x[k + 1 : k + 4]), (y[k], y[k + 1 : k + 4])
        turn = e0 * f - f0 * e - np.cross(f, e)  # vector part of the rotation between them
        own[k : k + 3] = 2.0 * np.sign(e0 * f0 + e @ f) * turn
    return step


def magnitude(core: Core, s: Floats, y: Motion) -> float:
    """Return the size of changes s (rows): absolute for coordinates, relative for speeds and states."""
    n, x = core.nu, y.z[:, : core.nx]
    parts = (
        (s[:, :n], 0.0),
        (s[:, n : 2 * n], np.max(np.abs(y.u), initial=0.0)),
        (s[:, 2 * n :], np.max(np.abs(x), initial=0.0)),
    )
    return max(*(float(np.max(np.abs(d), initial=0.0)) / (1.0 + float(size)) for d, size in parts), 1e-300)
