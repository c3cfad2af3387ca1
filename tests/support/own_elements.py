"""Elements of every contract, as authors outside the library write them: with branches, helpers, tables, states, time."""

import json
from dataclasses import dataclass
from math import atan2, cos, exp, sin, sqrt
from typing import Any

import numpy as np

import treemech as tm


@dataclass(frozen=True)
class Slide(tm.Hinge):
    """By evaluate: a turn about z that lifts, more so behind a limit."""

    pitch: float = 0.2
    limit: float = 0.4
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        x, c, s = q[0], cos(q[0]), sin(q[0])
        lift, slope, bend = self.pitch * x, self.pitch, 0.0
        if x > self.limit:
            lift += 0.1 * (x - self.limit) ** 3
            slope += 0.3 * (x - self.limit) ** 2
            bend = 0.6 * (x - self.limit)
        motion.offset[2] = lift
        motion.rotation[0, 0] = motion.rotation[1, 1] = c
        motion.rotation[0, 1] = -s
        motion.rotation[1, 0] = s
        motion.translation_partials[0, 2] = slope
        motion.translation_bias[2] = bend * u[0] ** 2
        motion.rotation_partials[0, 2] = 1.0


@dataclass(frozen=True)
class Cam(tm.Hinge):
    """By pose: a turn about y on a path that moves with time."""

    radius: float = 0.3
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[0] = self.radius * sin(q[0]) * (1.0 + 0.1 * sin(3.0 * t))
        offset[2] = -self.radius * cos(q[0]) + 0.05 * exp(-(q[0] ** 2))
        c, s = cos(q[0]), sin(q[0])
        rotation[0, 0] = rotation[2, 2] = c
        rotation[0, 2] = s
        rotation[2, 0] = -s


def hardened(x, stiffness, hardening):
    """Return a force that grows with the third power behind a gap."""
    if abs(x) < 0.05:
        return stiffness * x
    return stiffness * x + hardening * x**3


@dataclass(frozen=True)
class Band(tm.Energetic):
    """By deformation and effort, with a helper that branches."""

    stiffness: Any = 40.0
    hardening: float = 90.0
    damping: float = 0.3
    length: float = 0.4
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        x = position[1, 0] - position[0, 0]
        y = position[1, 1] - position[0, 1]
        z = position[1, 2] - position[0, 2]
        eps[0] = sqrt(x * x + y * y + z * z) - self.length

    def effort(self, now, t, out):
        e, rate = now.deformation[0], now.rate[0]
        out.effort[0] = hardened(e, self.stiffness, self.hardening) + self.damping * rate
        out.dissipated[0] = self.damping * rate * rate


@dataclass(frozen=True)
class Gas(tm.Energetic):
    """By deformation and an implicit law."""

    stiffness: float = 30.0
    damping: float = 0.2
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        x = position[1, 0] - position[0, 0]
        z = position[1, 2] - position[0, 2]
        eps[0] = atan2(x, 1.5 + z * z) + 0.1 * rotation[1, 0, 2]

    def law(self, now, effort, t, f):
        f[0] = (
            effort[0]
            + 0.001 * effort[0] ** 3
            - self.stiffness * now.deformation[0]
            - self.damping * now.rate[0]
        )


@dataclass(frozen=True)
class Lag(tm.Energetic):
    """By effort on a coordinate: a drive whose torque follows its command late, and saturates."""

    gain: float = 4.0
    lag: float = 0.2
    n_ends = 0
    n_coordinates = n_deformations = 1
    n_states = 1
    input_names = ("command",)

    def effort(self, now, t, out):
        torque = max(-2.0, min(2.0, now.x[0]))
        out.effort[0] = 0.2 * now.rate[0] - torque
        out.rates[0] = (self.gain * (now.inputs[0] - now.deformation[0]) - now.x[0]) / self.lag
        out.supplied[0] = torque * now.rate[0]


@dataclass(frozen=True)
class Torsion(tm.Energetic):
    """By evaluate on a coordinate, with a table."""

    table: Any
    n_ends = 0
    n_coordinates = 1

    @classmethod
    def example(cls):
        return cls(np.array([0.0, 12.0, 0.0, 3.0]))

    def evaluate(self, motion, t, out):
        force = 0.0
        for k in range(len(self.table)):
            force += self.table[k] * motion.q[0] ** k
        out.load[0] = -force - 0.1 * motion.u[0] * (1.0 if t < 0.01 else 1.5)


@dataclass(frozen=True)
class Wind(tm.Load):
    """A load by evaluate: place, motion and time."""

    strength: float = 0.7

    def evaluate(self, end, t, load):
        away = 1.0 + end.position[0] * end.position[0]
        load.force[0] = self.strength * cos(t) / away - 0.1 * end.velocity[0]
        load.force[1] = -0.2 * end.velocity[1]
        for k in range(3):
            load.moment[k] = -0.05 * end.angular_velocity[k]


@dataclass(frozen=True)
class Bowl(tm.Constraint):
    """By residual: a point stays on a bowl."""

    curvature: float = 0.5
    n_holonomic = 1

    def residual(self, offset, rotation, s, t, f):
        f[0] = offset[2] - self.curvature * (offset[0] ** 2 + offset[1] ** 2)


@dataclass(frozen=True)
class Level(tm.Constraint):
    """By evaluate: a point stays in the plane z = height."""

    height: float = 0.0
    n_holonomic = 1

    def evaluate(self, motion, t, rows):
        rows.residual[0] = motion.offset[2] - self.height
        rows.force[0, 2] = 1.0


@dataclass(frozen=True)
class Skate(tm.Constraint):
    """By slip: no velocity along the y axis of end b."""

    n_nonholonomic = 1

    def slip(self, offset, rotation, velocity, angular_velocity, s, t, f):
        f[0] = rotation[0, 1] * velocity[0] + rotation[1, 1] * velocity[1] + rotation[2, 1] * velocity[2]


@dataclass(frozen=True)
class Ovals(tm.Coupling):
    """By residual: gears that are not round."""

    ratio: float = 2.0
    wave: float = 0.1
    n_holonomic = 1

    def residual(self, q, t, f):
        f[0] = q[1] - self.ratio * q[0] - self.wave * sin(q[0])


@dataclass(frozen=True)
class Rack(tm.Coupling):
    """By evaluate: q1 = ratio q0."""

    ratio: float = 0.4
    n_holonomic = 1

    def evaluate(self, q, u, t, rows):
        rows.residual[0] = q[1] - self.ratio * q[0]
        rows.partials[0, 0] = -self.ratio
        rows.partials[0, 1] = 1.0


@dataclass(frozen=True)
class Shy(tm.Energetic):
    """Raises beyond a limit."""

    limit: float = 1.0
    n_ends = 0
    n_coordinates = 1

    def evaluate(self, motion, t, out):
        if motion.q[0] > self.limit:
            raise ValueError("beyond the limit")
        out.load[0] = -3.0 * motion.q[0]


@dataclass(frozen=True)
class Spoken(tm.Energetic):
    """Cannot be compiled, so it runs as Python."""

    stiffness: float = 5.0
    n_ends = 0
    n_coordinates = 1

    def evaluate(self, motion, t, out):
        out.load[0] = -self.stiffness * json.loads(json.dumps(float(motion.q[0])))
