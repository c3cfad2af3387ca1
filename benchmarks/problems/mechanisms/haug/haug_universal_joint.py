"""Two shafts joined by a universal joint (Haug 9.4.7): tan(theta1) = tan(theta2) cos(phi).

The driving shaft turns at constant speed, the other one at a speed that swings between cos(phi) and 1 / cos(phi) of it.
Closed form; shafts and masses are ours.
"""

import numpy as np

import treemech as tm

from ...extremes import extremes

DURATION = 1.0
PLOTS = [("out.u", "in.u"), ("out.ud",)]
ANGLE, RATE = np.radians(30.0), 2 * np.pi
KNOWN = {
    "tan(theta1) - tan(theta2) cos(phi), largest": (0.0, 1e-12, "closed form, times the cosines"),
    "speed of the driven shaft": ((RATE * np.cos(ANGLE), RATE / np.cos(ANGLE)), 1e-8, "closed form"),
    "power balance of the drive, largest": (
        0.0,
        1e-9,
        "driving torque times speed is the rate of the energy",
    ),
}


def system(angle: float = ANGLE, rate: float = RATE) -> tm.System:
    """The joint is at the origin; its cross turns in the fork of each shaft."""
    system = tm.System("universal joint of Haug", gravity=(0, 0, -9.81))
    shaft = tm.solids.cylinder(0.05, 1.0, axis="z", mass=5.0)
    first = system.body("first", **shaft.moved((0, 0, -0.5)).properties)
    second = system.body(
        "second", **(shaft.moved((0, 0, 0.5)) + tm.solids.disk(0.3, mass=8.0).moved((0, 0, 1.0))).properties
    )
    c, s = np.cos(angle), np.sin(angle)
    tilted = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    system.connect("in", tm.Revolute("z"), system.ground.at((0, 0, -1)), first.at((0, 0, -1)))
    system.connect("joint", tm.Universal(), first, second)
    system.connect("out", tm.Revolute("z"), system.ground.at(tilted[:, 2], tilted), second.at((0, 0, 1)))
    system.prescribe("in", tm.Polynomial([0.0, rate]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={"out": 0.0, "joint": (0.0, ANGLE)})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    one, two = run.connection("in"), run.connection("out")
    gap = np.sin(one.q) * np.cos(two.q) - np.sin(two.q) * np.cos(ANGLE) * np.cos(one.q)
    swing = 8.0 * 0.3**2 / 2 + 5.0 * 0.05**2 / 2  # inertia of the driven shaft about its axis
    return {
        "tan(theta1) - tan(theta2) cos(phi), largest": np.max(np.abs(gap)),
        "speed of the driven shaft": extremes(two.u),
        "power balance of the drive, largest": np.max(
            np.abs(run.drive("in") * one.u - swing * two.u * two.ud)
        ),
    }
