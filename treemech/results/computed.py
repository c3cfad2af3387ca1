"""Results computed from the states of a run: all at once, energies and residuals."""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats
from treemech.topology.deferred import dataclass


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
    unique: Floats  # (connections, 12) 1 where a component of a load is unique, hinges first (Unique)
    elements: Floats  # (n, .) records of all energetic elements and loads
    couplings: Floats  # (n, .) loads of couplings on the coordinates they join


class Pair(Sequence[Floats]):
    """Two arrays as parts of one, which are taken out when they are asked for: ``a, b = pair`` or by name."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Floats) -> None:
        self.numbers = numbers

    def _parts(self) -> tuple[Floats, Floats]:
        return self.numbers[..., :3], self.numbers[..., 3:]

    def __getitem__(self, k: Any) -> Any:
        return self._parts()[k]

    def __len__(self) -> int:
        return 2

    def __repr__(self) -> str:
        first, second = self._parts()
        return f"{type(self).__name__}({first!r}, {second!r})"


class Momentum(Pair):
    """Momentum, and angular momentum about the world origin."""

    __slots__ = ()

    @property
    def linear(self) -> Floats:
        return self.numbers[..., :3]

    @property
    def angular(self) -> Floats:
        return self.numbers[..., 3:]


class Velocity(Pair):
    """Velocity and angular velocity of an end, in world components."""

    __slots__ = ()

    @property
    def linear(self) -> Floats:
        return self.numbers[..., :3]

    @property
    def angular(self) -> Floats:
        return self.numbers[..., 3:]


class Pose(Pair):
    """Position and rotation of an end; the rotation maps components in its base to world components."""

    __slots__ = ()

    def _parts(self) -> tuple[Floats, Floats]:
        return self.position, self.rotation

    @property
    def position(self) -> Floats:
        return self.numbers[..., :3]

    @property
    def rotation(self) -> Floats:
        return self.numbers[..., 3:].reshape(*self.numbers.shape[:-1], 3, 3)


class Unique(NamedTuple):
    """Which components of the load of a connection the model decides; true if all of them.

    >>> bool(Unique()), bool(Unique(force=(True, False, True)))
    (True, False)
    """

    force: tuple[bool, bool, bool] = (True, True, True)
    moment: tuple[bool, bool, bool] = (True, True, True)

    def __bool__(self) -> bool:
        return all(self.force) and all(self.moment)

    @classmethod
    def of(cls, numbers: Floats) -> "Unique":
        """Return what six numbers say, 1 or 0; files of older versions have one for all."""
        a, b, c, d, e, f = np.broadcast_to(numbers, 6).astype(bool).tolist()
        return cls((a, b, c), (d, e, f))


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
class RunEnergy(Energy):
    """Energies over a run [J], which can be drawn."""

    run: Any = field(default=None, repr=False)

    def plot(self, *, path: Any = None, smooth: bool = True, axes: Any = None) -> Any:
        """Draw kinetic, potential, stored and total energy over time (needs matplotlib). Return the Axes."""
        if self.run is None:
            raise TreemechError(
                "this copy of energies has no run to draw: use run.energy.plot() of the run itself."
            )
        parts = [
            p for p in ("kinetic", "potential", "stored", "total") if p != "stored" or np.any(self.stored)
        ]
        return self.run.plot(*(f"energy.{part}" for part in parts), path=path, smooth=smooth, axes=axes)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy gets: the energies, but not the run."""
        return self.__dict__ | {"run": None}


@dataclass(frozen=True, eq=False)
class Residual:
    """Residuals of the constraints of the chords: the largest of each level at every time."""

    position: Floats
    velocity: Floats
    acceleration: Floats
