"""A Porter governor whose sleeve sticks: dry friction makes a band of speeds in which it does not answer.

Two balls on arms and a heavy sleeve on links, all rods of equal length; the shaft is driven, slowly faster, then slower. With
mass m of a ball, M of the sleeve and friction F, the sleeve starts to move up or down at w^2 = (m g + M g +- F) / (m h), h
the height of the upper pin above the balls. The friction has bristles, which stick (`BristleFriction`). Sizes are ours.
"""

import numpy as np

import treemech as tm

ROD, BALL, SLEEVE, FRICTION, G = 0.25, 1.0, 8.0, 9.0, 9.81
ANGLE = 0.7  # of the arms from the shaft at the start [rad]
BALANCE = np.sqrt((BALL + SLEEVE) * G / (BALL * ROD * np.cos(ANGLE)))  # speed of the shaft without friction
DURATION, RISE = 16.0, 0.15  # [s]; how much faster the shaft gets, as a part
SIMULATE = {"rtol": 1e-7, "method": "Radau", "t_eval": np.linspace(0.0, DURATION, 3201)}
PLOTS = [("shaft.u",), ("sleeve.q",)]


def system(friction=FRICTION) -> tm.System:
    system = tm.System("governor with friction", gravity=(0, 0, -G))
    shaft = system.body("shaft", mass=1.0, inertia=(0.1, 0.1, 0.01))
    sleeve = system.body("sleeve", mass=SLEEVE, inertia=(0.02, 0.02, 0.02))
    system.connect("shaft", tm.Revolute("z"), system.ground, shaft)
    system.connect("sleeve", tm.Prismatic("z"), shaft, sleeve)
    for name, side in ("right", 1.0), ("left", -1.0):
        arm = system.body(name, **tm.solids.point(BALL, at=(0, 0, -ROD)).properties)
        system.connect(f"{name} pin", tm.Revolute((0, -side, 0)), shaft, arm)  # angles open outwards
        system.connect(f"{name} link", tm.Distance(ROD), arm.at((0, 0, -ROD)), sleeve)
    dry = tm.BristleFriction(1.0, load=friction, presliding=2e-5, stribeck=1e-2)
    system.connect("friction", dry, shaft, sleeve)
    system.connect("oil", tm.RotationalSpring(damping=15.0), "sleeve")
    w, rise = 0.99 * BALANCE, 4 * RISE * BALANCE / DURATION**2
    system.prescribe("shaft", tm.Polynomial([0.0, w, rise * DURATION / 2, -rise / 3]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    guess = {"right pin": ANGLE, "left pin": ANGLE}
    return mech.assemble(fix={"sleeve": -2 * ROD * np.cos(ANGLE)}, guess=guess)


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    sleeve, speed = run.connection("sleeve").q, run.connection("shaft").u
    rises = int(np.argmax(sleeve > sleeve[0] + 1e-4))
    top = int(np.argmax(sleeve))
    falls = top + int(np.argmax(sleeve[top:] < sleeve[top] - 1e-4))
    height = -0.5 * sleeve[top]
    down = np.sqrt(((BALL + SLEEVE) * G - FRICTION) / (BALL * height))
    return {
        "speed at which the sleeve rises": speed[rises],
        "speed at which it falls, of the known one": speed[falls] / down,
        "creep while it sticks": np.ptp(sleeve[: rises - 100]),
        "slope of the arms": abs(run.connection("right pin").q[-1] - run.connection("left pin").q[-1]),
    }


UP = np.sqrt(((BALL + SLEEVE) * G + FRICTION) / (BALL * ROD * np.cos(ANGLE)))
KNOWN = {
    "speed at which the sleeve rises": (UP, 0.003 * UP, "closed form; quasi-static"),
    "speed at which it falls, of the known one": (
        1.0,
        0.003,
        "closed form at the height where it stuck; quasi-static",
    ),
    "creep while it sticks": (0.0, 4e-5, "no more than the presliding displacement, either way"),
    "slope of the arms": (0.0, 1e-7, "symmetry"),
}
