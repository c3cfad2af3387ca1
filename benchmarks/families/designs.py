"""Mechanisms with parameters: Kelem's lens polisher and the synthesis of a four-bar path."""

from math import pi

import numpy as np

import treemech as tm
from treemech.mechanism import Mechanism
from treemech.topology.arrays import Floats

_ARM = (0.0086, 0.26)  # from the crank's axis to the upper ball, hot points 1 and 6
_COUPLER = (-0.0386, -0.498, 0.245)  # from there to the lower ball, hot point 7


def lens_polisher(driven: bool = False) -> Mechanism:
    """Return the spatial slider-crank of Kelem (2009), R-S-S-P.

    The density of its crank, two lengths and a torque are parameters.

    Between hot points 6 and 7 of the thesis. Crank about z, its coordinate `crank` zero in the printed position; slider along
    x, its coordinate x of the lower ball. The coupler may spin about its axis, unless `driven`: then the upper joint is
    universal and the crank turns once in 1 s.
    """
    density = tm.Parameter("density", 7801.0)
    radius = tm.Parameter("radius", float(np.hypot(*_ARM)))
    length = tm.Parameter("length", float(np.linalg.norm(_COUPLER)))
    ratio = density / 7801.0
    system = tm.System("lens polisher", gravity=(0, -9.80665, 0))
    inertia = (ratio * 0.0215, ratio * 0.0018, ratio * 0.0229)
    crank = system.body("crank", ratio * 2.88, inertia, com=(0, 0.0853, 0))
    coupler = system.body("coupler", 0.33, (0.00961, 0.00961, 1.12e-5), com=(0, 0, length / 2))
    slider = system.body("slider", 2.59, (0.0325, 0.0318, 0.0141), com=(-0.0022, -0.0983, 0.0208))
    arm = np.array(_ARM) / np.hypot(*_ARM)
    upper = crank.at((radius * arm[0], radius * arm[1], 0.054))
    system.connect("crank", tm.Revolute("z"), system.ground.at((0, 0.22, 0)), crank)
    system.connect("A", tm.Universal() if driven else tm.Ball(), upper, coupler)
    system.connect("slider", tm.Prismatic("x"), system.ground.at((0, -0.018, 0.299)), slider)
    system.connect("B", tm.Ball(), coupler.at((0, 0, length)), slider, role="chord")
    system.load("torque", tm.Moment(z=tm.Parameter("torque", 0.0)), crank)
    if driven:
        system.prescribe("crank", tm.Polynomial([0.0, 2 * pi]))
    return system.build()


def polisher_start(mech: Mechanism, rate: float = 0.0) -> tm.State:
    """Return the printed position, the crank turning at a rate [rad/s], the coupler not spinning."""
    z = np.array(_COUPLER) / np.linalg.norm(_COUPLER)
    x = np.cross((0.0, 1.0, 0.0), z)
    x /= np.linalg.norm(x)
    turn = np.column_stack((x, np.cross(z, x), z))
    return mech.assemble(fix={"crank": 0.0}, guess={"A": turn, "slider": -0.03}, rates={"crank": rate})


def coasting(rate: float = -112.4, end: float = 0.12) -> tm.Experiment:
    """Return the experiment: the polisher let go at a crank speed, two turns.

    The slider is fastest near the dead point, once in each turn.
    """
    return tm.Experiment((0.0, end), start=lambda mech: polisher_start(mech, rate), rtol=1e-8)


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
