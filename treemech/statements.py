"""Statements: the calls that would describe a system as it stands, in an order in which they can be made."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from treemech.elements import Load
from treemech.topology import TreemechError

from .system import System


class Statement(NamedTuple):
    """A call of a method of System: its name, the name it gives, the other arguments by name ("ends": the unnamed ones)."""

    method: str
    name: str
    options: dict[str, Any]


def statements(system: System) -> Iterator[Statement]:
    """All of them; the order within each kind is that of declaration."""
    wiring = system.wiring
    for b in system.bodies[1:]:
        options = {"mass": b.mass, "inertia": b.inertia, "com": b.com, "shapes": b.shapes, "pose": b.pose}
        yield Statement("body", b.name, options)
    yield from _kinematic(system)
    for h in wiring.composites.values():
        yield Statement("connect", h.name, {"element": h.composite, "ends": tuple(h.ends.values())})
    others = {*system.connections, *system.couplings, *wiring.composites}
    for e in wiring.elements.values():
        ends = (*e.ends, *(coordinate_name(system, *c) for c in e.coordinates))
        options = {"element": e.element, "ends": ends, "inputs": e.inputs}
        if isinstance(e.element, Load) or e.name in others:  # loads may have the name of a connection
            yield Statement("load", e.name, options)
        else:
            yield Statement("connect", e.name, options | {"reaction_of": e.reaction_of})
    for p in system.prescriptions.values():
        yield Statement("prescribe", p.hinge, {"motion": p.signal, "coordinate": p.coordinate})
    for name, signal in wiring.inputs.items():
        yield Statement("input", name, {"signal": signal})
    for m in wiring.measures.values():
        yield Statement("measure", m.name, {"what": m.of if m.text is None else m.text})
    for c in wiring.controllers.values():
        yield Statement("controller", c.name, {"function": c.function})


def _kinematic(system: System) -> Iterator[Statement]:
    """Connections and couplings: a coupling when its hinges are there, those of assemblies together with them."""
    waiting = list(system.connections.values())
    done = set[str]()

    def connections(wanted: set[str]) -> Iterator[Statement]:
        while not wanted <= done:
            c = waiting.pop(0)
            done.add(c.name)
            element = system.assemblies.get(c.name, c.element)
            yield Statement("connect", c.name, {"element": element, "ends": c.ends, "role": c.role})

    of_assemblies = {f"{n}.{p.name}": n for n, a in system.assemblies.items() for p in a.parts}
    for c in system.couplings.values():
        if c.name in of_assemblies:
            yield from connections({of_assemblies[c.name]})
            continue
        yield from connections({hinge for hinge, _ in c.arguments})
        coordinates = tuple(coordinate_name(system, *a) for a in c.arguments)
        yield Statement("couple", c.name, {"element": c.element, "coordinates": coordinates})
    yield from connections({c.name for c in waiting})


def coordinate_name(system: System, hinge: str, number: int) -> str:
    """A coordinate as the user writes it: "A", "A[1]"."""
    name = hinge if system.connections[hinge].element.n_coordinates == 1 else f"{hinge}[{number}]"
    if name != hinge and name in system.connections:
        raise TreemechError(
            f"coordinate {number} of hinge {hinge!r} and the connection {name!r} have one name: rename the connection."
        )
    return name
