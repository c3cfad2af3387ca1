"""Symmetric heavy gyroscope in steady precession, slow and fast (Goldstein 5.7); closed form.

The symmetry axis is z of the body and starts in the x-z plane. With tilt theta and axial speed w3 the two steady
rates of precession solve  I1 cos(theta) p^2 - I3 w3 p + m g l = 0. Disturbed, it nutates: small motions about the steady one, in
three turns instead of a ball joint, since angles that do not matter leave their equations constant. Sizes are ours.
"""

from typing import Any

import numpy as np

import treemech as tm

from ..problem import load

REFERENCE = load("gyroscope_steady_precession")
CASES = ("slow", "fast")
PLOTS = [
    ("rotor.com[0]", "rotor.com[1]", "rotor.com[2]"),
    ("pivot.force[0]", "pivot.force[1]", "pivot.force[2]"),
]


def system() -> tm.System:
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    system.connect("pivot", tm.Ball(), system.ground, add_rotor(system))
    return system


def add_rotor(system: tm.System) -> Any:
    p = REFERENCE.parameters
    m, l = p["mass"], p["pivot_to_cm"]
    across = p["inertia_transverse_about_pivot"] - m * l**2
    return system.body("rotor", mass=m, inertia=(across, across, p["inertia_axial"]), com=(0, 0, l))


def state(mech: tm.Mechanism, case: str = "slow") -> tm.State:
    p = REFERENCE.parameters
    theta, w3 = np.radians(p["tilt_from_vertical_deg"]), p["axial_angular_velocity"]
    a, b = p["inertia_transverse_about_pivot"] * np.cos(theta), p["inertia_axial"] * w3
    c = -p["mass"] * REFERENCE.gravity[2] * p["pivot_to_cm"]
    root = np.sqrt(b * b - 4 * a * c)
    rate = 2 * c / (b + root) if case == "slow" else (b + root) / (2 * a)
    axis = np.array([np.sin(theta), 0.0, np.cos(theta)])
    spin = w3 - rate * axis[2]
    e = [np.cos(theta / 2), 0.0, np.sin(theta / 2), 0.0]
    return mech.state(q={"pivot": e}, u={"pivot": np.array([0.0, 0.0, rate]) + spin * axis})


def nutation(tilt: float, rate: float, spin: float) -> float:
    """Return the angular frequency of small motions about a steady precession."""
    system = tm.System("gyroscope in three turns", gravity=REFERENCE.gravity)
    outer, inner = (system.body(name, 0.0, (0, 0, 0)) for name in ("outer", "inner"))
    system.connect("precession", tm.Revolute("z"), system.ground, outer)
    system.connect("tilt", tm.Revolute("y"), outer, inner)
    system.connect("spin", tm.Revolute("z"), inner, add_rotor(system))
    mech = system.build()
    steady = mech.state(q={"tilt": tilt}, u={"precession": rate, "spin": spin})
    return float(np.max(mech.linearize(steady).eigenvalues.imag))


def observe(run: tm.Run) -> dict:
    rotor, force = run.body("rotor"), run.connection("pivot").force
    axis, w, centre = rotor.rotation[:, :, 2], rotor.angular_velocity, run.point("rotor", (0, 0, 1))
    x, v = centre.position, centre.velocity
    rate = (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]) / (x[:, 0] ** 2 + x[:, 1] ** 2)
    spin = np.sum(w * axis, axis=1) - rate * axis[:, 2]
    return {
        "precession_rate": rate,
        "relative_spin": spin,
        "nutation_angular_frequency": nutation(np.arccos(axis[0, 2]), rate[0], spin[0]),
        "cm_position": rotor.com,
        "pivot_reaction_vertical": force[:, 2],
        "pivot_reaction_horizontal": np.hypot(force[:, 0], force[:, 1]),
        "total_energy": run.energy.total,
    }
