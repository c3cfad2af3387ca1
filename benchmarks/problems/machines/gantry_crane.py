"""A gantry crane that stops without swing: the trolley accelerates for exactly one swing of the load, then brakes for one.

Under constant acceleration a the load swings about the slope atan(a/g) of what it feels as gravity, from 0 to twice that, and back
to rest; the time of this swing is an elliptic integral, so it is exact for large angles too. In between the trolley rolls on
with a load at rest. Rope and load are a pendulum of 8 m; the trolley is driven by its place. All numbers are ours.
"""

from math import atan, hypot, sin

import numpy as np
from scipy.special import ellipk

import treemech as tm

G, ROPE, TROLLEY, LOAD = 9.81, 8.0, 1200.0, 3000.0
PULL, CRUISE = 0.6, 3.0  # acceleration [m/s2], time without [s]
SLOPE = atan(PULL / G)
SWING = float(4 * np.sqrt(ROPE / hypot(PULL, G)) * ellipk(sin(SLOPE / 2) ** 2))  # there and back
TOP = PULL * SWING
DURATION = 2 * SWING + CRUISE + 4.0
PLOTS = [("trolley.q",), ("rope.q",), ("drive",)]


def system() -> tm.System:
    a, b, c = SWING, SWING + CRUISE, 2 * SWING + CRUISE  # accelerates until a, rolls until b, brakes until c

    def place(t: float) -> float:
        if t < a:
            return 0.5 * PULL * t * t
        if t < b:
            return 0.5 * PULL * a * a + TOP * (t - a)
        if t < c:
            return 0.5 * PULL * a * a + TOP * (t - a) - 0.5 * PULL * (t - b) * (t - b)
        return PULL * a * a + TOP * (b - a)

    system = tm.System("gantry crane", gravity=(0, 0, -G))
    trolley = system.body("trolley", **tm.solids.box((1.5, 2.0, 0.6), mass=TROLLEY).properties)
    load = system.body("load", **tm.solids.point(LOAD, at=(0, 0, -ROPE)).properties)
    system.connect("trolley", tm.Prismatic("x"), system.ground.at((0, 0, 12)), trolley)
    system.connect("rope", tm.Revolute((0, -1, 0)), trolley, load)
    system.prescribe("trolley", tm.Function(place, break_times=(a, b, c)))
    system.measure("drive", lambda run: run.drive("trolley"))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state()


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    angle, rate = run.connection("rope").q, run.connection("rope").u
    phases = [(run.t > a) & (run.t < b) for a, b in ((SWING, SWING + CRUISE), (2 * SWING + CRUISE, DURATION))]
    return {
        "largest swing [rad]": [angle.max(), -angle.min()],
        "swing while it rolls [rad]": np.abs(angle[phases[0]]).max(),
        "swing after it stopped [rad]": np.abs(angle[phases[1]]).max(),
        "rate after it stopped [rad/s]": np.abs(rate[phases[1]]).max(),
        "way of the trolley [m]": run.connection("trolley").q[-1],
    }


KNOWN = {
    "largest swing [rad]": (
        [2 * SLOPE, 2 * SLOPE],
        2e-4,
        "closed form: symmetric about the slope; outputs 0.04 s apart",
    ),
    "swing while it rolls [rad]": (0.0, 1e-7, "closed form: elliptic integral"),
    "swing after it stopped [rad]": (0.0, 1e-7, "closed form: elliptic integral"),
    "rate after it stopped [rad/s]": (0.0, 1e-7, "closed form: elliptic integral"),
    "way of the trolley [m]": (TOP * (SWING + CRUISE), 1e-9, "closed form"),
}
