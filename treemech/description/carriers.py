"""Frames that carry the coordinates of a hinge in a closed chain that has no other hinge to cut.

A cut hinge has no coordinates among the Lagrange coordinates, so it cannot be prescribed, coupled or acted
on. Where it has to be, the chain is cut beside the hinge: a frame without mass is put at its end b, the hinge
joins end a to the frame, and a rigid chord closes the chain between the frame and end b. The load of that
chord is the load of the hinge.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treemech.topology import Body, Connection
from treemech.topology.body import make_body

if TYPE_CHECKING:
    from ..system import System


def carry_coordinates(
    system: "System", connections: Sequence[Connection], kept: Collection[str], cut: Collection[str]
) -> tuple[list[Body], list[Connection]]:
    """Return bodies and connections with frames for the `kept` hinges that cannot all be branches.

    These are hinges to be cut for their load, those with role="chord", and in a closed chain of hinges that
    must all be branches the one declared last.
    """
    bodies, found = list(system.bodies), []
    names = {*system.connections, *system.couplings, *(body.name for body in bodies)}
    closing = _closing(len(bodies), [c for c in connections if c.name not in cut], kept)
    for c in connections:
        if c.name not in kept:
            found.append(c)
        elif c.name not in cut and c.role != "chord" and c.name not in closing:
            found.append(replace(c, stays_branch=True))
        else:
            a, b = c.ends
            pose = None
            if b.body.pose is not None:
                position, rotation = b.body.pose
                pose = (position + rotation @ b.offset, rotation @ b.rotation)
            frame = make_body(
                _unused(f"frame of {c.name}", names), 0.0, (0, 0, 0), pose=pose, number=len(bodies)
            )
            bodies.append(frame)
            from treemech.elements import Rigid

            closure = _unused(f"closure of {c.name}", names)
            found.append(replace(c, ends=(a, frame.at()), role=None, stays_branch=True))
            found.append(
                Connection(closure, Rigid(), (frame.at(), b), is_hinge=True, role="chord", closes=c.name)
            )
    return bodies, found


def _closing(n: int, connections: Sequence[Connection], kept: Collection[str]) -> set[str]:
    """Return the kept hinges that close a chain of hinges that must be branches."""
    part = list(range(n))
    hinges = [c for c in connections if c.is_hinge and c.role != "chord"]
    branches = [c for c in hinges if c.role == "branch" and c.name not in kept]
    found = set()
    for c in [*branches, *(c for c in hinges if c.name in kept)]:
        a, b = part[c.body_a.number], part[c.body_b.number]
        if a == b and c.name in kept:
            found.add(c.name)
        part = [min(a, b) if p in (a, b) else p for p in part]
    return found


def _unused(name: str, names: set[str]) -> str:
    """Return the name, with a mark if it is in use, and note it."""
    while name in names:
        name += "'"
    names.add(name)
    return name
