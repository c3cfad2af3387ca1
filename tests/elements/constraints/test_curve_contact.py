"""A roller that rolls on a cam: Sol's kinematics of the pump (9.2), and energy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm

BASE, ROLLER, LIFT = 16e-3, 12e-3, 10e-3
SHAFT = 104.7197551


def pump(profile, motion=None):
    """Shaft with a cam, plunger along y, roller on the plunger."""
    system = tm.System("pump", gravity=(0, 0, 0))
    shaft, plunger = system.body("shaft", 1.0, (1e-3,) * 3), system.body("plunger", 0.25, (1e-5,) * 3)
    roller = system.body("roller", 0.06, (5e-6,) * 3)
    system.connect("shaft", tm.Revolute("z"), system.ground, shaft)
    system.connect("guide", tm.Prismatic("y"), system.ground, plunger)
    system.connect("pin", tm.Revolute("z"), plunger, roller)
    system.connect(
        "cam",
        tm.CamFollower(profile, "roller", radius=ROLLER, start=0.5 * np.pi * BASE, rolling=True),
        shaft,
        roller,
    )
    if motion is not None:
        system.prescribe("shaft", motion)
    return system.build()


def test_a_roller_on_the_base_circle_turns_as_the_thesis_prints():
    """R_r q4' = speed of the roller centre in the cam: 244.35 rad/s in the world frame less the shaft's own turn."""
    mech = pump(tm.Profile.circle(BASE), lambda t: -104.7197551 * t)
    start = mech.assemble(guess={"guide": BASE + ROLLER}, rates={"shaft": -SHAFT})
    run = mech.kinematics(np.linspace(0, 0.06, 13), start)
    assert_allclose(run.connection("guide").q, BASE + ROLLER, rtol=1e-12)
    # the surfaces have one speed: radius times angle are equal and opposite, in the world
    assert_allclose(run.connection("pin").u, SHAFT * BASE / ROLLER, rtol=1e-9)
    relative = run.connection("pin").u + SHAFT  # seen from the cam: R_r q4' = (R_b + R_r) q1'
    assert_allclose(relative, SHAFT * (BASE + ROLLER) / ROLLER, rtol=1e-9)
    assert_allclose(relative, 244.35, rtol=1e-4)
    assert_allclose(run.connection("pin").q[-1], SHAFT * BASE / ROLLER * 0.06, rtol=1e-7)


def test_a_rolling_roller_does_not_slip_and_loses_no_energy():
    profile = tm.Profile.circle(BASE, centre=(0.4 * LIFT, 0.0))
    mech = pump(profile)
    start = mech.assemble(fix={"shaft": 0.0}, guess={"guide": BASE + ROLLER}, rates={"shaft": 30.0})
    run = mech.simulate((0, 0.5), start, rtol=1e-9)
    assert run.success, run.message
    assert_allclose(run.energy.total, run.energy.total[0], rtol=1e-6)
    # independent: velocity of both bodies at the point of contact, on the line from roller centre to circle centre
    cam, roller = run.body("shaft"), run.body("roller")
    centre = cam.rotation @ np.array((0.4 * LIFT, 0.0, 0.0))
    n = roller.position - centre
    n /= np.linalg.norm(n, axis=1)[:, None]
    point = roller.position - ROLLER * n
    slip = (
        roller.velocity
        + np.cross(roller.angular_velocity, point - roller.position)
        - np.cross(cam.angular_velocity, point)
    )
    tangent = np.cross((0.0, 0.0, 1.0), n)
    assert (
        np.abs(np.sum(slip * tangent, axis=1)).max()
        < 1e-7 * np.abs(np.cross(cam.angular_velocity, point)).max()
    )


@pytest.mark.parametrize("options", [{"follower": "knife"}, {"follower": "flat", "unilateral": True}])
def test_rolling_is_refused_where_it_has_no_meaning(options):
    with pytest.raises(tm.ElementError, match="rolling needs a roller or a flat face that keeps touching"):
        tm.CamFollower(tm.Profile.circle(1.0), rolling=True, **options)
