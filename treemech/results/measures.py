"""Named scalars of the motion, for controllers and results."""

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.topology import ElementError, TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats

from .naming import as_quantity

if TYPE_CHECKING:
    from .model_info import ModelInfo
    from .run import Run


class Measure(NamedTuple):
    """A scalar of the motion: a function of a run that returns one number for every time."""

    name: str
    of: Callable[["Run"], Floats]
    text: str | None = None  # the text it is made of; None for a function


def as_measure(name: str, what: Any) -> Measure:
    """Make a measure from a text, "A.q[1]" (connection, body or element; quantity; index), or a function of a Run."""
    if callable(what):
        return Measure(name, lambda run: _column(name, _called(name, what, run), len(run.t)))
    asked = as_quantity(what) if isinstance(what, str) else None
    if asked is None:
        raise ElementError(f"measure {name!r} is {what!r}; wanted 'name.quantity[0]' or a function of a Run.")
    owner, quantity, places = asked

    def of(run: "Run") -> Floats:
        values = getattr(_owner(run, owner, name), quantity, None)
        if values is None:
            there = [q for q in dir(_owner(run, owner, name)) if not q.startswith("_")]
            raise ElementError(
                f"measure {name!r}: {owner!r} has no {quantity!r}: it has {', '.join(map(repr, there))}."
            )
        try:
            numbers: Any = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ElementError(f"measure {name!r} = {what!r} is no number.") from None
        try:
            for place in places:
                if numbers.ndim > 1 or place:  # the only number of a hinge or a spring has index 0
                    numbers = numbers[:, place]
        except IndexError:
            raise ElementError(f"measure {name!r} = {what!r}: there is no place {list(places)}.") from None
        if numbers.ndim == 2 and numbers.shape[1] == 1:  # the only state of a motor
            numbers = numbers[:, 0]
        if numbers.ndim != 1:
            raise ElementError(f"measure {name!r} = {what!r} is not one number: add its place, {what}[0].")
        column: Floats = numbers
        return column

    return Measure(name, of, what)


def _called(name: str, function: Callable[["Run"], Any], run: "Run") -> Any:
    """Call the function of a measure; an error of it names the measure."""
    try:
        return function(run)
    except Exception as error:  # a user's function may raise anything
        raise ElementError(f"measure {name!r} fails: {type(error).__name__}: {error}") from error


class _Values:
    """A function of a run that knows its values."""

    def __init__(self, values: Floats) -> None:
        self.values = values

    def __call__(self, run: "Run") -> Floats:
        return self.values


def known_measure(name: str, values: Floats) -> Measure:
    """Make a measure from its values."""
    return Measure(name, _Values(values))


def all_measures(run: "Run") -> dict[str, Floats]:
    """Return all measures of a run. A measure that fails is left out with a warning; the others are kept."""
    found = {}
    for name in run._measures:
        try:
            found[name] = run.measure(name)
        except TreemechError as error:
            warnings.warn(f"left out: {error}", stacklevel=4)
    return found


def _column(name: str, given: Any, count: int) -> Floats:
    """Return the result of a function of a run as one number for every time.

    One number holds for all times.
    """
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "biuf" or numbers.shape not in ((), (count,)):
        raise ElementError(
            f"measure {name!r} gives {type(given).__name__} of shape {numbers.shape}; wanted one number for each of the {count} "
            "times."
        )
    return np.array(np.broadcast_to(numbers, count), dtype=np.float64)


def _owner(run: "Run", name: str, measure: str) -> Any:
    info = run._info
    _known(info, name, measure)
    if name in _connections(info):
        return run.connection(name)
    if name in [b.name for b in info.bodies]:
        return run.body(name)
    return run.element(name)


def check_owner(info: "ModelInfo", measure: Measure) -> None:
    """Refuse a measure made of a text if the model has no connection, body or element of that name."""
    asked = as_quantity(measure.text or "")
    if asked is not None:
        _known(info, asked.owner, measure.name)


def check_measures(measures: Iterable[Measure], run: "Run") -> None:
    """Refuse a measure made of a text if the model has no such number; a run without any states tells."""
    for measure in measures:
        if measure.text is not None:
            measure.of(run)


def _connections(info: "ModelInfo") -> list[str]:
    """Return the names of all connections, and of coordinates with names of their own."""
    named = [f"{c.name}.{own}" for c in info.connections for own in c.coordinates]
    return [c.name for c in info.connections] + named


def _known(info: "ModelInfo", name: str, measure: str) -> None:
    known = [*_connections(info), *(b.name for b in info.bodies), *(e.name for e in info.elements)]
    if name not in known:
        raise TopologyError(f"measure {measure!r}: {unknown('connection, body or element', name, known)}")


def find_measure(measures: Mapping[str, Measure], what: str) -> Measure:
    """Return a measure by its name, or made of a text."""
    if isinstance(what, Hashable) and what in measures:
        return measures[what]
    if isinstance(what, str) and "." not in what:
        raise ElementError(f"{unknown('measure', what, measures)} Or write it as 'name.quantity[0]'.")
    return as_measure(what, what)
