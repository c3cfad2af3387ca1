"""Peaucellier's linkage: the tracer draws an exact straight line; closed form.

Three loops with a driven crank: nothing is left to move freely. Every base is parallel to the world at the start,
so all angles are zero there; the bars are slender, of any mass, since only the motion is asked for. Lengths are ours.
"""

import numpy as np

import treemech as tm

from ...problem import load

REFERENCE = load("peaucellier_linkage")
PLOTS = [("tracer along", "tracer across"), ("A.q",)]
P = REFERENCE.parameters
O, A = np.array([*P["inversor_centre_O"], 0.0]), np.array([*P["crank_centre_A"], 0.0])
P1 = A + (P["crank_length_A_P1"], 0, 0)
P2 = np.array([(P["long_arms_OB_OC"] ** 2 - P["rhombus_side"] ** 2) / P1[0], 0, 0])
B = (P1 + P2) / 2 + (0, np.sqrt(P["rhombus_side"] ** 2 - (P2[0] - P1[0]) ** 2 / 4), 0)
C = B * (1, -1, 1)


def system() -> tm.System:
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)

    def bar(name, start, end):
        solid = tm.solids.rod((0, 0, 0), end - start, mass=1.0)
        body = system.body(name, **solid.properties)
        return body, body.at(end - start)

    crank, at_P1 = bar("crank", A, P1)
    system.connect("A", tm.Revolute("z"), system.ground.at(A), crank)
    tracers = []
    for name, vertex in ("B", B), ("C", C):
        arm, at_vertex = bar(f"arm {name}", O, vertex)
        near, near_end = bar(f"near {name}", P1, vertex)
        far, far_end = bar(f"far {name}", vertex, P2)
        system.connect(f"O {name}", tm.Revolute("z"), system.ground.at(O), arm)
        system.connect(f"P1 {name}", tm.Revolute("z"), at_P1, near)
        system.connect(f"{name} near", tm.Revolute("z"), at_vertex, near_end)
        system.connect(f"{name} far", tm.Revolute("z"), at_vertex, far)
        tracers.append(far_end)
    system.connect("P2", tm.Revolute("z"), *tracers)
    system.prescribe("A", tm.Harmonic(amplitude=0.5, frequency=0.9))
    system.measure("tracer across", lambda run: run.point("far B", P2 - B).position[:, 0])
    system.measure("tracer along", lambda run: run.point("far B", P2 - B).position[:, 1])
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble()


def observe(run: tm.Run) -> dict:
    tracer = run.point("far B", P2 - B)
    return {
        "tracer_position": tracer.position[:, :2],
        "tracer_velocity_y": tracer.velocity[:, 1],
        "tracer_acceleration_y": tracer.acceleration[:, 1],
        "upper_rhombus_vertex": run.point("arm B", B).position[:, :2],
    }
