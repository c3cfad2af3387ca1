"""Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems I: small examples (H2, H7, H8, H12, H17, H18, H21, H24).

Each is built as a mechanism and held to its closed form, or to numbers recomputed from the printed data; printed numbers agree
to their digits. The Adams tables of 7.4 (H25) are those of the book's own integrator, which the library does not have.
"""

from math import cos, sin

import numpy as np
import pytest
from scipy.optimize import brentq

import treemech as tm
from treemech.benchmarks.problems.machines.haug import haug_compressor
from treemech.benchmarks.problems.mechanisms.haug import (
    haug_four_bar,
    haug_quick_return,
    haug_spatial_four_bar,
)

UNIT = (1.0, (1, 1, 1))
NONE = (0, 0, 0)


def angle(rotation):
    return np.arctan2(rotation[1, 0], rotation[0, 0])


# ---------------------------------------------------------------- H2: compressor, the light flywheel (8.2)
def test_h2_the_light_flywheel_has_less_energy_than_the_gas_takes():
    mech = haug_compressor.system(flywheel=225.0).build()
    crank = next(body for body in mech.info.bodies if body.name == "crank body")
    rate = haug_compressor.state(mech)["crank"][1][0]
    available = 0.5 * crank.inertia[2][2] * rate**2 + np.pi * haug_compressor.TORQUE
    assert (
        available == pytest.approx(231469.0, abs=0.5)
        and available < haug_compressor.KNOWN["work of one compression"][0]
    )


# ---------------------------------------------------------------- H7: quick-return (5.4, 8.3)
def test_h7_places_of_the_links_and_where_the_slider_is_at_zero():
    mech = haug_quick_return.system(start=0.4356).build()
    run = mech.kinematics([0.0, 0.01], haug_quick_return.state(mech))
    np.testing.assert_allclose(run.body("rocker").com[0, :2], [0.91782, 1.77697], atol=6e-6)
    np.testing.assert_allclose(run.body("block").position[0, :2], [1.35993, 2.63293], atol=6e-6)
    np.testing.assert_allclose(run.body("link").com[0, :2], [0.91218, 3.77697], atol=6e-6)

    def slider(start):
        mech = haug_quick_return.system(start=start).build()
        return mech.kinematics([0.0, 0.01], haug_quick_return.state(mech)).body("slider").position[0, 0]

    assert brentq(slider, 0.42, 0.44, xtol=1e-9) == pytest.approx(0.428559, abs=6e-7)


def test_h7_places_of_the_links_in_equilibrium():
    mech = haug_quick_return.system(driven=False).build()
    low = mech.equilibrium(mech.assemble(fix={"B": -0.85}, guess={"A": 0.72, "D": 1.6, "guide": 1.67})).state
    run = mech.simulate((0.0, 1e-6), low)
    link = run.body("link")
    np.testing.assert_allclose(run.body("block").position[0, :2], [0.96818, 0.85430], atol=6e-6)
    np.testing.assert_allclose(link.com[0, :2], [2.33258, 3.32326], atol=6e-6)
    assert np.arctan(np.tan(angle(link.rotation[0]))) == pytest.approx(-0.792846, abs=6e-7)


# ---------------------------------------------------------------- H8: spatial four-bar (12.3)
def test_h8_heights_of_the_rocker_and_of_the_hanging_branch():
    """The equilibrium of Tab. 12.3.2 is the least height of the rocker alone; with the printed masses it lies elsewhere."""
    mech = haug_spatial_four_bar.system(driven=False).build()
    heavy = mech.equilibrium(mech.assemble(guess={"A": -2.3, "D": 0.7, "B": (0.2, 0.0)})).state
    np.testing.assert_allclose(mech.attitude(heavy).position[2], [-1.6184, -8.5, 2.8316], atol=6e-5)

    light = haug_spatial_four_bar.system(rod=False, driven=False).build()
    angles = np.linspace(-2.16, -2.14, 41)
    heights = [light.attitude(light.assemble(fix={"A": a}, guess={"D": 0.7})).position[1, 2] for a in angles]
    a, b, c = np.polyfit(angles + 2.15, heights, 2)
    assert -b / (2 * a) - 2.15 == pytest.approx(-2.15201, abs=2e-4)
    assert c - b * b / (4 * a) == pytest.approx(2.79183, abs=6e-6)

    hangs = light.equilibrium(light.assemble(guess={"A": 0.67, "D": 3.1})).state
    assert light.attitude(hangs).position[1, 2] == pytest.approx(-3.7, abs=1e-3)


# ---------------------------------------------------------------- H12: Newton's method (4.3.1)
NEWTON = [
    (0.0, 2.0, [1.750000, 1.708333, 1.707108]),
    (np.pi / 4, 1.0, [0.853553, 0.780330, 0.743718, 0.725413]),
    (3 * np.pi / 8, 1.0, [0.404979, -7.535093, -3.553878, -1.540691, -0.487094, 0.151038, 1.029996]),
]


@pytest.mark.parametrize("time, q, wanted", NEWTON, ids=["quadratic", "linear", "no solution"])
def test_h12_newtons_method_on_residuals_and_partials(time, q, wanted):
    """Three kinds of convergence of the same equation; misprints of the tables: see the notes of 4.3."""
    system = tm.System("slider", gravity=NONE)
    system.connect("q", tm.Prismatic("x"), system.ground, system.body("slider", *UNIT))
    system.couple("rod", tm.Relation(lambda q, t: (q[0] - cos(t)) ** 2 + sin(t) ** 2 - 0.5), "q")
    mech = system.build()
    for value in wanted:
        found = mech.constraints(mech.state(t=time, q={"q": q}))
        q -= found.residual[0] / found.partials[0, 0]
        assert q == pytest.approx(value, abs=1e-6 if abs(value) < 5 else 2e-6)
    if time == 0.0:
        assert mech.assemble(t=time, guess={"q": 2.0}).q[0] == pytest.approx(1 + np.sqrt(0.5), abs=1e-12)
    elif time > 1.0:
        with pytest.raises(tm.TreemechError, match="'rod'"):
            mech.assemble(t=time, guess={"q": 1.0})


# ---------------------------------------------------------------- H17: pendulum with a torsion spring (6.5.1)
@pytest.mark.parametrize("stiffness, rest", [(4.0, 0.0), (30.0, 2.0), (9.0, -1.0)])
def test_h17_pendulum_on_a_torsion_spring(stiffness, rest):
    mass, half = 1.3, 0.4
    system = tm.System("sprung pendulum", gravity=(0, -9.81, 0))
    bar = system.body("bar", **tm.solids.rod((0, 0, 0), (2 * half, 0, 0), mass=mass).properties)
    system.connect(
        "spring",
        tm.RotationalSpring(stiffness, angle=rest),
        system.connect("pin", tm.Revolute("z"), system.ground, bar),
    )
    mech = system.build()
    phi = mech.equilibrium(mech.state(q={"pin": -0.8})).state.q[0]
    assert stiffness * (phi - rest) + mass * 9.81 * half * np.cos(phi) == pytest.approx(0.0, abs=1e-9)


# ---------------------------------------------------------------- H18: four-bar 4-6-6-4 (3.5.2, 4.5.3)
def test_h18_rates_of_the_coupler():
    mech = haug_four_bar.system(4.0, 6.0, 6.0, (4.0, 0.0), np.pi / 3, np.pi).build()
    run = mech.kinematics([0.0, 0.1], mech.assemble(guess={"B": -0.9, "D": 0.9}))
    middle = run.point("coupler", (3, 0, 0))
    np.testing.assert_allclose(middle.position[0, :2], [4.9494897, 4.0122898], atol=6e-8)
    np.testing.assert_allclose(middle.velocity[0, :2], [-11.216579, 8.079082], atol=6e-7)
    one, two, three = (angle(run.body(name).rotation[0]) for name in ("crank", "coupler", "follower"))
    rate = -2 / 3 * np.pi * np.sin(one - two) / np.sin(two - three)  # printed without the 1/3
    assert run.connection("D").u[0] == pytest.approx(rate, abs=1e-12)


# ---------------------------------------------------------------- H21: small driven linkages
def test_h21_two_link_arm_is_the_sum_of_two_circular_motions():
    w1, w2 = 0.7, 1.9
    system = tm.System("arm", gravity=NONE)
    one, two = system.body("one", *UNIT), system.body("two", *UNIT)
    system.connect("A", tm.Revolute("z"), system.ground, one)
    system.connect("B", tm.Revolute("z"), one.at((1, 0, 0)), two)
    system.prescribe("A", tm.Polynomial([0.0, w1]))
    system.prescribe("B", tm.Polynomial([0.0, w2]))
    mech = system.build()
    run = mech.kinematics(np.linspace(0, 3, 31), mech.assemble())
    tip, turns = run.point("two", (1, 0, 0)), [(w, np.exp(1j * w * run.t)) for w in (w1, w1 + w2)]
    for k, part in enumerate((tip.position, tip.velocity, tip.acceleration)):
        wanted = sum((1j * w) ** k * turn for w, turn in turns)
        np.testing.assert_allclose(part[:, 0] + 1j * part[:, 1], wanted, atol=1e-12)


def test_h21_rocker_driven_by_its_piston():
    rod, w = 1.6, 2.0
    system = tm.System("rocker", gravity=NONE)
    crank, link, piston = (system.body(name, *UNIT) for name in ("crank", "link", "piston"))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((1, 0, 0)), link.at((0, -rod, 0)))
    system.connect("C", tm.Revolute("z"), link, piston)
    system.connect("D", tm.Prismatic("x"), system.ground, piston)
    system.prescribe("D", tm.Harmonic(amplitude=0.5, frequency=w, offset=np.sqrt(rod**2 - 1)))
    mech = system.build()
    run = mech.kinematics(np.linspace(0, 0.6, 25), mech.assemble(guess={"A": 1.5, "D": 1.2}))
    for k, t in enumerate(run.t):
        one, two = angle(run.body("crank").rotation[k]), angle(run.body("link").rotation[k])
        # (3.5.4) with phi2 of the book: the rod along (sin, -cos) from the crank
        assert np.cos(one) - rod * np.sin(two) == pytest.approx(run.connection("D").q[k], abs=1e-12)
        rate = w * np.sin(two) * np.cos(w * t) / (2 * np.cos(one - two))
        assert abs(run.connection("A").u[k]) == pytest.approx(abs(rate), abs=1e-11)


def excavator(second):
    """Boom of 2 sqrt(3) m on two cylinders; the second one a distance, or a drive of the joint between both bodies."""
    system = tm.System("excavator", gravity=NONE)
    boom, arm = system.body("boom", *UNIT), system.body("arm", *UNIT)
    system.connect("phi1", tm.Revolute("z"), system.ground, boom)
    system.connect("joint", tm.Revolute("z"), boom.at((2 * np.sqrt(3), 0, 0)), arm)
    middle, top = boom.at((np.sqrt(3), 0, 0)), boom.at((2 * np.cos(np.pi / 6), 2 * np.sin(np.pi / 6), 0))
    system.connect("C41", tm.Distance(tm.Polynomial([1.8, 0.2])), system.ground.at((0.5, -0.5, 0)), middle)
    if second == "distance":
        system.connect("C12", tm.Distance(tm.Polynomial([1.9, 0.1])), top, arm.at((0, 0.5, 0)))
    else:
        system.prescribe("joint", tm.Polynomial([-0.2, 0.1]))
    mech = system.build()
    return mech.kinematics([0.0, 0.5, 1.0], mech.assemble(guess={"phi1": 0.68, "joint": -0.2}))


def test_h21_excavator_boom_on_two_cylinders():
    run = excavator("distance")
    phi, rate = run.connection("phi1").q, run.connection("phi1").u
    np.testing.assert_allclose(
        rate, (run.t + 9) / (12.5 * np.sqrt(3) * (np.sin(phi) + np.cos(phi))), rtol=1e-11
    )
    second = phi + run.connection("joint").q, rate + run.connection("joint").u
    assert (phi[0], rate[0]) == pytest.approx((0.679053, 0.2956087), abs=6e-7)
    assert (second[0][0], second[1][0]) == pytest.approx((0.481184, 0.0950636), abs=6e-7)


def test_h21_excavator_boom_with_a_rotational_drive():
    run = excavator("angle")
    rate = run.connection("phi1").u
    np.testing.assert_allclose(run.body("arm").angular_velocity[:, 2], rate + 0.1, rtol=1e-12)


def test_h21_wrecker_boom():
    system = tm.System("wrecker", gravity=NONE)
    boom, jib = system.body("boom", *UNIT), system.body("jib", *UNIT)
    system.connect("phi1", tm.Revolute("z"), system.ground, boom)
    system.connect("reach", tm.Prismatic("x"), boom, jib)
    system.prescribe("phi1", tm.Polynomial([0.0, 0.025]))
    system.prescribe("reach", tm.Polynomial([0.0, 0.1]))
    mech = system.build()
    run = mech.kinematics(np.linspace(0, 40, 9), mech.assemble())
    (x, y, _), (vx, vy, _) = run.body("jib").position.T, run.body("jib").velocity.T
    np.testing.assert_allclose(vx, -0.025 * y + 0.1 * np.cos(0.025 * run.t), atol=1e-13)
    np.testing.assert_allclose(vy, 0.025 * x + 0.1 * np.sin(0.025 * run.t), atol=1e-13)
    np.testing.assert_allclose(run.body("jib").angular_velocity[:, 2], 0.025, rtol=1e-13)


def test_h21_a_point_that_follows_a_slot():
    """Outline 5/4 - cos(3 alpha) / 4, its point straight above the shaft: y = l + 5/4 + sin(3 phi) / 4."""
    around = np.linspace(0, 2 * np.pi, 361)[:-1]
    radius = 1.25 - 0.25 * np.cos(3 * around)
    outline = np.column_stack((radius * np.cos(around), radius * np.sin(around), 0 * around))
    system = tm.System("lifter", gravity=NONE)
    cam, lifter = system.body("cam", *UNIT), system.body("lifter", *UNIT)
    system.connect("phi1", tm.Revolute("z"), system.ground, cam)
    system.connect("y", tm.Prismatic("y"), system.ground, lifter)
    system.connect(
        "slot",
        tm.PointOnCurve(outline, np.append(around, 2 * np.pi), closed=True, start=np.pi / 2),
        cam,
        lifter,
    )
    system.prescribe("phi1", tm.Polynomial([0.0, 0.8]))
    mech = system.build()
    run = mech.kinematics(np.linspace(0, 2.0, 21), mech.assemble(guess={"y": 1.25}))
    phi, y = run.connection("phi1").q, run.connection("y")
    np.testing.assert_allclose(y.q, 1.25 + 0.25 * np.sin(3 * phi), atol=1e-8)
    np.testing.assert_allclose(y.u, 0.75 * 0.8 * np.cos(3 * phi), atol=1e-6)  # printed for phi' = 1


# ---------------------------------------------------------------- H24: a body on a horizontal axis (11.1.2)
def test_h24_bearing_torques_of_an_oblique_pendulum():
    mass, com = 1.7, np.array([0.05, 0.03, -0.11])
    J = np.array(
        [[0.30, 0.04, -0.03], [0.04, 0.25, 0.06], [-0.03, 0.06, 0.28]]
    )  # about the axis, in body axes
    central = J - mass * (com @ com * np.eye(3) - np.outer(com, com))
    system = tm.System("oblique pendulum", gravity=(0, 0, -9.81))
    body = system.body("body", mass, central, com=com)
    system.connect("axis", tm.Revolute("y"), system.ground, body)
    mech = system.build()
    run = mech.simulate((0, 1), mech.state(q={"axis": 0.4}, u={"axis": 1.2}), rtol=1e-10)
    for k in range(0, len(run.t), max(1, len(run.t) // 9)):
        phi, rate, second = (
            part[k]
            for part in (run.connection("axis").q, run.connection("axis").u, run.connection("axis").ud)
        )
        weight = (
            mass
            * 9.81
            * np.array(
                [-com[1] * np.cos(phi), com[2] * np.sin(phi) + com[0] * np.cos(phi), -com[1] * np.sin(phi)]
            )
        )
        assert J[1, 1] * second == pytest.approx(weight[1], abs=1e-11)
        torque = [
            J[2, 1] * rate**2 + J[0, 1] * second - weight[0],
            -J[0, 1] * rate**2 + J[2, 1] * second - weight[2],
        ]
        own = run.body("body").rotation[k].T @ run.connection("axis").moment[k]
        np.testing.assert_allclose([own[0], own[2]], torque, atol=1e-10)
        assert own[1] == pytest.approx(0.0, abs=1e-10)
