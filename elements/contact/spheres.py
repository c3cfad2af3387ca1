"""Contact of a ball with a plane or a ball: Hertz stiffness, Hunt-Crossley damping, smoothed friction."""

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

from treemech.topology.errors import ElementError

from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, refuse_unless_positive
from ..shared.two_ends import push, velocity_between


@dataclass(frozen=True)
class SpherePlane(Energetic):
    """Contact of a ball on end b with the x,y plane of end a, on the side of positive z.

    The ball can lift off. The point of end b is the centre of the ball; radius 0 makes it a point. With the
    depth h and its rate::

        N = stiffness h^exponent (1 + damping h') >= 0          friction N v / sqrt(|v|^2 + slip_speed^2) against the slip v

    Parameters
    ----------
    radius : float [m]
        0 or more.
    stiffness : float [N/m^exponent]
        See `hertz_stiffness`.
    exponent : float
        1.5 after Hertz; 1 for a spring.
    damping : float [s/m]
        See `restitution_damping`.
    friction : float
        Coefficient of Coulomb friction.
    slip_speed : float [m/s]
        Slip below which friction decreases to zero.

    Examples
    --------
    >>> ball = SpherePlane(0.1, stiffness=1e7, damping=restitution_damping(0.8, 2.0))
    >>> round(ball.damping, 4)
    0.1866
    """

    radius: float
    stiffness: float
    exponent: float = 1.5
    damping: float = 0.0
    friction: float = 0.0
    slip_speed: float = 1e-3
    n_deformations = 1
    one_sided = True

    @classmethod
    def example(cls) -> "SpherePlane":
        return cls(radius=1.0, stiffness=1.0)

    def __post_init__(self) -> None:
        check_contact(self, "radius")
        if self.radius < 0.0:
            raise ElementError(f"SpherePlane.radius is {self.radius:g}: wanted 0 or more.")

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p, R = motion.position, motion.rotation
        nx, ny, nz = R[0, 0, 2], R[0, 1, 2], R[0, 2, 2]
        height = (p[1, 0] - p[0, 0]) * nx + (p[1, 1] - p[0, 1]) * ny + (p[1, 2] - p[0, 2]) * nz
        out.deformation[0] = height - self.radius
        if height < self.radius:
            x, y, z = p[1, 0] - height * nx, p[1, 1] - height * ny, p[1, 2] - height * nz
            N, fx, fy, fz = touch(
                motion, out, x, y, z, nx, ny, nz, self.stiffness, self.exponent, self.damping, self.friction, self.slip_speed
            )  # fmt: skip
            push(motion, out, x, y, z, N * nx + fx, N * ny + fy, N * nz + fz)


@dataclass(frozen=True)
class SphereSphere(Energetic):
    """Contact of a ball on end b with a ball on end a; they can separate.

    The points of the ends are the centres. The law is that of `SpherePlane`.

    Parameters
    ----------
    radius_a, radius_b : float [m]
        One of them may be 0.
    stiffness, exponent, damping, friction, slip_speed
        As in `SpherePlane`.

    Examples
    --------
    >>> SphereSphere(0.1, 0.2, stiffness=hertz_stiffness(0.1, 0.2, modulus_a=2e11)).exponent
    1.5
    """

    radius_a: float
    radius_b: float
    stiffness: float
    exponent: float = 1.5
    damping: float = 0.0
    friction: float = 0.0
    slip_speed: float = 1e-3
    n_deformations = 1
    one_sided = True

    @classmethod
    def example(cls) -> "SphereSphere":
        return cls(radius_a=1.0, radius_b=1.0, stiffness=1.0)

    def __post_init__(self) -> None:
        check_contact(self, "radius_a", "radius_b")
        if self.radius_a < 0.0 or self.radius_b < 0.0 or self.radius_a + self.radius_b == 0.0:
            raise ElementError(
                f"SphereSphere: radii {self.radius_a:g} and {self.radius_b:g}; wanted two balls, or a ball and a point (0)."
            )

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p = motion.position
        nx, ny, nz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        size = sqrt(nx * nx + ny * ny + nz * nz)
        out.deformation[0] = size - self.radius_a - self.radius_b
        if out.deformation[0] < 0.0:
            nx, ny, nz = nx / size, ny / size, nz / size
            arm = self.radius_a + 0.5 * out.deformation[0]
            x, y, z = p[0, 0] + arm * nx, p[0, 1] + arm * ny, p[0, 2] + arm * nz
            N, fx, fy, fz = touch(
                motion, out, x, y, z, nx, ny, nz, self.stiffness, self.exponent, self.damping, self.friction, self.slip_speed
            )  # fmt: skip
            push(motion, out, x, y, z, fx, fy, fz)
            for e in range(2):  # through both centres
                out.force[e, 0] += (2.0 * e - 1.0) * N * nx
                out.force[e, 1] += (2.0 * e - 1.0) * N * ny
                out.force[e, 2] += (2.0 * e - 1.0) * N * nz


def check_contact(element: Any, *radii: str) -> None:
    """Check the numbers of a contact element."""
    make_numbers(element, *radii, "stiffness", "exponent", "damping", "friction", "slip_speed")
    refuse_unless_positive(element, "stiffness", "slip_speed")
    if element.exponent < 1.0:
        raise ElementError(f"{element.kind}.exponent is {element.exponent:g}: wanted 1 or more.")
    for name in ("damping", "friction"):
        if getattr(element, name) < 0.0:
            raise ElementError(f"{element.kind}.{name} is {getattr(element, name):g}: wanted 0 or more.")


def touch(
    motion: Any, out: Any, x: float, y: float, z: float, nx: float, ny: float, nz: float,
    stiffness: float, exponent: float, damping: float, friction: float, slip_speed: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Apply the normal load and friction of a contact at (x, y, z), with the normal n from a to b.

    out.deformation holds the gap, which is negative.
    """
    depth = -out.deformation[0]
    vx, vy, vz = velocity_between(motion, x, y, z)
    parting = vx * nx + vy * ny + vz * nz
    vx, vy, vz = vx - parting * nx, vy - parting * ny, vz - parting * nz
    elastic = stiffness * depth**exponent
    N = max(elastic * (1.0 - damping * parting), 0.0)
    c = friction * N / sqrt(vx * vx + vy * vy + vz * vz + slip_speed * slip_speed)
    out.energy[0] = elastic * depth / (exponent + 1.0)
    out.dissipated[0] = (elastic - N) * parting + c * (vx * vx + vy * vy + vz * vz)
    out.effort[0] = -N
    return N, -c * vx, -c * vy, -c * vz


def hertz_stiffness(
    radius_a: float,
    radius_b: float | None = None,
    *,
    modulus_a: float,
    poisson_a: float = 0.3,
    modulus_b: float | None = None,
    poisson_b: float | None = None,
) -> float:
    """Return the stiffness 4/3 E* sqrt(R*) [N/m^1.5] of two balls, or of a ball on a plane (no radius_b).

    The material of b is that of a by default.

    >>> round(hertz_stiffness(0.01, modulus_a=2.1e11) / 1e10, 4)
    1.5385
    """
    modulus_b = modulus_a if modulus_b is None else modulus_b
    poisson_b = poisson_a if poisson_b is None else poisson_b
    if not (radius_a > 0.0 and (radius_b is None or radius_b > 0.0) and modulus_a > 0.0 and modulus_b > 0.0):
        raise ElementError("hertz_stiffness: radii and moduli must be positive.")
    E = 1.0 / ((1.0 - poisson_a**2) / modulus_a + (1.0 - poisson_b**2) / modulus_b)
    R = radius_a if radius_b is None else radius_a * radius_b / (radius_a + radius_b)
    return float(4.0 / 3.0 * E * sqrt(R))


def restitution_damping(restitution: float, speed: float) -> float:
    """Return the damping [s/m] with which a contact separates at `restitution` times the approach speed.

    For N = k h^n (1 + d h') and any k, n and masses: d v (1 + e) = log((1 + d v) / (1 - d v e)). The
    restitution is higher at smaller speeds and lower at higher speeds.

    >>> restitution_damping(1.0, 2.0)
    0.0
    """
    if not 0.0 < restitution <= 1.0 or not speed > 0.0:
        raise ElementError(
            f"restitution_damping: restitution {restitution:g} at {speed:g} m/s; wanted above 0 to 1, at a positive speed."
        )
    e = float(restitution)
    if e == 1.0:
        return 0.0
    low, high = 0.0, 1.0 / e  # the root other than 0 lies between
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle * (1.0 + e) > log((1.0 + middle) / (1.0 - middle * e)):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high) / speed
