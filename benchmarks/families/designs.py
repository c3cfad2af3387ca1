"""Synthesis of a four-bar path: the mechanism with its lengths as parameters, and the points it draws."""

from math import pi

import numpy as np

import treemech as tm
from treemech.mechanism import Mechanism
from treemech.topology.arrays import Floats


def path_four_bar(**values: float) -> Mechanism:
    """Return a four-bar in the x-y plane, one turn in 1 s.

    All lengths and the coupler point are parameters.
    """
    lengths = {"ground": 1.0, "crank": 0.35, "coupler": 0.9, "rocker": 0.8, "along": 0.5, "across": 0.4}
    p = {name: tm.Parameter(name, value) for name, value in {**lengths, **values}.items()}
    system = tm.System("four-bar", gravity=(0, 0, 0))
    crank, coupler, rocker = (system.body(n, 1.0, (0.1, 0.1, 0.1)) for n in ("crank", "coupler", "rocker"))
    pen = system.body("pen", 0.0, (0, 0, 0))
    system.connect("A", tm.Revolute("z"), system.ground, crank)
    system.connect("B", tm.Revolute("z"), crank.at((p["crank"], 0, 0)), coupler)
    system.connect("D", tm.Revolute("z"), system.ground.at((p["ground"], 0, 0)), rocker)
    system.connect(
        "C", tm.Revolute("z"), coupler.at((p["coupler"], 0, 0)), rocker.at((p["rocker"], 0, 0)), role="chord"
    )
    system.connect("point", tm.Rigid(), coupler.at((p["along"], p["across"], 0)), pen)
    system.prescribe("A", tm.Polynomial([0.0, 2 * pi]))
    return system.build()


def path(run: tm.Run) -> Floats:
    """Return the points the pen draws, x and y in one column."""
    return np.asarray(run.body("pen").position[:, :2].ravel())


def turn_of_crank(points: int = 12) -> tm.Experiment:
    """Return the experiment: one turn of the four-bar, its coupler above the ground."""
    times = np.linspace(0.0, 1.0, points, endpoint=False)
    return tm.Experiment(cycle=times, start=lambda mech: mech.assemble(guess={"B": 0.8, "D": 1.8}))
