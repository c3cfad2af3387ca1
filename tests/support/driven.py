"""Mechanisms to drive through simulations: with a closed form, and with everything that is carried from step to step."""

import contextlib

import numpy as np

import treemech as tm
from tests.support.mechanisms import random_mechanism
from tests.support.models import random_state, random_system

G, L = 9.81, 0.7


def pendulum():
    system = tm.System("pendulum", gravity=(0, 0, -G))
    bob = system.body("bob", 1.3, (0, 0, 0), com=(0, 0, -L))
    system.connect("A", tm.Revolute("y"), system.ground, bob)
    system.measure("height", "bob.com[2]")
    return system.build()


def thrown():
    """Return a mass on a vertical guide: its motion is a polynomial, so one step is as good as many."""
    system = tm.System("thrown", gravity=(0, 0, -10.0))
    mass = system.body("mass", 2.0, (0.1, 0.1, 0.1))
    system.connect("z", tm.Prismatic("z"), system.ground, mass)
    return system.build()


def four_bar_system():
    """Return a four-bar linkage: crank A, B, C, rocker D."""
    system = tm.System("four-bar", gravity=(0, 0, -G))
    crank = system.body("crank", mass=1.0, inertia=(0, 1 / 12, 1 / 12), com=(0.5, 0, 0))
    coupler = system.body("coupler", mass=3.0, inertia=(0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", mass=2.5, inertia=(0, 1.3, 1.3), com=(1.25, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    return system


def four_bar():
    system = four_bar_system()
    system.measure("tip", "rocker.com[2]")
    mech = system.build()
    return mech, mech.assemble(fix={"A": -0.6}, rates={"A": 6.0})


def platform():
    """Return a mass on a platform that moves up and down faster than gravity allows it to follow."""
    system = tm.System("platform", gravity=(0, 0, -G))
    mass = system.body("mass", 2.0, (0.1, 0.1, 0.1))
    system.connect("guide", tm.Prismatic("z"), system.ground, mass)
    system.connect(
        "platform", tm.InPlane(distance=tm.Harmonic(0.1, 14.0), unilateral=True), system.ground, mass
    )
    mech = system.build()
    return mech, mech.assemble()


def tree():
    mech = random_system(11, n=14).build()
    return mech, random_state(mech, 2)


def loops():
    made = random_mechanism(3, planar=False, n_loops=2)
    mech = made.system.build()
    return mech, mech.assemble(guess=made.q)


def elements():
    """Return springs with an internal point, a motor under sampled control, an element that remembers."""
    system = tm.System("elements", gravity=(0, 0, -9.81))
    block = system.body("block", mass=2.0, inertia=(1, 1, 1))
    arm = system.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("rail", tm.Prismatic("x"), system.ground.at((1.0, 0, 0)), block)
    axle = system.connect("axle", tm.Revolute("y"), block, arm)
    series = tm.Composite(ends=("a", "b"), points={"n1": 3})
    series.connect("one", tm.Spring(stiffness=100.0, length=0.2), "a", "n1")
    series.connect("two", tm.Spring(stiffness=50.0, damping=0.1, length=0.2), "n1", "b")
    system.connect("series", series, system.ground, arm.at((0.2, 0, 0.1)))
    system.controller(
        "regulator", lambda t, q, u: 3.0 - 2.0 * q - 0.3 * u, 0.05, ("axle.q", "axle.u"), ("volts",)
    )
    system.connect("drive", tm.ElectricMotor(0.3, 1.5, 0.03), axle, inputs={"voltage": "volts"})
    tissue = tm.FungHistory(
        30.0, [0.0, 0.1, 1.0, 10.0], [1.0, 0.8, 0.6, 0.5], span=1.0, length=0.8, samples=40
    )
    system.connect("tissue", tissue, system.ground.at((2, 0, 0.5)), arm.at((0.1, 0, 0)))
    mech = system.build()
    return mech, mech.state(q={"rail": 0.2})


def rubbing_system(seed):
    """Return a double pendulum with friction by the load of a pin and a spring with an implicit law.

    Return a function that makes its start too.
    """
    rng, system = np.random.default_rng(seed), tm.System("two links")
    a = system.body("a", 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0))
    b = system.body("b", 0.7, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    stiffness, force, length = rng.uniform((20, 1, 0.3), (200, 20, 1))
    law = tm.RambergOsgood(stiffness, yield_force=force, length=length)
    system.connect("k", law, system.ground.at((0, 0, 1)), b.at((1, 0, 0)))
    system.connect("rub", tm.Friction(rng.uniform(0.05, 0.4), radius=0.05, threshold=0.01), "A")
    q = rng.uniform(-1, 1, 2)[1]
    return system, lambda mech: mech.state(q={"B": q})  # A carries friction by its load: it is cut


def rubbing(seed):
    system, start = rubbing_system(seed)
    mech = system.build()
    return mech, start(mech)


def chains_system(seed):
    """Return random closed chains, with friction by the loads of some hinges where these carry one.

    Return a function that makes its start too.
    """
    rng = np.random.default_rng(seed)
    made = random_mechanism(seed, planar=bool(rng.random() < 0.5), n_loops=int(rng.integers(1, 3)))
    for name in list(made.q)[:3]:
        with contextlib.suppress(tm.TreemechError):
            made.system.connect(f"rub {name}", tm.Friction(0.1, radius=0.05, threshold=0.05), name)
    return made.system, lambda mech: mech.assemble(guess=made.q)


def chains(seed):
    system, start = chains_system(seed)
    mech = system.build()
    return mech, start(mech)


MODELS = {f.__name__: f for f in (tree, four_bar, loops, elements, platform)}
