"""Triangle meshes: what every shape becomes before it is drawn, on a page or in a film."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemech.topology.arrays import Floats

Ints = NDArray[np.int64]


class Mesh(NamedTuple):
    """Vertices with their normals and tones (1 is the colour as it is), and triangles of three vertices each."""

    vertices: Floats  # (n, 3)
    normals: Floats  # (n, 3), of length 1
    tones: Floats  # (n,)
    triangles: Ints  # (m, 3)

    def moved(self, matrix: ArrayLike, offset: ArrayLike = (0.0, 0.0, 0.0)) -> "Mesh":
        """Return the mesh after a linear map and a shift; normals follow the map."""
        M = np.asarray(matrix, dtype=np.float64)
        cofactors = np.array([np.cross(M[1], M[2]), np.cross(M[2], M[0]), np.cross(M[0], M[1])])
        normals = unit(self.normals @ cofactors.T)
        if np.linalg.det(M) < 0.0:
            normals = -normals
        return Mesh(self.vertices @ M.T + np.asarray(offset), normals, self.tones, self.triangles)

    def scaled(self, x: float, y: float, z: float) -> "Mesh":
        """Return the mesh stretched along the axes."""
        return self.moved(np.diag((x, y, z)))

    @property
    def area(self) -> float:
        """Return the area of all triangles."""
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())

    @property
    def volume(self) -> float:
        """Return the enclosed volume of a closed surface; its triangles run counterclockwise seen from outside."""
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        return float(np.einsum("ni,ni->n", a, np.cross(b, c)).sum() / 6.0)


def unit(vectors: ArrayLike) -> Floats:
    """Return vectors (..., 3) scaled to length 1; those of length 0 stay."""
    v = np.asarray(vectors, dtype=np.float64)
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.asarray(v / np.where(size > 0.0, size, 1.0))


def empty() -> Mesh:
    """Return a mesh without triangles."""
    return Mesh(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3), dtype=np.int64))


def joined(*meshes: Mesh) -> Mesh:
    """Return one mesh of several."""
    if not meshes:
        return empty()
    starts = np.cumsum([0, *(len(m.vertices) for m in meshes)])
    return Mesh(
        np.vstack([m.vertices for m in meshes]),
        np.vstack([m.normals for m in meshes]),
        np.concatenate([m.tones for m in meshes]),
        np.vstack([m.triangles + start for m, start in zip(meshes, starts, strict=False)]),
    )


def grid(points: Floats, normals: Floats, tones: Floats | None = None) -> Mesh:
    """Return the surface through a grid of points (n, m, 3): du x dv points outside."""
    n, m = points.shape[:2]
    k = np.arange(n * m).reshape(n, m)
    a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel(), k[:-1, 1:].ravel()
    triangles = np.vstack([np.column_stack((a, b, c)), np.column_stack((a, c, d))])
    x = points.reshape(-1, 3)
    p, q, r = (x[triangles[:, i]] for i in range(3))
    area = np.linalg.norm(np.cross(q - p, r - p), axis=1)
    solid = area > 1e-12 * max(float(area.max(initial=0.0)), 1e-300)  # poles have triangles without area
    shades = np.ones(n * m) if tones is None else np.asarray(tones, dtype=np.float64).ravel()
    return Mesh(x, unit(normals.reshape(-1, 3)), shades, triangles[solid])


def faceted(points: ArrayLike, faces: Sequence[Sequence[int]] | Ints) -> Mesh:
    """Return a mesh with flat faces, polygons of any number of corners."""
    x = np.asarray(points, dtype=np.float64)
    parts = []
    for face in faces:
        own = x[np.asarray(face)]
        normal = unit(np.cross(own[1] - own[0], own[2] - own[0]))
        fan = np.array([(0, k, k + 1) for k in range(1, len(own) - 1)], dtype=np.int64)
        parts.append(Mesh(own, np.tile(normal, (len(own), 1)), np.ones(len(own)), fan))
    return joined(*parts)


def lathe(runs: Sequence[ArrayLike], segments: int = 32, spokes: int = 0) -> Mesh:
    """Return the surface that runs of points (radius, height) leave when they turn about the z axis.

    Each run is smooth, runs meet at sharp edges; going along a run, the outside is on the right. With
    `spokes`, sectors of two tones show how the surface turns.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, segments + 1)
    parts = []
    sectors = (
        [(0, segments)]
        if not spokes
        else [(k * segments // spokes, (k + 1) * segments // spokes) for k in range(spokes)]
    )
    for run in runs:
        rz = np.asarray(run, dtype=np.float64)
        along = np.gradient(rz, axis=0)
        out = np.column_stack((along[:, 1], -along[:, 0]))
        if rz[0, 0] == 0.0 and len(rz) > 2:
            out[0] = (0.0, -1.0 if out[0, 1] < 0.0 else 1.0)
        if rz[-1, 0] == 0.0 and len(rz) > 2:
            out[-1] = (0.0, -1.0 if out[-1, 1] < 0.0 else 1.0)
        for number, (first, last) in enumerate(sectors):
            c, s = np.cos(angles[first : last + 1]), np.sin(angles[first : last + 1])
            points = np.stack(
                [np.outer(c, rz[:, 0]), np.outer(s, rz[:, 0]), np.tile(rz[:, 1], (len(c), 1))], axis=-1
            )
            normals = np.stack(
                [np.outer(c, out[:, 0]), np.outer(s, out[:, 0]), np.tile(out[:, 1], (len(c), 1))], axis=-1
            )
            tone = 0.8 if number % 2 else 1.0
            parts.append(grid(points, normals, np.full(points.shape[:2], tone)))
    return joined(*parts)


def tube(points: ArrayLike, radius: float | Floats, sides: int = 8, closed: bool = False) -> Mesh:
    """Return a tube along a line through points (n, 3), with flat ends."""
    x = np.asarray(points, dtype=np.float64)
    if closed:
        x = np.vstack([x, x[:1]])
    if len(x) < 2:
        return empty()
    along = unit(np.gradient(x, axis=0))
    if closed:
        along[0] = along[-1] = unit(x[1] - x[-2])
    first = np.cross(along[0], np.eye(3)[int(np.argmin(np.abs(along[0])))])
    across = [unit(first)]
    for d in along[1:]:
        previous = across[-1]
        across.append(unit(previous - (previous @ d) * d))
    e = np.array(across)
    f = np.cross(along, e)
    angle = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    out = np.cos(angle)[None, :, None] * e[:, None] + np.sin(angle)[None, :, None] * f[:, None]
    r = np.broadcast_to(np.asarray(radius, dtype=np.float64), (len(x),))[:, None, None]
    wall = grid((x[:, None] + r * out).transpose(1, 0, 2), out.transpose(1, 0, 2))
    if closed:
        return wall
    caps = []
    for k, sign in ((0, -1.0), (len(x) - 1, 1.0)):
        rim = x[k] + r[k] * out[k, :-1]
        caps.append(faceted(rim if sign > 0 else rim[::-1], [list(range(sides))]))
    return joined(wall, *caps)
