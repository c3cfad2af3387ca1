"""Euler parameters of rotation matrices: the inverse of the rotation, for one and for many."""

import numpy as np
from scipy.spatial.transform import Rotation

from treemech.topology.rotation import euler_parameters


def test_euler_parameters_give_the_rotation_back():
    quarter_turns = [
        Rotation.from_euler("xyz", (i, j, k), degrees=True)
        for i in (0, 90, 180)
        for j in (0, 90)
        for k in (0, 180)
    ]
    turns = Rotation.concatenate([Rotation.random(500, random_state=1), *quarter_turns])
    e = euler_parameters(turns.as_matrix())
    assert e.shape == (len(turns), 4)
    np.testing.assert_allclose(np.linalg.norm(e, axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(
        Rotation.from_quat(e, scalar_first=True).as_matrix(), turns.as_matrix(), atol=1e-15
    )
    np.testing.assert_allclose(
        np.max(e, axis=1), np.max(np.abs(e), axis=1), rtol=1e-15
    )  # the largest is positive


def test_one_matrix_gives_the_same_digits_as_many():
    turns = Rotation.random(100, random_state=2).as_matrix()
    assert np.array_equal(euler_parameters(turns), [euler_parameters(turn) for turn in turns])


def test_a_matrix_that_is_not_finite_gives_nan_and_spares_its_neighbours():
    turns = np.array([np.eye(3), np.full((3, 3), np.nan)])
    e = euler_parameters(turns)
    assert e[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert np.all(np.isnan(e[1]))
