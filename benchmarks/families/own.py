"""A chain of elements of a user: none of them is known to the library."""

from dataclasses import dataclass
from math import cos, sin, sqrt

import treemech as tm

from .trees import chain


@dataclass(frozen=True)
class Worm(tm.Hinge):
    """Turn about z, with an advance that grows with the angle."""

    pitch: float = 0.02
    growth: float = 0.005
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):  # type: ignore[no-untyped-def]
        x, c, s = q[0], cos(q[0]), sin(q[0])
        motion.offset[2] = (self.pitch + self.growth * x) * x
        motion.rotation[0, 0] = motion.rotation[1, 1] = c
        motion.rotation[0, 1] = -s
        motion.rotation[1, 0] = s
        motion.translation_partials[0, 2] = self.pitch + 2.0 * self.growth * x
        motion.translation_bias[2] = 2.0 * self.growth * u[0] ** 2
        motion.rotation_partials[0, 2] = 1.0


@dataclass(frozen=True)
class Band(tm.Energetic):
    """A damped spring between two points that hardens with the third power."""

    stiffness: float = 30.0
    hardening: float = 60.0
    damping: float = 0.2
    length: float = 0.3
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):  # type: ignore[no-untyped-def]
        x = position[1, 0] - position[0, 0]
        y = position[1, 1] - position[0, 1]
        z = position[1, 2] - position[0, 2]
        eps[0] = sqrt(x * x + y * y + z * z) - self.length

    def effort(self, now, t, out):  # type: ignore[no-untyped-def]
        e, rate = now.deformation[0], now.rate[0]
        out.effort[0] = (self.stiffness + self.hardening * e * e) * e + self.damping * rate
        out.energy[0] = (0.5 * self.stiffness + 0.25 * self.hardening * e * e) * e * e
        out.dissipated[0] = self.damping * rate * rate


@dataclass(frozen=True)
class Rubber(tm.Energetic):
    """A damped torsion spring on the coordinate of a hinge, by evaluate."""

    stiffness: float = 5.0
    damping: float = 0.1
    n_ends = 0
    n_coordinates = 1

    def evaluate(self, motion, t, out):  # type: ignore[no-untyped-def]
        x, rate = motion.q[0], motion.u[0]
        out.load[0] = -self.stiffness * sin(x) - self.damping * rate


def own_chain(n: int = 10) -> tm.System:
    """Return a chain of n hinges of a user, each with a torsion spring, and a band from every second body to the ground.

    >>> own_chain(4).build().nu
    4
    """
    system = chain(n, lambda k: Worm(), f"own chain {n}")
    for k in range(n):
        system.connect(f"rubber{k}", Rubber(), f"h{k}")
        if k % 2:
            system.connect(f"band{k}", Band(), system.ground, system.bodies[k + 1])
    return system
