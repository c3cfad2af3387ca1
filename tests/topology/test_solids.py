"""Mass properties against quadrature of their definition and against each other."""

import json
from itertools import pairwise
from types import FunctionType

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from treemech.topology import ElementError, as_inertia, make_body, solids
from treemech.topology.declared import made_again
from treemech.topology.parameter import Parameter

ROUND = 1e-12  # two routes to one number
THIN = 1e-4  # relative thickness that stands for a shell; the error is of its order
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)  # exact for the polynomials below
TURN = Rotation.from_rotvec((0.4, -1.1, 0.7))


def on(low, high):
    """Gauss nodes and weights on an interval."""
    return 0.5 * (high + low) + 0.5 * (high - low) * NODES, 0.5 * (high - low) * WEIGHTS


def assert_same(one, other, tolerance=ROUND):
    size = max(np.abs(one.inertia).max(), np.abs(other.inertia).max(), 1e-300)
    assert_allclose(one.mass, other.mass, rtol=tolerance)
    assert_allclose(one.com, other.com, atol=tolerance * (1 + np.abs(other.com).max()))
    assert_allclose(one.inertia, other.inertia, atol=tolerance * size)


def stacked(radii, z, weights, density, make):
    """Sum of thin pieces along z: disks make a solid of revolution, rings a surface."""
    pieces = [make(r, density * w).moved((0, 0, h)) for r, h, w in zip(radii, z, weights)]
    return solids.composite(*pieces)


def disk_of(r, thickness_mass):
    return solids.disk(r, density=thickness_mass)


def ring_of(r, thickness_mass):
    return solids.ring(r, density=thickness_mass)


def every_solid():
    return {
        "point": solids.point(2.0, (1, 2, 3)),
        "rod": solids.rod((1, 0, 0), (2, 1, 3), mass=2.0),
        "box": solids.box((1, 2, 3), mass=2.0),
        "ellipsoid": solids.ellipsoid((1, 2, 3), mass=2.0),
        "sphere": solids.sphere(0.5, inner_radius=0.3, mass=2.0),
        "spherical_shell": solids.spherical_shell(0.5, mass=2.0),
        "hemisphere": solids.hemisphere(0.5, axis="x", mass=2.0),
        "cylinder": solids.cylinder(0.5, 2.0, inner_radius=0.2, axis="y", mass=2.0),
        "cylindrical_shell": solids.cylindrical_shell(0.5, 2.0, mass=2.0),
        "cone": solids.cone(0.5, 2.0, top_radius=0.1, axis=(1, 2, 3), mass=2.0),
        "conical_shell": solids.conical_shell(0.5, 2.0, mass=2.0),
        "ring": solids.ring(0.5, mass=2.0),
        "torus": solids.torus(0.5, 0.1, axis="x", mass=2.0),
        "disk": solids.disk(0.5, inner_radius=0.1, mass=2.0),
        "plate": solids.plate((1, 2), axis="y", mass=2.0),
        "polygon": solids.polygon([(0, 0), (2, 0.5), (1, 2)], thickness=0.1, axis=(1, 2, 3), mass=2.0),
    }


@pytest.mark.parametrize("name", every_solid())
def test_every_solid_is_a_possible_body_with_shapes_a_file_can_hold(name):
    solid = every_solid()[name]
    body = make_body(name, **solid.properties)
    assert body.mass == 2.0
    for shape in json.loads(json.dumps(body.shapes)):
        assert {"kind", "offset", "rotation"} <= set(shape)


@pytest.mark.parametrize("name", every_solid())
def test_moving_there_and_back_changes_nothing(name):
    solid = every_solid()[name]
    back = TURN.inv()
    there = solid.moved((1, 2, 3), TURN)
    assert_same(there.moved(-back.apply((1, 2, 3)), back), solid)
    assert_allclose(there.com, (1, 2, 3) + TURN.apply(solid.com), atol=ROUND)


def test_a_rod_is_the_sum_of_its_points():
    a, b = np.array((1.0, -1.0, 0.5)), np.array((2.0, 3.0, 0.0))
    s, w = on(0.0, 1.0)
    points = [solids.point(6.0 * wi, a + si * (b - a)) for si, wi in zip(s, w)]
    assert_same(solids.rod(a, b, mass=6.0), solids.composite(*points))
    assert_allclose(solids.rod(a, b, density=2.0).mass, 2.0 * np.linalg.norm(b - a), rtol=ROUND)


def test_a_box_is_the_sum_of_its_points():
    size = (1.0, 2.0, 0.5)
    grid = [list(zip(*on(-s / 2, s / 2))) for s in size]
    points = [
        solids.point(3.0 * wx * wy * wz, (x, y, z))
        for x, wx in grid[0]
        for y, wy in grid[1]
        for z, wz in grid[2]
    ]
    assert_same(solids.box(size, density=3.0), solids.composite(*points))


def test_a_box_is_the_sum_of_two_boxes():
    halves = solids.box((1, 2, 3), mass=2.0).moved((0.5, 0, 0)) + solids.box((1, 2, 3), mass=2.0).moved(
        (-0.5, 0, 0)
    )
    assert_same(halves, solids.box((2, 2, 3), mass=4.0))
    assert len(halves.shapes) == 2


def test_a_disk_is_the_sum_of_rings():
    r, w = on(0.2, 0.7)
    rings = [solids.ring(ri, density=3.0 * wi) for ri, wi in zip(r, w)]
    assert_same(solids.disk(0.7, inner_radius=0.2, density=3.0), solids.composite(*rings))


def test_a_ring_is_the_sum_of_its_points():
    angles = np.arange(16) * 2 * np.pi / 16
    points = [solids.point(0.25, (0.3 * np.cos(a), 0.3 * np.sin(a), 0)) for a in angles]
    assert_same(solids.ring(0.3, mass=4.0), solids.composite(*points))


def test_solids_of_revolution_are_stacks_of_disks():
    z, w = on(0.0, 2.0)
    assert_same(
        solids.cylinder(0.5, 2.0, density=3.0).moved((0, 0, 1)), stacked(0.5 + 0 * z, z, w, 3.0, disk_of)
    )
    assert_same(solids.cone(0.8, 2.0, density=3.0), stacked(0.8 * (1 - z / 2), z, w, 3.0, disk_of))
    taper = 0.8 + (0.3 - 0.8) * z / 2
    assert_same(solids.cone(0.8, 2.0, top_radius=0.3, density=3.0), stacked(taper, z, w, 3.0, disk_of))
    z, w = on(0.0, 0.7)
    dome = np.sqrt(0.49 - z**2)
    assert_same(solids.hemisphere(0.7, density=3.0), stacked(dome, z, w, 3.0, disk_of))
    z, w = on(-0.7, 0.7)
    assert_same(solids.sphere(0.7, density=3.0), stacked(np.sqrt(0.49 - z**2), z, w, 3.0, disk_of))


def test_surfaces_of_revolution_are_stacks_of_rings():
    z, w = on(0.0, 2.0)
    radii, slant = 0.8 + (0.3 - 0.8) * z / 2, np.hypot(1.0, 0.25)
    assert_same(
        solids.conical_shell(0.8, 2.0, top_radius=0.3, density=3.0),
        stacked(radii, z, w * slant, 3.0, ring_of),
    )
    z, w = on(-1.0, 1.0)
    assert_same(solids.cylindrical_shell(0.5, 2.0, density=3.0), stacked(0.5 + 0 * z, z, w, 3.0, ring_of))
    z, w = on(-0.6, 0.6)
    radii = np.sqrt(0.36 - z**2)
    assert_same(solids.spherical_shell(0.6, density=3.0), stacked(radii, z, w * 0.6 / radii, 3.0, ring_of))


def test_a_torus_is_the_sum_of_rings():
    angles = np.arange(16) * 2 * np.pi / 16
    s, w = on(0.0, 0.2)
    rings = [
        solids.ring(1 + r * np.cos(a), density=3.0 * wr * r * 2 * np.pi / 16).moved((0, 0, r * np.sin(a)))
        for a in angles
        for r, wr in zip(s, w)
    ]
    assert_same(solids.torus(1.0, 0.2, density=3.0), solids.composite(*rings))


def test_an_ellipsoid_is_a_stretched_sphere():
    # Second moments of mass scale with the square of the stretch; J = tr(M) 1 - M.
    moments = np.trace(solids.sphere(1.0, mass=1.0).inertia) / 2 / 3 * np.square((1.0, 2.0, 3.0))
    wanted = moments.sum() * np.eye(3) - np.diag(moments)
    assert_allclose(solids.ellipsoid((1, 2, 3), mass=1.0).inertia, wanted, rtol=ROUND, atol=ROUND)
    assert_same(solids.ellipsoid((2, 2, 2), density=3.0), solids.sphere(2.0, density=3.0))


def test_hollow_solids_are_large_less_small():
    for hollow, whole, void in (
        (
            solids.cylinder(0.5, 2, inner_radius=0.3, density=7.0),
            solids.cylinder(0.5, 2, density=7.0),
            solids.cylinder(0.3, 2, density=7.0),
        ),
        (
            solids.sphere(0.5, inner_radius=0.3, density=7.0),
            solids.sphere(0.5, density=7.0),
            solids.sphere(0.3, density=7.0),
        ),
        (
            solids.disk(0.5, inner_radius=0.3, density=7.0),
            solids.disk(0.5, density=7.0),
            solids.disk(0.3, density=7.0),
        ),
    ):
        assert_same(hollow, whole - void)
        assert_same(hollow, solids.composite(whole, voids=[void]))
        assert_same(hollow + void, whole)


def test_shells_are_limits_of_hollow_solids():
    inner = 0.5 * (1 - THIN)
    shell = solids.spherical_shell(0.5, mass=1.0)
    assert_same(shell, solids.sphere(0.5, inner_radius=inner, mass=1.0), 2 * THIN)
    shell = solids.cylindrical_shell(0.5, 2.0, mass=1.0)
    assert_same(shell, solids.cylinder(0.5, 2.0, inner_radius=inner, mass=1.0), 2 * THIN)


def test_a_frustum_is_a_cone_less_its_tip_and_a_cylinder_if_it_does_not_taper():
    whole, tip = solids.cone(0.8, 2.0, density=3.0), solids.cone(0.4, 1.0, density=3.0).moved((0, 0, 1))
    assert_same(whole - tip, solids.cone(0.8, 1.0, top_radius=0.4, density=3.0))
    straight = solids.cone(0.8, 2.0, top_radius=0.8, density=3.0)
    assert_same(straight, solids.cylinder(0.8, 2.0, density=3.0).moved((0, 0, 1)))


def test_a_sphere_is_two_hemispheres():
    halves = solids.hemisphere(0.5, mass=1.0) + solids.hemisphere(0.5, axis=(0, 0, -1), mass=1.0)
    assert_same(halves, solids.sphere(0.5, mass=2.0))


@pytest.mark.parametrize("axis", ["x", "y", "z", (1, 2, 3), (0, -1, 0)])
def test_the_axis_is_where_it_was_asked_for(axis):
    n = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.array(axis) / np.linalg.norm(axis)
    solid = solids.cone(0.5, 2.0, axis=axis, mass=3.0)
    assert_allclose(solid.com, 0.5 * n, atol=ROUND)
    assert_allclose(solid.inertia @ n, 0.3 * 3.0 * 0.25 * n, atol=ROUND)
    shape = solid.shapes[0]
    assert_allclose(np.array(shape["rotation"]) @ (0, 0, 1), n, atol=ROUND)


def test_the_edges_of_a_plate_follow_its_axis():
    thin = 1e-9
    for axis, size in (("z", (1, 2, thin)), ("x", (thin, 1, 2)), ("y", (2, thin, 1))):
        assert_same(solids.plate((1, 2), axis=axis, mass=3.0), solids.box(size, mass=3.0))


def test_inertia_about_a_point_obeys_the_parallel_axes():
    rod = solids.rod((0, 0, 0), (2, 0, 0), mass=3.0)
    assert_allclose(np.diag(rod.inertia_about((0, 0, 0))), (0, 4, 4), rtol=ROUND)


def test_shapes_move_with_their_solid():
    moved = solids.box((1, 1, 1), mass=1.0).moved((1, 0, 0)).moved((0, 2, 0), TURN)
    assert_allclose(moved.shapes[0]["offset"], moved.com, atol=ROUND)
    assert_allclose(moved.shapes[0]["rotation"], TURN.as_matrix(), atol=ROUND)


def test_composites_of_nothing_heavy_have_a_centre_all_the_same():
    pair = solids.point(0.0, (1, 0, 0)) + solids.point(0.0, (3, 0, 0))
    assert pair.mass == 0.0 and pair.com.tolist() == [2, 0, 0]
    nothing = solids.sphere(1.0, mass=0.1) - solids.sphere(1.0, mass=0.1)
    assert nothing.mass == 0.0
    as_inertia(nothing.inertia, "nothing")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: solids.box((1, 1, 1)), "box: neither of mass and density"),
        (lambda: solids.box((1, 1, 1), mass=1, density=1), "box: both of mass and density"),
        (lambda: solids.box((1, 0, 1), mass=1), "edge of a box is 0; wanted more than zero"),
        (lambda: solids.box((1, 1), mass=1), "size of a box"),
        (lambda: solids.sphere(-1, mass=1), "radius of a sphere is -1"),
        (lambda: solids.sphere(1, mass=-2), "mass of a sphere is -2.*void"),
        (lambda: solids.sphere(1, density=float("nan")), "density of a sphere is nan"),
        (lambda: solids.cylinder(1, 1, inner_radius=2, mass=1), "inner radius of a cylinder is 2"),
        (lambda: solids.cylinder(1, 1, axis="w", mass=1), "axis of a cylinder is 'w'"),
        (lambda: solids.cone(1, 1, top_radius=-1, mass=1), "top radius of a cone is -1"),
        (lambda: solids.torus(1, 2, mass=1), "tube radius of a torus is 2"),
        (lambda: solids.rod((0, 0, 0), (0, 0, 0), mass=1), "length of a rod is 0"),
        (lambda: solids.composite(), "composite of no solids"),
        (lambda: solids.box((1, 1, 1), mass=1) - solids.box((1, 1, 1), mass=2), "voids of 2 kg in 1 kg"),
        (
            lambda: solids.box((1, 1, 1), mass=1) - solids.box((1, 1, 1), mass=0.5).moved((3, 0, 0)),
            "voids must lie inside",
        ),
    ],
)
def test_bad_solids_are_refused_by_name(make, words):
    with pytest.raises(ElementError, match=words):
        make()


def test_the_names_on_offer_are_solids_and_their_principal_axes():
    made = {name for name in dir(solids) if isinstance(getattr(solids, name), FunctionType)} - {
        "principal_axes"
    }
    assert made == {name for name, made in vars(solids).items() if hasattr(made, "__wrapped__")}
    assert set(dir(solids)) - made == {"PrincipalAxes", "Properties", "Solid", "principal_axes"}


SHAPED = np.array([(0, 0), (3, 0), (3, 1), (1, 1), (1, 2.5), (0, 2)], dtype=float)


def triangles(corners):
    """Sum of the triangles from the first corner, each by quadrature that is exact for its moments."""
    parts, voids = [], []
    for b, c in pairwise(corners[1:]):
        a = corners[0]
        area = 0.5 * float((b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0])
        for m in (0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)):  # mid points: exact for squares
            (parts if area > 0 else voids).append(solids.point(abs(area) / 3.0, (*m, 0.0)))
    return solids.composite(*parts, voids=voids)


@pytest.mark.parametrize(
    "corners", [SHAPED, SHAPED[::-1], SHAPED + (1000.0, -2000.0)], ids=["", "clockwise", "far"]
)
def test_a_polygon_is_the_sum_of_its_triangles(corners):
    found, wanted = solids.polygon(corners, density=1.0), triangles(SHAPED)
    shift = np.array((*(corners.min(axis=0) - SHAPED.min(axis=0)), 0.0))
    assert_allclose(found.mass, wanted.mass, rtol=ROUND)
    assert_allclose(found.com - shift, wanted.com, atol=1e-12 * (1 + np.abs(shift).max()))
    # the moments of a plate far from the origin keep their digits but for the square of the distance
    assert_allclose(found.inertia, wanted.inertia, atol=1e-13 * (1 + np.abs(shift).max() ** 2))


def test_a_polygon_of_four_corners_is_a_plate_and_with_thickness_a_box():
    corners = [(-1, -0.5), (1, -0.5), (1, 0.5), (-1, 0.5)]
    assert_same(solids.polygon(corners, mass=3.0), solids.plate((2, 1), mass=3.0))
    assert_same(solids.polygon(corners, thickness=0.25, density=2.0), solids.box((2, 1, 0.25), density=2.0))
    for axis in ("x", "y"):
        assert_same(solids.polygon(corners, axis=axis, mass=3.0), solids.plate((2, 1), axis=axis, mass=3.0))


def test_holes_of_a_polygon_are_voids_and_many_corners_make_a_disk():
    hole = 0.2 * SHAPED[::-1] + 0.2
    outer, inner = (
        solids.polygon(SHAPED, thickness=0.1, density=7.0),
        solids.polygon(hole, thickness=0.1, density=7.0),
    )
    assert_same(solids.polygon(SHAPED, holes=[hole], thickness=0.1, density=7.0), outer - inner)
    angle = np.linspace(0.0, 2 * np.pi, 2000)  # the last corner is the first again
    ring = np.column_stack((np.cos(angle), np.sin(angle)))
    assert_same(
        solids.polygon(ring, holes=[0.5 * ring], density=2.0),
        solids.disk(1.0, inner_radius=0.5, density=2.0),
        1e-5,
    )


@pytest.mark.parametrize(
    "points, holes, said",
    [
        ([(0, 0), (1, 1), (1, 0), (0, 1)], (), "crosses or touches itself"),
        ([(0, 0), (2, 0), (2, 1), (1, 0), (0, 1)], (), "crosses or touches itself"),
        ([(0, 0), (2, 0), (1, 0), (1, 1)], (), "crosses or touches itself"),
        ([(0, 0), (1, 0), (2, 0)], (), "crosses or touches itself|encloses no area"),
        ([(0, 0), (1, 0)], (), "2 different corners"),
        ([(0, 0, 0), (1, 0, 0), (1, 1, 0)], (), "shape"),
        ([(0, 0), (1, 0), (1, 1)], [[(2, 2), (3, 2), (3, 3)]], "hole 0 of a polygon is not inside"),
        ([(0, 0), (1, 0), (1, 1)], [[(0.5, 0.1), (2, 0.1), (0.6, 0.2)]], "hole 0 of a polygon is not inside"),
        (
            [(0, 0), (9, 0), (9, 9), (0, 9)],
            [[(1, 1), (4, 1), (4, 4), (1, 4)], [(2, 2), (3, 2), (3, 3)]],
            "hole 1 of a polygon overlaps",
        ),
        ("square", (), "wanted corners"),
    ],
)
def test_outlines_without_a_meaning_are_refused(points, holes, said):
    with pytest.raises(ElementError, match=said):
        solids.polygon(points, holes=holes, mass=1.0)


def test_a_polygon_follows_its_parameters():
    width = Parameter("width", 2.0)
    corners = [(0.0, 0.0), (width, 0.0), (width, 1.0), (0.0, 1.0)]
    solid = solids.polygon(corners, density=3.0)
    assert solid.mass == 6.0
    other = made_again(solid.declared, {"width": 4.0})
    assert_same(other, solids.polygon([(0, 0), (4, 0), (4, 1), (0, 1)], density=3.0))


@pytest.mark.parametrize("name", every_solid())
def test_principal_axes_make_the_inertia_diagonal(name):
    solid = every_solid()[name].moved(rotation=TURN)
    moments, rotation = solids.principal_axes(solid)
    size = 1e-300 + moments.max()
    assert_allclose(rotation @ np.diag(moments) @ rotation.T, solid.inertia, atol=ROUND * size)
    assert_allclose(np.linalg.det(rotation), 1.0, rtol=ROUND)
    assert np.all(np.diff(moments) >= 0.0)
    assert_allclose(solid.moved(rotation=rotation.T).inertia, np.diag(moments), atol=ROUND * size)
    body = make_body(name, **solid.properties)
    assert_allclose(solids.principal_axes(body).moments, moments, atol=0)
    assert_allclose(solids.principal_axes(solid.inertia).moments, moments, atol=0)


def test_the_angle_of_the_principal_axes_of_an_angle_section():
    """Mohr's circle: tan 2a = 2 Jxy / (Jyy - Jxx) with Jxy = - integral x y dm."""
    solid = solids.polygon([(0, 0), (3, 0), (3, 0.5), (0.5, 0.5), (0.5, 2), (0, 2)], mass=1.0)
    J = solid.inertia
    angle = 0.5 * np.arctan2(2 * J[0, 1], J[0, 0] - J[1, 1])  # of the largest moment in the plane
    axis = solids.principal_axes(solid).rotation[:, 1]
    assert_allclose(abs(axis @ (np.cos(angle), np.sin(angle), 0.0)), 1.0, rtol=ROUND)
