# mypy: ignore-errors
"""Algebra on tuples: 3-vectors, rotations (9, row by row), symmetric matrices (xx, xy, xz, yy, yz, zz)."""

import math

from numba import types
from numba.extending import overload

from treemech.elements.lanes.numbers import Lanes, quadrant, select, some

from .language import OPTIONS, kernel, straight


@straight
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@straight
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@straight
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@straight
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@straight
def scale(s, a):
    return (s * a[0], s * a[1], s * a[2])


@straight
def rotate(R, a):
    """Return R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@straight
def unrotate(R, a):
    """Return R^T a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@straight
def multiply(A, B):
    """Return A B of two 3x3 matrices."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@straight
def transpose(A):
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@straight
def symmetric(J, a):
    """Return J a of a symmetric matrix."""
    return (
        J[0] * a[0] + J[1] * a[1] + J[2] * a[2],
        J[1] * a[0] + J[3] * a[1] + J[4] * a[2],
        J[2] * a[0] + J[4] * a[1] + J[5] * a[2],
    )


@straight
def rotate_symmetric(R, J):
    """Return R J R^T of a symmetric matrix."""
    a = symmetric(J, (R[0], R[1], R[2]))
    b = symmetric(J, (R[3], R[4], R[5]))
    c = symmetric(J, (R[6], R[7], R[8]))
    return (
        a[0] * R[0] + a[1] * R[1] + a[2] * R[2],
        a[0] * R[3] + a[1] * R[4] + a[2] * R[5],
        a[0] * R[6] + a[1] * R[7] + a[2] * R[8],
        b[0] * R[3] + b[1] * R[4] + b[2] * R[5],
        b[0] * R[6] + b[1] * R[7] + b[2] * R[8],
        c[0] * R[6] + c[1] * R[7] + c[2] * R[8],
    )


@straight
def turn_z(T, c, s):
    """Return T Rz, with Rz a rotation about the third axis."""
    return (
        c * T[0] + s * T[1],
        c * T[1] - s * T[0],
        T[2],
        c * T[3] + s * T[4],
        c * T[4] - s * T[3],
        T[5],
        c * T[6] + s * T[7],
        c * T[7] - s * T[6],
        T[8],
    )


@straight
def euler_rotation(a, b, c, d):
    """Return the rotation of the Euler parameters (a, b, c, d) of any length but zero; a is the scalar."""
    n = 2.0 / (a * a + b * b + c * c + d * d)
    return (
        1.0 - n * (c * c + d * d),
        n * (b * c - a * d),
        n * (b * d + a * c),
        n * (b * c + a * d),
        1.0 - n * (b * b + d * d),
        n * (c * d - a * b),
        n * (b * d - a * c),
        n * (c * d + a * b),
        1.0 - n * (b * b + c * c),
    )


def sincos(x):
    """Return sine and cosine together."""
    return math.sin(x), math.cos(x)


# pi/2 in three parts; k times either of the first two is exact for abs(k) < 2^23
_PIO2_1 = float.fromhex("0x1.921fb54000000p+0")
_PIO2_2 = float.fromhex("0x1.10b4611800000p-30")
_PIO2_3 = float.fromhex("0x1.313198a2e0370p-61")
_LARGE = 1.0e7


@kernel
def _sincos(x):
    """Return sine and cosine: branch-free for abs(x) < 1e7 (error below 2e-16), by the C library beyond."""
    if abs(x) > _LARGE:
        return math.sin(x), math.cos(x)
    shifted = x * 0.6366197723675814 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    n = int(k)
    s, c = _reduced(x, k)
    odd = n & 1
    sine = c if odd else s
    cosine = s if odd else c
    if n & 2:
        sine = -sine
    if (n + 1) & 2:
        cosine = -cosine
    return sine, cosine


@kernel
def _sincos_of_lanes(x):
    """Return the same of lanes; a lane beyond 1e7 does not change the others."""
    shifted = x * 0.6366197723675814 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    s, c = _reduced(x, k)
    sine, cosine = quadrant(shifted, s, c)
    large = abs(x) > _LARGE
    if some(large):
        sine, cosine = select(large, math.sin(x), sine), select(large, math.cos(x), cosine)
    return sine, cosine


@straight
def _reduced(x, k):
    """Return sine and cosine of x - k pi/2, which is small."""
    r = ((x - k * _PIO2_1) - k * _PIO2_2) - k * _PIO2_3
    z = r * r
    s = r + r * z * (
        -1.66666666666666324348e-01
        + z
        * (
            8.33333333332248946124e-03
            + z
            * (
                -1.98412698298579493134e-04
                + z
                * (
                    2.75573137070700676789e-06
                    + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
                )
            )
        )
    )
    c = (1.0 - 0.5 * z) + z * z * (
        4.16666666666666019037e-02
        + z
        * (
            -1.38888888888741095749e-03
            + z
            * (
                2.48015872894767294178e-05
                + z
                * (
                    -2.75573143513906633035e-07
                    + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
                )
            )
        )
    )
    return s, c


@overload(sincos, jit_options=OPTIONS)
def _sincos_overload(x):
    if isinstance(x, types.Float):
        return lambda x: _sincos(x)
    if isinstance(x, Lanes):
        return lambda x: _sincos_of_lanes(x)
    return lambda x: (math.sin(x), math.cos(x))  # dual numbers have their own sine and cosine
