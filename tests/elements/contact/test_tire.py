"""The tire: standing, small slip, full sliding, friction ellipse, braking and cornering."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation

import treemech as tm
from tests.support.balance import assert_balance

RADIUS, STIFFNESS, C_X, C_Y, MU_X, MU_Y = 0.3, 2e5, 8e4, 6e4, 1.0, 0.8
UPRIGHT = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # z axis of the wheel: along y of the road


def tire(**options):
    return tm.Tire(
        RADIUS, STIFFNESS, longitudinal=C_X, lateral=C_Y, friction=MU_X, friction_lateral=MU_Y, **options
    )


def loads(depth, velocity, spin, **options):
    """Force on a wheel upright on the road, driving along x, turning with `spin` about its axis (-y rolls forwards)."""
    motion = tm.EndsMotion(
        np.array([[0, 0, 0], [0, 0, RADIUS - depth]]), np.array([np.eye(3), UPRIGHT]),
        np.array([[0, 0, 0], velocity], dtype=float), np.array([[0, 0, 0], [0, spin, 0]], dtype=float),
        *[np.zeros(0)] * 5, np.zeros((0, 6)),
    )  # fmt: skip
    return tire(**options).at(motion).force[1]


def test_free_rolling_carries_the_load_and_nothing_else():
    V, N = 10.0, STIFFNESS * 0.02
    assert_allclose(loads(0.02, (V, 0, 0), V / RADIUS), (0, 0, N), atol=1e-9)
    assert_allclose(loads(-0.001, (V, 0, 0), 0.0), 0.0)  # lifted off


def test_small_slip_gives_the_slip_stiffness():
    V, N, slip = 10.0, STIFFNESS * 0.02, 1e-5
    driven = loads(0.02, (V, 0, 0), V / RADIUS * (1 + slip), creep=1e-6)
    assert_allclose(driven, (C_X * slip, 0, N), rtol=1e-3, atol=1e-9)
    drifting = loads(0.02, (V, V * slip, 0), V / RADIUS, creep=1e-6)
    assert_allclose(drifting, (0, -C_Y * slip, N), rtol=1e-3, atol=1e-9)


def test_sliding_is_on_the_friction_ellipse():
    N = STIFFNESS * 0.02
    assert_allclose(loads(0.02, (10.0, 0, 0), 0.0), (-MU_X * N, 0, N))  # locked
    assert_allclose(loads(0.02, (10.0, 20.0, 0), 10.0 / RADIUS), (0, -MU_Y * N, N), atol=1e-9)
    both = loads(0.02, (10.0, 4.0, 0), 0.0)
    assert np.hypot(both[0] / (MU_X * N), both[1] / (MU_Y * N)) == pytest.approx(1.0)
    assert both[0] < 0.0 and both[1] < 0.0


def test_forces_never_leave_the_ellipse():
    rng = np.random.default_rng(2)
    for _ in range(200):
        f = loads(0.02, (*rng.uniform(-10, 10, 2), rng.uniform(-0.1, 0.1)), rng.uniform(-50, 50))
        assert np.hypot(f[0] / (MU_X * f[2]), f[1] / (MU_Y * f[2])) <= 1.0 + 1e-12


def car(**options):
    """A wheel of 300 kg that stays upright: slides in x, y, z and turns about its axis."""
    system = tm.System("wheel", gravity=(0, 0, -9.81))
    carrier = system.body("carrier", mass=290.0, inertia=(1, 1, 1))
    wheel = system.body("wheel", mass=10.0, inertia=(0.3, 0.6, 0.3))
    system.connect("place", tm.Translation(), system.ground, carrier)
    axle = system.connect("axle", tm.Revolute("y"), carrier, wheel)
    system.connect("tire", tire(damping=3e3, **options), system.ground, wheel.at((0, 0, 0), UPRIGHT))
    return system, axle


def start(mech, V, spin):
    depth = 300.0 * 9.81 / STIFFNESS
    return mech.assemble(fix={"place": [0, 0, RADIUS - depth]}, rates={"place": [V, 0, 0], "axle": spin})


def test_a_locked_wheel_brakes_with_the_coefficient_of_friction():
    system, axle = car()
    system.prescribe(axle, 0.0)
    mech = system.build()
    run = mech.simulate((0, 1), start(mech, 20.0, 0.0), rtol=1e-8)
    assert run.body("carrier").velocity[-1, 0] == pytest.approx(20.0 - MU_X * 9.81, rel=1e-6)


def test_a_driven_wheel_accelerates_by_its_torque_and_the_energy_balance_closes():
    system, axle = car()
    system.load("engine", tm.Moment(0.0, 300.0, 0.0), axle.ends[1].body)
    mech = system.build()
    V = 5.0
    run = mech.simulate((0, 2), start(mech, V, V / RADIUS), rtol=1e-9, audit=True)
    a = np.diff(run.body("carrier").velocity[-2:, 0]) / np.diff(run.t[-2:])
    assert a == pytest.approx(300.0 / RADIUS / (300.0 + 0.6 / RADIUS**2), rel=2e-2)  # slip takes the rest
    energy = run.energy.total + run.audit["tire"].dissipated - run.audit["engine"].supplied
    assert_allclose(energy, energy[0], atol=1e-7 * np.ptp(run.energy.kinetic))


def test_power_balance():
    assert_balance(
        tm.Tire(0.8, 1e3, 10.0, longitudinal=300.0, lateral=200.0, friction=0.9, friction_lateral=0.7)
    )


@pytest.mark.parametrize("name", ["radius", "stiffness", "friction", "creep", "damping", "lateral"])
def test_bad_numbers_are_named(name):
    with pytest.raises(tm.ElementError, match=f"Tire.{name}"):
        tm.Tire(**{"radius": 0.3, "stiffness": 1e5, name: -1.0})


def random_ends(rng, height):
    motion = tm.EndsMotion(
        np.array([[0, 0, 0], [rng.uniform(-1, 1), rng.uniform(-1, 1), height]]),
        np.array([np.eye(3), Rotation.from_euler("zx", rng.uniform(-0.4, 0.4, 2)).as_matrix() @ UPRIGHT]),
        rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), *[np.zeros(0)] * 5, np.zeros((0, 6)),
    )  # fmt: skip
    return motion._replace(
        velocity=motion.velocity * [[0], [1]], angular_velocity=motion.angular_velocity * [[0], [1]]
    )


@pytest.mark.parametrize("interpolation", ["spline", "linear"])
def test_a_straight_inclined_road_is_an_inclined_plane(interpolation):
    slope, rng = 0.3, np.random.default_rng(4)
    road = tire(
        road=[(-5.0, -5.0 * slope), (1.0, slope), (5.0, 5.0 * slope)],
        interpolation=interpolation,
        damping=50.0,
    )
    turn = Rotation.from_euler("y", -np.arctan(slope)).as_matrix()
    for _ in range(10):
        motion = random_ends(rng, 0.25)
        motion.position[1, 2] += slope * motion.position[1, 0]
        inclined = motion._replace(rotation=np.array([turn, motion.rotation[1]]))
        one, two = road.at(motion), tire(damping=50.0).at(inclined)
        assert two.energy[0] > 0.0
        for a, b in zip(one, two, strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-6)


def waves(x):
    return 0.05 * np.sin(3.0 * x)


WAVES = np.column_stack((np.linspace(-4, 4, 801), waves(np.linspace(-4, 4, 801))))


def test_the_depth_in_a_wavy_road_is_that_of_the_deepest_point_of_the_disk():
    """Brute force: over points of the rim, the distance to the nearest point of the road."""
    rng, element = np.random.default_rng(5), tire(road=WAVES)
    for _ in range(6):
        motion = random_ends(rng, 0.27)
        c, R = motion.position[1], motion.rotation[1]

        def depth(angle, c=c, R=R):
            x, _, z = c + RADIUS * R @ (np.cos(angle), np.sin(angle), 0.0)
            near = minimize_scalar(
                lambda s: (s - x) ** 2 + (waves(s) - z) ** 2,
                bounds=(x - 0.3, x + 0.3),
                options={"xatol": 1e-10},
            )
            return np.sign(waves(x) - z) * np.sqrt(near.fun)

        lowest = np.arctan2(-R[2, 1], -R[2, 0])
        best = minimize_scalar(
            lambda a: -depth(a), bounds=(lowest - 0.5, lowest + 0.5), options={"xatol": 1e-9}
        )
        assert_allclose(element.at(motion).deformation[0], best.fun, atol=1e-6)


def test_power_balance_on_a_wavy_road():
    element = tire(road=WAVES, damping=100.0)
    assert_balance(element, lambda motion, rng: random_ends(rng, 0.27))


def test_a_wheel_that_rolls_over_waves_keeps_its_energy():
    system = tm.System("wheel", gravity=(0, 0, -9.81))
    wheel = system.body("wheel", 20.0, (0.5, 0.5, 1.0))
    system.connect("hub", tm.Planar("y"), system.ground, wheel.at(rotation=UPRIGHT.T))
    system.connect("tire", tm.Tire(RADIUS, STIFFNESS, road=WAVES), system.ground, wheel)
    mech = system.build()
    run = mech.simulate((0, 2.0), mech.state(q=[RADIUS, -1.0, 0.0], u=[0.0, 1.0, 0.0]), rtol=1e-9)
    assert run.success, run.message
    x = run.body("wheel").position[:, 0]
    assert np.ptp(x) > 1.0
    assert_allclose(run.energy.total, run.energy.total[0], atol=1e-5 * 20.0 * 9.81)


def test_a_road_that_runs_back_is_refused():
    with pytest.raises(tm.ElementError, match="Tire.road is not increasing"):
        tire(road=[(0, 0), (1, 0.1), (0.5, 0)])
