"""Haug's double pendulum with one freedom (3.6.2): the tip of the second bar slides on y = -1.

Bars of 1 m, driven at 5 pi/3 + pi t/6. Numbers of t = 0: printed to four digits, recomputed in closed form to seven; the
linkage locks where the second bar is upright. The masses are ours.
"""

import numpy as np

import treemech as tm

from .haug_four_bar import locks_at

DURATION = 1.9
PLOTS = [("B.q",), ("B.u",), ("B.ud",)]
CLOSED = "closed form; printed to four digits"
KNOWN = {
    "x, y, angle of bar 1": ((0.5, -0.866025, 5.235988), 6e-7, CLOSED),
    "x, y, angle of bar 2": ((1.490985, -1.0, 6.148807), 6e-7, CLOSED),
    "velocity of bar 1": ((0.453450, 0.261799, 0.523599), 6e-7, CLOSED),
    "velocity of bar 2": ((0.418056, 0.0, -0.264181), 6e-7, CLOSED),
    "acceleration of bar 1": ((-0.137078, 0.237426, 0.0), 6e-7, CLOSED),
    "acceleration of bar 2": ((-0.239603, 0.0, -0.249021), 6e-7, CLOSED),
    "time of lock-up": (2.0, 1e-9, "closed form: cos(phi2) = 0"),
}


def system() -> tm.System:
    system = tm.System("double pendulum with one freedom", gravity=(0, -9.81, 0))
    bar = tm.solids.rod((0, 0, 0), (1, 0, 0), mass=1.0).properties
    one, two = system.body("bar 1", **bar), system.body("bar 2", **bar)
    system.connect("A", tm.Revolute("z"), system.ground, one)
    system.connect("B", tm.Revolute("z"), one.at((1, 0, 0)), two)
    system.connect("line", tm.InLine("x"), system.ground.at((0, -1, 0)), two.at((1, 0, 0)))
    system.prescribe("A", tm.Polynomial([5 * np.pi / 3, np.pi / 6]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={"B": 0.9})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    angles = [np.cumsum(x[0, :2]) for x in (run.q, run.u, run.ud)]
    found: dict = {"time of lock-up": locks_at(mech.kinematics(np.linspace(0, 3, 21), state(mech)))}
    for k in range(2):
        tip = run.point(f"bar {k + 1}", (1, 0, 0))
        places = (tip.position, tip.velocity, tip.acceleration)
        for name, place, angle in zip(
            ("x, y, angle", "velocity", "acceleration"), places, angles, strict=True
        ):
            found[f"{name} of bar {k + 1}"] = (*place[0, :2], angle[k])
    return found
