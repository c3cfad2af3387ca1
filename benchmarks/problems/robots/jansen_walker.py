"""Theo Jansen's mechanism walks: a hull on six legs, moved by one driven shaft with three cranks, over a level floor.

The legs are those of `jansen_leg`, three and three mirrored, a third of a turn apart; all move in one plane: 38 bodies in 18
closed chains. The feet are small balls that press on the floor and rub (Hertz, Coulomb). Lengths are printed; masses,
floor and speed are ours. Standing feet hardly slip, so the hull gains in a turn what the feet travel under it.
"""

from math import pi

import numpy as np

import treemech as tm

from . import jansen_leg as leg

PERIOD, SOLE = 1.6, 0.02  # of a turn [s]; radius of a foot [m]
CRANKS = (0.0, 2 * pi / 3, 4 * pi / 3)
DURATION = 2 * PERIOD
SIMULATE = {"rtol": 1e-8}  # 1e-7 leaves 3e-6 of the energy open: soles that come and go are kinks
PLOTS = [("hull.position[0]",), ("hull.position[1]",), ("hull.velocity[0]",)]


def system() -> tm.System:
    system = tm.System("Jansen's walker", gravity=(0, -9.81, 0))
    hull = system.body("hull", **tm.solids.box((1.0, 0.1, 0.4), mass=6.0).properties)
    shaft = system.body("shaft", **tm.solids.disk(leg.M, axis="z", mass=0.5).properties)
    system.connect("walk", tm.Planar("z"), system.ground, hull)
    system.connect("shaft", tm.Revolute("z"), hull, shaft)
    floor = system.ground.at(rotation=[[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # z of this base points up
    sole = tm.SpherePlane(SOLE, stiffness=2e5, damping=1.0, friction=0.9, slip_speed=0.01)
    for k, angle in enumerate(CRANKS):
        for side, mirror in ("front", -1.0), ("back", 1.0):
            name = f"{side} {k} "
            foot = leg.add_leg(system, hull, shaft, angle, name, mirror)
            system.connect(name + "foot", sole, floor, foot)
    system.prescribe("shaft", tm.Polynomial([0.0, -2 * pi / PERIOD]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    height = SOLE - min(leg.joints(angle)["foot"][1] for angle in CRANKS)
    return mech.assemble(fix={"walk": [0.0, height, 0.0]})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    hull = run.body("hull")
    gained = hull.position[:, 0] - np.interp(run.t - PERIOD, run.t, hull.position[:, 0])
    second = run.t >= PERIOD
    return {
        "way in the second turn [m]": gained[-1],
        "rise and fall of the hull [m]": np.ptp(hull.position[second, 1]),
        "tilt of the hull [rad]": np.abs(run.connection("walk").q[:, 2]).max(),
        "degrees of freedom": mech.mobility(run.state(0)).dof,
    }


KNOWN = {
    "way in the second turn [m]": (
        1.379,
        0.04,
        "recomputed: mean travel of the two feet it stands on, without slip or tilt",
    ),
    "degrees of freedom": (3, 1e-9, "the hull in its plane; the shaft is driven"),
}
