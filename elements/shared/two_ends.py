"""Distance, relative velocity and opposite loads, for elements between two ends a and b."""

from math import sqrt
from typing import Any


def distance(position: Any) -> Any:
    """Return the distance from the point of end a to the point of end b."""
    x, y, z = (
        position[1, 0] - position[0, 0],
        position[1, 1] - position[0, 1],
        position[1, 2] - position[0, 2],
    )
    return sqrt(x * x + y * y + z * z)


def velocity_between(motion: Any, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return the velocity of body b relative to body a, both at the world point (x, y, z)."""
    p, v, w = motion.position, motion.velocity, motion.angular_velocity
    ax, ay, az = x - p[0, 0], y - p[0, 1], z - p[0, 2]
    bx, by, bz = x - p[1, 0], y - p[1, 1], z - p[1, 2]
    return (
        v[1, 0] - v[0, 0] + w[1, 1] * bz - w[1, 2] * by - w[0, 1] * az + w[0, 2] * ay,
        v[1, 1] - v[0, 1] + w[1, 2] * bx - w[1, 0] * bz - w[0, 2] * ax + w[0, 0] * az,
        v[1, 2] - v[0, 2] + w[1, 0] * by - w[1, 1] * bx - w[0, 0] * ay + w[0, 1] * ax,
    )


def push(motion: Any, out: Any, x: float, y: float, z: float, fx: Any, fy: Any, fz: Any) -> None:
    """Apply a force to body b through the world point (x, y, z), and its opposite to body a."""
    for k in range(2):
        side = 2.0 * k - 1.0
        rx, ry, rz = x - motion.position[k, 0], y - motion.position[k, 1], z - motion.position[k, 2]
        out.force[k, 0] += side * fx
        out.force[k, 1] += side * fy
        out.force[k, 2] += side * fz
        out.moment[k, 0] += side * (ry * fz - rz * fy)
        out.moment[k, 1] += side * (rz * fx - rx * fz)
        out.moment[k, 2] += side * (rx * fy - ry * fx)


def twist(out: Any, mx: Any, my: Any, mz: Any) -> None:
    """Apply a moment to body b, and its opposite to body a."""
    for k in range(2):
        side = 2.0 * k - 1.0
        out.moment[k, 0] += side * mx
        out.moment[k, 1] += side * my
        out.moment[k, 2] += side * mz
