"""How contacts are drawn: balls, tires and bearings, and the planes and roads they touch."""

from typing import Any

import numpy as np

from ..scene.scene import RUBBER, STEEL
from .springs import nothing

PLANE = "#9aa5b3"


def plane(seen: Any, margin: float, distance: float = 0.0, end: int = 0, other: int = 1) -> dict[str, Any]:
    """Return the part of the x,y plane of an end over which another end moves; the floor if it is level ground."""
    if seen.level(end):
        return {"kind": "floor", "height": seen.height(end, distance)}
    x = seen.relative(end, other)
    low, high = x.min(axis=0) - margin, x.max(axis=0) + margin
    size = [float(high[0] - low[0]), float(high[1] - low[1]), 0.0]
    middle = [float(0.5 * (low[0] + high[0])), float(0.5 * (low[1] + high[1])), distance]
    return {
        "kind": "box",
        "end": end,
        "size": size,
        "offset": middle,
        "color": PLANE,
        "alpha": 0.35,
        "layer": "surfaces",
    }


def sphere_plane(element: Any, seen: Any) -> list[Any]:
    r = seen.number(element.radius)
    return [*_ball(1, r), plane(seen, max(2.0 * r, 4.0 * seen.girth))]


def sphere_sphere(element: Any, seen: Any) -> list[Any]:
    return [*_ball(0, seen.number(element.radius_a)), *_ball(1, seen.number(element.radius_b))]


def _ball(end: int, radius: float) -> list[Any]:
    look = {"color": "#e8b04c", "alpha": 0.55, "layer": "surfaces"}
    return [{"kind": "sphere", "end": end, "radius": radius, **look}] if radius > 0.0 else []


def tire(element: Any, seen: Any) -> list[Any]:
    r = seen.number(element.radius)
    width = 0.24 * r
    found: list[Any] = [
        {"kind": "torus", "end": 1, "radius": r - width, "tube_radius": width, "color": RUBBER},
        {"kind": "cylinder", "end": 1, "radius": r - 1.3 * width, "length": 0.9 * width, "color": STEEL},
        {"kind": "cylinder", "end": 1, "radius": 0.22 * r, "length": 1.5 * width, "color": RUBBER},
    ]
    if element.road is None:
        return [*found, plane(seen, 2.5 * r)]
    x = seen.relative(0, 1)
    low, high = float(x[:, 0].min()) - 2.5 * r, float(x[:, 0].max()) + 2.5 * r
    road = np.asarray(element.road, dtype=np.float64)
    at = np.unique(
        np.concatenate((np.linspace(low, high, 121), road[(road[:, 0] > low) & (road[:, 0] < high), 0]))
    )
    return [
        *found,
        strip(
            at, heights(road, at, element.interpolation), float(x[:, 1].min()) - r, float(x[:, 1].max()) + r
        ),
    ]


def heights(road: Any, x: Any, interpolation: str) -> Any:
    """Return the heights of a table at x; it continues straight beyond its ends."""
    low, high = road[0], road[-1]
    if interpolation == "spline" and len(road) > 2:
        from scipy.interpolate import CubicSpline

        curve = CubicSpline(road[:, 0], road[:, 1], bc_type="natural")
        z = curve(np.clip(x, low[0], high[0]))
        first, last = float(curve(low[0], 1)), float(curve(high[0], 1))
    else:
        z = np.interp(x, road[:, 0], road[:, 1])
        first, last = (
            (road[1, 1] - low[1]) / (road[1, 0] - low[0]), (high[1] - road[-2, 1]) / (high[0] - road[-2, 0])
        )  # fmt: skip
    return z + first * np.minimum(x - low[0], 0.0) + last * np.maximum(x - high[0], 0.0)


def strip(x: Any, z: Any, left: float, right: float) -> dict[str, Any]:
    """Return a surface of heights over x, between two values of y, as a mesh on the first end."""
    vertices = np.vstack([np.column_stack((x, np.full(len(x), y), z)) for y in (left, right)])
    n = len(x)
    k = np.arange(n - 1)
    faces = np.vstack([np.column_stack((k, k + 1, k + 1 + n)), np.column_stack((k, k + 1 + n, k + n))])
    return {
        "kind": "mesh",
        "end": 0,
        "vertices": vertices.tolist(),
        "faces": faces.tolist(),
        "color": PLANE,
        "layer": "ground",
    }


def journal_bearing(element: Any, seen: Any) -> list[Any]:
    r, length, gap = (seen.number(x) for x in (element.radius, element.length, element.clearance))
    bush = {
        "kind": "cylinder",
        "end": 0,
        "radius": 1.35 * r,
        "inner_radius": r + gap,
        "length": length,
        "color": "#b58a4a",
    }
    journal = {"kind": "cylinder", "end": 1, "radius": r, "length": 1.6 * length, "color": STEEL}
    return [bush, journal]


def roller(element: Any, seen: Any) -> list[Any]:
    r, width = seen.number(element.radius), seen.number(element.width)
    if seen.shaped(1):
        return []
    z = seen.axis(1, 0)  # the axes are parallel to the z axis of end a
    from ..meshes.solids import upright

    return [
        {"kind": "cylinder", "end": 1, "radius": r, "length": width, "rotation": upright(z), "color": STEEL}
    ]


DRAWINGS = {
    "SpherePlane": sphere_plane, "SphereSphere": sphere_sphere, "Tire": tire, "JournalBearing": journal_bearing,
    "EhdTraction": roller, "Friction": nothing, "BristleFriction": nothing,
}  # fmt: skip
