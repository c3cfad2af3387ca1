"""Plane polygons: exact integrals over their area, and the outlines that have one."""

from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats
from .errors import ElementError
from .parameter import as_floats, plain


class PlaneIntegrals(NamedTuple):
    """Integrals over an area of 1, (x, y) and (x x, y y, x y)."""

    area: Any
    first: Floats
    second: Floats


def as_outline(points: Any, what: str) -> Floats:
    """Return the corners (n, 2) of a polygon, each once; refuse outlines that enclose no area or cross themselves."""
    try:
        corners = as_floats(points)
    except (TypeError, ValueError):
        raise ElementError(f"{what} is {points!r}: wanted corners (x, y), three or more.") from None
    if corners.ndim != 2 or corners.shape[1] != 2 or not np.all(np.isfinite(plain(corners))):
        raise ElementError(f"{what} has shape {corners.shape}: wanted finite corners (x, y), three or more.")
    numbers = plain(corners)
    step = np.abs(numbers - np.roll(numbers, 1, axis=0)).max(axis=1, initial=0.0)
    corners = corners[step > 1e-12 * float(np.ptp(numbers))]  # a closed outline names its first corner twice
    if len(corners) < 3:
        raise ElementError(f"{what} has {len(corners)} different corners: wanted three or more.")
    numbers = plain(corners)
    crossing = first_crossing(numbers, numbers, same=True)
    if crossing is not None:
        i, j = crossing
        raise ElementError(
            f"{what} crosses or touches itself: the sides from corner {i} and from corner {j} meet. Give the corners in order "
            "around the outline, each once; holes are outlines of their own."
        )
    if abs(plain(signed_area(corners))) <= 1e-12 * float(np.ptp(numbers, axis=0).max()) ** 2:
        raise ElementError(f"{what} encloses no area: its corners are on one line.")
    return np.asarray(corners)


def refuse_misplaced_holes(outer: Floats, holes: list[Floats]) -> None:
    """Refuse holes that are not inside the outline, or overlap."""
    for k, hole in enumerate(holes):
        if first_crossing(plain(outer), plain(hole)) is not None or not is_inside(
            plain(hole[0]), plain(outer)
        ):
            raise ElementError(f"hole {k} of a polygon is not inside its outline.")
        for other in holes[:k]:
            one, two = plain(hole), plain(other)
            if first_crossing(one, two) is not None or is_inside(one[0], two) or is_inside(two[0], one):
                raise ElementError(f"hole {k} of a polygon overlaps another hole: give their common outline.")


def signed_area(corners: Floats) -> Any:
    """Return the area, positive if the outline runs counterclockwise."""
    x, y = corners.T
    return 0.5 * (x * np.roll(y, -1) - np.roll(x, -1) * y).sum()


def integrals(corners: Floats) -> PlaneIntegrals:
    """Return the integrals over the polygon, as sums over its sides (Green's theorem).

    They are taken from the first corner, which keeps the digits of a polygon far from the origin.

    >>> [round(float(x), 3) for x in integrals(np.array([(0, 0), (2, 0), (2, 1), (0, 1)])).second]
    [2.667, 0.667, 1.0]
    """
    sense = 1.0 if plain(signed_area(corners)) > 0.0 else -1.0
    origin = corners[0]
    x, y = (corners - origin).T
    a, b = np.roll(x, -1), np.roll(y, -1)
    w = sense * (x * b - a * y)
    area = 0.5 * w.sum()
    first = np.array([(w * (x + a)).sum(), (w * (y + b)).sum()]) / 6.0
    xx, yy = (w * (x * x + x * a + a * a)).sum() / 12.0, (w * (y * y + y * b + b * b)).sum() / 12.0
    xy = (w * (x * b + 2.0 * x * y + 2.0 * a * b + a * y)).sum() / 24.0
    (p, q), (f, g) = origin, first
    second = np.array(
        [xx + 2.0 * p * f + p * p * area, yy + 2.0 * q * g + q * q * area, xy + p * g + q * f + p * q * area]
    )
    return PlaneIntegrals(area, first + area * origin, second)


def first_crossing(one: Floats, other: Floats, same: bool = False) -> tuple[int, int] | None:
    """Find two sides that meet, of two outlines or of one (`same`), where neighbours share a corner.

    Returns the numbers of the corners at which the sides start, or None.
    """
    b, d = np.roll(one, -1, axis=0), np.roll(other, -1, axis=0)
    n = len(one)
    for i in range(n):
        p, r = one[i], b[i] - one[i]
        size = np.abs(r).sum() * np.maximum(np.abs(other - p).sum(axis=1), np.abs(d - p).sum(axis=1))
        # on which side of the line of side i the other corners are, and the reverse; 0: on the line
        near = _side(_cross(r, other - p), size)
        far = _side(_cross(r, d - p), size)
        s = d - other
        scale = np.abs(s).sum(axis=1) * np.maximum(
            np.abs(p - other).sum(axis=1), np.abs(b[i] - other).sum(axis=1)
        )
        start, stop = _side(_cross(s, p - other), scale), _side(_cross(s, b[i] - other), scale)
        meets = (near * far <= 0) & (start * stop <= 0)
        flat = (near == 0) & (far == 0)  # on one line: do they overlap along it?
        along, ahead = (other - p) @ r, (d - p) @ r
        meets &= ~flat | ((np.maximum(along, ahead) >= 0.0) & (np.minimum(along, ahead) <= r @ r))
        if same:
            for j in ((i - 1) % n, (i + 1) % n):
                meets[j] = (
                    flat[j] and s[j] @ r < 0.0
                )  # neighbours meet in their corner; one may not turn back
            meets[i] = not r.any()
        if meets.any():
            return i, int(np.flatnonzero(meets)[0])
    return None


def is_inside(point: Floats, corners: Floats) -> bool:
    """Tell whether a point is inside a polygon: a ray to the right crosses its outline an odd number of times."""
    following = np.roll(corners, -1, axis=0)
    (x, y), (a, b) = corners.T, following.T
    spans = (y > point[1]) != (b > point[1])
    height = np.where(spans, b - y, 1.0)
    return bool(np.count_nonzero(spans & (point[0] < x + (point[1] - y) * (a - x) / height)) % 2)


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _side(cross: Floats, size: Floats) -> Floats:
    return np.sign(np.where(np.abs(cross) <= 1e-14 * size, 0.0, cross))
