"""A leg of Theo Jansen's walking mechanism: eleven lengths that make a foot go to and fro on a nearly level line.

Printed are the lengths ("holy numbers"), here in cm; masses are ours. The crank turns once in 2 s. Every joint follows
from two before it by circles that meet, so the path of the foot is known in closed form. `jansen_walker` has four legs.
"""

from itertools import combinations
from math import cos, pi, sin

import numpy as np

import treemech as tm

CM = 0.01
A, B, C, D, E, F, G, H, I, J, K, L, M = (
    CM * x for x in (38.0, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49.0, 50.0, 61.9, 7.8, 15.0)
)
PERIOD = 2.0
DURATION = PERIOD
PLOTS = [("foot along", "foot above"), ("torque",)]


def meet(p, r, q, s):
    """Return the point at the distance r from p and s from q, to the left of the way from p to q."""
    gap = np.subtract(q, p)
    d = np.hypot(*gap)
    x = (d**2 + r**2 - s**2) / (2 * d)
    return p + (x * gap + np.sqrt(r**2 - x**2) * np.array([-gap[1], gap[0]])) / d


def joints(angle: float) -> dict[str, np.ndarray]:
    """Return all joints for an angle of the crank, by circles; the shaft is the origin."""
    fixed, end = np.array([-A, -L]), M * np.array([cos(angle), sin(angle)])
    knee = meet(fixed, B, end, J)
    back = meet(fixed, D, knee, E)
    hip = meet(end, K, fixed, C)
    ankle = meet(hip, G, back, F)
    return {
        "fixed": fixed,
        "end": end,
        "knee": knee,
        "back": back,
        "hip": hip,
        "ankle": ankle,
        "foot": meet(hip, I, ankle, H),
    }


def add_leg(system: tm.System, hull, crank, angle: float, name="", mirror=1.0):
    """Add a leg to a crank whose end is at an angle from that of the crank's x axis; return its foot.

    `mirror=-1` makes the leg on the other side of the shaft. All frames are those of the hull at the crank angle 0.
    """
    at = {
        joint: np.array([mirror * x, y, 0.0])
        for joint, (x, y) in joints(angle if mirror > 0 else pi - angle).items()
    }
    pin = tm.Revolute("z")

    def part(title, *corners):
        """Return the ends of a bar between two joints, or of a triangle of three bars."""
        start, sides = at[corners[0]], list(combinations(corners, 2))
        rods = [tm.solids.rod(at[a] - start, at[b] - start, density=1.0) for a, b in sides]
        body = system.body(name + title, **tm.solids.composite(*rods).properties)
        return {corner: body.at(at[corner] - start) for corner in corners}

    upper, rod = part("upper", "fixed", "knee", "back"), part("upper rod", "end", "knee")
    lower, long = part("lower", "fixed", "hip"), part("lower rod", "end", "hip")
    shin, brace = part("shin", "hip", "ankle", "foot"), part("brace", "back", "ankle")
    system.connect(name + "fixed upper", pin, hull.at(at["fixed"]), upper["fixed"])
    system.connect(name + "fixed lower", pin, hull.at(at["fixed"]), lower["fixed"])
    system.connect(name + "end upper", pin, crank.at(at["end"]), rod["end"])
    system.connect(name + "end lower", pin, crank.at(at["end"]), long["end"])
    system.connect(name + "knee", pin, rod["knee"], upper["knee"])
    system.connect(name + "hip", pin, lower["hip"], shin["hip"])
    system.connect(name + "hip lower", pin, long["hip"], shin["hip"])
    system.connect(name + "back", pin, upper["back"], brace["back"])
    system.connect(name + "ankle", pin, brace["ankle"], shin["ankle"])
    return shin["foot"]


def system() -> tm.System:
    system = tm.System("Jansen's leg", gravity=(0, -9.81, 0))
    crank = system.body("crank", **tm.solids.rod((0, 0, 0), (M, 0, 0), density=1.0).properties)
    system.connect("shaft", tm.Revolute("z"), system.ground, crank)
    add_leg(system, system.ground, crank, 0.0)
    system.prescribe("shaft", tm.Polynomial([0.0, 2 * pi / PERIOD]))
    system.measure("foot along", lambda run: foot(run)[:, 0])
    system.measure("foot above", lambda run: foot(run)[:, 1])
    system.measure("torque", lambda run: run.drive("shaft"))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble()


def foot(run: tm.Run, name: str = "") -> np.ndarray:
    """Return the path of a foot."""
    at = joints(0.0)
    return run.point(name + "shin", (*(at["foot"] - at["hip"]), 0)).position[:, :2]


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    path, turn = foot(run), run.connection("shaft").q
    closed = np.array([joints(a)["foot"] for a in turn])
    low = closed[:, 1] < closed[:, 1].min() + 0.005
    return {
        "foot off its path": np.abs(path - closed).max(),
        "degrees of freedom": mech.mobility(run.state(0)).dof,
        "length of the step, level to 5 mm [m]": np.ptp(path[low, 0]),
        "height of the step [m]": np.ptp(path[:, 1]),
    }


KNOWN = {
    "foot off its path": (0.0, 1e-10, "closed form: five times two circles"),
    "degrees of freedom": (0, 1e-9, "one, which the crank drives"),
}
