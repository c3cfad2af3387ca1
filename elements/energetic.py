"""Energetic and active elements (3.4, 3.5): loads between ends, with own energy, states and inputs."""

from copy import copy
from math import prod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from .element import Element


class EndsMotion(NamedTuple):
    """Arguments of an element: motion of its ends in world components, hinge coordinates, states, inputs."""

    position: Floats  # (n, 3) of the end points
    rotation: Floats  # (n, 3, 3) the end bases in the world
    velocity: Floats  # (n, 3)
    angular_velocity: Floats  # (n, 3)
    q: Floats  # (nc,) hinge coordinates that it acts on
    u: Floats  # (nc,) their speeds
    x: Floats  # (ns,) its states
    inputs: Floats  # (ni,)
    memory: Floats  # (nm,) values stored at the last accepted step
    reaction: Floats  # (nr, 6) force and moment of the observed hinge on the body of its end b, at end b


class EndsLoad(NamedTuple):
    """Loads of an element on the bodies, in world components, and its own state. Arrives zeroed.

    Power balance (3.2.20): power to the bodies + energy' + dissipated - supplied = 0.
    """

    force: Floats  # (n, 3) on the body, through the end point
    moment: Floats  # (n, 3)
    load: Floats  # (nc,) on the hinge coordinates
    rates: Floats  # (ns,) x'
    energy: Floats  # (1,) stored
    dissipated: Floats  # (1,) power lost
    supplied: Floats  # (1,) power from outside (battery, pump, metabolism)
    deformation: Floats  # (nd,) eps
    effort: Floats  # (nd,) F, on the element: its opposite acts on the bodies


class Deformed(NamedTuple):
    """Arguments of an effort."""

    deformation: Floats  # (nd,) eps
    rate: Floats  # (nd,) eps'
    x: Floats
    inputs: Floats
    memory: Floats


class Effort(NamedTuple):
    """Effort F on the element, and its own state. Arrives zeroed; the other fields are as in EndsLoad."""

    effort: Floats  # (nd,)
    rates: Floats  # (ns,)
    energy: Floats  # (1,)
    dissipated: Floats  # (1,)
    supplied: Floats  # (1,)


# Flat records of an element with n ends, as the core fills and reads them. The motion record begins with the
# positions; these numbers times n are where the other quantities of the ends begin, and where q, u, x, inputs,
# memory and reaction follow. The load record begins with the forces; moments and the loads on hinge
# coordinates follow.
ROTATION, VELOCITY, ANGULAR_VELOCITY, MOTION_PER_END = 3, 12, 15, 18
MOMENT, LOAD_PER_END = 3, 6


class Sizes(NamedTuple):
    """Numbers of ends, coordinates, states and other quantities of an element."""

    ends: int
    coordinates: int
    states: int
    inputs: int
    memory: int
    reactions: int
    deformations: int

    @property
    def motion(self) -> list[tuple[str, tuple[int, ...], int]]:
        """Return (name, shape, start) of each quantity of EndsMotion in its flat record."""
        n, c, s, i, m, r, _ = self
        shapes: list[tuple[int, ...]] = [
            (n, 3),
            (n, 3, 3),
            (n, 3),
            (n, 3),
            (c,),
            (c,),
            (s,),
            (i,),
            (m,),
            (r, 6),
        ]
        return _places(EndsMotion._fields, shapes)

    @property
    def load(self) -> list[tuple[str, tuple[int, ...], int]]:
        """Return (name, shape, start) of each quantity of EndsLoad in its flat record."""
        n, c, s, _, _, _, d = self
        shapes: list[tuple[int, ...]] = [(n, 3), (n, 3), (c,), (s,), (1,), (1,), (1,), (d,), (d,)]
        return _places(EndsLoad._fields, shapes)

    @property
    def motion_size(self) -> int:
        return (
            MOTION_PER_END * self.ends
            + 2 * self.coordinates
            + self.states
            + self.inputs
            + self.memory
            + 6 * self.reactions
        )

    @property
    def load_size(self) -> int:
        return LOAD_PER_END * self.ends + self.coordinates + self.states + 3 + 2 * self.deformations

    @property
    def duals_size(self) -> int:
        """Return the number of partials of the loads to the reaction; they follow the load record."""
        return self.reactions * 6 * (LOAD_PER_END * self.ends + self.coordinates)


def _places(names: tuple[str, ...], shapes: list[tuple[int, ...]]) -> list[tuple[str, tuple[int, ...], int]]:
    places, start = [], 0
    for name, shape in zip(names, shapes, strict=True):
        places.append((name, shape, start))
        start += prod(shape)
    return places


def motion_views(record: Floats, sizes: Sizes) -> EndsMotion:
    """Return the flat record as EndsMotion of views."""
    return EndsMotion(*(record[at : at + prod(s)].reshape(s) for _, s, at in sizes.motion))


def load_views(record: Floats, sizes: Sizes) -> EndsLoad:
    """Return the flat record as EndsLoad of views."""
    return EndsLoad(*(record[at : at + prod(s)].reshape(s) for _, s, at in sizes.load))


class Energetic(Element):
    """The contract of an energetic or active element.

    A subclass is a frozen dataclass; its fields are its parameters.

    1. ``n_ends`` counts its ends (bodies or attachments), None: as many as `system.connect` gives;
       ``n_coordinates`` the hinge coordinates that it acts on; ``n_deformations`` its deformations eps;
       ``n_states`` its own states x; ``input_names`` names its inputs; ``n_memory`` counts the numbers that
       it remembers. These are class attributes or properties.
    2. Write ``deformation(self, position, rotation, t, eps)`` from the positions (n, 3) and bases (n, 3, 3)
       of its ends, and ``effort(self, now, t, out)``: from ``now.deformation``, ``now.rate``, ``now.x``,
       ``now.inputs`` it fills in ``out.effort`` (positive: the effort on the element does work when the
       deformation grows; a spring: k eps) and ``out.rates`` (x'). The partials G, the rate of eps and the
       loads on the bodies, -G^T F, follow exactly from the same source compiled for jet numbers. Without
       ends, eps are the hinge coordinates: write ``effort`` alone.
    3. Or write an implicit law (3.4.5) in place of effort: ``law(self, now, effort, t, f)``, n_deformations
       equations f = 0, solved by Newton's method from the previous effort. The optional
       ``balance(self, now, t, out)`` then fills in energy, powers and x'.
    4. Or write ``evaluate(self, motion, t, out)``: from the EndsMotion it fills in all of EndsLoad, the loads
       on the bodies in world components.
    5. ``out.energy[0]``, ``out.dissipated[0]``, ``out.supplied[0]`` are the stored energy and the powers, if
       the element has them. Power to the bodies + energy' + dissipated - supplied = 0 decides every sign.
    6. Loads follow a rigid motion of all ends and have no resultant (3.2.23). An element that acts against
       something else (air, a field) declares ``world = True``.
    7. Plain scalar Python is enough and best. It must depend on its arguments and fields only. An element
       with a history stores it in ``remember(self, motion, t, memory)``, which is called after every accepted
       step; ``memory()`` returns the start values. If ``remembers_every`` [s] is positive, steps end where t
       is a multiple of it, so that what is stored there does not depend on the integrator.
    8. Optional: ``initial()`` (start values of x); ``settled`` (indices of the states that start in
       equilibrium, x' = 0); ``n_reactions = 1``: it depends on the load of a hinge or constraint
       (`reaction_of=`), in ``motion.reaction[0]``; ``sample(rng, t)`` (a configuration for the check);
       ``obstacle(motion)`` (the reason why there is no finite load, for the message).
    9. Derivatives (`mech.derivatives`, `linearize`, implicit integrators) come from the same source compiled
       for dual numbers and are exact to rounding; methods that cannot be compiled for dual numbers are
       differenced. If a better derivative is known, or the effort has corners,
       ``stiffness_matrix(self, now, t, out)`` and ``damping_matrix(self, now, t, out)`` fill in
       d effort/d deformation and d effort/d rate, (n_deformations, n_deformations), zero at first.
    10. ``one_sided = True`` says that there are positions in which it does not act, all its loads exactly zero (a
        contact, a stop, a slack rope). DOP853 and DP5 then end a step where it begins and where it ceases to act;
        a step over such a corner may be less accurate than rtol says.

    `tm.check(element)` checks all of this.
    """

    n_ends: int | None = 2
    n_coordinates: int = 0
    n_deformations: int = 0
    n_states: int = 0
    n_memory: int = 0
    remembers_every: float = 0.0
    n_reactions: int = 0
    input_names: tuple[str, ...] = ()
    settled: tuple[int, ...] = ()
    world: bool = False
    one_sided: bool = False
    is_energetic: ClassVar[bool] = True
    author_methods = (
        "deformation", "effort", "law", "balance", "remember", "stiffness_matrix", "damping_matrix",
    )  # fmt: skip

    @property
    def n(self) -> Sizes:
        """Return all counts."""
        if self.n_ends is None:
            raise ElementError(
                f"{self.kind}.n_ends is None: say how many ends it has, {self.kind}(...).joining(3)."
            )
        return Sizes(
            self.n_ends,
            self.n_coordinates,
            self.n_states,
            len(self.input_names),
            self.n_memory,
            self.n_reactions,
            self.n_deformations,
        )

    def joining(self, n_ends: int) -> Self:
        """Return this element for `n_ends` ends: itself, or a copy that stores the number."""
        if self.n_ends == n_ends:
            return self
        if self.n_ends is not None:
            raise ElementError(f"{self.kind} has {self.n_ends} ends, got {n_ends}.")
        other = copy(self)
        object.__setattr__(other, "n_ends", n_ends)
        return other

    def evaluate(self, motion: EndsMotion, t: float, out: EndsLoad) -> None:
        raise ElementError(f"{self.kind} has neither evaluate() nor effort() or law(): write one of them.")

    def initial(self) -> Any:
        """Return the start values of the states x."""
        return np.zeros(self.n_states)

    def memory(self) -> Any:
        """Return the start values of the memory."""
        return np.zeros(self.n_memory)

    def sample(self, rng: "np.random.Generator", t: float) -> Floats:
        """Return a random record of EndsMotion for `tm.check`."""
        record = rng.uniform(-1.0, 1.0, self.n.motion_size)
        motion = motion_views(record, self.n)
        for k in range(self.n.ends):
            turn, r = np.linalg.qr(rng.normal(size=(3, 3)))
            turn = turn * np.sign(np.diag(r))
            turn[:, 0] *= np.sign(np.linalg.det(turn))
            motion.rotation[k] = turn
        motion.x[:] = np.asarray(self.initial(), dtype=np.float64) + 0.1 * rng.uniform(
            -1.0, 1.0, self.n_states
        )
        motion.memory[:] = self.memory()
        return record

    def obstacle(self, motion: EndsMotion) -> str:
        """Return the reason why the load is not finite at this motion; empty if unknown."""
        points = motion.position
        if len(np.unique(points, axis=0)) < len(points):
            return "two of its ends coincide, which leaves it no direction to act in; start from another position"
        return ""

    def at(self, motion: EndsMotion, t: float = 0.0) -> EndsLoad:
        """Evaluate loads and states at one motion with the compiled function and return them."""
        from .compilation.entry import call

        record = np.concatenate([np.ravel(x) for x in motion]).astype(np.float64)
        out = np.zeros(self.n.load_size + self.n.duals_size)
        call(self, "energetic", record, record, t, out)
        return load_views(out, self.n)
