"""Chaplygin's sleigh: a body on a plane with one knife edge behind its centre of mass; closed form.

The base of the sleigh stands at the edge, which points along x. It starts backwards and turns over. Sizes are ours.
"""

import numpy as np

import treemech as tm

from ..problem import load

REFERENCE = load("chaplygin_sleigh")
PLOTS = [("sleigh.position[0]", "sleigh.position[1]"), ("plane.q[2]",), ("plane.u[2]",)]
FOREVER = 20.0  # s; after that it turns by 1e-13 rad at most


def system() -> tm.System:
    p = REFERENCE.parameters
    J = p["inertia_cm"]
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    sleigh = system.body(
        "sleigh", p["mass"], inertia=(J / 2, J / 2, J), com=(p["cm_offset_ahead_of_edge"], 0, 0)
    )
    system.connect("plane", tm.Planar("z"), system.ground, sleigh)
    system.connect("edge", tm.KnifeEdge(), system.ground, sleigh)
    return system


def state(mech: tm.Mechanism, direction: float = 1.0) -> tm.State:
    i = REFERENCE.initial
    return mech.assemble(
        fix={"plane": [*i["edge_position"], i["heading"]]},
        rates={"plane": [direction * i["forward_speed"], 0.0, direction * i["heading_rate"]]},
    )


def total_turn() -> float:
    """Return the turn from the distant past to the distant future.

    The past is the motion after a reversed start.
    """
    mech = system().build()
    after, before = (
        mech.simulate((0.0, FOREVER), state(mech, direction), rtol=1e-11, t_eval=[FOREVER]).q[-1, 2]
        for direction in (1.0, -1.0)
    )
    return float(after - before)


def observe(run: tm.Run) -> dict:
    sleigh, plane = run.body("sleigh"), run.connection("plane")
    return {
        "edge_position": sleigh.position[:, :2],
        "heading": plane.q[:, 2],
        "forward_speed": np.sum(sleigh.velocity * sleigh.rotation[:, :, 0], axis=1),
        "heading_rate": plane.u[:, 2],
        "kinetic_energy": run.energy.kinetic,
        "total_turn_from_minus_to_plus_infinity": total_turn(),
    }
