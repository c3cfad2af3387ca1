"""What is wanted of ends: read by body, attachment, name of a frame or name of a body."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.topology import Attachment, Body, ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.body import as_rotation

from ..analyses.cut_hinges import connection_names
from ..results.naming import as_place

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_WANTED = (
    "wanted a position, three numbers or None for free ones; a rotation, 3x3 or a scipy Rotation; or "
    "(position, rotation), None for what is free"
)


class Wanted(NamedTuple):
    """Wanted world position of an end, nan where free, and wanted rotation, or None; with roots of weights."""

    name: str
    end: Attachment
    number: int  # of the body
    position: Floats
    rotation: Floats | None
    root: tuple[float, float]  # of the weights of position and rotation


def end_of(mech: "Mechanism", key: Any) -> tuple[str, Attachment]:
    """Return the name that messages and results use, and the attachment of an end."""
    frames = mech._wiring.frames
    if isinstance(key, str):
        if key in frames:
            return key, frames[key]
        bodies = {body.name: body for body in mech.tree.bodies}
        if key not in bodies:
            raise TopologyError(f"inverse_kinematics: {unknown('frame or body', key, [*frames, *bodies])}")
        return key, bodies[key].at()
    if isinstance(key, Body):
        name, end = key.name, key.at()
    elif isinstance(key, Attachment):
        own = [n for n, frame in frames.items() if frame is key]
        name, end = own[0] if own else _written(key), key
    else:
        raise TopologyError(
            f"inverse_kinematics: {key!r} is no end: wanted a body, an attachment, body.at(...), or the name of a frame or body."
        )
    if end.body.name not in mech.tree.numbers:
        raise TopologyError(f"inverse_kinematics: {unknown('body', end.body.name, mech.tree.numbers)}")
    return name, end


def _written(end: Attachment) -> str:
    at = ", ".join(f"{x:g}" for x in np.asarray(end.offset, dtype=np.float64))
    return f"{end.body.name}.at(({at}))"


def read_targets(mech: "Mechanism", given: Any, weights: Mapping[Any, Any] | None) -> list[Wanted]:
    """Read {end: what is wanted}, with the weights of ends."""
    if not isinstance(given, Mapping):
        raise ElementError(
            f"inverse_kinematics: {given!r} is no target; wanted {{end: {{position or pose}}}}."
        )
    if not given:
        raise ElementError("inverse_kinematics: no target is given; wanted {end: position or pose}.")
    ends = {key: end_of(mech, key) for key in given}
    roots = _roots(mech, ends, weights or {})
    found: list[Wanted] = []
    for key, value in given.items():
        name, end = ends[key]
        number = int(mech.tree.numbers[end.body.name])
        if number == 0:
            raise ElementError(f"inverse_kinematics: {name!r} is on the ground, which does not move.")
        while any(name == other.name for other in found):  # two ends at one point, with other bases
            name += "'"
        position, rotation = read_place(name, value)
        found.append(Wanted(name, end, number, position, rotation, roots[key]))
    return found


def read_place(name: str, value: Any) -> tuple[Floats, Floats | None]:
    """Return (position, nan where free; rotation or None) of what is wanted of one end."""
    free = np.full(3, np.nan)
    if hasattr(value, "as_matrix") or np.shape(_plain(value)) == (3, 3):
        what = f"rotation wanted of {name!r} (a path of three positions is given as a list of three targets)"
        return free, as_rotation(value, what)
    if isinstance(value, tuple | list) and len(value) == 2 and not isinstance(value[1], int | float):
        position = free if value[0] is None else _three(name, value[0], value)
        if value[1] is None:
            return position, None
        return position, as_rotation(value[1], f"rotation wanted of {name!r}")
    return _three(name, value, value), None


def _plain(value: Any) -> Any:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _three(name: str, position: Any, whole: Any) -> Floats:
    try:
        numbers = np.array([np.nan if x is None else float(x) for x in position])
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    free = [x is None for x in position] if numbers.shape == (3,) else []
    if numbers.shape != (3,) or not np.all(np.isfinite(numbers) | free):
        raise ElementError(f"inverse_kinematics: of {name!r} is wanted {whole!r}; {_WANTED}.")
    return numbers


def is_end(mech: "Mechanism", key: Any) -> bool:
    """Tell whether a key of the weights names an end, not a hinge."""
    if not isinstance(key, str):
        return True
    if key in mech._wiring.frames or key in mech.tree.numbers:
        return as_place(key, connection_names(mech)).owner not in connection_names(mech)
    return False


def _roots(
    mech: "Mechanism", ends: Mapping[Any, tuple[str, Attachment]], weights: Mapping[Any, Any]
) -> dict[Any, tuple[float, float]]:
    """Return the roots of the weights of position and rotation of every end, 1 by default."""
    if not isinstance(weights, Mapping):
        raise ElementError(
            f"inverse_kinematics: weights is {weights!r}; wanted weights by name, {{end: 10.0}}."
        )
    roots = dict.fromkeys(ends, (1.0, 1.0))
    for key, value in weights.items():
        if key not in ends and not is_end(mech, key):
            continue  # of a hinge, in the posture
        if key not in ends:
            raise ElementError(
                f"inverse_kinematics: {end_of(mech, key)[0]!r} has a weight, but no target: wanted weights of "
                f"{', '.join(repr(name) for name, _ in ends.values())}."
            )
        pair = np.asarray(_plain(value if isinstance(value, Sequence) else (value, value)))
        if pair.shape != (2,) or not np.all(np.isfinite(pair.astype(float))) or np.any(pair < 0.0):
            raise ElementError(
                f"inverse_kinematics: the weight of {ends[key][0]!r} is {value!r}; wanted a number of at least 0, or two: of position "
                "and rotation."
            )
        roots[key] = (float(np.sqrt(pair[0])), float(np.sqrt(pair[1])))
    return roots
