"""Systems as files: JSON with the names the user gave; nothing is executed on reading, writing is atomic.

The text is an object with a schema, the name, gravity, and lists of bodies, connections, couplings, composites,
elements (energetic, active, loads) and prescribed coordinates, in the order of declaration; inputs and measures by name.
"""

from pathlib import Path
from typing import Any

import numpy as np

from treemech import __version__
from treemech.elements import Constraint, Coupling, Energetic, Hinge, Load
from treemech.kinematics.effort_plan import InnerPoint
from treemech.topology import Attachment, Body, TreemechError, unknown

from .assembly_reduction import Place
from .atomic import atomic, with_suffix
from .composite import Composite, Part
from .element_files import element_data, element_from, place_data, place_from, signal_from, value_data
from .spots import Spot, layout, parse
from .system import System

_SCHEMA, _VERSION = "treemech-model-", 1
_LISTS = ("bodies", "connections", "couplings", "composites", "elements", "prescribed")


def save_system(system: System, path: str | Path) -> Path:
    """Write a system; the file appears whole or not at all."""
    target = with_suffix(path, ".json")
    text = layout(system_data(system)) + "\n"
    with atomic(target) as stream:
        stream.write(text.encode())
    return target


def read_system(text: str, file: str) -> System:
    """The system a text describes; `file` names it in messages."""
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
    return _Reader(root).system


# ---------------------------------------------------------------- to data
def system_data(system: System) -> dict[str, Any]:
    """A system as plain data; refuse what a file cannot hold."""
    wiring = system.wiring
    for name in wiring.controllers:
        raise TreemechError(
            f"controller {name!r} of system {system.name!r} is a function and cannot be written: add it after reading, or use "
            "tm.Pid in its place."
        )
    of_assemblies = {f"{n}.{p.name}": n for n, c in system.assemblies.items() for p in c.parts}
    data: dict[str, Any] = {
        "schema": f"{_SCHEMA}{_VERSION}",
        "name": system.name,
        "gravity": system.gravity.tolist(),
        "bodies": [_body_data(body) for body in system.bodies[1:]],
        "connections": [_connection_data(system, name) for name in system.connections],
        "couplings": [
            {"name": n, "of": of_assemblies[n]}
            if n in of_assemblies
            else {
                "name": n,
                "element": element_data(c.element, f"coupling {n!r}"),
                "coordinates": [_coordinate_data(system, *a) for a in c.arguments],
            }
            for n, c in system.couplings.items()
        ],
        "composites": [
            {
                "name": h.name,
                "composite": _composite_data(h.composite, h.name),
                "ends": _ends(h.ends.values()),
            }
            for h in wiring.composites.values()
        ],
        "elements": [_element_data(system, e) for e in wiring.elements.values()],
        "prescribed": [
            {
                "coordinate": _coordinate_data(system, p.hinge, p.coordinate),
                "motion": value_data(p.signal, f"the prescribed motion of {p.hinge!r}"),
            }
            for p in system.prescriptions.values()
        ],
        "inputs": {n: value_data(s, f"input {n!r}") for n, s in wiring.inputs.items()},
        "measures": {n: _measure_data(m) for n, m in wiring.measures.items()},
    }
    return {key: x for key, x in data.items() if x or key in ("name", "gravity")}


def _body_data(body: Body) -> dict[str, Any]:
    J = body.inertia
    diagonal = J.tobytes() == np.diag(J.diagonal()).tobytes()
    inertia = J.diagonal() if diagonal else J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    data = {"name": body.name, "mass": body.mass, "inertia": inertia.tolist(), "com": body.com.tolist()}
    if body.pose is not None:
        data["pose"] = {"position": body.pose[0].tolist(), "rotation": body.pose[1].tolist()}
    if body.shapes:
        data["shapes"] = value_data(body.shapes, f"shapes of body {body.name!r}")
    return data


def _connection_data(system: System, name: str) -> dict[str, Any]:
    c = system.connections[name]
    data: dict[str, Any] = {"name": name}
    if name in system.assemblies:
        data["composite"] = _composite_data(system.assemblies[name], name)
    else:
        data["element"] = element_data(c.element, f"{c.kind} {name!r}")
    data["ends"] = _ends(c.ends)
    return data | ({"role": c.role} if c.role is not None else {})


def _element_data(system: System, e: Any) -> dict[str, Any]:
    what = f"element {e.name!r}"
    data = {"name": e.name, "element": element_data(e.element, what), "ends": _ends(e.ends)}
    if e.coordinates:
        data["coordinates"] = [_coordinate_data(system, *c) for c in e.coordinates]
    if e.inputs:
        data["inputs"] = {n: value_data(x, f"input {n!r} of {what}") for n, x in e.inputs.items()}
    return data | ({"reaction_of": e.reaction_of} if e.reaction_of is not None else {})


def _composite_data(composite: Composite, name: str) -> dict[str, Any]:
    data: dict[str, Any] = {"between": list(composite.ends), "points": composite.points}
    data |= {"viscous": list(composite.viscous), "frames": list(composite.frames)}
    data |= {"start": {n: x.tolist() for n, x in composite.start.items()}}
    data["parts"] = [_part_data(part, f"element '{name}.{part.name}'") for part in composite.parts]
    return {key: x for key, x in data.items() if x}


def _part_data(part: Part, what: str) -> dict[str, Any]:
    data = {"name": part.name, "element": element_data(part.element, what)}
    data["ends"] = [_end("frame", p.name, p.offset, p.rotation) for p in part.places] or list(part.ends)
    if part.inputs:
        data["inputs"] = {n: value_data(x, f"input {n!r} of {what}") for n, x in part.inputs.items()}
    return data


def _ends(ends: Any) -> list[Any]:
    return [
        {"point": e.name, "of": e.composite}
        if isinstance(e, InnerPoint)
        else _end("body", e.body.name, e.offset, e.rotation)
        for e in ends
    ]


def _end(key: str, name: str, offset: Any, rotation: Any) -> Any:
    """An end: the name alone where it is the origin."""
    place = place_data(offset, rotation)
    return {key: name} | place if place else name


def _coordinate_data(system: System, hinge: str, number: int) -> str:
    """A coordinate as the user writes it: "A", "A[1]"."""
    name = hinge if system.connections[hinge].element.n_coordinates == 1 else f"{hinge}[{number}]"
    if name != hinge and name in system.connections:
        raise TreemechError(
            f"coordinate {number} of hinge {hinge!r} has the name of a connection, {name!r}: rename it."
        )
    return name


def _measure_data(measure: Any) -> str:
    if measure.text is None:
        raise TreemechError(
            f"measure {measure.name!r} is a function and cannot be written: write it as a text like 'A.q[0]', or add it after "
            "reading."
        )
    text: str = measure.text
    return text


# ---------------------------------------------------------------- from data
class _Reader:
    """Makes a system from the spots of a file, in the order in which things need each other."""

    def __init__(self, root: Spot) -> None:
        root.object(("schema", "name", "gravity"), (*_LISTS, "inputs", "measures"))
        with root["gravity"].blamed():
            self.system = System(root["name"].text(), root["gravity"].value)
        self.bodies = {"ground": self.system.ground}
        for name in _LISTS:
            for spot in root.spots(name):
                getattr(self, f"_{name}")(spot)
        self._order_couplings(root.spots("couplings"))
        for name, spot in root.named("inputs").items():
            with spot.blamed():
                self.system.input(name, self._number_or_signal(spot))
        for name, spot in root.named("measures").items():
            with spot.blamed():
                self.system.measure(name, spot.text())

    def _bodies(self, spot: Spot) -> None:
        spot.object(("name", "mass", "inertia"), ("com", "pose", "shapes"))
        given = {key: x for key, x in spot.value.items() if key in ("mass", "inertia", "com", "shapes")}
        if "pose" in spot:
            pose = spot["pose"].object(("position",), ("rotation",))
            given["pose"] = (pose.get("position"), pose.get("rotation"))
        if "shapes" in spot:
            spot.spots("shapes")
        with spot.blamed():
            body = self.system.body(spot["name"].text(), **given)
        self.bodies[body.name] = body

    def _connections(self, spot: Spot) -> None:
        spot.object(("name", "ends"), ("element", "composite", "role"))
        if ("element" in spot) == ("composite" in spot):
            spot.fail("wanted one of the fields 'element' and 'composite'.")
        element: Any
        if "element" in spot:
            element = element_from(spot["element"], Hinge, Constraint)
        else:
            element = self._composite(spot["composite"])
            if not element.is_assembly:
                spot["composite"].fail("has no hinges or constraints; wanted among 'composites'.")
        with spot.blamed():
            self.system.connect(spot["name"].text(), element, *self._ends(spot), role=spot.get("role"))

    def _couplings(self, spot: Spot) -> None:
        spot.object(("name",), ("element", "coordinates", "of"))
        name = spot["name"].text()
        if "of" in spot:
            if name not in self.system.couplings:
                spot["of"].fail(f"the composite {spot.get('of')!r} has no constraint that makes {name!r}.")
            return
        spot.object(("name", "element", "coordinates"))
        element = element_from(spot["element"], Coupling)
        with spot.blamed():
            self.system.couple(name, element, *(c.text() for c in spot.spots("coordinates")))

    def _order_couplings(self, spots: list[Spot]) -> None:
        """As they were declared: those of assemblies were made before all others."""
        couplings = self.system.couplings
        for name in [spot.get("name") for spot in spots]:
            couplings[name] = couplings.pop(name)

    def _composites(self, spot: Spot) -> None:
        spot.object(("name", "composite", "ends"), ())
        composite = self._composite(spot["composite"])
        if composite.is_assembly:
            spot["composite"].fail("has hinges or constraints; wanted among 'connections'.")
        with spot.blamed():
            self.system.connect(spot["name"].text(), composite, *self._ends(spot))

    def _elements(self, spot: Spot) -> None:
        spot.object(("name", "element", "ends"), ("coordinates", "inputs", "reaction_of"))
        name, element = spot["name"].text(), element_from(spot["element"], Energetic, Load)
        ends = [*self._ends(spot), *(c.text() for c in spot.spots("coordinates"))]
        inputs = {n: signal_from(x) for n, x in spot.named("inputs").items()}
        if name in self.system.wiring.elements:
            spot["name"].fail(f"two elements are named {name!r}.")
        with spot.blamed():
            self.system.wiring.connect(self.system, name, element, ends, inputs, spot.get("reaction_of"))

    def _prescribed(self, spot: Spot) -> None:
        spot.object(("coordinate", "motion"), ())
        with spot.blamed():
            hinge, number = self.system._coordinate(spot["coordinate"].text(), "prescribed motion")
            self.system.prescribe(hinge, self._number_or_signal(spot["motion"]), number)

    def _composite(self, spot: Spot) -> Composite:
        spot.object(("between", "parts"), ("points", "viscous", "start", "frames"))
        with spot.blamed():
            composite = Composite(
                [e.text() for e in spot.spots("between")],
                {n: x.whole() for n, x in spot.named("points").items()},
                [e.text() for e in spot.spots("viscous")],
                spot.get("start"),
                [e.text() for e in spot.spots("frames")],
            )
        for part in spot.spots("parts"):
            part.object(("name", "element", "ends"), ("inputs",))
            element = element_from(part["element"], Hinge, Constraint, Energetic, Load)
            inputs = {n: signal_from(x) for n, x in part.named("inputs").items()}
            with part.blamed():
                ends = [self._place(end) for end in part.spots("ends")]
                composite.connect(part["name"].text(), element, *ends, inputs=inputs)
        return composite

    def _place(self, spot: Spot) -> str | Place:
        if isinstance(spot.value, str):
            return spot.value
        spot.object(("frame",), ("offset", "rotation"))
        return Place(spot["frame"].text(), *place_from(spot))

    def _ends(self, spot: Spot) -> list[Any]:
        return [self._end(end) for end in spot.spots("ends")]

    def _end(self, spot: Spot) -> Body | Attachment | InnerPoint:
        if isinstance(spot.value, str):
            return self._body(spot)
        if "point" in spot.object():
            spot.object(("point", "of"), ())
            composites = self.system.wiring.composites
            if spot["of"].text() not in composites:
                spot["of"].fail(unknown("composite", spot["of"].value, composites))
            with spot["point"].blamed():
                return composites[spot["of"].value].point(spot["point"].text())
        spot.object(("body",), ("offset", "rotation"))
        return self._body(spot["body"]).at(*place_from(spot))

    def _body(self, spot: Spot) -> Body:
        if spot.text() not in self.bodies:
            spot.fail(unknown("body", spot.value, self.bodies))
        return self.bodies[spot.value]

    def _number_or_signal(self, spot: Spot) -> Any:
        if isinstance(spot.value, str):
            spot.fail(f"is {spot.value!r}; wanted a number or a signal.")
        return signal_from(spot)
