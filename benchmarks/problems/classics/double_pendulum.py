"""Planar double pendulum of slender bars; reference by two independent formulations.

Angles from the downward vertical, the second relative to the first; bars along -y of their own base. Sizes are ours.
"""

import numpy as np

import treemech as tm

from ..problem import load

REFERENCE = load("double_pendulum")
PLOTS = [("joint1.q", "joint2.q"), ("energy.kinetic", "energy.potential", "energy.total")]


def system() -> tm.System:
    p = REFERENCE.parameters
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    end = system.ground.at()
    for k, (m, L) in enumerate(zip(p["masses"], p["lengths"], strict=True), start=1):
        J = m * L**2 / 12
        bar = system.body(f"bar{k}", mass=m, inertia=(J, 0, J), com=(0, -L / 2, 0))
        system.connect(f"joint{k}", tm.Revolute("z"), end, bar)
        end = bar.at((0, -L, 0))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    initial = REFERENCE.initial
    return mech.state(q=initial["joint_angles"], u=initial["joint_rates"])


def observe(run: tm.Run) -> dict:
    joints = [run.connection(name) for name in ("joint1", "joint2")]
    return {
        "joint_angles": np.column_stack([joint.q for joint in joints]),
        "joint_rates": np.column_stack([joint.u for joint in joints]),
        "tip": run.point("bar2", (0, -REFERENCE.parameters["lengths"][1], 0)).position,
        "total_energy": run.energy.total,
    }
