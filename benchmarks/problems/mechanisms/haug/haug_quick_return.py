"""Haug's quick-return mechanism (5.4, 8.3), the crank driven at constant speed: six bodies, two loops; closed form.

Rocker, crank and link along their own x axis, their bases at their first ends. Printed are the assembled position and the equilibrium
under gravity, loosely converged, and the times of the stroke, read from curves.
"""

from typing import Any

import numpy as np

import treemech as tm

from ...extremes import extremes
from ...problem import load

REFERENCE = load("haug_quick_return")
SAMPLES = 361
PLOTS = [("guide.q",), ("guide.u",), ("guide.ud",)]
CLOSED = "closed form"
KNOWN = {
    "assembled at phi3 = 0.4356: x6, rocker, link": (
        (-0.01127, 1.09403, -0.23698),
        6e-6,
        "closed form; printed to 3e-3",
    ),
    "times of the right extreme, and of the left one at the end of the dwell": (
        (0.7950, 0.5932),
        5e-4,
        "closed form; printed: 0.8, 0.5 to 0.6",
    ),
    "stroke": ((-4.33705, 1.66733), 6e-6, CLOSED),
    "speed and acceleration of the slider": ((-10.7712, 75.3982, -1128.92, 1773.54), 6e-3, CLOSED),
    "crank 1.25 m: stroke, speed, acceleration": ((-4.18523, 0.81477, 41.8879, 586.24), 6e-3, CLOSED),
    "crank 1.0 m: stroke, speed, acceleration": ((-3.82286, 0.17714, 25.1327, 241.60), 6e-3, CLOSED),
    "equilibrium: crank, rocker, slider": (
        (-0.869179, 0.722993, 1.66586),
        6e-6,
        "least energy; printed -0.86588, 0.72292, 1.6663",
    ),
}


def system(crank_length: float = 1.5, start: float | None = None, driven: bool = True) -> tm.System:
    p = {**REFERENCE.parameters, "crank_length": crank_length}
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    centres = {"rocker": p["rocker_length"] / 2, "link": p["link_length"] / 2}

    def body(name: str) -> Any:
        J = p["inertias"][name]
        return system.body(name, p["masses"][name], (J, J, J), com=(centres.get(name, 0.0), 0, 0))

    rocker, crank, block, link, slider = (body(n) for n in ("rocker", "crank", "block", "link", "slider"))
    system.connect("A", tm.Revolute("z"), system.ground, rocker)
    system.connect("B", tm.Revolute("z"), system.ground.at((*p["crank_pivot"], 0)), crank)
    system.connect("C", tm.Revolute("z"), crank.at((p["crank_length"], 0, 0)), block)
    system.connect("groove", tm.Prismatic("x"), rocker, block)
    system.connect("D", tm.Revolute("z"), rocker.at((p["rocker_length"], 0, 0)), link)
    system.connect("E", tm.Revolute("z"), link.at((p["link_length"], 0, 0)), slider)
    system.connect("guide", tm.Prismatic("x"), system.ground.at((0, p["slider_height"], 0)), slider)
    if driven:
        angle = REFERENCE.initial["crank_angle"] if start is None else start
        system.prescribe("B", tm.Polynomial([angle, p["crank_rate"]]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    p, a = REFERENCE.parameters, REFERENCE.initial["crank_angle"]
    pin = np.array(p["crank_pivot"]) + p["crank_length"] * np.array([np.cos(a), np.sin(a)])
    rocker = np.arctan2(pin[1], pin[0])
    end = p["rocker_length"] * np.array([np.cos(rocker), np.sin(rocker)])
    along = -np.sqrt(p["link_length"] ** 2 - (p["slider_height"] - end[1]) ** 2)
    link = np.arctan2(p["slider_height"] - end[1], along)
    return mech.assemble(guess={
        "A": rocker, "C": rocker - a, "groove": np.linalg.norm(pin), "D": link - rocker, "E": -link, "guide": end[0] + along,
    })  # fmt: skip


def observe(run: tm.Run) -> dict:
    slider, rocker = run.body("slider"), run.body("rocker")
    angle = np.arctan2(rocker.rotation[:, 1, 0], rocker.rotation[:, 0, 0])
    return {
        "slider_x_v_a": np.column_stack([
            x[:, 0] for x in (slider.position, slider.velocity, slider.acceleration)
        ]),
        "rocker_angle_rate_acc": np.column_stack([
            angle, rocker.angular_velocity[:, 2], rocker.angular_acceleration[:, 2]
        ]),
    }  # fmt: skip


def turn(mech: tm.Mechanism) -> tuple[float, ...]:
    """Return the stroke, the extreme speeds and accelerations of the slider in one turn."""
    guide = mech.kinematics(np.linspace(0.0, 1.0, 501), state(mech)).connection("guide")
    return (*extremes(guide.q), *extremes(guide.u), *extremes(guide.ud))


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    near = system(start=0.4356).build()
    at = observe(near.kinematics([0.0, 0.01], state(near)))
    other = near.kinematics([0.0, 0.01], state(near)).body("link").rotation[0]
    x = at["slider_x_v_a"][0, 0], at["rocker_angle_rate_acc"][0, 0], np.arctan(other[1, 0] / other[0, 0])
    guide = mech.kinematics(np.linspace(0.0, 1.0, 2001), state(mech)).connection("guide").q
    loose = system(driven=False).build()
    low = loose.equilibrium(
        loose.assemble(fix={"B": -0.85}, guess={"A": 0.72, "D": 1.6, "guide": 1.67})
    ).state
    strokes = [turn(system(length).build()) for length in (1.5, 1.25, 1.0)]
    return {
        "assembled at phi3 = 0.4356: x6, rocker, link": x,
        "times of the right extreme, and of the left one at the end of the dwell": (
            np.argmax(guide) / 2000,
            0.56 + np.argmin(guide[1120:]) / 2000,
        ),
        "stroke": strokes[0][:2],
        "speed and acceleration of the slider": strokes[0][2:],
        "crank 1.25 m: stroke, speed, acceleration": (*strokes[1][:2], strokes[1][3], strokes[1][5]),
        "crank 1.0 m: stroke, speed, acceleration": (*strokes[2][:2], strokes[2][3], strokes[2][5]),
        "equilibrium: crank, rocker, slider": (low["B"][0][0], low["A"][0][0], low["guide"][0][0]),
    }
