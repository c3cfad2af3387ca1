"""Six masses between two walls on spring-dampers, all along x; closed-form modal solution.

Sizes are ours.
"""

import numpy as np

import treemech as tm

from ..problem import load

REFERENCE = load("spring_damper_chain")
PLOTS = [("x1.q", "x2.q", "x3.q", "x4.q", "x5.q", "x6.q"), ("spring 1.effort", "last spring.effort")]
P = REFERENCE.parameters
NAMES = [f"x{k}" for k in range(1, P["n"] + 1)]


def system() -> tm.System:
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    spring = tm.Spring(stiffness=P["stiffness"], damping=P["damping"], length=1.0)
    previous = system.ground.at()
    for k, name in enumerate(NAMES, start=1):
        mass = system.body(f"mass {k}", mass=P["mass"], inertia=(0, 0, 0))
        system.connect(name, tm.Prismatic("x"), system.ground.at((k, 0, 0)), mass)
        system.connect(f"spring {k}", spring, previous, mass)
        previous = mass.at()
    system.connect("last spring", spring, previous, system.ground.at((P["n"] + 1, 0, 0)))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    initial = REFERENCE.initial
    return mech.state(
        q=dict(zip(NAMES, initial["displacements"], strict=True)),
        u=dict(zip(NAMES, initial["velocities"], strict=True)),
    )


def observe(run: tm.Run) -> dict:
    stiffness, damping = derivatives()
    zero, one = np.zeros_like(stiffness), np.eye(P["n"])
    damped = np.linalg.eigvals(np.block([[zero, one], [stiffness, damping]]))
    upper = damped[damped.imag > 0]
    upper = upper[np.argsort(upper.imag)]
    return {
        "displacements": np.column_stack([run.connection(name).q for name in NAMES]),
        "undamped_angular_frequencies": np.sqrt(np.sort(-np.linalg.eigvals(stiffness).real)),
        "damped_eigenvalues_re_im": np.column_stack((upper.real, upper.imag)),
    }


def derivatives() -> tuple[np.ndarray, np.ndarray]:
    """Return accelerations per unit of displacement and of velocity.

    The chain is linear, so differences are exact.
    """
    mech, rest, step = system().build(), np.zeros(P["n"]), 0.25
    moved = [mech.forward_dynamics((0.0, step * e, rest)).ud / step for e in np.eye(P["n"])]
    moving = [mech.forward_dynamics((0.0, rest, step * e)).ud / step for e in np.eye(P["n"])]
    return np.array(moved).T, np.array(moving).T
