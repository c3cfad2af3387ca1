"""Wheel on wheel: two wheels with parallel axes roll on each other without slip."""

from dataclasses import dataclass

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..constraint import Constraint
from ..fields import make_numbers, refuse_zero


@dataclass(frozen=True)
class RollingWheel(Constraint):
    """Two wheels roll on each other without slip; their axes are the parallel z axes of the two ends.

    One nonholonomic row. The points of the ends are the centres. Other connections keep them |radius_a +
    radius_b| apart and the axes parallel. With e = c / |c| and its normal n = e_z x e, both in the x,y
    plane::

        (radius_a + radius_b) (n . v) / |c| - radius_b w_z = 0

    A negative radius makes a ring with the other wheel inside it. (In the plane the row can be integrated: if
    both wheels are on one carrier, a Gear coupling is cheaper.)

    Parameters
    ----------
    radius_a, radius_b : float
        Radii [m]; negative for a ring.

    Examples
    --------
    >>> RollingWheel(radius_a=-0.5, radius_b=0.2).n_nonholonomic
    1
    """

    radius_a: float
    radius_b: float
    n_nonholonomic = 1

    @classmethod
    def example(cls) -> "RollingWheel":
        return cls(radius_a=1.0, radius_b=1.0)

    def __post_init__(self) -> None:
        make_numbers(self, "radius_a", "radius_b")
        refuse_zero(self, "radius_a", "radius_b")
        if self.radius_a + self.radius_b == 0.0 or (self.radius_a < 0.0 and self.radius_b < 0.0):
            raise ElementError(
                f"RollingWheel: radii {self.radius_a:g} and {self.radius_b:g} cannot touch at one point; "
                "wanted two wheels, or a ring (negative) and a wheel of another size."
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
        x, y = offset[0], offset[1]
        turn = (x * velocity[1] - y * velocity[0]) / (x * x + y * y)  # (n . v) / |c|: rate of the centre line
        f[0] = (self.radius_a + self.radius_b) * turn - self.radius_b * angular_velocity[2]
