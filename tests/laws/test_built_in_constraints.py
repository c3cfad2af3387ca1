"""The built-in constraints and couplings: each is the joint its docstring says, no more and no less.

A constraint is compared with a motion written independently of it: `place(p, t)` runs through everything the joint
allows, 6 - n_holonomic freedoms p. Its residual must vanish there; and since its rows are independent, what it allows
is exactly that.
"""

from collections.abc import Callable
from math import cos, pi, sin
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import RectBivariateSpline, make_interp_spline
from scipy.spatial.transform import Rotation

from tests.support.tolerances import ROUND
from treemech.elements import Harmonic, Polynomial
from treemech.elements.check.checks import check
from treemech.elements.constraints.composite_joints import (
    RevoluteCylindrical,
    RevoluteRevolute,
    RevoluteRevoluteOrthogonal,
    RevoluteSpherical,
    RevoluteTranslational,
    SphericalSpherical,
    Strut,
)
from treemech.elements.constraints.constant_velocity import ConstantVelocity
from treemech.elements.constraints.curve_contact import CamFollower, CurveOnCurve
from treemech.elements.constraints.distance import Distance
from treemech.elements.constraints.drivers import RelativeAngle, RelativeDistance, RelativeOffset
from treemech.elements.constraints.height_field import PointOnHeightField
from treemech.elements.constraints.implicit_surface import PointOnImplicitSurface
from treemech.elements.constraints.knife_edge import KnifeEdge
from treemech.elements.constraints.orientation import AtRotation, Parallel, Perpendicular
from treemech.elements.constraints.point import InLine, InPlane
from treemech.elements.constraints.point_on_curve import PointOnCurve
from treemech.elements.constraints.point_on_surface import PointOnSurface
from treemech.elements.constraints.prescribed_pose import PrescribedPose
from treemech.elements.constraints.profile import Profile
from treemech.elements.constraints.rolling import RollingBall, RollingDisk
from treemech.elements.constraints.rolling_wheel import RollingWheel
from treemech.elements.couplings.belt import Belt
from treemech.elements.couplings.differential import Differential
from treemech.elements.couplings.gear import Gear
from treemech.elements.couplings.mimic import Mimic
from treemech.elements.couplings.rack import RackAndPinion
from treemech.elements.couplings.relation import Relation, VelocityRelation
from treemech.elements.element import parameters
from treemech.topology.errors import ElementError

STEP = 1e-6  # of central differences
DIFF = 1e-8  # what they leave, with values and third derivatives of order 1
REGULAR = 1e-2  # smallest singular value of rows and of tangents scaled to order 1

WAVE = Harmonic(amplitude=0.2, frequency=1.3, phase=0.4, offset=1.0)
TURNS = Polynomial([0.3, 9.0])  # several turns in the times sampled
GRID_X, GRID_Y = np.linspace(-1.5, 1.5, 7), np.linspace(-1.2, 1.4, 6)
HILLS = np.cos(GRID_X)[:, None] * np.sin(1.5 * GRID_Y)[None, :]
HELIX = np.array([(cos(a), sin(a), 0.2 * a) for a in np.linspace(0.0, 6.0, 9)])
EGG = Profile.polar(1.0 + 0.2 * np.cos(np.linspace(0.0, 2.0 * pi, 14, endpoint=False)))
CENTRE, RADIUS = np.array([0.2, -0.1]), 0.7
CIRCLE = Profile.circle(RADIUS, CENTRE)
SMALL = Profile.circle(0.3, (0.1, 0.05))


# ---------------------------------------------------------------- motions that satisfy the constraints
def turn(axis: str, *angles: float) -> np.ndarray:
    """Return rotations about the axes of the moving base, in order: turn("zx", a, b) = Rz(a) Rx(b)."""
    return Rotation.from_euler(axis.upper(), angles[0] if len(axis) == 1 else list(angles)).as_matrix()


def any_turn(p: np.ndarray) -> np.ndarray:
    return Rotation.from_rotvec(p).as_matrix()


def at(x: float, y: float, z: float) -> np.ndarray:
    return np.array([x, y, z])


def none() -> np.ndarray:
    return np.zeros(0)


Place = tuple[np.ndarray, np.ndarray, np.ndarray]


class Joint(NamedTuple):
    """A constraint, and everywhere it may be: place(p, t) -> offset, rotation, s. `more`: free turns (w) besides."""

    constraint: Any
    place: Callable[[np.ndarray, float], Place]
    more: tuple[int, ...] = ()


def direction(a: float, b: float) -> np.ndarray:
    return at(cos(a) * cos(b), sin(a) * cos(b), sin(b))


def along(a: float) -> np.ndarray:
    return at(cos(a), sin(a), 0.0)


def rod(p, t):
    return WAVE.at(t).value * direction(p[0], p[1]), any_turn(p[2:5]), none()


def bend(p, t):
    return np.zeros(3), turn("zxz", p[0], 0.6 + 0.3 * p[1], -p[0]), none()


def parallel(flip):
    return lambda p, t: (p[:3], turn("z", p[3]) @ flip, none())


def perpendicular(p, t):
    to_x = Rotation.from_euler("Z", -pi / 4).as_matrix()  # brings (1, 1, 0) to x
    return p[:3], turn("zx", p[3], p[4]) @ to_x, none()


def driven_angle(p, t):
    return p[:3], turn("zyx", TURNS.at(t).value, p[3], p[4]), none()


def bryant(p, t):
    a, b, c = WAVE.at(t).value, 0.3, TURNS.at(t).value
    return at(a, p[0], p[1]), turn("xyz", a, b, c), none()


def about_axis(p, t):
    e = np.array([1.0, 2.0, 2.0]) / 3.0
    return at(p[0], WAVE.at(t).value, 0.1), any_turn(e * TURNS.at(t).value), none()


def two_angles(p, t):
    return p[:3], turn("xyz", TURNS.at(t).value, p[3], WAVE.at(t).value), none()


def one_angle(p, t):
    return p[:3], turn("xyz", p[3], WAVE.at(t).value, p[4]), none()


def on_circle(radius):
    def place(p, t):
        n = along(p[0])
        c = at(*CENTRE, 0.0) + (RADIUS + radius(t)) * n + at(0.0, 0.0, p[1])
        return c, any_turn(p[2:5]), np.array([RADIUS * p[0]])

    return place


def on_egg(p, t):
    s = EGG.length * (0.5 + 0.4 * p[0])
    x, y, dx, dy = EGG.point(s)
    n = at(dy, -dx, 0.0) / np.hypot(dx, dy)
    return at(x, y, p[1]) + 0.25 * n, any_turn(p[2:5]), np.array([s])


def face_on_circle(p, t):
    n, tangent = along(p[0]), along(p[0] + pi / 2)
    c = at(*CENTRE, p[1]) + RADIUS * n + p[2] * tangent
    return c, turn("zxy", p[0] + pi / 2, p[3], p[4]), np.array([RADIUS * p[0]])


def circle_on_circle(p, t):
    contact = at(*CENTRE, 0.0) + RADIUS * along(p[0])
    C = turn("z", p[0] + pi - p[1])  # brings the contact point of b opposite to that of a
    return contact - C @ (at(0.1, 0.05, p[2]) + 0.3 * along(p[1])), C, np.array([RADIUS * p[0], 0.3 * p[1]])


def on_helix(p, t):
    lengths = np.linalg.norm(np.diff(HELIX, axis=0), axis=1)
    s = np.concatenate(([0.0], np.cumsum(lengths)))
    x = 0.5 * s[-1] * (1.0 + 0.9 * p[0])
    return make_interp_spline(s, HELIX, k=5)(x), any_turn(p[1:4]), np.array([x])


def on_hills(p, t):
    h = RectBivariateSpline(GRID_X, GRID_Y, HILLS, s=0)(p[0], p[1])[0, 0]
    return at(p[0], p[1], h), any_turn(p[2:5]), none()


def on_torus(p, t):
    R, r = 1.0, 0.3
    return (R + r * cos(p[1])) * along(p[0]) + at(0, 0, r * sin(p[1])), any_turn(p[2:5]), none()


def standing_disk(p, t):
    b = 0.8 + 0.3 * p[0]
    return at(p[1], p[2], 0.3 * sin(b)), turn("zxz", p[3], b, p[4]), none()


def crossed_axes(p):
    """End a turns a coupler about z; the z axis of end b points along the coupler."""
    return turn("zy", p, pi / 2)


JOINTS = {
    "Distance": Joint(Distance(WAVE), rod),
    "Parallel": Joint(Parallel(), parallel(np.eye(3))),
    "Parallel, antiparallel": Joint(Parallel(), parallel(turn("x", pi))),
    "Perpendicular": Joint(Perpendicular("z", (1, 1, 0)), perpendicular),
    "AtRotation": Joint(AtRotation(), lambda p, t: (p[:3], np.eye(3), none())),
    "InPlane": Joint(
        InPlane(WAVE), lambda p, t: (at(p[0], p[1], WAVE.at(t).value), any_turn(p[2:5]), none())
    ),
    "InLine": Joint(InLine(), lambda p, t: (at(0, 0, p[0]), any_turn(p[1:4]), none())),
    "InLine along an axis": Joint(
        InLine((2.0, -1.0, 2.0)),
        lambda p, t: (at(2 / 3 * p[0], -1 / 3 * p[0], 2 / 3 * p[0]), any_turn(p[1:4]), none()),
    ),
    "RelativeOffset": Joint(
        RelativeOffset("y", WAVE), lambda p, t: (at(p[0], WAVE.at(t).value, p[1]), any_turn(p[2:5]), none())
    ),
    "RelativeAngle": Joint(RelativeAngle(TURNS), driven_angle),
    "PrescribedPose, Bryant": Joint(PrescribedPose(x=WAVE, rotation=(WAVE, 0.3, TURNS)), bryant),
    "PrescribedPose, axis": Joint(PrescribedPose(y=WAVE, z=0.1, rotation=((1, 2, 2), TURNS)), about_axis),
    "PrescribedPose, two angles": Joint(PrescribedPose(rotation=(TURNS, None, WAVE)), two_angles),
    "PrescribedPose, one angle": Joint(PrescribedPose(rotation=(None, WAVE, None)), one_angle),
    "ConstantVelocity": Joint(ConstantVelocity(), bend),
    "CamFollower, knife": Joint(CamFollower(CIRCLE), on_circle(lambda t: 0.0)),
    "CamFollower, roller": Joint(CamFollower(CIRCLE, "roller", WAVE), on_circle(lambda t: WAVE.at(t).value)),
    "CamFollower, spline": Joint(CamFollower(EGG, "roller", 0.25), on_egg),
    "CamFollower, flat": Joint(CamFollower(CIRCLE, "flat"), face_on_circle),
    "CurveOnCurve": Joint(CurveOnCurve(CIRCLE, SMALL), circle_on_circle, more=(0, 1)),
    "PointOnCurve": Joint(PointOnCurve(HELIX), on_helix),
    "PointOnSurface, plane": Joint(
        PointOnSurface("plane"), lambda p, t: (at(p[0], p[1], 0), any_turn(p[2:5]), none())
    ),
    "PointOnSurface, sphere": Joint(PointOnSurface("sphere", WAVE), rod),
    "PointOnSurface, cylinder": Joint(
        PointOnSurface("cylinder", 0.6),
        lambda p, t: (0.6 * along(p[0]) + at(0, 0, p[1]), any_turn(p[2:5]), none()),
    ),
    "PointOnSurface, torus": Joint(PointOnSurface("torus", radius=1.0, tube=0.3), on_torus),
    "PointOnHeightField": Joint(PointOnHeightField(GRID_X, GRID_Y, HILLS), on_hills),
    "PointOnImplicitSurface": Joint(
        PointOnImplicitSurface(lambda x, y, z: z - x * x - 2.0 * y * y),
        lambda p, t: (at(p[0], p[1], p[0] ** 2 + 2 * p[1] ** 2), any_turn(p[2:5]), none()),
    ),
    "RollingDisk": Joint(RollingDisk(0.3), standing_disk),
    "RollingBall": Joint(RollingBall(0.2), lambda p, t: (at(p[0], p[1], 0.2), any_turn(p[2:5]), none())),
    "RevoluteSpherical": Joint(
        RevoluteSpherical(WAVE), lambda p, t: (WAVE.at(t).value * along(p[0]), any_turn(p[1:4]), none())
    ),
    "RevoluteRevolute": Joint(
        RevoluteRevolute(0.4), lambda p, t: (0.4 * along(p[0]), turn("z", p[1]), none())
    ),
    "RevoluteRevoluteOrthogonal": Joint(
        RevoluteRevoluteOrthogonal(0.4),
        lambda p, t: (0.4 * along(p[0]), crossed_axes(p[0]) @ turn("z", p[1]), none()),
    ),
    "RevoluteCylindrical": Joint(
        RevoluteCylindrical(WAVE),
        lambda p, t: (
            p[1] * along(p[0]) + WAVE.at(t).value * along(p[0] + pi / 2),
            crossed_axes(p[0]) @ turn("z", p[2]),
            none(),
        ),
    ),
    "RevoluteTranslational": Joint(
        RevoluteTranslational(0.1),
        lambda p, t: (
            p[1] * along(p[0]) + 0.1 * along(p[0] + pi / 2),
            crossed_axes(p[0]) @ turn("z", pi),  # x of b: along z of a
            none(),
        ),
    ),
}
OTHERS = {
    "KnifeEdge": KnifeEdge(),
    "RollingWheel": RollingWheel(0.3, 0.2),
    "RollingBall, no pivoting": RollingBall(0.2, pivoting=False),
}
COUPLINGS = {
    "Gear": Gear.of_teeth(20, 50, phase=WAVE),
    "Gear, internal": Gear(0.4, internal=True),
    "RackAndPinion": RackAndPinion(0.2, WAVE),
    "Belt": Belt(0.3, 0.2),
    "Belt, crossed": Belt(0.3, 0.2, crossed=True, offset=WAVE),
    "Differential": Differential(4.1, WAVE),
    "Mimic": Mimic(-2.0, WAVE),
    "Relation": Relation(lambda q, t: q[0] * q[1] + sin(q[2]) + t * t),
    "VelocityRelation": VelocityRelation(lambda q, u, t: q[0] * u[1] - u[0] + sin(q[2]) * u[2] + t),
}


# ---------------------------------------------------------------- differences
def plain(element: Any, t: float) -> Any:
    """Return the element as residual() sees it: its fields, signals as numbers."""
    return SimpleNamespace(
        **{p.name: p.value.at(t).value if p.kind == "signal" else p.value for p in parameters(element)}
    )


def residual(constraint: Any, place: Place, t: float) -> np.ndarray:
    f = np.zeros(constraint.n_holonomic + constraint.n_auxiliary)
    type(constraint).residual(plain(constraint, t), *place, t, f)
    return f


def slip(constraint: Any, place: Place, velocity: np.ndarray, angular_velocity: np.ndarray) -> np.ndarray:
    f = np.zeros(constraint.n_nonholonomic)
    type(constraint).slip(plain(constraint, 0.0), *place[:2], velocity, angular_velocity, place[2], 0.0, f)
    return f


def moved(place: Place, step: np.ndarray) -> Place:
    return place[0] + step[:3], any_turn(step[3:6]) @ place[1], place[2] + step[6:]


def rows_by_differences(constraint: Any, place: Place, t: float) -> np.ndarray:
    """Return derivatives of the residual: one column for each direction of c, of a turn, and of s."""
    steps = STEP * np.eye(6 + constraint.n_auxiliary)
    columns = [
        residual(constraint, moved(place, h), t) - residual(constraint, moved(place, -h), t) for h in steps
    ]
    return np.array(columns).T / (2.0 * STEP)


def tangents(joint: Joint, p: np.ndarray, t: float) -> np.ndarray:
    """Return velocity and angular velocity of the joint's own motion, one column for each of its freedoms."""
    columns = []
    for h in STEP * np.eye(len(p)):
        (c1, C1, _), (c0, C0, _) = joint.place(p + h, t), joint.place(p - h, t)
        columns.append(np.concatenate((c1 - c0, Rotation.from_matrix(C1 @ C0.T).as_rotvec())) / (2.0 * STEP))
    columns += [np.eye(6)[3 + k] for k in joint.more]
    return np.array(columns).T


def samples(joint: Joint, name: str, count: int = 5):
    rng = np.random.default_rng(sum(name.encode()))
    n = 6 - joint.constraint.n_holonomic - len(joint.more)
    for _ in range(count):
        yield rng.uniform(-1.0, 1.0, n), float(rng.uniform(0.0, 3.0))


# ---------------------------------------------------------------- the laws
@pytest.mark.parametrize("name", JOINTS)
def test_residual_vanishes_on_the_motion_of_the_joint(name):
    joint = JOINTS[name]
    for p, t in samples(joint, name, 20):
        assert_allclose(residual(joint.constraint, joint.place(p, t), t), 0.0, atol=ROUND)


@pytest.mark.parametrize("name", JOINTS)
def test_rows_allow_the_motion_of_the_joint_and_nothing_else(name):
    joint = JOINTS[name]
    element, na = joint.constraint, joint.constraint.n_auxiliary
    for p, t in samples(joint, name):
        rows = rows_by_differences(element, joint.place(p, t), t)
        assert np.linalg.svd(rows, compute_uv=False)[-1] > REGULAR
        if na:  # eliminate s: combinations of the rows that do not contain it
            u, sizes, _ = np.linalg.svd(rows[:, 6:])
            assert sizes[-1] > REGULAR
            rows = u[:, na:].T @ rows[:, :6]
        allowed = tangents(joint, p, t)
        assert rows.shape[0] == element.n_holonomic == 6 - allowed.shape[1]
        assert np.linalg.svd(allowed, compute_uv=False)[-1] > REGULAR
        assert_allclose(rows @ allowed, 0.0, atol=DIFF)
        forbidden = np.linalg.svd(allowed)[0][:, allowed.shape[1] :]  # perpendicular to all that is allowed
        assert np.linalg.svd(rows @ forbidden, compute_uv=False)[-1] > REGULAR


ELEMENTS = {n: j.constraint for n, j in JOINTS.items() if "antiparallel" not in n} | OTHERS | COUPLINGS


SLOW = ("PrescribedPose, two angles", "PrescribedPose, one angle")  # every number of rows compiles anew


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in ELEMENTS]
)
def test_elements_keep_their_contract(name):
    check(ELEMENTS[name], samples=4)


def test_names_for_the_same_joint():
    assert RelativeDistance is Distance and SphericalSpherical is Distance and Strut is InLine


# ---------------------------------------------------------------- away from the solution
def test_no_turn_has_no_second_solution_after_half_a_turn():
    rng = np.random.default_rng(1)
    for _ in range(10):
        e = rng.normal(size=3)
        C = any_turn((pi - 1e-3) * e / np.linalg.norm(e))
        assert np.linalg.norm(residual(AtRotation(), (np.zeros(3), C, none()), 0.0)) > 100.0


@pytest.mark.parametrize("gap", (-3.0, -1.0, 0.5, 3.1))
def test_driven_angle_tells_the_way_to_the_solution(gap):
    place = np.zeros(3), turn("z", 40.0 + gap), none()  # six turns on
    assert_allclose(residual(RelativeAngle(40.0), place, 0.0), gap, rtol=1e-13)


def test_rod_multiplier_is_the_force_in_it():
    place = JOINTS["Distance"].place(np.array([0.3, 0.4, 0.1, 0.2, 0.3]), 0.5)
    rows = rows_by_differences(Distance(WAVE), place, 0.5)
    assert_allclose(rows[0, :3], place[0] / np.linalg.norm(place[0]), atol=DIFF)
    assert_allclose(rows[0, 3:], 0.0, atol=DIFF)


@pytest.mark.parametrize("name", [n for n in JOINTS if n.startswith("PointOnSurface")])
def test_surface_multiplier_is_the_normal_force(name):
    joint = JOINTS[name]
    for p, t in samples(joint, name):
        row = rows_by_differences(joint.constraint, joint.place(p, t), t)[0, :3]
        assert_allclose(np.linalg.norm(row), 1.0, atol=DIFF)


# ---------------------------------------------------------------- equations on velocity
def random_motion(rng):
    return rng.normal(size=3), rng.normal(size=3)


def test_disk_slips_as_its_lowest_point_moves():
    rng, disk = np.random.default_rng(2), RollingDisk(0.3)
    for p, t in samples(JOINTS["RollingDisk"], "slip"):
        c, C, s = standing_disk(p, t)
        psi = np.linspace(0.0, 2.0 * pi, 200001)
        rim = 0.3 * (C[:, :1] * np.cos(psi) + C[:, 1:2] * np.sin(psi))
        lowest = rim[:, np.argmin(rim[2])]
        v, w = random_motion(rng)
        assert_allclose(slip(disk, (c, C, s), v, w), (v + np.cross(w, lowest))[:2], atol=1e-4)


def test_disk_rolls_straight():
    c, C = at(1.0, 2.0, 0.3), turn("zx", 0.7, pi / 2)  # upright, its axis horizontal
    spin = -2.0 * C[:, 2]
    ahead = 0.3 * np.cross(spin, at(0, 0, 1))
    assert_allclose(slip(RollingDisk(0.3), (c, C, none()), ahead, spin), 0.0, atol=ROUND)
    assert_allclose(np.linalg.norm(ahead), 0.6, rtol=ROUND)
    sideways = slip(RollingDisk(0.3), (c, C, none()), ahead + 0.1 * C[:, 2], spin)
    assert_allclose(np.linalg.norm(sideways), 0.1, rtol=ROUND)


def test_ball_on_a_turning_table_moves_with_the_table_where_it_touches():
    rng, ball = np.random.default_rng(3), RollingBall(0.2, pivoting=False)
    for _ in range(5):
        table, rate, w = turn("z", rng.uniform(-3, 3)), at(0, 0, rng.normal()), rng.normal(size=3)
        r = np.append(rng.normal(size=2), 0.2)  # centre, in the world
        touching = np.cross(rate, r - at(0, 0, 0.2))
        v = touching - np.cross(w, at(0, 0, -0.2))  # so that the lowest point moves as the table does
        place = table.T @ r, table.T @ turn("x", 0.3), none()
        f = slip(ball, place, table.T @ (v - np.cross(rate, r)), table.T @ (w - rate))
        assert_allclose(f, (0.0, 0.0, w[2] - rate[2]), atol=ROUND)
        f = slip(ball, place, table.T @ (v + at(1, 0, 0) - np.cross(rate, r)), table.T @ (w - rate))
        assert_allclose(np.linalg.norm(f[:2]), 1.0, rtol=ROUND)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.2), (-0.5, 0.2), (0.2, -0.5), (0.5, -0.2)])
def test_wheel_does_not_slip_where_it_touches(a, b):
    """Material points of both wheels at the contact; a ring is the wheel with the larger radius."""
    apart = abs(a + b)
    for phi, rate in ((0.4, 1.0), (2.5, -0.7)):
        e, n = along(phi), along(phi + pi / 2)
        external = a > 0.0 and b > 0.0
        inside_b = not external and abs(b) > abs(a)
        contact = -abs(a) * e if inside_b else abs(a) * e
        v = apart * rate * n
        arm = contact - apart * e
        spin = -v @ n / (np.cross(at(0, 0, 1), arm) @ n)  # v + w x arm = 0
        assert_allclose(abs(np.linalg.norm(arm)), abs(b), rtol=ROUND)
        place = apart * e, turn("z", 0.2), none()
        wheel = RollingWheel(a, b)
        assert_allclose(slip(wheel, place, v, at(0, 0, spin)), 0.0, atol=ROUND)
        assert abs(slip(wheel, place, v, at(0, 0, spin + 1.0))[0]) == pytest.approx(abs(b))
        assert_allclose(slip(wheel, place, v + 3.0 * e, at(0, 0, spin)), 0.0, atol=ROUND)


def test_skate_glides_along_its_blade_only():
    q3, v = 0.7, at(0.3, -0.4, 0.0)
    place = at(1, 2, 0), turn("z", q3), none()
    assert_allclose(
        slip(KnifeEdge(), place, v, at(0, 0, 5.0)), -(v[0] * sin(q3) - v[1] * cos(q3)), rtol=ROUND
    )
    assert_allclose(slip(KnifeEdge(), place, 2.0 * along(q3), at(0, 0, 5.0)), 0.0, atol=ROUND)


@pytest.mark.parametrize("constraint", (RollingDisk(0.3), RollingBall(0.3, pivoting=False)), ids=repr)
def test_rows_of_a_rolling_body_are_independent(constraint):
    for p, t in samples(JOINTS["RollingDisk"], "rank"):
        place = standing_disk(p, t)
        rates = np.eye(6)
        velocity = np.array([slip(constraint, place, x[:3], x[3:]) for x in rates]).T
        rows = np.vstack((rows_by_differences(constraint, place, t), velocity))
        assert np.linalg.svd(rows, compute_uv=False)[-1] > REGULAR


# ---------------------------------------------------------------- profiles
SLOT = (
    Profile.arc((1, 0), 0.5, -pi / 2, pi / 2)
    + Profile.line((1, 0.5), (-1, 0.5))
    + Profile.arc((-1, 0), 0.5, pi / 2, 3 * pi / 2)
    + Profile.line((-1, -0.5), (1, -0.5))
).closed()


@pytest.mark.parametrize("profile", (SLOT, EGG, CIRCLE, Profile.arc((0, 1), 2.0, 1.0, -1.0)))
def test_profile_tangent_is_the_derivative_of_its_point(profile):
    for s in np.random.default_rng(4).uniform(0.0, profile.length, 40):
        here, there = np.array(profile.point(s - STEP)), np.array(profile.point(s + STEP))
        assert_allclose((there - here)[:2] / (2 * STEP), profile.point(s)[2:], atol=DIFF)


@pytest.mark.parametrize("profile", (SLOT, EGG, CIRCLE))
def test_closed_profile_repeats_smoothly(profile):
    for s in (0.0, 0.3, 1.9):
        assert_allclose(profile.point(s + 3 * profile.length), profile.point(s), atol=ROUND)
        assert_allclose(profile.point(s - profile.length), profile.point(s), atol=ROUND)
    before, after = profile.point(profile.length - 1e-9), profile.point(1e-9)
    assert_allclose(before, after, atol=1e-8)


def test_profile_is_where_it_was_drawn():
    assert_allclose(SLOT.length, 4.0 + pi, rtol=ROUND)
    for s in np.linspace(0.0, SLOT.length, 50):
        x, y, dx, dy = SLOT.point(s)
        assert_allclose(np.hypot(max(abs(x) - 1.0, 0.0), y), 0.5, rtol=ROUND)
        assert_allclose(np.hypot(dx, dy), 1.0, rtol=ROUND)
        assert x * dy - y * dx > 0.0  # the outside is on the right
    points = np.random.default_rng(5).normal(size=(8, 2))
    spline = Profile.spline(points)
    for xy, s in zip(
        points,
        np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))),
        strict=True,
    ):
        assert_allclose(spline.point(s)[:2], xy, atol=1e-11)


# ---------------------------------------------------------------- couplings
CONFIGURATIONS = {
    "Gear": lambda x, w: (x, w - 0.4 * x),
    "Gear, internal": lambda x, w: (x, 0.4 * x),
    "RackAndPinion": lambda x, w: (x, w + 0.2 * x),
    "Belt": lambda x, w: (x, 1.5 * x),
    "Belt, crossed": lambda x, w: (x, (w - 0.3 * x) / 0.2),
    "Differential": lambda x, w: (4.1 * x + w, x + 0.7, x - 0.7),
    "Mimic": lambda x, w: (x, w - 2.0 * x),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_coupling_joins_its_coordinates(name):
    coupling, f = COUPLINGS[name], np.zeros(1)
    for x, t in ((0.3, 0.0), (-2.0, 1.1), (7.0, 2.0)):
        q = np.array(CONFIGURATIONS[name](x, WAVE.at(t).value))
        assert len(q) == coupling.n_arguments
        type(coupling).residual(plain(coupling, t), q, t, f)
        assert_allclose(f, 0.0, atol=1e-12)
        for k in range(len(q)):
            q[k] += 1.0
            type(coupling).residual(plain(coupling, t), q, t, f)
            assert abs(f[0]) > 0.1
            q[k] -= 1.0


def test_relations_of_one_function_share_their_class():
    def f(q, t):
        return q[0] - q[1]

    a, b = Relation(f), Relation(f)
    assert type(a) is type(b) and type(a) is not Relation and a.kind == "Relation"
    assert type(Relation(lambda q, t: q[0])) is not type(a)
    assert a.joining(2).rows([3.0, 1.0]).residual.tolist() == [2.0]


# ---------------------------------------------------------------- what is refused
REFUSED = [
    (lambda: Distance(0.0), "Distance.length is 0: wanted a positive number; points that coincide"),
    (lambda: Distance(-1.0), "Distance.length is -1"),
    (lambda: Distance("long"), "Distance.length is 'long'"),
    (lambda: Perpendicular("w"), "Perpendicular.axis_a is 'w'"),
    (lambda: Perpendicular("x", (0, 0, 0)), "Perpendicular.axis_b is"),
    (lambda: InPlane(float("nan")), "InPlane.distance is nan"),
    (lambda: RelativeOffset((1, 2)), "RelativeOffset.direction is"),
    (lambda: RelativeAngle("fast"), "RelativeAngle.angle is 'fast'"),
    (lambda: PrescribedPose(), "prescribes nothing: give x, y, z or rotation"),
    (lambda: PrescribedPose(rotation=0.3), "wanted three Bryant angles or (axis, angle)"),
    (lambda: PrescribedPose(rotation=(None, None, None)), "prescribes nothing"),
    (lambda: PrescribedPose(rotation=("q", 1.0)), "axis of rotation is 'q'"),
    (lambda: RollingDisk(0.0), "RollingDisk.radius is 0"),
    (lambda: RollingDisk(WAVE), "RollingDisk.radius is Harmonic"),
    (lambda: RollingBall(-0.1), "RollingBall.radius is -0.1"),
    (lambda: RollingWheel(0.3, 0.0), "RollingWheel.radius_b is 0"),
    (lambda: RollingWheel(0.3, -0.3), "a ring (negative) and a wheel of another size"),
    (lambda: RollingWheel(-0.3, -0.2), "a ring (negative) and a wheel"),
    (lambda: CamFollower("egg"), "CamFollower.profile is 'egg': wanted a Profile"),
    (lambda: CamFollower(EGG, "round"), "CamFollower.follower is 'round'; wanted one of roller, flat, knife"),
    (lambda: CamFollower(EGG, "roller"), "a roller of radius 0 is a knife"),
    (lambda: CamFollower(EGG, "flat", 0.1), "a flat follower has no radius"),
    (lambda: CurveOnCurve(EGG, None), "CurveOnCurve.profile_b is None"),
    (lambda: CurveOnCurve(EGG, EGG, start=1.0), "CurveOnCurve.start is 1.0"),
    (lambda: PointOnCurve([(0, 0, 0)]), "Curve: 1 points"),
    (lambda: PointOnSurface("cube"), "PointOnSurface.surface is 'cube'; wanted one of plane"),
    (lambda: PointOnSurface("torus", 1.0), "PointOnSurface.tube is 0"),
    (lambda: PointOnSurface("plane", 1.0), "a plane has no radius"),
    (lambda: PointOnHeightField(GRID_X, GRID_Y, HILLS.T), "wanted (7, 6) finite numbers"),
    (lambda: PointOnHeightField(GRID_X[::-1], GRID_Y, HILLS), "PointOnHeightField.x: wanted at least 4"),
    (lambda: PointOnImplicitSurface(lambda x, y: x), "takes 2 arguments; wanted a function of x, y, z"),
    (lambda: RevoluteRevolute(0.0), "it is a Revolute hinge"),
    (lambda: RevoluteSpherical(0.0), "it is a Ball hinge"),
    (lambda: Gear(-2.0), "Gear.ratio is -2: wanted a positive number; say internal=True"),
    (lambda: Gear.of_teeth(20, 0), "20 and 0 teeth"),
    (lambda: RackAndPinion(0.0), "RackAndPinion.radius is 0"),
    (lambda: Belt(0.1, -0.1), "say crossed=True"),
    (lambda: Differential(0.0), "Differential.ratio is 0"),
    (lambda: Mimic("twice"), "Mimic.factor is 'twice': wanted a number"),
    (lambda: Relation(3.0), "Relation.function is 3.0: wanted a function of q, t"),
    (lambda: VelocityRelation(lambda q, t: 0.0), "takes 2 arguments; wanted a function of q, u, t"),
    (lambda: Profile.line((0, 0), (0, 0)), "start and stop coincide"),
    (lambda: Profile.arc((0, 0), -1.0, 0.0, 1.0), "wanted a positive radius"),
    (lambda: Profile.line((0, 0), (1, 0)) + Profile.line((1, 0), (1, 1)), "a corner of 90 degrees at (1, 0)"),
    (lambda: Profile.line((0, 0), (1, 0)) + Profile.line((1, 0.1), (2, 0.1)), "starts 0.1 away"),
    (lambda: Profile.line((0, 0), (1, 0)).closed(), "make them meet"),
    (lambda: CIRCLE + CIRCLE, "a closed profile cannot be continued"),
    (lambda: Profile.spline([(0, 0, 0)]), "wanted (n, 2)"),
    (lambda: Profile.polar([1.0, -1.0]), "positive radii"),
]


@pytest.mark.parametrize(("make", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_wrong_fields_are_refused_by_name(make, says):
    with pytest.raises(ElementError) as error:
        make()
    assert says in str(error.value)
