"""How cords and muscles are drawn: along their wrapped paths, coloured by tension or activation."""

from typing import Any

import numpy as np

from treemech.elements.cords.wrapping import SPHERE
from treemech.topology.arrays import Floats

from .springs import TAUT, cord

MUSCLE, ACTIVE, SURFACE = "#d9b3a6", "#d0202e", "#9aa5b3"
POINTS = 40  # of a wrapped path


def path(element: Any, seen: Any) -> list[Any]:
    return _along(element, seen, {"color": "#6b5b4a", "tint": "effort", "tint_color": TAUT})


def muscle_path(element: Any, seen: Any) -> list[Any]:
    return _along(element, seen, _belly(seen))


def muscle(element: Any, seen: Any) -> list[Any]:
    return [{"kind": "cord", **_belly(seen)}]


def _belly(seen: Any) -> dict[str, Any]:
    return {"color": MUSCLE, "tint": "x[0]", "tint_color": ACTIVE, "tint_range": (0.0, 1.0), "belly": 2.6}


def _along(element: Any, seen: Any, look: dict[str, Any]) -> list[Any]:
    surfaces = np.asarray(element.surfaces, dtype=np.float64).reshape(-1, 3)
    if not len(surfaces):
        return [{"kind": "cord", **look}]
    found: list[Any] = []
    for end, radius, side in surfaces:
        if side == SPHERE:
            found.append({"kind": "sphere", "radius": radius})
        else:
            near = np.vstack([seen.relative(int(end), int(end) + k)[:, 2] for k in (-1, 1)])
            low, high = min(near.min(), -radius), max(near.max(), radius)
            found.append(
                {
                    "kind": "cylinder",
                    "radius": radius,
                    "length": high - low,
                    "offset": (0.0, 0.0, 0.5 * (low + high)),
                }
            )
        found[-1] |= {"end": int(end), "color": SURFACE, "alpha": 0.4, "layer": "surfaces"}

    def points(
        position: Floats, rotation: Floats, x: Floats, inputs: Floats, memory: Floats, t: float
    ) -> Floats:
        return evenly(wrapped(position, rotation, surfaces, memory), POINTS)

    return [*found, {"kind": "path", "ends": [0, len(seen.ends) - 1], "points": points, **look}]


def wrapped(position: Floats, rotation: Floats, surfaces: Floats, memory: Floats) -> Floats:
    """Return points (n, 3) along a cord over all ends: straight parts, helices on cylinders, great circles on spheres.

    surfaces: rows (end, radius, side); memory: 1 and the counted angle of every cylinder, as the element keeps them.
    """
    around = {int(end): (radius, side, k) for k, (end, radius, side) in enumerate(surfaces)}
    found = [position[0]]
    for k in range(1, len(position)):
        if k in around:
            radius, side, number = around[k]
            found += _on(position, rotation[k], k, radius, side, memory[2 * number : 2 * number + 2])
        else:
            found.append(position[k])
    return np.array(found)


def _on(position: Floats, R: Floats, k: int, radius: float, side: float, memory: Floats) -> list[Floats]:
    """Return the points of a cord on the surface at end k, between the ends before and after it."""
    a, b = position[k - 1] - position[k], position[k + 1] - position[k]
    if side == SPHERE:
        normal = np.cross(a, b)
        size = float(np.linalg.norm(normal))
        if size == 0.0:
            return []
        ex, ez = a / np.linalg.norm(a), normal / size
        base = np.column_stack((ex, np.cross(ez, ex), ez))
    else:
        base = R
    pa, pb = base.T @ a, base.T @ b
    ra, rb = float(np.hypot(*pa[:2])), float(np.hypot(*pb[:2]))
    if min(ra, rb) <= radius:
        return []
    angle = float(np.arctan2(pa[0] * pb[1] - pa[1] * pb[0], pa[:2] @ pb[:2]))
    free = float(np.arccos(radius / ra) + np.arccos(radius / rb))
    if side != SPHERE:
        if len(memory) and memory[0] > 0.5:  # the turns are counted
            angle += 2.0 * np.pi * round((memory[1] - angle) / (2.0 * np.pi))
        elif side and side * angle < -free:
            angle += 2.0 * np.pi * side
    arc = abs(angle) - free
    if arc <= 0.0:
        return []
    turn = 1.0 if angle > 0.0 else -1.0
    first = float(np.arctan2(pa[1], pa[0])) + turn * float(np.arccos(radius / ra))
    la, lb = np.sqrt(ra * ra - radius * radius), np.sqrt(rb * rb - radius * radius)
    flat = la + radius * arc + lb
    rise = (pb[2] - pa[2]) / flat
    share = np.linspace(0.0, 1.0, max(4, int(np.ceil(arc / 0.15))))
    phi = first + turn * arc * share
    height = pa[2] + rise * (la + radius * arc * share)
    local = np.column_stack((radius * np.cos(phi), radius * np.sin(phi), height))
    return list(position[k] + local @ base.T)


def evenly(points: Floats, n: int) -> Floats:
    """Return n points along a line, at equal distances."""
    s = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
    if s[-1] == 0.0:
        return np.repeat(points[:1], n, axis=0)
    at = np.linspace(0.0, s[-1], n)
    return np.column_stack([np.interp(at, s, points[:, k]) for k in range(3)])


DRAWINGS = {
    "Path": path, "MusclePath": muscle_path, "Fibres": muscle, "Tendon": cord,
}  # fmt: skip
