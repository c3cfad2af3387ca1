"""Meshes from the user: vertices and faces, or a file (STL, OBJ, GLB, ...) that trimesh reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import ElementError, TreemechError
from treemech.topology.arrays import Floats

from .mesh import Ints, Mesh, unit

CREASE = np.cos(np.radians(35.0))  # faces that meet at a larger angle have an edge


def given_mesh(shape: Mapping[str, Any]) -> Mesh:
    """Return the mesh of ``{"kind": "mesh", "vertices", "faces"}`` or ``{"kind": "mesh", "path"}``, times "scale"."""
    if "path" in shape:
        vertices, faces = read_mesh(shape["path"])
    elif "vertices" in shape and "faces" in shape:
        vertices = np.asarray(shape["vertices"], dtype=np.float64)
        faces = np.asarray(shape["faces"], dtype=np.int64)
    else:
        raise ElementError("a shape of kind 'mesh' needs a path, or vertices (n, 3) and faces (m, 3).")
    if vertices.ndim != 2 or vertices.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3:
        raise ElementError(
            f"a mesh has vertices of shape {vertices.shape} and faces of shape {faces.shape}; wanted (n, 3) and (m, 3)."
        )
    if len(faces) and not (0 <= faces.min() and faces.max() < len(vertices)):
        raise ElementError(
            f"a mesh has faces on vertices {faces.min()} to {faces.max()}; there are {len(vertices)}, from 0."
        )
    scale = np.broadcast_to(np.asarray(shape.get("scale", 1.0), dtype=np.float64), (3,))
    return creased(vertices * scale, faces)


def read_mesh(path: Any) -> tuple[Floats, Ints]:
    """Return vertices and triangles of a mesh file, all its parts together."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no mesh file {str(file)!r}: give its whole path.")
    try:
        import trimesh
    except ImportError:
        raise TreemechError(
            f"{file.name}: reading mesh files needs trimesh: pip install trimesh, or treemech[mesh]."
        ) from None
    try:
        content: Any = trimesh.load(file, force="mesh")
        vertices, faces = np.asarray(content.vertices, dtype=np.float64), np.asarray(content.faces)
    except Exception as error:  # readers of other people's files raise all kinds
        raise TreemechError(f"{file.name} cannot be read as a mesh: {error}") from error
    if not len(faces):
        raise TreemechError(f"{file.name} holds no triangles.")
    return vertices, faces.astype(np.int64)


def creased(vertices: Floats, faces: Ints) -> Mesh:
    """Return a mesh with normals that are smooth, but not across sharp edges."""
    corners = vertices[faces]  # (m, 3, 3)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    _, same = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    place = np.asarray(same).ravel()[faces]  # vertices at the same place count as one
    direction = unit(normal)
    by_place: dict[int, list[int]] = {}
    for f, row in enumerate(place):
        for p in row:
            by_place.setdefault(int(p), []).append(f)
    normals = np.empty((len(faces), 3, 3))
    for f, row in enumerate(place):
        for k, p in enumerate(row):
            around = by_place[int(p)]
            near = [g for g in around if direction[g] @ direction[f] >= CREASE]
            normals[f, k] = normal[near].sum(axis=0)
    flat = unit(normals.reshape(-1, 3))
    key = np.column_stack((np.asarray(faces).ravel(), np.round(flat, 4)))
    _, first, index = np.unique(key, axis=0, return_index=True, return_inverse=True)
    points = vertices[faces.ravel()][first]
    return Mesh(points, flat[first], np.ones(len(points)), np.asarray(index).reshape(-1, 3))
