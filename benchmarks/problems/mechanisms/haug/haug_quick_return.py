"""Haug's quick-return mechanism (5.4, 8.3), the crank driven at constant speed: six bodies, two loops; closed form.

Rocker, crank and link along their own x axis, their bases at their first ends.
"""

from typing import Any

import numpy as np

import treemech as tm

from ...problem import load

REFERENCE = load("haug_quick_return")


def system() -> tm.System:
    p = REFERENCE.parameters
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
    system.prescribe("B", tm.Polynomial([REFERENCE.initial["crank_angle"], p["crank_rate"]]))
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
