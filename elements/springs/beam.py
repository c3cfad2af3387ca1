"""Beams between two frames (3.4.18-19): linear, and co-rotational for large displacements."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_floats

from ..element import structure
from ..fields import as_numbers, make_numbers, refuse_unless_positive
from ..shared.finite_rotation import half, offset_in, relative_quaternion, rotation_vector, turn_back
from ..shared.linear_law import LinearElement


@dataclass(frozen=True, eq=False)
class Straight(LinearElement):
    """Base class of both beams: a straight massless beam along the x axes of its ends."""

    length: float
    axial_stiffness: float
    bending_stiffness: ArrayLike = structure()
    torsion_stiffness: float = structure()
    damping: float = structure(default=0.0)
    K: Any = field(default=None, init=False, repr=False)
    B: Any = field(default=None, init=False, repr=False)

    @classmethod
    def example(cls) -> Self:
        return cls(
            length=1.0, axial_stiffness=1e4, bending_stiffness=20.0, torsion_stiffness=15.0, damping=0.01
        )

    def __post_init__(self) -> None:
        make_numbers(self, "length", "axial_stiffness", "torsion_stiffness", "damping")
        refuse_unless_positive(self, "length")
        bending = as_numbers(
            self.bending_stiffness,
            f"{self.kind}.bending_stiffness",
            "a finite number, or two: about y, about z",
            (),
            (2,),
        )
        about_y, about_z = np.broadcast_to(bending, 2).tolist()
        if min(self.axial_stiffness, about_y, about_z, self.torsion_stiffness, self.damping) < 0.0:
            raise ElementError(f"{self.kind}: stiffnesses and damping must be at least 0.")
        numbers = (self.length, self.axial_stiffness, about_y, about_z, self.torsion_stiffness)
        K = np.zeros((6, 6), dtype=as_floats(numbers).dtype)
        self.fill(K, about_y, about_z)
        object.__setattr__(self, "K", K)
        object.__setattr__(self, "B", self.damping * K)

    def fill(self, K: Floats, about_y: float, about_z: float) -> None:
        """Fill K by the elementary beam formulas."""
        raise NotImplementedError

    def rest(self) -> Floats:
        return np.array([self.length, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Beam(Straight):
    """Massless elastic beam between two frames, for small deformations.

    At rest, end b lies at (length, 0, 0) in the base of end a and both bases are parallel; they are fixed to
    the cross sections. With the offset c of end b in the base of end a and its rotation vector r, this is
    Sol's beam in space::

        eps = (c1 - length, c2, c3, r1, r2, r3)        (3.4.18)

    (in his plane beam r3 is the arcsin of a component of C). F = K (eps + damping eps'), with K from the
    elementary formulas of a clamped beam, without shear. End a may move freely, but the deformation must be
    small. Use `CorotationalBeam` for large displacements.

    Parameters
    ----------
    length : float [m]
    axial_stiffness : float, EA [N]
    bending_stiffness : float, or two for bending about y and about z, EI [N m2]
    torsion_stiffness : float, GJ [N m2]
    damping : float [s]
        Proportional to the stiffness.

    Examples
    --------
    >>> Beam(length=2.0, axial_stiffness=1e6, bending_stiffness=100.0, torsion_stiffness=80.0).K.shape
    (6, 6)
    """

    def fill(self, K: Floats, about_y: float, about_z: float) -> None:
        l = self.length
        K[0, 0], K[3, 3] = self.axial_stiffness / l, self.torsion_stiffness / l
        for deflection, angle, bending, sign in ((1, 5, about_z, -1.0), (2, 4, about_y, 1.0)):
            K[deflection, deflection] = 12.0 * bending / l**3
            K[deflection, angle] = K[angle, deflection] = sign * 6.0 * bending / l**2
            K[angle, angle] = 4.0 * bending / l

    def deformation(self, position: Floats, rotation: Floats, t: float, eps: Floats) -> None:
        w, x, y, z = relative_quaternion(rotation, 0, 1)
        a, b, c = offset_in(rotation, position, 0, 1)
        eps[0], eps[1], eps[2] = a - self.length, b, c
        eps[3], eps[4], eps[5] = rotation_vector(w, x, y, z)


@dataclass(frozen=True, eq=False)
class CorotationalBeam(Straight):
    """Massless elastic beam between two frames, for large displacements: a chain can bend into a circle.

    A base E moves with the beam: the base half-way between both ends, rotated by the smallest angle that puts
    its x axis on the chord. Only the rotation vectors ra, rb of both ends relative to E and the stretch of
    the chord must be small::

        eps = (l - length, rb1 - ra1, ra2, rb2, ra3, rb3)
        F = K (eps + damping eps')

    with K from the elementary formulas of a simply supported beam, without shear. Neither end is preferred.
    One element may bend by some tenths of a radian; use more elements for more.

    Parameters
    ----------
    length, axial_stiffness, bending_stiffness, torsion_stiffness, damping
        As for `Beam`.

    Examples
    --------
    >>> CorotationalBeam(length=2.0, axial_stiffness=1e6, bending_stiffness=100.0, torsion_stiffness=80.0).K.shape
    (6, 6)
    """

    def fill(self, K: Floats, about_y: float, about_z: float) -> None:
        l = self.length
        K[0, 0], K[1, 1] = self.axial_stiffness / l, self.torsion_stiffness / l
        for k, bending in ((2, about_y), (4, about_z)):
            K[k : k + 2, k : k + 2] = bending / l * np.array([[4.0, 2.0], [2.0, 4.0]])

    def deformation(self, position: Floats, rotation: Floats, t: float, eps: Floats) -> None:
        w, x, y, z = relative_quaternion(rotation, 0, 1)
        h, i, j, k = half(w, x, y, z)
        a, b, c = offset_in(rotation, position, 0, 1)
        l = sqrt(a * a + b * b + c * c)
        # the chord in the half-way base is (n, m, p); the smallest turn to it is (n + 1, 0, -p, m) / size
        n, m, p = turn_back(h, i, j, k, a / l, b / l, c / l)
        f = 1.0 / sqrt(2.0 * (1.0 + n))
        s, u, v = f * (1.0 + n), -f * p, f * m
        # quaternions (s, 0, u, v)* (h, -+(i, j, k)) of both ends relative to E
        dot, p1, p2, p3 = u * j + v * k, u * k - v * j, v * i, -u * i
        a1, a2, a3 = rotation_vector(s * h - dot, -s * i + p1, -s * j - h * u + p2, -s * k - h * v + p3)
        b1, b2, b3 = rotation_vector(s * h + dot, s * i - p1, s * j - h * u - p2, s * k - h * v - p3)
        eps[0], eps[1] = l - self.length, b1 - a1
        eps[2], eps[3] = a2, b2
        eps[4], eps[5] = a3, b3
