"""Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems I: models with constraints and couplings.

His distances, composite joints and gears in place of bodies, and the counts of freedoms that belong to them. Numbers
are recomputed from closed forms; the same mechanisms with all their bodies are in test_haug_kinematics.py.
"""

from math import sin

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import treemech as tm
from tests.laws.references.test_haug_kinematics import PLACES, TURN, extremes, lock_time, one_turn
from tests.laws.references.test_haug_kinematics import slider_crank as with_rod

UNIT = (1.0, (1, 1, 1))
ROD_OR_COUPLER = pytest.mark.parametrize("element", [tm.Distance, tm.RevoluteRevolute])


def axes(x, z):
    """Return the base of an end with these x and z axes."""
    return np.column_stack((x, np.cross(z, x), z))


ALONG_X = axes((0, 0, 1), (1, 0, 0))  # slides along x in a mechanism in the x, y plane


# ---------------------------------------------------------------- H1: planar slider-crank, the rod a distance (5.2)
def slider_crank(element, rod=3.5, rate=TURN, driven=True):
    system = tm.System("slider-crank", gravity=(0, 0, 0))
    crank, slider = system.body("crank", *UNIT), system.body("slider", *UNIT)
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    system.connect("rod", element(rod), crank.at((2, 0, 0)), slider)
    if driven:
        system.prescribe("A", tm.Polynomial([np.pi / 4, rate]))
    return system.build()


@ROD_OR_COUPLER
def test_h1_a_distance_moves_the_slider_as_a_rod_does(element):
    mech, other = slider_crank(element), with_rod()
    times = np.linspace(0, 1.2, 50)
    D = mech.kinematics(times, mech.assemble(guess={"D": 4.6})).connection("D")
    full = other.kinematics(times, other.assemble(guess={"B": -1.2, "D": 4.6})).connection("D")
    np.testing.assert_allclose([D.q[0], D.u[0], D.ud[0]], [4.6157757, -12.8108406, -60.6430057], atol=6e-8)
    assert np.max(np.abs(D.q - full.q)) < 1e-12
    assert np.max(np.abs(D.u - full.u)) < 1e-10 and np.max(np.abs(D.ud - full.ud)) < 1e-9


def test_h1_both_branches_of_a_distance():
    mech = slider_crank(tm.Distance)
    for guess, x in ((5.0, 4.61578), (-5.0, -1.78735)):
        state = mech.assemble(guess={"D": guess})
        assert abs(state["D"][0][0] - x) < 6e-6
        run = mech.kinematics(one_turn(16), state)
        phi = np.pi / 4 + TURN * run.t
        want = 2 * np.cos(phi) + np.sign(x) * np.sqrt(3.5**2 - 4 * np.sin(phi) ** 2)
        assert np.max(np.abs(run.connection("D").q - want)) < 1e-12


@pytest.mark.parametrize(
    "rod,v,a",
    [(3.5, 14.60821, 65.79194), (2.5, 16.99609, 108.4915), (2.2, 19.11011, 173.2909), (2.1, 20.51527, 247.0001)],
)  # fmt: skip
def test_h1_peaks_of_the_distance_model(rod, v, a):
    mech = slider_crank(tm.Distance, rod)
    D = mech.kinematics(one_turn(256), mech.assemble(guess={"D": 3.0})).connection("D")
    assert abs(extremes(D.u)[1] - v) < 1e-5 and abs(extremes(D.ud)[1] - a) < 1e-4


@ROD_OR_COUPLER
def test_h1_a_short_distance_locks(element):
    mech = slider_crank(element, 1.9)
    run = mech.kinematics(np.linspace(0, 1, 30), mech.assemble(guess={"D": 3.0}))
    assert abs(lock_time(run) - (np.arcsin(0.95) - np.pi / 4) / TURN) < 1e-9
    assert abs(lock_time(run) - 0.0744587) < 5e-8 and "'rod' will not close" in run.message


@pytest.mark.parametrize("element,count", [(tm.Distance, 1), (tm.RevoluteRevolute, -2)])
def test_h1_freedoms_of_the_distance_model(element, count):
    mech = slider_crank(element, driven=False)
    found = mech.mobility(mech.assemble(fix={"A": 0.7}, guess={"D": 4.6}))
    assert (found.dof, found.gruebler, found.redundant) == (1, count, ["rod"] * (1 - count))


def test_h1_assembly_from_a_bad_estimate():
    """Haug's own form: every body with its plane coordinates, every joint a constraint (Tab. 5.2.5)."""
    system = tm.System("absolute", gravity=(0, 0, 0))
    crank, rod, slider = (system.body(n, *UNIT) for n in ("crank", "rod", "slider"))
    for body in (crank, rod, slider):
        system.connect(f"at {body.name}", tm.Planar("z"), system.ground, body)
    system.connect("A", tm.InLine(), system.ground, crank)
    system.connect("B", tm.InLine(), crank.at((2, 0, 0)), rod.at((-1.75, 0, 0)))
    system.connect("C", tm.InLine(), rod.at((1.75, 0, 0)), slider)
    system.connect("D", tm.Prismatic("x"), system.ground, slider, role="chord")
    mech = system.build()
    guess = {"at crank": (-0.5, 0, 0.5), "at rod": (3, 1, -0.4), "at slider": (5, 0, 0)}
    state = mech.assemble(guess=guess)
    found = mech.mobility(state)
    assert (found.dof, len(found.redundant)) == (1, 3)  # out of plane rows of the translational joint

    def place(phi):
        psi = -np.arcsin(2 * np.sin(phi) / 3.5)
        c, s = np.cos([phi, psi]), np.sin([phi, psi])
        x, y = 2 * c[0], 2 * s[0]
        return np.array([0, 0, phi, x + 1.75 * c[1], y + 1.75 * s[1], psi, x + 3.5 * c[1], 0, 0])

    phi = state["at crank"][0][2]
    np.testing.assert_allclose(state.q, place(phi), atol=1e-11)
    # Gauss-Newton ends beside the nearest position, but hardly farther away
    estimate = np.concatenate([np.array(q, dtype=float) for q in guess.values()])
    best = minimize_scalar(lambda a: np.linalg.norm(place(a) - estimate), (0.6, 0.7, 0.8))
    assert abs(best.x - 0.6906) < 1e-4 and abs(phi - best.x) < 3e-3
    assert np.linalg.norm(state.q - estimate) < (1 + 1e-4) * best.fun
    q = mech.assemble(fix={"at crank[2]": 0.6916}, guess=guess).q
    np.testing.assert_allclose(q[3:7], [3.1701, 0.6378, -0.3730, 4.7997], atol=6e-5)  # x3 is misprinted


# ---------------------------------------------------------------- H4: spatial slider-crank, composite joints (10.2)
def spatial_slider_crank(rod, inertia=(0.004, 0.0004, 0.004), driven=True):
    """Return a slider-crank whose rod turns on a slider; a distance of 1 m keeps it at the origin."""
    system = tm.System("spatial slider-crank", gravity=(0, 0, 0))
    crank = system.body("crank", 0.12, (1e-4, 1e-5, 1e-4))
    link = system.body("rod", 0.5, inertia)
    slider = system.body("slider", 2.0, (1e-4, 1e-4, 1e-4))
    system.connect("A", tm.Revolute("x"), system.ground.at((0, 0.1, 0.12)), crank)
    system.connect("B", tm.Ball(), crank.at((0, 0.08, 0)), link.at((-rod / 2, 0, 0)))
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    end = link.at((rod / 2, 0, 0), axes((0, 0, 1), (0, 1, 0)))
    system.connect("C", tm.RevoluteCylindrical(), end, slider.at((0, 0, 0), axes((0, 1, 0), (1, 0, 0))))
    system.connect("stop", tm.Distance(1.0), end, slider.at((1, 0, 0)))
    if driven:
        system.prescribe("A", tm.Polynomial([np.pi / 2, TURN]))
    mech = system.build()
    x = np.sqrt(rod**2 - 0.05)
    R = axes(np.array([x, -0.1, -0.2]) / rod, np.cross([x, -0.1, -0.2], [0, 2, -1]) / rod / np.sqrt(5))
    turned = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    poses = {"crank": ((0, 0.1, 0.12), turned), "rod": ((x / 2, 0.05, 0.1), R), "slider": (x, 0, 0)}
    return mech, poses


RANGES = pytest.mark.parametrize(
    "rod,q,v,a",
    [
        (0.3, (0.184952, 0.290160), 0.330521, (-1.70023, 2.66739)),
        (0.27, (0.130794, 0.259023), 0.402841, (-1.90462, 3.77186)),
        (0.24, (0.042511, 0.227580), 0.581412, (-2.16776, 11.60491)),
    ],
)


@RANGES
@pytest.mark.parametrize("form", ["composite", "distance"])
def test_h4_ranges(form, rod, q, v, a):
    if form == "composite":
        mech, poses = spatial_slider_crank(rod)
        state = mech.assemble(poses=poses)
    else:
        mech = skew_distance(rod)
        state = mech.assemble(guess={"D": 0.2})
    D = mech.kinematics(one_turn(256), state).connection("D")
    np.testing.assert_allclose(extremes(D.q), q, atol=2e-6)
    np.testing.assert_allclose(extremes(D.u), [-v, v], atol=2e-6)
    np.testing.assert_allclose(extremes(D.ud), a, atol=2e-5)


def skew_distance(rod, motion=(np.pi / 2, TURN)):
    """Return crank and slider, the rod a distance."""
    system = tm.System("spatial slider-crank", gravity=(0, 0, 0))
    crank, slider = system.body("crank", 0.12, (1e-4, 1e-5, 1e-4)), system.body("slider", 2.0, 3 * (1e-4,))
    system.connect("A", tm.Revolute("x"), system.ground.at((0, 0.1, 0.12)), crank)
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    system.connect("rod", tm.Distance(rod), crank.at((0, 0.08, 0)), slider)
    if motion:
        system.prescribe("A", tm.Polynomial(motion))
    return system.build()


def test_h4_assembly_and_freedoms_of_the_composite_joint():
    mech, poses = spatial_slider_crank(0.3, driven=False)
    state = mech.assemble(poses=poses)
    found = mech.mobility(state)
    assert (found.dof, found.gruebler, found.redundant) == (1, 1, [])  # 28 - 27
    run = mech.simulate((0, 0.01), state)
    np.testing.assert_allclose(run.body("rod").position[0], [0.1, 0.05, 0.1], atol=1e-12)
    w, x, y, z = 0.888451, -0.209735, 0.397327, -0.093796
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    np.testing.assert_allclose(run.body("rod").rotation[0], R, atol=3e-6)


def test_h4_reduced_inertia():
    """2 T / rate^2 at alpha = pi/2."""
    mech, poses = spatial_slider_crank(0.3, driven=False)
    assert abs(2 * mech.energy(mech.assemble(poses=poses, rates={"A": 1.0})).kinetic - 0.0047224) < 5e-8
    light = skew_distance(0.3, None)
    state = light.assemble(fix={"A": np.pi / 2}, guess={"D": 0.2}, rates={"A": 1.0})
    assert abs(2 * light.energy(state).kinetic - 0.0033) < 1e-15


@pytest.mark.parametrize(
    "inertia,periods",
    [
        ((0.004, 0.0004, 0.004), (1.01006, 0.96453, 0.75754)),
        ((0.0004, 0.004, 0.004), (0.96439, 0.92092, 0.72329)),
    ],
)
def test_h4_periods_of_free_motion(inertia, periods):
    mech, poses = spatial_slider_crank(0.3, inertia, driven=False)
    for rate, period in zip((6.0, TURN, 8.0), periods):
        run = mech.simulate((0, period), mech.assemble(poses=poses, rates={"A": rate}), rtol=1e-9)
        A = run.connection("A")
        assert abs(A.q[-1] - A.q[0] - TURN) < rate * 6e-6
        assert abs(A.u[-1] - rate) < 1e-4 * rate


@pytest.mark.parametrize("motion,time", [((np.pi / 2, -TURN), 0.1106), ((0, TURN), 0.1394)])
def test_h4_the_slider_reverses_where_the_crank_pin_is_in_line_with_the_origin(motion, time):
    mech = skew_distance(0.3, motion)
    D = mech.kinematics([0, time - 5e-5, time + 5e-5], mech.assemble(guess={"D": 0.2})).connection("D")
    assert D.u[1] < 0 < D.u[2]


def test_h4_the_shortest_distance_that_does_not_lock():
    for rod, locks in ((0.236205 + 1e-6, False), (0.236205 - 1e-6, True)):
        mech = skew_distance(rod)
        state = mech.assemble(guess={"D": 0.1})
        assert mech.kinematics(np.linspace(0, 1, 5), state).success is not locks


# ---------------------------------------------------------------- H5: air compressor, rods and guide constraints (10.4)
def compressor(tilt, point=0.3, driven=True):
    c, s = np.cos(tilt), np.sin(tilt)
    turned = np.array([[1, 0, 0], [0, c, s], [0, -s, c]])
    system = tm.System("compressor", gravity=(0, 0, 0))
    rotor = system.body("rotor", 10.0, (0.1, 0.1, 0.1))
    disk = system.body("disk", 2.0, (0.04, 0.08, 0.04))
    system.connect("rotor", tm.Revolute("y"), system.ground, rotor)
    system.connect("disk", tm.Revolute("y"), rotor.at((0, -0.5, 0), turned), disk)
    system.connect("O", tm.RelativeOffset("x", 0.0), system.ground, disk.at((0, 0, point)))  # x_O = 0
    for k, (x, z) in enumerate(PLACES):
        piston = system.body(f"piston{k}", 1.5, (0.002, 0.002, 0.002))
        system.connect(f"P{k}", tm.Prismatic("y"), system.ground.at((x, 0, z)), piston)
        system.connect(f"rod{k}", tm.Distance(0.5), disk.at((x, 0, z)), piston)
    if driven:
        system.prescribe("rotor", tm.Polynomial([0.0, 62.832]))
    mech = system.build()
    return mech, mech.assemble(guess={f"P{k}": -1.0 for k in range(6)})


@pytest.mark.parametrize(
    "degrees,stroke,v,a,torque",
    [
        (20, 0.136808, 4.57380, (-240.55, 237.17), None),
        (30, 0.200000, 7.25521, (-361.61, 371.77), 71.7340),
        (40, 0.257115, 10.54446, (-589.37, 629.98), 258.1614),  # torque: see test_haug_kinematics
    ],
)
def test_h5_six_distances(degrees, stroke, v, a, torque):
    mech, state = compressor(np.radians(degrees))
    run = mech.kinematics(one_turn(64) * TURN / 62.832, state)
    P = run.connection("P0")
    low, high = extremes(P.q)
    assert abs(high - low - stroke) < 1e-6 and abs(extremes(P.u)[1] - v) < 2e-5
    np.testing.assert_allclose(extremes(P.ud), a, atol=0.01)
    if degrees == 30:
        start = [run.connection(f"P{k}").q[0] for k in range(6)]
        np.testing.assert_allclose(
            start, [-0.89928, -0.94982, -0.94982, -1.04982, -1.04982, -1.09928], atol=6e-6
        )
        e0, e1 = 0.965926, -0.258819
        np.testing.assert_allclose(
            run.body("disk").rotation[0, 1:, 1], [1 - 2 * e1 * e1, 2 * e0 * e1], atol=3e-6
        )
    if torque:
        np.testing.assert_allclose(extremes(run.drive("rotor")), [-torque, torque], atol=1e-4)


def test_h5_one_freedom_by_counting_and_any_point_of_the_disk_axis_will_do():
    mech, state = compressor(0.5, driven=False)
    found = mech.mobility(state)
    assert (found.dof, found.gruebler, found.redundant) == (1, 1, [])  # 63 - 62
    runs = []
    for point in (0.3, -0.7):
        mech, state = compressor(0.5, point)
        runs.append(mech.kinematics(one_turn(16) * 0.1, state))
    assert np.max(np.abs(runs[0].q - runs[1].q)) < 1e-12
    assert np.max(np.abs(runs[0].ud - runs[1].ud)) < 1e-8


# ---------------------------------------------------------------- H6: planar four-bar, the follower a distance (5.3)
def four_bar(element, follower=3.0, driven=True):
    system = tm.System("four-bar", gravity=(0, 0, 0))
    crank, coupler = system.body("crank", *UNIT), system.body("coupler", *UNIT)
    system.connect("A", tm.Revolute("z"), system.ground, crank.at((-1, 0, 0)))
    system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), coupler.at((-2, 0, 0)))
    pivot = system.ground.at((4, 2 - follower, 0))
    system.connect("CD", element(follower), pivot, coupler.at((2, 0, 0)))
    if driven:
        system.prescribe("A", tm.Polynomial([np.pi / 2, TURN]))
    return system.build()


def follower_angle(run, follower):
    """phi3, phi3', phi3'' of the distance, from the motion of its end C."""
    C = run.point("coupler", (2, 0, 0))
    d, v, a = ((x[:, :2]) / follower for x in (C.position - [4, 2 - follower, 0], C.velocity, C.acceleration))
    return (
        np.arctan2(d[:, 1], d[:, 0]), d[:, 0] * v[:, 1] - d[:, 1] * v[:, 0], d[:, 0] * a[:, 1] - d[:, 1] * a[:, 0],
    )  # fmt: skip


@pytest.mark.parametrize(
    "follower,angle,rate,second,extreme",
    [
        (3.0, (0.90969, 2.42162), (-7.3027, 4.1888), (-38.87, 86.37), 0.7413),
        (2.5, (0.71252, 2.60909), (-9.3767, 5.0265), (-50.88, 136.09), None),
        (2.2, (0.48944, 2.80041), (-11.8813, 5.7120), (-67.70, 233.48), None),
        (2.1, (0.35922, 2.90206), (-13.4799, 5.9840), (-79.30, 340.86), 0.7476),
    ],
)
@ROD_OR_COUPLER
def test_h6_ranges_of_the_distance_model(element, follower, angle, rate, second, extreme):
    mech = four_bar(element, follower)
    run = mech.kinematics(one_turn(256), mech.assemble(guess={"B": -1.5}))
    found = follower_angle(run, follower)
    np.testing.assert_allclose(extremes(found[0]), angle, atol=1e-5)
    np.testing.assert_allclose(extremes(found[1]), rate, atol=1e-4)
    np.testing.assert_allclose(extremes(found[2]), second, rtol=2e-4)
    if extreme:
        fine = np.fft.irfft(np.fft.rfft(found[2]) * 64, 64 * 256)
        assert abs(np.argmax(fine) / len(fine) - extreme) < 1e-4


def test_h6_assembly_without_a_driver():
    mech = four_bar(tm.Distance, driven=False)
    state = mech.assemble(fix={"A": 1.3693}, guess={"B": -1.4})
    found = mech.mobility(state)
    assert (found.dof, found.gruebler) == (1, 1)
    crank, coupler = mech.attitude(state).position
    np.testing.assert_allclose(crank, [0.20014, 0.97977, 0], atol=6e-6)
    np.testing.assert_allclose(coupler, [2.40026, 1.96636, 0], atol=6e-6)
    phi = 1.3693 + state["B"][0][0]
    assert abs(phi - 0.00341) < 6e-6
    C = coupler[:2] + 2 * np.array([np.cos(phi), np.sin(phi)])
    np.testing.assert_allclose((C + [4, -1]) / 2, [4.20012, 0.48659], atol=6e-6)  # middle of the follower
    assert abs(np.arctan2(C[1] + 1, C[0] - 4) - 1.43698) < 6e-6


@ROD_OR_COUPLER
def test_h6_a_short_follower_locks(element):
    mech = four_bar(element, 1.9)
    run = mech.kinematics(np.linspace(0, 1, 30), mech.assemble(guess={"B": -1.5}))
    assert abs(lock_time(run) - 0.191825) < 5e-7 and "'CD' will not close" in run.message


# ---------------------------------------------------------------- H7: quick-return, its reduced model (5.4)
@pytest.mark.parametrize(
    "crank,q,v,a",
    [
        (1.5, (-4.33705, 1.66733), (-10.7712, 75.3982), (-1128.92, 1773.54)),
        (1.25, (-4.18523, 0.81477), (None, 41.8879), (None, 586.24)),
        (1.0, (-3.82286, 0.17714), (None, 25.1327), (None, 241.60)),
    ],
)
def test_h7_a_revolute_translational_joint_and_a_distance(crank, q, v, a):
    system = tm.System("quick-return", gravity=(0, 0, 0))
    rocker, wheel, slider = (system.body(n, *UNIT) for n in ("rocker", "crank", "slider"))
    system.connect("A", tm.Revolute("z"), system.ground, rocker.at((-2, 0, 0)))
    system.connect("B", tm.Revolute("z"), system.ground.at((0, 2, 0)), wheel)
    system.connect("E", tm.Prismatic("x"), system.ground.at((0, 4, 0)), slider)
    system.connect("C", tm.RevoluteTranslational(), wheel.at((crank, 0, 0)), rocker.at((-2, 0, 0), ALONG_X))
    system.connect("DE", tm.Distance(1.9), rocker.at((2, 0, 0)), slider)
    system.prescribe("B", tm.Polynomial([0.44, TURN]))
    mech = system.build()
    state = mech.assemble(guess={"A": 1.1, "E": 0.0})
    found = mech.mobility(state)
    assert found.dof == 0 and found.redundant == ["C"] * 3
    E = mech.kinematics(one_turn(256), state).connection("E")
    np.testing.assert_allclose(extremes(E.q), q, atol=6e-6)
    for got, want, tolerance in ((extremes(E.u), v, 6e-5), (extremes(E.ud), a, 6e-3)):
        assert all(w is None or abs(g - w) < tolerance for g, w in zip(got, want)), got


# ---------------------------------------------------------------- H10: double pendulum, its tip on a line (3.6.2)
def double_pendulum():
    system = tm.System("double pendulum", gravity=(0, 0, 0))
    one, two = system.body("one", *UNIT), system.body("two", *UNIT)
    system.connect("A", tm.Revolute("z"), system.ground, one.at((-1, 0, 0)))
    system.connect("B", tm.Revolute("z"), one, two.at((-1, 0, 0)))
    system.connect("line", tm.RelativeOffset("y", -1.0), system.ground, two)
    system.prescribe("A", tm.Polynomial([5 * np.pi / 3, np.pi / 6]))
    mech = system.build()
    return mech, mech.assemble(guess={"B": 0.9})


def test_h10_positions_velocities_and_accelerations():
    mech, state = double_pendulum()
    run = mech.kinematics([0.0, 0.5], state)
    two = run.body("two")
    for part, x, y in (
        ("position", 1.490985, -1), ("velocity", 0.418056, 0), ("acceleration", -0.239603, 0),
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(two, part)[0], [x, y, 0], atol=6e-7)
    found = run.q[0].sum(), run.u[0].sum(), run.ud[0].sum()
    np.testing.assert_allclose(found, [6.148807, -0.264181, -0.249021], atol=6e-7)


def test_h10_locks_where_the_second_bar_is_upright():
    """cos(phi2) = 0, so sin(phi1) = 0: at t = 2 s."""
    mech, state = double_pendulum()
    P = mech.constraints(state).partials
    assert abs(P[0, 1] - np.cos(state.q.sum())) < 1e-12
    assert abs(lock_time(mech.kinematics(np.linspace(0, 3, 20), state)) - 2.0) < 1e-9


# ---------------------------------------------------------------- H15: redundancy, rank, degrees of freedom
def block(*relations):
    """Ex. 3.6.1: y and phi of a block."""
    system = tm.System("block")
    carrier, body = system.body("carrier", *UNIT), system.body("block", *UNIT)
    system.connect("y", tm.Prismatic("y"), system.ground, carrier)
    system.connect("phi", tm.Revolute("z"), carrier, body)
    for name, f in relations:
        system.couple(name, tm.Relation(f), "y", "phi")
    return system.build()


PINS = (("left", lambda q, t: q[0] + sin(q[1])), ("right", lambda q, t: q[0] - sin(q[1])))


@pytest.mark.parametrize("relations", [PINS, (*PINS, ("level", lambda q, t: q[1]))], ids=["two", "three"])
def test_h15_a_block_on_two_pins_is_held_and_told_to_be_level_once_too_often(relations):
    mech = block(*relations)
    state = mech.assemble(guess={"y": 0.1, "phi": 0.2})
    found = mech.mobility(state)
    assert np.max(np.abs(state.q)) < 1e-10
    assert (found.dof, found.rank, len(found.redundant)) == (0, 2, len(relations) - 2)


def test_h15_a_block_told_to_be_askew_cannot_be_assembled():
    mech = block(*PINS, ("askew", lambda q, t: q[1] - 0.1))
    with pytest.raises(tm.TreemechError, match="'askew'.* gap of 0.0667"):
        mech.assemble()


def test_h15_a_bar_on_three_parallel_links():
    """Ex. 3.7.7: along phi = 0 one of x^2 + y^2 = 1, ... follows from the others."""
    system = tm.System("bar", gravity=(0, 0, 0))
    bar = system.body("bar", *UNIT)
    system.connect("bar", tm.Planar("z"), system.ground, bar)
    for k in range(3):
        system.connect(f"link{k}", tm.Distance(1.0), system.ground.at((k, 0, 0)), bar.at((k, 0, 0)))
    mech = system.build()
    for angle in (0.3, 1.0, 2.5):
        found = mech.mobility(mech.state(q={"bar": (np.cos(angle), np.sin(angle), 0)}))
        assert (found.dof, found.gruebler, found.rank, len(found.redundant)) == (1, 0, 2, 1)


@pytest.mark.parametrize("angle,rank,singular", [(np.pi / 3, 4, 0), (0.0, 3, 1)])
def test_h15_a_parallelogram_with_one_more_distance(angle, rank, singular):
    """Ex. 4.6.1 in plane coordinates: five equations; of two deficiencies at phi = 0 one is isolated."""
    system = tm.System("parallelogram", gravity=(0, 0, 0))
    crank, coupler, rocker = (system.body(n, *UNIT) for n in ("crank", "coupler", "rocker"))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("D", tm.Revolute("z"), system.ground.at((2, 0, 0)), rocker)
    system.connect("coupler", tm.Planar("z"), system.ground, coupler)
    system.connect("B", tm.InLine(), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.InLine(), rocker.at((1, 0, 0)), coupler.at((2, 0, 0)))
    system.connect("link", tm.Distance(1.0), system.ground.at((1, 0, 0)), coupler.at((1, 0, 0)))
    mech = system.build()
    c, s = np.cos(angle), np.sin(angle)
    state = mech.state(q={"A": angle, "D": angle, "coupler": (c, s, 0)})
    found = mech.mobility(state)
    assert np.max(np.abs(mech.constraints(state).residual)) < 1e-15
    assert (mech.nu, found.gruebler, found.rank, len(found.singular)) == (5, 0, rank, singular)


def five_bar(third, element=None, drive=None):
    """Ex. 5.1.1: a bar on three cranks; the pin of the third in a slot along the bar."""
    system = tm.System("five-bar", gravity=(0, 0, 0))
    bar = system.body("bar", *UNIT)
    for k in range(3):
        crank = system.body(f"crank{k}", *UNIT)
        system.connect(f"A{k}", tm.Revolute("z"), system.ground.at((k, 0, 0)), crank)
        pin = crank.at((1 if k < 2 else third, 0, 0))
        if k == 0:
            system.connect("B0", tm.Revolute("z"), pin, bar)
        elif k == 1 or element is None:
            system.connect(f"B{k}", tm.InLine(), pin, bar.at((k, 0, 0)))  # a revolute in the plane
        else:
            system.connect("B2", element, pin, bar.at((0, 0, 0), ALONG_X))
    if drive:
        system.prescribe("A0", drive)
    return system.build()


def parallel(mech, angle, third=1.0):
    return mech.state(q={"A0": angle, "A1": angle, "A2": np.arcsin(np.sin(angle) / third), "B0": -angle})


def test_h15_counts_of_the_five_bar():
    mech = five_bar(1.0)
    found = mech.mobility(parallel(mech, 0.7))
    assert (found.gruebler, found.dof, found.singular) == (0, 1, [])
    mech = five_bar(1.0, tm.RevoluteTranslational())
    found = mech.mobility(parallel(mech, 0.7))
    assert found.dof == 1 and found.redundant == ["B2"] * 3  # those out of plane: 1 by counting in the plane
    assert found.gruebler == 1 - 3


def test_h15_the_five_bar_can_branch_where_its_cranks_are_upright():
    mech = five_bar(1.0, tm.RevoluteTranslational())
    found = mech.mobility(parallel(mech, np.pi / 2))
    assert found.dof == 2 and len(found.singular) == 1
    driven = five_bar(1.0, tm.RevoluteTranslational(), tm.Polynomial([1.0, 1.0]))
    run = driven.kinematics(np.linspace(0, 1, 11), parallel(driven, 1.0))
    assert run.success and f"passed at t = {np.pi / 2 - 1:.6g} s" in run.message
    assert np.max(np.abs(run.connection("A2").q - (1.0 + run.t))) < 1e-9  # on the branch it came on


@pytest.mark.parametrize("third,locks", [(1.2, False), (0.9, True)])
def test_h15_a_third_crank_of_another_length_swings_or_locks(third, locks):
    driven = five_bar(third, tm.RevoluteTranslational(), tm.Polynomial([0.5, 1.0]))
    run = driven.kinematics(np.linspace(0, 2, 21), parallel(driven, 0.5, third))
    assert np.max(np.abs(run.connection("A2").q - np.arcsin(np.sin(0.5 + run.t) / third))) < 1e-11
    if locks:
        assert abs(lock_time(run) - (np.arcsin(0.9) - 0.5)) < 1e-9
    else:
        assert run.success


def test_h15_a_distance_leaves_five_freedoms():
    """Ex. 9.4.4; a rod with two balls leaves six."""
    system = tm.System("rod", gravity=(0, 0, 0))
    body = system.body("body", *UNIT)
    system.connect("rod", tm.Distance(1.0), system.ground.at((1, 0, 0)), body.at((0, 0.5, 0)))
    mech = system.build()
    found = mech.mobility(mech.assemble(guess={"free body[0]": 2.0}))
    assert (found.dof, found.gruebler) == (5, 5)


def test_h15_an_inclined_slider_is_regular_at_the_origin():
    """Ex. 3.1.3: y - x = 0 and a point on it need no direction from the point to the origin."""
    system = tm.System("slider", gravity=(0, 0, 0))
    slider = system.body("slider", *UNIT)
    system.connect("plane", tm.Planar("z"), system.ground, slider)
    system.connect("line", tm.Prismatic((1, 1, 0)), system.ground, slider, role="chord")
    mech = system.build()
    for s in (0.0, 0.4):
        found = mech.mobility(mech.state(q={"plane": (s, s, 0)}))
        assert found.dof == 1 and found.rank == 2 and not found.singular


def test_h15_spatial_four_bar_with_a_distance():
    """Model 2 of 10.3: link BC is a distance; 12.20 fits the tables."""
    system = tm.System("spatial four-bar", gravity=(0, 0, 0))
    one, three = system.body("one", *UNIT), system.body("three", *UNIT)
    system.connect("A", tm.Revolute("x"), system.ground, one)
    system.connect("D", tm.Revolute("y"), system.ground.at((-4, -8.5, 0)), three.at((0, 0, -3.7)))
    system.connect("BC", tm.Distance(12.2), one.at((0, 0, 2)), three.at((0, 0, 3.7)))
    mech = system.build()
    state = mech.assemble(fix={"A": 0.0}, guess={"D": -0.49})
    found = mech.mobility(state)
    assert (found.dof, found.gruebler) == (1, 1)
    at = dict(zip((b.name for b in mech.tree.bodies[1:]), mech.attitude(state).position))
    np.testing.assert_allclose(at["three"], [-5.74556, -8.5, 3.26237], atol=6e-6)


# ---------------------------------------------------------------- H3: governor, arms and collar joined by distances (12.6)
def test_h3_freedoms_and_steady_speed_of_the_governor():
    """The spring has its free length in the steady state, so the speed needs no spring."""
    system = tm.System("governor", gravity=(0, -9.80, 0))
    spindle, collar = (
        system.body("spindle", 200.0, (25, 50, 25)),
        system.body("collar", 1.0, (0.15, 0.125, 0.15)),
    )
    system.connect("turn", tm.Revolute("y"), system.ground, spindle.at((0, -0.2, 0)))
    system.connect("slide", tm.Prismatic("y"), spindle, collar)
    for name, side in (("ball1", -1), ("ball2", 1)):
        ball = system.body(name, 1.0, (0.1, 0.1, 0.1))
        system.connect(f"arm {name}", tm.Revolute("z"), spindle, ball.at((0.16 * side, 0, 0)))
        system.connect(f"rod {name}", tm.Distance(0.10922), ball.at((0.08 * side, 0, 0)), collar)
    mech = system.build()

    def lift(rate):
        guess = {"arm ball1": -0.78, "arm ball2": 0.78}
        state = mech.assemble(fix={"slide": -0.15}, guess=guess, rates={"turn": rate, "slide": 0.0})
        k = mech.speeds.index("slide")
        return state, mech.forward_dynamics(state).ud[k]

    state, rest = lift(0.0)
    found = mech.mobility(state)
    assert (found.dof, found.gruebler, found.redundant) == (2, 2, [])  # 35 - 33
    at = dict(zip((b.name for b in mech.tree.bodies[1:]), mech.attitude(state).position))
    np.testing.assert_allclose(at["ball1"], [0.11314, 0.08686, 0], atol=6e-6)
    np.testing.assert_allclose(at["ball2"], [-0.11314, 0.08686, 0], atol=6e-6)
    np.testing.assert_allclose(at["collar"], [0, 0.05, 0], atol=1e-12)
    steady = np.sqrt(rest / (rest - lift(1.0)[1]))  # the acceleration is linear in rate^2
    assert abs(steady - 11.01746) < 6e-6
    assert abs(lift(steady)[1]) < 1e-10


# ---------------------------------------------------------------- H14: gear-slider (5.5)
def gear_slider(theta=None, rate=4 * np.pi):
    """Centre distances are carriers, so that the wheels in mesh have angles relative to them; the rod is a distance."""
    system = tm.System("gear-slider", gravity=(0, 0, 0))
    two, three, four, link, slider, first, second = (
        system.body(n, *UNIT) for n in ("2", "3", "4", "link", "slider", "first", "second")
    )
    system.connect("phi2", tm.Revolute("z"), system.ground, two)
    system.connect("2", tm.Revolute("z"), first, two)
    system.connect("3", tm.Revolute("z"), first.at((0.3, 0, 0)), three)
    system.connect("3'", tm.Revolute("z"), second, three)
    system.connect("4", tm.Revolute("z"), second.at((0.5, 0, 0)), four)
    system.connect("phi5", tm.Revolute("z"), system.ground.at((0.6, -0.4, 0)), link)
    system.connect("centre", tm.InLine(), link.at((0, 0.8, 0)), four)
    system.connect("x", tm.Prismatic("x"), system.ground.at((0, 0.2, 0)), slider)
    system.connect("rod", tm.Distance(0.8), four.at((0.2, 0.2, 0)), slider)
    angle = np.arctan2(0.4, 0.3)  # 0.9273, of the second carrier when all others are zero
    system.couple("mesh 2-3", tm.Gear(0.2 / 0.1), "2", "3")
    system.couple("mesh 3-4", tm.Gear(0.1 / 0.4, phase=-1.25 * angle), "3'", "4")
    if theta is not None:
        system.prescribe("phi2", tm.Polynomial([0.0, rate]))
        system.prescribe("phi5", theta)
    mech = system.build()
    return mech, mech.assemble(guess={"3'": -angle, "4": -angle, "x": 1.5})


def test_h14_two_freedoms_and_assembly():
    mech, _ = gear_slider()
    state = mech.assemble(
        fix={"phi2": 0.0, "phi5": 0.0}, guess={"3'": -0.9, "4": -0.9, "x": 1.5}, rates={"phi2": 1.0, "phi5": 0.0}
    )  # fmt: skip
    found = mech.mobility(state)
    assert (found.dof, found.gruebler, found.redundant) == (2, 2, [])
    at = dict(zip((b.name for b in mech.tree.bodies[1:]), mech.attitude(state).position))
    for name, place in {
        "2": (0, 0, 0),
        "3": (0.3, 0, 0),
        "4": (0.6, 0.4, 0),
        "slider": (1.4928203, 0.2, 0),
    }.items():
        np.testing.assert_allclose(at[name], place, atol=6e-8)
    four = next(b for b in mech.tree.bodies if b.name == "4")
    assert abs(mech.jacobian(four, state)[5] @ state.u - 0.5) < 1e-12  # phi4' / phi2'


@pytest.mark.parametrize(
    "theta,x,v,a",
    [
        (-0.1047, (1.16234, 1.74863), (-2.1283, 1.7874), (-15.547, 10.407)),
        (0.0, (1.07692, 1.66421), (-2.1363, 1.7864), (-15.568, 10.494)),
        (0.5236, (0.70876, 1.27886), (-1.9776, 1.8256), (-15.208, 8.774)),
    ],
)
def test_h14_ranges(theta, x, v, a):
    mech, state = gear_slider(theta)
    run = mech.kinematics(one_turn(128), state)  # gear 4 turns at half the rate
    assert run.success
    found = run.connection("x")
    np.testing.assert_allclose(extremes(found.q), x, atol=6e-6)
    np.testing.assert_allclose(extremes(found.u), v, atol=6e-5)
    np.testing.assert_allclose(extremes(found.ud), a, atol=6e-4)


@pytest.mark.parametrize("sense,limit", [(-1.0, -0.12046), (1.0, 0.74023)])
def test_h14_link_angles_the_gears_admit(sense, limit):
    """Where the three gear centres are in line; printed -0.1204 and 0.7330."""
    mech, state = gear_slider(tm.Polynomial([0.0, sense]), rate=0.0)
    lock = sense * lock_time(mech.kinematics(np.linspace(0, 1, 12), state))
    assert abs(lock - limit) < 6e-6
    centre = np.array([0.6 - 0.8 * np.sin(lock), -0.4 + 0.8 * np.cos(lock)])
    assert abs(np.hypot(*centre) - (0.8 if sense < 0 else 0.2)) < 1e-7


# ---------------------------------------------------------------- H16: slider with rack and pinion (3.4.2)
def test_h16_rates_of_rack_and_pinion():
    length = 0.5
    system = tm.System("rack", gravity=(0, 0, 0))
    pinion, carrier, rack, piston = (system.body(n, *UNIT) for n in ("pinion", "carrier", "rack", "piston"))
    system.connect("phi1", tm.Revolute("z"), system.ground, carrier)
    system.connect("pinion", tm.Revolute("z"), carrier, pinion)
    system.connect("rack", tm.Prismatic("x"), carrier.at((0, 0.2, 0)), rack)
    system.connect("x", tm.Prismatic("x"), system.ground, piston)
    system.connect("pin", tm.InLine(), piston, rack)
    system.couple("teeth", tm.RackAndPinion(-0.2, offset=length), "pinion", "rack")
    mech = system.build()
    state = mech.assemble(fix={"x": 0.8}, guess={"rack": 0.8, "phi1": -0.25}, rates={"x": 0.3})
    assert mech.mobility(state).dof == 1
    (phi1,), (rate1,) = state["phi1"]
    (relative,), (relative_rate,) = state["pinion"]
    phi2 = phi1 + relative
    assert abs(0.8 * np.sin(phi1) + 0.2) < 1e-12
    assert abs(0.8 * np.cos(phi1) - length - 0.2 * (phi1 - phi2)) < 1e-12
    np.testing.assert_allclose([rate1, rate1 + relative_rate], [0.0968246, -1.4523688], atol=6e-8)
