"""Composite connections (ch. 7): several elements as one connection, with internal points or frames."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.elements import Constraint, Energetic, Hinge, Load
from treemech.topology import ElementError, TopologyError, as_vector, unknown
from treemech.topology.arrays import Floats
from treemech.topology.body import as_rotation
from treemech.topology.declared import Declaration, depends, remade

from .recording import Call, Journal, recorded

if TYPE_CHECKING:
    from .kinematic_assembly import Expansion, Reduction


class Place(NamedTuple):
    """A point of a frame or an end, with a base: ``composite.at("rod", (0, 0, 0.5))``."""

    name: str
    offset: Floats
    rotation: Floats

    def to(self, other: "Place") -> tuple[Floats, Floats]:
        """Return offset and rotation of another place of the same frame relative to this one."""
        return self.rotation.T @ (other.offset - self.offset), self.rotation.T @ other.rotation


class Part(NamedTuple):
    """An element of a composite, with the names of its ends."""

    name: str
    element: Any
    ends: tuple[str, ...]
    inputs: Mapping[str, Any]
    places: tuple[Place, ...] = ()  # of a hinge or a constraint


class Composite(Journal):
    """Several elements as one connection (7.1): between named ends, through internal points or frames without mass.

    With points it holds energetic elements and loads (7.3). With frames it is a kinematic assembly (7.2):
    hinges lead from one end to the other, constraints act between ends and frames, and `report()` tells which
    freedoms are left.

    Parameters
    ----------
    ends : names
        Names of the bodies or attachments it joins, in the order of `system.connect`.
    points : dict
        Internal points: 1 (a distance along the line from the first end to the second), 3 (a position) or 6
        (a position and a turn) coordinates each. They are in equilibrium at every time (7.3).
    viscous : names
        Points on which velocity-dependent elements act: their positions are states, their velocities follow
        from the equilibrium.
    start : dict
        Positions of points at the start (world, or the distance). Default: in equilibrium, searched from the
        middle of the ends, turned half-way from the first to the second.
    frames : names
        Internal bodies without mass, of a kinematic assembly.

    Examples
    --------
    >>> import treemech as tm
    >>> muscle = tm.Composite(ends=("origin", "insertion"), points={"n1": 1})
    >>> muscle.connect("tendon", tm.Spring(stiffness=100.0, length=0.1), "n1", "insertion").ends
    ('n1', 'insertion')
    >>> link = tm.Composite(frames=("rod",))  # figure 7.2
    >>> _ = link.connect("A", tm.Ball(), "a", "rod")
    >>> _ = link.connect("B", tm.Ball(), link.at("rod", (0, 0, 0.5)), "b")
    >>> print(link.report())
    Series(A (Ball) - B (Ball)): 5 freedoms (rank 5); coordinates A[0], A[1], B[0], B[1], B[2], B[3]; redundant: A[2]
    """

    def __init__(
        self,
        ends: Sequence[str] = ("a", "b"),
        points: Mapping[str, int] | None = None,
        viscous: Sequence[str] = (),
        start: Mapping[str, Any] | None = None,
        frames: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._made_with = (ends, points, viscous, start, frames)
        self.ends, self.points, self.frames = tuple(ends), dict(points or {}), tuple(frames)
        self.viscous, self.parts = tuple(viscous), list[Part]()
        for name, n in self.points.items():
            if n not in (1, 3, 6):
                raise ElementError(f"Composite: point {name!r} has {n!r} coordinates; wanted 1, 3 or 6.")
            if n == 1 and len(self.ends) < 2:
                raise ElementError(f"Composite: point {name!r} lies between two ends; there is {self.ends}.")
            if name in self.ends:
                raise TopologyError(f"Composite: {name!r} is an end and a point; give them different names.")
        for name in self.frames:
            if name in self.ends or name in self.points or self.frames.count(name) > 1:
                raise TopologyError(f"Composite: {name!r} is the name of a frame and of something else.")
        for name in (*self.viscous, *(start or {})):
            if name not in self.points:
                raise TopologyError(f"Composite: {unknown('point', name, self.points)}")
        for name in self.viscous:
            if self.points[name] == 6:
                raise ElementError(f"Composite: the viscous point {name!r} has 6 coordinates; wanted 1 or 3.")
        self.start = {
            n: as_vector(v, f"Composite: start of point {n!r}", 1 if self.points[n] == 1 else 3)
            for n, v in remade(dict(start or {}), {}).items()
        }

    @property
    def declared(self) -> Declaration | None:
        """The declaration it was made by, if it has parameters."""
        made = (self._made_with, self.calls)
        return Declaration(_composite, made, {}) if depends(made) else None

    def at(self, name: str, offset: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> Place:
        """Return a point and base of a frame (or end), for hinges and constraints."""
        self._refuse_unknown(name, "Composite: a place")
        place = Place(name, offset, rotation)
        numbers = self._place(remade(place, {}))
        return place if depends((offset, rotation)) else numbers

    def _place(self, place: Place) -> Place:
        """Return the place with checked numbers."""
        what = f"Composite: place of {place.name!r}"
        return Place(place.name, as_vector(place.offset, what), as_rotation(place.rotation, what))

    def _refuse_unknown(self, name: str, what: str) -> None:
        known = (*self.ends, *self.frames)
        if name not in known:
            raise TopologyError(f"{what}: {unknown('end or frame', name, known)}")

    @property
    def is_assembly(self) -> bool:
        """True if it is made of hinges and constraints (7.2)."""
        return bool(self.frames) or any(part.places for part in self.parts)

    def report(self) -> "Reduction | Expansion":
        """Return a text on the assembly: rank, redundant coordinates, freedoms."""
        from .kinematic_assembly import reduce_assembly  # it loads the elements

        self.check("Composite")
        return reduce_assembly(self, "Composite")

    @recorded
    def connect(self, name: str, element: Any, *ends: Any, inputs: Mapping[str, Any] | None = None) -> Part:
        """Add an element between ends and points, by name.

        Hinges and constraints are added between ends, frames and places of them.
        """
        if any(part.name == name for part in self.parts):
            raise TopologyError(f"Composite: two elements are named {name!r}.")
        if isinstance(element, (Hinge, Constraint)):
            return self._join(name, element, ends)
        if not isinstance(element, (Energetic, Load)):
            raise ElementError(
                f"Composite: {name!r} is {element!r}; wanted an energetic element, a load, a hinge or a constraint."
            )
        known = (*self.ends, *self.points)
        for end in ends:
            if end not in known:
                raise TopologyError(f"Composite: element {name!r}: {unknown('end or point', end, known)}")
        if isinstance(element, Energetic):
            element = element.joining(len(ends)) if element.n_ends is None else element
            if len(ends) != element.n_ends:
                raise TopologyError(
                    f"Composite: element {name!r} ({element.kind}) has {len(ends)} ends; wanted {element.n_ends}."
                )
            for missing in (n for n in element.input_names if n not in (inputs or {})):
                raise ElementError(f"Composite: element {name!r} needs its input {missing!r}.")
        part = Part(name, element, tuple(ends), dict(inputs or {}))
        self.parts.append(part)
        return part

    def _join(self, name: str, element: Hinge | Constraint, ends: Sequence[Any]) -> Part:
        """Join two places by a hinge or a constraint."""
        places = []
        for end in ends:
            place = self._place(end) if isinstance(end, Place) else Place(end, np.zeros(3), np.eye(3))
            self._refuse_unknown(place.name, f"Composite: element {name!r}")
            places.append(place)
        if len(places) != 2 or places[0].name == places[1].name:
            raise TopologyError(
                f"Composite: {name!r} ({element.kind}) joins {[p.name for p in places]}; wanted two different ends or frames."
            )
        part = Part(name, element, tuple(p.name for p in places), {}, tuple(places))
        self.parts.append(part)
        return part

    def copied(self) -> "Composite":
        """Return a copy; parts that are added later are not in it."""
        other = Composite(*self._made_with)
        other.parts, other.calls = list(self.parts), list(self.calls)
        return other

    def location_matrix(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return which element end lies where (7.1.2): rows are ends and points, columns the ends of all elements."""
        rows = (*self.ends, *self.points, *self.frames)
        columns = [end for part in self.parts for end in part.ends]
        return np.array([[int(row == column) for column in columns] for row in rows], dtype=np.int64)

    def check(self, what: str) -> None:
        """Refuse a composite without elements, and points nothing holds."""
        if not self.parts:
            raise TopologyError(f"{what} has no elements: composite.connect(...).")
        if self.is_assembly and (self.points or not all(part.places for part in self.parts)):
            raise ElementError(
                f"{what} mixes hinges and constraints with energetic elements or points (7.2, 7.3): make two composites, or a body."
            )
        used = {end for part in self.parts for end in part.ends}
        for name in (*self.points, *self.frames):
            if name not in used:
                raise TopologyError(
                    f"{what}: no element holds the {'frame' if name in self.frames else 'point'} {name!r}."
                )


def _composite(made_with: tuple[Any, ...], calls: list[Call]) -> Composite:
    composite = Composite(*made_with)
    for call in calls:
        composite.connect(*call.args, **call.options)
    return composite
