"""Haug's slider-crank (5.2), the crank driven at constant speed; closed form.

Bars along their own x axis, their bases at their first ends. Only the motion is asked for. Printed are the tables of the assembly, loosely
converged (x3 of Tab. 5.2.5 is misprinted), and the time at which a rod of 1.9 m locks.
"""

from dataclasses import replace

import numpy as np

import treemech as tm

from ...extremes import extremes
from ...problem import load
from ..slider_crank_driven import slider_crank
from .haug_four_bar import locks_at

REFERENCE = load("haug_slider_crank")
SAMPLES = 361
PLOTS = [("D.q",), ("D.u",), ("D.ud",)]
CLOSED = "closed form"
KNOWN = {
    "assembled, driven": (
        (3.01499, 0.70711, -0.41595, 4.61578),
        6e-6,
        "closed form; printed to 4e-3, Tab. 5.2.6",
    ),
    "the other branch": (
        (-0.18657, 0.70711, -2.72564, -1.78735),
        6e-6,
        "closed form; printed to 1e-3, Tab. 5.2.7",
    ),
    "assembled at phi1 = 0.6916": (
        (3.1701, 0.6378, -0.3730, 4.7997),
        6e-5,
        "closed form; x3 misprinted, Tab. 5.2.5",
    ),
    "range, speed, acceleration of the slider": ((1.5, 5.5, 14.60821, -124.07503, 65.79194), 6e-6, CLOSED),
    "rod 2.5 m: largest speed and acceleration": ((16.99609, 108.4915), 6e-5, CLOSED),
    "rod 2.2 m": ((19.11011, 173.2909), 6e-5, CLOSED),
    "rod 2.1 m": ((20.51527, 247.0001), 6e-5, CLOSED),
    "twice the rate: speed and acceleration by": ((2.0, 4.0), 1e-9, "printed, exact"),
    "time of lock-up, rod 1.9 m": (0.0744587, 6e-8, "closed form; printed 0.074"),
}


def system(rod: float = 3.5, rate: float = 2 * np.pi, start: float = np.pi / 4) -> tm.System:
    reference = replace(REFERENCE, parameters={**REFERENCE.parameters, "rod_length": rod})
    system = slider_crank(reference, 0.0)
    system.prescribe("A", tm.Polynomial([start, rate]))
    return system


def state(mech: tm.Mechanism, slider: float = 5.5) -> tm.State:
    rod = -0.4 if slider > 0.0 else -2.7
    return mech.assemble(
        guess={"B": rod - np.pi / 4, "C": -rod, "D": slider}, weights={"D": 1.0, "B": 0.1, "C": 0.1}
    )


def observe(run: tm.Run) -> dict:
    slider, rod = run.body("slider"), run.body("rod")
    angle = np.arctan2(rod.rotation[:, 1, 0], rod.rotation[:, 0, 0])
    return {
        "slider_x_v_a": np.column_stack([
            x[:, 0] for x in (slider.position, slider.velocity, slider.acceleration)
        ]),
        "rod_angle_rate_acc": np.column_stack([
            angle, rod.angular_velocity[:, 2], rod.angular_acceleration[:, 2]
        ]),
    }  # fmt: skip


def driven(mech: tm.Mechanism, count: int = 361) -> tm.Run:
    """Return one turn of the motion, by kinematics alone."""
    return mech.kinematics(np.linspace(0.0, 1.0, count), state(mech))


def place(mech: tm.Mechanism, slider: float = 5.5) -> tuple[float, ...]:
    """Return x, y and angle of the middle of the rod, and x of the slider, where they are assembled."""
    run = mech.kinematics([0.0, 0.01], state(mech, slider))
    middle, R = run.point("rod", (1.75, 0, 0)).position[0], run.body("rod").rotation[0]
    return middle[0], middle[1], np.arctan2(R[1, 0], R[0, 0]), run.connection("D").q[0]


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    found: dict = {
        "assembled, driven": place(mech),
        "the other branch": place(mech, -5.0),
        "assembled at phi1 = 0.6916": place(system(start=0.6916).build()),
        "time of lock-up, rod 1.9 m": locks_at(driven(system(1.9).build())),
    }
    D, twice = driven(mech).connection("D"), driven(system(rate=4 * np.pi).build(), 721).connection("D")
    found["range, speed, acceleration of the slider"] = (*extremes(D.q), extremes(D.u)[1], *extremes(D.ud))
    ratio = [extremes(y)[1] / extremes(x)[1] for x, y in ((D.u, twice.u), (D.ud, twice.ud))]
    found["twice the rate: speed and acceleration by"] = ratio
    for length, name in (
        (2.5, "rod 2.5 m: largest speed and acceleration"),
        (2.2, "rod 2.2 m"),
        (2.1, "rod 2.1 m"),
    ):
        D = driven(system(length).build()).connection("D")
        found[name] = extremes(D.u)[1], extremes(D.ud)[1]
    return found
