"""The connections of a System as constraint rows between pairs of bodies: which vectors and points they join.

Elementary constraints of Nikravesh, Table 11.1 (corrected), and of Haug, section 9.4. With a fixed in body i, b in body j,
d from the point of i to the point of j, e fixed in the world::

    POINT   e . d          one component of a coincidence ("s")
    N1      a . b          perpendicular vectors (normal type 1)
    N2      a . d - f(t)   a vector perpendicular to the line between points (normal type 2), or a slider's driver
    LENGTH  (d . d - l^2) / 2 l0    a distance ("s-s")
    ANGLE   angle about a - f(t)    a revolute's driver
    SCREW   a . d - p angle         advance with the turn
    EDGE    b . d' = 0              the knife edge, nonholonomic
    N2B     b . d          N2 along a vector of the other body
    TRIPLE  (a x b) . d - f(t)      distance between two lines at right angles
    TURN    angle of b seen along a - f(t)

Haug's elementary constraints, composite joints (9.4) and drivers (9.5) are made of them. All other constraints and hinges
(cams, curves, surfaces, rolling; also those of users) give ELEMENT rows, couplings JOINED rows: there the element itself is
evaluated (`element_rows`). A FITTED row is a hinge coordinate that none of the rows above is, less f(t). What has no rows at all
raises `Inexpressible` by name.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import treemech as tm
from treemech.topology.arrays import Floats

from ..formulation import Inexpressible, signals_of

POINT, N1, N2, LENGTH, ANGLE, SCREW, EDGE, N2B, TRIPLE, TURN = range(10)
ELEMENT, JOINED, FITTED = 10, 11, 12
_X, _Y, _Z = range(3)
_NO = np.zeros(3)


class Row(NamedTuple):
    """One equation. Bodies by their number in System.bodies, vectors in body axes, points from body origins."""

    kind: int
    connection: str
    i: int
    j: int
    a: Floats  # in body i (POINT: in the world)
    b: Floats  # in body j
    point_i: Floats
    point_j: Floats
    x_i: Floats  # normal to a, in body i and in body j: between them is the angle
    x_j: Floats
    number: float  # pitch, length
    signal: Any  # f(t), l(t), or None
    holonomic: bool = True


class _Ends:
    """The two ends of a connection: bases and points."""

    def __init__(self, connection: Any, base: Floats) -> None:
        self.name, (a, b) = connection.name, connection.ends
        self.i, self.j = a.body.number, b.body.number
        self.A, self.B = a.rotation @ base, b.rotation @ base
        self.pi, self.pj = a.offset, b.offset

    def row(
        self,
        kind: int,
        a: Floats,
        b: Floats = _NO,
        number: float = 0.0,
        signal: Any = None,
        holonomic: bool = True,
    ) -> Row:
        return Row(
            kind, self.name, self.i, self.j, a, b, self.pi, self.pj, self.A[:, _X], self.B[:, _X], number, signal, holonomic
        )  # fmt: skip

    def of_element(self, holonomic: int, others: int) -> list[Row]:
        """Return the rows of an element that is evaluated as it is: those on positions first."""
        return [self.row(ELEMENT, _NO, holonomic=k < holonomic) for k in range(holonomic + others)]

    def points(self) -> list[Row]:
        return [self.row(POINT, e) for e in np.eye(3)]

    def normal(self, *pairs: tuple[int, int]) -> list[Row]:
        """Add a row: vector k of end a is perpendicular to vector l of end b."""
        return [self.row(N1, self.A[:, k], self.B[:, l]) for k, l in pairs]

    def line(self, *axes: int, signal: Any = None) -> list[Row]:
        """Add rows: the point of end b has no (or a given) coordinate along these vectors of end a."""
        return [self.row(N2, self.A[:, k], signal=signal) for k in axes]

    def across(self, *axes: int) -> list[Row]:
        """Add rows: the point of end a has no coordinate along these vectors of end b."""
        return [self.row(N2B, _NO, self.B[:, k]) for k in axes]

    def along(self, direction: Any, signal: Any = None) -> list[Row]:
        """Add a row: the coordinate of the point of end b along a direction of end a follows a signal."""
        return [self.row(N2, self.A @ np.asarray(direction, dtype=np.float64), signal=_moving(signal))]

    def apart(self, length: Any) -> list[Row]:
        """Add a row: the points are a length apart."""
        return [self.row(LENGTH, _NO, number=length.at(0.0).value, signal=length)]

    def offset_of_lines(self, signal: Any) -> list[Row]:
        """Add a row: the z axes of both ends pass each other at a distance."""
        return [self.row(TRIPLE, self.A[:, _Z], self.B[:, _Z], signal=_moving(signal))]

    def angle(self, signal: Any) -> list[Row]:
        return [self.row(ANGLE, self.A[:, _Z], signal=signal)]


def _moving(signal: Any) -> Any:
    """Return a signal; None for one that is always zero."""
    return None if isinstance(signal, tm.Constant) and signal.level == 0.0 else signal


def _parallel(e: _Ends) -> list[Row]:
    return e.normal((_X, _Z), (_Y, _Z))


def _no_turn(e: _Ends) -> list[Row]:
    return e.normal((_X, _Z), (_Y, _Z), (_X, _Y))


_HINGES: dict[type, Callable[[_Ends, Any], list[Row]]] = {
    tm.Revolute: lambda e, h: e.points() + _parallel(e),
    tm.Prismatic: lambda e, h: e.line(_X, _Y) + _no_turn(e),
    tm.Cylindrical: lambda e, h: e.line(_X, _Y) + _parallel(e),
    tm.Screw: lambda e, h: e.line(_X, _Y) + _parallel(e) + [e.row(SCREW, e.A[:, _Z], number=float(h.pitch))],
    tm.Universal: lambda e, h: e.points() + e.normal((_X, _Y)),
    tm.Planar: lambda e, h: e.line(_Z) + _parallel(e),
    tm.Polar: lambda e, h: e.line(_Z) + _parallel(e),
    tm.Translation: lambda e, h: _no_turn(e),
    tm.Ball: lambda e, h: e.points(),
    tm.BallBryant: lambda e, h: e.points(),
    tm.Rigid: lambda e, h: e.points() + _no_turn(e),
    tm.Free: lambda e, h: [],
}
_DRIVERS: dict[tuple[type, int], Callable[[_Ends, Any], list[Row]]] = {
    (tm.Revolute, 0): lambda e, f: e.angle(f),
    (tm.Prismatic, 0): lambda e, f: e.line(_Z, signal=f),
    (tm.Cylindrical, 0): lambda e, f: e.angle(f),
    (tm.Cylindrical, 1): lambda e, f: e.line(_Z, signal=f),
    (tm.Screw, 0): lambda e, f: e.angle(f),
    (tm.Planar, 0): lambda e, f: e.line(_X, signal=f),
    (tm.Planar, 1): lambda e, f: e.line(_Y, signal=f),
    (tm.Planar, 2): lambda e, f: e.angle(f),
    (tm.Translation, 0): lambda e, f: e.line(_X, signal=f),
    (tm.Translation, 1): lambda e, f: e.line(_Y, signal=f),
    (tm.Translation, 2): lambda e, f: e.line(_Z, signal=f),
    (tm.Free, 0): lambda e, f: e.line(_X, signal=f),
    (tm.Free, 1): lambda e, f: e.line(_Y, signal=f),
    (tm.Free, 2): lambda e, f: e.line(_Z, signal=f),
}


def rows_of(system: tm.System) -> list[Row]:
    """Return all rows, connection by connection, couplings last; a prescribed coordinate gives its hinge one row more."""
    rows: list[Row] = []
    for name, connection in system.connections.items():
        element = connection.element
        if connection.is_hinge:
            ends = _Ends(connection, element.base())
            rows += _hinge(ends, element)
            for (hinge, coordinate), given in system.prescriptions.items():
                if hinge == name:
                    rows += _coordinate(ends, element, coordinate, given.signal, "its prescribed motion")
        elif connection.is_constraint:
            rows += _constraint(_Ends(connection, np.eye(3)), name, element)
        else:
            raise Inexpressible(f"connection {name!r} ({element.kind}) is neither a hinge nor a constraint.")
    for name, coupled in system.couplings.items():
        rows += _coupling(name, coupled.element)
    return rows


def _hinge(ends: _Ends, element: Any) -> list[Row]:
    if type(element) in _HINGES and not signals_of(element):
        return _HINGES[type(element)](ends, element)
    return ends.of_element(6 - element.n_speeds, 0)


def _coupling(name: str, element: Any) -> list[Row]:
    """Return rows between coordinates: they have no bodies of their own."""
    rest = (0, 0, _NO, _NO, _NO, _NO, _NO, _NO, 0.0, None)
    return [Row(JOINED, name, *rest, k < element.n_holonomic) for k in range(element.n_rows)]


def coordinate_row(connection: Any, number: int, what: str) -> Row:
    """Return the row whose residual is a coordinate of a hinge; `what` needs it."""
    element = connection.element
    (row,) = _coordinate(_Ends(connection, element.base()), element, number, None, what)
    return row


def _coordinate(ends: _Ends, element: Any, number: int, signal: Any, what: str) -> list[Row]:
    if (type(element), number) in _DRIVERS:
        return _DRIVERS[type(element), number](ends, signal)
    euler = element.euler_parameters
    if euler is not None and number >= euler:
        raise Inexpressible(
            f"{what} needs coordinate {number} of hinge {ends.name!r} ({element.kind}), an Euler parameter, which no row measures."
        )
    return [ends.row(FITTED, _NO, number=number, signal=signal)]


def _pose(e: _Ends, c: Any) -> list[Row]:
    signals = ((k, f) for k, f in enumerate((c.x, c.y, c.z)) if f is not None)
    return [row for k, f in signals for row in e.along(np.eye(3)[k], (c.offset_x, c.offset_y, c.offset_z)[k])]


# Haug 9.4 and 9.5
_CONSTRAINTS: dict[type, Callable[[_Ends, Any], list[Row]]] = {
    tm.Distance: lambda e, c: e.apart(c.length),
    tm.Perpendicular: lambda e, c: [e.row(N1, e.A @ c.axis_a, e.B @ c.axis_b)],
    tm.InPlane: lambda e, c: e.along((0, 0, 1), c.distance),
    tm.Parallel: lambda e, c: _parallel(e),
    tm.InLine: lambda e, c: e.along(c.across[0]) + e.along(c.across[1]),
    tm.AtRotation: lambda e, c: _no_turn(e),
    tm.RevoluteSpherical: lambda e, c: e.apart(c.length) + e.line(_Z),
    tm.RevoluteRevolute: lambda e, c: e.apart(c.length) + e.line(_Z) + _parallel(e),
    tm.RevoluteRevoluteOrthogonal: lambda e, c: e.apart(c.length) + e.line(_Z) + e.across(_X, _Y),
    tm.RevoluteCylindrical: lambda e, c: e.normal((_Z, _Z)) + e.line(_Z) + e.offset_of_lines(c.length),
    tm.RevoluteTranslational: lambda e, c: (
        e.normal((_Z, _Y), (_Z, _Z)) + e.line(_Z) + e.offset_of_lines(c.length)
    ),
    tm.RelativeOffset: lambda e, c: e.along(c.direction, c.value),
    tm.RelativeAngle: lambda e, c: [e.row(TURN, e.A[:, _Z], e.B[:, _X], signal=_moving(c.angle))],
    tm.PrescribedPose: _pose,
}


def _constraint(ends: _Ends, name: str, element: Any) -> list[Row]:
    if getattr(element, "unilateral", False):
        raise Inexpressible(
            f"constraint {name!r} ({element.kind}) may open, and no event is looked for here."
        )
    if type(element) is tm.KnifeEdge and ends.i == 0:
        return [ends.row(EDGE, _NO, ends.B[:, _Y], holonomic=False)]
    if type(element) in _CONSTRAINTS and getattr(element, "rotation", None) is None:
        return _CONSTRAINTS[type(element)](ends, element)
    return ends.of_element(element.n_holonomic, element.n_nonholonomic)
