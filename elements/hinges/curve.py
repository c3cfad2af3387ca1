"""Curve hinge: motion along a space curve with a base that follows the curve and never flips."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import floor, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_floats, plain

from ..element import structure
from ..hinge import Hinge, Motion
from ..shared.splines import interpolating_spline

_PIECES = 4  # pieces per segment between points, for the spline of normals


@dataclass(frozen=True, eq=False)
class Curve(Hinge):
    """The end point runs along a spline through given points; its base follows the tangent.

    The coordinate q is the parameter of the curve (by default the length of the polygon through the points,
    so nearly the arc length [m]). With the tangent e1, a normal e2 that turns as little as possible about it
    (double reflection: no flip at inflections or on straight parts), e3 = e1 x e2 and primes for d/dq::

        c = c(q)         C = [e1 e2 e3]                            (3.3.23)
        v = c'           w = 1/2 sum e_i x e_i'                    (3.3.28), (3.3.32)
        v00 = c'' u^2    w00 = 1/2 sum e_i x e_i'' u^2             (3.3.30), (3.3.34)

    Beyond its ends an open curve continues with its last polynomial piece; a closed curve repeats. (The base
    carried around a closed space curve need not close: the missing angle is spread evenly as a turn about the
    tangent.)

    Parameters
    ----------
    points : array (n, 3)
        Points of the curve in the base of end a [m].
    parameters : array (n,), optional
        Values of q at the points, increasing (n + 1 of them if closed).
    degree : 5 or 3
        Degree of the spline. Degree 5 makes the third derivative, and with it the bias, continuous; degree 3
        is the usual C2 spline.
    closed : bool
        Whether the first point follows the last (give it once).
    normal : vector, optional
        Direction of e2 at the first point (its part normal to the tangent).

    Examples
    --------
    >>> line = Curve([(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (5, 0, 0)])
    >>> line.motion(q=[1.5]).translation_partials.round(12).tolist()
    [[1.0, 0.0, 0.0]]
    """

    points: Any = structure()
    parameters: Any = structure(default=None)
    degree: int = structure(default=5)
    closed: bool = False
    normal: Any = structure(default=None)
    breaks: Any = field(default=None, init=False, repr=False)
    table: Any = field(default=None, init=False, repr=False)
    n_coordinates = 1

    @classmethod
    def example(cls) -> "Curve":
        return cls([(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 1), (4, 0, 1), (5, 0, 0)])

    def __post_init__(self) -> None:
        points = as_floats(self.points)
        if points.ndim != 2 or points.shape[1] != 3 or not np.all(np.isfinite(plain(points))):
            raise ElementError(f"Curve: points have shape {points.shape}; wanted (n, 3) finite numbers.")
        if self.degree not in (3, 5):
            raise ElementError(f"Curve: degree is {self.degree}; wanted 3 or 5.")
        if self.closed:
            points = np.vstack((points, points[:1]))
        if len(points) <= self.degree:
            raise ElementError(
                f"Curve: {len(points)} points; a spline of degree {self.degree} needs {self.degree + 1}."
            )
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if np.any(steps == 0.0):
            raise ElementError(f"Curve: point {int(np.argmin(steps))} and the next one coincide.")
        s = np.concatenate(([0.0], np.cumsum(steps)))
        if self.parameters is not None:
            s = as_floats(self.parameters)
            if s.shape != (len(points),) or np.any(np.diff(s) <= 0.0):
                raise ElementError(f"Curve: parameters must be {len(points)} increasing numbers.")
        breaks, table = tabulate(s, points, self.degree, bool(self.closed), self.normal)
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "table", table)

    def reference(self) -> Floats:
        return np.array(self.breaks[:1])

    def domain(self) -> tuple[ArrayLike, ArrayLike]:
        return self.breaks[:1], self.breaks[-1:]

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        x = q[0]
        n = len(self.breaks) - 1
        if self.closed > 0.5:
            period = self.breaks[n] - self.breaks[0]
            x = x - period * floor((x - self.breaks[0]) / period)
        low, high = 0, n
        while high - low > 1:
            middle = (low + high) // 2
            if self.breaks[middle] <= x:
                low = middle
            else:
                high = middle
        x = x - self.breaks[low]
        c = polynomial(self.table, low, 0, x, 0)
        v = polynomial(self.table, low, 0, x, 1)
        a = polynomial(self.table, low, 0, x, 2)
        e1, d1, dd1 = unit(v, a, polynomial(self.table, low, 0, x, 3))
        m = polynomial(self.table, low, 3, x, 0)
        dm = polynomial(self.table, low, 3, x, 1)
        e3, d3, dd3 = product(e1, d1, dd1, m, dm, polynomial(self.table, low, 3, x, 2))
        e3, d3, dd3 = unit(e3, d3, dd3)
        e2, d2, dd2 = product(e3, d3, dd3, e1, d1, dd1)
        square = u[0] * u[0]
        w1, w2, w3 = vector_product(e1, d1), vector_product(e2, d2), vector_product(e3, d3)
        a1, a2, a3 = vector_product(e1, dd1), vector_product(e2, dd2), vector_product(e3, dd3)
        for k in range(3):
            motion.offset[k] = c[k]
            motion.rotation[k, 0] = e1[k]
            motion.rotation[k, 1] = e2[k]
            motion.rotation[k, 2] = e3[k]
            motion.translation_partials[0, k] = v[k]
            motion.rotation_partials[0, k] = 0.5 * (w1[k] + w2[k] + w3[k])
            motion.translation_bias[k] = a[k] * square
            motion.rotation_bias[k] = 0.5 * (a1[k] + a2[k] + a3[k]) * square


def polynomial(table, piece, first, x, derivative):  # type: ignore[no-untyped-def]
    """Return a derivative of three neighbouring polynomials of a piece; table[piece, component, power]."""
    r0, r1, r2 = 0.0, 0.0, 0.0
    for power in range(5, derivative - 1, -1):
        factor = 1.0
        for k in range(derivative):
            factor *= power - k
        r0 = r0 * x + factor * table[piece, first, power]
        r1 = r1 * x + factor * table[piece, first + 1, power]
        r2 = r2 * x + factor * table[piece, first + 2, power]
    return r0, r1, r2


def vector_product(a, b):  # type: ignore[no-untyped-def]
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def combine(x, a, y, b, z, c):  # type: ignore[no-untyped-def]
    """Return x a + y b + z c."""
    return x * a[0] + y * b[0] + z * c[0], x * a[1] + y * b[1] + z * c[1], x * a[2] + y * b[2] + z * c[2]


def product(a, da, dda, b, db, ddb):  # type: ignore[no-untyped-def]
    """Return a x b with its first and second derivative."""
    zero = vector_product(a, b)
    first = combine(1.0, vector_product(da, b), 1.0, vector_product(a, db), 0.0, zero)
    second = combine(1.0, vector_product(dda, b), 2.0, vector_product(da, db), 1.0, vector_product(a, ddb))
    return zero, first, second


def unit(a, da, dda):  # type: ignore[no-untyped-def]
    """Return a / |a| with its first and second derivative."""
    length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    i = 1.0 / length
    e = combine(i, a, 0.0, a, 0.0, a)
    dl = e[0] * da[0] + e[1] * da[1] + e[2] * da[2]
    de = combine(i, da, -dl * i, e, 0.0, e)
    ddl = e[0] * dda[0] + e[1] * dda[1] + e[2] * dda[2] + de[0] * da[0] + de[1] * da[1] + de[2] * da[2]
    dde = combine(i, dda, -ddl * i, e, -2.0 * dl * i, de)
    return e, de, dde


def tabulate(s: Floats, points: Floats, degree: int, closed: bool, normal: Any) -> tuple[Floats, Floats]:
    """Return breaks and polynomial coefficients [piece, component, power] of the curve and its normals."""

    def powers(curve: Any, breaks: Floats) -> Floats:
        coefficients = np.zeros((len(breaks) - 1, 3, 6), dtype=curve.c.dtype)
        factorial = 1.0
        for k in range(degree + 1):  # Taylor coefficients at the left end of each piece
            factorial *= max(k, 1)
            coefficients[:, :, k] = curve.derivative(k)(breaks[:-1]) / factorial
        return coefficients

    curve = interpolating_spline(s, points, degree, closed)
    fine = np.concatenate([np.linspace(a, b, _PIECES, endpoint=False) for a, b in pairwise(s)])
    fine = np.append(fine, s[-1])
    position, tangent = curve(fine), curve.derivative()(fine)
    length = np.linalg.norm(tangent, axis=1)
    if np.any(length < 1e-12 * np.max(length)):
        raise ElementError(f"Curve: the tangent vanishes at q = {fine[int(np.argmin(length))]:.6g}.")
    tangent /= length[:, None]
    normals = carried_normals(position, tangent, normal)
    if closed:  # spread the angle that is missing to close the base over the whole turn
        across = np.cross(tangent[0], normals[0])
        missing = np.arctan2(normals[-1] @ across, normals[-1] @ normals[0])
        angle = -missing * (fine - fine[0]) / (fine[-1] - fine[0])
        normals = np.cos(angle)[:, None] * normals + np.sin(angle)[:, None] * np.cross(tangent, normals)
        normals[-1] = normals[0]
    across_spline = interpolating_spline(fine, normals, degree, closed)
    breaks = np.unique(np.concatenate((curve.t[degree:-degree], across_spline.t[degree:-degree])))
    table = np.concatenate((powers(curve, breaks), powers(across_spline, breaks)), axis=1)
    return breaks, np.ascontiguousarray(table)


def carried_normals(position: Floats, tangent: Floats, normal: Any) -> Floats:
    """Return normals that turn least about the tangent, by double reflection (Wang et al., 2008)."""
    first = np.eye(3)[int(np.argmin(np.abs(plain(tangent[0]))))] if normal is None else as_floats(normal)
    first = first - (first @ tangent[0]) * tangent[0]
    size = np.linalg.norm(first)
    if not size > 1e-9:
        raise ElementError("Curve: normal is parallel to the tangent at the first point.")
    normals = [first / size]
    for k in range(len(position) - 1):
        chord = position[k + 1] - position[k]
        n, t = normals[-1], tangent[k]
        n = n - 2.0 * (chord @ n) / (chord @ chord) * chord
        t = t - 2.0 * (chord @ t) / (chord @ chord) * chord
        turn = tangent[k + 1] - t
        if turn @ turn > 0.0:
            n = n - 2.0 * (turn @ n) / (turn @ turn) * turn
        normals.append(n)
    return np.array(normals)
