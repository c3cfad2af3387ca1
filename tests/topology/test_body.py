"""Bodies and attachments: what is accepted, and what is refused by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation

from treemech.topology import (
    Attachment,
    Connection,
    ElementError,
    TopologyError,
    TreemechError,
    as_axis,
    as_rotation,
    as_vector,
    make_body,
)
from treemech.topology.body import (
    planar_inertia,
)

ROUND = 1e-15  # entries of a product of two rotations

NAN = float("nan")
TURN = Rotation.from_rotvec((0.3, -0.2, 0.9))


def test_inertia_may_be_diagonal_six_numbers_or_a_matrix():
    matrix = [[3.0, 0.1, 0.2], [0.1, 4.0, 0.3], [0.2, 0.3, 5.0]]
    assert_array_equal(make_body("a", 1, (3, 4, 5)).inertia, np.diag((3.0, 4.0, 5.0)))
    assert_array_equal(make_body("a", 1, (3, 4, 5, 0.1, 0.2, 0.3)).inertia, matrix)
    assert_array_equal(make_body("a", 1, matrix).inertia, matrix)


@pytest.mark.parametrize("inertia", [(0, 2, 2), (0, 0, 0), (1, 1, 2), (1 / 3, 1 / 7, 1 / 3 + 1 / 7)])
def test_rods_points_and_plates_are_legal(inertia):
    body = make_body("thin", 1.0, inertia)
    turned = TURN.as_matrix() @ body.inertia @ TURN.as_matrix().T
    assert_allclose(make_body("turned", 1.0, turned).inertia, turned, atol=ROUND)


def test_a_massless_carrier_is_legal():
    assert make_body("carrier", 0, (0, 0, 0)).mass == 0.0


def test_numbers_may_be_anything_with_float():
    class Parameter:
        def __float__(self):
            return 2.0

    body = make_body("arm", Parameter(), (Parameter(), 2, 2), com=(Parameter(), 0, 0))
    assert (body.mass, body.inertia[0, 0], body.com[0]) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": -1}, ["mass", "-1", "zero or more"]),
        ({"mass": NAN}, ["mass", "nan", "finite"]),
        ({"mass": float("inf")}, ["mass", "inf"]),
        ({"mass": "heavy"}, ["mass", "'heavy'", "a number"]),
        ({"mass": None}, ["mass", "None"]),
        ({"inertia": (1, 1)}, ["inertia", "(2,)", "3 numbers"]),
        ({"inertia": 1.0}, ["inertia", "()"]),
        ({"inertia": (1, NAN, 1)}, ["inertia", "nan"]),
        ({"inertia": [[1, 2], [3]]}, ["inertia", "3x3"]),
        ({"inertia": (1, 1, 3)}, ["inertia", "1 + 1 < 3", "triangle", "centre of mass"]),
        ({"inertia": (0, 0, 0.016)}, ["moves in a plane", "inertia=tm.planar_inertia(0.016)"]),
        ({"inertia": (1, 1, 2 + 1e-8)}, ["inertia", "triangle"]),
        ({"inertia": (-1, 2, 2)}, ["inertia", "-1", "negative"]),
        ({"inertia": (1, 1, 1, 2, 0, 0)}, ["inertia", "negative"]),
        ({"inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, ["inertia", "not symmetric", "0.1"]),
        ({"com": (0, 0)}, ["com", "(0, 0)", "3 numbers"]),
        ({"com": (0, 0, NAN)}, ["com", "nan"]),
        ({"com": "xyz"}, ["com", "'xyz'"]),
        ({"com": (1j, 0, 0)}, ["com", "3 numbers"]),
        ({"pose": ((0, 0, 0), 2 * np.eye(3))}, ["pose", "orthonormal"]),
        ({"pose": 3}, ["pose", "(position, rotation)"]),
        ({"pose": ((0, NAN, 0), None)}, ["pose", "nan"]),
    ],
)
def test_bad_values_are_refused_with_body_value_and_wish(change, words):
    values = {"mass": 1.0, "inertia": (1, 1, 1)} | change
    with pytest.raises(ElementError) as caught:
        make_body("crank", **values)
    for word in ["'crank'", *words]:
        assert word in str(caught.value)
    assert isinstance(caught.value, (ValueError, TreemechError))


def test_a_body_needs_a_name():
    with pytest.raises(ElementError, match="wanted a string"):
        make_body("", 1, (1, 1, 1))


def test_a_pose_may_be_a_position_alone():
    position, rotation = make_body("a", 1, (1, 1, 1), pose=(1, 2, 3)).pose
    assert position.tolist() == [1, 2, 3]
    assert_array_equal(rotation, np.eye(3))


def test_values_do_not_change_after_the_fact():
    com = np.zeros(3)
    body = make_body("a", 1, (1, 1, 1), com=com)
    com[0] = 5.0
    assert body.com[0] == 0.0
    for array in (body.com, body.inertia, body.at().offset, body.at().rotation):
        with pytest.raises(ValueError):
            array[0] = 1.0


def test_a_rotation_may_be_a_matrix_a_scipy_rotation_or_nothing():
    assert_array_equal(as_rotation(None, "r"), np.eye(3))
    assert_array_equal(as_rotation(TURN, "r"), as_rotation(TURN.as_matrix(), "r"))


def test_small_errors_of_a_rotation_are_removed():
    rough = TURN.as_matrix() + 2e-9 * np.ones((3, 3))
    clean = as_rotation(rough, "r")
    assert_allclose(clean.T @ clean, np.eye(3), atol=ROUND)
    assert_allclose(clean, rough, atol=1e-8)


def test_left_handed_and_skewed_rotations_are_refused():
    body = make_body("crank", 1, (1, 1, 1))
    with pytest.raises(ElementError, match="rotation of an attachment of body 'crank' is left-handed"):
        body.at((0, 0, 0), np.diag((1, 1, -1)))
    with pytest.raises(ElementError, match="'crank' is not orthonormal.*0.001"):
        body.at((0, 0, 0), np.eye(3) + np.outer((0.0, 0, 1), (0.001, 0, 0)))
    with pytest.raises(ElementError, match=r"'crank' is .*shape \(4,\)"):
        body.at((0, 0, 0), (1, 0, 0, 0))
    with pytest.raises(ElementError, match="offset of an attachment of body 'crank'"):
        body.at((0, 0))


def test_attachments_compose():
    body = make_body("a", 1, (1, 1, 1))
    first = body.at((1, 2, 3), TURN)
    second = first.at((0.5, 0, 0), TURN)
    assert isinstance(second, Attachment) and second.body is body
    assert_allclose(second.offset, (1, 2, 3) + TURN.apply((0.5, 0, 0)), atol=4 * ROUND)
    assert_allclose(second.rotation, (TURN * TURN).as_matrix(), atol=ROUND)


def test_axes_by_letter_and_vector():
    assert_array_equal(as_axis("x", "axis"), (1, 0, 0))
    assert_allclose(as_axis((3e-200, 4e-200, 0), "axis"), (0.6, 0.8, 0), rtol=1e-15)
    for bad in ("w", (0, 0, 0), (1, 2), (NAN, 0, 1)):
        with pytest.raises(ElementError, match="axis of hinge 'A'"):
            as_axis(bad, "axis of hinge 'A'")


def test_vectors_of_other_sizes():
    assert as_vector([1, 2], "v", 2).tolist() == [1, 2]


def test_reprs_are_short():
    body = make_body("arm", 2, (1, 1, 1))
    assert repr(body) == "Body('arm', mass=2)"
    assert repr(body.at((1, 0, 0))) == "Attachment('arm', offset=[1.0, 0.0, 0.0])"


# Connections


def test_connections_that_make_no_sense_are_refused(new_model):
    model = new_model("crank", "rod")
    with pytest.raises(TopologyError, match=r"hinge 'pin' joins body 'crank' to itself\."):
        model.hinge("pin", "crank", "crank")
    with pytest.raises(TopologyError, match="constraint 'gap' joins body 'rod' to itself"):
        model.constraint("gap", "rod", "rod")
    with pytest.raises(TopologyError, match="connection 'spring' joins body 'rod' to itself"):
        model.spring("spring", "rod", "rod")
    with pytest.raises(ElementError, match="hinge 'pin' has n_coordinates = -1"):
        model.hinge("pin", "crank", "rod", -1)
    with pytest.raises(ElementError, match="hinge 'pin' has role='trunk'"):
        model.hinge("pin", "crank", "rod", role="trunk")
    with pytest.raises(TopologyError, match="hinge 'pin' has role='chord', but it is prescribed"):
        model.hinge("pin", "crank", "rod", role="chord", stays_branch=True)
    with pytest.raises(ElementError, match="hinge 'pin' has 3 ends; wanted 2"):
        model._join("pin", None, ("crank", "rod", "ground"), is_hinge=True)
    with pytest.raises(ElementError, match="'pin' is a hinge and a constraint"):
        model._join("pin", None, ("crank", "rod"), is_hinge=True, is_constraint=True)
    with pytest.raises(ElementError, match="constraint 'gap' has role='branch'"):
        model._join("gap", None, ("crank", "rod"), is_constraint=True, role="branch")
    with pytest.raises(ElementError, match="hinge 'pin' has Body.'rod'.* as an end; wanted an attachment"):
        Connection("pin", None, (model.bodies[1].at(), model.bodies[2]), 1, is_hinge=True)


def test_an_energetic_connection_has_any_number_of_ends(new_model):
    model = new_model("a", "b")
    assert model.spring("tendon", "a", "b", "a").body_b.name == "b"
    with pytest.raises(ElementError, match="'weight' has 1 ends, so none called b"):
        assert model.spring("weight", "a").body_b


@pytest.mark.parametrize("axis", ["x", "y", "z", (1.0, 2.0, -2.0)])
def test_a_planar_inertia_has_its_moment_about_the_normal_and_is_a_possible_body(axis):
    n = as_axis(axis, "axis")
    J = make_body("link", 1.0, planar_inertia(0.016, axis)).inertia
    assert_allclose(J @ n, 0.016 * n, atol=1e-16)
    assert_allclose(np.linalg.eigvalsh(J), (0.008, 0.008, 0.016), rtol=1e-12)  # a lamina
    for wrong in (-1.0, "heavy", np.nan):
        with pytest.raises(ElementError, match="moment of planar_inertia"):
            planar_inertia(wrong, axis)
