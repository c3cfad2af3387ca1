"""Spatial slider-crank of the IFToMM library, after Haug: revolute, ball, universal, prismatic in one loop.

Crank along its own z axis from A to B; rod along its own x axis u from B to C, with the second axis of the
universal joint, a = u x (sliding direction), as y. The slider starts and stays parallel to the world.
Data: the library's, but for the rod, which is slender here.
"""

import numpy as np

import treemech as tm

from ..problem import Reference, load

REFERENCE = load("spatial_slider_crank")
PLOTS = [("D.q",), ("D.u",), ("A.u",)]


def system() -> tm.System:
    return mechanism(REFERENCE)


def mechanism(reference: Reference) -> tm.System:
    p = reference.parameters
    system = tm.System(reference.name, gravity=reference.gravity)
    above, along = (0, 0, p["crank_length"]), (p["rod_length"], 0, 0)
    crank = system.body("crank", p["crank_mass"], p["crank_inertia_cm"], com=np.array(above) / 2)
    rod = system.body("rod", p["rod_mass"], list(p["rod_inertia_cm"].values()), com=np.array(along) / 2)
    slider = system.body("slider", p["slider_mass"], [p["slider_inertia"]] * 3)
    system.connect("A", tm.Revolute(p["crank_axis"]), system.ground.at(p["crank_pivot_A"]), crank)
    system.connect("B", tm.Ball(), crank.at(above), rod)
    system.connect("C", tm.Universal(), slider, rod.at(along))
    system.connect("D", tm.Prismatic("x"), system.ground, slider)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    p, initial = REFERENCE.parameters, REFERENCE.initial  # the same in both readings
    u = np.array([initial["slider_x"], 0, 0]) - p["crank_pivot_A"] - [0, 0, p["crank_length"]]
    u /= p["rod_length"]  # = Rx(q0) Ry(q1) x
    angles = [np.arctan2(u[1], -u[2]), np.arccos(u[0])]
    return mech.assemble(
        fix={"A": initial["crank_angle"]},
        guess={"C": angles, "D": initial["slider_x"]},
        rates={"A": initial["crank_rate"]},
    )


def observe(run: tm.Run) -> dict:
    crank, slider = run.connection("A"), run.body("slider")
    return {
        "slider_x": slider.position[:, 0],
        "slider_v": slider.velocity[:, 0],
        "crank_angle": crank.q,
        "crank_rate": crank.u,
        "total_energy": run.energy.total,
        "initial_rod_angular_velocity": run.body("rod").angular_velocity[0],
        "initial_slider_velocity": slider.velocity[0],
    }
