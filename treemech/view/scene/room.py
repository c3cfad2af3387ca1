"""Where a scene takes place: the box around everything over all frames, the floor, and how to look at it."""

import math

import numpy as np

from treemech.topology.arrays import Floats

from .posing import part_poses
from .scene import Scene

LOOKED_AT = 60  # frames, and times between
SIDES = 120  # directions in which the outermost points are kept
TRAVELS = 4.0  # the way of a mechanism, in its own sizes, from which on the camera goes with it


class Room:
    """The box around everything that is drawn, over all frames, and where the floor and the camera are.

    A mechanism that goes a long way, a car or a thrown body, would be a speck in that box: the camera then follows
    its heaviest body, and `half` and `radius` are those of the mechanism alone. `outline` has the outermost points of
    everything (m, 3), from the centre, in the same axes: what a picture has to show.
    """

    def __init__(self, scene: Scene, basis: Floats, follow: str | None = None) -> None:
        kept = scene.frames.t[np.unique(np.linspace(0, len(scene.frames.t) - 1, LOOKED_AT).astype(int))]
        times = np.union1d(kept, np.linspace(kept[0], kept[-1], LOOKED_AT))  # an even turn has few frames
        poses = part_poses(scene, times)
        boxes = {key: _corners(mesh.vertices) for key, mesh in scene.meshes.items() if len(mesh.vertices)}
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        origins = []
        sides = _directions(SIDES)
        outermost, outline = np.full(len(sides), -np.inf), np.zeros((len(sides), 3))
        nearest, farthest = (
            np.full((len(times), 3), np.inf),
            np.full((len(times), 3), -np.inf),
        )  # at every time
        for item in scene.items:
            if item.mesh not in boxes:
                continue
            corners = item.offset + boxes[item.mesh] @ item.matrix.T
            own = poses[:, item.part]
            world = corners @ np.swapaxes(own[:, :, :3], 1, 2) + own[:, None, :, 3]
            turned = world @ basis.T
            if item.layer != "surfaces" and (item.part or scene.owners[item.owner][1] in ("hinge", "ground")):
                known = np.where(np.abs(turned) < 1e30, turned, np.nan)
                nearest = np.fmin(nearest, np.fmin.reduce(known, axis=1))
                farthest = np.fmax(farthest, np.fmax.reduce(known, axis=1))
            flat = turned.reshape(-1, 3)
            flat = flat[np.isfinite(flat).all(axis=1) & (np.abs(flat) < 1e30).all(axis=1)]
            if len(flat):
                low, high = np.minimum(low, flat.min(axis=0)), np.maximum(high, flat.max(axis=0))
                reach = flat @ sides.T
                best = reach.argmax(axis=0)
                farther = reach[best, np.arange(len(sides))] > outermost
                outline[farther] = flat[best[farther]]
                outermost = np.maximum(outermost, reach.max(axis=0))
            if item.layer in ("bodies", "hinges"):
                origins.append((item.offset @ np.swapaxes(own[:, :, :3], 1, 2) + own[:, :, 3]) @ basis.T)
        if not np.isfinite(low).all():
            low, high = -np.full(3, scene.size), np.full(3, scene.size)
        if float(np.linalg.norm(high - low)) == 0.0:
            low, high = low - scene.size, high + scene.size
        self.low, self.high = low, high
        self.half = 0.5 * (high - low)
        shown = outline[np.isfinite(outermost)]
        self.outline = np.unique(shown - 0.5 * (low + high), axis=0) if len(shown) else _box(self.half)
        self.radius = float(np.linalg.norm(self.half))
        self.centre = 0.5 * (low + high) @ basis
        self.floor = _floor(float(low[2]), self.radius) if scene.floor is None else float(scene.floor)
        cloud = np.vstack(origins) if origins else np.zeros((0, 3))
        self.azimuth = _azimuth(cloud[np.isfinite(cloud).all(axis=1)])
        names = [part.name if part.is_body else "" for part in scene.parts]
        self.follow = (
            names.index(follow) if follow in names else -1
        )  # number of the part that the camera follows
        self._go_along(scene, poses, basis, nearest, farthest)

    def _go_along(
        self, scene: Scene, poses: Floats, basis: Floats, nearest: Floats, farthest: Floats
    ) -> None:
        """Follow the heaviest body if the boxes around the mechanism are small against the way that they go."""
        masses = [part.mass if part.is_body else 0.0 for part in scene.parts]
        good = np.isfinite(nearest).all(axis=1) & np.isfinite(farthest).all(axis=1)
        if not good.any() or max(masses, default=0.0) <= 0.0:
            return
        own = 0.5 * float(np.linalg.norm(farthest - nearest, axis=1)[good].max())
        if self.radius < TRAVELS * own:
            return
        part = self.follow if self.follow >= 0 else int(np.argmax(masses))
        target = (poses[:, part + 1] @ np.array((*scene.parts[part].com, 1.0))) @ basis.T
        reach = np.maximum(np.abs(farthest - target), np.abs(target - nearest))[good]
        reach = reach[np.isfinite(reach).all(axis=1)]
        if len(reach):
            self.follow, self.half = part, reach.max(axis=0)
            self.radius = float(np.linalg.norm(self.half))
            self.outline = _box(self.half)


def _directions(n: int) -> Floats:
    """Return the six directions of the axes, and n that lie evenly around."""
    k = np.arange(n) + 0.5
    z, angle = 1.0 - 2.0 * k / n, np.pi * (1.0 + 5.0**0.5) * k
    r = np.sqrt(1.0 - z * z)
    return np.vstack((np.eye(3), -np.eye(3), np.column_stack((r * np.cos(angle), r * np.sin(angle), z))))


def _box(half: Floats) -> Floats:
    return _corners(np.array((-half, half)))


def _corners(vertices: Floats) -> Floats:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    return np.array([[(low, high)[k >> i & 1][i] for i in range(3)] for k in range(8)])


def _floor(lowest: float, radius: float) -> float:
    """Return the height of the floor: the world's own plane if nothing goes below it, or else below everything."""
    return 0.0 if -0.12 * radius <= lowest <= 0.75 * radius else lowest - 0.04 * radius


def _azimuth(cloud: Floats) -> float:
    """Return the direction of the camera around up: a plane motion is seen from the front, a little from the side."""
    flat = cloud[:, :2] - cloud[:, :2].mean(axis=0) if len(cloud) else np.zeros((1, 2))
    spread, axes = np.linalg.eigh(flat.T @ flat)
    if spread[0] > 0.25 * spread[1] or spread[1] <= 0.0:
        return float(np.radians(-60.0))
    right = axes[:, 1] * (1.0 if axes[:, 1] @ (1.0, 0.5) >= 0.0 else -1.0)
    return float(np.arctan2(right[1], right[0]) - np.radians(90.0 - 18.0))


def nice(span: float) -> float:
    """Return a round length that is not longer than a span: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(span)) if span > 0.0 else 1.0
    return max(k * power for k in (1.0, 2.0, 5.0) if k == 1.0 or k * power <= span)
