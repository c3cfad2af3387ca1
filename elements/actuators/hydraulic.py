"""Hydraulic actuator (3.5.6): an active element without memory."""

from dataclasses import dataclass
from math import sqrt

from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, refuse_negative, refuse_unless_positive


@dataclass(frozen=True)
class HydraulicActuator(Energetic):
    """Hydraulic cylinder between two points; its pressure pushes them apart.

    It has one input, ``pressure`` [Pa], the difference between its chambers. With the distance eps of its
    ends, the effort on the element is::

        F = -area pressure + damping eps'                       (3.5.6)

    Sol's F = a i describes a cylinder that pulls.

    Parameters
    ----------
    area : float [m^2]
        Effective pressure area a.
    damping : float [N s/m]
        Friction of the seals.

    Examples
    --------
    >>> HydraulicActuator(area=2e-3).input_names
    ('pressure',)
    """

    area: float = 1.0
    damping: float = 0.0
    n_deformations = 1
    input_names = ("pressure",)

    def __post_init__(self) -> None:
        make_numbers(self, "area", "damping")
        refuse_unless_positive(self, "area")
        refuse_negative(self, "damping")

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p, v = motion.position, motion.velocity
        x, y, z = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        size = sqrt(x * x + y * y + z * z)
        ux, uy, uz = x / size, y / size, z / size
        rate = ux * (v[1, 0] - v[0, 0]) + uy * (v[1, 1] - v[0, 1]) + uz * (v[1, 2] - v[0, 2])
        push = self.area * motion.inputs[0]
        tension = self.damping * rate - push
        out.force[0, 0] = tension * ux
        out.force[0, 1] = tension * uy
        out.force[0, 2] = tension * uz
        out.force[1, 0] = -tension * ux
        out.force[1, 1] = -tension * uy
        out.force[1, 2] = -tension * uz
        out.dissipated[0] = self.damping * rate * rate
        out.supplied[0] = push * rate
        out.deformation[0] = size
        out.effort[0] = tension
