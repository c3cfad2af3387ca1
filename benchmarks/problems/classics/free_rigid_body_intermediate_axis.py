"""Torque-free body started near its intermediate axis (Landau and Lifshitz 37): it tumbles over.

Period in closed form, motion by a Taylor series in many digits. The motion follows the separatrix and magnifies
errors by 1e5. Moments of inertia are ours.
"""

import numpy as np

import treemech as tm

from ..problem import body_components, load, momentum, zero_crossings

REFERENCE = load("free_rigid_body_intermediate_axis")
SAMPLES = 1001  # for the period
PLOTS = [tuple(f"rate about {axis} of the body" for axis in "xyz")]


def system() -> tm.System:
    p = REFERENCE.parameters
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    plate = tm.solids.box((2.0, 1.4, 0.1), mass=1).shapes  # as flat as these moments are
    body = system.body("body", mass=p["mass"], inertia=p["inertia_principal"], shapes=plate)
    system.connect("free", tm.Free(), system.ground, body)
    for k, axis in enumerate("xyz"):
        system.measure(f"rate about {axis} of the body", lambda run, k=k: rates(run)[:, k])
    return system


def rates(run: tm.Run) -> np.ndarray:
    """Return the angular velocity in body axes."""
    body = run.body("body")
    return body_components(body.rotation, body.angular_velocity)


def state(mech: tm.Mechanism) -> tm.State:
    initial = REFERENCE.initial  # at identity body and world components coincide
    return mech.state(
        q={"free": [*initial["position"], 1, 0, 0, 0]},
        u={"free": [*initial["velocity"], *initial["omega_body"]]},
    )


def observe(run: tm.Run) -> dict:
    body = run.body("body")
    omega = rates(run)
    passes = zero_crossings(run.t, omega[:, 1])  # two in a period
    return {
        "omega_body": omega,
        "body_y_axis_in_world": body.rotation[:, :, 1],
        "angular_momentum_world": momentum(run)[1],
        "kinetic_energy": run.energy.kinetic,
        "period_of_omega": 2.0 * np.mean(np.diff(passes)),
    }
