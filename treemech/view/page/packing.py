"""Pack a scene for its page: a header in JSON and arrays of numbers, deflated, as text."""

import base64
import json
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemech.topology.arrays import Floats

from ..scene.options import Options
from ..scene.room import Room, nice
from ..scene.scene import LAYERS, Scene, horizontal

TYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "i2": "<i2", "u2": "<u2", "u4": "<u4", "i1": "i1", "u1": "u1"}


FINEST = 1e-6  # step of positions, in radii of the scene
RATES, FORCES, CURVE = 8191.0, 1023, 32000  # steps of velocities, of arrows, and of curves over their range
LOST = -(2**31)  # a position that is not known


class Packer:
    """Collects arrays; the header refers to them by type, first byte and count."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def array(self, values: ArrayLike, kind: str) -> list[Any]:
        """Store numbers, byte by byte of equal rank (which deflates better); return the reference."""
        flat = np.ascontiguousarray(values).astype(TYPES[kind]).ravel()
        content = flat.view(np.uint8).reshape(len(flat), flat.itemsize).T.tobytes()
        self.parts.append(content)
        start, self.size = self.size, self.size + len(content)
        return [kind, start, len(flat)]


def packed(scene: Scene) -> tuple[str, int]:
    """Return the data of a page as text, and their size before deflation."""
    packer = Packer()
    header = json.dumps(
        _header(scene, packer), allow_nan=False, separators=(",", ":"), ensure_ascii=True
    ).encode()
    content = len(header).to_bytes(4, "little") + header + b"".join(packer.parts)
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    text = base64.b64encode(squeeze.compress(content) + squeeze.flush()).decode("ascii")
    return text.replace("http", "ht\ntp"), len(content)


def scaled(values: Floats, top: int = 32767) -> tuple[NDArray[np.int64], float]:
    """Return numbers as integers of at most `top`, and the unit."""
    largest = float(np.abs(values).max(initial=0.0))
    step = largest / top if largest > 0.0 and math.isfinite(largest) else 1.0
    return np.round(values / step).astype(np.int64), step


def _header(scene: Scene, packer: Packer) -> dict[str, Any]:
    options: Options = scene.options["options"]
    basis = horizontal(scene.up)
    room = Room(scene, basis, options.follow)
    frames, p = scene.frames, len(scene.parts)
    n = len(frames.t)
    speed = [float(np.abs(frames.velocity[:, k]).max(initial=0.0)) / RATES or 1.0 for k in range(p)]
    rate = [float(np.abs(frames.spin[:, k]).max(initial=0.0)) / RATES or 1.0 for k in range(p)]
    position = frames.position - room.centre
    lost = ~np.isfinite(position).all(axis=-1)
    far = np.abs(np.where(lost[..., None], 0.0, position)).max(initial=0.0)
    fine = max(FINEST * room.radius, far / 2.0**30)
    places = np.where(lost[..., None], LOST, np.round(np.where(lost[..., None], 0.0, position) / fine))
    header: dict[str, Any] = {
        "name": str(scene.name or "mechanism"),
        "basis": basis.tolist(),
        "centre": room.centre.tolist(),
        "radius": room.radius,
        "outline": np.round(room.outline / room.radius, 4).tolist(),
        "azimuth": room.azimuth,
        "azimuth0": room.azimuth,
        "floor": float(room.floor - basis[2] @ room.centre),
        "floored": options.floor is not False,
        "grid": nice(room.radius / 3.0),
        "span": min(scene.size, 2.0 * room.radius),
        "fastest": float(np.percentile(np.linalg.norm(frames.velocity, axis=-1), 99)) or 1.0 if n and p else 1.0,
        "arrowScale": 1.0,
        "layers": list(LAYERS),
        "owners": [list(owner) for owner in scene.owners],
        "show": list(options.show),
        "theme": options.theme,
        "view": options.view,
        "speed": options.pace(float(frames.t[-1] - frames.t[0]) if n else 0.0),
        "follow": room.follow,
        "frames": {
            "t": packer.array(frames.t, "f8"),
            "position": packer.array(places.transpose(0, 2, 1), "i4"),
            "unit": fine,
            "attitude": packer.array(np.round(frames.attitude.transpose(0, 2, 1) * 32767.0), "i2"),
            "velocity": packer.array(np.round((frames.velocity / np.array(speed)[:, None]).transpose(0, 2, 1)), "i2"),
            "spin": packer.array(np.round((frames.spin / np.array(rate)[:, None]).transpose(0, 2, 1)), "i2"),
            "speed": speed,
            "rate": rate,
        },
        "parts": [
            {"name": x.name, "colour": x.colour, "body": x.is_body, "mass": float(x.mass), "com": [float(c) for c in x.com]}
            for x in scene.parts
        ],
        "derived": [
            {"kind": d.kind, "spots": [_spot(s) for s in d.spots], "side": _short(d.side)} for d in scene.derived
        ],
        "meshes": [_mesh(mesh, packer) for mesh in scene.meshes.values()],
        "items": _items(scene, packer),
        "curves": [_curve(curve, packer, room.centre) for curve in scene.curves],
        "tints": [
            {"part": tint.part, "colour": tint.colour, "values": packer.array(np.round(255.0 * tint.values), "u1")}
            for tint in scene.tints
        ],
        "arrows": [_arrow(arrow, packer) for arrow in scene.arrows],
        "labels": [
            {"text": label.text, "part": label.spot.part, "offset": _short(label.spot.offset), "kind": label.kind}
            for label in scene.labels
        ],
        "traces": [
            {"name": x.name, "part": x.spot.part, "offset": _short(x.spot.offset), "shown": x.shown}
            for x in scene.traces
            if x.spot.part
        ],
        "signals": _signals(scene, packer),
    }  # fmt: skip
    return header


def _short(values: ArrayLike) -> list[float]:
    return [float(f"{x:.7g}") for x in np.asarray(values, dtype=np.float64).ravel()]


def _spot(spot: Any) -> list[Any]:
    return [int(spot.part), _short(spot.offset)]


def _mesh(mesh: Any, packer: Packer) -> dict[str, Any]:
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    unit = np.where(high > low, (high - low) / 65535.0, 1.0)
    shade = np.round(127.0 * np.column_stack((mesh.normals, mesh.tones)))
    return {
        "vertices": packer.array(np.round((mesh.vertices - low) / unit), "u2"),
        "normals": packer.array(shade, "i1"),
        "triangles": packer.array(mesh.triangles, "u4"),
        "unit": _short(unit),
        "origin": _short(low),
    }


def _items(scene: Scene, packer: Packer) -> dict[str, Any]:
    keys = {key: k for k, key in enumerate(scene.meshes)}
    maps = [np.column_stack((item.matrix, item.offset)) for item in scene.items]
    ids = [(keys[i.mesh], i.part, LAYERS.index(i.layer), i.owner) for i in scene.items]
    colours = [(*_rgb(item.colour), round(255 * min(max(item.alpha, 0.0), 1.0))) for item in scene.items]
    return {
        "maps": packer.array(np.array(maps).reshape(-1), "f4"),
        "ids": packer.array(np.array(ids, dtype=np.int64).reshape(-1), "u2"),
        "colours": packer.array(np.array(colours, dtype=np.int64).reshape(-1), "u1"),
    }


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _curve(curve: Any, packer: Packer, centre: Floats) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": curve.kind, "spots": [_spot(s) for s in curve.spots], "radius": float(curve.radius), "colour": curve.colour,
        "owner": curve.owner, "tint": curve.tint, "tangents": [_short(t) for t in curve.tangents], "belly": curve.belly,
        "layer": LAYERS.index(curve.layer), "points": None,
    }  # fmt: skip
    if curve.points is not None:
        points = np.nan_to_num(curve.points - centre)
        middle = 0.5 * (points.min(axis=(0, 1)) + points.max(axis=(0, 1)))
        values, unit = scaled(points - middle)
        found |= {
            "points": packer.array(values, "i2"),
            "unit": unit,
            "origin": _short(middle),
            "count": points.shape[1],
        }
    return found


def _arrow(arrow: Any, packer: Packer) -> dict[str, Any]:
    values, unit = scaled(arrow.vectors, FORCES)
    sizes = np.linalg.norm(arrow.vectors, axis=1)
    return {
        "kind": arrow.kind, "part": arrow.spot.part, "offset": _short(arrow.spot.offset), "owner": arrow.owner,
        "vectors": packer.array(values, "i2"), "unit": unit, "usual": float(np.percentile(sizes, 75)),
    }  # fmt: skip


def _signals(scene: Scene, packer: Packer) -> list[dict[str, Any]]:
    times, found = dict[bytes, Any](), []
    for s in scene.signals:
        key = np.asarray(s.t).tobytes()
        if key not in times:
            times[key] = packer.array(s.t, "f4")
        known = np.isfinite(s.values)
        low, high = float(s.values[known].min(initial=np.inf)), float(s.values[known].max(initial=-np.inf))
        middle, step = (0.5 * (low + high), 0.5 * (high - low) / CURVE or 1.0) if known.any() else (0.0, 1.0)
        steps = np.where(known, np.round((np.where(known, s.values, middle) - middle) / step), -32768)
        y = packer.array(steps, "i2")
        found.append(
            {
                "name": s.name,
                "unit": s.unit,
                "t": times[key],
                "y": y,
                "middle": middle,
                "step": step,
                "shown": s.shown,
            }
        )
    return found
