"""Haug's four-bar linkage (5.3): a driven crank; a shorter follower swings faster, and at last the linkage locks.

Crank AB 2 m, coupler BC 4 m, follower CD; D lies so that C starts at (4, 2). Also the linkage 4-6-6 of example 3.5.2. The
masses are ours: the book asks for the motion alone. Numbers: closed form, those printed agree to their digits.
"""

import numpy as np

import treemech as tm

from ...extremes import extremes

DURATION = 1.0
PLOTS = [("D.q",), ("D.u",), ("D.ud",)]
CLOSED = "closed form"
KNOWN = {
    "coupler at the start": ((2.0, 2.0, 0.0), 1e-12, "printed, Tab. 5.3.6"),
    "angle of the follower": ((0.90969, 2.42162), 6e-6, CLOSED),
    "rate of the follower": ((-7.3027, 4.1888), 6e-5, CLOSED),
    "acceleration of the follower": ((-38.87, 86.37), 6e-3, CLOSED),
    "acceleration, follower 2.1 m": ((-79.30, 340.86), 6e-3, CLOSED),
    "time of lock-up, follower 1.9 m": (0.191825, 6e-7, "closed form: the distance BD is 5.9 m; read from a graph: 0.18"),
    "4-6-6: place of the coupler": ((4.9494897, 4.0122898), 6e-8, "closed form; printed 4.94949, 4.01222 (misprint)"),
    "4-6-6: coupler and follower": ((0.18376187, 0.86343569), 6e-9, "closed form; printed 0.18376, 0.86344"),
    "4-6-6: rates of coupler and follower": ((0.608884, 2.532709), 6e-7, CLOSED),
}  # fmt: skip


def system(crank=2.0, coupler=4.0, follower=3.0, pivot=None, start=np.pi / 2, rate=2 * np.pi) -> tm.System:
    system = tm.System("four-bar of Haug", gravity=(0, -9.81, 0))
    end = system.ground.at()
    for pin, name, length in ("A", "crank", crank), ("B", "coupler", coupler):
        body = system.body(name, **tm.solids.rod((0, 0, 0), (length, 0, 0), mass=length).properties)
        system.connect(pin, tm.Revolute("z"), end, body)
        end = body.at((length, 0, 0))
    body = system.body("follower", **tm.solids.rod((0, 0, 0), (follower, 0, 0), mass=follower).properties)
    pivot = (4.0, 2.0 - follower) if pivot is None else pivot
    system.connect("D", tm.Revolute("z"), system.ground.at((*pivot, 0)), body)
    system.connect("C", tm.Revolute("z"), end, body.at((follower, 0, 0)))
    system.prescribe("A", tm.Polynomial([start, rate]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={"B": -np.pi / 2, "D": np.pi / 2})


def driven(mech: tm.Mechanism) -> tm.Run:
    """Return the motion of the drives, by kinematics alone."""
    return mech.kinematics(np.linspace(0.0, DURATION, 361), state(mech))


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    D, short = run.connection("D"), system(follower=2.1).build()
    locked = system(follower=1.9).build()
    other = system(4.0, 6.0, 6.0, (4.0, 0.0), np.pi / 3, np.pi).build()
    at = other.kinematics([0.0, 0.1], other.assemble(guess={"B": -0.9, "D": 0.9}))
    angles = at.q[0, :2].sum(), at.connection("D").q[0]
    rates = at.u[0, :2].sum(), at.connection("D").u[0]
    return {
        "coupler at the start": run.point("coupler", (2, 0, 0)).position[0],
        "angle of the follower": extremes(D.q),
        "rate of the follower": extremes(D.u),
        "acceleration of the follower": extremes(D.ud),
        "acceleration, follower 2.1 m": extremes(driven(short).connection("D").ud),
        "time of lock-up, follower 1.9 m": locks_at(driven(locked)),
        "4-6-6: place of the coupler": at.point("coupler", (3, 0, 0)).position[0, :2],
        "4-6-6: coupler and follower": angles,
        "4-6-6: rates of coupler and follower": rates,
    }


def locks_at(run: tm.Run) -> float:
    """Return the time at which a driven mechanism locks."""
    if run.success or run.report is None:
        raise ValueError("the mechanism does not lock.")
    return float(run.report.t)
