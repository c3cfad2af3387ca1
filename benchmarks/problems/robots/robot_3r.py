"""The 3R robot of Sol's figure 1.2: an arm with three driven pins that runs a programme, and the torques it takes.

The thesis prints pictures only; numbers and programme are ours. The pins are prescribed, so `run.drive` has the torques of
the motors. They and the tip agree with Lagrange's equations of the same arm, written by hand below.
"""

import numpy as np
from numpy import cos, sin
from numpy.polynomial import Polynomial

import treemech as tm

HEIGHT, UPPER, LOWER = 0.6, 0.5, 0.4  # of column and arms [m]
COLUMN, M1, M2, LOAD, G = 12.0, 6.0, 3.0, 2.0, 9.81  # masses [kg]
MOVES = {"base": (0.0, 1.2), "shoulder": (0.3, -0.9), "elbow": (0.4, 1.5)}  # from, to [rad]
DURATION = 2.0
SIMULATE = {"rtol": 1e-9, "t_eval": np.linspace(0.0, DURATION, 81)}
PLOTS = [("base.q", "shoulder.q", "elbow.q"), ("torque of base", "torque of shoulder", "torque of elbow")]


def programme(start: float, end: float) -> list[float]:
    """Return the polynomial that goes from rest to rest in 2 s, with no acceleration at both ends."""
    step = end - start
    return [start, 0, 0, step * 10 / 8, -step * 15 / 16, step * 6 / 32]


def system() -> tm.System:
    system = tm.System("Sol, 3R robot", gravity=(0, 0, -G))
    column = system.body("column", **tm.solids.cylinder(0.1, HEIGHT, axis="z", mass=COLUMN).properties)
    upper = system.body("upper arm", **tm.solids.rod((0, 0, 0), (UPPER, 0, 0), mass=M1).properties)
    load = tm.solids.point(LOAD, at=(LOWER, 0, 0))
    lower = system.body("lower arm", **(tm.solids.rod((0, 0, 0), (LOWER, 0, 0), mass=M2) + load).properties)
    system.connect("base", tm.Revolute("z"), system.ground, column.at((0, 0, -HEIGHT / 2)))
    system.connect("shoulder", tm.Revolute("y"), column.at((0, 0, HEIGHT / 2)), upper)
    system.connect("elbow", tm.Revolute("y"), upper.at((UPPER, 0, 0)), lower)
    for name, ends in MOVES.items():
        system.prescribe(name, tm.Polynomial(programme(*ends)))
        system.measure(f"torque of {name}", lambda run, name=name: run.drive(name))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state()


def by_hand(t: float) -> tuple[list[float], list[float]]:
    """Return the tip, and the torques of base, shoulder and elbow, by Lagrange's equations in a, b and g = b + c."""
    p = [Polynomial(programme(*ends)) for ends in MOVES.values()]
    p = [p[0], p[1], p[1] + p[2]]
    (a, b, g), (va, vb, vg), (aa, ab, ag) = ([x.deriv(k)(t) for x in p] for k in range(3))
    S, K = (M2 / 2 + LOAD) * LOWER, (M2 / 3 + LOAD) * LOWER**2
    A, SU = (M1 / 3 + M2 + LOAD) * UPPER**2, S * UPPER
    J = COLUMN * 0.1**2 / 2 + A * cos(b) ** 2 + 2 * SU * cos(b) * cos(g) + K * cos(g) ** 2  # about the column
    J_b = -2 * sin(b) * (A * cos(b) + SU * cos(g))
    J_g = -2 * sin(g) * (K * cos(g) + SU * cos(b))
    on_b = A * ab + SU * (cos(b - g) * ag + sin(b - g) * vg**2) - J_b * va**2 / 2
    on_b -= (M1 / 2 + M2 + LOAD) * UPPER * G * cos(b)
    on_g = K * ag + SU * (cos(b - g) * ab - sin(b - g) * vb**2) - J_g * va**2 / 2 - S * G * cos(g)
    reach = UPPER * cos(b) + LOWER * cos(g)
    tip = [reach * cos(a), reach * sin(a), HEIGHT - UPPER * sin(b) - LOWER * sin(g)]
    return tip, [J * aa + (J_b * vb + J_g * vg) * va, on_b + on_g, on_g]


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    k = int(np.argmin(np.abs(run.t - 0.7)))
    return {
        "tip at 0.7 s": run.point("lower arm", (LOWER, 0, 0)).position[k],
        "torques at 0.7 s": [run.drive(name)[k] for name in MOVES],
    }


KNOWN = {
    "tip at 0.7 s": (by_hand(0.7)[0], 1e-12, "closed form"),
    "torques at 0.7 s": (by_hand(0.7)[1], 1e-9, "Lagrange's equations by hand"),
}
