"""Gears and racks without a common carrier, against Willis' equation and reduced inertias."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm

SUN, PLANET = 0.03, 0.02
RING = SUN + 2 * PLANET
ARM = SUN + PLANET


def planetary(torque, pair=tm.GearPair):
    """Sun, carrier and one planet in a ring that is fixed to the ground."""
    system = tm.System("planetary", gravity=(0, 0, 0))
    sun, carrier = system.body("sun", 1.0, (1e-3,) * 3), system.body("carrier", 1.0, (2e-3,) * 3)
    planet = system.body("planet", 0.3, (4e-4,) * 3)
    system.connect("S", tm.Revolute("z"), system.ground, sun)
    system.connect("C", tm.Revolute("z"), system.ground, carrier)
    system.connect("P", tm.Revolute("z"), carrier.at((ARM, 0, 0)), planet)
    system.connect("sun-planet", pair(SUN, PLANET), sun, planet)
    system.connect("ring-planet", pair(-RING, PLANET), system.ground, planet)
    system.load("motor", tm.Moment(z=torque), sun)
    return system


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_a_planetary_gear_turns_by_willis_and_accelerates_by_its_reduced_inertia(method):
    torque = 0.2
    mech = planetary(torque).build()
    run = mech.simulate((0, 2.0), mech.assemble(fix={"S": 0.0}), method, rtol=1e-9)
    assert run.success, run.message
    ratio = SUN / (SUN + RING)  # carrier per sun (Willis, ring at rest)
    spin = -ratio * ARM / PLANET  # planet in the world, per sun
    inertia = 1e-3 + (2e-3 + 0.3 * ARM**2) * ratio**2 + 4e-4 * spin**2
    turned = 0.5 * torque / inertia * run.t**2
    assert turned[-1] > 20 * np.pi
    assert_allclose(run.connection("S").q, turned, atol=1e-6 * turned[-1])
    assert_allclose(run.connection("C").q, ratio * turned, atol=1e-6 * turned[-1])
    assert_allclose(run.connection("P").q, (spin - ratio) * turned, atol=1e-6 * turned[-1])
    assert_allclose(
        run.u[-1] @ mech.mass_matrix(run.state(-1)) @ run.u[-1],
        inertia * (torque / inertia * 2.0) ** 2,
        rtol=1e-6,
    )


def test_gears_and_rolling_wheels_move_alike_and_both_have_one_freedom():
    torque = 0.2
    gears, wheels = planetary(torque).build(), planetary(torque, tm.RollingWheel).build()
    one = gears.simulate((0, 1.0), gears.assemble(fix={"S": 0.0}), rtol=1e-10).q[-1]
    two = wheels.simulate((0, 1.0), wheels.assemble(fix={"S": 0.0}), rtol=1e-10).q[-1]
    assert_allclose(one, two, rtol=1e-6)
    assert gears.mobility(gears.assemble(fix={"S": 0.0})).dof == 1  # holonomic: positions are coupled


def test_the_phase_says_how_the_teeth_stand():
    system = tm.System("pair", gravity=(0, 0, 0))
    a, b = system.body("a", 1.0, (1, 1, 1)), system.body("b", 1.0, (1, 1, 1))
    system.connect("A", tm.Revolute("z"), system.ground, a)
    system.connect("B", tm.Revolute("z"), system.ground.at((3, 0, 0)), b)
    system.connect("mesh", tm.GearPair(1.0, 2.0, phase=0.4), a, b)
    mech = system.build()
    for angle in (0.0, 0.5, 7.0):
        found = mech.assemble(fix={"A": angle})["B"][0][0]
        # seen from a: centres at -angle, b at found - angle; 1.5 (-angle) - (found - angle) = 0.4
        assert_allclose(
            np.sin(found + 0.4 + 0.5 * angle), 0.0, atol=1e-9
        ) if angle > np.pi else assert_allclose(found, -0.4 - 0.5 * angle, atol=1e-9)


def test_a_rack_on_a_slide_turns_a_pinion_on_a_moving_support():
    """The support of the pinion slides along the rack; the rack is pulled: rack, support and pinion share the work."""
    radius = 0.1
    system = tm.System("rack", gravity=(0, 0, 0))
    rack, support = system.body("rack", 2.0, (1, 1, 1)), system.body("support", 3.0, (1, 1, 1))
    pinion = system.body("pinion", 0.5, (1e-3, 1e-3, 2e-3))
    system.connect("R", tm.Prismatic("x"), system.ground, rack)
    system.connect("S", tm.Prismatic("x"), system.ground.at((0, radius, 0)), support)
    system.connect("P", tm.Revolute("z"), support, pinion)
    system.connect("mesh", tm.RackPair(radius), rack, pinion)
    system.load("pull", tm.Force(x=4.0), rack)
    mech = system.build()
    run = mech.simulate((0, 3.0), mech.assemble(fix={"R": 0.0, "S": 0.0}), rtol=1e-10)
    assert run.success, run.message
    # x_S - x_R + radius phi = 0: the contact force F obeys 2 a = 4 - F, 3.5 b = F, J alpha = F radius, b - a + radius alpha = 0
    F = (4.0 / 2.0) / (1 / 2.0 + 1 / 3.5 + radius**2 / 2e-3)
    half = 0.5 * run.t[-1] ** 2
    assert_allclose(run.connection("R").q[-1], (4.0 - F) / 2.0 * half, rtol=1e-7)
    assert_allclose(run.connection("S").q[-1], F / 3.5 * half, rtol=1e-7)
    assert_allclose(run.connection("P").q[-1], F * radius / 2e-3 * half, rtol=1e-7)


@pytest.mark.parametrize("pair", [tm.GearPair, tm.RollingWheel])
def test_radii_that_cannot_touch_are_refused(pair):
    for radii in ((1.0, -1.0), (-1.0, -2.0), (0.0, 1.0)):
        with pytest.raises(tm.ElementError, match=pair.__name__):
            pair(*radii)
