"""Models with parameters in every place, made with parameters or with plain numbers."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

import treemech as tm

VALUES = {"g": 9.81, "l": 0.7, "m": 1.3, "k": 30.0, "c": 0.4, "a": 0.2, "w": 2.0}


@dataclass(frozen=True)
class Band(tm.Energetic):
    """Somebody else's spring."""

    stiffness: float
    length: float
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        x = position[1, 0] - position[0, 0]
        y = position[1, 1] - position[0, 1]
        z = position[1, 2] - position[0, 2]
        eps[0] = sqrt(x * x + y * y + z * z) - self.length

    def effort(self, now, t, out):
        out.effort[0] = self.stiffness * now.deformation[0]
        out.energy[0] = 0.5 * self.stiffness * now.deformation[0] ** 2


def numbers(values, plain):
    merged = {**VALUES, **values}
    return [merged[n] if plain else tm.Parameter(n, merged[n]) for n in VALUES]


def tree(plain=False, foreign=False, **values):
    """Return a branching tree: hinges of several kinds, one prescribed, elements, loads, states."""
    g, length, m, k, c, a, w = numbers(values, plain)
    system = tm.System("tree", gravity=(0.3 * g, 0, -g))
    b1 = system.body("b1", m, (0.2 * m, 0.4, 0.4), com=(length / 2, 0, 0.1))
    b2 = system.body("b2", m * 2, (0.3, 0.4, 0.5, 0.02 * m, 0, 0), com=np.array([0, length * np.sin(a), 0]))
    rod = tm.solids.rod((0, 0, 0), (length, 0, 0), density=m) + tm.solids.sphere(0.1 + a, mass=0.3)
    b3 = system.body("b3", **rod.properties)
    system.connect("A", tm.Revolute("y"), system.ground, b1)
    system.connect("B", tm.Ball(), b1.at((length, 0, 0)), b2)
    system.connect("C", tm.Screw(pitch=0.1 * length, axis=(1, a, 0)), b2.at((0, length, 0)).at((0, 0, a)), b3)
    spring = Band(k, length) if foreign else tm.Spring(stiffness=k, damping=c, length=length)
    system.connect("spring", spring, b3.at((0, 0, length)), system.ground.at((1, 1, 1)))
    system.load("wind", tm.Force(x=tm.Harmonic(amplitude=10 * a, frequency=w)), b3)
    system.load("push", tm.Moment(z=c), b2)
    system.prescribe("A", tm.Harmonic(amplitude=a, frequency=w))
    return system


def tree_start(mech):
    return mech.state(0.0, q={"B": [0.8, 0.2, -0.5, 0.3], "C": 0.4}, u={"B": [1, 2, -1], "C": 3.0})


def four_bar(plain=False, **values):
    """Return a closed chain with a spring and a damper on its crank."""
    g, length, m, k, c, a, w = numbers({"l": 1.0, **values}, plain)
    system = tm.System("four-bar", gravity=(0, 0, -g))
    crank = system.body("crank", m * length, (0, length**2 / 12, length**2 / 12), com=(length / 2, 0, 0))
    coupler = system.body("coupler", 3.0, (0, 9 / 4, 9 / 4), com=(1.5, 0, a))
    rocker = system.body("rocker", 2.5, (0, 1.3, 1.3), com=(1.25, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((length, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    system.connect(
        "spring", tm.Spring(k, c, length=a), crank.at((length, 0, 0)), system.ground.at((0.5, 0, 1))
    )
    system.load("push", tm.Force(x=tm.Harmonic(amplitude=w, frequency=3.0)), rocker.at((1, 0, 0)))
    system.measure("height", "coupler.position[2]")
    return system


def four_bar_start(mech):
    return mech.assemble(fix={"A": -0.6}, rates={"A": 2.0})


def spatial(plain=False, **values):
    """Return a spatial slider-crank with Euler parameters in the tree and a hinge called by address as chord."""
    g, length, m, k, c, a, w = numbers({"a": 0.3, "l": 1.0, **values}, plain)
    system = tm.System("spatial slider-crank", gravity=(0, 0, -g))
    crank = system.body("crank", m, (0.1, 0.1, 0.1), com=(0, a / 2, 0))
    rod = system.body("rod", 1.0, (0.05, 0.1, 0.1 * m), com=(length / 2, 0, 0))
    slider = system.body("slider", 2.0 * m, (0.1, 0.1, 0.1))
    system.connect("A", tm.Revolute("x"), system.ground.at((0, 0.1, 0.2)), crank)
    system.connect("B", tm.Ball(), crank.at((0, 0, a)), rod)
    system.connect("S", tm.Prismatic("x"), system.ground, slider)
    turn = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]  # about y and z
    system.connect(
        "U", tm.Universal(), rod.at((length, 0, 0), turn), slider.at((0, 0, 0), turn), role="chord"
    )
    system.connect(
        "damper", tm.Spring(damping=c, stiffness=k, length=length / 2), slider, system.ground.at((w, 0, 0))
    )
    return system


def spatial_start(mech):
    return mech.assemble(fix={"A": 0.5}, guess={"S": 0.8}, rates={"A": 3.0})
