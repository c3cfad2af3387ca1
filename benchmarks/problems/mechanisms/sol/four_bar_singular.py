"""Sol's four-bar linkage in its singular attitude (figures 8.1 and 8.2).

Normally the linkage has one degree of freedom; where all links lie on one line the rank of P falls to one, there are two,
and the crank could go on or turn back. Lengths are ours: 1 + 3 = 2 + 2, so the linkage folds flat once a turn. The run
comes down to that attitude and goes on through it on its own branch. Positions are known in closed form: for crank angle
a, the rocker angle is that of the triangle B-C-D, with a mirrored solution (figure 8.2).
"""

from math import acos, atan2, cos, hypot, pi, sin

import numpy as np

import treemech as tm

CRANK, COUPLER, ROCKER, GROUND = 1.0, 3.0, 2.0, 2.0
DURATION = 2.0
SIMULATE = {"rtol": 1e-10}
PLOTS = [("A.q", "D.q"), ("A.u", "D.u")]


def rocker(a: float, side: float = 1.0) -> float:
    """Return the rocker angle for a crank angle, on one side of the line B-D."""
    x, y = CRANK * cos(a) - GROUND, CRANK * sin(a)
    long = hypot(x, y)
    return atan2(y, x) - side * acos((long**2 + ROCKER**2 - COUPLER**2) / (2 * long * ROCKER))


def system() -> tm.System:
    system = tm.System("Sol, figure 8.1", gravity=(0, -9.81, 0))
    lengths = {"crank": CRANK, "coupler": COUPLER, "rocker": ROCKER}
    crank, coupler, rocker = (
        system.body(name, **tm.solids.rod((0, 0, 0), (length, 0, 0), mass=length).properties)
        for name, length in lengths.items()
    )
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((CRANK, 0, 0)), coupler)
    system.connect("C", tm.Revolute("z"), coupler.at((COUPLER, 0, 0)), rocker.at((ROCKER, 0, 0)))
    system.connect("D", tm.Revolute("z"), system.ground.at((GROUND, 0, 0)), rocker)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    a = pi / 2
    return mech.assemble(fix={"A": a}, guess={"D": rocker(a), "B": -pi / 2}, rates={"A": -6.0})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    flat = mech.state(q={"A": 0.0, "B": 0.0, "D": 0.0})
    both = mech.assemblies(fix={"A": pi / 2})
    crank, angle = run.connection("A").q, run.connection("D").q
    side = (-1) ** np.floor(crank / (2 * pi))  # going on smoothly, it changes with every passage
    off = [sin((d - rocker(a, s)) / 2) for a, d, s in zip(crank, angle, side, strict=True)]
    return {
        "degrees of freedom": mech.mobility(run.state(0)).dof,
        "degrees of freedom, flat": mech.mobility(flat).dof,
        "rocker angles of both assemblies": sorted(float(s["D"][0][0]) % (2 * pi) for s in both),
        "passages": len(run.singular),
        "largest distance from the branch": np.max(np.abs(off)),
    }


KNOWN = {
    "degrees of freedom": (1, 1e-9, "printed: section 8.2, figure 8.1a"),
    "degrees of freedom, flat": (2, 1e-9, "printed: section 8.2, figure 8.1b"),
    "rocker angles of both assemblies": (
        sorted(rocker(pi / 2, side) for side in (1, -1)),
        1e-10,
        "closed form of the triangle; the mirrored attitude of figure 8.2",
    ),
    "passages": (3, 1e-9, "one in every turn: crank angle 0, -2 pi and -4 pi"),
    "largest distance from the branch": (
        0.0,
        1e-7,
        "closed form; the square root of rounding next to the flat attitude",
    ),
}
