"""Meshes of the shapes that `tm.solids` makes and `system.body(shapes=...)` takes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from .mesh import Mesh, faceted, joined, lathe, tube
from .polygons import plate

Shape = Mapping[str, Any]
_CUBE = [(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
_CORNERS = 0.5 * np.array(
    [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]
)


def shape_mesh(shape: Shape, wire: float, segments: int = 32) -> Mesh:
    """Return the surface of a shape, in the base of its body.

    Parameters
    ----------
    shape : dict with "kind" and its measures, "offset" and "rotation" where it stands
    wire : thickness with which lines, and rings and plates without thickness, are drawn [m]
    """
    made = _MAKERS.get(str(shape.get("kind")))
    if made is None:
        raise ElementError(
            f"a shape of kind {shape.get('kind')!r} cannot be drawn; there are {', '.join(_MAKERS)}."
        )
    mesh = made(shape, wire, segments)
    offset = np.asarray(shape.get("offset", (0.0, 0.0, 0.0)), dtype=np.float64)
    rotation = np.asarray(shape.get("rotation", np.eye(3)), dtype=np.float64)
    return mesh.moved(rotation, offset)


def box(shape: Shape, wire: float, segments: int) -> Mesh:
    size = [max(float(edge), 0.4 * wire) for edge in shape["size"]]
    return faceted(_CORNERS, _CUBE).scaled(*size)


def _arc(radius: float, first: float, last: float, steps: int) -> Floats:
    angle = np.linspace(first, last, steps + 1)
    arc = radius * np.column_stack((np.cos(angle), np.sin(angle)))
    arc[np.abs(arc) < 1e-12 * radius] = 0.0
    return arc


def sphere(shape: Shape, wire: float, segments: int) -> Mesh:
    r = float(shape["radius"])
    return lathe([_arc(r, -0.5 * np.pi, 0.5 * np.pi, segments // 2)], segments, spokes=4)


def ellipsoid(shape: Shape, wire: float, segments: int) -> Mesh:
    return sphere({"radius": 1.0}, wire, segments).scaled(*(float(s) for s in shape["semi_axes"]))


def hemisphere(shape: Shape, wire: float, segments: int) -> Mesh:
    r = float(shape["radius"])
    return lathe([[(0.0, 0.0), (r, 0.0)], _arc(r, 0.0, 0.5 * np.pi, segments // 4)], segments, spokes=4)


def cap(shape: Shape, wire: float, segments: int) -> Mesh:
    """Return half of the surface of a sphere, open below."""
    return lathe(
        [_arc(float(shape["radius"]), 0.0, 0.5 * np.pi, max(2, segments // 4) if segments > 8 else 1)],
        segments,
    )


def cylinder(shape: Shape, wire: float, segments: int) -> Mesh:
    r, inner, h = float(shape["radius"]), float(shape.get("inner_radius", 0.0)), 0.5 * float(shape["length"])
    spokes = 4 if 2.0 * h < 6.0 * r else 0
    if h == 0.0:
        h = 0.2 * wire
    if inner >= r:  # a shell: its wall alone, seen from both sides
        return lathe([[(r, -h), (r, h)]], segments, spokes)
    runs = [[(inner, -h), (r, -h)], [(r, -h), (r, h)], [(r, h), (inner, h)]]
    if inner > 0.0:
        runs.append([(inner, h), (inner, -h)])
    return lathe(runs, segments, spokes)


def cone(shape: Shape, wire: float, segments: int) -> Mesh:
    r, t, h = float(shape["radius"]), float(shape.get("top_radius", 0.0)), float(shape["length"])
    runs = [[(0.0, 0.0), (r, 0.0)], [(r, 0.0), (t, h)]]
    return lathe(runs if t == 0.0 else [*runs, [(t, h), (0.0, h)]], segments, spokes=4)


def torus(shape: Shape, wire: float, segments: int) -> Mesh:
    r, a = (
        float(shape["radius"]),
        float(shape["tube_radius"]) or min(0.6 * wire, 0.2 * float(shape["radius"])),
    )
    circle = _arc(a, 0.0, 2.0 * np.pi, segments // 2) + (r, 0.0)
    return lathe([circle], segments, spokes=4)


def capsule(shape: Shape, wire: float, segments: int) -> Mesh:
    """Return a cylinder about z with round ends; the length is that of the cylinder."""
    r, h = float(shape["radius"]), 0.5 * float(shape["length"])
    low, high = _arc(r, -0.5 * np.pi, 0.0, segments // 4), _arc(r, 0.0, 0.5 * np.pi, segments // 4)
    return lathe([np.vstack([low - (0.0, h), high + (0.0, h)])], segments)


def line(shape: Shape, wire: float, segments: int) -> Mesh:
    points = np.asarray(shape["points"], dtype=np.float64).reshape(-1, 3)
    radius = float(shape.get("radius", wire))
    if len(points) == 2 and np.linalg.norm(points[1] - points[0]) > 0.0:
        return between(points[0], points[1], radius, segments)
    return joined(tube(points, radius, 8))


def between(a: Floats, b: Floats, radius: float, segments: int = 24) -> Mesh:
    """Return a capsule from one point to another."""
    length = float(np.linalg.norm(b - a))
    rod = capsule({"radius": radius, "length": length}, 0.0, segments)
    return rod.moved(upright(b - a), 0.5 * (a + b))


def upright(direction: Floats) -> Floats:
    """Return a rotation whose third column is a direction."""
    size = float(np.linalg.norm(direction))
    if size == 0.0:
        return np.eye(3)
    z = direction / size
    x = np.cross(np.eye(3)[(int(np.argmax(np.abs(z))) + 2) % 3], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def polygon(shape: Shape, wire: float, segments: int) -> Mesh:
    rings = [shape["points"], *shape.get("holes", ())]
    return plate(rings, float(shape.get("thickness", 0.0)) or 0.4 * wire, bool(shape.get("smooth", False)))


def mesh(shape: Shape, wire: float, segments: int) -> Mesh:
    from .files import given_mesh

    return given_mesh(shape)


_MAKERS: dict[str, Callable[[Shape, float, int], Mesh]] = {
    f.__name__: f
    for f in (box, sphere, ellipsoid, hemisphere, cylinder, cone, torus, capsule, cap, line, polygon, mesh)
}
