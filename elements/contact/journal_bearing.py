"""Hydrodynamic journal bearing (9.1.5): forces of the oil film and of the wall behind it."""

from dataclasses import dataclass
from math import cosh, log, nan, pi, sqrt, tanh
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..energetic import EndsLoad, EndsMotion, Energetic, motion_views
from ..fields import make_numbers, refuse_unless_positive
from ..shared.two_ends import push, twist, velocity_between

FULLEST = 0.99  # eccentricity ratio beyond which the film force no longer grows
# Gauss' quadrature around the half film: the fuller the bearing, the narrower the peak. Errors stay below 1e-10, at 0.99 below 1e-6
NODES, UP_TO = (24, 48, 128), (0.55, 0.85, 1.0)
_RULES = [np.polynomial.legendre.leggauss(n) for n in NODES]
ANGLE, WEIGHT = (0.5 * pi * np.concatenate(x) for x in zip(*_RULES, strict=True))
COS, SIN = np.cos(ANGLE), np.sin(ANGLE)


@dataclass(frozen=True)
class JournalBearing(Energetic):
    """Journal (end b) in a bush (end a) with an oil film between them; the axis is the z axis of end a.

    The variables are the eccentricity e (x, y of end a) and the angular velocity w of the journal in the bush
    (9.1.5). The force depends only on e and the squeeze velocity (impedance, Childs, Moes and van Leeuwen
    1977)::

        v = e' - w e_z x e / 2          F = -Z(e, v) v          M = -2 pi viscosity radius^3 length w / (c sqrt(1 - eps^2))

    act on the journal; each body also takes half of the moment of F about the other centre. Pressure acts on
    the half of the film that v closes (half film, ambient pressure elsewhere). There Reynolds' equation is
    solved by Ritz' method, with three functions around the circumference (cos/H^3, cos/H^2, sin cos/H^2) and
    a cosh along the axis. This holds for short and long bearings: the error is within 5 % for eccentricity
    ratios up to 0.95 and lengths up to four diameters. If the film ended where pressure and its slope vanish,
    forces would be about 10 to 20 % higher in bearings as long as their diameter. Dissipation is never
    negative.

    The film force grows up to eps = 0.99 and carries nothing at rest. Where the film is thinner than the
    roughness r, the asperities of both surfaces meet: an elastic wall without friction pushes back. With the
    depth d = e - (c - r) its force is that of a line contact at first and grows beyond all bounds at d = r::

        N = k d / (1 - d / r)          k = pi/4 modulus length          energy = -k r^2 (ln(1 - d / r) + d / r)

    so the journal never leaves its bush. A start outside the bush is refused.

    Parameters
    ----------
    radius, length : float [m]
        Of the journal.
    clearance : float [m]
        c, radius of the bush minus radius of the journal.
    viscosity : float [Pa s]
    roughness : float [m]
        r, film thickness at which the asperities meet, less than the clearance; default c / 100.
    modulus : float [Pa]
        E of the contact, 1/E = (1 - nu_a^2)/E_a + (1 - nu_b^2)/E_b; default two bodies of steel.

    Examples
    --------
    >>> JournalBearing(radius=6e-3, length=14e-3, clearance=6e-6, viscosity=1.7e-2).n_ends
    2
    """

    radius: float
    length: float
    clearance: float
    viscosity: float
    roughness: Any = None
    modulus: float = 1.154e11
    n_deformations = 2

    @classmethod
    def example(cls) -> "JournalBearing":
        return cls(radius=1.0, length=1.0, clearance=1.0, viscosity=1.0, roughness=0.3, modulus=1.0)

    def __post_init__(self) -> None:
        names = ("radius", "length", "clearance", "viscosity", "roughness", "modulus")
        if self.roughness is None:
            make_numbers(self, "clearance")
            object.__setattr__(self, "roughness", 0.01 * self.clearance)
        make_numbers(self, *names)
        refuse_unless_positive(self, *names)
        if not self.roughness < self.clearance:
            raise ElementError(
                f"JournalBearing.roughness is {self.roughness:g}: wanted less than the clearance, {self.clearance:g}."
            )

    def sample(self, rng: "np.random.Generator", t: float) -> Floats:
        record = super().sample(rng, t)
        motion = motion_views(record, self.n)
        motion.position[0] *= self.clearance  # both ends near the origin: eccentricities are small numbers
        e = rng.uniform(-1.0, 1.0, 3)
        e[:2] *= sqrt(rng.uniform(0.0, 0.95)) / np.hypot(e[0], e[1])  # inside the bush
        motion.position[1] = motion.position[0] + motion.rotation[0] @ (self.clearance * e)
        return record

    def obstacle(self, motion: EndsMotion) -> str:
        e = motion.rotation[0].T @ (motion.position[1] - motion.position[0])
        ratio = float(np.hypot(e[0], e[1]) / self.clearance)
        if ratio < 1.0:
            return super().obstacle(motion)
        return f"the journal is outside its bush, at {ratio:.4g} of the clearance {self.clearance:g} m; start inside, below 1"

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p, R, w = motion.position, motion.rotation[0], motion.angular_velocity
        dx, dy, dz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        ux, uy, uz = velocity_between(motion, p[1, 0], p[1, 1], p[1, 2])
        ex, ey = R[0, 0] * dx + R[1, 0] * dy + R[2, 0] * dz, R[0, 1] * dx + R[1, 1] * dy + R[2, 1] * dz
        turn = R[0, 2] * (w[1, 0] - w[0, 0]) + R[1, 2] * (w[1, 1] - w[0, 1]) + R[2, 2] * (w[1, 2] - w[0, 2])
        vx = R[0, 0] * ux + R[1, 0] * uy + R[2, 0] * uz + 0.5 * turn * ey
        vy = R[0, 1] * ux + R[1, 1] * uy + R[2, 1] * uz - 0.5 * turn * ex
        speed, e = sqrt(vx * vx + vy * vy), sqrt(ex * ex + ey * ey)
        eps = min(e / self.clearance, FULLEST)
        fx, fy = 0.0, 0.0
        if speed > 0.0:
            cx, cy = vx / speed, vy / speed  # direction of v: the middle of the film
            ea, eb = 0.0, 0.0  # eps along v, and across it
            if e > 0.0:
                ea, eb = eps * (ex * cx + ey * cy) / e, eps * (ey * cx - ex * cy) / e
            along, across = half_film(ea, eb, eps, 0.5 * self.length / self.radius)
            size = self.viscosity * speed * self.length * (self.radius / self.clearance) ** 3
            fx, fy = -size * (along * cx - across * cy), -size * (along * cy + across * cx)
        gx, gy, depth = fx, fy, e - (self.clearance - self.roughness)
        if depth > 0.0:
            push_back, stored = asperities(depth, self.roughness, 0.25 * pi * self.modulus * self.length)
            gx, gy = fx - push_back * ex / e, fy - push_back * ey / e
            out.energy[0] = stored
        drag = (
            2.0
            * pi
            * self.viscosity
            * self.radius**3
            * self.length
            / (self.clearance * sqrt(1.0 - eps * eps))
        )
        push(
            motion, out, p[1, 0], p[1, 1], p[1, 2],
            R[0, 0] * gx + R[0, 1] * gy, R[1, 0] * gx + R[1, 1] * gy, R[2, 0] * gx + R[2, 1] * gy,
        )  # fmt: skip
        moment = -drag * turn - 0.5 * (ex * fy - ey * fx)
        twist(out, moment * R[0, 2], moment * R[1, 2], moment * R[2, 2])
        out.dissipated[0] = drag * turn * turn - fx * vx - fy * vy
        out.deformation[0] = ex
        out.deformation[1] = ey
        out.effort[0] = -gx
        out.effort[1] = -gy


def asperities(depth: Any, roughness: float, stiffness: float) -> Any:
    """Return the force and the energy of the wall at a depth; there is none at the depth of the roughness."""
    if depth >= roughness:
        return nan, nan
    x = depth / roughness
    return stiffness * depth / (1.0 - x), -stiffness * roughness * roughness * (log(1.0 - x) + x)


def half_film(ea: float, eb: float, eps: float, slenderness: float) -> tuple[float, float]:
    """Return the force of the half film over viscosity v length (radius / c)^3, against v and across it.

    Ritz' method is applied to div(H^3 grad p) = -12 cos around -pi/2 < a < pi/2, H = 1 - ea cos a - eb sin a,
    p = 0 on the rim. slenderness = length / diameter.
    """
    thinnest = 1.0 - eps if ea >= 0.0 else 1.0 - abs(eb)
    m = max(0.95 * slenderness * thinnest ** (-2.0 / 3.0), 0.3)
    # the axial pressure profile 1 - cosh(m z) / cosh(m): its mean, its mean square and that of its slope
    T, S = tanh(m) / m, 1.0 / cosh(min(m, 300.0)) ** 2
    mean, square, slope = (
        1.0 - T,
        1.0 - 1.5 * T + 0.5 * S,
        0.5 * m * m * (T - S) / (slenderness * slenderness),
    )
    K00, K01, K02, K11, K12, K22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    f0, f1, f2, g0, g1, g2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    first, last = 0, NODES[0]
    if eps > UP_TO[0]:
        first, last = last, last + NODES[1]
    if eps > UP_TO[1]:
        first, last = last, last + NODES[2]
    for k in range(first, last):
        c, s = COS[k], SIN[k]
        h = 1.0 / (1.0 - ea * c - eb * s)
        bend = h * (ea * s - eb * c)
        # the functions times H^2, H being 1 / h, and their slopes: H^3 of the equation leaves h
        p0, q0 = c * h, (-s - 3.0 * c * bend) * h
        q1, p2, q2 = -s - 2.0 * c * bend, s * c, c * c - s * s - 2.0 * s * c * bend
        wh = WEIGHT[k] * h
        A, B = square * wh, slope * wh
        A0, A1, B0 = A * q0, A * q1, B * p0
        K00 += A0 * q0 + B0 * p0
        K01 += A0 * q1 + B0 * c
        K02 += A0 * q2 + B0 * p2
        K11 += A1 * q1 + B * c * c
        K12 += A1 * q2 + B * c * p2
        K22 += A * q2 * q2 + B * p2 * p2
        wc, ws = wh * h * c, wh * h * s
        f0, f1, f2 = f0 + wc * p0, f1 + wc * c, f2 + wc * p2
        g0, g1, g2 = g0 + ws * p0, g1 + ws * c, g2 + ws * p2
    K11 *= 1.0 + 1e-9  # at eps = 0 the first two functions coincide
    l1, l2 = K01 / K00, K02 / K00
    K11, K12, K22 = K11 - l1 * K01, K12 - l1 * K02, K22 - l2 * K02
    x1, x2 = f1 - l1 * f0, f2 - l2 * f0
    l3 = K12 / K11
    x2 = (x2 - l3 * x1) / (K22 - l3 * K12)
    x1 = x1 / K11 - l3 * x2
    x0 = f0 / K00 - l1 * x1 - l2 * x2
    size = 12.0 * mean * mean
    return size * (x0 * f0 + x1 * f1 + x2 * f2), size * (x0 * g0 + x1 * g1 + x2 * g2)
