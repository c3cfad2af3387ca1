"""System: bodies and connections as the user writes them, and the way from there to a Mechanism."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.elements import Free, Hinge, Load, Signal, as_signal
from treemech.elements.hinge import AxialHinge, axis_base
from treemech.kinematics.lagrange import lagrange
from treemech.kinematics.layout import AppliedLoad, Prescription, make_layout
from treemech.topology import (
    Attachment,
    Body,
    Connection,
    ElementError,
    TopologyError,
    as_vector,
    build_tree,
    make_body,
    unknown,
)
from treemech.topology.body import as_rotation

from .mechanism import Mechanism


class System:
    """A multibody system: the ground, bodies, and what connects and loads them.

    Parameters
    ----------
    name : str
    gravity : vector
        Acceleration of gravity in the world [m/s2].

    Examples
    --------
    >>> import treemech as tm
    >>> system = tm.System("pendulum", gravity=(0, 0, -9.81))
    >>> bob = system.body("bob", mass=1.0, inertia=(0, 0, 0), com=(0, 0, -1.0))
    >>> pin = system.connect("pin", tm.Revolute("y"), system.ground, bob)
    >>> mech = system.build()
    >>> mech.coordinates
    ['pin']
    """

    def __init__(self, name: str = "system", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = str(name)
        self.gravity = as_vector(gravity, f"system {self.name!r}: gravity")
        self.ground = make_body("ground", 0.0, (0.0, 0.0, 0.0), pose=np.zeros(3), number=0)
        self.bodies: list[Body] = [self.ground]
        self.connections: dict[str, Connection] = {}
        self.loads: dict[str, AppliedLoad] = {}
        self.prescriptions: dict[tuple[str, int], Prescription] = {}

    def __repr__(self) -> str:
        return f"System({self.name!r}: {len(self.bodies) - 1} bodies, {len(self.connections)} connections)"

    # ------------------------------------------------------------ description
    def body(
        self,
        name: str,
        mass: Any,
        inertia: ArrayLike,
        com: ArrayLike = (0.0, 0.0, 0.0),
        shapes: Any = (),
        pose: Any = None,
    ) -> Body:
        """Add a rigid body.

        inertia about the centre of mass in body axes: 3 numbers, 6 (xx, yy, zz, xy, xz, yz) or 3x3. `pose` is
        a reference pose, a position or (position, rotation), needed only for `connect(..., at=, axis=)`.
        """
        if any(body.name == name for body in self.bodies):
            raise TopologyError(f"two bodies are named {name!r}: give every body a name of its own.")
        body = make_body(name, mass, inertia, com, shapes, pose, number=len(self.bodies))
        self.bodies.append(body)
        return body

    def connect(
        self,
        name: str,
        element: Any,
        *ends: Body | Attachment,
        at: ArrayLike | None = None,
        axis: Any = None,
        role: Any = None,
    ) -> Connection:
        """Connect bodies by an element; a hinge coordinate measures the second end relative to the first.

        With reference poses, `at` (a point) and `axis` (a direction) in world coordinates place both ends.
        """
        if name in self.connections:
            raise TopologyError(
                f"two connections are named {name!r}: {_joined(self.connections[name].ends)} and {_joined(ends)}."
            )
        if isinstance(element, type):
            raise ElementError(
                f"connection {name!r}: {element.__name__} is a class; wanted {element.__name__}(...)."
            )
        if not isinstance(element, Hinge):
            kind = type(element).__name__
            raise ElementError(
                f"connection {name!r}: {kind} is not a hinge. Subclass tm.Hinge for a joint; "
                "external forces go to system.load()."
            )
        attachments = tuple(self._attachment(end, f"connection {name!r}") for end in ends)
        if len(attachments) != 2:
            raise TopologyError(f"hinge {name!r} has {len(attachments)} ends; wanted 2: the bodies it joins.")
        if at is not None or axis is not None:
            attachments = tuple(_place(name, element, end, at, axis) for end in attachments)
        if role not in (None, "branch", "chord"):
            raise TopologyError(f"hinge {name!r}: role is {role!r}; wanted 'branch', 'chord' or None.")
        connection = Connection(
            name, element, attachments, n_coordinates=element.n_speeds, is_hinge=True, role=role
        )
        self.connections[name] = connection
        return connection

    def load(self, name: str, element: Load, end: Body | Attachment) -> AppliedLoad:
        """Apply an external force or moment to a body, at an attachment."""
        if name in self.loads:
            raise TopologyError(f"two loads are named {name!r}: give every load a name of its own.")
        if not isinstance(element, Load):
            raise ElementError(
                f"load {name!r}: {element!r} is not a load; wanted tm.Force, tm.Moment or a tm.Load."
            )
        attachment = self._attachment(end, f"load {name!r}")
        if attachment.body is self.ground:
            raise TopologyError(f"load {name!r} acts on the ground, which does not move: load a body.")
        self.loads[name] = AppliedLoad(name, element, attachment)
        return self.loads[name]

    def prescribe(
        self, name: str | Connection, motion: Signal | float | Any, coordinate: int = 0
    ) -> Prescription:
        """Give a Lagrange coordinate of a hinge as a function of time (5.4)."""
        name = name.name if isinstance(name, Connection) else name
        if name not in self.connections:
            raise TopologyError(unknown("hinge", name, self.connections))
        hinge: Any = self.connections[name].element
        plain = [
            k for k in range(hinge.n_coordinates)
            if hinge.euler_parameters is None or k < hinge.euler_parameters
        ]  # fmt: skip
        if coordinate not in plain:
            raise ElementError(
                f"hinge {name!r} ({hinge.kind}) has no coordinate {coordinate!r} that can be prescribed; "
                f"there are {plain or 'none'}"
                + (
                    ". Euler parameters cannot: use tm.BallBryant."
                    if hinge.euler_parameters is not None
                    else "."
                )
            )
        if (name, coordinate) in self.prescriptions:
            raise TopologyError(f"coordinate {coordinate} of hinge {name!r} is prescribed twice.")
        signal = as_signal(motion, f"prescribed motion of {name!r}")
        self.prescriptions[name, coordinate] = Prescription(name, coordinate, signal)
        return self.prescriptions[name, coordinate]

    # ------------------------------------------------------------ build
    def build(self, free_isolated: bool = True, *, inline: bool = True) -> Mechanism:
        """Graph, regular-numbered tree, Plan: what the analyses run on.

        Bodies nothing joins to the ground get a free hinge of their own, or an error when `free_isolated` is
        False. inline=False calls built-in hinges through the address table too (for tests).
        """
        driven = {name for name, _ in self.prescriptions}
        connections = [
            Connection(
                c.name,
                c.element,
                c.ends,
                c.n_coordinates,
                c.is_hinge,
                c.is_constraint,
                c.role,
                c.name in driven,
            )
            for c in self.connections.values()
        ]
        for connection in connections:
            if not type(connection.element).__module__.startswith("treemech."):
                from treemech.elements.check import probe  # only where somebody else's element is met

                probe(connection.element)
        tree = build_tree(self.bodies, connections, self._free_hinge if free_isolated else None)
        coordinates = lagrange(tree, connections)
        prescriptions, loads = tuple(self.prescriptions.values()), tuple(self.loads.values())
        layout = make_layout(tree, coordinates, self.gravity, prescriptions, loads, inline)
        return Mechanism(self.name, tree, coordinates, layout, prescriptions)

    def _free_hinge(self, body: Body) -> Connection:
        name = f"free {body.name}"
        while name in self.connections:
            name += "'"
        hinge = Free()
        return Connection(name, hinge, (self.ground.at(), body.at()), hinge.n_speeds, is_hinge=True)

    def _attachment(self, end: Body | Attachment, what: str) -> Attachment:
        attachment = end.at() if isinstance(end, Body) else end
        if not isinstance(attachment, Attachment):
            names = [body.name for body in self.bodies]
            if isinstance(end, str):
                raise TopologyError(
                    f"{what}: " + unknown("body", end, names) + " Pass the body itself, not its name."
                )
            raise TopologyError(f"{what}: {end!r} is not a body; wanted a body or body.at(offset).")
        number = attachment.body.number
        if number >= len(self.bodies) or self.bodies[number] is not attachment.body:
            raise TopologyError(
                f"{what}: body {attachment.body.name!r} does not belong to system {self.name!r}; "
                "make it with system.body()."
            )
        return attachment


def _joined(ends: Any) -> str:
    bodies = [getattr(end, "body", end) for end in ends]
    return "-".join(str(getattr(body, "name", body)) for body in bodies)


def _place(name: str, element: Hinge, end: Attachment, at: Any, axis: Any) -> Attachment:
    """The end of a hinge from its place in the world at the reference pose."""
    body = end.body
    if body.pose is None:
        raise TopologyError(
            f"hinge {name!r}: at= and axis= need the reference pose of body {body.name!r}: body(pose=)."
        )
    position, rotation = body.pose
    point = position + rotation @ end.offset if at is None else as_vector(at, f"hinge {name!r}: at")
    world = np.eye(3)
    if axis is not None:
        world = axis_base(axis, f"hinge {name!r}")
        if isinstance(element, AxialHinge):
            world = world @ element.base().T
    return body.at(rotation.T @ (point - position), as_rotation(rotation.T @ world, f"hinge {name!r}"))
