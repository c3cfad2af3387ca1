"""Haug's driven pendulum (examples 6.3, 6.6): reaction of the pivot and torque of the drive; closed form.

The motion is printed; mass and length are ours (any will do).
"""

import numpy as np

import treemech as tm

from ...problem import body_components, load

REFERENCE = load("haug_driven_pendulum")
SAMPLES = 361
PLOTS = [("pivot.force[0]", "pivot.force[1]"), ("torque of the drive",)]


def system() -> tm.System:
    p = REFERENCE.parameters
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    J = p["mass"] * p["half_length"] ** 2 / 3
    bar = system.body("bar", p["mass"], (0, J, J), com=(p["half_length"], 0, 0))
    system.connect("pivot", tm.Revolute("z"), system.ground, bar)
    system.prescribe("pivot", tm.Polynomial([REFERENCE.initial["angle"], p["rate"]]))
    system.measure("torque of the drive", lambda run: run.drive("pivot"))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state()


def observe(run: tm.Run) -> dict:
    force = body_components(run.body("bar").rotation, run.connection("pivot").force)
    return {"reaction_in_bar": np.array(force[:, :2]), "driving_torque": run.drive("pivot")}
