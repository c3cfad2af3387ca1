"""Contractile element of a muscle (7.4): the active fibres, without tendon and parallel tissue."""

from dataclasses import dataclass
from math import sqrt

from treemech.topology.errors import ElementError

from ..energetic import EndsLoad, EndsMotion, Energetic
from ..fields import make_numbers, refuse_unless_positive
from .hill import activation_rate, force_length, force_velocity


@dataclass(frozen=True)
class Fibres(Energetic):
    """Base class of muscles: the fibres, activated by one input, the excitation."""

    max_force: float = 1.0
    optimal_length: float = 1.0
    max_velocity: float = 10.0
    damping: float = 0.05
    width: float = 0.67
    curvature: float = 0.25
    eccentric: float = 1.4
    rise_time: float = 0.01
    fall_time: float = 0.04
    n_deformations = 1
    input_names = ("excitation",)

    def __post_init__(self) -> None:
        names = Fibres.__dataclass_fields__
        make_numbers(self, *names)
        refuse_unless_positive(self, *names)
        if not self.eccentric > 1.0:
            raise ElementError(f"{self.kind}.eccentric is {self.eccentric:g}; wanted more than 1.")


@dataclass(frozen=True)
class ContractileElement(Fibres):
    """Fibres of a Hill-type muscle between two points, for composite muscles.

    It has one input, the ``excitation`` (0 to 1), and one state, the activation a, which starts equal to it.
    Tension::

        F = max_force (a force_length(l) force_velocity(v) + damping v)
        a' = (e - a) (e / rise_time + (1 - e) / fall_time)

    with l in optimal lengths and v in max_velocity (`elements/muscles/hill.py`).

    Parameters
    ----------
    max_force : float [N]
        Isometric force at the optimal length and full activation.
    optimal_length : float [m]
    max_velocity : float [optimal lengths / s]
        Largest shortening velocity.
    damping : float
        Viscous force at max_velocity, as a fraction of max_force.
    width : float
        Of the force-length bell.
    curvature : float
        Of Hill's hyperbola, a / F0.
    eccentric : float
        Force of a fast lengthening muscle, as a multiple of max_force; above 1.
    rise_time, fall_time : float [s]
        Time constants of the activation.

    Examples
    --------
    >>> ContractileElement(max_force=1000.0, optimal_length=0.1).input_names
    ('excitation',)
    """

    n_states = 1
    settled = (0,)

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        p, v = motion.position, motion.velocity
        x, y, z = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
        size = sqrt(x * x + y * y + z * z)
        ux, uy, uz = x / size, y / size, z / size
        rate = ux * (v[1, 0] - v[0, 0]) + uy * (v[1, 1] - v[0, 1]) + uz * (v[1, 2] - v[0, 2])
        speed, a = rate / (self.max_velocity * self.optimal_length), motion.x[0]
        active = self.max_force * a * force_length(size / self.optimal_length, self.width)
        active *= force_velocity(speed, self.curvature, self.eccentric)
        viscous = self.max_force * self.damping * speed
        tension = active + viscous
        out.force[0, 0] = tension * ux
        out.force[0, 1] = tension * uy
        out.force[0, 2] = tension * uz
        out.force[1, 0] = -tension * ux
        out.force[1, 1] = -tension * uy
        out.force[1, 2] = -tension * uz
        out.rates[0] = activation_rate(a, motion.inputs[0], self.rise_time, self.fall_time)
        out.dissipated[0] = viscous * rate
        out.supplied[0] = -active * rate
        out.deformation[0] = size
        out.effort[0] = tension
