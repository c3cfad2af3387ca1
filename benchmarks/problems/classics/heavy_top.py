"""Heavy top of Geradin, Cardona and Bruels on a ball joint; reference by two independent formulations.

Spins at 150 rad/s and passes close to the downward vertical, where angle coordinates are singular. Data: the benchmark's.
"""

import treemech as tm

from ..problem import body_components, load, momentum

REFERENCE = load("heavy_top")
PLOTS = [("top.com[0]", "top.com[1]", "top.com[2]"), ("energy.kinetic", "energy.potential", "energy.total")]


def system() -> tm.System:
    p = REFERENCE.parameters
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    top = system.body("top", mass=p["mass"], inertia=p["inertia_cm"], com=p["com_from_pivot_body"])
    system.connect("pivot", tm.Ball(), system.ground, top)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(u={"pivot": REFERENCE.initial["angular_velocity"]})


def observe(run: tm.Run) -> dict:
    top = run.body("top")
    return {
        "com": top.com,
        "body_x_axis_in_world": top.rotation[:, :, 0],
        "angular_velocity_body": body_components(top.rotation, top.angular_velocity),
        "total_energy": run.energy.total,
        "angular_momentum_z": momentum(run)[1][:, 2],
    }
