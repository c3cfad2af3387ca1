"""Marks of constraints, couplings, energetic elements and loads: by their own `drawing`, or one kept here by class."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from treemech.kinematics.layout.efforts import Applied, InnerPoint
from treemech.topology.arrays import Floats

from ..scene.scene import Place
from .actuators import DRAWINGS as ACTUATORS
from .constraints import DRAWINGS as CONSTRAINTS
from .contact import DRAWINGS as CONTACT
from .cords import DRAWINGS as CORDS
from .couplings import DRAWINGS as COUPLINGS
from .described import described_marks, own_drawing
from .hinges import axis_places, foot
from .marks import Mark
from .model import Joined, Model
from .springs import DRAWINGS as SPRINGS

DRAWINGS: dict[str, Callable[[Any, "Seen"], Any]] = {
    **SPRINGS, **CORDS, **CONTACT, **CONSTRAINTS, **COUPLINGS, **ACTUATORS,
}  # fmt: skip


class Seen:
    """What a drawing of a built-in element may ask: where its ends are in the run, and sizes."""

    def __init__(self, model: Model, ends: list[Any], girths: list[float] | None = None) -> None:
        self.ends, self._model, self._girths = ends, model, girths or []
        self.t = float(model.frames.t[0])
        self.size, self.span = model.size, model.span
        self.turns: list[bool] = []  # whether the coordinates that it acts on are angles
        self.slides = False  # whether the last two ends are those of the sliding hinge that it acts on
        self.girth = min(self._girths) if self._girths else model.girth_of_ends(ends)

    def number(self, value: Any) -> float:
        """Return a number, or the first value of a signal."""
        return float(value.at(self.t).value) if hasattr(value, "at") else float(value)

    def relative(self, a: int, b: int) -> Floats:
        """Return the positions of end b in the base of end a in the states (n, 3)."""
        if not all(isinstance(self.ends[k], Place) for k in (a, b)):
            return np.zeros((1, 3))
        (x, R), (y, _) = self._model.pose(self.ends[a]), self._model.pose(self.ends[b])
        found = np.einsum("nji,nj->ni", R, y - x)
        return np.asarray(found[np.isfinite(found).all(axis=1)])

    def axis(self, a: int, b: int) -> Floats:
        """Return the z axis of end b in the base of end a, at the start."""
        (_, R), (_, S) = self._model.pose(self.ends[a]), self._model.pose(self.ends[b])
        return np.asarray(R[0].T @ S[0][:, 2])

    def shaped(self, end: int) -> bool:
        """Return whether the body of an end has shapes of its own, which would coincide with a wheel or a cam."""
        place = self.ends[end]
        return isinstance(place, Place) and bool(self._model.info.bodies[place.part].shapes)

    def level(self, end: int) -> bool:
        """Return whether the x,y plane of an end is a horizontal plane of the ground."""
        place = self.ends[end]
        return (
            isinstance(place, Place)
            and place.part == 0
            and bool(place.rotation[:, 2] @ self._model.up > 1.0 - 1e-9)
        )

    def height(self, end: int, distance: float = 0.0) -> float:
        """Return the height along up of a plane of the ground."""
        place = self.ends[end]
        return float((place.offset + distance * place.rotation[:, 2]) @ self._model.up)


def element_marks(model: Model) -> list[Mark]:
    """Return the marks of everything that is neither a body nor a hinge."""
    found: list[Mark] = []
    for joined in model.joined:
        if not joined.is_hinge:
            ends: list[Any] = [joined.a, joined.b]
            found += _drawn(model, joined.element, ends, (joined.name, "constraint"), None, None)
    for applied in model.applied:
        found += _applied(model, applied)
    if model.core is not None:
        layout, n = model.core.layout.chords, len(model.core.tree.chords)
        for name, element, info in zip(
            layout.names[n:], layout.elements[n:], model.info.chords[n:], strict=False
        ):
            places = [axis_places(model, *_coordinate(joint)) for joint in info.joins]
            known = [p for p in places if p is not None]
            if len(known) == len(places):
                ends = [p["place"] for p in known]
                girths = [p["girth"] for p in known]
                found += _drawn(model, element, ends, (name, "coupling"), girths, None)
    return found


def _coordinate(name: str) -> tuple[str, int]:
    """Return hinge and number of a coordinate: "A", "A[1]"."""
    hinge, _, rest = name.partition("[")
    return (hinge, int(rest.rstrip("]"))) if rest.rstrip("]").isdigit() else (name, 0)


def _applied(model: Model, applied: Applied) -> Iterator[Mark]:
    ends: list[Any] = []
    for k, end in enumerate(applied.ends):
        ends.append(["inner", applied.name, k] if isinstance(end, InnerPoint) else model.place(end))
    places = [axis_places(model, hinge, number) for hinge, number in applied.coordinates]
    girths = None
    if not ends:
        known = [p for p in places if p is not None]
        if not known:
            return
        ends, girths = [p["place"] for p in known], [p["girth"] for p in known]
    turns = [bool(p and p["turns"]) for p in places]
    slide = _slide(places[0]["joined"]) if turns == [False] and places[0] else ()
    yield from _drawn(model, applied.element, ends, (applied.name, "element"), girths, turns, slide)
    for end in ends:
        if isinstance(end, Place) and end.part == 0 and len(applied.ends) > 1 and _supports(applied.element):
            yield foot(end, model.up, model.girth_of_ends(ends))


def _slide(joined: Joined) -> tuple[Place, ...]:
    """Return both ends of a hinge with one sliding coordinate, if end b stays on one side of end a."""
    if joined.q is None or joined.q.shape[1] != 1:
        return ()
    low, high = float(np.nanmin(joined.q)), float(np.nanmax(joined.q))
    return (joined.a, joined.b) if low * high > 0.0 and min(abs(low), abs(high)) > 0.1 * (high - low) else ()


def _supports(element: Any) -> bool:
    return any(
        cls.__name__ in (*SPRINGS, "HydraulicActuator", "Muscle", "ContractileElement", "Tendon")
        for cls in type(element).__mro__
    )


def _drawn(
    model: Model,
    element: Any,
    ends: list[Any],
    owner: tuple[str, str],
    girths: list[float] | None,
    turns: Any,
    slide: tuple[Place, ...] = (),
) -> Iterator[Mark]:
    own = own_drawing(element)
    if own is None:
        kept = next((DRAWINGS[c.__name__] for c in type(element).__mro__ if c.__name__ in DRAWINGS), None)
        seen = Seen(model, ends, girths)
        seen.turns, seen.slides = turns or [], bool(slide)
        if kept is not None:
            ends = [*ends, *slide]
            own = lambda: kept(element, seen)  # noqa: E731
        elif len(ends) > 1 and owner[1] in ("element", "constraint"):
            own = lambda: [{"kind": "cord", "ends": range(len(ends))}]  # noqa: E731
        else:
            return  # loads at one end are arrows, on demand
    yield from described_marks(model, element, own, ends, owner)
