"""Tire: a disk on a road, with a spring and a damper normal to the road and slip forces in it."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from treemech.topology.errors import ElementError

from ..element import structure
from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, refuse_unless_positive
from ..shared.table import make_table, table_slopes
from ..shared.two_ends import push, velocity_between

STEPS = 12  # of Newton's method for the point of contact


@dataclass(frozen=True)
class Tire(Energetic):
    """Tire on the x,y plane of end a, or on a road over it, on the side of positive z; it can lift off.

    The point of end b is the centre of the wheel, and the z axis of end b is its axis. With the depth h of
    the lowest point of the free disk, the slip v_x (longitudinal) and v_y (lateral) of that point, and the
    longitudinal speed V of the centre::

        N = stiffness h + damping h' >= 0
        s_x = longitudinal v_x / (friction_x N V*)        s_y = lateral v_y / (friction_y N V*)      V* = sqrt(V^2 + creep^2)
        F_x = -friction_x N f s_x / s       F_y = -friction_y N f s_y / s       s = sqrt(s_x^2 + s_y^2)

    f = 1 - (1 - s/3)^3, and 1 beyond s = 3 (brush model): linear in small slip, on the friction ellipse when
    sliding. So v_x / V is the longitudinal slip -kappa and v_y / V is the tangent of the slip angle.

    A road has a height z(x) over the plane, the same for all y. The tire touches it in one point, the foot on
    the road of the point of the disk that is deepest in it; the tangent plane there takes the place of the
    plane. Hollows of the road must be wider than the tire.

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
    road : array (n, 2), optional
        Table of the road: rows (x, height) [m], x increasing; a plane by default. Beyond the table the road
        continues straight. A function is given by a table of it, ``np.column_stack((x, height(x)))``.
    interpolation : "spline" or "linear"
        How the road runs between the rows; a spline has no corners.

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
    road: Any = structure(default=None)
    interpolation: str = structure(default="spline")
    heights: Any = field(default=None, init=False, repr=False)
    n_deformations = 1
    one_sided = True

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
        object.__setattr__(self, "heights", make_table(self.road, self.interpolation, "Tire.road"))
        for name in ("damping", "longitudinal", "lateral"):
            if getattr(self, name) < 0.0:
                raise ElementError(f"Tire.{name} is {getattr(self, name):g}: wanted 0 or more.")

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p, R = motion.position, motion.rotation
        sx, sy, sz = R[1, 0, 2], R[1, 1, 2], R[1, 2, 2]
        dx, dy, dz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        cx = R[0, 0, 0] * dx + R[0, 1, 0] * dy + R[0, 2, 0] * dz
        cz = R[0, 0, 2] * dx + R[0, 1, 2] * dy + R[0, 2, 2] * dz
        ex = R[0, 0, 0] * sx + R[0, 1, 0] * sy + R[0, 2, 0] * sz
        ez = R[0, 0, 2] * sx + R[0, 1, 2] * sy + R[0, 2, 2] * sz
        n1, n3, height = foot_on_road(self.heights, self.radius, cx, cz, ex, ez)
        nx = n1 * R[0, 0, 0] + n3 * R[0, 0, 2]
        ny = n1 * R[0, 1, 0] + n3 * R[0, 1, 2]
        nz = n1 * R[0, 2, 0] + n3 * R[0, 2, 2]
        lean = nx * sx + ny * sy + nz * sz
        upright = sqrt(1.0 - lean * lean)
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


def foot_on_road(table: Any, radius: float, cx: Any, cz: Any, ex: Any, ez: Any) -> Any:
    """Return the normal (n_x, n_z) of the road where the tire touches it, and the height of the centre over it.

    The foot is that of the rim point c - radius (n - (n . e) e) / |n - (n . e) e|, which depends on the normal
    n itself: Newton's method, exact for an upright wheel. So the depth changes at the rate at which the rim
    point enters the road, and the spring stores the work done on it.
    """
    x, n1, n3, height = cx, 0.0 * cx, 1.0 + 0.0 * cx, cz
    for _ in range(STEPS):
        z, slope, bend = table_slopes(table, x)
        size = sqrt(1.0 + slope * slope)
        n1, n3 = -slope / size, 1.0 / size
        height = (cx - x) * n1 + (cz - z) * n3
        lean = n1 * ex + n3 * ez
        arm = radius / sqrt(1.0 - lean * lean)
        gap = ((cx + arm * lean * ex - x) + (cz + arm * lean * ez - z) * slope) / size
        x = x + gap / (size - bend * height / (size * size))
    return n1, n3, height


def brush(s: float) -> float:
    """Return f(s) / s of the brush model, f = 1 - (1 - s/3)^3 up to full sliding at s = 3."""
    return 1.0 - s / 3.0 + s * s / 27.0 if s < 3.0 else 1.0 / s
