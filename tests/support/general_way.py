"""Take the general way through an analysis, past the C extension, and compare results to the bit."""

from contextlib import contextmanager

import numpy as np

import treemech as tm
from tests.support.driven import four_bar, loops, pendulum, tree
from treemech.benchmarks.families.loops import stewart
from treemech.results.computed import Pair


class _Never:
    """In place of the calls of a core: takes nothing."""

    def __init__(self):
        self.poses = self.velocities = self.jacobians = {}

    def __getattr__(self, name):
        return lambda *_: None

    def table(self, name):
        return None

    def end(self, name, end):
        return lambda *_: None

    def with_drives(self, actuated, weights, name):
        return lambda *_: None


@contextmanager
def general_way(mech):
    """Let the mechanism go past the C extension within the block, in this thread."""
    own = mech._workspaces.own
    calls, home = own.calls, mech._home
    own.calls = mech._home = _Never()
    try:
        yield
    finally:
        own.calls, mech._home = calls, home


def same(a, b):
    """Tell whether two results are equal to the bit, with all their parts."""
    if isinstance(a, np.ndarray | float):
        a, b = np.asarray(a), np.asarray(b)
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Pair):
        return type(a) is type(b) and same(a.numbers, b.numbers)
    return (
        type(a) is type(b) and all(same(getattr(a, k), getattr(b, k)) for k in vars(a))
        if hasattr(a, "__dict__")
        else a == b
    )


def sprung():
    """Return a tree with a spring, a motor with a state of its own, and a prescribed coordinate."""
    system = tm.System("sprung", gravity=(0, 0, -9.81))
    a = system.body("a", 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0))
    b = system.body("b", 0.7, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    c = system.body("c", 0.3, (0.1, 0.1, 0.1), com=(0.3, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    system.connect("C", tm.Revolute("z"), b.at((1, 0, 0)), c)
    system.connect("spring", tm.Spring(50.0, 2.0, 0.4), system.ground.at((0, 0, 1)), b.at((1, 0, 0)))
    system.connect("motor", tm.ElectricMotor(0.3, 1.5, 0.03), "B", inputs={"voltage": 2.0})
    system.prescribe("C", tm.Harmonic(0.3, 2.0))
    mech = system.build()
    return mech, mech.state(0.3, q={"A": 0.4, "B": -0.7}, u={"A": 1.0, "B": 0.2})


def platform():
    """Return a Stewart platform in motion: balls as chords."""
    mech = stewart(1).build()
    return mech, mech.assemble(rates={"P0.0": 0.3})


def hanging():
    mech = pendulum()
    return mech, mech.state(q={"A": 0.3}, u={"A": -2.0})


# name -> (mechanism, state), with everything that the C extension takes
PLAIN = {
    "pendulum": hanging, "tree": tree, "sprung": sprung, "four-bar": four_bar, "loops": loops, "Stewart": platform,
}  # fmt: skip
