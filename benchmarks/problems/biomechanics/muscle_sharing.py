"""Muscle sharing: six muscles hold a weight in the hand, more than shoulder and elbow ask for.

The moments of two joints do not decide the tensions of six muscles (Sol 1.2). Of all tensions between zero and the
strength of each muscle those are taken that have the least sum of squared stresses (tension / strength)^2. Moment arms
come from the model: derivatives of the accelerations by the tensions, times the mass matrix. With these tensions the arm
stays where it is. Sizes are plausible numbers of our choice; the biceps works at its limit, dorsi and triceps rest.
"""

import numpy as np

import treemech as tm

UPPER, FORE, WEIGHT = 0.30, 0.34, 12.0  # elbow and hand [m], weight in the hand [kg]
MUSCLES = {  # strength [N], body and place of both ends
    "deltoid": (1100.0, "trunk", (0.04, 0.06), "upper arm", (0.02, -0.12)),
    "dorsi": (800.0, "trunk", (-0.05, 0.03), "upper arm", (-0.02, -0.10)),
    "biceps": (700.0, "trunk", (0.03, 0.03), "forearm", (0.01, -0.045)),
    "brachialis": (600.0, "upper arm", (0.01, -0.17), "forearm", (0.0, -0.03)),
    "brachioradialis": (60.0, "upper arm", (0.01, -0.22), "forearm", (0.01, -0.20)),
    "triceps": (900.0, "trunk", (-0.04, 0.0), "forearm", (0.0, 0.025)),
}
POSTURE = {"shoulder": 0.4, "elbow": 1.2}
DURATION = 0.2
PLOTS = [("shoulder.q", "elbow.q"), tuple(f"{name}.effort" for name in MUSCLES)]


def system() -> tm.System:
    system = tm.System("muscle sharing", gravity=(0, -9.81, 0))
    rod = tm.solids.rod((0, 0, 0), (0, -FORE, 0), mass=1.6) + tm.solids.point(WEIGHT, at=(0, -FORE, 0))
    bodies = {
        "trunk": system.ground,
        "upper arm": system.body(
            "upper arm", **tm.solids.rod((0, 0, 0), (0, -UPPER, 0), mass=2.1).properties
        ),
        "forearm": system.body("forearm", **rod.properties),
    }
    system.connect("shoulder", tm.Revolute("z"), system.ground, bodies["upper arm"])
    system.connect("elbow", tm.Revolute("z"), bodies["upper arm"].at((0, -UPPER, 0)), bodies["forearm"])
    for name, (_, a, origin, b, insertion) in MUSCLES.items():
        ends = bodies[a].at((*origin, 0)), bodies[b].at((*insertion, 0))
        system.connect(name, tm.Spring(force=tm.Parameter(name, 0.0)), *ends)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(q=POSTURE)


def moment_arms(mech: tm.Mechanism, state: tm.State) -> np.ndarray:
    """Return the loads on shoulder and elbow per unit tension: one column for each muscle."""
    found = mech.derivatives(state, parameters=list(MUSCLES))
    return mech.mass_matrix(state) @ found.ud_p


def share(mech: tm.Mechanism, state: tm.State) -> dict[str, float]:
    """Return the tensions that hold the arm, each from zero to its strength: least squares of stresses."""
    from scipy.optimize import lsq_linear

    strength = np.array([muscle[0] for muscle in MUSCLES.values()])
    arms, wanted = moment_arms(mech, state) * strength, mech.inverse_dynamics(state, np.zeros(2))
    heavy = 1e6 / np.abs(wanted).max()  # the joints come first, then the stresses
    rows = np.vstack((heavy * arms, np.eye(len(strength))))
    found = lsq_linear(rows, np.r_[heavy * wanted, np.zeros(len(strength))], (0, 1), method="bvls", tol=1e-14)
    return dict(zip(MUSCLES, found.x * strength, strict=True))


def run(mech: tm.Mechanism, state: tm.State) -> tm.Run:
    tensed = mech.with_parameters(**share(mech, state))
    return tensed.simulate((0, DURATION), state, rtol=1e-9, t_eval=np.linspace(0, DURATION, 21))


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    start = mech.state(q=POSTURE)
    arms, tension = moment_arms(mech, start), share(mech, start)
    return {
        "tensions": list(tension.values()),
        "moment arms of the biceps": arms[:, list(MUSCLES).index("biceps")],
        "loads that are missing": arms @ list(tension.values()) - mech.inverse_dynamics(start, np.zeros(2)),
        "the arm moves": np.max(np.abs(run.q - run.q[0])),
    }


KNOWN = {
    "tensions": (
        [651.68385892, 0.0, 700.0, 386.36363124, 10.08953502, 0.0],
        1e-6,
        "recomputed: Kuhn-Tucker conditions solved for the two multipliers",
    ),
    "moment arms of the biceps": ([0.0396156845956839, 0.04542160761295584], 1e-12, "recomputed: geometry"),
    "loads that are missing": ([0.0, 0.0], 1e-9, "equilibrium"),
    "the arm moves": (0.0, 1e-7, "equilibrium, unstable: errors grow"),
}
