"""Free-floating planar chain of five slender links, no gravity; reference by two independent formulations.

Links along their own x axis, their bases at the centres of mass. Sizes are ours.
"""

import numpy as np

import treemech as tm

from ..problem import load, momentum

REFERENCE = load("free_chain_planar")
PLOTS = [("joint2.q", "joint3.q", "joint4.q", "joint5.q"), ("plane.u[2]",)]


def system() -> tm.System:
    p = REFERENCE.parameters
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    previous = None
    for k, (m, L) in enumerate(zip(p["masses"], p["lengths"], strict=True), start=1):
        J = m * L**2 / 12
        link = system.body(f"link{k}", mass=m, inertia=(0, J, J))
        if previous is None:
            system.connect("plane", tm.Planar("z"), system.ground, link)
        else:
            system.connect(f"joint{k}", tm.Revolute("z"), previous, link.at((-L / 2, 0, 0)))
        previous = link.at((L / 2, 0, 0))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    initial = REFERENCE.initial
    q = {"plane": initial["first_link_com_and_angle"]}
    u = {"plane": initial["first_link_velocity_and_rate"]}
    for k, (angle, rate) in enumerate(
        zip(initial["relative_angles"], initial["relative_rates"], strict=True), start=2
    ):
        q[f"joint{k}"], u[f"joint{k}"] = angle, rate
    return mech.state(q=q, u=u)


def observe(run: tm.Run) -> dict:
    linear, angular = momentum(run)
    count = REFERENCE.parameters["N"]
    return {
        "first_link_x_y_angle": run.connection("plane").q,
        "relative_angles": np.column_stack([run.connection(f"joint{k}").q for k in range(2, count + 1)]),
        "linear_momentum": linear[:, :2],
        "angular_momentum_about_origin": angular[:, 2],
        "kinetic_energy": run.energy.kinetic,
    }
