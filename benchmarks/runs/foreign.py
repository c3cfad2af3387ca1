"""What a hinge written outside the library costs: a copy of Screw, and a cam of which only the pose is written."""

from dataclasses import dataclass
from math import cos, sin
from typing import Any

import treemech as tm

from ..families.trees import chain, random_states
from ..timing import least_times


@dataclass(frozen=True)
class ForeignScrew(tm.AxialHinge):
    """tm.Screw as a user would write it."""

    pitch: float
    axis: Any = tm.axis_field()
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        motion.offset[2] = self.pitch * q[0]
        motion.rotation[0, 0] = cos(q[0])
        motion.rotation[0, 1] = -sin(q[0])
        motion.rotation[1, 0] = sin(q[0])
        motion.rotation[1, 1] = cos(q[0])
        motion.translation_partials[0, 2] = self.pitch
        motion.rotation_partials[0, 2] = 1.0


@dataclass(frozen=True)
class Cam(tm.Hinge):
    """Turn about z while a cam of eccentricity e lifts along z; the pose only."""

    eccentricity: float
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        c, s = cos(q[0]), sin(q[0])
        offset[2] = self.eccentricity * (1.0 - c)
        rotation[0, 0] = c
        rotation[0, 1] = -s
        rotation[1, 0] = s
        rotation[1, 1] = c


HINGES = {
    "Revolute (inline)": lambda k: tm.Revolute(),
    "Screw (built in)": lambda k: tm.Screw(0.1),
    "Screw (foreign)": lambda k: ForeignScrew(0.1),
    "Cam (pose only)": lambda k: Cam(0.02),
}


def measure(n: int, count: int, blocks: int) -> dict[str, float]:
    """Measure nanoseconds per hinge of forward dynamics in a chain of n, evaluation of the hinges included."""
    from .core import Ours

    models = {name: Ours(chain(n, hinge).build(), count) for name, hinge in HINGES.items()}
    for name, ours in models.items():
        q, u, _ = random_states(ours.mech, 1)
        if not ours.mech.forward_dynamics((q[0], u[0])).ud.any():
            raise AssertionError(f"{name}: forward dynamics gave nothing")
    times = least_times({name: ours.work("forward_dynamics") for name, ours in models.items()}, blocks)
    return {name: 1e9 * seconds / (count * n) for name, seconds in times.items()}
