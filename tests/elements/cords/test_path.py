"""Cords: length against closed forms and against minimisation, loads against differences, lifting off smoothly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.support.tolerances import DIFF, ROUND
from treemech.elements.energetic import EndsMotion

TURNED = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()


def motion_of(
    element, position, rotation=None, velocity=None, angular_velocity=None, x=(), inputs=(), memory=None
):
    n = len(position)
    zero = np.zeros((n, 3))
    return EndsMotion(
        np.asarray(position, float), np.array([np.eye(3)] * n) if rotation is None else rotation,
        zero if velocity is None else velocity, zero if angular_velocity is None else angular_velocity, np.zeros(0),
        np.zeros(0), np.asarray(x, float), np.asarray(inputs, float),
        np.zeros(element.n_memory) if memory is None else np.asarray(memory, float), np.zeros((0, 6)),
    )  # fmt: skip


def pulled(position, wraps=None, **given):
    """A cord at a tension of 1: its loads, and its length as the deformation."""
    element = tm.Path(actuated=True, wraps=wraps).joining(len(position))
    return element.at(motion_of(element, position, inputs=[1.0], **given))


def length_of(*arguments, **given):
    return pulled(*arguments, **given).deformation[0]


def test_a_cord_through_via_points_is_as_long_as_its_pieces_and_pulls_along_them():
    points = np.array([[0, 0, 0], [3, 4, 0], [3, 4, 2], [0, 4, 2]], float)
    out = pulled(points)
    assert_allclose(out.deformation[0], 10.0, rtol=ROUND)
    assert_allclose(out.force, [[0.6, 0.8, 0], [-0.6, -0.8, 1], [-1, 0, -1], [1, 0, 0]], atol=ROUND)


@pytest.mark.parametrize("rise", [0.0, 0.7])
@pytest.mark.parametrize("side", [0, 1, -1])
def test_a_cord_on_a_cylinder_has_the_length_of_tangents_and_helix(rise, side):
    """Points 2 radii left and right of the axis, below it by 0.1: tangents of sqrt(d^2 - 1) and an arc between."""
    a, b = np.array([-2.0, -0.1, 0.0]), np.array([2.0, -0.1, rise])
    d = np.hypot(2.0, 0.1)
    below, tangents = (
        np.pi - 2.0 * np.arctan2(0.1, 2.0) - 2.0 * np.arccos(1.0 / d),
        2.0 * np.sqrt(d * d - 1.0),
    )
    above = below + 4.0 * np.arctan2(0.1, 2.0)
    arc = below if side >= 0 else above  # from left to right below the axis: turning about z
    points = np.array([a, [0, 0, 0], b]) @ TURNED.T + [0.3, 0.1, -0.2]
    found = length_of(
        points, {1: tm.WrapCylinder(1.0, side)}, rotation=np.array([np.eye(3), TURNED, np.eye(3)])
    )
    assert_allclose(found, np.hypot(tangents + arc, rise), rtol=ROUND)


def test_a_cord_on_a_sphere_has_the_length_of_tangents_and_great_circle():
    a, b = np.array([2.0, 0.0, 0.0]), 3.0 * np.array([np.cos(2.6), np.sin(2.6) * 0.6, np.sin(2.6) * 0.8])
    exact = np.sqrt(3.0) + np.sqrt(8.0) + 2.6 - np.arccos(1 / 2) - np.arccos(1 / 3)
    assert_allclose(length_of([a, [0, 0, 0], b], {1: tm.WrapSphere(1.0)}), exact, rtol=ROUND)


def on_surface(sphere, p, h):
    return np.array(
        [np.cos(p) * np.cos(h), np.sin(p) * np.cos(h), np.sin(h)] if sphere else [np.cos(p), np.sin(p), h]
    )


@pytest.mark.parametrize("sphere", [False, True], ids=["cylinder", "sphere"])
def test_the_cord_is_the_shortest_one_that_does_not_enter_the_surface(sphere):
    rng = np.random.default_rng(4)
    for _ in range(5):
        a = np.array([-1.0, rng.uniform(-0.2, 0.1), rng.uniform(-0.3, 0.3)]) * rng.uniform(1.1, 2.0)
        b = np.array([1.0, rng.uniform(-0.2, 0.1), rng.uniform(-0.3, 0.3)]) * rng.uniform(1.1, 2.0)

        def length(x, a=a, b=b):
            A, B = on_surface(sphere, x[0], x[1]), on_surface(sphere, x[2], x[3])
            arc = (
                np.arctan2(np.linalg.norm(np.cross(A, B)), A @ B)
                if sphere
                else np.hypot(x[2] - x[0], x[3] - x[1])
            )
            return np.linalg.norm(A - a) + arc + np.linalg.norm(b - B)

        def outside(x, a=a, b=b):
            A, B = on_surface(sphere, x[0], x[1]), on_surface(sphere, x[2], x[3])
            normals = (A, B) if sphere else (A * [1, 1, 0], B * [1, 1, 0])
            return [(a - A) @ normals[0], (b - B) @ normals[1]]

        best = minimize(
            length, [-2.2, a[2] / 2, -0.9, b[2] / 2], method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
            constraints={"type": "ineq", "fun": outside},
        )  # fmt: skip
        wraps = {1: tm.WrapSphere(1.0) if sphere else tm.WrapCylinder(1.0, 1)}
        assert_allclose(length_of([a, [0, 0, 0], b], wraps), best.fun, rtol=1e-8)


WRAPS = {
    "via": None,
    "cylinder": {1: tm.WrapCylinder(0.5, 1)},
    "against": {1: tm.WrapCylinder(0.5, -1)},
    "sphere": {1: tm.WrapSphere(0.5)},
    "two": {1: tm.WrapSphere(0.5), 3: tm.WrapCylinder(0.4)},
}


@pytest.mark.parametrize("name", WRAPS)
def test_loads_are_the_partials_of_the_length_and_have_no_resultant(name):
    rng = np.random.default_rng(7)
    points = np.array([[-1, 0.1, 0.2], [0, 0, 0], [1, 0.2, -0.1], [1.9, 0.3, 0.1], [3.0, 0.1, 0.4]])
    for _ in range(4):
        p, R = points + 0.1 * rng.normal(size=(5, 3)), Rotation.random(5, rng).as_matrix()
        R[1] = Rotation.from_rotvec(0.3 * rng.normal(size=3)).as_matrix()
        R[3] = Rotation.from_rotvec(0.3 * rng.normal(size=3)).as_matrix()
        out = pulled(p, WRAPS[name], rotation=R)
        for e in range(5):
            for i in range(3):
                step = 1e-6 * np.eye(3)[i]
                moved = [np.where(np.arange(5)[:, None] == e, p + s * step, p) for s in (1, -1)]
                slope = (
                    length_of(moved[0], WRAPS[name], rotation=R)
                    - length_of(moved[1], WRAPS[name], rotation=R)
                ) / 2e-6
                assert_allclose(out.force[e, i], -slope, atol=DIFF)
                turned = []
                for s in (1, -1):
                    other = R.copy()
                    other[e] = Rotation.from_rotvec(s * step).as_matrix() @ R[e]
                    turned.append(length_of(p, WRAPS[name], rotation=other))
                assert_allclose(out.moment[e, i], -(turned[0] - turned[1]) / 2e-6, atol=DIFF)
        assert_allclose(out.force.sum(axis=0), 0.0, atol=ROUND)
        assert_allclose((out.moment + np.cross(p, out.force)).sum(axis=0), 0.0, atol=ROUND)


def test_a_cord_without_friction_does_not_turn_a_cylinder_about_its_axis_nor_a_sphere():
    p = [[-1, 0.1, 0.2], [0, 0, 0], [1, 0.2, -0.1]]
    assert abs(pulled(p, {1: tm.WrapCylinder(0.5)}).moment[1, 2]) < ROUND
    assert_allclose(pulled(p, {1: tm.WrapSphere(0.5)}).moment[1], 0.0, atol=ROUND)


@pytest.mark.parametrize(
    "surface", [tm.WrapCylinder(1.0), tm.WrapCylinder(1.0, -1), tm.WrapSphere(1.0)], ids=repr
)
def test_length_and_loads_go_on_where_the_cord_lifts_off(surface):
    """The end b on a circle of 2 radii passes the angle 2 acos(1/2), up to which it is seen from a."""

    def at(angle):
        return pulled([[2, 0, 0], [0, 0, 0], [2 * np.cos(angle), -2 * np.sin(angle), 0.3]], {1: surface})

    edge = minimize(
        lambda x: (np.linalg.norm(at(x[0]).force[1]) > 0) * x[0] + (np.linalg.norm(at(x[0]).force[1]) == 0) * 10,
        [2.2], method="Nelder-Mead", options={"xatol": 1e-10},
    ).x[0]  # fmt: skip
    free, wrapped = at(edge - 1e-6), at(edge + 1e-6)
    assert np.all(free.force[1] == 0.0) and np.any(wrapped.force[1] != 0.0)
    assert abs(wrapped.deformation[0] - free.deformation[0]) < 1e-5
    assert_allclose(wrapped.force, free.force, atol=1e-5)


def test_turns_round_a_cylinder_are_counted():
    element = tm.Path(actuated=True, wraps={1: tm.WrapCylinder(1.0, 1)}).joining(3)
    lengths, memory = [], np.zeros(2)
    for angle in np.arange(0.0, 15.0, 0.5):
        position = [[2, 0, 0], [0, 0, 0], [2 * np.cos(angle), 2 * np.sin(angle), 0.0]]
        motion = motion_of(element, position, inputs=[1.0], memory=memory)
        lengths.append(element.at(motion).deformation[0])
        type(element).remember(element, motion, 0.0, memory)
    wound = np.arange(0.0, 15.0, 0.5)[5:]
    assert_allclose(lengths[5:], 2 * np.sqrt(3) + wound - 2 * np.pi / 3, rtol=ROUND)


def test_a_slack_cord_does_not_push():
    element = tm.Path(stiffness=100.0, damping=5.0, length=2.0).joining(2)
    for x, v, tension in ((1.9, 3.0, 0.0), (2.1, 0.5, 12.5), (2.1, -3.0, 0.0)):
        motion = motion_of(element, [[0, 0, 0], [x, 0, 0]], velocity=np.array([[0, 0, 0], [v, 0, 0.0]]))
        out = element.at(motion)
        assert_allclose(out.force[0, 0], tension, atol=1e-12 * 12.5)
        assert out.dissipated[0] >= 0.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tm.WrapCylinder(0.0), "WrapCylinder.radius is 0"),
        (lambda: tm.WrapSphere(-1.0), "WrapSphere.radius is -1"),
        (lambda: tm.WrapCylinder(1.0, side=2), "WrapCylinder.side is 2"),
        (lambda: tm.Path(wraps={1: 0.5}), "Path.wraps\\[1\\] is 0.5"),
        (lambda: tm.Path(wraps={0: tm.WrapSphere(1.0)}).joining(3), "end 0 of 3"),
        (
            lambda: tm.Path(wraps={1: tm.WrapSphere(1.0), 2: tm.WrapSphere(1.0)}).joining(4),
            "via point between",
        ),
        (lambda: tm.Path(stiffness=-1.0), "Path.stiffness is -1"),
        (lambda: tm.Path().joining(1), "wanted at least 2"),
        (
            lambda: tm.MusclePath(wraps={2: tm.WrapSphere(1.0)}).joining(3),
            "MusclePath.wraps names end 2 of 3",
        ),
    ],
)
def test_wrong_paths_are_refused(wrong, message):
    with pytest.raises(tm.ElementError, match=message):
        wrong()


def over_a_surface(surface):
    """A mass on a cord that goes over a surface at (0, 0, 0.3), its axis along y."""
    system = tm.System("winch", gravity=(0, 0, -9.81))
    bob = system.body("bob", mass=1.0, inertia=(0.01, 0.01, 0.01))
    system.connect("slide", tm.Translation(), system.ground, bob)
    drum = system.ground.at((0, 0, 0.3), rotation=Rotation.from_euler("x", -90, degrees=True))
    cord = tm.Path(stiffness=2000.0, damping=5.0, length=0.5, wraps={1: surface})
    system.connect("cord", cord, system.ground.at((1, 0, 0)), drum, bob)
    return system.build()


@pytest.mark.parametrize("surface", [tm.WrapCylinder(0.1), tm.WrapSphere(0.1)], ids=repr)
def test_a_point_inside_the_surface_next_to_it_is_named(surface):
    mech = over_a_surface(surface)
    shape = surface.kind.removeprefix("Wrap").lower()
    with pytest.raises(
        tm.ElementError, match=rf"'cord' \(Path\).*end 2 enters the {shape} at end 1: it is 0.05 m .* 2 'bob'"
    ):
        mech.forward_dynamics(mech.state(q={"slide": [-0.05, 0, 0.3]}))


def test_a_point_that_enters_a_cylinder_on_its_way_is_named():
    mech = over_a_surface(tm.WrapCylinder(0.1))
    start = mech.state(q={"slide": [-0.5, 0, 0.3]}, u={"slide": [3, 0, 0]})
    with pytest.raises(tm.ElementError, match=r"end 2 enters the cylinder at end 1.* 2 'bob'") as told:
        mech.simulate((0, 2), start, max_step=0.01)
    assert np.all(np.linalg.norm(told.value.partial.q[:, [0, 2]] - [0, 0.3], axis=1) >= 0.1)


def test_points_on_opposite_sides_of_a_sphere_are_named():
    mech = over_a_surface(tm.WrapSphere(0.1))
    with pytest.raises(
        tm.ElementError, match=r"ends 0 and 2 are opposite each other about the sphere at end 1"
    ):
        mech.forward_dynamics(mech.state(q={"slide": [-1, 0, 0.6]}))
