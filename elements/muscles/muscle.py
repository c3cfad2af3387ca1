"""Hill-type muscle with activation and elastic tendon (7.4); its inner point is eliminated analytically."""

from dataclasses import dataclass, field
from math import pi, sin, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from treemech.topology.errors import ElementError

from ..cords.path import (
    points_outside,
    pull,
    refuse_misplaced,
    remember_turns,
    surface_entered,
    surface_rows,
    unit_tension,
)
from ..cords.wrapping import straight
from ..element import structure
from ..energetic import EndsLoad, EndsMotion
from ..fields import make_numbers, refuse_unless_positive
from .contractile import ContractileElement, Fibres
from .hill import activation_rate, fibre_speed, force_length, toe
from .tendon import Tendon


def tension(self: Any, length: float, motion: EndsMotion, out: EndsLoad) -> float:
    """Return the tension of a muscle of this length; write its rates, energy and powers into `out`."""
    a, fibre, F = motion.x[0], motion.x[1], self.max_force
    thickness = self.optimal_length * sin(self.pennation)  # stays: fibre sin(angle) = thickness
    slope = sqrt(1.0 - thickness * thickness / (fibre * fibre))  # cos(angle)
    stretch, over = length - fibre * slope - self.tendon_length, fibre - self.optimal_length
    tendon = toe(stretch, F, self.tendon_strain * self.tendon_length)
    parallel = toe(over, F, self.passive_strain * self.optimal_length)
    active = a * force_length(fibre / self.optimal_length, self.width)
    speed = fibre_speed((tendon / slope - parallel) / F, active, self.damping, self.curvature, self.eccentric)
    rate = speed * self.max_velocity * self.optimal_length
    viscous = F * self.damping * speed
    out.rates[0] = activation_rate(a, motion.inputs[0], self.rise_time, self.fall_time)
    out.rates[1] = rate
    out.energy[0] = (tendon * stretch + parallel * over) / 3.0
    out.dissipated[0] = viscous * rate
    out.supplied[0] = (parallel + viscous - tendon / slope) * rate
    out.deformation[0] = length
    out.effort[0] = tendon
    return tendon


@dataclass(frozen=True)
class Muscle(Fibres):
    """Hill-type muscle between two points: fibres with parallel tissue, and a tendon in series.

    It has one input, the ``excitation`` e (0 to 1). The states are the activation a and the length l of the
    fibres [m]; both start in equilibrium, a = e and l' = 0. The tension of the tendon determines how fast the
    fibres shorten::

        tendon(L - l) = max_force (a force_length(l) force_velocity(l') + damping l') + parallel(l)
        a' = (e - a) (e / rise_time + (1 - e) / fall_time)

    Pennate fibres pull at an angle to the tendon. The thickness of the muscle is constant, so the angle grows
    as they shorten (Zajac)::

        l sin(angle) = optimal_length sin(pennation)
        tendon(L - l cos(angle)) = cos(angle) (max_force (...) + parallel(l))

    The fields up to `fall_time` are those of ContractileElement.

    Parameters
    ----------
    tendon_length : float [m]
        Slack length of the tendon.
    tendon_strain, passive_strain : float
        Strains at max_force: of the tendon, and of the parallel tissue beyond the optimal length (`Tendon`).
    pennation : float [rad]
        Angle of the fibres at the optimal length, from 0 to less than a right angle.

    Examples
    --------
    >>> Muscle(max_force=1000.0, optimal_length=0.1, tendon_length=0.2).n_states
    2
    """

    tendon_length: float = 1.0
    tendon_strain: float = 0.04
    passive_strain: float = 0.6
    pennation: float = 0.0
    n_states = 2
    settled = (0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        names = ("tendon_length", "tendon_strain", "passive_strain")
        make_numbers(self, *names, "pennation")
        refuse_unless_positive(self, *names)
        if not 0.0 <= self.pennation < 0.5 * pi:
            raise ElementError(
                f"{self.kind}.pennation is {self.pennation:g}: wanted an angle from 0 to less than pi/2 [rad]."
            )

    def obstacle(self, motion: EndsMotion) -> str:
        thickness = self.optimal_length * sin(self.pennation)
        if motion.x[1] <= thickness:
            return f"its fibres are {motion.x[1]:.4g} m long, no longer than the muscle is thick, {thickness:.4g} m (pennation)"
        return super().obstacle(motion)

    def initial(self) -> Any:
        return np.array([0.0, self.optimal_length])

    def parts(self) -> tuple[ContractileElement, Tendon, Tendon]:
        """Return (contractile, parallel, tendon): the same muscle as elements of a `Composite`."""
        if self.pennation:
            raise ElementError(
                f"{self.kind}.parts: pennate fibres are not in line with their tendon; no composite has them."
            )
        numbers = {name: getattr(self, name) for name in Fibres.__dataclass_fields__}
        return (
            ContractileElement(**numbers),
            Tendon(self.max_force, self.optimal_length, self.passive_strain),
            Tendon(self.max_force, self.tendon_length, self.tendon_strain),
        )

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        length = straight(motion, 0, 1, out)
        pull(out, tension(self, length, motion, out))


@dataclass(frozen=True, eq=False)
class MusclePath(Muscle):
    """Muscle along a path: any number of ends, via points and surfaces as in `Path`.

    Parameters
    ----------
    wraps : dict
        {number of the end, from 0: WrapCylinder(...) or WrapSphere(...)}

    Examples
    --------
    >>> MusclePath(max_force=800.0, optimal_length=0.1, tendon_length=0.2).joining(3).n_ends
    3
    """

    wraps: Any = structure(default=None)
    surfaces: Any = field(default=None, init=False, repr=False)
    ends: float = field(default=0.0, init=False, repr=False)
    remembered: float = field(default=0.0, init=False, repr=False)
    n_ends = None
    counted: ClassVar[dict[str, str]] = {"n_ends": "ends", "n_memory": "remembered"}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "surfaces", surface_rows(self, self.wraps))
        object.__setattr__(self, "remembered", float(self.n_memory))

    @property
    def n_memory(self) -> int:  # type: ignore[override]
        return 2 * len(self.surfaces)

    def joining(self, n_ends: int) -> Self:
        refuse_misplaced(self, n_ends)
        other = super().joining(n_ends)
        object.__setattr__(other, "ends", float(n_ends))
        return other

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        length, _ = unit_tension(motion, self.surfaces, out)
        pull(out, tension(self, length, motion, out))

    def remember(self, motion: EndsMotion, t: float, memory: Any) -> None:
        remember_turns(motion, self.surfaces, memory)

    def obstacle(self, motion: EndsMotion) -> str:
        return surface_entered(motion, self.surfaces) or super().obstacle(motion)

    def sample(self, rng: "np.random.Generator", t: float) -> Any:
        return points_outside(super().sample(rng, t), self)
