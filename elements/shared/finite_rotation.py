# mypy: ignore-errors
"""Finite rotations between two ends, written with quaternions (scalar first) for floats and for jets."""

from math import atan2, sqrt


def relative_quaternion(R, a, b):
    """Return the quaternion of R[a]^T R[b], a rotation of less than half a turn."""
    C = (R[a, 0, 0] * R[b, 0, 0] + R[a, 1, 0] * R[b, 1, 0] + R[a, 2, 0] * R[b, 2, 0]) + (
        R[a, 0, 1] * R[b, 0, 1] + R[a, 1, 1] * R[b, 1, 1] + R[a, 2, 1] * R[b, 2, 1]
    )
    C = C + (R[a, 0, 2] * R[b, 0, 2] + R[a, 1, 2] * R[b, 1, 2] + R[a, 2, 2] * R[b, 2, 2])
    w = 0.5 * sqrt(1.0 + C)
    f = 0.25 / w
    return w, f * skew(R, a, b, 2, 1), f * skew(R, a, b, 0, 2), f * skew(R, a, b, 1, 0)


def skew(R, a, b, i, j):
    """Return C[i, j] - C[j, i] with C = R[a]^T R[b]."""
    return (
        (R[a, 0, i] * R[b, 0, j] - R[a, 0, j] * R[b, 0, i])
        + (R[a, 1, i] * R[b, 1, j] - R[a, 1, j] * R[b, 1, i])
        + (R[a, 2, i] * R[b, 2, j] - R[a, 2, j] * R[b, 2, i])
    )


def half(w, x, y, z):
    """Return the quaternion of half the rotation."""
    f = 1.0 / sqrt(2.0 * (1.0 + w))
    return f * (1.0 + w), f * x, f * y, f * z


def rotation_vector(w, x, y, z):
    """Return axis times angle. A series is used near zero, where the axis is undefined."""
    s2 = x * x + y * y + z * z
    if s2 < 1e-3 and w > 0.0:
        f = 2.0 + s2 * (
            1.0 / 3.0 + s2 * (3.0 / 20.0 + s2 * (5.0 / 56.0 + s2 * (35.0 / 576.0 + s2 * 63.0 / 1408.0)))
        )
    else:
        s = sqrt(s2)
        f = 2.0 * atan2(s, w) / s
    return f * x, f * y, f * z


def turn_back(w, x, y, z, a, b, c):
    """Rotate the vector (a, b, c) by the inverse of a quaternion."""
    p, q, r = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a - w * p + (y * r - z * q), b - w * q + (z * p - x * r), c - w * r + (x * q - y * p)


def offset_in(R, position, a, b):
    """Return the vector from end a to end b in the base of end a."""
    x, y, z = (
        position[b, 0] - position[a, 0],
        position[b, 1] - position[a, 1],
        position[b, 2] - position[a, 2],
    )
    return (
        R[a, 0, 0] * x + R[a, 1, 0] * y + R[a, 2, 0] * z,
        R[a, 0, 1] * x + R[a, 1, 1] * y + R[a, 2, 1] * z,
        R[a, 0, 2] * x + R[a, 1, 2] * y + R[a, 2, 2] * z,
    )
