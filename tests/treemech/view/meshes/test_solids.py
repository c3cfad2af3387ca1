"""Every solid of tm.solids is drawn with the surface it has: volumes and areas by their formulas."""

from math import pi

import numpy as np
import pytest

import treemech as tm
from treemech.topology import ElementError
from treemech.view.meshes.mesh import Mesh
from treemech.view.meshes.pieces import pieces
from treemech.view.meshes.solids import shape_mesh

ROUND = 0.02  # what 48 segments leave of circles
S = tm.solids
SOLIDS = {
    "box": (S.box((1, 2, 3), mass=1), 6.0),
    "ellipsoid": (S.ellipsoid((1, 2, 3), mass=1), 8 * pi),
    "sphere": (S.sphere(1.5, mass=1), 4 / 3 * pi * 1.5**3),
    "hemisphere": (S.hemisphere(1.5, mass=1), 2 / 3 * pi * 1.5**3),
    "cylinder": (S.cylinder(1.0, 3.0, mass=1), 3 * pi),
    "tube": (S.cylinder(1.0, 3.0, inner_radius=0.8, mass=1), 3 * pi * 0.36),
    "cone": (S.cone(1.0, 3.0, mass=1), pi),
    "frustum": (S.cone(2.0, 3.0, top_radius=1.0, mass=1), 7 * pi),
    "torus": (S.torus(2.0, 0.5, mass=1), 2 * pi * pi * 0.5),
    "polygon": (S.polygon([(0, 0), (4, 0), (4, 2), (0, 2)], holes=[[(1, 0.5), (3, 0.5), (2, 1.5)]], thickness=0.5, mass=1), 3.5),
}  # fmt: skip


def whole(shapes, segments=48) -> list[Mesh]:
    found = []
    for shape in shapes:
        for piece in pieces(shape, 0.01, segments):
            found.append(piece.mesh.moved(np.diag(piece.scale)).moved(piece.rotation, piece.offset))
    return found


@pytest.mark.parametrize("name", SOLIDS)
def test_the_surface_encloses_the_volume_of_the_solid(name):
    solid, volume = SOLIDS[name]
    (mesh,) = whole(solid.shapes)
    assert abs(mesh.volume / volume - 1.0) < ROUND


@pytest.mark.parametrize("name", SOLIDS)
def test_normals_have_length_one_and_point_out(name):
    (mesh,) = whole(SOLIDS[name][0].shapes)
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1.0)
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    face = np.cross(b - a, c - a)
    for k in range(3):
        assert (np.sum(face * mesh.normals[mesh.triangles[:, k]], axis=1) > 0.0).all()


def test_a_solid_that_is_moved_is_drawn_where_it_is():
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    box = S.box((1, 2, 3), mass=1).moved((10, 0, 0), turn)
    (mesh,) = whole(box.shapes)
    assert np.allclose(mesh.vertices.min(axis=0), (9, -0.5, -1.5)) and np.allclose(
        mesh.vertices.max(axis=0), (11, 0.5, 1.5)
    )


@pytest.mark.parametrize(
    "solid, area",
    [
        (S.cylindrical_shell(1.0, 2.0, mass=1), 4 * pi),
        (S.conical_shell(1.0, 1.0, mass=1), pi * (2**0.5 + 1)),
        (S.spherical_shell(1.0, mass=1), 4 * pi),
    ],
)
def test_shells_have_their_surface(solid, area):
    (mesh,) = whole(solid.shapes)
    assert abs(mesh.area / area - 1.0) < ROUND


@pytest.mark.parametrize(
    "solid",
    [
        S.ring(1.0, mass=1), S.disk(1.0, inner_radius=0.4, mass=1), S.plate((1, 2), mass=1),
        S.rod((0, 0, 0), (1, 0, 0), mass=1), S.polygon([(0, 0), (1, 0), (0, 1)], mass=1),
    ],
)  # fmt: skip
def test_thin_solids_are_seen(solid):
    meshes = whole(solid.shapes)
    assert sum(mesh.area for mesh in meshes) > 0.0


def test_shapes_that_cannot_be_drawn_are_named():
    with pytest.raises(ElementError, match="'cube'"):
        shape_mesh({"kind": "cube"}, 0.1)
    with pytest.raises(ElementError, match=r"body 'arm'.*cylinder"):
        pieces({"kind": "cylinder", "radius": 1.0}, 0.1, 8, "body 'arm'")
