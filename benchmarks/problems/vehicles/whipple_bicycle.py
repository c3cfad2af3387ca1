"""The Whipple bicycle with the benchmark parameters of Meijaard, Papadopoulos, Ruina and Schwab (2007), riding free.

Two wheels with sharp edges that roll without slip, a rear frame with the rider, a front frame. All sizes, masses and the
eigenvalues are printed there (their axes have z down; here it points up). Upright at 5 m/s it is stable: pushed sideways it
sways, and rides on. The kinetic energy of the push goes into the ride, as nothing dissipates.
"""

import numpy as np

import treemech as tm

BASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10
REAR, FRONT = 0.3, 0.35  # radii
AXIS = np.array([-np.sin(TILT), 0.0, np.cos(TILT)])  # of the steering, upwards
SIDEWAYS = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # a base with z to the left, the axis of a wheel
SPEED, PUSH = 5.0, 0.2  # forwards [m/s], of leaning [rad/s]
DURATION = 3.0
SIMULATE = {"rtol": 1e-9}
PLOTS = [("steer.q",), ("lean",), ("rear frame.position[0]", "rear frame.position[1]")]


def system() -> tm.System:
    system = tm.System("Whipple bicycle", gravity=(0, 0, -9.81))
    frame = system.body("rear frame", 85.0, (9.2, 11.0, 2.8, 0, -2.4, 0), com=(0.3, 0, 0.9))
    fork = system.body(
        "front frame",
        4.0,
        (0.05892, 0.06, 0.00708, 0, 0.00756, 0),
        com=(0.9 - BASE - TRAIL, 0, 0.7),
    )
    rear = system.body("rear wheel", 2.0, (0.0603, 0.12, 0.0603))
    front = system.body("front wheel", 3.0, (0.1405, 0.28, 0.1405))
    ground = (BASE + TRAIL, 0, 0)  # where the steering axis meets the ground
    system.connect("ride", tm.Free(), system.ground, frame)
    system.connect("rear axle", tm.Revolute("y"), frame.at((0, 0, REAR)), rear)
    system.connect("steer", tm.Revolute(AXIS), frame.at(ground), fork)
    system.connect("front axle", tm.Revolute("y"), fork.at((-TRAIL, 0, FRONT)), front)
    system.connect("rear contact", tm.RollingDisk(REAR), system.ground, rear.at(rotation=SIDEWAYS))
    system.connect("front contact", tm.RollingDisk(FRONT), system.ground, front.at(rotation=SIDEWAYS))
    system.measure("lean", lambda run: -np.arcsin(run.body("rear frame").rotation[:, 2, 1]))
    return system


def state(mech: tm.Mechanism, speed=SPEED, push=PUSH) -> tm.State:
    rates = {"rear axle": speed / REAR, "steer": 0.0, "ride[3]": push}
    return mech.assemble(fix={"steer": 0.0, "ride": [0, 0, 0, 1, 0, 0, 0]}, rates=rates)


def eigenvalues(mech: tm.Mechanism, speed: float) -> np.ndarray:
    """Return those of lean and steer upright at a speed; the others are zero: place, heading and speed do not matter."""
    found = mech.linearize(state(mech, speed, 0.0)).eigenvalues
    return found[np.abs(found) > 0.1]


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    rest, ride = np.sort(eigenvalues(mech, 0.0).real), eigenvalues(mech, SPEED)
    weave, others = ride[ride.imag > 0][0], np.sort(ride[ride.imag == 0].real)
    return {
        "degrees of freedom": mech.mobility(run.state(0)).dof,
        "eigenvalues at rest": rest,
        "caster and capsize at 5 m/s": others,
        "weave at 5 m/s": [weave.real, weave.imag],
        "energy": np.ptp(run.energy.total) / run.energy.total[0],
        "lean at the end": run.measure("lean")[-1],
    }


PRINTED = "printed: Meijaard et al. (2007), table 2"
KNOWN = {
    "degrees of freedom": (7, 1e-9, "printed: 7 of position, 3 of velocity"),
    "eigenvalues at rest": (
        [-5.530943717654, -3.131643247907, 3.131643247907, 5.530943717654],
        1e-8,
        PRINTED,
    ),
    "caster and capsize at 5 m/s": ([-14.078389692798, -0.322866429004], 1e-8, PRINTED),
    "weave at 5 m/s": ([-0.775341882196, 4.464867713788], 1e-8, PRINTED),
    "energy": (0.0, 1e-9, "nothing dissipates"),
}
