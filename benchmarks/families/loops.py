"""Families of closed chains that scale: ladders, which grow in depth, and Stewart platforms, which stand side by side."""

from math import cos, radians, sin
from typing import Any

import numpy as np

import treemech as tm
from treemech.topology.arrays import Floats

from ..problems.mechanisms.a02_double_four_bar import four_bars
from ..problems.mechanisms.a02_double_four_bar import state as four_bar_state
from .trees import binary_tree, chain


def ladder(cells: int) -> tm.System:
    """Return a planar ladder that hangs on two pins: every cell adds two side bars, a rung, one freedom.

    All angles are zero at the start: side bars along their own -y axis, of different lengths so that no cell is a parallelogram,
    rungs along their x axis.
    """
    system = tm.System(f"ladder {cells}", gravity=(0.0, -9.81, 0.0))
    left, right, width = system.ground.at(), system.ground.at((1.0, 0.0, 0.0)), 1.0
    points = [np.zeros(3), np.array([1.0, 0.0, 0.0])]

    def bar(name: str, along: Floats) -> Any:
        return system.body(name, **tm.solids.rod((0, 0, 0), along, mass=1.0).properties)

    for k in range(cells):
        down = [np.array([-0.1, -0.5, 0.0]), np.array([0.15, -0.6, 0.0])]
        ends = [points[0] + down[0], points[1] + down[1]]
        across = ends[1] - ends[0]
        a, b, rung = bar(f"left{k}", down[0]), bar(f"right{k}", down[1]), bar(f"rung{k}", across)
        system.connect(f"A{k}", tm.Revolute("z"), left, a)
        system.connect(f"B{k}", tm.Revolute("z"), right, b)
        system.connect(f"C{k}", tm.Revolute("z"), a.at(down[0]), rung)
        system.connect(f"D{k}", tm.Revolute("z"), b.at(down[1]), rung.at(across), role="chord")
        left, right, points, width = rung.at(), rung.at(across), ends, float(np.linalg.norm(across))
    del width
    return system


def stewart(platforms: int) -> tm.System:
    """Return Stewart platforms side by side: six legs each, universal joint, slider and ball."""
    system = tm.System(f"{platforms} Stewart platforms", gravity=(0.0, 0.0, -9.81))
    for k in range(platforms):
        origin, height = np.array([3.0 * k, 0.0, 0.0]), 1.0
        plate = system.body(f"plate{k}", 10.0, (0.5, 0.6, 1.0))
        for leg in range(6):
            base = origin + _ring(1.0, 60 * (leg // 2) * 2 + (20 if leg % 2 else -20))
            joint = _ring(0.6, 60 * (leg // 2) * 2 + (50 if leg % 2 else -50))
            along = origin + joint + (0.0, 0.0, height) - base
            length = float(np.linalg.norm(along))
            z = along / length
            x = np.cross((0.0, 1.0, 0.0), z)
            x /= np.linalg.norm(x)
            R = np.column_stack((x, np.cross(z, x), z))
            lower = system.body(f"lower{k}.{leg}", 1.0, (0.02, 0.02, 0.001), com=(0, 0, 0.3))
            upper = system.body(f"upper{k}.{leg}", 0.7, (0.015, 0.015, 0.001), com=(0, 0, -0.3))
            system.connect(f"U{k}.{leg}", tm.Universal(), system.ground.at(base, R), lower)
            system.connect(f"P{k}.{leg}", tm.Prismatic("z"), lower.at((0, 0, length)), upper)
            role = "branch" if leg == 0 else "chord"
            system.connect(f"S{k}.{leg}", tm.Ball(), upper, plate.at(joint, R), role=role)
    return system


def _ring(radius: float, degrees: float) -> Floats:
    return radius * np.array([cos(radians(degrees)), sin(radians(degrees)), 0.0])


def at_start(mech: tm.Mechanism) -> tm.State:
    """Return the reference position, at rest; closed to rounding."""
    return mech.assemble()


def moving(mech: tm.Mechanism) -> tm.State:
    """Return a random state of a tree, with rates."""
    rng = np.random.default_rng(3)
    q = np.concatenate([c.hinge.sample(rng) for c in mech._lagrange.hinges])
    return mech.state(q=q, u=rng.normal(size=mech.nu))


# name -> (system of a size, its start, sizes, what grows)
GROWTH: dict[str, tuple[Any, Any, tuple[int, ...], str]] = {
    "chain": (chain, moving, (4, 8, 16, 32, 64, 128), "bodies in a row: depth"),
    "binary tree": (binary_tree, moving, (2, 3, 4, 5, 6, 7), "levels of a tree: breadth"),
    "N-four-bar": (four_bars, four_bar_state, (1, 2, 5, 10, 20, 40), "loops side by side"),
    "ladder": (ladder, at_start, (1, 2, 4, 8, 16, 32), "loops one behind the other: depth"),
    "Stewart": (stewart, at_start, (1, 2, 4, 8), "spatial mechanisms side by side"),
}
