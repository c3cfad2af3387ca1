"""Graph matrices (4.3): Sol's example, and the laws between them on random graphs."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from treemech.topology import chord_location_matrix, location_matrix, submatrices, tree_matrix


@pytest.fixture
def sol(new_model):
    """The system of figure 4.1, in the numbers of figure 4.3."""
    model = new_model("B1", "B2", "B3", "B4", "B5")
    model.hinge("ball A1", "ground", "B1", 3)
    model.hinge("pin A2", "B1", "B2")
    model.hinge("pin A3", "B2", "B3")
    model.hinge("slide A4", "B3", "B4")
    model.hinge("slide A5", "ground", "B3")
    model.spring("E1", "B4", "B5")
    model.spring("E2", "B5", "ground")
    return model.tree()


def test_the_system_of_figure_4_1_is_cut_at_the_ball_joint_and_numbered_as_in_figure_4_6(sol):
    assert [chord.name for chord in sol.chords] == ["ball A1"]
    assert sol.numbers == {"ground": 0, "B3": 1, "B2": 2, "B1": 3, "B4": 4, "B5": 5}
    assert sol.parent[1:].tolist() == [0, 1, 2, 1, 0]  # (4.3.5)
    assert sol.free_bodies == ("B5",)
    assert [branch.forward for branch in sol.branches] == [True, False, False, True, True]


def test_location_matrices_of_figure_4_6(sol):
    assert_array_equal(
        location_matrix(sol),
        [
            [-1, 0, 0, 0, -1],
            [+1, -1, 0, -1, 0],
            [0, +1, -1, 0, 0],
            [0, 0, +1, 0, 0],
            [0, 0, 0, +1, 0],
            [0, 0, 0, 0, +1],
        ],
    )
    # (4.3.4) as printed has the +1 in the row of v1; the ball joint that was cut joins the ground and body 3.
    assert_array_equal(chord_location_matrix(sol)[:, 0], [-1, 0, 0, +1, 0, 0])


def test_tree_matrices_of_figure_4_6(sol):
    t1 = [[1, 1, 1, 1], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]  # (4.3.7)
    assert_array_equal(tree_matrix(sol), np.block([[np.array(t1), np.zeros((4, 1))], [np.zeros((1, 4)), 1]]))


def test_tree_matrix_is_the_inverse_of_the_location_matrix(random_graph):
    tree = random_graph.tree()
    s0, s = submatrices(location_matrix(tree))
    t = tree_matrix(tree)
    one = np.eye(len(tree.branches))
    assert_array_equal(s @ t, one)  # (4.3.8)
    assert_array_equal(t @ s, one)
    assert_array_equal(s0 @ t, -np.ones(len(tree.branches)))
    assert_array_equal(s, np.triu(s))
    assert_array_equal(t, np.triu(t))


def test_columns_of_the_tree_matrix_are_paths(random_graph):
    tree = random_graph.tree()
    t = tree_matrix(tree)
    for k in range(1, len(tree.bodies)):
        assert tuple(np.flatnonzero(t[:, k - 1]) + 1) == tree.path(k)
    assert t.sum() == tree.depth.sum()


def test_chords_run_from_end_a_to_end_b(random_graph):
    tree = random_graph.tree()
    s0, s = submatrices(chord_location_matrix(tree))
    assert_array_equal(s0 + s.sum(axis=0), 0)
    for k, chord in enumerate(tree.chords):
        column = chord_location_matrix(tree)[:, k]
        assert tree.bodies[column.argmin()] is chord.body_a and column.min() == -1
        assert tree.bodies[column.argmax()] is chord.body_b and column.max() == 1


def test_location_column_comes_back_from_the_location_matrix(random_graph):
    tree = random_graph.tree()
    assert_array_equal(location_matrix(tree).argmin(axis=0), tree.parent[1:])  # (4.3.5)


def test_the_ground_alone_has_empty_matrices(new_model):
    tree = new_model().tree()
    assert location_matrix(tree).shape == (1, 0)
    assert chord_location_matrix(tree).shape == (1, 0)
    assert tree_matrix(tree).shape == (0, 0)
