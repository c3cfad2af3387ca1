"""Systems as files: JSON with the names the user gave; nothing is executed on reading, writing is atomic.

The text is an object with a schema, the name, gravity, and under "model" a list of statements, each the call
of a method of System: {"body": name, "mass": ...}, {"connect": name, "element": {...}, "ends": [...]}, ...
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from treemech.elements import Constraint, Coupling, Energetic, Hinge, Load, RotorInertia, Signal
from treemech.kinematics.layout.efforts import InnerPoint
from treemech.topology import Attachment, Body, Connection, Parameter, TreemechError, unknown
from treemech.topology.declared import Property

from .. import __version__
from ..description.composite import Composite, Place
from ..system import System
from .atomic import atomic, with_suffix
from .elements import element_data, element_from, place_data, value_data, value_from
from .located import Located, layout, parse, shown
from .solids import common_solid, solid_data, solid_from
from .statements import Statement, statements

_SCHEMA, _VERSION = "treemech-model-", 1
# What a statement needs, and what it may have
_METHODS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "body": ((), ("solid", "mass", "inertia", "com", "shapes", "pose")),
    "connect": (("ends",), ("element", "composite", "at", "axis", "role", "inputs", "reaction_of")),
    "couple": (("element", "coordinates"), ()),
    "load": (("element", "ends"), ("inputs",)),
    "prescribe": (("motion",), ("coordinate",)),
    "prescribe_pose": (("end",), ("relative_to", "x", "y", "z", "rotation")),
    "input": ((), ("signal",)),
    "measure": (("what",), ()),
    "frame": (("end",), ()),
    "limit": ((), ("lower", "upper", "effort", "velocity", "coordinate")),
}


def save_system(system: System, path: str | Path) -> Path:
    """Write a system; the file appears whole or not at all."""
    target = with_suffix(path, ".json", "system.save")
    data = {
        "schema": f"{_SCHEMA}{_VERSION}",
        "name": system.name,
        "gravity": value_data(system.declared_gravity, "gravity"),
        "parameters": {name: p.value for name, p in sorted(system.parameters.items())},
        "model": [statement_data(s) for s in statements(system)],
    }
    text = layout({key: x for key, x in data.items() if x or key != "parameters"}) + "\n"
    with atomic(target) as stream:
        stream.write(text.encode())
    return target


def read_system(text: str, file: str) -> System:
    """Make the system that a text describes; `file` names it in messages."""
    root = parse(text, file).object()
    schema = root.get("schema")
    if not isinstance(schema, str) or not schema.startswith(_SCHEMA):
        root.fail(f"is no treemech model: its schema is {schema!r}; wanted '{_SCHEMA}{_VERSION}'.")
    number = schema.removeprefix(_SCHEMA)
    if number != str(_VERSION):
        newer = number.isdecimal() and int(number) > _VERSION
        root["schema"].fail(
            f"is {schema!r}; treemech {__version__} reads '{_SCHEMA}{_VERSION}'."
            + (" A newer treemech wrote the file: install that." if newer else "")
        )
    root.object(("schema", "name", "gravity", "model"), ("parameters",))
    root = replace(root, parameters={n: _parameter(n, x) for n, x in root.entries("parameters").items()})
    with root["gravity"].blamed():
        system = System(root["name"].text(), value_from(root["gravity"]))
    reader = _Reader(system)
    for located in root.each("model"):
        reader.state(located)
    return system


# ---------------------------------------------------------------- to data
def statement_data(s: Statement) -> dict[str, Any]:
    """Return a statement as plain data; refuse values that a file cannot hold."""
    what = f"{s.method} {s.name!r}"
    if s.method == "controller":
        raise TreemechError(
            f"controller {s.name!r} is a function and cannot be written: add it after reading, or use tm.Pid in its place."
        )
    if s.method == "measure" and callable(s.options["what"]):
        raise TreemechError(
            f"measure {s.name!r} is a function and cannot be written: write it as a text like 'A.q[0]', or add it after "
            "reading."
        )
    data: dict[str, Any] = {s.method: s.name}
    options = dict(s.options)
    if s.method == "body" and (solid := common_solid(options)) is not None:
        data["solid"] = solid_data(solid, f"{what}: solid")
        options = {key: x for key, x in options.items() if not isinstance(x, Property)}
    for key, value in options.items():
        if isinstance(value, Composite):
            data["composite"] = _composite_data(value, s.name)
        elif key == "element":
            data[key] = element_data(value, what)
        elif key == "ends":
            data[key] = [_end_data(end) for end in value]
        elif key in ("end", "relative_to"):
            data[key] = None if value is None else _end_data(value)
        elif key == "coordinates":
            data[key] = [getattr(c, "name", c) for c in value]
        elif key == "reaction_of":
            data[key] = getattr(value, "name", value)
        elif isinstance(value, Mapping):
            data[key] = {n: value_data(x, f"{what}: {key} {n!r}") for n, x in value.items()}
        else:
            data[key] = value_data(value, f"{what}: {key}")
    return {key: x for key, x in data.items() if x not in (None, [], {}) or key in ("ends", "coordinates")}


def _end_data(end: Any) -> Any:
    """Return an end as data: a body, a body with a place, a hinge, a coordinate, a point of a composite."""
    if isinstance(end, (Body, Connection)):
        return end.name if isinstance(end, Body) else {"hinge": end.name}
    if isinstance(end, InnerPoint):
        return {"point": end.name, "of": end.composite}
    if isinstance(end, str):
        return {"coordinate": end}
    if end.declared is None:
        return {"body": end.body.name} | place_data(end.offset, end.rotation)
    start, offset, rotation = end.declared.args
    first = {"body": start.name} if isinstance(start, Body) else {"at": _end_data(start)}
    return first | _place_data(offset, rotation, end.body.name)


def _place_data(offset: Any, rotation: Any, name: str) -> dict[str, Any]:
    """Return offset and rotation as they were given, with parameters."""
    data = {"offset": value_data(offset, f"offset at {name!r}")}
    return data | ({} if rotation is None else {"rotation": value_data(rotation, f"rotation at {name!r}")})


def _composite_data(composite: Composite, name: str) -> dict[str, Any]:
    made = signature(Composite).bind(*composite._made_with).arguments
    data = {key: value_data(x, f"composite {name!r}: {key}") for key, x in made.items()}
    data |= {"parts": [_part_data(part, name) for part in statements(composite)]}
    return {key: x for key, x in data.items() if x}


def _part_data(part: Statement, composite: str) -> dict[str, Any]:
    what = f"element '{composite}.{part.name}'"
    data: dict[str, Any] = {"connect": part.name, "element": element_data(part.options["element"], what)}
    data["ends"] = [
        {"frame": e.name} | _place_data(e.offset, e.rotation, e.name) if isinstance(e, Place) else e
        for e in part.options["ends"]
    ]
    inputs = part.options.get("inputs") or {}
    inputs = {n: value_data(x, f"{what}: input {n!r}") for n, x in inputs.items()}
    return data | ({"inputs": inputs} if inputs else {})


# ---------------------------------------------------------------- from data
class _Reader:
    """Makes the statements of a file on a system."""

    def __init__(self, system: System) -> None:
        self.system = system

    def state(self, located: Located) -> None:
        """Carry out one statement."""
        methods = [m for m in _METHODS if m in located.object()]
        if len(methods) != 1:
            located.fail(
                f"wanted one of {', '.join(_METHODS)} with a name; there are {', '.join(methods)}."
                if methods
                else unknown("statement", next(iter(located.value), ""), _METHODS)
            )
        method = methods[0]
        needed, known = _METHODS[method]
        located.object((method, *needed), known)
        name = located[method].text()
        ends: list[Any] = []
        options: dict[str, Any] = {}
        if "solid" in located:
            options = dict(solid_from(located["solid"]).properties)
        for key in (k for k in located.value if k not in (method, "solid")):
            value = self._argument(method, key, located[key])
            if key in ("ends", "coordinates"):
                ends = value
            else:
                options["element" if key == "composite" else key] = value
        for missing in (k for k in ("mass", "inertia") if method == "body" and k not in options):
            located.fail(f"the field {missing!r} is missing.")
        with located.blamed():
            if method in ("connect", "load", "couple"):
                if "element" not in options:
                    located.fail("the field 'element' is missing.")
                getattr(self.system, method)(name, options.pop("element"), *ends, **options)
            else:
                getattr(self.system, method)(name, **options)

    def _argument(self, method: str, key: str, located: Located) -> Any:
        """Return an argument by its name."""
        connected = (Hinge, Constraint, Energetic, RotorInertia)
        roles = {"couple": (Coupling,), "load": (Load, Energetic)}.get(method, connected)
        readers: dict[str, Callable[[], Any]] = {
            "element": lambda: element_from(located, *roles),
            "composite": lambda: self._composite(located),
            "ends": lambda: [self._end(end) for end in located.each()],
            "end": lambda: self._end(located),
            "relative_to": lambda: self._end(located),
            "coordinates": lambda: [c.text() for c in located.each()],
            "inputs": lambda: {n: _input(x) for n, x in located.entries().items()},
            "coordinate": located.whole,
            "shapes": lambda: [s.object().value for s in located.each()],
            "role": located.text,
            "reaction_of": located.text,
            "what": located.text,
        }
        return readers[key]() if key in readers else value_from(located)

    def _composite(self, located: Located) -> Composite:
        located.object(("parts",), ("ends", "points", "viscous", "start", "frames"))
        with located.blamed():
            composite = Composite(
                [e.text() for e in located.each("ends")] if "ends" in located else ("a", "b"),
                {n: x.whole() for n, x in located.entries("points").items()},
                [e.text() for e in located.each("viscous")],
                {n: value_from(x) for n, x in located.entries("start").items()},
                [e.text() for e in located.each("frames")],
            )
        for part in located.each("parts"):
            part.object(("connect", "element", "ends"), ("inputs",))
            element = element_from(part["element"], Hinge, Constraint, Energetic, Load)
            inputs = {n: _input(x) for n, x in part.entries("inputs").items()}
            with part.blamed():
                ends = [self._place(composite, end) for end in part.each("ends")]
                composite.connect(part["connect"].text(), element, *ends, inputs=inputs)
        return composite

    def _place(self, composite: Composite, located: Located) -> str | Place:
        if isinstance(located.value, str):
            return located.value
        located.object(("frame",), ("offset", "rotation"))
        with located.blamed():
            return composite.at(located["frame"].text(), **_placed(located))

    def _end(self, located: Located) -> Body | Attachment | InnerPoint | Connection | str:
        if isinstance(located.value, str):
            return self._body(located)
        located.object()
        if "coordinate" in located:
            return located.object(("coordinate",), ())["coordinate"].text()
        if "hinge" in located:
            located.object(("hinge",), ())
            if located["hinge"].text() not in self.system.connections:
                located["hinge"].fail(unknown("hinge", located["hinge"].value, self.system.connections))
            return self.system.connections[located["hinge"].value]
        if "point" in located:
            located.object(("point", "of"), ())
            composites = self.system.wiring.composites
            if located["of"].text() not in composites:
                located["of"].fail(unknown("composite", located["of"].value, composites))
            with located["point"].blamed():
                return composites[located["of"].value].point(located["point"].text())
        located.object(("at",) if "at" in located else ("body",), ("offset", "rotation"))
        start: Any = self._end(located["at"]) if "at" in located else self._body(located["body"])
        with located.blamed():
            return start.at(**_placed(located))  # type: ignore[no-any-return]

    def _body(self, located: Located) -> Body:
        for body in self.system.bodies:
            if body.name == located.text():
                return body
        located.fail(unknown("body", located.value, [body.name for body in self.system.bodies]))


def _placed(located: Located) -> dict[str, Any]:
    return {key: value_from(located[key]) for key in ("offset", "rotation") if key in located}


def _parameter(name: str, located: Located) -> Parameter:
    with located.blamed():
        return Parameter(name, located.value)


def _input(located: Located) -> Any:
    """Return an input: a number, a signal, the name of an input or of a coordinate."""
    if isinstance(located.value, dict):
        return element_from(located, Signal) if "kind" in located else value_from(located)
    if isinstance(located.value, bool) or not isinstance(located.value, (int, float, str)):
        located.fail(f"is {shown(located.value)}; wanted a number, a signal or a name.")
    return located.value
