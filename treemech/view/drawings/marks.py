"""Marks: what is drawn of a model, as plain data that can be kept with a run; no state of the run is in them.

A mark is a dict. Its "kind" is that of a shape of `system.body` ("cylinder", "box", "line", "polygon", ...),
drawn at "at"; or one of those between "ends", which move with them::

    rod, coil, damper, piston     from the first end to the second
    bend                          an elastic line, along the x axes of both ends where it begins and ends
    cord                          straight from end to end
    triangle                      a plate between three ends
    path                          through "points", a function of the motion of the ends

"at" and "ends" are places: [part, offset, rotation]; an internal point of a composite is
["inner", element, number of the end].
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..scene.scene import Place

Mark = dict[str, Any]
BETWEEN = {
    "rod": 2,
    "coil": 2,
    "damper": 2,
    "piston": 2,
    "bend": 2,
    "cord": None,
    "triangle": 3,
    "path": None,
}


def placed(place: Place) -> list[Any]:
    """Return a place as data."""
    return [int(place.part), np.asarray(place.offset).tolist(), np.asarray(place.rotation).tolist()]


def solid(kind: str, place: Place, layer: str, owner: tuple[str, str], **measures: Any) -> Mark:
    """Return the mark of a shape at a place."""
    return {"kind": kind, "at": placed(place), "layer": layer, "owner": list(owner), **measures}


def without_functions(marks: Iterable[Mark]) -> list[Mark]:
    """Return marks that can be written to a file: a path that a function gives becomes a cord through its ends."""
    return [
        {**{k: v for k, v in mark.items() if k != "points"}, "kind": "cord"}
        if mark["kind"] == "path"
        else mark
        for mark in (plain(m) for m in marks)
    ]


def plain(value: Any) -> Any:
    """Return data with lists and numbers in place of arrays; functions stay."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value
