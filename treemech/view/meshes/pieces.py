"""Shapes taken apart into pieces that many bodies share: unit meshes, stretched, so that a page stays small."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from .mesh import Mesh
from .solids import shape_mesh, upright

_UNIT: dict[str, dict[str, Any]] = {
    "box": {"kind": "box", "size": (1.0, 1.0, 1.0)},
    "ball": {"kind": "sphere", "radius": 1.0},
    "dome": {"kind": "hemisphere", "radius": 1.0},
    "bar": {"kind": "cylinder", "radius": 1.0, "length": 10.0},
    "cap": {"kind": "cap", "radius": 1.0},
    "wall": {"kind": "cylinder", "radius": 1.0, "inner_radius": 1.0, "length": 10.0},
    "disk": {"kind": "cylinder", "radius": 1.0, "length": 1.0},
    "cone": {"kind": "cone", "radius": 1.0, "length": 1.0},
}


# what a shape has besides its measures
_PLACING = ("offset", "rotation", "color", "alpha", "at", "layer", "owner", "tint")


class Piece(NamedTuple):
    """A mesh under a key, stretched and placed in a body."""

    key: str
    mesh: Mesh | None
    scale: Floats
    offset: Floats
    rotation: Floats


def unit_mesh(name: str, segments: int) -> Mesh:
    """Return a mesh of unit size: "box", "ball", "dome", "bar" (length 10), "disk", "cone"."""
    return shape_mesh(_UNIT[name], 0.0, segments)


def pieces(shape: Mapping[str, Any], wire: float, segments: int, what: str = "a shape") -> list[Piece]:
    """Return the pieces of a shape; `what` names its body in messages."""
    try:
        return list(_pieces(shape, wire, segments))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ElementError):
            raise
        raise ElementError(f"{what}: {shape!r} cannot be drawn: {error!r}.") from error


def _pieces(shape: Mapping[str, Any], wire: float, segments: int) -> Iterator[Piece]:
    offset = np.asarray(shape.get("offset", (0.0, 0.0, 0.0)), dtype=np.float64)
    rotation = np.asarray(shape.get("rotation", np.eye(3)), dtype=np.float64)

    def unit(name: str, scale: Any, at: Any = (0.0, 0.0, 0.0), turn: Any = None) -> Piece:
        key = f"{name} {segments}"
        turned = rotation if turn is None else rotation @ turn
        return Piece(
            key,
            unit_mesh(name, segments),
            np.array(scale, dtype=np.float64),
            offset + rotation @ np.asarray(at),
            turned,
        )

    kind = shape.get("kind")
    if kind == "box":
        yield unit("box", [max(float(edge), 0.4 * wire) for edge in shape["size"]])
    elif kind == "sphere":
        yield unit("ball", [float(shape["radius"])] * 3)
    elif kind == "ellipsoid":
        yield unit("ball", [float(s) for s in shape["semi_axes"]])
    elif kind == "hemisphere":
        yield unit("dome", [float(shape["radius"])] * 3)
    elif kind == "cone" and not float(shape.get("top_radius", 0.0)):
        yield unit("cone", (float(shape["radius"]), float(shape["radius"]), float(shape["length"])))
    elif kind == "cylinder" and not float(shape.get("inner_radius", 0.0)):
        r, h = float(shape["radius"]), float(shape["length"]) or 0.4 * wire
        yield unit("disk", (r, r, h)) if h < 6.0 * r else unit("bar", (r, r, 0.1 * h))
    elif kind == "capsule":
        r, h = float(shape["radius"]), float(shape["length"])
        yield unit("cap", (r, r, r), (0.0, 0.0, 0.5 * h))
        yield unit("cap", (r, r, r), (0.0, 0.0, -0.5 * h), np.diag((1.0, -1.0, -1.0)))
        yield unit("wall", (r, r, 0.1 * h))
    elif kind == "line":
        points, r = (
            np.asarray(shape["points"], dtype=np.float64).reshape(-1, 3),
            float(shape.get("radius", wire)),
        )
        for a, b in itertools.pairwise(points):
            length = float(np.linalg.norm(b - a))
            if length > 0.0:
                yield unit("bar", (r, r, 0.1 * length), 0.5 * (a + b), upright(b - a))
        yield from (unit("ball", (r, r, r), p) for p in np.unique(points, axis=0))
    else:
        measures = {n: x for n, x in shape.items() if n not in _PLACING}
        key = json.dumps([measures, wire, segments], default=_plain, sort_keys=True)
        yield Piece(key, shape_mesh(measures, wire, segments), np.ones(3), offset, rotation)


def _plain(value: Any) -> Any:
    return np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)
