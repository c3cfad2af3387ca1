"""What a formulation is: a way from the user's `System` to its motion. One signature for all of them.

A formulation is a class in a file of this folder. It

1. takes a `tm.System`, as the user wrote it, and builds itself: ``Formulation(system)``. What it cannot express
   raises `Inexpressible` with the name of the element.
2. has a ``name`` and a ``source`` (where it comes from), and says how large its matrix is: ``size``, ``nonzeros``.
3. answers ``initial(state)``, its own y of a treemech State; ``rhs(t, y)``; ``bodies(t, y)``, where the bodies are;
   ``reactions(t, y)``, the loads of the connections; ``residuals(t, y)``, how well its constraints are met.
4. answers ``integrate(...)`` with an `Integration`. Explicit formulations all run through the same compiled integrator
   (`integrator`), which is the one of the engine.
5. answers ``work(state)``, CPU seconds of one evaluation, of one assembly and of one factorisation of its matrix. Assembly costs
   at most two factorisations, or ``assembly_note`` says why.

Nothing is registered: `formulations()` finds the classes that have a name.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, ClassVar

import numpy as np

import treemech as tm
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats


class Inexpressible(TreemechError):
    """A formulation has no equations for an element of the system."""


class TooSlow(Exception):
    """A run took more than its allowance of CPU time."""


@dataclass(frozen=True, eq=False)
class Bodies:
    """Motion of the bodies in the order of `System.bodies` (without the ground), rows over time; world components.

    Position and velocity are those of the origins of the bodies.
    """

    position: Floats  # (n, nb, 3)
    rotation: Floats  # (n, nb, 3, 3)
    velocity: Floats  # (n, nb, 3)
    angular_velocity: Floats  # (n, nb, 3)


@dataclass(frozen=True, eq=False)
class Integration:
    """What an integration left: states at the output times, and how it went."""

    t: Floats
    y: Floats
    evaluations: int = 0
    steps: int = 0
    rejected: int = 0
    success: bool = True
    message: str = ""


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of every formulation."""

    formulation: str
    integration: Integration
    bodies: Bodies
    residual: Floats  # (n, 2) the largest of the constraints: position, velocity
    size: int
    nonzeros: int

    @property
    def t(self) -> Floats:
        return self.integration.t

    def error(self, other: Bodies) -> float:
        """Return the largest deviation from another motion at the same times.

        Of positions, divided by their largest distance from the world origin where that is more than 1 m, and of the
        columns of the rotations.
        """
        mine, count = self.bodies, len(self.bodies.position)
        scale = max(1.0, float(np.max(np.linalg.norm(other.position, axis=2), initial=0.0)))
        places = float(np.max(np.abs(mine.position - other.position[:count]), initial=0.0)) / scale
        turns = float(np.max(np.abs(mine.rotation - other.rotation[:count]), initial=0.0))
        worst = max(places, turns)
        return worst if np.isfinite(worst) else float("inf")

    def energy(self, system: tm.System) -> Floats:
        """Return the kinetic energy plus that in the field of gravity (n,)."""
        bodies, total = self.bodies, np.zeros(len(self.t))
        for k, body in enumerate(system.bodies[1:]):
            R, w = bodies.rotation[:, k], bodies.angular_velocity[:, k]
            arm = R @ body.com
            v = bodies.velocity[:, k] + np.cross(w, arm)
            inner = np.einsum("nji,nj->ni", R, w)
            total += 0.5 * body.mass * np.sum(v * v, axis=1)
            total += 0.5 * np.einsum("ni,ij,nj->n", inner, body.inertia, inner)
            total -= body.mass * (bodies.position[:, k] + arm) @ system.gravity
        return total


def refuse_composites(system: tm.System) -> None:
    """Refuse composites, for formulations that know no internal points."""
    for name in system.wiring.composites:
        raise Inexpressible(f"composite {name!r} has no form here.")


def refuse_memory(system: tm.System) -> None:
    """Refuse elements that remember, depend on a reaction or are inertia of a coordinate, for formulations that know none."""
    for e in system.wiring.elements.values():
        if isinstance(e.element, tm.RotorInertia):
            raise Inexpressible(f"element {e.name!r} ({e.element.kind}) is inertia of a coordinate.")
        if getattr(e.element, "n_memory", 0):
            raise Inexpressible(f"element {e.name!r} ({e.element.kind}) remembers its history.")
        if e.reaction_of is not None:
            raise Inexpressible(
                f"element {e.name!r} ({e.element.kind}) depends on the reaction of {e.reaction_of!r}."
            )
    for name in system.wiring.controllers:
        raise Inexpressible(f"controller {name!r} acts between steps.")


def conservative(system: tm.System) -> bool:
    """Return whether the kinetic energy and that of gravity are the whole energy, and nothing adds to them."""
    moving = any(signals_of(c.element) for c in system.connections.values())
    wiring = system.wiring
    return not (wiring.elements or wiring.composites or system.prescriptions or system.couplings or moving)


def signals_of(element: Any) -> list[Any]:
    """Return the fields of an element that vary in time."""
    from treemech.elements import Constant
    from treemech.elements.element import parameters

    return [p.value for p in parameters(element) if p.kind == "signal" and not isinstance(p.value, Constant)]


class Formulation(ABC):
    """The contract: see the head of this file."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    setting: ClassVar[str] = "rtol"  # or "step": what `integrate` is told
    order: ClassVar[int] = 8  # of the method, for the step that goes with a tolerance
    assembly_note: ClassVar[str] = ""  # why assembly may cost more than two factorisations, if it may
    size: int = 0
    nonzeros: int = 0
    mech: tm.Mechanism  # the engine's model of the same system: for states by name

    def __init__(self, system: tm.System) -> None:
        self.system = system

    @abstractmethod
    def initial(self, state: tm.State) -> Floats:
        """Return y of a state."""

    @abstractmethod
    def rhs(self, t: float, y: Floats) -> Floats:
        """Return y' by the compiled right-hand side."""

    @abstractmethod
    def bodies(self, t: Floats, y: Floats) -> Bodies:
        """Return the motion of the bodies at many states (rows of y)."""

    @abstractmethod
    def reactions(self, t: float, y: Floats) -> Mapping[str, tuple[Floats, Floats]]:
        """Return (force, moment) of every connection on the body of its end b, at that end, world components."""

    @abstractmethod
    def residuals(self, t: Floats, y: Floats) -> Floats:
        """Return the largest residual of the constraints (n, 2): position, velocity."""

    @abstractmethod
    def integrate(
        self, t_span: tuple[float, float], y0: Floats, setting: float, t_eval: Floats, allowed: float
    ) -> Integration:
        """Integrate from y0 over t_span; raise `TooSlow` after `allowed` seconds of CPU time."""

    def work(self, state: tm.State) -> dict[str, float]:
        """Return the CPU seconds of one "evaluation" of the right-hand side, and of its parts where there is
        a matrix: "assembly"
        (kinematics and entries) and "factorization"."""
        return {}

    def positions(self, t: float, y: Floats) -> Floats:
        """Return the origins of the bodies (nb, 3)."""
        found: Floats = self.bodies(np.array([t]), y[None]).position[0]
        return found

    def simulate(
        self,
        t_span: tuple[float, float],
        state: tm.State,
        setting: float,
        t_eval: Floats,
        allowed: float = float("inf"),
    ) -> Solution:
        """Simulate from a state over t_span; return the motion at the output times."""
        times = np.asarray(t_eval, dtype=np.float64)
        found = self.integrate(t_span, self.initial(state), setting, times, allowed)
        return Solution(
            self.name, found, self.bodies(found.t, found.y), self.residuals(found.t, found.y), self.size, self.nonzeros
        )  # fmt: skip


def formulations() -> dict[str, type[Formulation]]:
    """Return all formulations of this folder by name: every class that has a name and a right-hand side."""
    package, found = __name__.rpartition(".")[0], {}
    for entry in sorted(
        walk_packages([str(Path(__file__).parent)], package + "."), key=lambda entry: entry.name
    ):
        module = import_module(entry.name)
        for thing in vars(module).values():
            if (
                isinstance(thing, type)
                and issubclass(thing, Formulation)
                and thing.name
                and thing.__module__ == module.__name__
            ):
                found[thing.name] = thing
    return dict(sorted(found.items()))


def unique_reactions(mech: tm.Mechanism, state: tm.State) -> dict[str, tuple[Floats, Floats]]:
    """Return the loads of the engine that are unique, by connection."""
    return {n: (r.force, r.moment) for n, r in mech.reactions(state).items() if r.unique}
