"""Outlines cut into triangles: their areas, hulls, and round corners."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from treemech.view.meshes.polygons import flat, hull, plate, rounded


def area(triangles):
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    return 0.5 * np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]).sum()


def test_triangles_cover_an_outline_without_its_holes():
    outline = [(0, 0), (4, 0), (4, 3), (2, 1), (0, 3)]
    assert abs(area(flat([outline])) - 8.0) < 1e-12
    assert abs(area(flat([outline, [(0.5, 0.5), (1, 0.5), (0.5, 1)]])) - 7.875) < 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(0, 10**6))
def test_any_star_is_covered(n, seed):
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 2 * np.pi, n))
    r = rng.uniform(0.2, 1.0, n)
    star = np.column_stack((r * np.cos(angle), r * np.sin(angle)))
    x, y = star.T
    wanted = 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)
    if (
        np.ptp(np.append(angle, angle[0] + 2 * np.pi))
        and np.diff(np.append(angle, angle[0] + 2 * np.pi)).max() < np.pi
    ):
        assert abs(area(flat([star])) - wanted) < 1e-9


def test_a_round_plate_around_a_hull_reaches_the_radius():
    corners = hull([(0, 0), (1, 0), (0.5, 0.1), (0, 1), (1, 1)])
    assert len(corners) == 4
    outline = rounded(corners, 0.2, 16)
    assert np.allclose(outline.min(axis=0), -0.2) and np.allclose(outline.max(axis=0), 1.2)
    mesh = plate([outline], 0.1, smooth=True)
    assert abs(mesh.volume / (0.1 * (1 + 4 * 0.2 + np.pi * 0.04)) - 1.0) < 0.01
