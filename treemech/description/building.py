"""Description of a system as a tree: branches, chords, free hinges and elements with all names resolved."""

from functools import partial
from typing import TYPE_CHECKING

from treemech.elements import Free
from treemech.kinematics.layout.lagrange import lagrange
from treemech.kinematics.layout.layout import Description
from treemech.topology import Body, Connection, TopologyError, build_tree

if TYPE_CHECKING:
    from ..system import System


def describe(system: "System", free_isolated: bool, probed: bool) -> Description:
    """Return bodies, connections and elements in a tree. With `probed`, elements of users are examined first."""
    coupled = [a for c in system.couplings.values() for a in c.arguments]
    kept = {name for name, _ in (*system.prescriptions, *coupled)} | system.wiring.acted()
    cut = system.wiring.reactions()
    for name in sorted(kept & cut):
        raise TopologyError(
            f"hinge {name!r} is to be cut, as an element depends on its load, but is prescribed, coupled or acted on, "
            "which keeps it a branch: use another hinge for one of them."
        )
    connections = [
        Connection(
            c.name,
            c.element,
            c.ends,
            c.n_coordinates,
            c.is_hinge,
            c.is_constraint,
            "chord" if c.name in cut else c.role,
            c.name in kept,
        )
        for c in system.connections.values()
    ]
    connections += _freed(system, connections, cut)
    applied, composites = system.wiring.build(system)
    parts = [a.element for a in (*applied, *(part for c in composites for part in c.parts))]
    elements = [c.element for c in connections] + [c.element for c in system.couplings.values()] + parts
    for element in elements:
        if probed and not type(element).__module__.startswith("treemech."):
            from treemech.elements.check.checks import probe  # loaded for users' elements only

            probe(element)
    tree = build_tree(system.bodies, connections, partial(_free_hinge, system) if free_isolated else None)
    return Description(
        tree,
        lagrange(tree, connections),
        system.gravity,
        tuple(system.prescriptions.values()),
        applied,
        tuple(system.couplings.values()),
        composites,
        system.wiring.held(),
    )


def _freed(system: "System", connections: list[Connection], cut: set[str]) -> list[Connection]:
    """Return free hinges for parts that are joined to the rest only by hinges that are cut for their loads."""
    if not cut:
        return []
    part = list(range(len(system.bodies)))  # for every body the smallest number of a body joined to it
    kept = [(c.body_a.number, c.body_b.number) for c in connections if c.is_hinge and c.name not in cut]
    for _ in system.bodies:
        for a, b in kept:
            part[a] = part[b] = min(part[a], part[b])
    lost = {part[e.body.number]: e.body for c in connections if c.name in cut for e in c.ends}
    return [_free_hinge(system, body) for number, body in lost.items() if number]


def _free_hinge(system: "System", body: Body) -> Connection:
    """Return a free hinge of a body, with a name of its own."""
    name = f"free {body.name}"
    while name in system.connections or name in system.couplings:
        name += "'"
    hinge = Free()
    return Connection(name, hinge, (system.ground.at(), body.at()), hinge.n_speeds, is_hinge=True)
