"""Cylinders and spheres on which a cord wraps: contact points, length and loads.

Without friction the cord is a geodesic: straight to the surface, a helix or great circle on it, and straight
again. Its length and the rate of it are continuous where it lifts off.
"""

from dataclasses import dataclass
from math import acos, atan2, floor, pi, sqrt

from treemech.topology.errors import ElementError

from ..energetic import EndsLoad, EndsMotion
from ..fields import make_numbers, refuse_unless_positive

Vector = tuple[float, float, float]
SPHERE = 2.0  # takes the place of a side


@dataclass(frozen=True)
class WrapCylinder:
    """Infinite cylinder about the z axis of an end of a `Path`.

    Parameters
    ----------
    radius : float [m]
    side : 0, 1 or -1
        Direction of the cord around it at the start, from the previous end to the next: the shorter way (0),
        turning about the z axis (1), or against it (-1). From then on its turns are counted: the cord can
        wind up.

    Examples
    --------
    >>> WrapCylinder(radius=0.03, side=1).numbers
    (0.03, 1.0)
    """

    radius: float
    side: float = 0.0

    def __post_init__(self) -> None:
        make_numbers(self, "radius", "side")
        refuse_unless_positive(self, "radius")
        if self.side not in (0.0, 1.0, -1.0):
            raise ElementError(f"WrapCylinder.side is {self.side:g}; wanted 0, 1 or -1.")

    @property
    def kind(self) -> str:
        """Return the name of the class, for messages."""
        return type(self).__name__

    @property
    def numbers(self) -> tuple[float, float]:
        """Return the radius and the side."""
        return self.radius, self.side


@dataclass(frozen=True)
class WrapSphere:
    """Sphere about the point of an end of a `Path`; the cord takes the shorter way around it.

    Parameters
    ----------
    radius : float [m]
    """

    radius: float

    def __post_init__(self) -> None:
        make_numbers(self, "radius")
        refuse_unless_positive(self, "radius")

    @property
    def kind(self) -> str:
        """Return the name of the class, for messages."""
        return type(self).__name__

    @property
    def numbers(self) -> tuple[float, float]:
        """Return the radius and the mark of a sphere."""
        return self.radius, SPHERE


def straight(motion: EndsMotion, k: int, m: int, out: EndsLoad) -> float:
    """Add the loads of a straight piece of cord from end k to end m at a tension of 1. Returns its length."""
    p = motion.position
    x, y, z = p[m, 0] - p[k, 0], p[m, 1] - p[k, 1], p[m, 2] - p[k, 2]
    size = sqrt(x * x + y * y + z * z)
    if size > 0.0:
        add_force(out, k, x / size, y / size, z / size)
        add_force(out, m, -x / size, -y / size, -z / size)
    return size


def add_force(out: EndsLoad, k: int, x: float, y: float, z: float) -> None:
    """Add a force to the load of end k."""
    out.force[k, 0] += x
    out.force[k, 1] += y
    out.force[k, 2] += z


def from_centre(motion: EndsMotion, k: int, m: int) -> Vector:
    """Return the vector from the point of end k to the point of end m."""
    p = motion.position
    return p[m, 0] - p[k, 0], p[m, 1] - p[k, 1], p[m, 2] - p[k, 2]


def inner(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def outer(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def times(s: float, a: Vector) -> Vector:
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


def across(motion: EndsMotion, k: int) -> tuple[float, float, float, float, float, float]:
    """Return the coordinates of the points before and after end k, in its base."""
    a, b, R = from_centre(motion, k, k - 1), from_centre(motion, k, k + 1), motion.rotation
    x, y, z = (
        (R[k, 0, 0], R[k, 1, 0], R[k, 2, 0]),
        (R[k, 0, 1], R[k, 1, 1], R[k, 2, 1]),
        (R[k, 0, 2], R[k, 1, 2], R[k, 2, 2]),
    )
    return inner(a, x), inner(a, y), inner(a, z), inner(b, x), inner(b, y), inner(b, z)


def free_angle(radius: float, ra: float, rb: float) -> float:
    """Return the angle between two points, seen from the centre, up to which the cord does not touch."""
    return acos(radius / ra) + acos(radius / rb)


def angle_round(motion: EndsMotion, k: int, radius: float, side: float, number: int) -> float:
    """Return the angle about the cylinder of end k from the previous point to the next.

    Whole turns are counted. Of all angles that differ by whole turns it is the one nearest to the remembered
    angle. At the start it is the smallest, or, if the cord would pass through the cylinder, the one on the
    requested side.
    """
    xa, ya, _, xb, yb, _ = across(motion, k)
    angle = atan2(xa * yb - ya * xb, xa * xb + ya * yb)
    known, last = motion.memory[2 * number], float(motion.memory[2 * number + 1])
    if known > 0.5:
        return angle + 2.0 * pi * floor((last - angle) / (2.0 * pi) + 0.5)
    free = free_angle(radius, sqrt(xa * xa + ya * ya), sqrt(xb * xb + yb * yb))
    return angle + 2.0 * pi * side if side * angle < -free else angle


def wrap(motion: EndsMotion, k: int, radius: float, side: float, number: int, out: EndsLoad) -> float:
    """Add the loads of a cord from end k - 1 over surface `number`, at end k, to end k + 1.

    The tension is 1. Returns the length. In the plane normal to the cylinder's axis, or through both points
    and the sphere's centre (a side of SPHERE), the cord leaves a and reaches b along tangents; the axial part
    grows linearly along it.
    """
    if side == SPHERE:
        a, b = from_centre(motion, k, k - 1), from_centre(motion, k, k + 1)
        normal, ra = outer(a, b), sqrt(inner(a, a))
        size = sqrt(inner(normal, normal))
        xa, ya, za, xb, yb, zb = ra, 0.0, 0.0, inner(a, b) / ra, size / ra, 0.0
        angle = atan2(yb, xb)
        ex, ez = times(1.0 / ra, a), times(1.0 / size, normal)
        ey = outer(ez, ex)
    else:
        R = motion.rotation
        xa, ya, za, xb, yb, zb = across(motion, k)
        angle = angle_round(motion, k, radius, side, number)
        ex = (R[k, 0, 0], R[k, 1, 0], R[k, 2, 0])
        ey = (R[k, 0, 1], R[k, 1, 1], R[k, 2, 1])
        ez = (R[k, 0, 2], R[k, 1, 2], R[k, 2, 2])
    ra2, rb2 = xa * xa + ya * ya, xb * xb + yb * yb
    arc = abs(angle) - free_angle(radius, sqrt(ra2), sqrt(rb2))
    if arc <= 0.0:
        return straight(motion, k - 1, k + 1, out)
    turn = 1.0 if angle > 0.0 else -1.0
    la, lb = sqrt(ra2 - radius * radius), sqrt(rb2 - radius * radius)  # tangents, in the plane
    flat, rise = la + radius * arc + lb, zb - za
    length = sqrt(flat * flat + rise * rise)
    # the contact points (c, s in radii, h along the axis) and the direction of the cord there
    ca, sa = (radius * xa - turn * la * ya) / ra2, (radius * ya + turn * la * xa) / ra2
    cb, sb = (radius * xb + turn * lb * yb) / rb2, (radius * yb - turn * lb * xb) / rb2
    ha, hb = za + rise * la / flat, zb - rise * lb / flat
    level, climb = turn * flat / length, rise / length
    fa, fb = (-sa * level, ca * level, climb), (-sb * level, cb * level, climb)
    na, nb = outer((radius * ca, radius * sa, ha), fa), outer((radius * cb, radius * sb, hb), fb)
    for i in range(3):
        force_a = ex[i] * fa[0] + ey[i] * fa[1] + ez[i] * fa[2]
        force_b = ex[i] * fb[0] + ey[i] * fb[1] + ez[i] * fb[2]
        out.force[k - 1, i] += force_a
        out.force[k, i] += force_b - force_a
        out.force[k + 1, i] -= force_b
        if side != SPHERE:
            out.moment[k, i] += ex[i] * (nb[0] - na[0]) + ey[i] * (nb[1] - na[1]) + ez[i] * (nb[2] - na[2])
    return length
