"""Haug's gear-slider (5.5): three gears in mesh on centres that a link moves, and a slider on the last of them; two freedoms.

Gears of radii 0.2, 0.1 and 0.4 m; the rods between their centres have no mass. Numbers: closed form; printed are the assembled
position and the range of theta (upper limit printed 0.7330, inequality printed backwards). Masses are ours.
"""

import numpy as np

import treemech as tm

from ...extremes import extremes
from .haug_four_bar import locks_at

DURATION = 1.0
PLOTS = [("slider.q",), ("slider.u",), ("slider.ud",)]
CLOSED = "closed form"
KNOWN = {
    "slider at the start": (1.4928203, 6e-8, "closed form; printed 1.4928"),
    "speed of gear 4 over gear 2": (0.5, 1e-11, CLOSED),
    "range of the slider": ((1.07692, 1.66421), 6e-6, CLOSED),
    "speed of the slider": ((-2.1363, 1.7864), 6e-5, CLOSED),
    "acceleration of the slider": ((-15.568, 10.494), 6e-4, CLOSED),
    "acceleration, theta = 0.5236": ((-15.208, 8.774), 6e-4, CLOSED),
    "least and greatest theta": ((-0.12046, 0.74023), 6e-6, "closed form: the centres in line; printed -0.1204, 0.7330"),
}  # fmt: skip


def system(theta=0.0, rate: float = 4 * np.pi) -> tm.System:
    system = tm.System("gear-slider of Haug", gravity=(0, -9.81, 0))
    gears = [
        system.body(f"gear {k}", **tm.solids.disk(r, mass=20 * r).properties)
        for k, r in ((2, 0.2), (3, 0.1), (4, 0.4))
    ]
    link = system.body("link", **tm.solids.rod((0, 0, 0), (0, 0.8, 0), mass=2.0).properties)
    slider = system.body("block", **tm.solids.box((0.1, 0.06, 0.06), mass=1.0).properties)
    system.connect("gear 2", tm.Revolute("z"), system.ground, gears[0])
    system.connect("theta", tm.Revolute("z"), system.ground.at((0.6, -0.4, 0)), link)
    system.connect("gear 4", tm.Revolute("z"), link.at((0, 0.8, 0)), gears[2])
    system.connect("gear 3", tm.Planar("z"), system.ground, gears[1])
    system.connect("centres 2-3", tm.Distance(0.3), gears[0], gears[1])
    system.connect("centres 3-4", tm.Distance(0.5), gears[1], gears[2])
    system.connect("mesh 2-3", tm.GearPair(0.2, 0.1), gears[0], gears[1])
    system.connect("mesh 3-4", tm.GearPair(0.1, 0.4, phase=1.25 * np.arctan2(0.4, 0.3)), gears[1], gears[2])
    system.connect("slider", tm.Prismatic("x"), system.ground.at((0, 0.2, 0)), slider)
    system.connect("rod", tm.Distance(0.8), gears[2].at((0.2, 0.2, 0)), slider)
    system.prescribe("gear 2", tm.Polynomial([0.0, rate]))
    system.prescribe("theta", theta)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={"gear 3[0]": 0.3, "gear 3[1]": 0.0, "slider": 1.5})


def driven(mech: tm.Mechanism) -> tm.Run:
    """Return the motion of the drives, by kinematics alone."""
    return mech.kinematics(np.linspace(0.0, DURATION, 361), state(mech))


def limit(sense: float) -> float:
    """Return the angle theta at which the linkage locks if the gears stand still."""
    mech = system(tm.Polynomial([0.0, sense]), rate=0.0).build()
    return sense * locks_at(mech.kinematics(np.linspace(0, 1, 21), state(mech)))


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    slider, raised = run.connection("slider"), system(0.5236).build()
    turns = run.body("gear 4").angular_velocity[:, 2] / run.body("gear 2").angular_velocity[:, 2]
    return {
        "slider at the start": slider.q[0],
        "speed of gear 4 over gear 2": (turns.min(), turns.max()),
        "range of the slider": extremes(slider.q),
        "speed of the slider": extremes(slider.u),
        "acceleration of the slider": extremes(slider.ud),
        "acceleration, theta = 0.5236": extremes(driven(raised).connection("slider").ud),
        "least and greatest theta": (limit(-1.0), limit(1.0)),
    }
