"""Bodies without shapes are drawn through all their attachments."""

import numpy as np
import pytest

from treemech.view.drawings.bodies import link_shapes


def link(*points, com=None):
    x = [np.array(p, dtype=float) for p in points]
    return link_shapes(x, None if com is None else np.array(com, dtype=float), 0.03, 1.0)


def test_two_attachments_give_a_bar_between_them():
    (bar,) = link((0, 0, 0), (1, 0, 0), com=(0.5, 0, 0))
    assert bar["kind"] == "capsule" and bar["length"] == 1.0 and bar["offset"] == [0.5, 0, 0]


def test_attachments_in_a_line_give_the_longest_bar():
    (bar,) = link((0.2, 0, 0), (1, 0, 0), (-1, 0, 0), com=(0, 0, 0))
    assert bar["length"] == 2.0


def test_three_attachments_give_a_plate():
    (plate,) = link((0, 0, 0), (1, 0, 0), (0, 0, 1), com=(0.3, 0, 0.3))
    assert plate["kind"] == "polygon"
    R, d = np.array(plate["rotation"]), np.array(plate["offset"])
    outline = d + np.column_stack((plate["points"], np.zeros(len(plate["points"])))) @ R.T
    assert np.abs(outline[:, 1]).max() < 1e-12 and np.linalg.det(R) > 0.999
    for corner in ((0, 0, 0), (1, 0, 0), (0, 0, 1)):
        assert np.linalg.norm(outline - corner, axis=1).min() < 0.05


def test_attachments_in_space_give_bars_to_their_middle():
    shapes = link((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), com=(0.25, 0.25, 0.25))
    assert [s["kind"] for s in shapes] == ["capsule"] * 4 + ["sphere"]


def test_one_attachment_is_joined_to_the_centre_of_mass():
    bar, bob = link((0, 0, 0), com=(0, 0, -1))
    assert bar["kind"] == "capsule" and bob["kind"] == "sphere" and bob["offset"] == [0, 0, -1]


@pytest.mark.parametrize("points", [(), ((1, 2, 3),)])
def test_a_body_without_extent_is_seen(points):
    (cube,) = link(*points, com=(1, 2, 3))
    assert cube["kind"] == "box" and cube["offset"] == [1, 2, 3]
    (ball,) = link(*points)
    assert ball["kind"] == "sphere"
