"""Haug's uniform pendulum (7.2, 7.3) and the equilibria of his double pendulum (6.5): bars of half length 1 m.

Start at 3 pi/2 with 1 rad/s (swapped in one printed line). Amplitude and period: elliptic integral. The double pendulum is pulled by a
horizontal force at its tip, or its tip is held on a vertical line. Printed: 5.0233 and 5.4795 rad.
"""

import numpy as np
from scipy.special import ellipk

import treemech as tm

DURATION = 5.0
SIMULATE = {"rtol": 1e-11}
PLOTS = [("pivot.q", "pivot.u")]
G = 9.81
SINE = np.sqrt(1 / (3 * G))  # of half the amplitude: J u^2 / 2 = m g (1 - cos), J = 4 m / 3
FORCE, MASSES = 15.0, (2.0, 3.0)  # chosen by us
PULLED = np.arctan(-np.array([MASSES[0] + 2 * MASSES[1], MASSES[1]]) * G / (2 * FORCE))
KNOWN = {
    "amplitude": (2 * np.arcsin(SINE), 1e-8, "closed form; recomputed 0.370788"),
    "period": (4 * np.sqrt(4 / (3 * G)) * ellipk(SINE**2), 1e-8, "elliptic integral; recomputed 2.336469"),
    "double pendulum pulled aside": (PULLED, 1e-9, "closed form (6.5.2)"),
    "double pendulum held on a line": ((5.0233211, 5.4794938), 6e-8, "closed form; printed 5.0233, 5.4795"),
}


def system() -> tm.System:
    system = tm.System("uniform pendulum of Haug", gravity=(0, -G, 0))
    bar = system.body("bar", **tm.solids.rod((0, 0, 0), (2, 0, 0), mass=1.0).properties)
    system.connect("pivot", tm.Revolute("z"), system.ground, bar)
    return system


def double_pendulum(masses, held: bool) -> tm.Mechanism:
    """Return two bars; their tip is held on the line x = 2, or pulled along x."""
    system = tm.System("double pendulum of Haug", gravity=(0, -G, 0))
    end = system.ground.at()
    for name, mass in zip("AB", masses, strict=True):
        bar = system.body(f"bar {name}", **tm.solids.rod((0, 0, 0), (2, 0, 0), mass=mass).properties)
        system.connect(name, tm.Revolute("z"), end, bar)
        end = bar.at((2, 0, 0))
    if held:
        system.connect("line", tm.RelativeOffset("x", 2.0), system.ground, end)
    else:
        system.load("pull", tm.Force(x=FORCE), end)
    return system.build()


def balance(mech: tm.Mechanism) -> np.ndarray:
    """Return the angles of both bars in equilibrium, from the x axis."""
    at = mech.equilibrium(mech.assemble(guess={"A": -1.3, "B": 0.5})).state
    return np.cumsum(at.q)


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    ends = mech.simulate((0, DURATION), state(mech), rtol=1e-11, events="pivot.u < 0").events[0]
    start = mech.state(q={"pivot": ends.states[0]["pivot"][0][0]})
    again = mech.simulate((0, DURATION), start, rtol=1e-11, events="pivot.u < 0").events[0]
    return {
        "amplitude": start.q[0] - 1.5 * np.pi,
        "period": again.t[0],
        "double pendulum pulled aside": balance(double_pendulum(MASSES, held=False)),
        "double pendulum held on a line": balance(double_pendulum((1.0, 1.0), held=True)) + 2 * np.pi,
    }


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(q={"pivot": 1.5 * np.pi}, u={"pivot": 1.0})
