"""Connection: an element and the attachments of the bodies that it joins (ch. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from .body import Attachment, Body
from .deferred import dataclass
from .errors import ElementError, TopologyError

Role = Literal["branch", "chord"]


@dataclass(frozen=True, eq=False, repr=False)
class Connection:
    """Element between attachments, in the order a, b, c, ...

    Hinges and constraints are kinematic: they join exactly two different bodies and are the edges of the
    graph. All others (energetic, active) may have any number of ends and do not occur in it (4.1).

    Attributes
    ----------
    element : object
        Not used here except for its type name in drawings.
    ends : tuple of Attachment
    n_coordinates : int
        Number of speeds of a hinge; not used for others.
    role : "branch", "chord" or None
        Role that the user gives to a hinge; None: :func:`~treemech.topology.choose_chords` decides.
    stays_branch : bool
        The hinge is prescribed or coupled, so its coordinates must be among the Lagrange coordinates.
    closes : str
        Name of the hinge whose frame, at end a, this rigid chord joins to its body, at end b.
    """

    name: str
    element: Any
    ends: tuple[Attachment, ...]
    n_coordinates: int = 0
    is_hinge: bool = False
    is_constraint: bool = False
    role: Role | None = None
    stays_branch: bool = False
    closes: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", tuple(self.ends))
        me = f"{self.kind} {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise ElementError(f"a {self.kind} is named {self.name!r}; wanted a string that is not empty.")
        if self.is_hinge and self.is_constraint:
            raise ElementError(f"connection {self.name!r} is a hinge and a constraint; wanted one of them.")
        for end in self.ends:
            if not isinstance(end, Attachment):
                raise ElementError(f"{me} has {end!r} as an end; wanted an attachment: body.at(offset).")
        if self.is_kinematic and len(self.ends) != 2:
            raise ElementError(f"{me} has {len(self.ends)} ends; wanted 2, on different bodies.")
        if len(self.ends) > 1 and all(end.body is self.ends[0].body for end in self.ends):
            raise TopologyError(f"{me} joins body {self.ends[0].body.name!r} to itself.")
        n = self.n_coordinates
        if self.is_hinge and (isinstance(n, bool) or not isinstance(n, int) or n < 0):
            raise ElementError(f"{me} has n_coordinates = {n!r}; wanted a whole number, zero or more.")
        self._check_role(me)

    def _check_role(self, me: str) -> None:
        if self.role not in (None, "branch", "chord"):
            raise ElementError(f"{me} has role={self.role!r}; wanted 'branch', 'chord' or None.")
        if self.role is not None and not self.is_kinematic:
            raise ElementError(f"{me} has role={self.role!r}; only a hinge takes a role. Leave it out.")
        if self.role == "branch" and self.is_constraint:
            raise ElementError(f"{me} has role='branch'; a constraint is always a chord. Leave role out.")
        if self.stays_branch and not self.is_hinge:
            raise ElementError(f"{me} is prescribed or coupled; only the coordinates of a hinge can be.")
        if self.stays_branch and self.role == "chord":
            raise TopologyError(
                f"{me} has role='chord', but it is prescribed or coupled, or an element acts on its coordinate, and so has to stay a "
                "branch. Leave role out, or let another hinge be cut."
            )

    @property
    def kind(self) -> str:
        """Return the word for messages: "hinge", "constraint" or "connection"."""
        return "hinge" if self.is_hinge else "constraint" if self.is_constraint else "connection"

    @property
    def is_kinematic(self) -> bool:
        """Tell whether it is an edge of the graph (4.1)."""
        return self.is_hinge or self.is_constraint

    @property
    def must_branch(self) -> bool:
        """Tell whether it must not be cut: ``role="branch"``, prescribed or coupled."""
        return self.is_hinge and (self.role == "branch" or self.stays_branch)

    @property
    def body_a(self) -> Body:
        """Return the body of the first end."""
        return self._end(0).body

    @property
    def body_b(self) -> Body:
        """Return the body of the second end."""
        return self._end(1).body

    def _end(self, index: int) -> Attachment:
        if index >= len(self.ends):
            raise ElementError(
                f"{self.kind} {self.name!r} has {len(self.ends)} ends, so none called {'ab'[index]}."
            )
        return self.ends[index]

    def __repr__(self) -> str:
        joined = "-".join(end.body.name for end in self.ends)
        return f"Connection({self.name!r}, {type(self.element).__name__}, {joined})"


def check_model(bodies: Sequence[Body], connections: Sequence[Connection]) -> None:
    """Refuse names used twice, bodies out of order and ends on bodies that are not in the list."""
    if not bodies:
        raise TopologyError("there are no bodies; wanted at least the ground, as number 0.")
    names: set[str] = set()
    for i, body in enumerate(bodies):
        if body.number != i:
            raise TopologyError(
                f"body {body.name!r} has number {body.number}; wanted {i}, its place in the list."
            )
        if body.name in names:
            raise TopologyError(f"two bodies are named {body.name!r}. Rename one of them.")
        names.add(body.name)
    named: dict[str, Connection] = {}
    for connection in connections:
        for end in connection.ends:
            if end.body.number >= len(bodies) or bodies[end.body.number] is not end.body:
                raise TopologyError(
                    f"{connection.kind} {connection.name!r} ends on body {end.body.name!r}, which is "
                    "not one of this system. Use the body that this system made."
                )
        other = named.setdefault(connection.name, connection)
        if other is not connection:
            raise TopologyError(
                f"two connections are named {connection.name!r}: {_joined(other)} and {_joined(connection)}."
            )


def _joined(connection: Connection) -> str:
    return "-".join(end.body.name for end in connection.ends) or "without ends"
