"""Knife edge on an incline: it does not slide down on average; closed form.

The world's x axis points down the slope and z is normal to it, so the slope is in the direction of gravity. Sizes are ours.
"""

import numpy as np

import treemech as tm

from ..problem import load

REFERENCE = load("skate_on_incline")
PLOTS = [("skate.position[0]", "skate.position[1]"), ("energy.kinetic", "energy.potential", "energy.total")]
GRAVITY = 9.81  # m/s^2, vertical


def system() -> tm.System:
    p = REFERENCE.parameters
    slope, J = np.radians(p["incline_angle_deg"]), p["inertia_about_normal"]
    system = tm.System(REFERENCE.name, gravity=(GRAVITY * np.sin(slope), 0, -GRAVITY * np.cos(slope)))
    skate = system.body("skate", mass=p["mass"], inertia=(J / 2, J / 2, J))
    system.connect("plane", tm.Planar("z"), system.ground, skate)
    system.connect("edge", tm.KnifeEdge(), system.ground, skate)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    i = REFERENCE.initial
    return mech.assemble(
        fix={"plane": [*i["position"], i["heading"]]}, rates={"plane": [*i["velocity"], i["heading_rate"]]}
    )


def observe(run: tm.Run) -> dict:
    skate = run.body("skate")
    return {
        "position_down_slope": skate.position[:, 0],
        "position_cross_slope": skate.position[:, 1],
        "velocity": skate.velocity[:, :2],
        "heading": run.connection("plane").q[:, 2],
        "lateral_force": np.sum(run.connection("edge").force * skate.rotation[:, :, 1], axis=1),
    }
