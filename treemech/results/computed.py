"""Results computed from the states of a run: all at once, energies and residuals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from treemech.topology.arrays import Floats


class Results(NamedTuple):
    """Everything that follows from the states of a run."""

    ud: Floats
    trace: Floats  # (n, nb+1, 30) motion of the bodies and loads of their hinges (dynamics.model.trace)
    tau: Floats  # loads on the speeds beyond the acting ones: those of the drives of prescribed speeds
    multipliers: Floats
    chord_loads: Floats  # (n, nc, 6) force, moment on the body of end b, at that end
    residual: Floats  # (n, 3) of the constraints: position, velocity, acceleration
    cut_q: Floats  # coordinates, speeds and accelerations of cut hinges
    cut_u: Floats
    cut_ud: Floats
    unique: Floats  # 1 for every hinge, then every chord, whose load is unique
    elements: Floats  # (n, .) records of all energetic elements and loads


# t, q, u, coordinates of cut hinges, states of elements -> results
Tracer = Callable[[Floats, Floats, Floats, Floats, Floats], Results]
# t, integrator states -> q, u
Unpack = Callable[[Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Energy:
    """Energies [J]; heights count from the world origin; `stored` in elements."""

    kinetic: Any
    potential: Any
    stored: Any = 0.0

    @property
    def total(self) -> Any:
        return self.kinetic + self.potential + self.stored


@dataclass(frozen=True, eq=False)
class Residual:
    """Residuals of the constraints of the chords: the largest of each level at every time."""

    position: Floats
    velocity: Floats
    acceleration: Floats
