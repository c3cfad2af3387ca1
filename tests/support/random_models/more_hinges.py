"""Hinges of several hinges, and one that is written outside the library."""

import treemech as tm

from .foreign import Swivel

MORE_HINGES = {
    "Series": lambda rng: tm.Series(
        tm.Revolute("z"), (rng.uniform(0.1, 0.4), 0.0, 0.2), tm.Revolute("y"), (0.0, 0.1, 0.0)
    ),
    "Swivel": lambda rng: Swivel(float(rng.uniform(0.1, 0.4))),
    "Assembly": lambda rng: rod(float(rng.uniform(0.2, 0.6))).report().hinge,
}


def rod(length):
    """Return a kinematic assembly: two balls joined by a rod without mass."""
    link = tm.Composite(frames=("rod",))
    link.connect("A", tm.Ball(), "a", "rod")
    link.connect("B", tm.Ball(), link.at("rod", (0.0, 0.0, length)), "b")
    return link
