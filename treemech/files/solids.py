"""Solids made with parameters as plain data for files, and back: the functions of `treemech.solids` by name."""

from functools import cache
from inspect import isfunction, signature
from typing import Any

from treemech.topology import TreemechError, solids, unknown
from treemech.topology.body import as_inertia, as_number, as_vector
from treemech.topology.declared import Property
from treemech.topology.solids import Solid

from .elements import value_data, value_from
from .located import Located


@cache
def _functions() -> dict[str, Any]:
    """Return all functions that make a solid, by name."""
    made = {n: f for n, f in vars(solids).items() if isfunction(f) and hasattr(f, "__wrapped__")}
    return made | {"moved": Solid.moved, "plus": Solid.__add__, "minus": Solid.__sub__}


def common_solid(options: dict[str, Any]) -> Solid | None:
    """Return the solid whose properties are among the arguments of a body."""
    found = {id(p.declared.args[0]): p.declared.args[0] for p in options.values() if isinstance(p, Property)}
    if len(found) > 1:
        raise TreemechError(
            "a body with properties of several solids with parameters cannot be written: add the solids up."
        )
    return next(iter(found.values()), None)


def solid_data(solid: Solid, what: str) -> dict[str, Any]:
    """Return the call that made it, {"make": name, argument: value, ...}; without parameters, its numbers."""
    declared = solid.declared
    if declared is None:
        return {key: value_data(x, f"{what}: {key}") for key, x in solid.properties.items()}
    name = next((n for n, f in _functions().items() if f is declared.make), None)
    if name is None:
        raise TreemechError(f"{what} was made by {declared.make!r}: wanted a function of tm.solids.")
    given = signature(declared.make).bind(*declared.args, **declared.options).arguments
    return {"make": name} | {key: _argument_data(x, f"{what}: {key}") for key, x in given.items()}


def _argument_data(value: Any, what: str) -> Any:
    if isinstance(value, Solid):
        return solid_data(value, what)
    if isinstance(value, (list, tuple)) and any(isinstance(x, Solid) for x in value):
        return [solid_data(x, what) for x in value]
    return value_data(value, what)


def solid_from(located: Located) -> Solid:
    """Make the solid that an object of a file describes."""
    if "make" not in located.object():
        located.object(("mass", "inertia", "com"), ("shapes",))
        with located.blamed():
            return Solid(
                as_number(located.get("mass"), "mass"),
                as_inertia(located.get("inertia"), "inertia"),
                as_vector(located.get("com"), "com"),
                tuple(located.get("shapes", [])),
            )
    name = located["make"].text()
    if name not in _functions():
        located["make"].fail(unknown("solid", name, _functions()))
    function = _functions()[name]
    known = signature(function).parameters
    located.object((), ("make", *known))
    given = {key: _argument_from(located[key]) for key in located.value if key != "make"}
    with located.blamed():
        bound = signature(function).bind_partial()
        bound.arguments.update({key: given[key] for key in known if key in given})
        made: Solid = function(*bound.args, **bound.kwargs)
        return made


def _argument_from(located: Located) -> Any:
    value = located.value
    if isinstance(value, dict) and ("make" in value or "mass" in value):
        return solid_from(located)
    if (
        isinstance(value, list)
        and value
        and all(isinstance(x, dict) and ("make" in x or "mass" in x) for x in value)
    ):
        return [solid_from(x) for x in located.each()]
    return value_from(located)
