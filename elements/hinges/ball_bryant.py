"""Ball hinge in Bryant angles, as in the thesis (3.3.41-43)."""

from dataclasses import dataclass
from math import cos, sin

from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats

from ..hinge import Hinge, Motion


@dataclass(frozen=True)
class BallBryant(Hinge):
    """Turn about a common point by q0 about x, q1 about the turned y, q2 about the twice turned z.

    The three coordinates are Bryant angles [rad]. They are singular at q1 = +-90 degrees; `Ball` is not::

        C = Rx(q0) Ry(q1) Rz(q2)                                              (3.3.41), transposed
        w_0 = (1, 0, 0)   w_1 = (0, c0, s0)   w_2 = (s1, -s0 c1, c0 c1)       (3.3.42)
        w00 = (c1 u1 u2, ...)                                                 (3.3.43), see bryant_bias

    In print, (3.3.41) is the transpose of the C that satisfies (3.3.24), and the first component of (3.3.43)
    lacks its factor u2; `tm.check` confirms the forms used here.

    >>> BallBryant().motion(q=[0, 0, 0]).rotation_partials[1].tolist()
    [0.0, 1.0, 0.0]
    """

    n_coordinates = 3

    def domain(self) -> tuple[ArrayLike, ArrayLike]:
        return (-3.0, -1.2, -3.0), (3.0, 1.2, 3.0)

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        bryant_rotation(q[0], q[1], q[2], motion.rotation)
        bryant_partials(q[0], q[1], motion.rotation_partials)
        bryant_bias(q[0], q[1], u[0], u[1], u[2], motion.rotation_bias)


def bryant_rotation(a: float, b: float, c: float, C: Floats) -> None:
    """Write C = Rx(a) Ry(b) Rz(c)."""
    ca, sa, cb, sb, cc, sc = cos(a), sin(a), cos(b), sin(b), cos(c), sin(c)
    C[0, 0] = cb * cc
    C[0, 1] = -cb * sc
    C[0, 2] = sb
    C[1, 0] = ca * sc + sa * sb * cc
    C[1, 1] = ca * cc - sa * sb * sc
    C[1, 2] = -sa * cb
    C[2, 0] = sa * sc - ca * sb * cc
    C[2, 1] = sa * cc + ca * sb * sc
    C[2, 2] = ca * cb


def bryant_partials(a: float, b: float, w: Floats) -> None:
    """Write the partials w of (3.3.42), one row per angle."""
    ca, sa, cb, sb = cos(a), sin(a), cos(b), sin(b)
    w[0, 0] = 1.0
    w[1, 1] = ca
    w[1, 2] = sa
    w[2, 0] = sb
    w[2, 1] = -sa * cb
    w[2, 2] = ca * cb


def bryant_bias(a: float, b: float, u: float, v: float, w: float, w00: Floats) -> None:
    """Write the bias w00 of (3.3.43) for the rates u, v, w of the three angles."""
    ca, sa, cb, sb = cos(a), sin(a), cos(b), sin(b)
    w00[0] = cb * v * w
    w00[1] = -sa * u * v - ca * cb * u * w + sa * sb * v * w
    w00[2] = ca * u * v - sa * cb * u * w - ca * sb * v * w
