"""Elements, signals and the values of their fields as plain data for files, and back.

An element is an object {"kind": name, field: value, ...}. The kind is looked up among the elements of the
library and the entry points other packages declare; nothing else is imported, nothing is evaluated.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import isclass, signature
from itertools import combinations
from typing import Any

import numpy as np

from treemech.elements import (
    Constant,
    Element,
    Member,
    Profile,
    Series,
    SeriesRows,
    WrapCylinder,
    WrapSphere,
)
from treemech.elements.assembled.rows import END_A, END_B, SeriesEnd
from treemech.elements.constraints.profile import COLUMNS
from treemech.elements.element import parameters
from treemech.topology import Expression, Parameter, TreemechError, as_vector, unknown
from treemech.topology.body import as_rotation
from treemech.topology.declared import parameters_in

from .. import elements
from ..authoring.kit import CONTRACTS, GROUP
from .located import FileFault, Located, shown

_PARTS = (Profile, WrapCylinder, WrapSphere)  # no elements, but values of fields of some
_MARKS: tuple[tuple[type, ...], ...] = ((), (np.ndarray,), (Constant,), (np.ndarray, Constant))
_SKIPPED = ("n_ends", "n_arguments", "declared")  # known when it is connected; how it was made
_FUNCTION = (
    "a file holds no code. Write a signal as tm.Spline(times, values) or another kind of signal, an element as a class "
    f"of a package with an entry point in the group {GROUP!r}."
)


# ---------------------------------------------------------------- kinds
@cache
def built_in() -> dict[str, type]:
    """Return the kinds of the library by name, without those made of functions, which no file can hold."""
    named = {name: getattr(elements, name) for name in dir(elements)}
    return {
        name: cls
        for name, cls in named.items()
        if isclass(cls)
        and issubclass(cls, (Element, *_PARTS))
        and name not in CONTRACTS
        and not (is_dataclass(cls) and any(f.name == "function" for f in fields(cls)))
    }


def package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]


def kind_of(thing: Any, what: str) -> dict[str, str]:
    """Return the first entries of the object for a thing: its kind, and the package it comes from."""
    cls = type(thing)
    if built_in().get(cls.__name__) is cls:
        return {"kind": cls.__name__}
    for point in entry_points(group=GROUP):
        if point.module.partition(".")[0] == cls.__module__.partition(".")[0] and point.load() is cls:
            return {"kind": point.name, "from": package_of(point)}
    raise TreemechError(
        f"{what} is a {cls.__name__} of the module {cls.__module__!r}, which reading could not find again. Put it into a "
        f'package with an entry point: [project.entry-points."{GROUP}"] {cls.__name__} = "{cls.__module__}:{cls.__name__}".'
    )


def class_of(located: Located) -> type:
    """Return the class of an object of a file."""
    located.object(needed=("kind",))
    kind, package = located["kind"].text(), located["from"].text() if "from" in located else None
    if package is None:
        if kind not in built_in():
            located["kind"].fail(unknown("kind of element", kind, built_in()))
        return built_in()[kind]
    for point in entry_points(group=GROUP, name=kind):
        if package_of(point) == package:
            try:
                cls = point.load()
            except Exception as error:  # their module may raise anything
                located["kind"].fail(
                    f"cannot be loaded from {point.value!r}: {type(error).__name__}: {error}"
                )
            if isclass(cls) and issubclass(cls, Element):
                return cls
            located["kind"].fail(f"the entry point {kind!r} of {package!r} is no class of elements.")
    located["kind"].fail(
        f"no installed package {package!r} brings the element {kind!r} (`treemech elements` lists all): install it."
    )


# ---------------------------------------------------------------- to data
def element_data(element: Any, what: str) -> dict[str, Any]:
    """Return an element as data; `what` names it in messages.

    Refuse an element that would not read back the same.

    It is written in the short form of a person, or, if that makes a difference, with arrays and constant
    signals marked as such and without fields that were left out.
    """
    kept, known = _names(element), {p.name: p for p in parameters_in(element)}
    optional = (
        [f.name for f in fields(element) if f.default is None and f.init] if is_dataclass(element) else []
    )
    for marked in _MARKS:
        whole = _thing_data(element, what, marked)
        for n in range(len(optional) + 1):
            for left_out in combinations([name for name in optional if name in whole], n):
                data = {name: x for name, x in whole.items() if name not in left_out}
                try:
                    if same(
                        element_from(Located(data, what, parameters=known)), element, strict="from" in data
                    ):
                        return data
                except FileFault:
                    continue
    raise TreemechError(
        f"{what} ({type(element).__name__}) would not read back the same from its fields {', '.join(kept) or '(none)'}: "
        "wanted a dataclass whose __post_init__ leaves its own results as they are."
    )


def value_data(value: Any, what: str, marked: tuple[type, ...] = ()) -> Any:
    """Return the value of a field as data."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        if not np.isfinite(value):
            raise TreemechError(f"{what} is {value}: a file holds finite numbers.")
        return value
    if type(value) is Constant and Constant not in marked:
        return value_data(value.level, what)
    if isinstance(value, Expression):
        return expression_data(value)
    if hasattr(value, "as_matrix"):
        value = value.as_matrix()
    if isinstance(value, np.ndarray):
        numbers = value_data(value.tolist(), what, marked)
        return {"array": numbers} if np.ndarray in marked and value.dtype != object else numbers
    if isinstance(value, (list, tuple, range)):
        return [value_data(x, f"{what}[{k}]", marked) for k, x in enumerate(value)]
    if isinstance(value, Mapping):
        entries = {str(k): value_data(x, f"{what}[{k!r}]", marked) for k, x in value.items()}
        if all(isinstance(k, str) for k in value):
            return entries
        if all(type(k) is int for k in value):
            return {"by number": entries}
    if isinstance(value, (Element, *_PARTS)):
        return element_data(value, what)
    if callable(value):
        raise TreemechError(f"{what} is a function: {_FUNCTION}")
    raise TreemechError(
        f"{what} is {value!r}: a file holds numbers, texts, lists, arrays, elements and signals."
    )


def _thing_data(thing: Any, what: str, marked: tuple[type, ...]) -> dict[str, Any]:
    if callable(getattr(thing, "function", None)):
        raise TreemechError(f"{what} is made of a function: {_FUNCTION}")
    data: dict[str, Any] = dict(kind_of(thing, what))
    declared = getattr(thing, "declared", None)
    if declared is not None:  # with parameters: as it was made
        _, *given = (
            signature(declared.make.__init__)
            .bind(thing, *declared.args, **declared.options)
            .arguments.items()
        )
        return data | {n: value_data(x, f"{what}: {n}", marked) for n, x in given}
    if isinstance(thing, Series):
        members = [_member_data(m, what) for m in thing.members]
        return data | {"members": members, "euler": thing.euler_parameters is not None}
    if isinstance(thing, SeriesRows):
        own = {n: element_data(getattr(thing, n), what) for n in ("constraint", "series")}
        for name, at in (("a", END_A), ("b", END_B)):
            numbers = thing.numbers[at : at + 13]
            place = place_data(numbers[1:4], numbers[4:].reshape(3, 3))
            own[name] = {"stage": int(numbers[0])} | place
        return data | own
    return data | {n: value_data(getattr(thing, n), f"{what}: {n}", marked) for n in _names(thing)}


def _names(thing: Any) -> list[str]:
    return [f.name for f in fields(thing) if f.init] if is_dataclass(thing) else []


def expression_data(expression: Expression) -> dict[str, Any]:
    """Return a parameter by its name, or an operation with its arguments."""
    if isinstance(expression, Parameter):
        return {"parameter": expression.name}
    args = [expression_data(a) if isinstance(a, Expression) else a for a in expression.args]
    return {"op": expression.op, "args": args}


def _member_data(m: Member, what: str) -> dict[str, Any]:
    data: dict[str, Any] = {"name": m.name}
    if m.hinge is not None:
        data["hinge"] = element_data(m.hinge, f"{what}: hinge {m.name!r}")
    data |= place_data(m.offset, m.rotation)
    return data | ({"backward": True} if m.backward else {})


def place_data(offset: Any, rotation: Any) -> dict[str, Any]:
    """Return offset and rotation, if they are not those of the origin."""
    data = {} if offset.tobytes() == np.zeros(3).tobytes() else {"offset": offset.tolist()}
    turned = np.ascontiguousarray(rotation).tobytes() != np.eye(3).tobytes()
    return data | ({"rotation": rotation.tolist()} if turned else {})


# ---------------------------------------------------------------- from data
def element_from(located: Located, *roles: type) -> Any:
    """Make the element that an object of a file describes; it must have one of the roles."""
    cls = class_of(located)
    if roles and not issubclass(cls, roles):
        wanted = " or a ".join(r.__name__ for r in roles)
        located["kind"].fail(f"{cls.__name__} cannot stand here; wanted a {wanted}.")
    with located.blamed():
        if cls is Series:
            return _series_from(located)
        if cls is SeriesRows:
            return _series_rows_from(located)
        known = {f.name: f for f in fields(cls) if f.init} if is_dataclass(cls) else {}
        located.object(_needed(known), ("kind", "from", *known))
        given = {n: _field_from(located[n], f) for n, f in known.items() if n in located}
        if cls is Profile:
            given["pieces"] = np.array(given["pieces"], dtype=np.float64)
            if given["pieces"].ndim != 2 or given["pieces"].shape[1] != COLUMNS:
                located["pieces"].fail(
                    f"has shape {given['pieces'].shape}; wanted rows of {COLUMNS} numbers."
                )
        element = cls(**given)
        if isinstance(element, Element):
            parameters(element)  # refuses what is no number
        if isinstance(element, elements.Hinge):
            element.base()  # and what is no axis
        return element


def value_from(located: Located) -> Any:
    """Return the value of a field."""
    value = located.value
    if isinstance(value, list):
        return tuple(value_from(x) for x in located.each())
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        return element_from(located)
    if "parameter" in value or "op" in value:
        return expression_from(located)
    if set(value) == {"array"}:
        with located["array"].blamed():
            return np.array(value_from(located["array"]))
    if set(value) == {"by number"}:
        with located.blamed():
            return {int(k): value_from(x) for k, x in located.entries("by number").items()}
    return {k: value_from(located[k]) for k in value}


def expression_from(located: Located) -> Expression:
    """Return a parameter of the model, or an operation on parameters and numbers."""
    if "parameter" in located:
        name = located.object(("parameter",), ())["parameter"].text()
        if name not in located.parameters:
            located["parameter"].fail(unknown("parameter", name, located.parameters))
        known: Expression = located.parameters[name]
        return known
    located.object(("op", "args"), ())
    with located.blamed():
        return Expression(located["op"].text(), *(value_from(a) for a in located.each("args")))


def place_from(located: Located) -> tuple[Any, Any]:
    """Return (offset, rotation), checked."""
    with located.blamed():
        return (
            as_vector(located.get("offset", (0.0, 0.0, 0.0)), "offset"),
            as_rotation(located.get("rotation"), "rotation"),
        )


def _needed(known: Mapping[str, Field]) -> tuple[str, ...]:
    return tuple(n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING)


_TYPES = {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "a text"}


def _field_from(located: Located, field: Field) -> Any:
    """Return the value of a field, in the plain type that the class declares, if it declares one."""
    wanted = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
    value = located.value
    fits = {
        "float": (isinstance(value, (int, float)) and not isinstance(value, bool)) or isinstance(value, dict),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "bool": isinstance(value, bool),
        "str": isinstance(value, str),
    }
    if not fits.get(wanted, True):
        located.fail(f"is {shown(value)}; wanted {_TYPES[wanted]}.")
    return value_from(located)


def _series_from(located: Located) -> Series:
    if "parts" in located:
        located.object(("parts",), ("kind", "names"))
        return Series(
            *value_from(located["parts"]), names=value_from(located["names"]) if "names" in located else None
        )
    located.object(("members", "euler"), ("kind",))
    members = []
    for m in located.each("members"):
        m.object(("name",), ("hinge", "offset", "rotation", "backward"))
        hinge = element_from(m["hinge"], elements.Hinge) if "hinge" in m else None
        members.append(
            Member(m["name"].text(), hinge, *place_from(m), backward=bool(m.get("backward", False)))
        )
    if not members or members[-1].hinge is not None or any(m.hinge is None for m in members[:-1]):
        located["members"].fail(
            "wanted hinges, and behind them a member without one, which leads to the end."
        )
    return Series.of(members, euler=bool(located.get("euler")))


def _series_rows_from(located: Located) -> SeriesRows:
    located.object(("constraint", "series", "a", "b"), ("kind",))
    series = element_from(located["series"], Series)
    ends = []
    for name in "ab":
        end = located[name].object(("stage",), ("offset", "rotation"))
        stage = end["stage"].whole()
        if not 0 <= stage <= len(series.members):
            end["stage"].fail(f"is {stage}; wanted 0 to {len(series.members)}, a place in the series.")
        ends.append(SeriesEnd(stage, *place_from(end)))
    return SeriesRows(element_from(located["constraint"], elements.Constraint), series, *ends)


# ---------------------------------------------------------------- comparison
def same(a: Any, b: Any, strict: bool = False) -> bool:
    """Return whether two things are equal to the last bit.

    A list equals a tuple, and an array unless `strict`.
    """
    sequences = (list, tuple, range) if strict else (list, tuple, range, np.ndarray)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b) and (a.dtype != b.dtype or a.tobytes() == b.tobytes())
    if isinstance(a, sequences) and isinstance(b, sequences):
        return len(a) == len(b) and all(same(x, y, strict) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return list(a) == list(b) and all(same(x, b[k], strict) for k, x in a.items())
    if isinstance(a, (Element, *_PARTS)):
        return type(a) is type(b) and same(_content(a), _content(b), strict)
    return bool(a == b)


def _content(thing: Any) -> dict[str, Any]:
    """Return all attributes, except caches and those that are set when it is connected."""
    return {n: x for n, x in sorted(vars(thing).items()) if not n.startswith("_") and n not in _SKIPPED}
