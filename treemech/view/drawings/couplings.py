"""How couplings are drawn: gears in mesh, belts round pulleys, racks and pinions, on the axes of their hinges."""

from typing import Any

import numpy as np

from treemech.topology.arrays import Floats

from .constraints import GEAR, wheel
from .springs import nothing

BELT = "#4a5463"


def gear(element: Any, seen: Any) -> list[Any]:
    """Draw two wheels that touch, if the axes are parallel and apart."""
    apart = _apart(seen)
    if apart is None:
        return []
    ratio, size = abs(float(element.ratio)), float(np.linalg.norm(apart))
    if element.internal:
        a = size / abs(1.0 / ratio - 1.0) / ratio if ratio != 1.0 else 0.0
        ra, rb = (a / ratio * ratio, a / ratio) if ratio < 1.0 else (a, a / ratio)
        return [
            *wheel(0, -ra if ra > rb else ra, seen.girth),
            *wheel(1, -rb if rb > ra else rb, seen.girth, GEAR),
        ]
    rb = size / (1.0 + ratio)
    return [*wheel(0, ratio * rb, seen.girth), *wheel(1, rb, seen.girth, GEAR)]


def _apart(seen: Any) -> Floats | None:
    """Return where the second axis crosses the x,y plane of the first, or None if they are not parallel or the same."""
    z = seen.axis(0, 1)
    if abs(abs(z[2]) - 1.0) > 1e-6:
        return None
    d = seen.relative(0, 1)[0].copy()
    d[2] = 0.0
    return d if np.linalg.norm(d) > 1e-6 * seen.size else None


def belt(element: Any, seen: Any) -> list[Any]:
    g, ra, rb = seen.girth, float(element.radius_a), float(element.radius_b)
    found = [*wheel(0, ra, g), *wheel(1, rb, g, GEAR)]
    d = _apart(seen)
    if d is None:
        return found
    size, angle = float(np.linalg.norm(d)), float(np.arctan2(d[1], d[0]))
    reach = ra + rb if element.crossed else ra - rb
    if size <= abs(reach):
        return found
    lean = float(np.arccos(reach / size))
    points = []
    for sign in (1.0, -1.0):
        along_a = angle + sign * lean
        along_b = along_a + (np.pi if element.crossed else 0.0)
        points.append(
            (
                ra * np.array((np.cos(along_a), np.sin(along_a))),
                d[:2] + rb * np.array((np.cos(along_b), np.sin(along_b))),
            )
        )
    for a, b in points:
        line = [[*a.tolist(), 0.0], [*b.tolist(), 0.0]]
        found.append({"kind": "line", "end": 0, "points": line, "radius": 0.35 * g, "color": BELT})
    return found


def rack(element: Any, seen: Any) -> list[Any]:
    return wheel(0, abs(float(element.radius)), seen.girth, GEAR)


DRAWINGS = {
    "Gear": gear, "Belt": belt, "RackAndPinion": rack, "Coupling": nothing,
}  # fmt: skip
