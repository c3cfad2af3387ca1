"""Animation: one self-contained HTML page that plays the motion of a mechanism.

The page needs no network and no other file: the poses travel inside it, the viewer is the script of
``animate.html`` beside this file. With ``#t=1.5`` at the end of its address it opens paused at that time.
"""

import base64
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemech.dynamics.model import trace as columns
from treemech.topology.rotation import euler_parameters

from ..files.atomic import atomic, with_suffix
from ..results.model_info import rotations

if TYPE_CHECKING:
    from ..results.run import Run

Array = NDArray[np.float64]

MAX_FRAMES = 2000
TEMPLATE = Path(__file__).with_name("animate.html")


def write_page(path: str | os.PathLike[str], scene: Mapping[str, Any], max_frames: int = MAX_FRAMES) -> Path:
    """Write the page that animates ``scene`` to ``path``; return the path.

    The file appears whole or not at all. Frames that hold a value that is not a number are not drawn.

    Parameters
    ----------
    path : path of the page, in a folder that exists
    scene : dict with

        - ``name`` (str) and ``gravity`` (3,): the camera's up axis is opposite to gravity, z without gravity;
        - ``t`` (n,): the times [s], in order;
        - ``bodies``: list of ``{"name", "position" (n,3), "rotation" (n,3,3), "shapes"}``, with the body axes
          in world components as columns of the rotation, and optionally ``"color": "#rrggbb"``;
        - ``points``: list of ``{"name", "body", "offset" (3,)}``, the hinge points; body -1 is the ground;
        - ``trails`` (optional): points as above whose path is shown from the start. Without it every body
          offers the path of the middle of its shapes, shown on demand;
        - ``ground`` (optional): list of shapes that do not move, in world components.

        A shape, in the body base, is one of ``{"kind": "box", "size": (3,)}``, ``{"kind": "cylinder",
        "radius", "length"}`` (along z), ``{"kind": "sphere", "radius"}`` and ``{"kind": "line", "points":
        (k,3)}``, each with an optional ``offset`` (3,) and ``rotation`` (3,3). Anything else becomes a cross.
    max_frames : a longer motion is thinned to about so many frames, evenly by index

    Raises
    ------
    ValueError
        An array of the scene has the wrong shape, or its times are missing or out of order.
    """
    page = TEMPLATE.read_text(encoding="utf-8")
    title = html.escape(str(scene.get("name") or "mechanism"))
    parts = {"%%TITLE%%": title, "%%DATA%%": _script_json(_page_data(scene, max_frames))}
    # one pass, so that a name that looks like a placeholder stays a name
    page = re.sub("|".join(parts), lambda found: parts[found[0]], page)
    return _write_whole(Path(path), page.encode("utf-8", errors="replace"))


def animate_run(run: "Run", path: str | os.PathLike[str]) -> Path:
    """Write the page that animates a run; bodies without shapes get default ones."""
    target = with_suffix(path, ".html", "run.animate", ".htm")
    trace = run._trace(columns.VELOCITY)
    ends: dict[int, list[Any]] = {}
    for h in run._info.hinges:
        ends.setdefault(h.body_a, []).append(h.offset_a)
        ends.setdefault(h.body_b, []).append(h.offset_b)
    bodies = [
        {
            "name": body.name,
            "position": trace[:, k, columns.POSITION],
            "rotation": rotations(trace[:, k]),
            "shapes": body.shapes or default_shapes(ends.get(k, []), body.com, body.mass),
        }
        for k, body in enumerate(run._info.bodies)
        if k
    ]
    points = [{"name": h.name, "body": h.body_b - 1, "offset": h.offset_b} for h in run._info.hinges]
    scene = {
        "name": run._info.name,
        "gravity": run._info.gravity,
        "t": run.t,
        "bodies": bodies,
        "points": points,
    }
    return write_page(target, scene)


def default_shapes(points: ArrayLike, com: ArrayLike, mass: float) -> list[dict[str, Any]]:
    """Return shapes for a body that declares none, so that every mechanism can be seen.

    Slender boxes run between two attachment points, otherwise from each of them to the centre of mass; a
    sphere marks the centre of mass of a body with mass. Without any extent it is a small box, which the
    page fits to the size of the scene.

    Parameters
    ----------
    points : (k,3) offsets of the attachments in the body base, k = 0 allowed
    com : (3,) centre of mass in the body base
    mass : mass [kg]

    Examples
    --------
    >>> [shape["kind"] for shape in default_shapes([[0, 0, 0], [1, 0, 0]], com=[0.5, 0, 0], mass=2.0)]
    ['box', 'sphere']
    """
    ends = np.asarray(points, dtype=float).reshape(-1, 3)
    ends = ends[np.isfinite(ends).all(axis=1)]
    middle = np.asarray(com, dtype=float).reshape(3)
    if not np.isfinite(middle).all():
        middle = ends.mean(axis=0) if len(ends) else np.zeros(3)
    spread = float(np.ptp(np.vstack([ends, middle]), axis=0).max())
    heavy = bool(np.isfinite(mass) and mass > 0.0)
    if spread <= 1e-9 * (1.0 + float(np.abs(middle).max())):
        side = (mass / 2000.0) ** (1.0 / 3.0) if heavy else 0.1  # a cube of 2000 kg/m3
        return [{"kind": "box", "size": [side] * 3, "offset": middle.tolist(), "fit": True}]

    near = 1e-6 * spread
    distinct: list[Array] = []
    for end in ends:
        if all(np.linalg.norm(end - other) > near for other in distinct):
            distinct.append(end)
    if len(distinct) == 2:
        first, last = distinct
        along = last - first
        # the foot of the centre of mass on the link: a stub joins them when they are apart
        foot = first + np.clip(along @ (middle - first) / (along @ along), 0.0, 1.0) * along
        links = [(first, last, 0.05 * spread)]
        if heavy:
            links.append((foot, middle, 0.03 * spread))
    else:
        links = [(end, middle, 0.05 * spread) for end in distinct]
    shapes = [_slender_box(a, b, width) for a, b, width in links if np.linalg.norm(b - a) > near]
    if heavy:
        shapes.append({"kind": "sphere", "radius": 0.055 * spread, "offset": middle.tolist()})
    return shapes


def _slender_box(a: Array, b: Array, width: float) -> dict[str, Any]:
    length = float(np.linalg.norm(b - a))
    z = (b - a) / length
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    rotation = np.column_stack([x, np.cross(z, x), z])
    middle = 0.5 * (a + b)
    size = [width, width, length]
    return {"kind": "box", "size": size, "offset": middle.tolist(), "rotation": rotation.tolist()}


# -------------------------------------------------------------------------------- what the page holds


def _page_data(scene: Mapping[str, Any], max_frames: int) -> dict[str, Any]:
    """Return the scene in the form of the script: checked, centred, thinned and packed."""
    time, rows = _frames(scene.get("t", ()), max_frames)
    bodies = list(scene.get("bodies", ()))
    names = [str(body.get("name", f"body {i + 1}")) for i, body in enumerate(bodies)]
    n_given = np.size(scene.get("t", ()))
    position = np.empty((len(rows), len(bodies), 3))
    rotation = np.empty((len(rows), len(bodies), 3, 3))
    for i, (body, name) in enumerate(zip(bodies, names, strict=True)):
        position[:, i] = _array(body["position"], (n_given, 3), f"position of body {name!r}")[rows]
        rotation[:, i] = _array(body["rotation"], (n_given, 3, 3), f"rotation of body {name!r}")[rows]
    # what single precision cannot hold is lost as well: a motion that ran away
    lost = ~((np.abs(position) < 1e30).all(axis=2) & np.isfinite(rotation).all(axis=(2, 3)))
    position[lost] = np.nan
    rotation[lost] = np.nan

    points = [_point(point, len(bodies)) for point in scene.get("points", ())]
    shapes = [[_shape(shape) for shape in body.get("shapes") or ()] for body in bodies]
    ground = [_shape(shape) for shape in scene.get("ground") or ()]
    basis = _basis(scene.get("gravity"))
    low, high, azimuth = _extent(basis, position, rotation, shapes, ground, points)
    radius = float(0.5 * np.linalg.norm(high - low))
    fitted = [shape for own in [*shapes, ground] for shape in own if shape.pop("fit", False)]
    for shape in fitted:
        # bodies without extent: boxes in proportion to the scene, or alone in their own size
        shape["size"] = [0.07 * radius or side for side in shape["size"]]
    margin = max((max(shape["size"]) / 2 for shape in fitted), default=0.0)
    low, high = low - margin, high + margin
    radius = float(0.5 * np.linalg.norm(high - low)) or 1.0
    centre = 0.5 * (low + high) @ basis
    floor = low[2]
    if -0.01 * radius <= floor <= 0.75 * radius:
        floor = 0.0  # nothing goes below the world's own ground plane: that is the floor
    else:
        floor -= 0.06 * radius

    poses = np.concatenate([position - centre, euler_parameters(rotation)], axis=2)
    packed = poses.astype("<f4")
    packed[~np.isfinite(packed).all(axis=2)] = np.nan
    given = scene.get("trails")
    trails = [_point(point, len(bodies)) for point in given] if given is not None else _middles(shapes)
    return {
        "name": str(scene.get("name") or "mechanism"),
        "time": _base64(time.astype("<f8")),
        "poses": _base64(packed),
        "centre": centre.tolist(),
        "radius": radius,
        "half": (0.5 * (high - low)).tolist(),
        "basis": basis.tolist(),
        "floor": float(floor - basis[2] @ centre),
        "azimuth": azimuth,
        "bodies": [
            {"name": name, "shapes": own, "color": _colour(body.get("color"))}
            for name, own, body in zip(names, shapes, bodies, strict=True)
        ],
        "ground": ground,
        "points": points,
        "trails": trails,
        "show_trails": given is not None,
    }


def _frames(times: ArrayLike, max_frames: int) -> tuple[Array, NDArray[np.intp]]:
    """Return the times that are kept, in rising order, and their rows in the scene's arrays."""
    t = np.asarray(times, dtype=float)
    if t.ndim != 1:
        raise ValueError(f"the times of the scene have shape {t.shape}; wanted one column (n,).")
    rows = np.flatnonzero(np.isfinite(t))
    if not len(rows):
        raise ValueError("the scene has no times: give at least one frame in 't'.")
    if t[rows[-1]] < t[rows[0]]:
        rows = rows[::-1]  # a motion computed backwards
    if np.any(np.diff(t[rows]) < 0.0):
        raise ValueError("the times of the scene go up and down; wanted them in order.")
    if len(rows) > max_frames:
        rows = rows[np.unique(np.round(np.linspace(0, len(rows) - 1, max(max_frames, 2))).astype(int))]
    return t[rows], rows


def _array(values: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ValueError(f"the {what} has shape {array.shape}; wanted {shape}.")
    return array


def _point(point: Mapping[str, Any], n_bodies: int) -> dict[str, Any]:
    name, body = str(point.get("name", "")), int(point.get("body", -1))
    if not -1 <= body < n_bodies:
        raise ValueError(f"point {name!r} lies on body {body}; there are {n_bodies} (the ground is -1).")
    offset = np.nan_to_num(_array(point.get("offset", (0.0, 0.0, 0.0)), (3,), f"offset of point {name!r}"))
    return {"name": name, "body": body, "offset": offset.tolist()}


def _shape(shape: Any) -> dict[str, Any]:
    """Return a shape with all its numbers.

    A shape that cannot be understood becomes a cross at its offset.
    """
    given: Mapping[str, Any] = shape if isinstance(shape, Mapping) else {}
    out: dict[str, Any] = {"kind": "cross", "offset": [0.0] * 3, "rotation": np.eye(3).tolist()}
    try:
        out["offset"] = _numbers(given.get("offset"), (3,), out["offset"])
        out["rotation"] = _numbers(given.get("rotation"), (3, 3), out["rotation"])
        kind = given.get("kind")
        if kind == "box":
            out["size"] = _numbers(given["size"], (3,))
            out["fit"] = bool(given.get("fit", False))
        elif kind == "cylinder":
            out["radius"], out["length"] = _numbers([given["radius"], given["length"]], (2,))
        elif kind == "sphere":
            out["radius"] = _numbers([given["radius"]], (1,))[0]
        elif kind == "line":
            out["points"] = _numbers(given["points"], (len(given["points"]), 3))
        else:
            return out
    except (KeyError, TypeError, ValueError):
        return {key: out[key] for key in ("kind", "offset", "rotation")}
    return {**out, "kind": kind}


def _numbers(values: Any, shape: tuple[int, ...], default: Any = None) -> Any:
    if values is None and default is not None:
        return default
    array = _array(values, shape, "shape")
    if not np.isfinite(array).all():
        raise ValueError("not a number")
    return array.tolist()


def _colour(value: Any) -> str | None:
    return value if isinstance(value, str) and re.fullmatch("#[0-9a-fA-F]{6}", value) else None


# -------------------------------------------------------------------------------- room and view


def _basis(gravity: ArrayLike | None) -> Array:
    """Return two horizontal directions and up, as rows: up is opposite to gravity, z without it."""
    g = np.zeros(3) if gravity is None else _array(gravity, (3,), "gravity")
    size = float(np.linalg.norm(g))
    up = -g / size + 0.0 if np.isfinite(size) and size > 0.0 else np.array([0.0, 0.0, 1.0])
    first = np.eye(3)[int(np.argmin(np.abs(up).round(9)))]
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first), up])


def _extent(
    basis: Array,
    position: Array,
    rotation: Array,
    shapes: Sequence[Sequence[Mapping[str, Any]]],
    ground: Sequence[Mapping[str, Any]],
    points: Sequence[Mapping[str, Any]],
) -> tuple[Array, Array, float]:
    """Return lowest and highest coordinates of everything along the basis, and the direction of the camera."""
    paths = [position[:, i] for i in range(position.shape[1])]
    for point in points:
        offset, i = np.array(point["offset"]), point["body"]
        paths.append(offset[None] if i < 0 else position[:, i] + rotation[:, i] @ offset)
    cloud = np.vstack([np.zeros((0, 3)), *paths])
    cloud = cloud[np.isfinite(cloud).all(axis=1)] @ basis.T
    low = [cloud.min(axis=0)] if len(cloud) else []
    high = [cloud.max(axis=0)] if len(cloud) else []
    still = (np.zeros((1, 3)), np.eye(3)[None], ground)
    moving = [(position[:, i], rotation[:, i], own) for i, own in enumerate(shapes)]
    for place, turn, own in [*moving, still]:
        seen = np.isfinite(place).all(axis=1)
        for shape in own if seen.any() else ():
            if shape.get("fit"):
                continue
            directions = basis @ turn[seen]  # rows: the basis in body components, frame by frame
            high.append((place[seen] @ basis.T + _reach(shape, directions)).max(axis=0))
            low.append((place[seen] @ basis.T - _reach(shape, -directions)).min(axis=0))
    if not low:
        return np.zeros(3), np.zeros(3), 0.0
    return np.min(low, axis=0), np.max(high, axis=0), _azimuth(cloud)


def _reach(shape: Mapping[str, Any], d: Array) -> Array:
    """Return how far a shape extends along the unit directions d (...,3): its support function."""
    turn = np.array(shape["rotation"])
    local = d @ turn
    reach = d @ np.array(shape["offset"])
    match shape["kind"]:
        case "box":
            reach = reach + 0.5 * np.abs(local) @ np.abs(shape["size"])
        case "cylinder":
            across = np.sqrt(np.maximum(0.0, 1.0 - local[..., 2] ** 2))
            reach = reach + 0.5 * shape["length"] * np.abs(local[..., 2]) + shape["radius"] * across
        case "sphere":
            reach = reach + shape["radius"]
        case "line" if shape["points"]:
            reach = reach + (local @ np.array(shape["points"]).T).max(axis=-1)
    return np.asarray(reach)


def _azimuth(cloud: Array) -> float:
    """Return the direction of the camera around up: a plane motion is seen from the front, a little from the side."""
    flat = cloud[:, :2] - cloud[:, :2].mean(axis=0) if len(cloud) else np.zeros((1, 2))
    spread, axes = np.linalg.eigh(flat.T @ flat)
    if spread[0] > 0.25 * spread[1] or spread[1] <= 0.0:
        return float(np.radians(-60.0))
    right = axes[:, 1] * (1.0 if axes[:, 1] @ (1.0, 0.5) >= 0.0 else -1.0)
    return float(np.arctan2(right[1], right[0]) - np.radians(90.0 - 22.0))


def _middles(shapes: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the point of each body whose path can be shown: the middle of its shapes."""
    axes = np.eye(3)
    trails = []
    for i, own in enumerate(shapes):
        middle = np.zeros(3)
        if own:
            high = np.max([_reach(shape, axes) for shape in own], axis=0)
            low = np.min([-_reach(shape, -axes) for shape in own], axis=0)
            middle = 0.5 * (low + high)
        trails.append({"name": "", "body": i, "offset": middle.tolist()})
    return trails


# -------------------------------------------------------------------------------- text and file


def _base64(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def _script_json(data: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element: no name can close the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _write_whole(path: Path, content: bytes) -> Path:
    with atomic(path) as stream:
        stream.write(content)
    return path
