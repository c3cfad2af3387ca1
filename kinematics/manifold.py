"""Coordinates of hinges as points of a manifold: small motions, distances, whole turns."""

from math import cos, sin, sqrt

import numpy as np

from treemech.elements import Hinge
from treemech.topology.arrays import Floats

from .layout.lagrange import Lagrange


def move(lagrange: Lagrange, q: Floats, step: Floats) -> Floats:
    """Return the coordinates after a small motion, on the manifold of each hinge (`Hinge.move`, for all at once)."""
    moved, places = np.array(q, dtype=np.float64), lagrange.places
    moved[places.q] += step[places.u]
    for i, j in places.attitudes:  # plain numbers: arrays of four cost ten times as much
        e0, e1, e2, e3 = moved[i : i + 4].tolist()
        x, y, z = step[j : j + 3].tolist()
        angle = sqrt(x * x + y * y + z * z)
        a, b = cos(0.5 * angle), sin(0.5 * angle) / angle if angle > 0.0 else 0.5
        x, y, z = b * x, b * y, b * z
        moved[i : i + 4] = (
            a * e0 - x * e1 - y * e2 - z * e3,
            a * e1 + e0 * x + y * e3 - z * e2,
            a * e2 + e0 * y + z * e1 - x * e3,
            a * e3 + e0 * z + x * e2 - y * e1,
        )
    return moved


def distance(hinge: Hinge, q: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return (q less the target as a motion in the speeds, its partials with respect to them); nan where nothing is wanted."""
    k = hinge.euler_parameters
    if k is None:
        return q - target, np.eye(len(q))
    a, b = q[k : k + 4], target[k : k + 4] / np.linalg.norm(target[k : k + 4])
    product = np.concatenate(  # a b*: the rotation from the target
        ([a @ b], b[0] * a[1:] - a[0] * b[1:] - np.cross(a[1:], b[1:]))
    )
    turn, slope = turned(product)
    gap = np.concatenate((q[:k] - target[:k], turn, q[k + 4 :] - target[k + 4 :]))
    full = np.eye(len(gap))
    full[k : k + 3, k : k + 3] = slope
    return gap, full


def turned(e: Floats) -> tuple[Floats, Floats]:
    """Return twice the vector part v of Euler parameters, and its partials by the angular velocity w.

    e' = (0, w) e / 2, so (2 v)' = e0 w + w x v.
    """
    x, y, z = v = e[1:] if e[0] >= 0.0 else -e[1:]
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return 2.0 * v, abs(e[0]) * np.eye(3) - cross


def turns(hinge: Hinge) -> Floats:
    """Return 2 pi for every coordinate of a hinge that leads to the same pose after a turn, 0 for the others.

    >>> from treemech.elements import Cylindrical
    >>> (turns(Cylindrical()) > 0).tolist()
    [True, False]
    """
    q, k = hinge.sample(np.random.default_rng(0)), hinge.euler_parameters
    here, found = hinge.motion(q), np.zeros(len(q))
    for j in (j for j in range(len(q)) if k is None or not k <= j < k + 4):
        there = hinge.motion(q + 2.0 * np.pi * np.eye(len(q))[j])
        same = np.allclose(here.offset, there.offset, atol=1e-9)
        if same and np.allclose(here.rotation, there.rotation, atol=1e-9):
            found[j] = 2.0 * np.pi
    return found
