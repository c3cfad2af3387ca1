"""The built-in hinges: each keeps its contract, and each is the motion its docstring says."""

from math import cos, pi, sin

import numpy as np
import pytest
from numba import config
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from treemech.elements import (
    HINGES,
    Ball,
    BallBryant,
    Curve,
    Cylindrical,
    Free,
    Function,
    Harmonic,
    Moving,
    Planar,
    Polar,
    Polynomial,
    Prismatic,
    Revolute,
    Rigid,
    Screw,
    Spline,
    Translation,
    Universal,
)
from treemech.elements.check.checks import check
from treemech.topology.errors import ConvergenceError, ElementError
from treemech.topology.rotation import rotation_vector

ROUND = 1e-12  # two routes to one number
STEP = 0.05  # largest change of a base between neighbouring points of a finely sampled curve

HELIX = np.array([(cos(a), sin(a), 0.2 * a) for a in np.linspace(0.0, 6.0, 9)])
WAVE = np.array([(x, sin(x), 0.0) for x in np.linspace(0.0, 6.0, 9)])  # an S in the plane, inflections
STRAIGHT = np.array(
    [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 1, 0.5), (5, 1, 2), (5, 1, 3), (5, 1, 4)], float
)
LOOP = np.array(
    [(2 * cos(a), sin(a), 0.3 * sin(2 * a)) for a in np.linspace(0.0, 2 * pi, 12, endpoint=False)]
)
CURVES = {
    "helix": Curve(HELIX),
    "helix, degree 3": Curve(HELIX, degree=3),
    "wave": Curve(WAVE),
    "wave, degree 3": Curve(WAVE, degree=3, normal=(0.0, 1.0, 0.0)),
    "straight parts": Curve(STRAIGHT),
    "loop": Curve(LOOP, closed=True),
    "loop, degree 3": Curve(LOOP, degree=3, closed=True),
    "own parameter": Curve(HELIX, parameters=np.linspace(-1.0, 3.0, 9) ** 3),
    "millimetres": Curve(1e-3 * HELIX),
    "kilometres": Curve(1e3 * HELIX),
}
OTHERS = [
    Rigid(),
    Revolute(),
    Revolute("x"),
    Revolute((1.0, 2.0, -2.0)),
    Prismatic("y"),
    Prismatic((0.0, 3.0, 4.0)),
    Cylindrical(),
    Cylindrical("x"),
    Screw(0.1),
    Screw(-3.0, axis="y"),
    Screw(1e-6),
    Universal(),
    Planar(),
    Planar("y"),
    Planar((1.0, 1.0, 1.0)),
    Translation(),
    Ball(),
    BallBryant(),
    Free(),
    Polar(),
    Polar("y"),
    Moving(),
    Moving(x=1.0, turn_z=Harmonic(0.3, 2.0)),
    Moving(
        x=Polynomial([0.0, 1.0, 0.1]),
        y=Spline([0.0, 1.0, 2.5, 4.0], [0.0, 1.0, -0.5, 0.3]),
        z=Harmonic(0.01, 200.0),
        turn_x=Spline([0.0, 2.0, 3.0], [0.0, 0.4, -0.2], ends="natural"),
        turn_y=Harmonic(1.0, 3.0),
        turn_z=Spline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], ends="periodic"),
    ),
]


@pytest.mark.parametrize("hinge", OTHERS, ids=lambda hinge: hinge.kind)
def test_hinge_keeps_its_contract(hinge):
    check(hinge, samples=10)


@pytest.mark.skipif(config.DISABLE_JIT, reason="rates of a plain function come from compiled jets")
def test_moving_hinge_keeps_its_contract_with_a_plain_function():
    check(Moving(x=lambda t: t * sin(t), turn_x=Function(lambda t: 0.3 * sin(t) * t)), samples=5)


@pytest.mark.parametrize("name", CURVES)
def test_curve_keeps_its_contract(name):
    check(CURVES[name], samples=10)


def test_every_built_in_hinge_is_checked():
    assert {type(h) for h in OTHERS} | {Curve} == set(HINGES)


# ---------------------------------------------------------------- axes
@pytest.mark.parametrize("axis", ["x", "y", "z", (0.0, 0.0, -2.0), (1.0, 2.0, 3.0)], ids=str)
def test_revolute_turns_about_its_axis(axis):
    hinge = Revolute(axis)
    B = hinge.base()
    direction = (
        np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.array(axis) / np.linalg.norm(axis)
    )
    C = B @ hinge.motion([0.7]).rotation @ B.T
    assert_allclose(C, Rotation.from_rotvec(0.7 * direction).as_matrix(), atol=ROUND)
    assert_allclose(B @ B.T, np.eye(3), atol=ROUND)
    assert np.linalg.det(B) > 0.0


def test_named_axes_only_permute_the_base():
    for axis, directions in (("x", "yzx"), ("y", "zxy"), ("z", "xyz")):
        assert Planar(axis).base().T.tolist() == [np.eye(3)["xyz".index(d)].tolist() for d in directions]


@pytest.mark.parametrize("axis", ["w", (0.0, 0.0, 0.0), (1.0, 2.0), 3.0, (np.nan, 0.0, 1.0)], ids=str)
def test_wrong_axis_is_refused(axis):
    with pytest.raises(ElementError, match="axis"):
        Revolute(axis).base()


# ---------------------------------------------------------------- turns
def test_universal_and_bryant_are_products_of_turns():
    q = np.array([0.4, -0.8, 1.9])
    assert_allclose(BallBryant().motion(q).rotation, Rotation.from_euler("XYZ", q).as_matrix(), atol=ROUND)
    assert_allclose(
        Universal().motion(q[:2]).rotation, Rotation.from_euler("XY", q[:2]).as_matrix(), atol=ROUND
    )


def attitudes():
    rng = np.random.default_rng(7)
    turns = [Rotation.identity(), *Rotation.random(6, rng=rng)]
    turns += [
        Rotation.from_rotvec(pi * np.array(a)) for a in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.0, 0.8))
    ]
    return turns


@pytest.mark.parametrize("turn", attitudes(), ids=lambda r: str(r.as_rotvec().round(2)))
def test_ball_takes_any_attitude_and_finds_it_back(turn):
    hinge = Ball()
    motion = hinge.motion(np.roll(turn.as_quat(), 1))
    assert_allclose(motion.rotation, turn.as_matrix(), atol=ROUND)
    assert motion.rotation_partials.tolist() == np.eye(3).tolist()
    back = hinge.motion(hinge.coordinates(np.zeros(3), turn.as_matrix()))
    assert_allclose(back.rotation, turn.as_matrix(), atol=1e-9)  # Gauss-Newton stops at 1e-10


def test_ball_moves_on_the_manifold():
    hinge, step = Ball(), np.array([0.3, -0.2, 2.5])
    q = np.roll(Rotation.random(rng=np.random.default_rng(1)).as_quat(), 1)
    moved = hinge.move(q, step)
    expected = Rotation.from_rotvec(step).as_matrix() @ hinge.motion(q).rotation
    assert_allclose(hinge.motion(moved).rotation, expected, atol=ROUND)
    assert abs(np.linalg.norm(moved) - 1.0) < ROUND


def test_length_of_euler_parameters_does_not_matter():
    q = np.array([0.3, 0.1, -0.5, 0.7])
    assert_allclose(Ball().motion(q).rotation, Ball().motion(10.0 * q).rotation, atol=ROUND)


@pytest.mark.parametrize("turn", attitudes(), ids=lambda r: str(r.as_rotvec().round(2)))
def test_rotation_vector_inverts_the_exponential(turn):
    again = Rotation.from_rotvec(rotation_vector(turn.as_matrix()))
    assert_allclose(again.as_matrix(), turn.as_matrix(), atol=1e-9)  # half a turn: angle from a square root


# ---------------------------------------------------------------- the roller of the fuel pump
def test_polar_is_the_roller_of_9_2_3():
    q2, q3, q4, u2, u3, u4 = 0.7, 1.3, -0.4, 0.9, -1.1, 2.0
    c2, s2, c4, s4 = cos(q2), sin(q2), cos(q4), sin(q4)
    motion = Polar().motion([q2, q3, q4], [u2, u3, u4])
    B = np.array([(1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)])  # the plane x, z of the thesis
    assert_allclose(B @ motion.rotation @ B.T, [(c4, 0, -s4), (0, 1, 0), (s4, 0, c4)], atol=ROUND)
    assert_allclose(B @ motion.offset, (q3 * c2, 0, q3 * s2), atol=ROUND)
    assert_allclose(
        motion.translation_partials @ B.T, [(-q3 * s2, 0, q3 * c2), (c2, 0, s2), (0, 0, 0)], atol=ROUND
    )
    assert_allclose(motion.rotation_partials @ B.T, [(0, 0, 0), (0, 0, 0), (0, -1, 0)], atol=ROUND)
    bias = (-c2 * q3 * u2 * u2 - 2 * s2 * u2 * u3, 0, -s2 * q3 * u2 * u2 + 2 * c2 * u2 * u3)
    assert_allclose(B @ motion.translation_bias, bias, atol=ROUND)
    assert not motion.rotation_bias.any() and not motion.translation_drift.any()


# ---------------------------------------------------------------- curves
def bases(curve, n=2000):
    low, high = (float(np.asarray(x)[0]) for x in curve.domain())
    return [curve.motion([q]) for q in np.linspace(low, high, n)]


@pytest.mark.parametrize(
    "name", ["helix", "wave", "wave, degree 3", "straight parts", "loop", "loop, degree 3"]
)
def test_base_of_a_curve_never_flips_and_follows_the_tangent(name):
    before = None
    for motion in bases(CURVES[name], 600):
        C, v = motion.rotation, motion.translation_partials[0]
        assert_allclose(C[:, 0], v / np.linalg.norm(v), atol=ROUND)
        assert_allclose(C @ C.T, np.eye(3), atol=ROUND)
        assert before is None or np.linalg.norm(C - before) < STEP
        before = C


def test_base_of_a_plane_curve_keeps_its_normal_to_the_plane():
    for motion in bases(Curve(WAVE, normal=(0.0, 1.0, 0.0)), 50):
        assert_allclose(motion.rotation[:, 2], (0.0, 0.0, 1.0), atol=ROUND)
    for motion in bases(Curve(WAVE), 50):
        assert_allclose(motion.rotation[:, 1], (0.0, 0.0, 1.0), atol=ROUND)


def test_base_of_a_curve_hardly_turns_about_its_tangent():
    curvature = turn = 0.0
    for motion in bases(Curve(HELIX), 100)[10:-10]:
        w = motion.rotation.T @ motion.rotation_partials[0]
        turn, curvature = max(turn, abs(w[0])), max(curvature, float(np.hypot(w[1], w[2])))
    assert turn < 0.01 * curvature  # torsion of this helix is 0.2 of its curvature: a Frenet base would turn


def test_straight_part_of_a_curve_is_straight():
    line = Curve([(k, 2.0 * k, 0.0) for k in range(7)])
    motion = line.motion([3.3], [2.0])
    assert_allclose(np.abs(motion.rotation_partials).max(), 0.0, atol=ROUND)
    assert_allclose(motion.translation_bias, 0.0, atol=1e-11)
    assert_allclose(motion.offset, np.array([1.0, 2.0, 0.0]) * 3.3 / 5**0.5, atol=ROUND)


@pytest.mark.parametrize("degree", [3, 5])
def test_curve_goes_through_its_points(degree):
    s = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(HELIX, axis=0), axis=1))))
    for q, point in zip(s, HELIX, strict=True):
        assert_allclose(Curve(HELIX, degree=degree).motion([q]).offset, point, atol=ROUND)


@pytest.mark.parametrize("degree", [3, 5])
def test_closed_curve_repeats_with_its_base(degree):
    loop = Curve(LOOP, degree=degree, closed=True)
    period = float(loop.breaks[-1] - loop.breaks[0])
    for q in (0.1, 2.0, period - 1e-9):
        here, there = loop.motion([q], [1.0]), loop.motion([q - 3 * period], [1.0])
        for a, b in zip(here, there, strict=True):
            assert_allclose(a, b, atol=1e-8)  # q - 3 periods is rounded, the bias is steep
    before, after = loop.motion([-1e-9], [1.0]), loop.motion([1e-9], [1.0])
    for name in before._fields:
        if degree == 5 or name != "rotation_bias":  # which holds the third derivative of the curve
            assert_allclose(getattr(before, name), getattr(after, name), atol=1e-6)  # 2e-9 apart


@pytest.mark.parametrize("name", ["loop", "helix", "straight parts"])
def test_bias_of_a_curve_of_degree_5_is_continuous_at_its_breaks(name):
    curve = CURVES[name]
    for q in curve.breaks[1:-1]:
        before, after = curve.motion([q - 1e-9], [1.0]), curve.motion([q + 1e-9], [1.0])
        for a, b in zip(before, after, strict=True):
            assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"points": np.zeros((3, 2))}, r"shape \(3, 2\); wanted \(n, 3\)"),
        ({"points": HELIX[:4]}, "4 points; a spline of degree 5 needs 6"),
        ({"points": HELIX, "degree": 4}, "degree is 4"),
        ({"points": np.vstack((HELIX[:3], HELIX[2:]))}, "point 2 and the next one coincide"),
        ({"points": HELIX, "parameters": np.zeros(9)}, "9 increasing numbers"),
        ({"points": STRAIGHT, "normal": (0.0, 0.0, 0.0)}, "parallel"),
    ],
)
def test_wrong_curves_are_refused(arguments, said):
    with pytest.raises(ElementError, match=said):
        Curve(**arguments)


# ---------------------------------------------------------------- the inverse
@pytest.mark.parametrize(
    "hinge",
    [Revolute(), Prismatic(), Cylindrical(), Screw(0.3), Universal(), Planar(), Translation(), BallBryant(), Free(),
     Polar(), CURVES["helix"]],
    ids=lambda h: h.kind,
)  # fmt: skip
def test_coordinates_are_found_from_the_pose_alone(hinge):
    rng = np.random.default_rng(11)
    for _ in range(3):
        motion = hinge.motion(hinge.sample(rng))
        again = hinge.motion(hinge.coordinates(motion.offset, motion.rotation))
        assert_allclose(again.offset, motion.offset, atol=1e-9)
        assert_allclose(again.rotation, motion.rotation, atol=1e-9)


def test_the_solution_near_the_guess_is_taken():
    q = Revolute().coordinates(np.zeros(3), np.eye(3), guess=[2 * pi + 0.1])
    assert_allclose(q, [2 * pi], atol=1e-9)


def test_pose_out_of_reach_is_refused():
    with pytest.raises(
        ConvergenceError, match="Revolute cannot take the pose asked for: the nearest found is 0.5"
    ):
        Revolute().coordinates((0.5, 0.0, 0.0), np.eye(3))


def test_rigid_takes_its_own_pose_only():
    assert Rigid().coordinates(np.zeros(3), np.eye(3)).shape == (0,)
    with pytest.raises(ConvergenceError):
        Rigid().coordinates((0.0, 0.0, 1e-3), np.eye(3))


def test_moving_refuses_what_is_no_signal():
    with pytest.raises(ElementError, match="Moving.turn_x is 'fast': wanted a signal"):
        Moving(turn_x="fast")
