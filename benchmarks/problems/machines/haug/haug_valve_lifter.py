"""Haug's valve lifter (5.6, 8.5): an eccentric circular cam lifts a flat follower, a rocker passes the lift on to the valve.

Cam of 1.25 cm about a pivot 0.25 cm off its centre; the rocker's ends slide on the pins of follower and valve. Data printed, in cm
and g; how far the valve spring of 9 cm is pressed together at the start is only in a figure: 3 cm, chosen by us (the printed signs of
the contact force hold between 1.77 and 4.6 cm). Numbers: the printed assembly, and closed forms.
"""

import numpy as np

import treemech as tm

from ...extremes import extremes

CM, GRAM, SQUARE = 1e-2, 1e-3, 1e-7  # [m], [kg], [kg m2] of g cm2
RATE = 40 * np.pi
FREE = 9.0  # length of the valve spring without load [cm]
DURATION = 2 * np.pi / RATE
PLOTS = [("follower.q",), ("valve.q",), ("contact.force[1]",), ("spring.effort",)]
REDUCED = (
    0.180 + 0.050 * np.cos(np.arctan(0.5 / 6)) ** 4
)  # mass at the follower at the top [kg]; 230 g at the bottom
INERTIA = REDUCED * 0.25 * CM * (np.array([1500, 3000, 4500]) * np.pi / 30) ** 2
KNOWN = {
    "follower, rocker and valve at the start": ((0.16, 0.0, 0.235), 1e-12, "printed, exact"),
    "lift of the valve, deviation": (0.0, 1e-12, "closed form: e (1 - cos(phi))"),
    "speed of the valve, e = 0.25, 0.35, 0.45 cm": (
        (0.314159, 0.439823, 0.565487),
        6e-7,
        "closed form: e 40 pi",
    ),
    "acceleration of the valve": ((39.4784, 55.2698, 71.0612), 6e-5, "closed form: e (40 pi)^2"),
    "inertia force at the top, 1500, 3000, 4500 rpm": (
        INERTIA,
        1e-9,
        "closed form; 230 g: 14.19, 56.75, 127.69",
    ),
    "sign of the contact force at the top": (
        (-1, 1, 1, 1, 1, -1),
        0.1,
        "printed, k = 10, 25, 40 and three speeds",
    ),
}


def system(e=0.25, stiffness=25.0, preload=3.0, rate=RATE) -> tm.System:
    """Return the lifter: eccentricity and preload in cm, the stiffness of the valve spring in N/cm."""
    system = tm.System("valve lifter of Haug", gravity=(0, 0, 0))
    bar = tm.solids.rod

    def body(name, mass, J, shape):
        return system.body(name, mass * GRAM, J * SQUARE * np.ones(3), shapes=shape.shapes)

    cam = body("cam", 30, 15, tm.solids.cylinder(1.25 * CM, 0.01, mass=1))
    follower = body("follower body", 120, 2250, bar((0, -0.15, 0), (0, 0.15, 0), mass=1))
    rocker = body("rocker body", 150, 1800, bar((-0.06, 0, 0), (0.06, 0, 0), mass=1))
    valve = body("valve body", 60, 800, bar((0, 0.075, 0), (0, -0.075, 0), mass=1))
    system.connect(
        "shaft", tm.Revolute("z"), system.ground.at((0, (e - 0.25) * CM, 0)), cam.at((0, e * CM, 0))
    )
    system.connect("follower", tm.Prismatic("y"), system.ground, follower)
    system.connect("valve", tm.Prismatic("y"), system.ground.at((0.12, 0, 0)), valve)
    system.connect("rocker", tm.Revolute("z"), system.ground.at((0.06, 0.31, 0)), rocker)
    circle = tm.Profile.circle(1.25 * CM)
    face = follower.at((0, -0.15, 0))
    system.connect("contact", tm.CamFollower(circle, "flat", start=0.5 * np.pi * 1.25 * CM), cam, face)
    system.connect("push", tm.RelativeOffset("y", 0.0), rocker, follower.at((0, 0.15, 0)))
    system.connect("pull", tm.RelativeOffset("y", 0.0), rocker, valve.at((0, 0.075, 0)))
    seat = system.ground.at((0.12, 0.235 - (FREE - preload) * CM, 0))
    system.connect("spring", tm.Spring(100 * stiffness, length=FREE * CM), seat, valve)
    system.prescribe("shaft", tm.Polynomial([0.0, rate]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={"follower": 0.16, "valve": 0.235})


def top(stiffness: float, rpm: float) -> float:
    """Return the force of the cam on the follower at the top of the lift, positive if it pushes."""
    rate = rpm * 2 * np.pi / 60
    mech = system(stiffness=stiffness, rate=rate).build()
    force = mech.kinematics([0.0, np.pi / rate], state(mech)).connection("contact").force
    return float(force[-1, 1])


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    valve = run.connection("valve")
    lifts = [system(e).build() for e in (0.25, 0.35, 0.45)]
    turns = [m.kinematics(np.linspace(0, DURATION, 361), state(m)).connection("valve") for m in lifts]
    inertia = [top(0.0, rpm) for rpm in (1500, 3000, 4500)]
    cases = [(10, 3000), (25, 3000), (40, 3000), (25, 1500), (25, 3000), (25, 4500)]
    return {
        "follower, rocker and valve at the start": [
            run.connection(n).q[0] for n in ("follower", "rocker", "valve")
        ],
        "lift of the valve, deviation": np.max(
            np.abs(valve.q - 0.235 + 0.25 * CM * (1 - np.cos(RATE * run.t)))
        ),
        "speed of the valve, e = 0.25, 0.35, 0.45 cm": [extremes(turn.u)[1] for turn in turns],
        "acceleration of the valve": [extremes(turn.ud)[1] for turn in turns],
        "inertia force at the top, 1500, 3000, 4500 rpm": -np.array(inertia),
        "sign of the contact force at the top": [np.sign(top(*case)) for case in cases],
    }
