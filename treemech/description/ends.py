"""Ends of connections and coordinates of hinges, found in a system by what the user gave."""

from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.elements import Constraint, Hinge
from treemech.elements.hinge import AxialHinge, axis_base
from treemech.topology import Attachment, Body, Connection, ElementError, TopologyError, as_vector, unknown
from treemech.topology.body import as_rotation

from ..results.naming import as_place, named_coordinates

if TYPE_CHECKING:
    from ..system import System


def hinge_of(system: "System", name: str) -> Hinge:
    """Return the element of a hinge by its name."""
    hinges = {n: c.element for n, c in system.connections.items() if c.is_hinge}
    if name not in hinges:
        raise TopologyError(unknown("hinge", name, hinges))
    hinge: Hinge = hinges[name]
    return hinge


def coordinate_of(
    system: "System", given: str | Connection, what: str, done: str = "coupled"
) -> tuple[str, int]:
    """Return (hinge, number) of a coordinate given as "A", "A[1]" or the hinge itself."""
    name = name_of(given)
    owner = name.rpartition(".")[0]
    if name not in system.connections and owner in system.connections:  # "pose.roll"
        name = named_coordinates(owner, system.connections[owner].element).get(name, name)
    place = as_place(name, system.connections)
    hinge_name, number = (name, None) if place.number is None else (place.owner, place.number)
    try:
        hinge = hinge_of(system, hinge_name)
    except TopologyError as error:
        raise TopologyError(f"{what}: {error}") from None
    if number is None:
        if hinge.n_coordinates > 1:
            raise ElementError(
                f"{what}: hinge {name!r} ({hinge.kind}) has {hinge.n_coordinates} coordinates; say which, "
                f"{name + '[0]'!r} for the first."
            )
        number = 0
    if number not in plain_coordinates(hinge):
        raise ElementError(f"{what}: {no_coordinate(hinge_name, hinge, number, done)}")
    return hinge_name, number


def attachment_of(system: "System", end: Body | Attachment, what: str) -> Attachment:
    """Return an end as an attachment; refuse what does not belong to the system."""
    attachment = end.at() if isinstance(end, Body) else end
    if not isinstance(attachment, Attachment):
        names = [body.name for body in system.bodies]
        if isinstance(end, str):
            said = f"{end!r} is a name." if end in names else unknown("body", end, names)
            raise TopologyError(f"{what}: {said} Pass the body itself, not its name.")
        raise TopologyError(f"{what}: {end!r} is not a body; wanted a body or body.at(offset).")
    number = attachment.body.number
    if number >= len(system.bodies) or system.bodies[number] is not attachment.body:
        raise TopologyError(
            f"{what}: body {attachment.body.name!r} does not belong to system {system.name!r}; "
            "make it with system.body()."
        )
    return attachment


def name_of(coordinate: Any) -> str:
    """Return the name of a coordinate given by its name or as the hinge itself."""
    return coordinate.name if isinstance(coordinate, Connection) else str(coordinate)


def plain_coordinates(hinge: Hinge) -> list[int]:
    """Return the coordinates whose rates are speeds: those before the Euler parameters."""
    return list(range(hinge.n_coordinates if hinge.euler_parameters is None else hinge.euler_parameters))


def no_coordinate(name: str, hinge: Hinge, coordinate: Any, what: str) -> str:
    """Return the message that a hinge has no such coordinate."""
    text = (
        f"hinge {name!r} ({hinge.kind}) has no coordinate {coordinate!r} that can be {what}; "
        f"there are {plain_coordinates(hinge) or 'none'}."
    )
    return text + (
        " Euler parameters cannot: use tm.BallBryant." if hinge.euler_parameters is not None else ""
    )


def place_in_world(what: str, element: Hinge | Constraint, end: Attachment, at: Any, axis: Any) -> Attachment:
    """Return an end placed by world coordinates at the reference pose."""
    body = end.body
    if body.pose is None:
        raise TopologyError(
            f"{what}: at= and axis= need the reference pose of body {body.name!r}: body(pose=)."
        )
    position, rotation = body.pose
    point = position + rotation @ end.offset if at is None else as_vector(at, f"{what}: at")
    world = np.eye(3)
    if axis is not None:
        world = axis_base(axis, what)
        if isinstance(element, AxialHinge):
            world = world @ element.base().T
    return body.at(rotation.T @ (point - position), as_rotation(rotation.T @ world, what))
