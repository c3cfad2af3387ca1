"""Lay out the Plan of a tree and its elements: geometry, inertia, coordinates, addresses, parameters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from treemech.elements import Hinge, Signal
from treemech.elements.compilation.callback import Entry
from treemech.elements.compilation.entry import make_entry, moves_by_differences
from treemech.elements.element import Element, record
from treemech.topology import Connection, ElementError, Tree
from treemech.topology.arrays import Floats, Ints
from treemech.topology.deferred import dataclass

from ..plan.arrays import Plan
from ..plan.chord_arrays import ChordPlan
from ..plan.columns import body, speed
from .chords import ChordLayout, Coordinate, Coupled, by_address, kind_of_hinge, make_chord_layout
from .efforts import Applied, Assembled, EffortLayout, make_effort_layout
from .lagrange import Coordinates, Lagrange


class Prescription(NamedTuple):
    """Lagrange coordinate given as a signal (5.4)."""

    hinge: str
    coordinate: int
    signal: Signal


class Description(NamedTuple):
    """Content of a Plan: the bodies in their tree, and everything that connects, moves and loads them."""

    tree: Tree
    coordinates: Lagrange
    gravity: Floats
    prescriptions: tuple[Prescription, ...] = ()
    applied: Sequence[Applied] = ()
    couplings: Sequence[Coupled] = ()
    composites: Sequence[Assembled] = ()
    held: Mapping[str, float] = {}
    rotors: Mapping[str, float] = {}  # hinge -> inertia on its speeds


@dataclass(frozen=True, eq=False)
class Layout:
    """Plan with the objects that keep it alive and the names and elements of its rows."""

    plan: Plan
    parameters: Floats
    entries: tuple[Entry, ...]
    signals: tuple[Signal, ...]
    kinematic: frozenset[int]  # signals that move something, not only load it
    chords: ChordLayout
    efforts: EffortLayout
    hinges: Mapping[int, Hinge]  # hinges called by address, by the number of their body
    points: Mapping[
        int, tuple[Floats, Floats]
    ]  # base of the core in every body: B of its hinge, and its point

    @property
    def foreign(self) -> bool:
        """Tell whether an element may raise: one that does not come from the built library."""
        return any(entry.way != "library" for entry in self.entries)

    def copy(self) -> "Layout":
        """Return the layout with arrays of its own: analyses write into some columns of a Plan for a while."""
        plan = Plan._make(a.copy() for a in self.plan)
        chords = ChordPlan._make(a.copy() for a in self.chords.plan)
        return replace(
            self,
            plan=plan,
            chords=self.chords._replace(plan=chords),
            efforts=replace(self.efforts, rows=plan.efforts),
        )


class _Records:
    """Records of all elements in one row, their addresses, and the signals they contain."""

    def __init__(self, entry_of: Callable[..., Entry] = make_entry) -> None:
        self.entry_of = entry_of
        self.numbers: list[Floats] = []
        self.size = 0
        self.entries: list[Entry] = []
        self.signals: list[Signal] = []
        self.signal_rows: list[tuple[int, int]] = []
        self.links: list[tuple[int, int]] = []
        self.known: dict[int, int] = {}
        self.kinematic: set[int] = set()

    def add(self, element: Element, kinematic: bool = False, part: str = "") -> tuple[int, int]:
        """Add an element. Return (address, start of its record)."""
        entry = self.entry_of(element, part)
        self.entries.append(entry)
        if part:
            return entry.address, -1
        numbers, signals = record(element)
        start = self.size
        self.numbers.append(numbers)
        self.size += len(numbers)
        for at, signal in signals:
            self.links.append((self.signal(signal, kinematic), start + at))
        return entry.address, start

    def signal(self, signal: Signal, kinematic: bool) -> int:
        """Return the number of a signal; the same object is evaluated once."""
        if id(signal) not in self.known:
            address, start = self.add(signal)
            self.known[id(signal)] = len(self.signals)
            self.signals.append(signal)
            self.signal_rows.append((address, start))
        if kinematic:
            self.kinematic.add(self.known[id(signal)])
            if self.entry_of is make_entry and moves_by_differences(signal):
                raise ElementError(
                    f"{signal!r} moves something, and its rates are not known: numba cannot compile it. Write it in plain scalar "
                    "Python, or as a table, tm.Spline(times, values)."
                )
        return self.known[id(signal)]

    def motion(self, given: Prescription) -> int:
        """Return the number of the signal of a prescribed coordinate."""
        try:
            return self.signal(given.signal, True)
        except ElementError as error:
            raise ElementError(f"prescribed motion of {given.hinge!r}: {error}") from None


def _kind(hinge: Hinge, forward: bool, resisting: bool, inline: bool) -> int:
    """Return the path a hinge takes in the sweeps. A ball that is `resisting` (prescribed, or with a rotor) transmits moments."""
    if not inline:
        return body.BY_ADDRESS
    kind = kind_of_hinge(type(hinge))
    return kind if kind not in (body.BALL, body.FREE) or (forward and not resisting) else body.BY_ADDRESS


def place_body(
    tree: Tree, number: int, constants: Floats, frames: Floats, points: dict[int, tuple[Floats, Floats]]
) -> None:
    """Fill in placement, inertia and frame of a body, in the base of its hinge end (5.2.1), (5.2.13)."""
    branch, plan_body = tree.branches[number - 1], tree.bodies[number]
    a, b = branch.connection.ends[0], branch.connection.ends[1]
    outer, inner = (a, b) if branch.forward else (b, a)
    base = branch.connection.element.base()
    Fp, fp = points[int(tree.parent[number])]
    F, f = inner.rotation @ base, inner.offset
    points[number] = (F, f)
    J = F.T @ plan_body.inertia @ F
    row = constants[number]
    row[body.PLACE_R : body.PLACE_R + 9] = (Fp.T @ outer.rotation @ base).ravel()
    row[body.PLACE_P : body.PLACE_P + 3] = Fp.T @ (outer.offset - fp)
    row[body.MASS] = plan_body.mass
    row[body.COM : body.COM + 3] = F.T @ (plan_body.com - f)
    row[body.INERTIA : body.INERTIA + 6] = J[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    row[body.SIGN] = 1.0 if branch.forward else -1.0
    frames[number, :9] = F.T.ravel()
    frames[number, 9:] = -F.T @ f


def _geometry(
    tree: Tree, constants: Floats, frames: Floats, points: dict[int, tuple[Floats, Floats]]
) -> None:
    """Fill in placements, inertias and frames of all bodies."""
    points[0] = (np.eye(3), np.zeros(3))
    frames[0, [0, 4, 8]] = 1.0
    for number in range(1, len(tree.bodies)):
        place_body(tree, number, constants, frames, points)


def _ancestor_runs(tree: Tree, plan_body: Ints) -> tuple[Ints, Ints]:
    """List for every speed, in regular order, the consecutive runs of speeds it depends on, itself last."""
    runs_of: list[list[tuple[int, int]]] = [[]]
    start: list[int] = [0]
    runs: list[tuple[int, int]] = []
    for number in range(1, len(tree.bodies)):
        first, count = int(plan_body[number, body.DOF]), int(plan_body[number, body.NU])
        before = runs_of[int(tree.parent[number])]
        joined = bool(before) and before[-1][1] == first
        head, begin = (before[:-1], before[-1][0]) if joined else (before, first)
        for d in range(first, first + count):
            runs += [*head, (begin, d + 1)]
            start.append(len(runs))
        runs_of.append([*head, (begin, first + count)] if count else before)
    return np.array(start, dtype=np.int64), np.array(runs, dtype=np.int64).reshape(-1, 2)


def _rotors(
    plan_body: Ints, dof: Sequence[Sequence[int]], start: Ints, runs: Ints, numbers: Sequence[int]
) -> Ints:  # fmt: skip
    """Return the table of the speeds of hinges that have rotors, by the numbers of their bodies."""
    found: list[tuple[int, int, int, int]] = []
    for number in sorted(numbers):
        first = int(plan_body[number, body.DOF])
        for d in range(first, first + int(plan_body[number, body.NU])):
            own = runs[: start[d + 1]]  # the speed itself is the last one of its row
            found.append((d, dof[d][0], number, int(np.sum(own[:, 1] - own[:, 0])) - 1))
    return _rows(found, 4)


def _no_entry(element: Element, part: str = "") -> Entry:
    return Entry(0, "none", None)


def _rows(values: Sequence[Sequence[int]], columns: int) -> Ints:
    return np.array(values, dtype=np.int64).reshape(-1, columns)


def make_layout(described: Description, inline: bool = True, numbers: Any = np.float64) -> Layout:
    """Make the Plan of a tree.

    With inline=False every hinge is called through its address, built-in ones too.

    With numbers=object the numbers may be dual numbers. Such a Plan has no addresses and cannot be evaluated.
    """
    tree, coordinates, gravity, prescriptions, applied, couplings, composites, held, rotors = described
    rows = len(tree.bodies)
    plan_body = np.zeros((rows, body.N_COLUMNS), dtype=np.int64)
    constants, frames = np.zeros((rows, body.N_CONSTANTS), dtype=numbers), np.zeros((rows, 12), dtype=numbers)
    points: dict[int, tuple[Floats, Floats]] = {}
    _geometry(tree, constants, frames, points)
    records = _Records(_no_entry if numbers is object else make_entry)
    given = {(x.hinge, x.coordinate): records.motion(x) for x in prescriptions}
    by_number: dict[int, Coordinates] = {c.number: c for c in coordinates.hinges}
    places: dict[tuple[str, int], Coordinate] = {}  # coordinates that may be coupled
    dof: list[tuple[int, int, int, int]] = []
    prescribed: list[tuple[int, int, int, int]] = []
    record_size = 0
    tables: dict[int, Hinge] = {}
    plan_body[0, body.PARENT], plan_body[0, body.EULER] = -1, -1
    for number in range(1, rows):
        c = by_number[number]
        hinge = c.hinge
        driven = [k for k in range(hinge.n_speeds) if (c.name, k) in given]
        row = plan_body[number]
        row[body.PARENT] = tree.parent[number]
        row[body.KIND] = kind = _kind(hinge, c.forward, bool(driven) or c.name in rotors, inline)
        row[body.Q], row[body.U], row[body.DOF] = c.q, c.u, len(dof)
        row[body.NQ], row[body.NU], row[body.N_FREE] = (
            hinge.n_coordinates,
            hinge.n_speeds,
            hinge.n_speeds - len(driven),
        )
        row[body.REVERSED] = not c.forward
        constants[number, body.ROTOR] = rotors.get(c.name, 0.0)
        row[body.EULER] = -1 if hinge.euler_parameters is None else hinge.euler_parameters
        if kind == body.BY_ADDRESS:
            row[body.ADDRESS], row[body.PARAMETER] = records.add(hinge, kinematic=True)
            row[body.RECORD] = record_size
            tables[number] = hinge
            record_size += 24 + 6 * hinge.n_speeds
        for k in sorted(range(hinge.n_speeds), key=lambda k: (k in driven, k)):  # free speeds first
            signal = given.get((c.name, k), -1)
            if signal >= 0:
                prescribed.append((c.q + k, c.u + k, len(dof), signal))
            if hinge.euler_parameters is None or k < hinge.euler_parameters:
                places[c.name, k] = Coordinate(c.q + k, len(dof))
            dof.append((c.u + k, k, number, signal))
    acted = {key: (c.q, int(dof[c.speed][0])) for key, c in places.items()}
    efforts = make_effort_layout(
        applied,
        composites,
        held,
        lambda element, part: records.add(element, part=part),
        lambda signal: records.signal(signal, False),
        tree.numbers,
        points,
        acted,
        {
            c.closes or c.name: (k, tree.numbers[c.body_a.name] if c.closes else 0)
            for k, c in enumerate(tree.chords)
        },
    )
    closing: list[Connection | Coupled] = [*tree.chords, *couplings]
    cut = {c.name: records.add(c.element, kinematic=True) for c in closing if by_address(c.element)}
    start, runs = _ancestor_runs(tree, plan_body)
    plan = Plan(
        body=plan_body,
        constants=constants,
        frames=frames,
        gravity=np.array(gravity, dtype=numbers),
        dof=_rows(dof, speed.N_COLUMNS),
        run_start=start,
        runs=runs,
        prescribed=_rows(prescribed, 4),
        signals=_rows(records.signal_rows, 2),
        links=_rows(records.links, 2),
        efforts=efforts.rows,
        ends=efforts.ends,
        end_points=efforts.end_points,
        acted=efforts.acted,
        sources=efforts.sources,
        composites=efforts.composite_rows,
        points=efforts.point_rows,
        rotors=_rotors(
            plan_body, dof, start, runs, [c.number for c in coordinates.hinges if c.name in rotors]
        ),
    )
    parameters = np.concatenate(records.numbers) if records.numbers else np.zeros(0)
    return Layout(
        plan,
        parameters if len(parameters) else np.zeros(1),
        tuple(records.entries),
        tuple(records.signals),
        frozenset(records.kinematic),
        make_chord_layout(tree, plan, points, cut, couplings, places, numbers),
        efforts,
        tables,
        points,
    )
