"""Composite joints: two joints on a massless coupler, which needs no body (Haug 9.4.5).

The first joint of the coupler is on the z axis of end a; the second joint carries end b. The mass of the
coupler is neglected: make the coupler a body if its mass matters.
"""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..constraint import Constraint
from ..fields import make_signals, refuse_unless_positive
from .distance import Distance, distance_gap
from .point import InLine

SphericalSpherical = Distance  # 1 row (9.4.28)
Strut = InLine  # translational-spherical: the point of end b slides along the z axis of end a; 2 rows


@dataclass(frozen=True)
class RevoluteSpherical(Constraint):
    """A coupler turns about the z axis of end a and ends in a ball at the point of end b. Leaves 4 freedoms.

    Two holonomic rows (9.4.29)::

        c . c = l^2,  c_z = 0

    >>> RevoluteSpherical(length=0.5).n_holonomic
    2
    """

    length: Any
    n_holonomic = 2

    @classmethod
    def example(cls) -> "RevoluteSpherical":
        return cls(1.0)

    def __post_init__(self) -> None:
        make_signals(self, "length")
        refuse_unless_positive(self, "length", instead="without a coupler it is a Ball hinge")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = distance_gap(offset, self.length)
        f[1] = offset[2]


@dataclass(frozen=True)
class RevoluteRevolute(Constraint):
    """A coupler turns about the parallel z axes of end a and end b. Leaves 2 freedoms.

    Four holonomic rows (9.4.30)::

        c . c = l^2,  c_z = 0,  C_xz = C_yz = 0

    (In a plane mechanism, Distance is equivalent with only one row.)

    >>> RevoluteRevolute(length=0.5).n_holonomic
    4
    """

    length: Any
    n_holonomic = 4

    @classmethod
    def example(cls) -> "RevoluteRevolute":
        return cls(1.0)

    def __post_init__(self) -> None:
        make_signals(self, "length")
        refuse_unless_positive(self, "length", instead="without a coupler it is a Revolute hinge")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = distance_gap(offset, self.length)
        f[1] = offset[2]
        f[2] = rotation[0, 2]
        f[3] = rotation[1, 2]


@dataclass(frozen=True)
class RevoluteRevoluteOrthogonal(Constraint):
    """A coupler turns about the z axis of end a; end b turns about the coupler. Leaves 2 freedoms.

    The coupler is along the z axis of end b. The axes intersect at right angles in the point of end a. Four
    holonomic rows (9.4.31), with e_x and e_y the x and y axes of end b::

        c . c = l^2,  c_z = 0,  e_x . c = e_y . c = 0

    >>> RevoluteRevoluteOrthogonal(length=0.5).n_holonomic
    4
    """

    length: Any
    n_holonomic = 4

    @classmethod
    def example(cls) -> "RevoluteRevoluteOrthogonal":
        return cls(1.0)

    def __post_init__(self) -> None:
        make_signals(self, "length")
        refuse_unless_positive(self, "length", instead="without a coupler it is a Universal hinge")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = distance_gap(offset, self.length)
        f[1] = offset[2]
        f[2] = across(rotation, 0, offset)
        f[3] = across(rotation, 1, offset)


@dataclass(frozen=True)
class RevoluteCylindrical(Constraint):
    """A coupler turns about the z axis of end a; end b slides and turns on its own z axis. Leaves 3 freedoms.

    The z axis of end b is perpendicular to the z axis of end a and passes the point of end a at the distance
    `length`. Three holonomic rows, (9.4.32) for length 0::

        C_zz = 0,  c_z = 0,  (e_z x C e_z) . c = length

    length : signal or number, of either sign [m].

    >>> RevoluteCylindrical().n_holonomic
    3
    """

    length: Any = 0.0
    n_holonomic = 3

    def __post_init__(self) -> None:
        make_signals(self, "length")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = rotation[2, 2]
        f[1] = offset[2]
        f[2] = rotation[0, 2] * offset[1] - rotation[1, 2] * offset[0] - self.length


@dataclass(frozen=True)
class RevoluteTranslational(Constraint):
    """A coupler turns about the z axis of end a; end b slides along its own z axis. Leaves 2 freedoms.

    The x axis of end b is parallel to the z axis of end a, and the z axis of end b passes the point of end a
    at the distance `length`. Four holonomic rows, (9.4.33) for length 0::

        C_zy = C_zz = 0,  c_z = 0,  (e_z x C e_z) . c = length

    length : signal or number, of either sign [m].

    >>> RevoluteTranslational(length=0.1).n_holonomic
    4
    """

    length: Any = 0.0
    n_holonomic = 4

    def __post_init__(self) -> None:
        make_signals(self, "length")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = rotation[2, 1]
        f[1] = rotation[2, 2]
        f[2] = offset[2]
        f[3] = rotation[0, 2] * offset[1] - rotation[1, 2] * offset[0] - self.length


def across(C, j, c):  # type: ignore[no-untyped-def]
    """Return the dot product of axis j of end b and the offset."""
    return C[0, j] * c[0] + C[1, j] * c[1] + C[2, j] * c[2]
