"""Haug's slider-crank (5.2), the crank driven at constant speed; closed form.

Bars along their own x axis, their bases at their first ends. Only the motion is asked for.
"""

import numpy as np

import treemech as tm

from ...problem import load
from ..slider_crank_driven import slider_crank

REFERENCE = load("haug_slider_crank")


def system() -> tm.System:
    system = slider_crank(REFERENCE, 0.0)
    system.prescribe(
        "A", tm.Polynomial([REFERENCE.initial["crank_angle"], REFERENCE.parameters["crank_rate"]])
    )
    return system


def state(mech: tm.Mechanism) -> tm.State:
    p, angle = REFERENCE.parameters, REFERENCE.initial["crank_angle"]
    rod = -np.arcsin(p["crank_length"] * np.sin(angle) / p["rod_length"])
    slider = p["crank_length"] * np.cos(angle) + p["rod_length"] * np.cos(rod)
    return mech.assemble(guess={"B": rod - angle, "C": -rod, "D": slider})


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
