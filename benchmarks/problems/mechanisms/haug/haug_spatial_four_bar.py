"""Haug's spatial four-bar (10.3, 12.3): a crank and a rocker in different planes, joined by a rod with a universal and a ball joint.

Crank AB about the world's x axis, rocker CD about y, rod BC of 12.20 m (printed 12.19; the tables fit 12.20). Data printed, but the
inertias, of which one is printed as 0: slender rods. Numbers: closed form and a search along the one freedom; the equilibrium of
Tab. 12.3.2 is the least height of the rocker alone, that of Tab. 12.3.3 agrees.
"""

import numpy as np

import treemech as tm

DURATION = 2.0
PLOTS = [("D.q",), ("D.u",)]
KNOWN = {
    "centre of the rod at crank angle 0": ((-3.74556, -4.25, 4.26237), 6e-6, "closed form; printed to 8e-3"),
    "centre of the rocker at crank angle 0": ((-5.74556, -8.5, 3.26237), 6e-6, "closed form; printed to 8e-3"),
    "crank angle of least energy": (-2.37119, 6e-6, "search along the freedom"),
    "centre of the rod there": ((0.3816, -3.5536, 2.1140), 6e-5, "search along the freedom"),
    "crank angle of least energy, a distance as rod": (1.01810, 6e-6, "search; printed (flat) 1.0453"),
    "centre of the rocker there": ((-6.6111, -8.5, 2.6215), 6e-5, "search; printed -6.610, 2.622"),
}  # fmt: skip


def system(rod: bool = True, driven: bool = True) -> tm.System:
    system = tm.System("spatial four-bar of Haug", gravity=(0, 0, -9.81))
    crank = system.body(
        "crank", 2.0, (4.0, 4.0, 0.01), shapes=tm.solids.rod((0, 0, 0), (0, 0, 2), mass=1).shapes
    )
    link = (
        system.body(
            "rod", 1.0, (12.4, 12.4, 0.01), shapes=tm.solids.rod((0, 0, -6.1), (0, 0, 6.1), mass=1).shapes
        )
        if rod
        else None
    )
    rocker = system.body(
        "rocker", 1.0, (4.56, 4.56, 0.01), shapes=tm.solids.rod((0, 0, -3.7), (0, 0, 3.7), mass=1).shapes
    )
    system.connect("A", tm.Revolute("x"), system.ground, crank)
    system.connect("D", tm.Revolute("y"), system.ground.at((-4, -8.5, 0)), rocker.at((0, 0, -3.7)))
    B, C = crank.at((0, 0, 2)), rocker.at((0, 0, 3.7))
    if link is None:
        system.connect("BC", tm.Distance(12.2), B, C)
    else:
        system.connect("B", tm.Universal(), B, link.at((0, 0, 6.1)))
        system.connect("C", tm.Ball(), link.at((0, 0, -6.1)), C)
    if driven:
        system.prescribe("A", tm.Polynomial([0.0, np.pi]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={"D": -0.49, "B": (-1.2, 0.66)})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    found = {f"centre of the {n} at crank angle 0": run.body(n).position[0] for n in ("rod", "rocker")}
    free, light = system(driven=False).build(), system(rod=False, driven=False).build()
    heavy = free.equilibrium(free.assemble(guess={"A": -2.3, "D": 0.7, "B": (0.2, 0.0)})).state
    flat = light.equilibrium(light.assemble(guess={"A": 1.0, "D": -0.8})).state
    place = free.attitude(heavy).position
    found["crank angle of least energy"] = heavy["A"][0][0]
    found["centre of the rod there"] = place[1]
    found["crank angle of least energy, a distance as rod"] = flat["A"][0][0]
    found["centre of the rocker there"] = light.attitude(flat).position[1]
    return found
