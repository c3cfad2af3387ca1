"""Random closed chains, closed by construction: bodies at random poses, every hinge placed to fit at random coordinates."""

from typing import NamedTuple

import numpy as np

import treemech as tm
from tests.support.models import any_hinge, inertia, rotation

SPATIAL = (
    "Revolute", "Prismatic", "Cylindrical", "Screw", "Universal", "Planar", "Translation", "Ball", "BallBryant", "Polar",
    "Curve",
)  # fmt: skip


class Mechanism(NamedTuple):
    """A system, the coordinates that close it, and the hinges of each of its loops."""

    system: tm.System
    q: dict
    loops: list


class _Maker:
    def __init__(self, seed, planar, gravity=(0.4, -7.0, -3.0)):
        self.rng, self.planar = np.random.default_rng(seed), planar
        self.system = tm.System(f"chain {seed}", gravity=gravity)
        self.poses = {"ground": (np.zeros(3), np.eye(3))}
        self.bodies = {"ground": self.system.ground}
        self.q = {}

    def body(self):
        rng, name = self.rng, f"b{len(self.bodies)}"
        mass = rng.uniform(0.5, 2.0)
        position = rng.uniform(-1.0, 1.0, 3)
        base = rotation(rng)
        if self.planar:
            position[2] = 0.0
            angle = rng.uniform(-3.0, 3.0)
            base = np.array(
                [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]]
            )
        self.bodies[name] = self.system.body(name, mass, inertia(rng, mass), com=rng.uniform(-0.2, 0.2, 3))
        self.poses[name] = (position, base)
        return name

    def hinge(self):
        if self.planar:
            if self.rng.random() < 0.7:
                return tm.Revolute("z")
            angle = self.rng.uniform(-3.0, 3.0)
            return tm.Prismatic((np.cos(angle), np.sin(angle), 0.0))
        kind = SPATIAL[self.rng.integers(len(SPATIAL))]
        return any_hinge(self.rng, kind)

    def connect(self, a, b, hinge):
        """Place the ends at random, so that the hinge fits at random coordinates."""
        rng, name = self.rng, f"h{len(self.q)}"
        q = hinge.sample(rng)
        motion = hinge.motion(q=q)
        point, base = rng.uniform(-1.0, 1.0, 3), np.eye(3) if self.planar else rotation(rng)
        if self.planar:
            point[2] = 0.0
        ends = []
        axes = hinge.base()
        for body, p, R in (
            (a, point, base),
            (b, point + base @ axes @ motion.offset, base @ axes @ motion.rotation @ axes.T),
        ):
            x, B = self.poses[body]
            ends.append(self.bodies[body].at(B.T @ (p - x), B.T @ R))
        if rng.random() < 0.4 and type(hinge).__name__ in ("Revolute", "Prismatic", "Ball"):
            ends, q = ends[::-1], _reversed(hinge, q)
        self.system.connect(name, hinge, *ends)
        self.q[name] = q
        return name, hinge.n_speeds

    def chain(self, a, b, freedoms):
        """Add a chain of hinges and new bodies from a to b with at least so many freedoms."""
        names, have, here = [], 0, a
        while True:
            hinge = self.hinge()
            last = have + hinge.n_speeds >= freedoms and len(names) >= 2
            there = b if last else self.body()
            name, n = self.connect(here, there, hinge)
            names.append(name)
            have, here = have + n, there
            if last:
                return names


def _reversed(hinge, q):
    if type(hinge).__name__ == "Ball":
        return q * np.array([1.0, -1.0, -1.0, -1.0])
    return -q


def random_mechanism(seed, planar, n_loops=1):
    """Return loops with one or more freedoms each; later ones start and end on bodies of the first."""
    maker = _Maker(seed, planar)
    full = 3 if planar else 6
    loops = [maker.chain("ground", "ground", full + 1)]
    for _ in range(n_loops - 1):
        names = list(maker.bodies)
        a, b = maker.rng.choice(len(names), 2, replace=False)
        loops.append(maker.chain(names[a], names[b], full))
    return Mechanism(maker.system, maker.q, loops)
