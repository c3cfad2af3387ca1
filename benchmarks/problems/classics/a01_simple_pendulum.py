"""IFToMM A01: a point mass on a massless bar, from the horizontal; exact answer by elliptic functions.

The body's base stands at the pivot; at angle zero the bar lies where it starts. Data: the benchmark's.
"""

import numpy as np

import treemech as tm

from ..problem import load, zero_crossings

REFERENCE = load("A01_simple_pendulum")
SAMPLES = 1001  # for the period
PLOTS = [("pin.q",), ("energy.kinetic", "energy.potential", "energy.total")]


def system() -> tm.System:
    p = REFERENCE.parameters
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    tip = p["bar_length"] * np.array(REFERENCE.initial["P1"]) / np.linalg.norm(REFERENCE.initial["P1"])
    bob = system.body("P1", mass=p["point_mass"] + p["bar_mass"], inertia=(0, 0, 0), com=tip)
    system.connect("pin", tm.Revolute("z"), system.ground, bob)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state()  # P1_velocity is zero


def observe(run: tm.Run) -> dict:
    bob, pin = run.body("P1"), run.connection("pin")
    tip = bob.point(REFERENCE.initial["P1"])
    along = -tip.position / np.linalg.norm(tip.position, axis=1)[:, None]
    reversals = zero_crossings(run.t[1:], pin.u[1:])  # two in a period
    return {
        "P1.position": tip.position,
        "P1.velocity": tip.velocity,
        "rod_tension": np.sum(pin.force * along, axis=1),
        "period": 2.0 * np.mean(np.diff(reversals)),
        "total_energy": run.energy.total,
    }
