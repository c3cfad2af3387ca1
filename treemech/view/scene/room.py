"""Where a scene takes place: the box around everything over all frames, the floor, and the direction to look from."""

import math

import numpy as np

from treemech.topology.arrays import Floats

from .posing import part_poses
from .scene import Scene

LOOKED_AT = 60  # frames


class Room:
    """The box around everything that is drawn, over all frames, and where the floor and the camera are."""

    def __init__(self, scene: Scene, basis: Floats) -> None:
        times = scene.frames.t[np.unique(np.linspace(0, len(scene.frames.t) - 1, LOOKED_AT).astype(int))]
        poses = part_poses(scene, times)
        boxes = {key: _corners(mesh.vertices) for key, mesh in scene.meshes.items() if len(mesh.vertices)}
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        origins = []
        for item in scene.items:
            if item.mesh not in boxes:
                continue
            corners = item.offset + boxes[item.mesh] @ item.matrix.T
            own = poses[:, item.part]
            world = corners @ np.swapaxes(own[:, :, :3], 1, 2) + own[:, None, :, 3]
            flat = world.reshape(-1, 3) @ basis.T
            flat = flat[np.isfinite(flat).all(axis=1) & (np.abs(flat) < 1e30).all(axis=1)]
            if len(flat):
                low, high = np.minimum(low, flat.min(axis=0)), np.maximum(high, flat.max(axis=0))
            if item.layer in ("bodies", "hinges"):
                origins.append((item.offset @ np.swapaxes(own[:, :, :3], 1, 2) + own[:, :, 3]) @ basis.T)
        if not np.isfinite(low).all():
            low, high = -np.full(3, scene.size), np.full(3, scene.size)
        if float(np.linalg.norm(high - low)) == 0.0:
            low, high = low - scene.size, high + scene.size
        self.low, self.high = low, high
        self.radius = float(0.5 * np.linalg.norm(high - low))
        self.centre = 0.5 * (low + high) @ basis
        self.floor = _floor(float(low[2]), self.radius) if scene.floor is None else float(scene.floor)
        cloud = np.vstack(origins) if origins else np.zeros((0, 3))
        self.azimuth = _azimuth(cloud[np.isfinite(cloud).all(axis=1)])


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
