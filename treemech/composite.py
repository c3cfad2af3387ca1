"""Composite connections (ch. 7): several elements as one connection, with internal points."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from treemech.elements import Energetic, Load
from treemech.topology import ElementError, TopologyError, as_vector, unknown


class Part(NamedTuple):
    """An element of a composite, with the names of its ends."""

    name: str
    element: Energetic | Load
    ends: tuple[str, ...]
    inputs: Mapping[str, Any]


class Composite:
    """Several elements as one connection (7.1): between named ends, through internal points without mass.

    Parameters
    ----------
    ends : names
        Of the bodies or attachments it joins, in the order `system.connect` gives them.
    points : dict
        Internal points: 1 (a distance along the line from the first end to the second), 3 (a position) or 6 (a position
        and a turn) coordinates each. They are in equilibrium at every time (7.3).
    viscous : names
        Points on which velocity-dependent elements act: their positions are states, their velocities follow from the
        equilibrium.
    start : dict
        Where points are at the start (world, or the distance); default: in equilibrium, sought from the middle of the ends.

    Examples
    --------
    >>> import treemech as tm
    >>> muscle = tm.Composite(ends=("origin", "insertion"), points={"n1": 1})
    >>> muscle.connect("tendon", tm.Spring(stiffness=100.0, length=0.1), "n1", "insertion").ends
    ('n1', 'insertion')
    """

    def __init__(
        self,
        ends: Sequence[str] = ("a", "b"),
        points: Mapping[str, int] | None = None,
        viscous: Sequence[str] = (),
        start: Mapping[str, Any] | None = None,
    ) -> None:
        self.ends, self.points = tuple(ends), dict(points or {})
        self.viscous, self.parts = tuple(viscous), list[Part]()
        for name, n in self.points.items():
            if n not in (1, 3, 6):
                raise ElementError(f"Composite: point {name!r} has {n!r} coordinates; wanted 1, 3 or 6.")
            if n == 1 and len(self.ends) < 2:
                raise ElementError(f"Composite: point {name!r} lies between two ends; there is {self.ends}.")
            if name in self.ends:
                raise TopologyError(f"Composite: {name!r} is an end and a point; give them different names.")
        for name in (*self.viscous, *(start or {})):
            if name not in self.points:
                raise TopologyError(f"Composite: {unknown('point', name, self.points)}")
        for name in self.viscous:
            if self.points[name] == 6:
                raise ElementError(f"Composite: the viscous point {name!r} has 6 coordinates; wanted 1 or 3.")
        self.start = {
            n: as_vector(v, f"Composite: start of point {n!r}", 1 if self.points[n] == 1 else 3)
            for n, v in (start or {}).items()
        }

    def connect(
        self, name: str, element: Energetic | Load, *ends: str, inputs: Mapping[str, Any] | None = None
    ) -> Part:
        """Add an element between ends and points, by name."""
        if any(part.name == name for part in self.parts):
            raise TopologyError(f"Composite: two elements are named {name!r}.")
        if not isinstance(element, (Energetic, Load)):
            raise ElementError(f"Composite: {name!r} is {element!r}; wanted an energetic element or a load.")
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

    def location_matrix(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Which element end lies where (7.1.2): rows are ends and points, columns the ends of all elements."""
        rows = (*self.ends, *self.points)
        columns = [end for part in self.parts for end in part.ends]
        return np.array([[int(row == column) for column in columns] for row in rows], dtype=np.int64)

    def check(self, what: str) -> None:
        """Refuse a composite without elements, and points nothing holds."""
        if not self.parts:
            raise TopologyError(f"{what} has no elements: composite.connect(...).")
        used = {end for part in self.parts for end in part.ends}
        for name in self.points:
            if name not in used:
                raise TopologyError(f"{what}: no element holds the point {name!r}.")
