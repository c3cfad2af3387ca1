"""Motion between two frames, from places and velocities at both: the page and the films move bodies this way.

A position follows the cubic of Hermite. A rotation follows the cumulative cubic of Bezier on the unit quaternions::

    e(s) = e0 exp(B1 a) exp(B2 b) exp(B3 c)        a = w0 h / 3, c = w1 h / 3, exp(b) = exp(-a) e0* e1 exp(-c)
    B1 = 1 - (1 - s)^3,  B2 = 3 s^2 - 2 s^3,  B3 = s^3

with angular velocities w in body axes. It has the given rotations and angular velocities at both ends, and is
exact for a steady spin of any number of turns. `viewer/motion.js` does the same.
"""

from typing import NamedTuple

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.rotation import euler_parameters


class Frames(NamedTuple):
    """Poses and velocities of parts (n, p, .) at times (n,): what a page or a film knows of a motion."""

    t: Floats
    position: Floats  # (n, p, 3) world
    attitude: Floats  # (n, p, 4) Euler parameters, scalar first
    velocity: Floats  # (n, p, 3) world
    spin: Floats  # (n, p, 3) angular velocity in body axes

    @classmethod
    def of(cls, t: Floats, position: Floats, rotation: Floats, velocity: Floats, omega: Floats) -> "Frames":
        """Return the frames of rotation matrices and angular velocities in world components."""
        known = np.asarray(np.isfinite(position).all(axis=-1) & np.isfinite(rotation).all(axis=(-2, -1)))
        turned = np.where(known[..., None, None], rotation, np.eye(3))
        attitude = euler_parameters(turned.reshape(-1, 3, 3)).reshape(*position.shape[:-1], 4)
        spin = np.einsum("npji,npj->npi", turned, np.where(np.isfinite(omega), omega, 0.0))
        lost = np.where(known[..., None], position, np.nan)
        return cls(t, lost, attitude, np.where(np.isfinite(velocity), velocity, 0.0), spin)

    def rows(self, keep: object) -> "Frames":
        """Return some of the frames."""
        return Frames(*(array[keep] for array in self))  # type: ignore[call-overload]

    def joined(self, others: "Frames") -> "Frames":
        """Return these parts, then other parts, over the same times."""
        return Frames(
            self.t, *(np.concatenate((a, b), axis=1) for a, b in zip(self[1:], others[1:], strict=True))
        )

    def at(self, times: Floats) -> tuple[Floats, Floats]:
        """Return positions (k, p, 3) and Euler parameters (k, p, 4) at any times within the frames."""
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, max(len(self.t) - 2, 0))
        m = np.minimum(k + 1, len(self.t) - 1)
        return self.across(k, m, times)

    def across(self, k: object, m: object, times: Floats) -> tuple[Floats, Floats]:
        """Return positions and Euler parameters at times between the frames k and m, arrays of numbers."""
        first, last = self.rows(k), self.rows(m)
        h = last.t - first.t
        s = np.clip((times - first.t) / np.where(h > 0.0, h, 1.0), 0.0, 1.0)
        s, h = np.where(h > 0.0, s, 1.0)[:, None, None], h[:, None, None]
        position = hermite(first.position, first.velocity * h, last.position, last.velocity * h, s)
        return position, turning(first.attitude, first.spin * h, last.attitude, last.spin * h, s)


def hermite(a: Floats, da: Floats, b: Floats, db: Floats, s: Floats) -> Floats:
    """Return the cubic with values a, b and slopes da, db at s = 0 and 1."""
    r = 1.0 - s
    return np.asarray(
        r * r * (1.0 + 2.0 * s) * a + s * r * r * da + s * s * (3.0 - 2.0 * s) * b - s * s * r * db
    )


def turning(first: Floats, w0: Floats, last: Floats, w1: Floats, s: Floats) -> Floats:
    """Return Euler parameters between two, with turns per interval w0 and w1 [rad] in body axes at the ends."""
    a, c = w0 / 3.0, w1 / 3.0
    middle = product(product(exponential(-a), product(conjugate(first), last)), exponential(-c))
    b = nearest_turn(middle, 0.5 * (a + c))
    r = 1.0 - s
    found = product(first, exponential((1.0 - r**3) * a))
    found = product(found, exponential((3.0 - 2.0 * s) * s * s * b))
    return product(found, exponential(s**3 * c))


def nearest_turn(e: Floats, guess: Floats) -> Floats:
    """Return the rotation vector of Euler parameters that is nearest to a guess; whole turns are open."""
    e = np.where(e[..., :1] < 0.0, -e, e)
    size = np.linalg.norm(e[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, e[..., :1])
    around = np.linalg.norm(guess, axis=-1, keepdims=True)
    spare = guess / np.where(around > 0.0, around, 1.0)  # the axis of a whole turn
    axis = np.where(size > 1e-9, e[..., 1:] / np.where(size > 1e-9, size, 1.0), spare)
    turns = np.round((np.sum(axis * guess, axis=-1, keepdims=True) - angle) / (2.0 * np.pi))
    return np.asarray((angle + 2.0 * np.pi * turns) * axis)


def product(a: Floats, b: Floats) -> Floats:
    """Return the product of quaternions (..., 4)."""
    p, u, q, v = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    real = p * q - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate((real, p * v + q * u + np.cross(u, v)), axis=-1)


def conjugate(a: Floats) -> Floats:
    """Return the quaternion of the opposite turn."""
    return a * (1.0, -1.0, -1.0, -1.0)


def exponential(v: Floats) -> Floats:
    """Return the Euler parameters of rotation vectors (..., 3)."""
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.concatenate((np.cos(0.5 * angle), 0.5 * np.sinc(0.5 * angle / np.pi) * v), axis=-1)


def matrices(e: Floats) -> Floats:
    """Return the rotation matrices (..., 3, 3) of Euler parameters (..., 4)."""
    w, x, y, z = np.moveaxis(e, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
