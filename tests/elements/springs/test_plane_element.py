"""Plane triangles: patch test at finite strain, the stiffness of textbooks, stress and strain states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.support.energetic_laws import at_rest
from tests.support.tolerances import ROUND

YOUNG, POISSON, THICKNESS = 2e3, 0.3, 0.1
NODES = np.array([(0, 0), (2.1, 0.1), (1.9, 1.7), (-0.2, 1.5), (0.6, 0.5), (1.3, 0.9)])
MESH = [(0, 1, 4), (1, 5, 4), (1, 2, 5), (2, 3, 5), (3, 4, 5), (3, 0, 4)]
INNER = (4, 5)


def triangle(points, **options):
    return tm.PlaneElement(points, YOUNG, POISSON, THICKNESS, **options)


def patch(state):
    return [triangle(NODES[list(t)], state=state) for t in MESH]


def nodal_forces(elements, positions):
    """(n, 3) sum of the forces on the nodes, and the stress in every element."""
    forces, stresses = np.zeros((len(NODES), 3)), []
    for element, nodes in zip(elements, MESH, strict=True):
        load = element.at(at_rest(element, positions[list(nodes)]))
        forces[list(nodes)] += load.force
        stresses.append(element.stress(load.deformation))
    return forces, np.array(stresses)


def equilibrium(elements, positions, turn):
    """Newton's method for the inner nodes in the plane of the sheet, with differences."""
    positions, across = positions.copy(), turn[:, :2]
    for _ in range(30):
        residual = (nodal_forces(elements, positions)[0][list(INNER)] @ across).ravel()
        J = np.zeros((4, 4))
        for k in range(4):
            ends = []
            for h in (1e-6, -1e-6):
                p = positions.copy()
                p[INNER[k // 2]] += h * across[:, k % 2]
                ends.append((nodal_forces(elements, p)[0][list(INNER)] @ across).ravel())
            J[:, k] = (ends[0] - ends[1]) / 2e-6
        change = np.linalg.solve(J, -residual).reshape(2, 2)
        positions[list(INNER)] += change @ across.T
        if np.abs(change).max() < 1e-13:
            return positions
    raise AssertionError("no equilibrium")


@pytest.mark.parametrize("state", ["stress", "strain"])
@pytest.mark.parametrize("size", [1e-4, 0.2])
def test_patch_finds_the_uniform_strain_of_its_boundary(state, size):
    """The boundary of an irregular patch, strained and turned in space: the inner nodes follow, all stresses are equal."""
    rng = np.random.default_rng(3)
    stretch = np.eye(2) + size * np.array([[0.8, 0.5], [0.5, -0.4]])
    turn = Rotation.random(random_state=5).as_matrix()
    wanted = np.column_stack((NODES @ stretch, np.zeros(len(NODES)))) @ turn.T
    start = wanted.copy()
    start[list(INNER)] += 0.02 * rng.normal(size=(2, 2)) @ turn[:, :2].T
    elements = patch(state)
    found = equilibrium(elements, start, turn)
    assert_allclose(found, wanted, atol=1e-10)
    forces, stresses = nodal_forces(elements, found)
    assert np.abs(forces[list(INNER)]).max() < 1e-9 * np.abs(forces).max()
    assert_allclose(
        stresses, np.broadcast_to(stresses[0], stresses.shape), atol=1e-9 * np.abs(stresses).max()
    )
    strain = stretch - np.eye(2)
    v = POISSON if state == "stress" else POISSON / (1 - POISSON)
    modulus = (
        YOUNG / (1 - POISSON**2)
        if state == "stress"
        else YOUNG * (1 - POISSON) / ((1 + POISSON) * (1 - 2 * POISSON))
    )
    xx, yy = modulus * (strain[0, 0] + v * strain[1, 1]), modulus * (v * strain[0, 0] + strain[1, 1])
    assert_allclose(stresses[0], (xx, yy, YOUNG / (1 + POISSON) * strain[0, 1]), rtol=1e-9)


@pytest.mark.parametrize("state", ["stress", "strain"])
def test_stiffness_at_rest_is_that_of_the_constant_strain_triangle(state):
    """Against B^T D B of the textbooks (Zienkiewicz)."""
    (x1, y1), (x2, y2), (x3, y3) = points = NODES[[1, 5, 4]]
    twice = (x2 - x1) * (y3 - y1) - (x3 - x1) * (y2 - y1)
    b, c = np.array([y2 - y3, y3 - y1, y1 - y2]) / twice, np.array([x3 - x2, x1 - x3, x2 - x1]) / twice
    B = np.zeros((3, 6))
    B[0, ::2], B[1, 1::2], B[2, ::2], B[2, 1::2] = b, c, c, b
    v = POISSON
    D = np.array([[1, v, 0], [v, 1, 0], [0, 0, (1 - v) / 2]]) * YOUNG / (1 - v * v)
    if state == "strain":
        D = np.array([[1 - v, v, 0], [v, 1 - v, 0], [0, 0, 0.5 - v]]) * YOUNG / ((1 + v) * (1 - 2 * v))
    wanted = 0.5 * abs(twice) * THICKNESS * B.T @ D @ B
    element, h = triangle(points, state=state), 1e-6
    K = np.zeros((6, 6))
    for k in range(6):
        ends = []
        for sign in (1, -1):
            p = np.column_stack((points, np.zeros(3)))
            p[k // 2, k % 2] += sign * h
            ends.append(element.at(at_rest(element, p)).force[:, :2].ravel())
        K[:, k] = -(ends[0] - ends[1]) / (2 * h)
    assert_allclose(K, wanted, atol=1e-7 * np.abs(wanted).max())


def test_loads_do_not_depend_on_the_numbering():
    points = NODES[[1, 5, 4]]
    place = np.random.default_rng(1).normal(size=(3, 3)) + np.column_stack((points, np.zeros(3)))
    one = triangle(points)
    forces = one.at(at_rest(one, place)).force
    for order in ([1, 2, 0], [0, 2, 1], [2, 1, 0]):
        other = triangle(points[order])
        found = other.at(at_rest(other, place[order]))
        assert_allclose(found.force, forces[order], atol=100 * ROUND * np.abs(forces).max())
        assert_allclose(
            other.stress(found.deformation),
            one.stress(one.at(at_rest(one, place)).deformation),
            atol=100 * ROUND * YOUNG,
        )


def test_strip_of_two_triangles_in_tension_has_the_stretch_of_young():
    """Three point masses on guides: a strip pulled along x, free across it."""
    system = tm.System("strip", gravity=(0, 0, 0))
    L, W, force = 2.0, 1.0, 4.0
    ground = system.ground
    bodies = {
        name: system.body(name, mass=0.1, inertia=(1, 1, 1))
        for name in ("upper", "lower right", "upper right")
    }
    system.connect("U", tm.Prismatic("y"), ground, bodies["upper"])
    system.connect("L", tm.Prismatic("x"), ground, bodies["lower right"])
    system.connect("P", tm.Planar(), ground, bodies["upper right"])
    sheet = dict(young=YOUNG, poisson=POISSON, thickness=THICKNESS, damping=0.02)
    a, b, c, d = (0, 0), (L, 0), (L, W), (0, W)
    corner = {a: ground, b: bodies["lower right"], c: bodies["upper right"], d: bodies["upper"]}
    for name, points in (("one", (a, b, c)), ("two", (a, c, d))):
        system.connect(name, tm.PlaneElement(points, **sheet), *(corner[p] for p in points))
    system.load("pull low", tm.Force(x=force / 2), bodies["lower right"])
    system.load("pull high", tm.Force(x=force / 2), bodies["upper right"])
    mech = system.build()
    run = mech.simulate((0, 2), mech.state(q={"U": W, "L": L, "P": (L, W, 0)}), rtol=1e-8)
    strain = force / (YOUNG * THICKNESS * W)
    assert_allclose(run.connection("L").q[-1], L * (1 + strain), rtol=1e-6)
    assert_allclose(run.connection("U").q[-1], W * (1 - POISSON * strain), rtol=1e-6)
    assert_allclose(run.connection("P").q[-1][:2], (L * (1 + strain), W * (1 - POISSON * strain)), rtol=1e-6)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: triangle([(0, 0), (1, 1), (2, 2)]), "PlaneElement.points lie on a line"),
        (lambda: triangle([(0, 0), (1, 1)]), r"points has shape \(2, 2\): wanted three points"),
        (lambda: triangle(NODES[:3], state="shell"), "state is 'shell'"),
        (lambda: tm.PlaneElement(NODES[:3], 1.0, 0.5, 1.0, state="strain"), "poisson 0.5"),
        (lambda: tm.PlaneElement(NODES[:3], -1.0, 0.3, 1.0), "young is -1: wanted a positive"),
    ],
)
def test_bad_triangles_are_refused(make, message):
    with pytest.raises(tm.ElementError, match=message):
        make()
