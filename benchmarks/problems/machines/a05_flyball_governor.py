"""IFToMM A05, the stiff flyball governor: a tree with two strong spring-dampers; two independent formulations.

Rods along their own x axis, their bases at the hinges; the second one is turned by half a turn about the shaft. Data: the benchmark's.
"""

import numpy as np

import treemech as tm

from ..problem import load, momentum

REFERENCE = load("A05_flyball_governor")
PLOTS = [("slider.q",), ("shaft.u",), ("right spring.effort",)]
P = REFERENCE.parameters
HALF_TURN = np.diag([-1.0, -1.0, 1.0])


def system() -> tm.System:
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    bar = tm.solids.box((1.0, 0.01, 0.01), density=P["density"]).moved((0.5, 0, 0))
    shaft = system.body(
        "shaft", **tm.solids.box((0.01, 0.01, 1.0), density=P["density"]).moved((0, 0, 0.5)).properties
    )
    slider = system.body("slider", **tm.solids.box((0.1, 0.1, 0.1), density=P["density"]).properties)
    system.connect("shaft", tm.Revolute("z"), system.ground, shaft)
    system.connect("slider", tm.Prismatic("z"), shaft, slider)
    spring = tm.Spring(
        stiffness=P["spring_stiffness"], damping=P["spring_damping"], length=P["spring_free_length"]
    )
    for name, turn in ("right", np.eye(3)), ("left", HALF_TURN):
        solid = bar + tm.solids.point(P["point_mass_at_rod_ends"], at=(1, 0, 0))
        rod = system.body(name, **solid.properties)
        system.connect(name, tm.Revolute("y"), shaft.at(turn @ (0.05, 0, 1.0), turn), rod)
        system.connect(f"{name} spring", spring, slider.at(turn @ (0.05, 0, 0)), rod.at((0.5, 0, 0)))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    initial = REFERENCE.initial
    angle = np.deg2rad(initial["rod_angle_below_horizontal_deg"])
    return mech.state(
        q={"slider": initial["s"], "right": angle, "left": angle}, u={"shaft": initial["shaft_rate"]}
    )


def observe(run: tm.Run) -> dict:
    return {
        "slider_s": run.connection("slider").q,
        "rod_angle_alpha": run.connection("right").q,
        "shaft_angle": run.connection("shaft").q,
        "shaft_rate": run.connection("shaft").u,
        "slider_velocity": run.connection("slider").u,
        "angular_momentum_z": momentum(run)[1][:, 2],
    }
