"""Rolling without slip on a plane: disk and ball.

All motion is relative to end a, so the plane itself may move: a ball on a turntable is a RollingBall whose
end a is the turntable.
"""

from dataclasses import dataclass
from math import sqrt

from treemech.topology.arrays import Floats

from ..constraint import Constraint
from ..element import structure
from ..fields import make_numbers, refuse_unless_positive


@dataclass(frozen=True)
class RollingDisk(Constraint):
    """A thin disk rolls on the x,y plane of end a, on the side of positive z.

    The point of end b is the centre of the disk, and the z axis of end b is its axis. With m the unit vector
    of steepest ascent in the disk, the disk touches at c - R m. One holonomic and two nonholonomic rows::

        touching    f = c_z - R sqrt(C_zx^2 + C_zy^2)
        rolling     x, y of  v - R w x m = 0              m = (C_zx e_x + C_zy e_y) / sqrt(C_zx^2 + C_zy^2)

    (e_x and e_y are the first two columns of C.) A disk that lies flat has no single point of contact and is
    excluded.

    Parameters
    ----------
    radius : float
        R [m], positive.

    Examples
    --------
    >>> RollingDisk(0.3).n_holonomic, RollingDisk(0.3).n_nonholonomic
    (1, 2)
    """

    radius: float
    n_holonomic = 1
    n_nonholonomic = 2

    @classmethod
    def example(cls) -> "RollingDisk":
        return cls(radius=1.0)

    def __post_init__(self) -> None:
        make_numbers(self, "radius")
        refuse_unless_positive(self, "radius")

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = offset[2] - self.radius * sqrt(
            rotation[2, 0] * rotation[2, 0] + rotation[2, 1] * rotation[2, 1]
        )

    def slip(
        self,
        offset: Floats,
        rotation: Floats,
        velocity: Floats,
        angular_velocity: Floats,
        s: Floats,
        t: float,
        f: Floats,
    ) -> None:
        x, y = rotation[2, 0], rotation[2, 1]
        scale = self.radius / sqrt(x * x + y * y)
        m0 = (x * rotation[0, 0] + y * rotation[0, 1]) * scale
        m1 = (x * rotation[1, 0] + y * rotation[1, 1]) * scale
        m2 = (x * x + y * y) * scale
        f[0] = velocity[0] - (angular_velocity[1] * m2 - angular_velocity[2] * m1)
        f[1] = velocity[1] - (angular_velocity[2] * m0 - angular_velocity[0] * m2)


@dataclass(frozen=True)
class RollingBall(Constraint):
    """A ball rolls on the x,y plane of end a, on the side of positive z; the point of end b is its centre.

    One holonomic and two nonholonomic rows, or three if the ball may not pivot about the normal::

        touching       f = c_z - R
        rolling        v_x - R w_y = 0,   v_y + R w_x = 0
        no pivoting    w_z = 0

    Parameters
    ----------
    radius : float
        R [m], positive.
    pivoting : bool
        Whether the ball may turn about the normal of the plane.

    Examples
    --------
    >>> RollingBall(0.1).n_nonholonomic, RollingBall(0.1, pivoting=False).n_nonholonomic
    (2, 3)
    """

    radius: float
    pivoting: bool = structure(default=True)
    n_holonomic = 1

    @classmethod
    def example(cls) -> "RollingBall":
        return cls(radius=1.0)

    @classmethod
    def examples(cls) -> "list[RollingBall]":
        """Return one with pivoting and one without: the library holds both."""
        return [cls(1.0), cls(1.0, pivoting=False)]

    def __post_init__(self) -> None:
        make_numbers(self, "radius")
        refuse_unless_positive(self, "radius")
        object.__setattr__(self, "n_nonholonomic", 2 if self.pivoting else 3)

    def residual(self, offset: Floats, rotation: Floats, s: Floats, t: float, f: Floats) -> None:
        f[0] = offset[2] - self.radius

    def slip(
        self,
        offset: Floats,
        rotation: Floats,
        velocity: Floats,
        angular_velocity: Floats,
        s: Floats,
        t: float,
        f: Floats,
    ) -> None:
        f[0] = velocity[0] - self.radius * angular_velocity[1]
        f[1] = velocity[1] + self.radius * angular_velocity[0]
        if len(f) > 2:
            f[2] = angular_velocity[2]
