"""Pictures of a scene, frame by frame, for films: the same camera, light, floor and shadow as the page's."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats

from ..meshes.mesh import Mesh, joined, tube, unit
from ..meshes.solids import upright
from ..meshes.symbols import arrow_head, arrow_shaft
from ..scene.options import Options
from ..scene.posing import at, curve_points, part_poses, sampled
from ..scene.room import Room, nice
from ..scene.scene import Scene, horizontal
from .raster import flat_shadow, paint

FINER = 2  # pixels of the drawing per pixel of the picture, each way
FOV = np.radians(30.0)
VIEWS = {
    "front": (-0.5, 0.0), "back": (0.5, 0.0), "left": (1.0, 0.0), "right": (0.0, 0.0), "top": (-0.5, 0.499), "bottom": (-0.5, -0.499),
}  # fmt: skip
COLOURS = {"force": (0.88, 0.2, 0.18), "moment": (0.55, 0.3, 0.85), "load": (0.95, 0.6, 0.05)}


class Painter:
    """Draws the frames of a scene."""

    def __init__(self, scene: Scene, options: Options) -> None:
        self.scene, self.options = scene, options
        self.basis = horizontal(scene.up)
        self.room = Room(scene, self.basis, options.follow)
        self.width, self.height = (FINER * int(x) for x in options.size)
        azimuth, rise = self.room.azimuth, 0.3
        if options.view == "corner":
            azimuth, rise = azimuth + 0.6, 0.5
        elif options.view in VIEWS:
            azimuth, rise = (np.pi * x for x in VIEWS[options.view])
        e1, e2, up = self.basis
        ca, sa, ce, se = np.cos(azimuth), np.sin(azimuth), np.cos(rise), np.sin(rise)
        self.back = ca * ce * e1 + sa * ce * e2 + se * up
        self.right = -sa * e1 + ca * e2
        self.above = np.cross(self.back, self.right)
        self.focal = 0.5 * min(self.width, self.height) / np.tan(FOV / 2)
        box = self.room.outline @ self.basis
        reach = np.maximum(
            np.abs(box @ self.right) / (0.46 * self.width), np.abs(box @ self.above) / (0.46 * self.height)
        )
        self.distance = float(
            np.clip(
                (box @ self.back + self.focal * reach).max(), 0.4 * self.room.radius / np.sin(FOV / 2), None
            )
        )
        self.key = unit(0.55 * up - 0.35 * e1 - 0.62 * e2)
        self.key = unit(self.key + self.back - 0.35 * self.right + 0.55 * self.above)
        self.dark = options.theme == "dark"
        self._still: Any = None  # what does not change while the camera stands still

    def pictures(self, times: Floats) -> Iterator[NDArray[np.uint8]]:
        """Yield one picture (h, w, 3) for every time."""
        for time in times:
            yield self.picture(float(time))

    def picture(self, time: float) -> NDArray[np.uint8]:
        poses = part_poses(self.scene, np.array([time]))
        opaque, clear, front = self._triangles(poses, time)
        eye = self._target(poses) + self.distance * self.back
        depth = np.zeros((self.height, self.width))
        if self._still is None or not np.array_equal(self._still[0], eye):
            self._still = (eye, *self._floor(eye))
        _, paper, u, v, fade = self._still
        picture = paper.copy()
        if self.options.floor is not False and eye @ self.basis[2] > self.room.floor and len(opaque[0]):
            self._shadow(picture, opaque[0], eye - self.distance * self.back, u, v, fade)
        for vertices, normals, colours, alphas in (opaque, clear, front):
            if not len(vertices):
                continue
            if vertices is front[0]:
                depth[:] = 0.0  # arrows are seen through bodies
            seen = unit(eye - vertices)
            facing = np.where(np.sum(normals * seen, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
            paint(
                self._project(vertices, eye),
                normals * facing,
                colours,
                alphas,
                self.key,
                self.basis[2],
                picture,
                depth,
            )
        small = picture.reshape(self.height // FINER, FINER, self.width // FINER, FINER, 3).mean(axis=(1, 3))
        return np.asarray(np.clip(255.0 * small + 0.5, 0.0, 255.0), dtype=np.uint8)

    def _target(self, poses: Floats) -> Floats:
        k = self.room.follow
        if k >= 0:
            own = poses[0, k + 1] @ np.array((*self.scene.parts[k].com, 1.0))
            if np.isfinite(own).all():
                return np.asarray(own)
        return np.asarray(self.room.centre)

    def _project(self, points: Floats, eye: Floats) -> Floats:
        """Return pixels x, y, the inverse distance, and whether a point is in front of the camera."""
        d = points - eye
        away = -(d @ self.back)
        safe = np.where(away > 1e-3 * self.distance, away, 1.0)
        x = 0.5 * self.width + self.focal * (d @ self.right) / safe
        y = 0.5 * self.height - self.focal * (d @ self.above) / safe
        return np.stack((x, y, 1.0 / safe, (away > 1e-3 * self.distance).astype(float)), axis=-1)

    def _triangles(self, poses: Floats, time: float) -> tuple[Any, Any, Any]:
        """Return corners, normals, colours and alphas of all triangles: opaque ones, those one can look through, arrows."""
        scene = self.scene
        found: tuple[list[Any], ...] = ([], [], [])
        tints = {
            tint.part: (tint, float(sampled_linear(scene.frames.t, tint.values, time)))
            for tint in scene.tints
        }
        for item in scene.items:
            own = poses[0, item.part]
            if not np.isfinite(own).all():
                continue
            mesh = scene.meshes[item.mesh].moved(item.matrix, item.offset)
            colour = _rgb(item.colour)
            if item.part in tints and item.part > 0:
                tint, share = tints[item.part]
                colour = (1.0 - share) * colour + share * _rgb(tint.colour)
            _append(found[item.alpha < 0.999], mesh.moved(own[:, :3], own[:, 3]), colour, item.alpha)
        for curve in scene.curves:
            points = curve_points(scene, curve, poses, np.array([time]))[0]
            if not np.isfinite(points).all():
                continue
            colour = _rgb(curve.colour)
            if curve.tint >= 0:
                tint = scene.tints[curve.tint]
                share = float(sampled_linear(scene.frames.t, tint.values, time))
                colour = (1.0 - share) * colour + share * _rgb(tint.colour)
            radius: Any = curve.radius
            if curve.belly:
                points = _densified(points)
                s = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
                s = np.clip((s / (s[-1] or 1.0) - 0.12) / 0.76, 0.0, 1.0)
                radius = curve.radius * (0.7 + curve.belly * np.sin(np.pi * s).clip(0.0) ** 1.5)
            _append(found[0], tube(points, radius), colour, 1.0)
        for mesh, colour, is_arrow in self._overlays(poses, time):
            _append(found[2 if is_arrow else 0], mesh, np.array(colour), 1.0)
        opaque, clear, front = (
            tuple(np.concatenate(parts) for parts in zip(*rows, strict=True))
            if rows
            else (np.zeros((0, 3, 3)),) * 4
            for rows in found
        )
        return opaque, clear, front

    def _overlays(self, poses: Floats, time: float) -> Iterator[tuple[Mesh, Any, bool]]:
        """Yield the arrows and traces that are asked for."""
        scene, shown, size = self.scene, set(self.options.show), self.room.radius
        named = {"force": "forces", "moment": "moments", "load": "loads"}
        usual = {
            kind: max(
                (
                    float(np.percentile(np.linalg.norm(a.vectors, axis=1), 75))
                    for a in scene.arrows
                    if a.kind == kind
                ),
                default=0.0,
            )
            for kind in named
        }
        forces = max(usual["force"], usual["load"])
        for arrow in scene.arrows:
            if named[arrow.kind] not in shown:
                continue
            largest, reach = (usual["moment"], 0.3) if arrow.kind == "moment" else (forces, 0.45)
            vector = sampled(scene.frames.t, arrow.vectors, np.array([time]))[0] * (
                reach * size / (largest or 1.0)
            )
            if np.linalg.norm(vector) > 0.015 * size:
                yield _arrow(at(poses, arrow.spot)[0], vector, 0.008 * size), COLOURS[arrow.kind], True
        t = scene.frames.t
        for trace in scene.traces:
            if trace.shown and time > t[0]:
                times = np.linspace(t[0], time, max(2, int(400 * (time - t[0]) / (t[-1] - t[0]))))
                path = at(part_poses(scene, times), trace.spot)
                path = path[np.isfinite(path).all(axis=1)]
                if len(path) > 1 and np.ptp(path, axis=0).max() > 0.0:
                    yield tube(path, 0.005 * size, 5), _rgb(scene.parts[trace.spot.part - 1].colour), False

    def _background(self) -> Floats:
        top, bottom = (
            ((0.14, 0.165, 0.205), (0.05, 0.067, 0.086))
            if self.dark
            else ((0.988, 0.992, 0.996), (0.875, 0.902, 0.933))
        )
        share = np.linspace(0.0, 1.0, self.height)[:, None]
        rows = (1.0 - share) * np.array(top) + share * np.array(bottom)
        return np.repeat(rows[:, None], self.width, axis=1)

    def _floor(self, eye: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return background with the grid of the floor, and of every pixel its place on the floor and how clear it is."""
        picture = self._background()
        e1, e2, up = self.basis
        level = self.room.floor
        y, x = np.mgrid[0 : self.height, 0 : self.width]
        ray = (
            -self.back
            + (
                (x[..., None] + 0.5 - 0.5 * self.width) * self.right
                + (0.5 * self.height - y[..., None] - 0.5) * self.above
            )
            / self.focal
        )
        down = ray @ up
        with np.errstate(divide="ignore", invalid="ignore"):
            away = (level - eye @ up) / down
            point = eye + away[..., None] * ray
        u, v = point @ e1, point @ e2
        reach = 3.2 * self.room.radius
        target = eye - self.distance * self.back
        off = np.hypot(u - target @ e1, v - target @ e2) / reach
        seen = (away > 0.0) & (off < 1.0)
        fade = np.where(seen, 1.0 - np.clip((off - 0.35) / 0.65, 0.0, 1.0) ** 2, 0.0)
        step = nice(self.room.radius / 3.0)
        wide = np.where(seen, 1.4 * away / self.focal, 1.0)
        slant = wide / np.maximum(np.abs(down), 0.05)
        if self.options.floor is False:
            return picture, u, v, fade
        ink = np.array((0.62, 0.70, 0.82) if self.dark else (0.30, 0.36, 0.44))
        for size, weight in ((step, 0.18), (5.0 * step, 0.3)):
            near = np.minimum(*(np.abs((c / size - 0.5) % 1.0 - 0.5) * size for c in (u, v)))
            line = np.where(seen, np.clip(1.0 - near / slant, 0.0, 1.0), 0.0) * fade * weight
            picture[:] = picture * (1.0 - line[..., None]) + ink * line[..., None]
        return picture, u, v, np.where(seen, fade, 0.0)

    def _shadow(
        self, picture: Floats, corners: Floats, target: Floats, u: Floats, v: Floats, fade: Floats
    ) -> None:
        e1, e2, up = self.basis
        sun = unit(up - 0.22 * e1 - 0.3 * e2)
        high = corners @ up - self.room.floor
        above = (high > -0.02 * self.room.radius).all(axis=1)
        flat = corners - high[..., None] * (sun / (sun @ up))
        n, wide = 384, 1.7 * self.room.radius
        middle = np.array((target @ e1, target @ e2))
        pixels = (np.stack((flat @ e1, flat @ e2), axis=-1) - middle + wide) * (n / (2.0 * wide))
        mask = np.zeros((n, n))
        flat_shadow(pixels[above], mask)
        for _ in range(3):  # soft
            for axis in (0, 1):
                mask = (np.roll(mask, 1, axis) + mask + np.roll(mask, -1, axis)) / 3.0
        i = np.nan_to_num((v - middle[1] + wide) * (n / (2.0 * wide)), nan=-1.0, posinf=-1.0, neginf=-1.0)
        j = np.nan_to_num((u - middle[0] + wide) * (n / (2.0 * wide)), nan=-1.0, posinf=-1.0, neginf=-1.0)
        inside = (i >= 0) & (i < n - 1) & (j >= 0) & (j < n - 1)
        ii, jj = np.where(inside, i, 0).astype(int), np.where(inside, j, 0).astype(int)
        dim = 0.42 * np.where(inside, mask[ii, jj], 0.0) * fade
        picture *= 1.0 - dim[..., None]


def sampled_linear(t: Floats, values: Floats, time: float) -> Any:
    return np.interp(time, t, values)


def _rgb(colour: str) -> Floats:
    return np.array([int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])


def _append(rows: list[Any], mesh: Mesh, colour: Floats, alpha: float) -> None:
    if not len(mesh.triangles):
        return
    corners, normals = mesh.vertices[mesh.triangles], mesh.normals[mesh.triangles]
    tones = mesh.tones[mesh.triangles].mean(axis=1)
    rows.append((corners, normals, colour * tones[:, None], np.full(len(corners), alpha)))


def _densified(points: Floats) -> Floats:
    if len(points) > 12:
        return points
    s = np.linspace(0.0, len(points) - 1.0, 24 * (len(points) - 1) + 1)
    return np.column_stack([np.interp(s, np.arange(len(points)), points[:, k]) for k in range(3)])


def _arrow(start: Floats, vector: Floats, radius: float) -> Mesh:
    length = float(np.linalg.norm(vector))
    head = min(5.0 * radius, 0.6 * length)
    shaft = arrow_shaft().scaled(radius, radius, length - 0.9 * head)
    tip = arrow_head().scaled(6.0 * radius, 6.0 * radius, head).moved(np.eye(3), (0.0, 0.0, length))
    return joined(shaft, tip).moved(upright(vector), start)
