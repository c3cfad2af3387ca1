"""Hanging chain of three bars on ball joints; reference by two independent formulations.

Bars along their own z axis, hung at their +z end, where their base stands; the next one hangs at the -z end. Sizes are ours.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import treemech as tm

from ..problem import load, momentum

REFERENCE = load("spherical_triple_pendulum")
PLOTS = [
    ("bar3.com[0]", "bar3.com[1]", "bar3.com[2]"),
    ("energy.kinetic", "energy.potential", "energy.total"),
]


def system() -> tm.System:
    p = REFERENCE.parameters
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    end = system.ground.at()
    for k, (m, L) in enumerate(zip(p["masses"], p["lengths"], strict=True), start=1):
        solid = tm.solids.box((p["bar_width"], p["bar_width"], L), mass=m)
        bar = system.body(f"bar{k}", mass=m, inertia=solid.inertia, com=(0, 0, -L / 2))
        system.connect(f"ball{k}", tm.Ball(), end, bar)
        end = bar.at((0, 0, -L))
    return system


def turn(text: str) -> Rotation:
    """Return a product of turns, "Rx(-0.5) Rz(0.3)"."""
    product = Rotation.identity()
    for factor in text.split():
        product *= Rotation.from_euler(factor[1], float(factor[3:-1]))
    return product


def state(mech: tm.Mechanism) -> tm.State:
    q, u = {}, {}
    initial = REFERENCE.initial
    speeds = initial["relative_angular_velocity_child_frame"]
    for k, (text, w) in enumerate(zip(initial["relative_orientation"], speeds, strict=True), start=1):
        q[f"ball{k}"] = turn(text)
        u[f"ball{k}"] = turn(text).apply(w)  # speeds of a ball are in the base of end a, the parent
    return mech.state(q=q, u=u)


def observe(run: tm.Run) -> dict:
    lengths = REFERENCE.parameters["lengths"]
    ends = [run.point(f"bar{k}", (0, 0, -L)).position for k, L in enumerate(lengths, start=1)]
    return {
        "bar_end_points": np.stack(ends, axis=1),
        "total_energy": run.energy.total,
        "angular_momentum_z": momentum(run)[1][:, 2],
    }
