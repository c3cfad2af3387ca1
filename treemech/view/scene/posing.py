"""Where every part of a scene is at a time: recorded parts by interpolation, derived parts from points of others."""

from typing import TYPE_CHECKING

import numpy as np

from treemech.topology.arrays import Floats

from ..meshes.mesh import unit
from ..motion.interpolation import matrices

if TYPE_CHECKING:
    from .scene import Curve, Scene, Spot


def part_poses(scene: "Scene", times: Floats) -> Floats:
    """Return the affine maps (k, parts, 3, 4) of all parts at times; the ground is part 0."""
    position, attitude = scene.frames.at(times)
    n, p = position.shape[:2]
    poses = np.zeros((n, 1 + p + len(scene.derived), 3, 4))
    poses[:, 0, :, :3] = np.eye(3)
    poses[:, 1 : 1 + p, :, :3] = matrices(attitude)
    poses[:, 1 : 1 + p, :, 3] = position
    for k, part in enumerate(scene.derived):
        poses[:, 1 + p + k] = _derived(
            part.kind, [at(poses, spot) for spot in part.spots], poses, part.spots[0], part.side
        )
    return poses


def at(poses: Floats, spot: "Spot") -> Floats:
    """Return the positions (k, 3) of a point of a part."""
    own = poses[:, spot.part]
    return np.asarray(own[:, :, :3] @ np.asarray(spot.offset) + own[:, :, 3])


def _derived(kind: str, points: list[Floats], poses: Floats, first: "Spot", side: Floats) -> Floats:
    a, b = points[0], points[1]
    found = np.zeros((len(a), 3, 4))
    found[:, :, 3] = a
    if kind == "triangle":
        found[:, :, 0], found[:, :, 1] = b - a, points[2] - a
        found[:, :, 2] = unit(np.cross(b - a, points[2] - a))
        return found
    along = b - a
    z = unit(along)
    z[np.linalg.norm(along, axis=1) == 0.0] = (0.0, 0.0, 1.0)
    reference = poses[:, first.part, :, :3] @ side
    x = unit(reference - np.sum(reference * z, axis=1, keepdims=True) * z)
    lost = np.linalg.norm(x, axis=1) == 0.0
    if lost.any():
        x[lost] = unit(np.cross(z[lost], z[lost][:, [1, 2, 0]] + (0.1, 0.0, 0.0)))
    found[:, :, 0], found[:, :, 1] = x, np.cross(z, x)
    found[:, :, 2] = along if kind == "stretch" else z
    return found


def curve_points(scene: "Scene", curve: "Curve", poses: Floats, times: Floats) -> Floats:
    """Return the points (k, m, 3) of a curve at times."""
    ends = [at(poses, spot) for spot in curve.spots]
    if curve.kind == "way":
        return np.stack(ends, axis=1)
    if curve.kind == "bend":
        a, b = ends
        length = np.linalg.norm(b - a, axis=1)[:, None, None]
        ta, tb = (
            (poses[:, spot.part, :, :3] @ tangent)[:, None]
            for spot, tangent in zip(curve.spots, curve.tangents, strict=True)
        )
        s = np.linspace(0.0, 1.0, 17)[None, :, None]
        from ..motion.interpolation import hermite

        return hermite(a[:, None], length * ta, b[:, None], length * tb, s)
    assert curve.points is not None
    found = sampled(scene.frames.t, curve.points, times)
    if ends:
        found[:, 0], found[:, -1] = ends[0], ends[-1]
    return found


def sampled(t: Floats, values: Floats, times: Floats) -> Floats:
    """Return values (n, ...) over t at other times, by cubics with slopes through three neighbours."""
    if len(t) < 2:
        return np.repeat(values[:1], len(times), axis=0)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    h = np.diff(t)
    slope = np.diff(values, axis=0) / np.where(h > 0.0, h, 1.0).reshape(-1, *[1] * (values.ndim - 1))
    d = np.concatenate((slope[:1], slope), axis=0)  # one-sided at the ends
    if len(h) > 1:
        share = (h[:-1] / np.where(h[:-1] + h[1:] > 0.0, h[:-1] + h[1:], 1.0)).reshape(
            -1, *[1] * (values.ndim - 1)
        )
        d[1:-1] = slope[:-1] + share * (slope[1:] - slope[:-1])
    shape = (-1, *[1] * (values.ndim - 1))
    size = h[k].reshape(shape)
    s = ((times - t[k]) / np.where(h[k] > 0.0, h[k], 1.0)).clip(0.0, 1.0).reshape(shape)
    from ..motion.interpolation import hermite

    return hermite(values[k], d[k] * size, values[k + 1], d[k + 1] * size, s)
