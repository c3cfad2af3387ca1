"""Spring and damper against the relative rotation of two bodies, the same about all axes."""

from dataclasses import dataclass

import numpy as np

from treemech.topology.arrays import Floats

from ..energetic import EndsLoad, EndsMotion, Energetic, motion_views
from ..fields import make_numbers, warn_negative
from ..shared.finite_rotation import relative_quaternion, rotation_vector
from ..shared.linear_law import small_turn


@dataclass(frozen=True)
class BallSpring(Energetic):
    """Isotropic spring and damper on the rotation of end b relative to end a, as for a ball joint.

    With the rotation vector r of b relative to a and the relative angular velocity w = omega_b - omega_a, the moment on b is::

        -stiffness r - damping w        energy stiffness r.r / 2

    and its opposite acts on a. It is without load where both bases are parallel; r is less than half a turn. Give it the hinge:
    ``system.connect("spring", tm.BallSpring(5.0, 0.1), "hip")`` takes the bases of its two ends.

    Parameters
    ----------
    stiffness : float [N m/rad]
    damping : float [N m s/rad]

    Examples
    --------
    >>> BallSpring(stiffness=5.0).damping
    0.0
    """

    stiffness: float = 0.0
    damping: float = 0.0

    @classmethod
    def example(cls) -> "BallSpring":
        return cls(stiffness=5.0, damping=0.3)

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "damping")
        warn_negative(self, "stiffness", "damping")

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        R, w = motion.rotation, motion.angular_velocity
        e, x, y, z = relative_quaternion(R, 0, 1)
        a, b, c = rotation_vector(e, x, y, z)
        out.energy[0] = 0.5 * self.stiffness * (a * a + b * b + c * c)
        for i in range(3):
            turned = R[0, i, 0] * a + R[0, i, 1] * b + R[0, i, 2] * c
            rate = w[1, i] - w[0, i]
            moment = self.stiffness * turned + self.damping * rate
            out.moment[0, i] = moment
            out.moment[1, i] = -moment
            out.dissipated[0] += self.damping * rate * rate

    def sample(self, rng: "np.random.Generator", t: float) -> Floats:
        """Return a random motion with the ends turned by some tenths: half a turn is beyond its domain."""
        record = super().sample(rng, t)
        motion = motion_views(record, self.n)
        motion.rotation[1] = motion.rotation[0] @ small_turn(rng)
        return record

    def obstacle(self, motion: EndsMotion) -> str:
        return "its two bases are turned by half a turn against each other, where the axis is not known"
