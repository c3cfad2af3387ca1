"""Models of which many are computed, at the top of a module: workers find what they are made of by name."""

import os
from dataclasses import dataclass
from math import exp

import treemech as tm


def pendulum():
    """Return a double pendulum with parameters and a motor."""
    l1, m2 = tm.Parameter("l1", 1.0), tm.Parameter("m2", 1.0)
    system = tm.System("double pendulum", gravity=(0, 0, -9.81))
    a = system.body("a", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -l1))
    b = system.body("b", mass=m2, inertia=(0, 0, 0), com=(0, 0, -0.8))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((0, 0, -l1)), b)
    system.connect("drive", tm.Actuator(upper=20.0), "A", inputs={"command": "torque"})
    system.input("torque")
    return system.build()


def floating():
    """Return a free body with a ball and a screw hinge on it: Euler parameters in both directions of the tree."""
    m = tm.Parameter("m", 1.3)
    system = tm.System("floating", gravity=(0.2, 0.1, -9.81))
    base = system.body("base", mass=3.0, inertia=(0.3, 0.4, 0.5))
    arm = system.body("arm", mass=m, inertia=(0.2, 0.1, 0.15), com=(0.3, 0, 0.1))
    tip = system.body("tip", mass=0.7, inertia=(0.1, 0.1, 0.05), com=(0, 0.2, 0))
    system.connect("ball", tm.Ball(), base.at((0.5, 0, 0)), arm)
    system.connect("screw", tm.Screw(pitch=0.1), arm.at((0.4, 0, 0)), tip)
    system.connect(
        "spring", tm.Spring(stiffness=20.0, damping=0.5, length=0.3), tip, system.ground.at((0, 0, 1))
    )
    return system.build()


def four_bar(**options):
    """Return a closed chain with parameters."""
    length, k = tm.Parameter("l", 1.0), tm.Parameter("k", 40.0)
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    crank = system.body("crank", **tm.solids.rod((0, 0, 0), (length, 0, 0), mass=1.0).properties)
    coupler = system.body("coupler", mass=3.0, inertia=(0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", mass=2.5, inertia=(0, 1.3, 1.3), com=(1.25, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((length, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    spring = tm.Spring(stiffness=k, damping=k / 400, length=length)
    system.connect("spring", spring, crank.at((length, 0, 0)), system.ground.at((0.5, 0, 1)))
    return system.build()


def closed(mech):
    """Return a start of the four-bar."""
    return mech.assemble(fix={"A": -0.6}, rates={"A": 2.0})


@dataclass(frozen=True)
class Foil(tm.Energetic):
    """An element of one's own."""

    stiffness: float
    n_coordinates = 1
    n_ends = 0
    n_deformations = 1

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * (exp(0.5 * now.deformation[0]) - 1.0)


def own_element():
    """Return a pendulum with an element of one's own."""
    system = tm.System("own", gravity=(0, 0, -9.81))
    bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1.0))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.connect("foil", Foil(stiffness=8.0), "A")
    return system.build()


def last_torque(run):
    """Return a number of a run, by a function that workers find."""
    return float(run.q[-1].sum())


def dies_once(run):
    """End the process the first time, where a file says so; a measure of a worker that dies."""
    mark = os.environ.get("TREEMECH_TEST_MARK")
    if mark:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return float(run.q[-1, 0])
        os._exit(1)
    return float(run.q[-1, 0])
