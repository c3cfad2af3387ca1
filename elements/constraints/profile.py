"""Profile: a plane curve r(s) of lines, arcs and splines, such as the outline of a cam or a slot."""

from dataclasses import dataclass
from math import atan2, cos, floor, hypot, pi, sin, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.body import as_vector
from treemech.topology.errors import ElementError

from ..hinges.curve import Curve

# Columns of a piece: its start (s), its kind, then the x and the y coefficients of a polynomial in s - START,
# or centre, radius, first angle and rate of the angle of an arc. The last row holds end and closed flag.
START, KIND, X, Y, COLUMNS = 0, 1, 2, 8, 14
CENTRE_X, CENTRE_Y, RADIUS, ANGLE, RATE = 2, 3, 4, 5, 6
TINY = 1e-30  # [m2], so that the distance from a centre is differentiable there


@dataclass(frozen=True, eq=False)
class Profile:
    """Smooth plane curve r(s) in the x,y plane of an end. The operator + joins parts, `closed()` closes them.

    The parameter s is the length along lines and arcs, and nearly the length along splines [m]. The outside
    is on the right of the direction of travel: define an outer cam counterclockwise, and a cam that works on
    its inner side clockwise. Parts must join without a corner. Where lines and arcs join, the curvature
    jumps, and with it the acceleration of a follower; splines keep both continuous. Beyond its ends an open
    profile continues with its first and last piece.

    Examples
    --------
    >>> cap = Profile.arc((1, 0), 0.5, -np.pi / 2, np.pi / 2)
    >>> side = Profile.line((1, 0.5), (-1, 0.5))
    >>> foot = Profile.arc((-1, 0), 0.5, np.pi / 2, 3 * np.pi / 2)
    >>> slot = (cap + side + foot + Profile.line((-1, -0.5), (1, -0.5))).closed()
    >>> round(slot.length, 3)
    7.142
    """

    pieces: Floats

    @property
    def length(self) -> float:
        """Return the largest s; the profile starts at s = 0."""
        return float(self.pieces[-1, START])

    @property
    def is_closed(self) -> bool:
        """Tell whether the end of the profile meets its start."""
        return bool(self.pieces[-1, KIND])

    def point(self, s: float) -> tuple[float, float, float, float]:
        """Return x, y and their derivatives with respect to s.

        >>> Profile.line((0, 0), (3, 4)).point(2.5)
        (1.5, 2.0, 0.6, 0.8)
        """
        x, y, dx, dy = profile_point(self.pieces, float(s))
        return float(x), float(y), float(dx), float(dy)

    def curvature(self, x: float, y: float) -> float:
        """Return the curvature [1/m] at the point of the profile nearest to (x, y), positive where it bulges out.

        >>> Profile.circle(0.5).curvature(0.6, 0.1)
        2.0
        """
        return float(curvature_near(self.pieces, float(x), float(y)))

    def least_curvature(self) -> float:
        """Return the smallest curvature [1/m] of all pieces, of a spline at nine points of each.

        >>> (Profile.arc((0, 0), 0.5, 0.0, 1.0) + Profile.arc((0, 0), 0.5, 1.0, 2.0)).least_curvature()
        2.0
        """
        least = float("inf")
        for k in range(len(self.pieces) - 1):
            if self.pieces[k, KIND] > 0.5:
                bend = self.pieces[k, RATE]
            else:
                h = np.linspace(0.0, self.pieces[k + 1, START] - self.pieces[k, START], 9)
                _, _, dx, dy, ddx, ddy = in_piece(self.pieces, k, h)
                bend = np.min((dx * ddy - dy * ddx) / np.hypot(dx, dy) ** 3)
            least = min(least, float(bend))
        return least

    @staticmethod
    def line(start: ArrayLike, stop: ArrayLike) -> "Profile":
        """Return a straight part from start to stop, (x, y) each."""
        a, b = as_vector(start, "Profile.line: start", 2), as_vector(stop, "Profile.line: stop", 2)
        length = float(np.hypot(*(b - a)))
        if length == 0.0:
            raise ElementError("Profile.line: start and stop coincide; wanted two points.")
        piece = np.zeros((2, COLUMNS))
        piece[0, [X, Y]] = a
        piece[0, [X + 1, Y + 1]] = (b - a) / length
        piece[1, START] = length
        return Profile(piece)

    @staticmethod
    def arc(centre: ArrayLike, radius: float, start: float, stop: float) -> "Profile":
        """Return an arc from the angle start to the angle stop [rad]; it runs clockwise if stop < start."""
        middle = as_vector(centre, "Profile.arc: centre", 2)
        if not radius > 0.0 or start == stop:
            raise ElementError(
                f"Profile.arc: radius {radius:g} from {start:g} to {stop:g}; wanted a positive radius and two angles."
            )
        piece = np.zeros((2, COLUMNS))
        piece[0, KIND] = 1.0
        piece[0, [CENTRE_X, CENTRE_Y]] = middle
        piece[0, [RADIUS, ANGLE, RATE]] = radius, start, np.sign(stop - start) / radius
        piece[1, START] = radius * abs(stop - start)
        return Profile(piece)

    @staticmethod
    def circle(radius: float, centre: ArrayLike = (0.0, 0.0)) -> "Profile":
        """Return a whole circle, counterclockwise from the x axis."""
        return Profile.arc(centre, radius, 0.0, 2.0 * np.pi).closed()

    @staticmethod
    def spline(points: ArrayLike, closed: bool = False, degree: int = 5) -> "Profile":
        """Return a spline through points (x, y); a closed one returns to the first point (give it once)."""
        xy = np.asarray(points, dtype=np.float64)
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise ElementError(f"Profile.spline: points have shape {xy.shape}; wanted (n, 2).")
        space = np.column_stack((xy, np.zeros(len(xy))))
        curve = Curve(space, degree=degree, closed=closed, normal=(0.0, 0.0, 1.0))
        pieces = np.zeros((len(curve.breaks), COLUMNS))
        pieces[:, START] = curve.breaks
        pieces[:-1, X : X + 6] = curve.table[:, 0]
        pieces[:-1, Y : Y + 6] = curve.table[:, 1]
        pieces[-1, KIND] = float(closed)
        return Profile(pieces)

    @staticmethod
    def polar(radii: ArrayLike, degree: int = 5) -> "Profile":
        """Return a closed spline through radii at equal angles, counterclockwise from x (a cam table)."""
        r = np.asarray(radii, dtype=np.float64)
        if r.ndim != 1 or not np.all(r > 0.0):
            raise ElementError("Profile.polar: wanted a column of positive radii.")
        angle = np.linspace(0.0, 2.0 * np.pi, len(r), endpoint=False)
        return Profile.spline(np.column_stack((r * np.cos(angle), r * np.sin(angle))), True, degree)

    def __add__(self, other: "Profile") -> "Profile":
        if self.is_closed or other.is_closed:
            raise ElementError("Profile: a closed profile cannot be continued; join the parts first.")
        refuse_gap(self.point(self.length), other.point(0.0), self.length + other.length)
        more = other.pieces.copy()
        more[:, START] += self.length
        return Profile(np.vstack((self.pieces[:-1], more)))

    def closed(self) -> "Profile":
        """Return the same profile, closed: its end must meet its start."""
        refuse_gap(self.point(self.length), self.point(0.0), self.length)
        pieces = self.pieces.copy()
        pieces[-1, KIND] = 1.0
        return Profile(pieces)


def refuse_gap(end: Any, start: Any, size: float) -> None:
    """Refuse parts that do not meet, or meet in a corner."""
    gap = hypot(start[0] - end[0], start[1] - end[1])
    if gap > 1e-9 * size:
        raise ElementError(
            f"Profile: a part ends at ({end[0]:.6g}, {end[1]:.6g}) and the next starts {gap:.3g} away, at "
            f"({start[0]:.6g}, {start[1]:.6g}): make them meet."
        )
    cross, dot = end[2] * start[3] - end[3] * start[2], end[2] * start[2] + end[3] * start[3]
    corner = abs(float(np.arctan2(cross, dot)))
    if corner > 1e-6:
        raise ElementError(
            f"Profile: a corner of {np.degrees(corner):.3g} degrees at ({end[0]:.6g}, {end[1]:.6g}) has no normal: "
            "round it with an arc."
        )


def profile_point(pieces, s):  # type: ignore[no-untyped-def]
    """Return x, y, dx/ds, dy/ds of a profile; s may be a jet."""
    last = len(pieces) - 1
    x = s
    if pieces[last, KIND] > 0.5:
        x = x - pieces[last, START] * floor(x / pieces[last, START])
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if pieces[middle, START] <= x:
            low = middle
        else:
            high = middle
    x = x - pieces[low, START]
    if pieces[low, KIND] > 0.5:
        r, rate = pieces[low, RADIUS], pieces[low, RATE]
        angle = pieces[low, ANGLE] + rate * x
        c, d = r * cos(angle), r * sin(angle)
        return pieces[low, CENTRE_X] + c, pieces[low, CENTRE_Y] + d, -rate * d, rate * c
    px, py, dx, dy = 0.0 * x, 0.0 * x, 0.0 * x, 0.0 * x
    for power in range(5, -1, -1):
        dx = dx * x + px
        dy = dy * x + py
        px = px * x + pieces[low, X + power]
        py = py * x + pieces[low, Y + power]
    return px, py, dx, dy


def curvature_near(pieces, px, py):  # type: ignore[no-untyped-def]
    """Return the curvature of a profile at its point nearest to (px, py); where two pieces meet, of the first."""
    nearest, found = 1e300, 0.0 * px
    for k in range(len(pieces) - 1):
        span = pieces[k + 1, START] - pieces[k, START]
        if pieces[k, KIND] > 0.5:
            rate, cx, cy = pieces[k, RATE], px - pieces[k, CENTRE_X], py - pieces[k, CENTRE_Y]
            short = sqrt(cx * cx + cy * cy + TINY) - pieces[k, RADIUS]
            if short * short > nearest:  # the whole circle is farther away
                continue
            h = (atan2(cy, cx) - pieces[k, ANGLE]) / rate
            period = 2.0 * pi / abs(rate)
            h = h - period * floor((h + 0.5 * (period - span)) / period)  # the turn nearest to the arc
            h = min(max(h, 0.0 * h), span + 0.0 * h)
            angle = pieces[k, ANGLE] + rate * h
            x = pieces[k, CENTRE_X] + pieces[k, RADIUS] * cos(angle)
            y = pieces[k, CENTRE_Y] + pieces[k, RADIUS] * sin(angle)
            bend = rate + 0.0 * h
        else:
            h = nearest_in_piece(pieces, k, px, py, span)
            x, y, dx, dy, ddx, ddy = in_piece(pieces, k, h)
            speed = sqrt(dx * dx + dy * dy)
            bend = (dx * ddy - dy * ddx) / (speed * speed * speed)
        gap = (x - px) * (x - px) + (y - py) * (y - py)
        if gap < nearest:
            nearest, found = 1.0 * gap, bend
    return found


def nearest_in_piece(pieces, k, px, py, span):  # type: ignore[no-untyped-def]
    """Return s - START of the point of a polynomial piece nearest to (px, py), by Newton's method."""
    h, least = 0.0 * px, 1e300
    for i in range(5):
        x, y, _, _, _, _ = in_piece(pieces, k, 0.25 * i * span + 0.0 * px)
        gap = (x - px) * (x - px) + (y - py) * (y - py)
        if gap < least:
            least, h = 1.0 * gap, 0.25 * i * span + 0.0 * px
    for _ in range(5):
        x, y, dx, dy, ddx, ddy = in_piece(pieces, k, h)
        slope = dx * dx + dy * dy + (x - px) * ddx + (y - py) * ddy
        if slope > 0.0:
            h = h - ((x - px) * dx + (y - py) * dy) / slope
        h = min(max(h, 0.0 * h), span + 0.0 * h)
    return h


def in_piece(pieces, k, h):  # type: ignore[no-untyped-def]
    """Return x, y of a polynomial piece at s = START + h, with their first and second derivatives."""
    x, y, dx, dy, ddx, ddy = 0.0 * h, 0.0 * h, 0.0 * h, 0.0 * h, 0.0 * h, 0.0 * h
    for power in range(5, -1, -1):
        ddx = ddx * h + 2.0 * dx
        ddy = ddy * h + 2.0 * dy
        dx = dx * h + x
        dy = dy * h + y
        x = x * h + pieces[k, X + power]
        y = y * h + pieces[k, Y + power]
    return x, y, dx, dy, ddx, ddy
