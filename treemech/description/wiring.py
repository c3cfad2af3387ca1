"""Energetic elements, loads, inputs, measures and controllers of a System, as the user joins them.

An end is a body, an attachment, a hinge (the element acts on its coordinate, or between its two ends), a
constraint (between its two ends) or a point of a composite connection.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.elements import Ball, Energetic, Load, RotorInertia, Signal, as_signal
from treemech.kinematics.layout.efforts import Applied, Assembled, FromHinge, Held, InnerPoint, Source
from treemech.topology import Attachment, Body, Connection, ElementError, TopologyError, unknown
from treemech.topology.body import as_number
from treemech.topology.deferred import dataclass

from ..results.naming import Place, as_coordinate
from .composite import Composite
from .ends import attachment_of, coordinate_of, hinge_of, name_of

if TYPE_CHECKING:
    from ..system import System


class ElementHandle(NamedTuple):
    """Energetic element or load of a system, as returned by `connect` and `load`."""

    name: str
    element: Energetic | Load | RotorInertia
    ends: tuple[Attachment | InnerPoint, ...]
    coordinates: tuple[tuple[str, int], ...]
    inputs: Mapping[str, Any]
    reaction_of: str | None = None


@dataclass(frozen=True)
class CompositeHandle:
    """A composite connection of a system; ``point(name)`` is an end for loads."""

    name: str
    composite: Composite
    ends: Mapping[str, Attachment]

    def point(self, name: str) -> InnerPoint:
        if name not in self.composite.points:
            raise TopologyError(f"composite {self.name!r}: {unknown('point', name, self.composite.points)}")
        if self.composite.points[name] == 1:
            raise TopologyError(
                f"composite {self.name!r}: the point {name!r} has one coordinate, along the line between its ends, and "
                "carries nothing across it: give it 3 coordinates to load it."
            )
        return InnerPoint(self.name, name)


@dataclass(frozen=True)
class AssemblyHandle:
    """A kinematic assembly whose frames are bodies without mass: its frames and connections by name."""

    name: str
    frames: Mapping[str, Body]
    connections: Mapping[str, Connection]


class Limit(NamedTuple):
    """Between which values a coordinate is meant to stay, and how large its load and its speed may be; None is no limit."""

    lower: float | None = None
    upper: float | None = None
    effort: float | None = None
    velocity: float | None = None

    @classmethod
    def of(cls, what: str, *numbers: Any) -> "Limit":
        """Return limits that are checked."""
        given = [
            None if x is None else as_number(x, f"{what}: {n}")
            for n, x in zip(cls._fields, numbers, strict=True)
        ]
        found = cls(*given)
        if found.lower is not None and found.upper is not None and found.lower > found.upper:
            raise ElementError(
                f"{what}: lower is {found.lower:g}, upper {found.upper:g}; wanted lower <= upper."
            )
        for name in ("effort", "velocity"):
            if (x := getattr(found, name)) is not None and x < 0.0:
                raise ElementError(f"{what}: {name} is {x:g}; wanted zero or more.")
        return found


class Controller(NamedTuple):
    """Function called every `period`: it gets measures and returns inputs, which are constant in between."""

    name: str
    function: Callable[..., Any]
    period: float
    measures: tuple[str, ...]
    inputs: tuple[str, ...]


@dataclass
class Wiring:
    """Everything of a system that is neither body nor kinematic connection."""

    elements: dict[str, ElementHandle] = field(default_factory=dict)
    composites: dict[str, CompositeHandle] = field(default_factory=dict)
    inputs: dict[str, Signal] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)  # inputs that are set from step to step
    measures: dict[str, Any] = field(default_factory=dict)
    controllers: dict[str, Controller] = field(default_factory=dict)
    frames: dict[str, Attachment] = field(default_factory=dict)
    limits: dict[tuple[str, int], Limit] = field(default_factory=dict)  # hinge, coordinate

    def held(self) -> dict[str, float]:
        """Return the inputs that controllers or steps set, with their values before the first time."""
        names = [*(name for c in self.controllers.values() for name in c.inputs), *self.opened]
        return dict.fromkeys(names, 0.0)

    def seen(self) -> list[tuple[str, str, int]]:
        """Return (input, element, number among its inputs) for every named input of an element."""
        known = {*self.inputs, *self.held()}
        return [
            (given, e.name, k)
            for e in self.elements.values()
            for k, given in enumerate(e.inputs[n] for n in getattr(e.element, "input_names", ()))
            if isinstance(given, str) and given in known
        ]

    def reactions(self) -> set[str]:
        """Return the hinges and constraints whose loads elements depend on."""
        return {e.reaction_of for e in self.elements.values() if e.reaction_of is not None}

    def acted(self) -> set[str]:
        """Return the hinges on whose coordinates elements act, and those whose coordinates they read."""
        acted = {hinge for e in self.elements.values() for hinge, _ in e.coordinates}
        parts = [part.inputs for handle in self.composites.values() for part in handle.composite.parts]
        given = [*(e.inputs for e in self.elements.values()), *parts]
        inputs = [x for own in given for x in own.values()]
        known = {*self.inputs, *self.held()}
        read = [as_coordinate(x) for x in inputs if isinstance(x, str) and x not in known]
        owners = {x.owner for x in read if x is not None}
        return acted | owners | {owner.rpartition(".")[0] for owner in owners}  # "pose" of "pose.roll"

    def connect(
        self,
        system: "System",
        name: str,
        element: Energetic | Load,
        ends: Sequence[Any],
        inputs: Mapping[str, Any] | None = None,
        reaction_of: Any = None,
    ) -> ElementHandle:
        """Add an element with its ends, checked."""
        from treemech.elements.loads.functions import LoadFunction

        what = f"element {name!r} ({element.kind})"
        if isinstance(element, LoadFunction):
            element = element.reading(sum(isinstance(end, (Connection, str)) for end in ends))
        points: list[Attachment | InnerPoint] = []
        coordinates: list[tuple[str, int]] = []
        bodies = {body.name for body in system.bodies} - {*system.connections}
        if getattr(element, "n_coordinates", 0) == 0:  # a name of a hinge means the hinge
            ends = [system.connections.get(end, end) if isinstance(end, str) else end for end in ends]
        between = [e for e in ends if isinstance(e, Connection) and getattr(element, "n_coordinates", 0) == 0]
        for end in ends:
            if isinstance(end, Connection) and end in between:
                points += both_ends(end)
            elif isinstance(end, Connection) or (isinstance(end, str) and end not in bodies):
                coordinates.append(coordinate_of(system, end, what))
            elif isinstance(end, InnerPoint):
                points.append(end)
            else:
                points.append(attachment_of(system, end, what))
        needed = int(getattr(element, "n_reactions", 0))
        if needed and reaction_of is None and len(between) == 1:
            reaction_of = between[0]
        loaded = reaction_of.name if isinstance(reaction_of, Connection) else reaction_of
        if needed and loaded is None:
            raise ElementError(
                f"{what} depends on the load of a hinge or a constraint: say which, reaction_of=."
            )
        if loaded is not None:
            if not needed:
                raise ElementError(f"{what} does not depend on a reaction: leave out reaction_of.")
            if loaded not in system.connections:
                known = unknown("hinge or constraint", loaded, system.connections)
                raise TopologyError(f"{what}: reaction_of: {known}")
            if any(isinstance(point, InnerPoint) for point in points):
                raise ElementError(
                    f"{what} depends on the load of {loaded!r} and acts on an internal point: give it ends on bodies, or a "
                    "body with a little mass for the point."
                )
        element = self._counted(what, element, points, coordinates)
        wanted = tuple(getattr(element, "input_names", ()))
        given = dict(inputs or {})
        for missing in (n for n in wanted if n not in given):
            raise ElementError(
                f"{what} needs its input {missing!r}: connect(..., inputs={{{missing!r}: ...}})."
            )
        for extra in (n for n in given if n not in wanted):
            raise ElementError(f"{what}: {unknown('input', extra, wanted)}")
        handle = ElementHandle(name, element, tuple(points), tuple(coordinates), given, loaded)
        self.elements[name] = handle
        return handle

    def connect_rotor(
        self, system: "System", name: str, element: RotorInertia, ends: Sequence[Any]
    ) -> ElementHandle:
        """Add the inertia of a rotor to a hinge of one freedom, or to a ball."""
        what = f"element {name!r} ({element.kind})"
        if len(ends) != 1:
            raise TopologyError(f"{what} has {len(ends)} ends; wanted 1: a hinge, or its name.")
        given = name_of(ends[0])
        try:
            hinge = hinge_of(system, given)
        except TopologyError as error:
            raise TopologyError(f"{what}: {error}") from None
        if hinge.n_speeds != 1 and not isinstance(hinge, Ball):
            raise ElementError(
                f"{what}: hinge {given!r} ({hinge.kind}) has {hinge.n_speeds} speeds; wanted a hinge of one freedom or a Ball. "
                "Make a row of such hinges of it, with bodies without mass between them."
            )
        handle = ElementHandle(name, element, (), ((given, 0),), {})
        self.elements[name] = handle
        return handle

    def rotors(self) -> dict[str, float]:
        """Return the inertia of the rotors on each hinge that has some."""
        found: dict[str, float] = {}
        for e in self.elements.values():
            if isinstance(e.element, RotorInertia):
                found[e.coordinates[0][0]] = found.get(e.coordinates[0][0], 0.0) + e.element.reflected
        return found

    def _counted(
        self, what: str, element: Energetic | Load, points: Sequence[Any], coordinates: Sequence[Any]
    ) -> Energetic | Load:
        """Return the element for this number of ends; refuse a wrong number."""
        n = len(points)
        if isinstance(element, Load):
            if n != 1 or coordinates:
                raise TopologyError(f"{what} has {n} ends; wanted 1: the body it acts on.")
            return element
        if element.n_ends is None and n:
            element = element.joining(n)
        if n != element.n_ends:
            raise TopologyError(
                f"{what} has {n} ends; wanted {element.n_ends}: bodies, attachments or points."
            )
        if len(coordinates) != element.n_coordinates:
            raise TopologyError(
                f"{what} acts on {len(coordinates)} hinge coordinates; wanted {element.n_coordinates}: the hinge, "
                "or 'name[1]' for one of several."
            )
        bodies = {end.body.name if isinstance(end, Attachment) else end for end in points}
        if n > 1 and len(bodies) == 1 and isinstance(points[0], Attachment):
            warnings.warn(
                f"{what}: all its {n} ends are on body {points[0].body.name!r}, where it moves nothing; it has an effect between "
                "two bodies.",
                stacklevel=6,
            )
        return element

    def connect_composite(
        self, system: "System", name: str, composite: Composite, ends: Sequence[Any]
    ) -> CompositeHandle:
        """Add a composite connection with its ends."""
        what = f"composite {name!r}"
        if len(ends) != len(composite.ends):
            raise TopologyError(
                f"{what} has {len(ends)} ends; wanted {len(composite.ends)}: {', '.join(composite.ends)}."
            )
        composite.check(what)
        joined = {n: attachment_of(system, e, what) for n, e in zip(composite.ends, ends, strict=True)}
        self.composites[name] = CompositeHandle(name, composite, joined)
        return self.composites[name]

    # ------------------------------------------------------------ build
    def unused(self) -> list[str]:
        """Return the inputs, of the system or of controllers, that no element takes."""
        parts = [part.inputs for c in self.composites.values() for part in c.composite.parts]
        taken = {
            x
            for inputs in (*(e.inputs for e in self.elements.values()), *parts)
            for x in map(str, inputs.values())
        }
        return [name for name in (*self.inputs, *self.held()) if name not in taken]

    def build(self, system: "System") -> tuple[list[Applied], list[Assembled]]:
        """Return elements and composites with all names resolved."""
        applied: list[Applied] = []
        on_points: list[Applied] = []
        for e in self.elements.values():
            if isinstance(e.element, RotorInertia):
                continue  # it is a number of its hinge
            (on_points if any(isinstance(x, InnerPoint) for x in e.ends) else applied).append(
                self._applied(system, e)
            )
        assembled = []
        for handle in self.composites.values():
            c = handle.composite
            parts = [
                self._applied(system, ElementHandle(
                    f"{handle.name}.{part.name}", part.element,
                    tuple(handle.ends[e] if e in handle.ends else InnerPoint(handle.name, e) for e in part.ends),
                    (), part.inputs,
                ))
                for part in c.parts
            ]  # fmt: skip
            parts += [
                a
                for a in on_points
                if any(isinstance(x, InnerPoint) and x.composite == handle.name for x in a.ends)
            ]
            assembled.append(
                Assembled(
                    handle.name,
                    tuple(handle.ends.values()),
                    dict(c.points),
                    c.viscous,
                    dict(c.start),
                    tuple(parts),
                )
            )
        return applied, assembled

    def _applied(self, system: "System", e: ElementHandle) -> Applied:
        assert not isinstance(e.element, RotorInertia)  # a number of its hinge
        names = getattr(e.element, "input_names", ())
        sources = tuple(self._source(system, e, n, e.inputs[n]) for n in names)
        return Applied(e.name, e.element, e.ends, e.coordinates, sources, e.reaction_of)

    def _source(self, system: "System", e: ElementHandle, name: str, given: Any) -> Source:
        what = f"input {name!r} of element {e.name!r}"
        if not isinstance(given, str):
            return as_signal(given, what)
        if given in self.inputs:
            return self.inputs[given]
        if given in self.held():
            return Held(given)
        asked = as_coordinate(given)
        if asked is not None and asked.owner in system.connections:
            place = Place(asked.owner, asked.place.index or "0")
            return FromHinge(*coordinate_of(system, str(place), what), rate=asked.quantity == "u")
        if asked is not None and asked.owner.rpartition(".")[0] in system.connections:  # "pose.roll.q"
            return FromHinge(*coordinate_of(system, asked.owner, what), rate=asked.quantity == "u")
        known = [*self.inputs, *self.held()]
        raise TopologyError(f"{what}: {unknown('input', given, known)}")


def both_ends(connection: Connection) -> list[Attachment]:
    """Return the two ends of a hinge, their z axes along its axis if it has one, or of a constraint."""
    if connection.is_constraint:
        return list(connection.ends)
    base = connection.element.base()
    return [end.body.at(end.offset, np.asarray(end.rotation @ base)) for end in connection.ends]
