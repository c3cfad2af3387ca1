"""Tire: a disk on a plane, with a spring and a damper normal to the plane and slip forces in it."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

from treemech.topology.errors import ElementError

from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, refuse_unless_positive
from ..shared.two_ends import push, velocity_between


@dataclass(frozen=True)
class Tire(Energetic):
    """Tire on the x,y plane of end a, on the side of positive z; it can lift off.

    The point of end b is the centre of the wheel, and the z axis of end b is its axis. With the depth h of
    the lowest point of the free disk, the slip v_x (longitudinal) and v_y (lateral) of that point, and the
    longitudinal speed V of the centre::

        N = stiffness h + damping h' >= 0
        s_x = longitudinal v_x / (friction_x N V*)        s_y = lateral v_y / (friction_y N V*)      V* = sqrt(V^2 + creep^2)
        F_x = -friction_x N f s_x / s       F_y = -friction_y N f s_y / s       s = sqrt(s_x^2 + s_y^2)

    f = 1 - (1 - s/3)^3, and 1 beyond s = 3 (brush model): linear in small slip, on the friction ellipse when
    sliding. So v_x / V is the longitudinal slip -kappa and v_y / V is the tangent of the slip angle.

    Parameters
    ----------
    radius : float [m]
        Of the free tire; it rolls with this radius.
    stiffness, damping : float [N/m], [N s/m]
        Normal to the plane.
    longitudinal, lateral : float [N]
        Slip stiffness: force per slip at small slip.
    friction, friction_lateral : float
        Longitudinal and lateral coefficient of friction; the lateral one is the same by default.
    creep : float [m/s]
        Lower limit of the speed in the slip, so that the tire can stand still.

    Examples
    --------
    >>> Tire(0.3, stiffness=2e5, longitudinal=8e4, lateral=6e4).friction_lateral
    1.0
    """

    radius: float
    stiffness: float
    damping: float = 0.0
    longitudinal: float = 0.0
    lateral: float = 0.0
    friction: float = 1.0
    friction_lateral: Any = None
    creep: float = 0.1
    n_deformations = 1

    @classmethod
    def example(cls) -> "Tire":
        return cls(radius=1.0, stiffness=1.0)

    def __post_init__(self) -> None:
        if self.friction_lateral is None:
            object.__setattr__(self, "friction_lateral", self.friction)
        make_numbers(
            self, "radius", "stiffness", "damping", "longitudinal", "lateral", "friction", "friction_lateral", "creep"
        )  # fmt: skip
        refuse_unless_positive(self, "radius", "stiffness", "friction", "friction_lateral", "creep")
        for name in ("damping", "longitudinal", "lateral"):
            if getattr(self, name) < 0.0:
                raise ElementError(f"Tire.{name} is {getattr(self, name):g}: wanted 0 or more.")

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p, R = motion.position, motion.rotation
        nx, ny, nz = R[0, 0, 2], R[0, 1, 2], R[0, 2, 2]
        sx, sy, sz = R[1, 0, 2], R[1, 1, 2], R[1, 2, 2]
        lean = nx * sx + ny * sy + nz * sz
        upright = sqrt(1.0 - lean * lean)
        height = (p[1, 0] - p[0, 0]) * nx + (p[1, 1] - p[0, 1]) * ny + (p[1, 2] - p[0, 2]) * nz
        depth = self.radius * upright - height
        out.deformation[0] = -depth
        if depth > 0.0:
            arm = self.radius / upright
            x = p[1, 0] - arm * (nx - lean * sx)
            y = p[1, 1] - arm * (ny - lean * sy)
            z = p[1, 2] - arm * (nz - lean * sz)
            ax, ay, az = (
                (sy * nz - sz * ny) / upright,
                (sz * nx - sx * nz) / upright,
                (sx * ny - sy * nx) / upright,
            )
            bx, by, bz = ny * az - nz * ay, nz * ax - nx * az, nx * ay - ny * ax
            ux, uy, uz = velocity_between(motion, p[1, 0], p[1, 1], p[1, 2])
            vx, vy, vz = velocity_between(motion, x, y, z)
            rate = -(vx * nx + vy * ny + vz * nz)
            along, across = vx * ax + vy * ay + vz * az, vx * bx + vy * by + vz * bz
            speed = ux * ax + uy * ay + uz * az
            speed = sqrt(speed * speed + self.creep * self.creep)
            N = max(self.stiffness * depth + self.damping * rate, 0.0)
            fx, fy = 0.0, 0.0
            if N > 0.0:
                s_x = self.longitudinal * along / (self.friction * N * speed)
                s_y = self.lateral * across / (self.friction_lateral * N * speed)
                share = brush(sqrt(s_x * s_x + s_y * s_y))
                fx, fy = -self.friction * N * share * s_x, -self.friction_lateral * N * share * s_y
            push(
                motion, out, x, y, z, N * nx + fx * ax + fy * bx, N * ny + fx * ay + fy * by, N * nz + fx * az + fy * bz
            )  # fmt: skip
            out.energy[0] = 0.5 * self.stiffness * depth * depth
            out.dissipated[0] = (N - self.stiffness * depth) * rate - fx * along - fy * across
            out.effort[0] = -N


def brush(s: float) -> float:
    """Return f(s) / s of the brush model, f = 1 - (1 - s/3)^3 up to full sliding at s = 3."""
    return 1.0 - s / 3.0 + s * s / 27.0 if s < 3.0 else 1.0 / s
