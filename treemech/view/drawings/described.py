"""What an element says of how it is drawn: `drawing(self)`, its own or one of those kept here for built-ins."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from treemech.topology import ElementError

from ..scene.scene import Place
from .marks import BETWEEN, Mark, placed
from .model import Model

Drawing = Callable[[], Any]
_KINDS = (
    "line", "box", "sphere", "ellipsoid", "hemisphere", "cylinder", "cone", "torus", "capsule", "polygon", "mesh",
)  # fmt: skip


def own_drawing(element: Any) -> Drawing | None:
    """Return the `drawing` of an element of a user's own, if it has one."""
    method = getattr(element, "drawing", None)
    return method if callable(method) else None


def described_marks(
    model: Model,
    element: Any,
    drawing: Drawing,
    ends: list[Any],
    owner: tuple[str, str],
    layer: str = "elements",
) -> Iterator[Mark]:
    """Return the marks that a drawing describes. `ends` are places, or internal points as data.

    Whatever is wrong with a description is an ElementError that names the connection.
    """
    what = f"{type(element).__name__}.drawing of {owner[1]} {owner[0]!r}"
    try:
        given = drawing()
    except Exception as error:
        raise ElementError(f"{what} failed: {error!r}") from error
    if isinstance(given, Mapping):
        given = [given]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ElementError(
            f"{what} returned {given!r}; wanted a list of dicts, [{{'kind': 'coil', 'ends': (0, 1)}}]."
        )
    for one in given:
        yield _mark(model, one, what, ends, owner, layer)


def _mark(model: Model, one: Any, what: str, ends: list[Any], owner: tuple[str, str], layer: str) -> Mark:
    if not isinstance(one, Mapping) or not isinstance(one.get("kind"), str):
        raise ElementError(f"{what} returned {one!r}; wanted a dict with a 'kind'.")
    kind = one["kind"]
    common = {"layer": str(one.get("layer", layer)), "owner": list(owner)}
    rest = {k: v for k, v in one.items() if k not in ("kind", "ends", "end", "offset", "rotation", "layer")}
    if kind == "floor":
        return {"kind": kind, "height": float(one["height"]), **common}
    if kind in BETWEEN:
        count = BETWEEN[kind]
        chosen = tuple(one.get("ends", range(len(ends))))
        if (count is not None and len(chosen) != count) or (len(chosen) < 2 and kind != "path"):
            raise ElementError(
                f"{what}: a {kind} is drawn between {count or 'two or more'} ends; there is ends={chosen}."
            )
        rest.setdefault("size", model.girth_of_ends([_end(ends, k, what) for k in chosen]))
        return {"kind": kind, "ends": [_data(_end(ends, k, what)) for k in chosen], **common, **rest}
    if kind not in _KINDS:
        raise ElementError(f"{what}: there is no kind {kind!r}; there are {', '.join((*BETWEEN, *_KINDS))}.")
    place = _end(ends, one.get("end", 0), what)
    if not isinstance(place, Place):
        return {"kind": kind, "at": _data(place), **common, **rest}
    moved = place.at(one.get("offset", (0.0, 0.0, 0.0)), one.get("rotation"))
    return {"kind": kind, "at": placed(moved), **common, **rest}


def _end(ends: list[Any], k: Any, what: str) -> Any:
    try:
        return ends[int(k)]
    except (IndexError, TypeError, ValueError):
        raise ElementError(f"{what}: there is no end {k!r}; there are {len(ends)}, from 0.") from None


def _data(end: Any) -> list[Any]:
    return (
        placed(end)
        if isinstance(end, Place)
        else [np.asarray(x).tolist() if isinstance(x, np.ndarray) else x for x in end]
    )
