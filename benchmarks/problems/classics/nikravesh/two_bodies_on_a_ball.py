"""Two bodies joined by a ball joint and otherwise free (Nikravesh, problem 11.7): accelerations and reaction.

The figure of the problem is missing in the text we hold, so the data are those of our notes: masses, inertias, attitudes,
speeds, a force and two moments. Known values are recomputed by the three Cartesian formulations of the chapter (I, II and
III agree to 1e-11). The reaction here is the load on the second body; lambda is the force on the first one.
"""

import numpy as np

import treemech as tm

from .euler_parameters import G, L

P1, P2 = np.array([0.5, 0.7, -0.5, 0.1]), np.array([0.1, -0.5, 0.7, 0.5])  # Euler parameters
S1, S2 = (0.5, -0.2, 0.3), (-0.4, 0.1, 0.6)  # the joint in body axes
SPIN1, SPIN2 = (1.0, -2.0, 0.5), (-0.3, 0.7, 1.1)  # angular velocities, body axes
RATE1 = (0.2, 0.0, -0.1)
DURATION = 2.0
PLOTS = [("first.position[0]", "first.position[1]"), ("joint.force[0]", "joint.force[1]", "joint.force[2]")]


def system() -> tm.System:
    system = tm.System("two bodies on a ball joint", gravity=(0, 0, -9.81))
    first = system.body("first", mass=2.0, inertia=(0.2, 0.3, 0.4))
    second = system.body("second", mass=3.0, inertia=(0.5, 0.4, 0.3))
    system.connect("flight", tm.Free(), system.ground, first)
    system.connect("joint", tm.Ball(), first.at(S1), second.at(S2))
    system.load("push", tm.Force(y=10.0), first)
    system.load("first moment", tm.Moment(z=5.0), first)
    system.load("second moment", tm.Moment(x=1.0, y=-2.0), second)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    A1, A2 = (G(p) @ L(p).T for p in (P1, P2))
    w1, w2 = A1 @ SPIN1, A2 @ SPIN2
    return mech.state(
        q={"flight": [0, 0, 0, *P1], "joint": A1.T @ A2},
        u={"flight": [*RATE1, *w1], "joint": A1.T @ (w2 - w1)},
    )


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    first, second = run.body("first"), run.body("second")
    spins = [b.rotation[0].T @ b.angular_acceleration[0] for b in (first, second)]
    return {
        "place of the second body": second.com[0],
        "speed of the second body": second.velocity[0],
        "acceleration of the first body": first.acceleration[0],
        "acceleration of the second body": second.acceleration[0],
        "angular acceleration of the first body": spins[0],
        "angular acceleration of the second body": spins[1],
        "reaction on the first body": -run.connection("joint").force[0],
    }


WHERE = "recomputed: formulations I, II and III of the chapter"
KNOWN = {
    "place of the second body": ([0.396, -1.26, 0.028], 1e-12, WHERE),
    "speed of the second body": ([-0.2572, -0.354, -0.3596], 1e-12, WHERE),
    "acceleration of the first body": ([-0.683394766, -0.037568148, -9.364622126], 2e-9, WHERE),
    "acceleration of the second body": ([0.455596511, 3.358378765, -10.106918583], 2e-9, WHERE),
    "angular acceleration of the first body": ([5.93358188, 2.751455633, -0.485590417], 1e-8, WHERE),
    "angular acceleration of the second body": ([5.146587602, -3.035958046, -2.38913421], 1e-8, WHERE),
    "reaction on the first body": ([-1.366789532, -10.075136295, 0.890755748], 2e-9, WHERE),
}
