"""Elements as an author outside the library writes them: a band, a drive with states, a load, a hinge, couplings."""

from dataclasses import dataclass
from math import cos, sin, sqrt

import treemech as tm


@dataclass(frozen=True)
class Band(tm.Energetic):
    """A damped spring that hardens with the third power."""

    stiffness: float
    hardening: float
    damping: float
    length: float
    n_deformations = 1

    def deformation(self, position, rotation, t, eps):
        x = position[1, 0] - position[0, 0]
        y = position[1, 1] - position[0, 1]
        z = position[1, 2] - position[0, 2]
        eps[0] = sqrt(x * x + y * y + z * z) - self.length

    def effort(self, now, t, out):
        e, rate = now.deformation[0], now.rate[0]
        out.effort[0] = (self.stiffness + self.hardening * e * e) * e + self.damping * rate
        out.energy[0] = (0.5 * self.stiffness + 0.25 * self.hardening * e * e) * e * e
        out.dissipated[0] = self.damping * rate * rate


@dataclass(frozen=True)
class LaggingDrive(tm.Energetic):
    """A damped drive on a coordinate whose torque follows its command late."""

    gain: float
    lag: float
    n_ends = 0
    n_coordinates = n_deformations = 1
    n_states = 1
    input_names = ("command",)

    def effort(self, now, t, out):
        out.effort[0] = 0.2 * now.rate[0] - now.x[0]
        out.rates[0] = (self.gain * (now.inputs[0] - now.deformation[0]) - now.x[0]) / self.lag
        out.dissipated[0] = 0.2 * now.rate[0] ** 2
        out.supplied[0] = now.x[0] * now.rate[0]


@dataclass(frozen=True)
class Wind(tm.Load):
    """A force that depends on place, motion and time."""

    strength: float
    wanes: float

    def evaluate(self, end, t, load):
        away = 1.0 + end.position[0] * end.position[0]
        load.force[0] = self.strength * (1.0 - self.wanes * t) / away - 0.1 * end.velocity[0]
        load.force[1] = -0.2 * end.velocity[1]
        for k in range(3):
            load.moment[k] = -0.05 * end.angular_velocity[k]


@dataclass(frozen=True)
class Swivel(tm.Hinge):
    """A turn about z, with a slide along an axis that turns with it: a pose, and no more."""

    throw: float
    n_coordinates = 2

    def pose(self, q, t, offset, rotation):
        c, s = cos(q[0]), sin(q[0])
        offset[0], offset[1] = (self.throw + q[1]) * c, (self.throw + q[1]) * s
        offset[2] = 0.2 * sin(q[0])
        rotation[0, 0], rotation[0, 1] = c, -s
        rotation[1, 0], rotation[1, 1] = s, c


@dataclass(frozen=True)
class Parabola(tm.Coupling):
    """One coordinate follows the square of another."""

    ratio: float
    bend: float
    start: float
    n_arguments = 2
    n_holonomic = 1

    def residual(self, q, t, f):
        f[0] = q[1] - self.ratio * q[0] - self.bend * q[0] * q[0] - self.start


def bevel(q, u, t):
    """Return the slip of a gear whose ratio depends on its position."""
    return u[1] - (1.0 + 0.3 * q[0]) * u[0]
