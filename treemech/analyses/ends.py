"""Ends by name: where a point of a body is, how it moves, and how the speeds move it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treemech.topology import Attachment, Body, TopologyError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.body import UNTURNED

from ..results.computed import Pose, Velocity
from ..results.state import State
from .states import as_rows

if TYPE_CHECKING:
    from ..mechanism import Mechanism

End = Body | Attachment | str


def place_of(mech: Mechanism, end: Any, what: str) -> tuple[int, Floats]:
    """Return the number of the body of an end, and the place of the end in the core's base of this body.

    `what` is the call that asks, for messages.
    """
    numbers, frames = mech.tree.numbers, mech._wiring.frames
    if isinstance(end, str):
        if end not in frames and end not in numbers:
            kind = "frame or body" if frames else "body"
            raise TopologyError(f"{what}: {unknown(kind, end, [*frames, *numbers])}")
        end = frames.get(end, end)
    name = end if isinstance(end, str) else end.name if isinstance(end, Body) else None
    if isinstance(end, Attachment):
        name = end.body.name
    if name is None:
        raise TopologyError(
            f"{what}: {end!r} is neither a body nor an attachment, body.at(...), nor the name of a frame or a body."
        )
    if name not in numbers:
        raise TopologyError(f"{what}: {unknown('body', name, numbers)}")
    number = int(numbers[name])
    place = mech._core.layout.plan.frames[number].copy()
    if isinstance(end, Attachment):
        rotation = place[:9].reshape(3, 3)
        place[9:] += rotation @ end.offset
        if end.rotation is not UNTURNED:
            rotation[:] = rotation @ end.rotation
    return number, place


def pose(mech: Mechanism, state: State | tuple[Any, ...], end: End) -> Pose:
    """Return position and rotation of an end, see `Mechanism.pose`."""
    found = mech._core.end("pose", *as_rows(mech, state, "pose"), *place_of(mech, end, "pose"))[0]
    return Pose(found)


def velocity(mech: Mechanism, state: State | tuple[Any, ...], end: End) -> Velocity:
    """Return velocity and angular velocity of an end, see `Mechanism.velocity`."""
    found = mech._core.end("velocity", *as_rows(mech, state, "velocity"), *place_of(mech, end, "velocity"))[0]
    return Velocity(found)


def jacobian(mech: Mechanism, state: State | tuple[Any, ...], end: End) -> Floats:
    """Return the velocities of an end per unit speed, see `Mechanism.jacobian`."""
    found = mech._core.end(
        "end_jacobian", *as_rows(mech, state, "jacobian"), *place_of(mech, end, "jacobian")
    )
    J: Floats = found[0].reshape(6, mech.nu)
    return J
