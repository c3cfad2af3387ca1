"""Flat outlines with holes: cut into triangles, made into plates, and the hull of points with round corners."""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats

from .mesh import Mesh, grid, joined, unit


def flat(rings: Sequence[ArrayLike]) -> Floats:
    """Return triangles (n, 3, 2) that cover the inside of outlines; a ring inside another one is a hole.

    Bands between the heights of all corners hold trapezoids only, whatever the outlines are.
    """
    closed = [np.vstack([ring, ring[:1]]) for ring in (np.asarray(r, dtype=np.float64) for r in rings)]
    edges = np.vstack([np.stack([ring[:-1], ring[1:]], axis=1) for ring in closed])
    heights = np.unique(edges[:, :, 1])
    found: list[Floats] = []
    for low, high in itertools.pairwise(heights):
        own = edges[(edges[:, :, 1].min(axis=1) <= low) & (edges[:, :, 1].max(axis=1) >= high)]
        own = own[own[:, 0, 1] != own[:, 1, 1]]
        slope = (own[:, 1, 0] - own[:, 0, 0]) / (own[:, 1, 1] - own[:, 0, 1])
        left, right = (own[:, 0, 0] + slope * (y - own[:, 0, 1]) for y in (low, high))
        order = np.argsort(left + right, kind="stable")
        for a, b in zip(order[0::2], order[1::2], strict=False):
            p, q, r, s = (left[a], low), (left[b], low), (right[b], high), (right[a], high)
            found += [np.array(t) for t in ((p, q, r), (p, r, s)) if _area(np.array(t)) > 0.0]
    return np.array(found).reshape(-1, 3, 2)


def _area(corners: Floats) -> float:
    (a, b, c) = corners
    return float(0.5 * abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])))


def plate(rings: Sequence[ArrayLike], thickness: float, smooth: bool = False) -> Mesh:
    """Return a plate in the x,y plane, half its thickness to either side; without thickness one surface.

    `smooth` walls suit outlines of many short edges.
    """
    corners = flat(rings)
    parts = []
    for side in (1.0,) if thickness == 0.0 else (1.0, -1.0):
        x = np.column_stack((corners.reshape(-1, 2), np.full(3 * len(corners), 0.5 * side * thickness)))
        order = np.arange(len(x)).reshape(-1, 3)
        area = np.cross(x[order[:, 1]] - x[order[:, 0]], x[order[:, 2]] - x[order[:, 0]])[:, 2]
        order[area * side < 0.0] = order[area * side < 0.0][:, ::-1]
        parts.append(Mesh(x, np.tile((0.0, 0.0, side), (len(x), 1)), np.ones(len(x)), order))
    for number, ring in enumerate(rings if thickness else ()):
        xy = np.asarray(ring, dtype=np.float64)
        turns = float(np.sum(xy[:, 0] * np.roll(xy[:, 1], -1) - np.roll(xy[:, 0], -1) * xy[:, 1]))
        if (turns < 0.0) == (number == 0):
            xy = xy[::-1]  # outlines run counterclockwise, holes clockwise: the material is on the left
        xy = np.vstack([xy, xy[:1]])
        if smooth:
            parts.append(_wall(xy, thickness, _normals(xy)))
        else:
            for a, b in itertools.pairwise(xy):
                out = np.array((b[1] - a[1], a[0] - b[0]))
                parts.append(_wall(np.array([a, b]), thickness, np.array([out, out])))
    return joined(*parts)


def _normals(closed: Floats) -> Floats:
    """Return normals on the right of a closed line, smooth where it bends little."""
    step = np.diff(closed, axis=0)
    around = np.vstack([step[-1:], step, step[:1]])
    mean = unit(np.column_stack((around[:-1], np.zeros(len(around) - 1)))) + unit(
        np.column_stack((around[1:], np.zeros(len(around) - 1)))
    )
    return np.column_stack((mean[:, 1], -mean[:, 0]))


def _wall(xy: Floats, thickness: float, out: Floats) -> Mesh:
    z = np.array((-0.5, 0.5)) * thickness
    points = np.stack([np.column_stack((xy, np.full(len(xy), level))) for level in z], axis=1)
    normals = np.repeat(np.column_stack((out, np.zeros(len(out))))[:, None], 2, axis=1)
    return grid(points, normals)


def hull(points: ArrayLike) -> Floats:
    """Return the convex hull of points (n, 2), counterclockwise; collinear points give their two ends.

    >>> hull([(0, 0), (1, 0), (0.2, 0.1), (0, 1)]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    x = np.asarray(points, dtype=np.float64)
    x = x[np.lexsort((x[:, 1], x[:, 0]))]
    size = float(np.ptp(x, axis=0).max())

    def half(rows: Floats) -> list[Floats]:
        kept: list[Floats] = []
        for p in rows:
            while len(kept) > 1:
                a, b = kept[-1] - kept[-2], p - kept[-2]
                if a[0] * b[1] - a[1] * b[0] > 1e-9 * size * size:
                    break
                kept.pop()
            kept.append(p)
        return kept

    return np.array(half(x)[:-1] + half(x[::-1])[:-1])


def rounded(corners: ArrayLike, radius: float, steps: int = 8) -> Floats:
    """Return the outline at a distance from a convex outline, with arcs around its corners."""
    x = np.asarray(corners, dtype=np.float64)
    found = []
    for before, here, after in zip(np.roll(x, 1, axis=0), x, np.roll(x, -1, axis=0), strict=True):
        a, b = here - before, after - here
        first, last = np.arctan2(-a[0], a[1]), np.arctan2(-b[0], b[1])
        last += 2.0 * np.pi * np.ceil((first - last) / (2.0 * np.pi) - 1e-9)
        angles = np.linspace(first, last, max(2, int(np.ceil(steps * (last - first) / np.pi)) + 1))
        found.append(here + radius * np.column_stack((np.cos(angles), np.sin(angles))))
    return np.vstack(found)
