"""Splines through tables: those of scipy, and the same splines with dual numbers.

The coefficients of a spline solve linear equations A x = b; their derivatives solve A x' = b' - A' x.
"""

from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.parameter import plain


def cubic_coefficients(x: Floats, y: Floats, ends: str = "not-a-knot") -> Floats:
    """Return c[falling power, piece, ...] of the C2 spline through the rows of y at the knots x."""
    if x.dtype != object and y.dtype != object:
        from scipy.interpolate import CubicSpline

        return np.asarray(CubicSpline(x, y, bc_type=ends).c)
    from treemech.topology.dual import derivatives, solved

    n, rows = len(x), y.reshape(len(y), -1)
    h = np.diff(x)
    m = np.diff(rows, axis=0) / h[:, None]
    A, b = np.zeros((n, n), dtype=object), np.zeros(rows.shape, dtype=object)
    for k in range(1, n - 1):  # the second derivative does not jump
        A[k, k - 1], A[k, k], A[k, k + 1] = h[k], 2.0 * (h[k - 1] + h[k]), h[k - 1]
        b[k] = 3.0 * (h[k] * m[k - 1] + h[k - 1] * m[k])
    if ends == "periodic":
        if np.any(derivatives(rows[0]) != derivatives(rows[-1])):
            raise ArithmeticError("a periodic table that ends with another value than it starts with")
        A[0, 0], A[0, n - 1] = 1.0, -1.0
        for k, factor, piece in ((0, 4.0, 0), (1, 2.0, 0), (n - 2, 2.0, -1), (n - 1, 4.0, -1)):
            A[n - 1, k] += factor / h[piece]
        b[n - 1] = 6.0 * (m[0] / h[0] + m[-1] / h[-1])
    else:
        inner = min(1, n - 2)
        for end, next_, k0, k1 in ((0, 1, 0, inner), (n - 1, n - 2, -1, -1 - inner)):
            A[end, end] = 1.0
            if ends == "natural":
                A[end, next_], b[end] = 0.5, 1.5 * m[k0]
            elif ends == "not-a-knot" and n == 2:  # a line
                b[end] = m[k0]
            elif ends == "not-a-knot" and n == 3:  # a parabola
                A[end, next_], b[end] = 1.0, 2.0 * m[k0]
            elif ends == "not-a-knot":  # the third derivative does not jump
                d = h[k0] + h[k1]
                A[end, end], A[end, next_] = h[k1], d
                b[end] = ((h[k0] + 2.0 * d) * h[k1] * m[k0] + h[k0] * h[k0] * m[k1]) / d
    return hermite_coefficients(x, y, solved(A, b).reshape(y.shape))


def monotone_coefficients(x: Floats, y: Floats) -> Floats:
    """Return c[falling power, piece] of cubics that are monotone where the table is.

    The method is that of Fritsch and Butland, as in scipy's Pchip.
    """
    if x.dtype != object and y.dtype != object:
        from scipy.interpolate import PchipInterpolator

        return np.asarray(PchipInterpolator(x, y).c)
    from treemech.topology.dual import derivatives

    h = np.diff(x)
    m = np.diff(y) / h
    if np.any((m == 0.0) & (derivatives(m) != 0.0)):
        raise ArithmeticError("a table that stops being level")
    if len(m) == 1:
        return hermite_coefficients(x, y, np.array([m[0], m[0]]))

    def inner(k: int) -> Any:
        if m[k - 1] * m[k] <= 0.0:
            return 0.0
        w1, w2 = 2.0 * h[k] + h[k - 1], h[k] + 2.0 * h[k - 1]
        return (w1 + w2) / (w1 / m[k - 1] + w2 / m[k])

    def outer(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
        d = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
        if d * m0 <= 0.0:
            return 0.0
        return 3.0 * m0 if m0 * m1 <= 0.0 and abs(d) > 3.0 * abs(m0) else d

    ends = outer(h[0], h[1], m[0], m[1]), outer(h[-1], h[-2], m[-1], m[-2])
    return hermite_coefficients(x, y, np.array([ends[0], *map(inner, range(1, len(m))), ends[1]]))


def hermite_coefficients(x: Floats, y: Floats, s: Any) -> Floats:
    """Return c[falling power, piece, ...] of cubics with the slopes s at the knots."""
    h = np.diff(x).reshape(-1, *[1] * (y.ndim - 1))
    m = np.diff(y, axis=0) / h
    t = (s[:-1] + s[1:] - 2.0 * m) / h
    return np.stack((t / h, (m - s[:-1]) / h - t, s[:-1], y[:-1]))


def end_slope(x: Floats, c: Floats) -> float:
    """Return the slope at the last knot."""
    if c.dtype != object:
        from scipy.interpolate import PPoly

        return float(PPoly(c, x)(x[-1], 1))
    h = x[-1] - x[-2]
    slope: float = c[2, -1] + h * (2.0 * c[1, -1] + h * 3.0 * c[0, -1])
    return slope


def interpolating_spline(x: Floats, y: Floats, degree: int, closed: bool) -> Any:
    """Return the spline of an odd degree through the rows of y at x; it is called like a spline of scipy.

    A closed spline is periodic in all its derivatives.
    """
    from scipy.interpolate import BSpline, make_interp_spline

    ends = "periodic" if closed else None
    spline = make_interp_spline(plain(x), plain(y), k=degree, bc_type=ends)
    if x.dtype != object and y.dtype != object:
        return spline
    from treemech.topology.dual import derivatives, joined

    t, n = _knots(x, degree, closed), len(spline.c)
    still, each = DualSpline(t, spline.c, degree), BSpline(spline.t, np.eye(n), degree)
    A, right = [each(plain(x))], [derivatives(y) - derivatives(still(x))]
    for k in range(1, degree) if closed else ():
        A.append(np.diff(each.derivative(k)(plain(x[[0, -1]])), axis=0))
        right.append(-derivatives(np.diff(still.derivative(k)(x[[0, -1]]), axis=0)))
    moved = np.linalg.solve(np.vstack(A), np.vstack(right))
    return DualSpline(t, joined(spline.c, moved), degree)


def _knots(x: Floats, degree: int, closed: bool) -> Any:
    """Return the knots that scipy uses.

    An open spline has no knots at a few points next to the ends. A closed one continues beyond the ends with
    the steps of the other side.
    """
    if not closed:
        aside = (degree + 1) // 2
        return np.concatenate(([x[0]] * (degree + 1), x[aside:-aside], [x[-1]] * (degree + 1)))
    h, t = np.diff(x), list(x)
    for k in range(degree):
        t = [t[0] - h[-1 - k % len(h)], *t, t[-1] + h[k % len(h)]]
    return np.array(t)


class DualSpline:
    """B-spline with dual numbers for knots, coefficients (n, dim) and arguments."""

    def __init__(self, t: Any, c: Any, degree: int) -> None:
        self.t, self.c, self.degree = t, c, degree

    def derivative(self, order: int = 1) -> "DualSpline":
        """Return the derivative of this order, a spline of lower degree."""
        if order == 0:
            return self
        t, k = self.t, self.degree
        c = k * np.diff(self.c, axis=0) / (t[k + 1 : -1] - t[1 : -k - 1])[:, None]
        return DualSpline(t[1:-1], c, k - 1).derivative(order - 1)

    def __call__(self, x: Any) -> Any:
        """Evaluate the spline by de Boor's recursion; at a knot, take the piece on its right."""
        t, k = self.t, self.degree
        i = np.searchsorted(plain(t), plain(x), side="right") - 1
        i = np.clip(i, k, len(self.c) - 1)
        d = [self.c[i - k + j] for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                low = t[i - k + j]
                a = ((x - low) / (t[i + 1 + j - r] - low))[:, None]
                d[j] = d[j - 1] + a * (d[j] - d[j - 1])
        return d[k]
