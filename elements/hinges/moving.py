"""Moving hinge without coordinates: its pose is a given function of time."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.arrays import Floats

from ..hinge import Hinge, Motion
from ..signal import as_signal
from .ball_bryant import bryant_bias, bryant_partials, bryant_rotation


@dataclass(frozen=True)
class Moving(Hinge):
    """Move end b as a given function of time: a shaken base, a driven frame.

    The hinge has no coordinates and is rheonomic: only drifts and biases differ from zero::

        c = (x, y, z)(t)      C = Rx(turn_x) Ry(turn_y) Rz(turn_z), Bryant angles
        v0 = c'               v00 = c''
        w0 = w^T angles'      w00 = w^T angles'' + (3.3.43)

    Parameters
    ----------
    x, y, z : signal or number
        Offset in the base of end a [m].
    turn_x, turn_y, turn_z : signal or number
        Bryant angles [rad].

    Examples
    --------
    >>> from treemech.elements import Harmonic
    >>> Moving(z=Harmonic(amplitude=0.1, frequency=2.0)).motion(q=[]).translation_drift.tolist()
    [0.0, 0.0, 0.2]
    """

    x: Any = 0.0
    y: Any = 0.0
    z: Any = 0.0
    turn_x: Any = 0.0
    turn_y: Any = 0.0
    turn_z: Any = 0.0
    n_coordinates = 0

    def __post_init__(self) -> None:
        for name in ("x", "y", "z", "turn_x", "turn_y", "turn_z"):
            object.__setattr__(self, name, as_signal(getattr(self, name), f"Moving.{name}"))

    def evaluate(self, q: Floats, u: Floats, t: float, motion: Motion) -> None:
        a, b, c = self.turn_x, self.turn_y, self.turn_z
        motion.offset[0] = self.x.value
        motion.offset[1] = self.y.value
        motion.offset[2] = self.z.value
        motion.translation_drift[0] = self.x.rate
        motion.translation_drift[1] = self.y.rate
        motion.translation_drift[2] = self.z.rate
        motion.translation_bias[0] = self.x.acceleration
        motion.translation_bias[1] = self.y.acceleration
        motion.translation_bias[2] = self.z.acceleration
        w = motion.rotation  # workspace for the partials; the rotation itself is written last
        for k in range(3):
            w[k, k] = 0.0
        bryant_partials(a.value, b.value, w)
        bryant_bias(a.value, b.value, a.rate, b.rate, c.rate, motion.rotation_bias)
        for k in range(3):
            motion.rotation_drift[k] = w[0, k] * a.rate + w[1, k] * b.rate + w[2, k] * c.rate
            motion.rotation_bias[k] += (
                w[0, k] * a.acceleration + w[1, k] * b.acceleration + w[2, k] * c.acceleration
            )
        bryant_rotation(a.value, b.value, c.value, w)
