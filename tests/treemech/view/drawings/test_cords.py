"""The path that is drawn of a cord has the length the element computes."""

import numpy as np
import pytest

import treemech as tm
from treemech.elements.cords.path import remember_turns, unit_tension
from treemech.elements.energetic import load_views, motion_views
from treemech.view.drawings.cords import evenly, wrapped


@pytest.mark.parametrize(
    "surface",
    [tm.WrapCylinder(0.2), tm.WrapCylinder(0.2, side=1), tm.WrapCylinder(0.2, side=-1), tm.WrapSphere(0.3)],
)
@pytest.mark.parametrize("seed", range(6))
def test_drawn_length_is_that_of_the_element(surface, seed):
    cord = tm.Path(stiffness=1.0, wraps={1: surface}).joining(3)
    record = cord.sample(np.random.default_rng(seed), 0.0)
    motion = motion_views(record, cord.n)
    remember_turns(motion, cord.surfaces, motion.memory)
    out = load_views(np.zeros(cord.n.load_size), cord.n)
    length, _ = unit_tension(motion, cord.surfaces, out)
    line = wrapped(motion.position, motion.rotation, cord.surfaces, motion.memory)
    drawn = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
    assert drawn <= length * (1 + 1e-12) and drawn > length * (1 - 2e-3)


def test_points_at_equal_distances():
    line = evenly(np.array([(0, 0, 0), (1, 0, 0), (1, 2, 0)], dtype=float), 7)
    assert np.allclose(np.linalg.norm(np.diff(line, axis=0), axis=1), 0.5)
