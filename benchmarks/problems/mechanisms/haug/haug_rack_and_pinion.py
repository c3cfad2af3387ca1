"""Haug's slider with rack and pinion (3.4.2): the rack hangs on a piston and turns a pinion of radius 0.2 m.

The rack is in mesh with a pinion on the ground, and turns about the pin of the piston. Printed to four digits at x = 0.8 m,
x' = 0.3 m/s: 0.0968 and -1.4524 rad/s; recomputed in closed form. Masses and the length l of the rack are ours.
"""

import numpy as np

import treemech as tm

DURATION = 1.0
PLOTS = [("x.q",), ("pinion.u", "rack.u")]
KNOWN = {
    "rates of rack and pinion": ((0.0968246, -1.4523688), 6e-8, "closed form; printed 0.0968, -1.4524"),
    "x sin(phi1) + 0.2, largest": (0.0, 1e-12, "the equations of the example"),
    "x cos(phi1) - l - 0.2 (phi1 - phi2), largest": (0.0, 1e-12, "the equations of the example"),
}
R, LENGTH = 0.2, 0.5


def system(radius: float = R, length: float = LENGTH) -> tm.System:
    system = tm.System("rack and pinion of Haug", gravity=(0, -9.81, 0))
    piston = system.body("piston", **tm.solids.box((0.1, 0.1, 0.1), mass=1.0).properties)
    rack = system.body("rack", **tm.solids.rod((0, 0, 0), (-1.2, 0, 0), mass=0.6).properties)
    pinion = system.body("pinion", **tm.solids.cylinder(radius, 0.05, mass=2.0).properties)
    system.connect("x", tm.Prismatic("x"), system.ground, piston)
    system.connect("rack", tm.Revolute("z"), piston, rack)
    system.connect("pinion", tm.Revolute("z"), system.ground, pinion)
    system.connect("distance", tm.RelativeOffset("y", -radius), rack, pinion)  # the pinion is below the rack
    system.connect("teeth", tm.RackPair(-radius, offset=-length), rack, pinion)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(fix={"x": 0.8}, guess={"rack": -0.25}, rates={"x": 0.3})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    x, rack, pinion = (run.connection(name).q for name in ("x", "rack", "pinion"))
    return {
        "rates of rack and pinion": (run.connection("rack").u[0], run.connection("pinion").u[0]),
        "x sin(phi1) + 0.2, largest": np.max(np.abs(x * np.sin(rack) + R)),
        "x cos(phi1) - l - 0.2 (phi1 - phi2), largest": np.max(
            np.abs(x * np.cos(rack) - LENGTH - R * (rack - pinion))
        ),
    }
