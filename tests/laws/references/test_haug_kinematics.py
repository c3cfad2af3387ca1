"""Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems I: kinematics, redundancy, lock-up.

Numbers are recomputed from closed forms (H1, H2, H4, H5, H6, H10, H15); printed ones agree to their digits. Extremes
are those of the trigonometric polynomial through a run over one turn.
"""

import re

import numpy as np
import pytest

import treemech as tm

TURN = 2 * np.pi


def one_turn(n):
    return np.arange(n) / n


def extremes(samples):
    """Return (min, max) of a periodic function from its samples."""
    n = len(samples)
    fine = np.fft.irfft(np.fft.rfft(samples) * 64, 64 * n)
    return fine.min(), fine.max()


def lock_time(run):
    assert not run.success
    return float(re.search(r"locks at t = ([\d.e-]+) s", run.message).group(1))


# ---------------------------------------------------------------- H1, H2: planar slider-crank (5.2, 8.2)
def slider_crank(rod=3.5, rate=TURN, driven=True):
    system = tm.System("slider-crank", gravity=(0, 0, 0))
    crank = system.body("crank", 200.0, (450, 450, 450))
    link = system.body("rod", 35.0, (35, 35, 35))
    slider = system.body("slider", 25.0, (0.02, 0.02, 0.02))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((2, 0, 0)), link.at((-rod / 2, 0, 0)))
    system.connect("C", tm.Revolute("z"), link.at((rod / 2, 0, 0)), slider)
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    if driven:
        system.prescribe("A", tm.Polynomial([np.pi / 4, rate]))
    return system.build()


def assembled(mech, x=4.6):
    return mech.assemble(guess={"B": -1.2 if x > 0 else -3.5, "D": x})


def test_h1_assembly_and_the_other_branch():
    mech = slider_crank()
    for x, rod, slider in (
        (4.6, (3.01499, 0.70711, -0.41595), 4.61578),
        (-5.0, (-0.18657, 0.70711, -2.72564), -1.78735),
    ):
        run = mech.kinematics([0.0, 0.1], assembled(mech, x))
        p, R = run.body("rod").position[0], run.body("rod").rotation[0]
        np.testing.assert_allclose([p[0], p[1], np.arctan2(R[1, 0], R[0, 0])], rod, atol=6e-6)
        assert abs(run.connection("D").q[0] - slider) < 6e-6


def test_h1_motion_at_the_start_and_peaks():
    mech = slider_crank()
    run = mech.kinematics(one_turn(128), assembled(mech))
    D = run.connection("D")
    np.testing.assert_allclose([D.q[0], D.u[0], D.ud[0]], [4.6157757, -12.8108406, -60.6430057], atol=6e-8)
    np.testing.assert_allclose(extremes(D.q), [1.5, 5.5], atol=1e-5)
    np.testing.assert_allclose(extremes(D.u), [-14.60821, 14.60821], atol=1e-5)
    np.testing.assert_allclose(extremes(D.ud), [-124.07503, 65.79194], atol=1e-3 * 0.05)


@pytest.mark.parametrize(
    "rod,v,a", [(2.5, 16.99609, 108.4915), (2.2, 19.11011, 173.2909), (2.1, 20.51527, 247.0001)]
)
def test_h1_peaks_grow_as_the_rod_gets_shorter(rod, v, a):
    mech = slider_crank(rod)
    D = mech.kinematics(one_turn(256), assembled(mech, 3.0)).connection("D")
    assert abs(extremes(D.u)[1] - v) < 1e-5 and abs(extremes(D.ud)[1] - a) < 1e-4


def test_h1_twice_the_rate_gives_velocities_times_two_and_accelerations_times_four():
    slow, fast = slider_crank(), slider_crank(rate=2 * TURN)
    one = slow.kinematics(np.linspace(0, 0.8, 20), assembled(slow))
    two = fast.kinematics(np.linspace(0, 0.4, 20), assembled(fast))
    assert np.max(np.abs(two.q - one.q)) < 1e-12
    assert np.max(np.abs(two.u - 2 * one.u)) < 1e-10 and np.max(np.abs(two.ud - 4 * one.ud)) < 1e-9


@pytest.mark.parametrize("times", [np.linspace(0, 1, 101), np.linspace(0, 0.1, 2), np.linspace(0, 5, 3)])
def test_h1_a_short_rod_locks(times):
    mech = slider_crank(1.9)
    run = mech.kinematics(times, assembled(mech, 3.0))
    lock = (np.arcsin(0.95) - np.pi / 4) / TURN
    assert abs(lock - 0.0744587) < 5e-8
    assert abs(lock_time(run) - lock) < 1e-9 and "'C' will not close" in run.message
    assert np.array_equal(run.t, times[times < lock])
    phi = np.pi / 4 + TURN * run.t
    x = 2 * np.cos(phi) + np.sqrt(1.9**2 - 4 * np.sin(phi) ** 2)
    assert np.max(np.abs(run.connection("D").q - x)) < 1e-12


def test_h2_driving_torque_and_bearing_force():
    mech = slider_crank()
    run = mech.kinematics(one_turn(128), assembled(mech))
    assert abs(run.drive("A")[0] - 5702.50) < 5e-3
    np.testing.assert_allclose(extremes(run.drive("A")), [-6564.16, 6564.16], atol=6e-3)
    np.testing.assert_allclose(extremes(run.connection("A").force[:, 0]), [-6654.93, 3299.58], atol=6e-3)


# ---------------------------------------------------------------- H4: spatial slider-crank (10.2)
def spatial_slider_crank(rod):
    system = tm.System("spatial slider-crank", gravity=(0, 0, 0))
    crank = system.body("crank", 0.12, (1e-4, 1e-5, 1e-4))
    link = system.body("rod", 0.5, (0.0004, 0.004, 0.004))
    slider = system.body("slider", 2.0, (1e-4, 1e-4, 1e-4))
    system.connect("A", tm.Revolute("x"), system.ground.at((0, 0.1, 0.12)), crank)
    system.connect("B", tm.Ball(), crank.at((0, 0.08, 0)), link.at((-rod / 2, 0, 0)))
    system.connect("C", tm.Universal(), slider, link.at((rod / 2, 0, 0)))
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    system.prescribe("A", tm.Polynomial([np.pi / 2, TURN]))
    mech = system.build()
    x = np.sqrt(rod**2 - 0.05)
    across = np.array([x, -0.1, -0.2]) / np.linalg.norm([x, -0.1, -0.2])
    up = np.array([0, 2, -1]) / np.sqrt(5)
    R = np.column_stack((across, up, np.cross(across, up)))
    turned = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    poses = {"crank": ((0, 0.1, 0.12), turned), "rod": ((x / 2, 0.05, 0.1), R), "slider": (x, 0, 0)}
    return mech, mech.assemble(poses=poses)


def test_h4_assembly():
    mech, state = spatial_slider_crank(0.3)
    run = mech.kinematics([0.0, 0.01], state)
    np.testing.assert_allclose(run.body("rod").position[0], [0.1, 0.05, 0.1], atol=1e-12)
    np.testing.assert_allclose(run.body("slider").position[0], [0.2, 0, 0], atol=1e-12)
    w, x, y, z = 0.888451, -0.209735, 0.397327, -0.093796
    R = run.body("rod").rotation[0]
    np.testing.assert_allclose(
        R[:, 0], [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)], atol=3e-6
    )
    assert mech.mobility(state).dof == 0  # 1, and it is driven


@pytest.mark.parametrize(
    "rod,q,v,a",
    [
        (0.3, (0.184952, 0.290160), 0.330521, (-1.70023, 2.66739)),
        (0.27, (0.130794, 0.259023), 0.402841, (-1.90462, 3.77186)),
        (0.24, (0.042511, 0.227580), 0.581412, (-2.16776, 11.60491)),
    ],
)
def test_h4_ranges(rod, q, v, a):
    mech, state = spatial_slider_crank(rod)
    D = mech.kinematics(one_turn(256), state).connection("D")
    np.testing.assert_allclose(extremes(D.q), q, atol=2e-6)
    np.testing.assert_allclose(extremes(D.u), [-v, v], atol=2e-6)
    np.testing.assert_allclose(extremes(D.ud), a, atol=2e-5)


def test_h4_the_shortest_rod_that_does_not_lock():
    shortest = np.hypot(0.1, 0.12) + 0.08
    assert abs(shortest - 0.236205) < 5e-7
    for rod, locks in ((shortest + 1e-6, False), (shortest - 1e-6, True)):
        mech, state = spatial_slider_crank(rod)
        assert mech.kinematics(np.linspace(0, 1, 5), state).success is not locks


# ---------------------------------------------------------------- H6: planar four-bar (5.3)
def four_bar(follower):
    system = tm.System("four-bar", gravity=(0, 0, 0))
    bodies = [system.body(n, 1.0, (1, 1, 1)) for n in ("crank", "coupler", "follower")]
    system.connect("A", tm.Revolute("z"), system.ground, bodies[0].at((-1, 0, 0)))
    system.connect("B", tm.Revolute("z"), bodies[0].at((1, 0, 0)), bodies[1].at((-2, 0, 0)))
    ends = bodies[1].at((2, 0, 0)), bodies[2].at((follower / 2, 0, 0))
    system.connect("C", tm.Revolute("z"), *ends, role="chord")
    system.connect(
        "D", tm.Revolute("z"), system.ground.at((4, 2 - follower, 0)), bodies[2].at((-follower / 2, 0, 0))
    )
    system.prescribe("A", tm.Polynomial([np.pi / 2, TURN]))
    return system.build()


@pytest.mark.parametrize(
    "follower,angle,rate,second",
    [
        (3.0, (0.90969, 2.42162), (-7.3027, 4.1888), (-38.87, 86.37)),
        (2.5, (0.71252, 2.60909), (-9.3767, 5.0265), (-50.88, 136.09)),
        (2.2, (0.48944, 2.80041), (-11.8813, 5.7120), (-67.70, 233.48)),
        (2.1, (0.35922, 2.90206), (-13.4799, 5.9840), (-79.30, 340.86)),
    ],
)
def test_h6_ranges(follower, angle, rate, second):
    mech = four_bar(follower)
    run = mech.kinematics(one_turn(256), mech.assemble(guess={"B": -1.5, "D": 1.5}))
    assert np.max(np.abs(run.body("coupler").position[0] - [2, 2, 0])) < 1e-12
    D = run.connection("D")
    np.testing.assert_allclose(extremes(D.q), angle, atol=1e-5)
    np.testing.assert_allclose(extremes(D.u), rate, atol=1e-4)
    np.testing.assert_allclose(extremes(D.ud), second, rtol=2e-4)


def test_h6_a_short_follower_locks():
    mech = four_bar(1.9)
    run = mech.kinematics(np.linspace(0, 1, 30), mech.assemble(guess={"B": -1.5, "D": 1.5}))
    assert abs(lock_time(run) - 0.191825) < 5e-7 and "'C' will not close" in run.message
    t = lock_time(run)  # coupler and follower in line: the distance from the crank pin to D
    pin = 2 * np.array([np.cos(np.pi / 2 + TURN * t), np.sin(np.pi / 2 + TURN * t)])
    assert abs(np.linalg.norm(pin - [4, 0.1]) - 5.9) < 1e-7


# ---------------------------------------------------------------- H10: double pendulum with one freedom (3.6.2)
def test_h10_positions_velocities_and_accelerations():
    system = tm.System("double pendulum", gravity=(0, 0, 0))
    one, two, tip = (system.body(n, 1.0, (1, 1, 1)) for n in ("one", "two", "tip"))
    system.connect("A", tm.Revolute("z"), system.ground, one.at((-1, 0, 0)))
    system.connect("B", tm.Revolute("z"), one, two.at((-1, 0, 0)))
    system.connect("C", tm.Revolute("z"), two, tip)
    system.connect("D", tm.Prismatic("x"), system.ground.at((0, -1, 0)), tip)
    system.prescribe("A", tm.Polynomial([5 * np.pi / 3, np.pi / 6]))
    mech = system.build()
    run = mech.kinematics([0.0, 0.5], mech.assemble(guess={"B": 0.9, "D": 1.5}))
    one, two = run.body("one"), run.body("two")
    table = np.array([  # x1, y1, phi1, x2, y2, phi2
        [0.5, -0.866025, 5.235988, 1.490985, -1, 6.148807],
        [0.453450, 0.261799, 0.523599, 0.418056, 0, -0.264181],
        [-0.137078, 0.237426, 0, -0.239603, 0, -0.249021],
    ])  # fmt: skip
    for k, part in enumerate(("position", "velocity", "acceleration")):
        for first, body in ((0, one), (3, two)):
            np.testing.assert_allclose(getattr(body, part)[0, :2], table[k, first : first + 2], atol=6e-7)
    assert abs(run.q[0, 0] - table[0, 2]) < 1e-6 and abs(run.q[0, :2].sum() - table[0, 5]) < 1e-6
    np.testing.assert_allclose(
        [two.angular_velocity[0, 2], two.angular_acceleration[0, 2]], table[1:, 5], atol=6e-7
    )


# ---------------------------------------------------------------- H5: air compressor with six pistons (10.4)
PLACES = np.array([(0, 0.2), (0.1732, 0.1), (-0.1732, 0.1), (0.1732, -0.1), (-0.1732, -0.1), (0, -0.2)])


def compressor(tilt):
    """Rods are light bodies between a universal hinge and a ball; a slide in y and z keeps the disk from turning."""

    def turn_x(a):
        return np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])

    system, light = tm.System("compressor", gravity=(0, 0, 0)), (1e-9, (1e-11, 1e-11, 1e-11))
    rotor = system.body("rotor", 10.0, (0.1, 0.1, 0.1))
    disk = system.body("disk", 2.0, (0.04, 0.08, 0.04))
    guide, shoe = system.body("guide", *light), system.body("shoe", *light)
    system.connect("rotor", tm.Revolute("y"), system.ground, rotor)
    system.connect("disk", tm.Revolute("y"), rotor.at((0, -0.5, 0), turn_x(-tilt)), disk)
    system.connect("up", tm.Prismatic("y"), system.ground, guide)
    system.connect("out", tm.Prismatic("z"), guide, shoe)
    system.connect("O", tm.Ball(), disk.at((0, 0, 0.3)), shoe, role="chord")
    poses = {
        "rotor": (0, 0, 0), "disk": ((0, -0.5, 0), turn_x(-tilt)),
        "guide": (0, -0.5 + 0.3 * np.sin(tilt), 0), "shoe": (0, -0.5 + 0.3 * np.sin(tilt), 0.3 * np.cos(tilt)),
    }  # fmt: skip
    upright = turn_x(-np.pi / 2)
    for k, (x, z) in enumerate(PLACES):
        piston, rod = system.body(f"piston{k}", 1.5, (0.002, 0.002, 0.002)), system.body(f"rod{k}", *light)
        system.connect(f"P{k}", tm.Prismatic("y"), system.ground.at((x, 0, z)), piston)
        system.connect(f"U{k}", tm.Universal(), piston.at((0, 0, 0), upright), rod)
        system.connect(f"S{k}", tm.Ball(), disk.at((x, 0, z)), rod.at((0, 0, 0.5)), role="chord")
        poses[f"piston{k}"] = (x, -1.0 + z * np.sin(tilt), z)
        poses[f"rod{k}"] = (np.array(poses[f"piston{k}"]), upright)
    system.prescribe("rotor", tm.Polynomial([0.0, 62.832]))
    mech = system.build()
    return mech, mech.assemble(poses=poses)


@pytest.mark.parametrize(
    "degrees,stroke,v,a,torque",
    [
        (20, 0.136808, 4.57380, (-240.55, 237.17), None),
        (30, 0.200000, 7.25521, (-361.61, 371.77), 71.7340),
        (40, 0.257115, 10.54446, (-589.37, 629.98), 258.1614),
    ],
)
def test_h5_six_pistons(degrees, stroke, v, a, torque):
    mech, state = compressor(np.radians(degrees))
    found = mech.mobility(state)
    assert found.dof == 0 and len(mech.tree.chords) == 7
    run = mech.kinematics(one_turn(64) * TURN / 62.832, state)
    P = run.connection("P0")
    if degrees == 30:
        start = [run.connection(f"P{k}").q[0] for k in range(6)]
        np.testing.assert_allclose(
            start, [-0.89928, -0.94982, -0.94982, -1.04982, -1.04982, -1.09928], atol=6e-6
        )
    low, high = extremes(P.q)
    assert abs(high - low - stroke) < 1e-6
    assert abs(extremes(P.u)[1] - v) < 2e-5
    np.testing.assert_allclose(extremes(P.ud), a, atol=0.01)
    if torque:
        # d/dt of the kinetic energy over the rate, from the closed form (the recomputed 258.15 is 5e-5 low)
        np.testing.assert_allclose(extremes(run.drive("rotor")), [-torque, torque], atol=1e-4)


# ---------------------------------------------------------------- H15: redundancy, rank, degrees of freedom
def three_cranks(angle):
    """Ex. 3.7.7, 4.6.1, 5.1.1: a bar on three parallel unit links."""
    system = tm.System("three cranks", gravity=(0, 0, 0))
    bar = system.body("bar", 1.0, (1, 1, 1))
    for k in range(3):
        crank = system.body(f"crank{k}", 1.0, (1, 1, 1))
        system.connect(f"A{k}", tm.Revolute("z"), system.ground.at((k, 0, 0)), crank)
        system.connect(f"B{k}", tm.Revolute("z"), crank.at((1, 0, 0)), bar.at((k, 0, 0)))
    mech = system.build()
    return mech, mech.state(q={c.name: angle if c.name[0] == "A" else -angle for c in mech._lagrange.hinges})


def test_h15_a_third_crank_is_redundant_and_changes_no_freedom():
    mech, state = three_cranks(np.pi / 3)
    found = mech.mobility(state)
    assert np.max(np.abs(mech.constraints(state).residual)) < 1e-15
    # planar: 4 rows of two cut revolutes, one of them dependent; the six others are those of spatial hinges
    assert (found.dof, found.rank, found.gruebler, found.singular) == (1, 3, 4 - 10, [])
    assert len(found.redundant) == 10 - 3 and set(found.redundant) <= {"B0", "B1", "B2"}


def test_h15_flat_one_deficiency_is_lasting_and_one_singular():
    mech, state = three_cranks(0.0)
    found = mech.mobility(state)
    assert found.dof == 2 and found.rank == 2 and len(found.singular) == 1


def test_h15_planar_slider_crank_of_spatial_hinges_has_three_redundant_rows():
    mech = slider_crank(driven=False)
    found = mech.mobility(assembled(mech))
    assert found.dof == 1 and found.redundant == ["C"] * 3


def test_h15_a_rod_with_two_balls_spins():
    system = tm.System("rod", gravity=(0, 0, 0))
    body, rod = system.body("body", 1.0, (1, 1, 1)), system.body("rod", 1.0, (1, 1, 1))
    system.connect("free", tm.Free(), system.ground, body)
    system.connect("P", tm.Ball(), system.ground.at((1, 0, 0)), rod)
    system.connect("Q", tm.Ball(), rod.at((1, 0, 0)), body.at((0, 0.5, 0)))
    mech = system.build()
    assert mech.mobility(mech.assemble(guess={"free": (2, -0.5, 0, 1, 0, 0, 0)})).dof == 6


def test_h15_spatial_four_bar_has_one_freedom():
    system = tm.System("spatial four-bar", gravity=(0, 0, 0))
    one, two, three = (system.body(n, 1.0, (1, 1, 1)) for n in ("one", "two", "three"))
    system.connect("A", tm.Revolute("x"), system.ground, one)
    system.connect("B", tm.Universal(), one.at((0, 0, 2)), two.at((0, 0, 6.1)))
    system.connect("C", tm.Ball(), two.at((0, 0, -6.1)), three.at((0, 0, 3.7)))
    system.connect("D", tm.Revolute("y"), system.ground.at((-4, -8.5, 0)), three.at((0, 0, -3.7)))
    mech = system.build()
    state = mech.assemble(fix={"A": 0.0}, guess={"D": -0.49, "B": (-1.2, 0.66)})
    assert mech.mobility(state).dof == 1
    z = mech.attitude(state)
    at = {b.name: p for b, p in zip(mech.tree.bodies[1:], z.position)}
    np.testing.assert_allclose(at["two"], [-3.74556, -4.25, 4.26237], atol=6e-6)
    np.testing.assert_allclose(at["three"], [-5.74556, -8.5, 3.26237], atol=6e-6)


def test_h15_rank_of_plain_systems():
    from treemech.kinematics.rank import null_space, rank

    P = np.array([[1, 0, 2, 1, 4], [1, 1, 2, 0, 3], [3, 1, 6, 2, 11.0]])  # ex. 4.4.4
    N = null_space(P)
    assert rank(P) == 2 and N.shape == (5, 3) and np.max(np.abs(P @ N)) < 1e-14
    np.testing.assert_allclose(N[0], -2 * N[2] - N[3] - 4 * N[4], atol=1e-14)
    np.testing.assert_allclose(N[1], N[3] + N[4], atol=1e-14)
    block = np.array([[1, 1], [1, -1], [0, 1.0]])  # y + sin phi, y - sin phi, phi at phi = 0 (ex. 3.6.1)
    assert rank(block[:2]) == rank(block) == 2
