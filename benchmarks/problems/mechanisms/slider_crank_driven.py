"""Offset slider-crank with a crank driven at constant speed: motion and driving torque; closed form.

Crank and rod along their own x axis, their bases at their first ends. Sizes are ours.
"""

import numpy as np

import treemech as tm

from ..problem import load

REFERENCE = load("slider_crank_driven")
PLOTS = [("D.q",), ("D.u",), ("D.ud",)]


def system() -> tm.System:
    p = REFERENCE.parameters
    system = slider_crank(REFERENCE, p["offset_y"])
    system.prescribe("A", tm.Polynomial([REFERENCE.initial["crank_angle"], p["crank_rate"]]))
    return system


def slider_crank(reference, offset: float) -> tm.System:
    """Return ground - A - crank - B - rod - C - slider - D - ground; D slides along x at a height."""
    p = reference.parameters
    system = tm.System(reference.name, gravity=reference.gravity)
    end = system.ground.at()
    for pin, name in ("A", "crank"), ("B", "rod"):
        tip = (p[f"{name}_length"], 0, 0)
        solid = tm.solids.rod((0, 0, 0), tip, mass=p[f"{name}_mass"])
        bar = system.body(name, **solid.properties)
        system.connect(pin, tm.Revolute("z"), end, bar)
        end = bar.at(tip)
    slider = system.body("slider", mass=p["slider_mass"], inertia=(0, 0, 0))
    system.connect("D", tm.Prismatic("x"), system.ground.at((0, offset, 0)), slider)
    system.connect("C", tm.Revolute("z"), end, slider)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    p = REFERENCE.parameters
    rod = np.arcsin(p["offset_y"] / p["rod_length"])
    slider = p["crank_length"] + p["rod_length"] * np.cos(rod)
    return mech.assemble(guess={"B": rod, "C": -rod, "D": slider})


def observe(run: tm.Run) -> dict:
    slider, rod = run.body("slider"), run.body("rod")
    angle = np.arctan2(rod.rotation[:, 1, 0], rod.rotation[:, 0, 0])
    motion = (slider.position, slider.velocity, slider.acceleration)
    return {
        "slider_x_v_a": np.column_stack([x[:, 0] for x in motion]),
        "rod_angle_rate_acc": np.column_stack(
            [angle, rod.angular_velocity[:, 2], rod.angular_acceleration[:, 2]]
        ),
        "driving_torque": run.drive("A"),
    }
