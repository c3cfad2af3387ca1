"""Rotation matrices as vectors: axis times angle, axial vector, Euler parameters."""

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Floats


def axial(M: Floats) -> Floats:
    """Return the vector w of the skew part of M: w x = (M - M^T)/2."""
    return 0.5 * np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])


def rotation_vector(R: Floats) -> Floats:
    """Return axis times angle of a rotation; safe at 0 and at half a turn."""
    w = axial(R)
    s, c = float(np.linalg.norm(w)), 0.5 * (float(np.trace(R)) - 1.0)
    if s > 1e-7:
        return np.asarray(w * (np.arctan2(s, c) / s))
    if c > 0.0:
        return w
    k = int(np.argmax(np.diag(R)))  # half a turn: the axis is a column of (R + 1)/2
    column = 0.5 * (R[:, k] + np.eye(3)[:, k])
    return np.asarray(np.pi * column / np.linalg.norm(column))


def euler_parameters(rotation: ArrayLike) -> Floats:
    """Return the Euler parameters (..., 4), scalar first, of rotation matrices (..., 3, 3).

    They have length 1, and the largest of them in size is positive. They are a row of the matrix 4 e e^T, whose
    entries are sums of entries of the rotation; the row with the largest diagonal entry is best conditioned. A
    matrix that is not finite gives nan.

    >>> euler_parameters([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(6).tolist()
    [0.707107, 0.0, 0.0, 0.707107]
    """
    R = np.asarray(rotation, dtype=np.float64)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    products = [
        [1.0 + xx + yy + zz, x, y, z],
        [x, 1.0 + xx - yy - zz, xy, xz],
        [y, xy, 1.0 - xx + yy - zz, yz],
        [z, xz, yz, 1.0 - xx - yy + zz],
    ]
    rows = np.stack([np.stack(row, axis=-1) for row in products], axis=-2)
    largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    e = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(e / np.linalg.norm(e, axis=-1, keepdims=True))


def euler_rotation(e: Floats) -> Floats:
    """Return the rotation matrix of Euler parameters, scalar first, of any length but 0.

    >>> euler_rotation(np.array([1.0, 0.0, 0.0, 1.0])).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    a, b, c, d = e.tolist()
    n = 2.0 / (a * a + b * b + c * c + d * d)
    return np.array([
        [1.0 - n * (c * c + d * d), n * (b * c - a * d), n * (b * d + a * c)],
        [n * (b * c + a * d), 1.0 - n * (b * b + d * d), n * (c * d - a * b)],
        [n * (b * d - a * c), n * (c * d + a * b), 1.0 - n * (b * b + c * c)],
    ])  # fmt: skip
