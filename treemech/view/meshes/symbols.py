"""Meshes of symbols: coils, arrows, triangles."""

import numpy as np

from .mesh import Mesh, faceted, grid, lathe, unit


def coil_mesh(turns: int, wire: float, aspect: float, steps: int = 14, sides: int = 6) -> Mesh:
    """Return a coil of radius 1 along z from 0 to 1, with straight ends; its wire is round at a length of `aspect`.

    The wire thickness counts in radii of the coil; the mesh is stretched along z to the length of a spring.
    """
    lead = 0.12
    n = turns * steps
    phi = 2.0 * np.pi * turns * np.linspace(0.0, 1.0, n + 1)
    grow = np.clip(
        np.minimum(np.linspace(0.0, 1.0, n + 1), np.linspace(1.0, 0.0, n + 1)) * 1.5 * turns, 0.0, 1.0
    )
    x = np.column_stack(
        (grow * np.cos(phi), grow * np.sin(phi), lead + (1.0 - 2.0 * lead) * np.linspace(0.0, 1.0, n + 1))
    )
    x = np.vstack([(0.0, 0.0, 0.0), (0.0, 0.0, 0.5 * lead), x, (0.0, 0.0, 1.0 - 0.5 * lead), (0.0, 0.0, 1.0)])
    stretched = x * (1.0, 1.0, aspect)
    along = unit(np.gradient(stretched, axis=0))
    axis = np.array((0.0, 0.0, 1.0))
    out = unit(np.column_stack((x[:, :2] + 1e-9, np.zeros(len(x)))))
    e = unit(out - np.sum(out * along, axis=1, keepdims=True) * along)
    f = np.cross(along, e)
    angle = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    around = np.cos(angle)[:, None, None] * e + np.sin(angle)[:, None, None] * f
    points = stretched + wire * around
    mesh = grid(points, around)
    del axis
    return mesh.scaled(1.0, 1.0, 1.0 / aspect)


def unit_triangle() -> Mesh:
    """Return a plate over the triangle (0, 0), (1, 0), (0, 1), one thick."""
    low, high = [(0, 0, -0.5), (1, 0, -0.5), (0, 1, -0.5)], [(0, 0, 0.5), (1, 0, 0.5), (0, 1, 0.5)]
    return faceted(
        np.array([*low, *high], dtype=np.float64),
        [(2, 1, 0), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)],
    )


def arrow_shaft() -> Mesh:
    """Return a shaft of length 1 and radius 1 along z."""
    return lathe([[(0.0, 0.0), (1.0, 0.0)], [(1.0, 0.0), (1.0, 1.0)]], 12)


def arrow_head() -> Mesh:
    """Return a cone of height 1 with its tip at z = 0 pointing up; radius 0.4."""
    return lathe([[(0.0, -1.0), (0.4, -1.0)], [(0.4, -1.0), (0.0, 0.0)]], 14)
