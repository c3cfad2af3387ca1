"""Description of a system as a tree: branches, chords, free hinges and elements with all names resolved."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from treemech.kinematics.layout.lagrange import lagrange
from treemech.kinematics.layout.layout import Description
from treemech.topology import Body, Connection, build_tree
from treemech.topology.chord import connected_parts

from .carriers import carry_coordinates

if TYPE_CHECKING:
    from ..system import System


def describe(system: "System", free_isolated: bool, probed: bool) -> Description:
    """Return bodies, connections and elements in a tree. With `probed`, elements of users are examined first."""
    coupled = [a for c in system.couplings.values() for a in c.arguments]
    kept = {name for name, _ in (*system.prescriptions, *coupled)} | system.wiring.acted()
    loads = {name for name in system.wiring.reactions() if system.connections[name].is_hinge}
    bodies, connections = carry_coordinates(system, list(system.connections.values()), kept, loads)
    cut = {c.name for c in connections if (c.closes or c.name) in loads and c.name not in kept}
    connections = [replace(c, role="chord") if c.name in cut else c for c in connections]
    connections += _freed(system, bodies, connections, cut)
    applied, composites = system.wiring.build(system)
    parts = [a.element for a in (*applied, *(part for c in composites for part in c.parts))]
    elements = [c.element for c in connections] + [c.element for c in system.couplings.values()] + parts
    for element in elements:
        if probed and not type(element).__module__.startswith("treemech."):
            from treemech.elements.check.checks import probe  # loaded for users' elements only

            probe(element)
    tree = build_tree(bodies, connections, partial(_free_hinge, system) if free_isolated else None)
    return Description(
        tree,
        lagrange(tree, connections),
        system.gravity,
        tuple(system.prescriptions.values()),
        applied,
        tuple(system.couplings.values()),
        composites,
        system.wiring.held(),
        system.wiring.rotors(),
    )


def _freed(
    system: "System", bodies: list[Body], connections: list[Connection], cut: set[str]
) -> list[Connection]:
    """Return free hinges for parts that hinges cut for their loads, perhaps with others by role, cut off."""
    if not cut:
        return []
    kept = [(c.body_a.number, c.body_b.number) for c in connections if c.is_hinge and c.role != "chord"]
    ends = [e.body.number for c in connections if c.name in cut for e in c.ends]
    found = []
    for part in connected_parts(len(bodies), kept)[1:]:
        joined = [i for i in ends if i in part]
        bare = len(system.bodies)  # frames come behind the bodies of the system
        found += (
            [_free_hinge(system, bodies[[part[0], *(i for i in joined if i < bare)][-1]])] if joined else []
        )
    return found


def _free_hinge(system: "System", body: Body) -> Connection:
    """Return a free hinge of a body, with a name of its own."""
    from treemech.elements import Free  # which most models load no file for

    name = f"free {body.name}"
    while name in system.connections or name in system.couplings:
        name += "'"
    hinge = Free()
    return Connection(name, hinge, (system.ground.at(), body.at()), hinge.n_speeds, is_hinge=True)
