"""Lay out the chords of a Plan: the bodies or coordinates they join, the places of their rows and records."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.elements import Constraint, Coupling, Hinge
from treemech.elements.constraint import rows_size
from treemech.elements.coupling import coupling_size
from treemech.elements.element import Element
from treemech.topology import Attachment, Connection, ElementError, Tree
from treemech.topology.arrays import Floats, Ints

from ..plan.arrays import Plan
from ..plan.chord_arrays import ChordPlan
from ..plan.columns import body, chord

# Hinges with a path of their own in the kernels
_KINDS = {
    (f"treemech.elements.hinges.{name.lower()}", name): kind
    for name, kind in (
        ("Rigid", body.RIGID), ("Revolute", body.REVOLUTE), ("Prismatic", body.PRISMATIC), ("Ball", body.BALL), ("Free", body.FREE),
    )
}  # fmt: skip


class Coupled(NamedTuple):
    """Coupling and the coordinates it joins, each as (hinge, number of the coordinate)."""

    name: str
    element: Coupling
    arguments: tuple[tuple[str, int], ...]


class Coordinate(NamedTuple):
    """Coordinate that may be coupled: its place in q, and the regular number of its speed."""

    q: int
    speed: int


class ChordLayout(NamedTuple):
    """Arrays of the chords, with the names and elements of their rows."""

    plan: ChordPlan
    rows: list[tuple[str, int]]  # (connection, number within it) of every row
    nonholonomic: NDArray[np.bool_]  # (m,) whether a row restricts rates only
    names: list[str]  # of every chord: chords of the tree, then couplings
    elements: list[Element]
    start: Floats  # reference coordinates of cut hinges, start values of auxiliary unknowns
    n_record: int


@cache
def kind_of_hinge(cls: type) -> int:
    """Return the column KIND of a hinge. The classes are found by name, so that a model loads its own hinges only.

    >>> from treemech import Ball, Screw
    >>> kind_of_hinge(Ball) == body.BALL, kind_of_hinge(Screw) == body.BY_ADDRESS
    (True, True)
    """
    return _KINDS.get((cls.__module__, cls.__name__), body.BY_ADDRESS)


def chord_kind(element: Element) -> int:
    """Return the column KIND of a chord: the path its element takes in the kernels."""
    if isinstance(element, (Constraint, Coupling)):
        return chord.CONSTRAINT if isinstance(element, Constraint) else chord.COUPLING
    kind = kind_of_hinge(type(element))
    return body.BY_ADDRESS if kind == body.FREE else kind


def by_address(element: Element) -> bool:
    """Tell whether the core calls the element of a chord through its address."""
    return chord_kind(element) in (body.BY_ADDRESS, chord.CONSTRAINT, chord.COUPLING)


def paths(tree: Tree, plan: Plan, a: int, b: int) -> list[tuple[int, int, int]]:
    """Return (speed, side, -1) of all speeds that move end b relative to end a."""
    up_a, up_b = list(tree.path(a)), list(tree.path(b))
    while up_a and up_b and up_a[0] == up_b[0]:
        del up_a[0], up_b[0]
    found = []
    for side, bodies in ((-1, up_a), (1, up_b)):
        for number in bodies:
            first, count = int(plan.body[number, body.DOF]), int(plan.body[number, body.NU])
            found += [(d, side, -1) for d in range(first, first + count)]
    return found


def make_chord_layout(
    tree: Tree,
    plan: Plan,
    frames: dict[int, tuple[Floats, Floats]],
    records: dict[str, tuple[int, int]],
    couplings: Sequence[Coupled] = (),
    coordinates: dict[tuple[str, int], Coordinate] | None = None,
    numbers: Any = np.float64,
) -> ChordLayout:
    """Make the arrays of the chords, couplings last.

    frames: base of each body in the core, relative to the user's base; records: (address, start of the
    parameters) by name; coordinates: by hinge and number.
    """
    described: list[Connection | Coupled] = [*tree.chords, *couplings]
    names, elements = [c.name for c in described], [c.element for c in described]
    plan_chord = np.zeros((len(names), chord.N_COLUMNS), dtype=np.int64)
    place = np.zeros((len(names), chord.N_PLACE), dtype=numbers)
    path: list[tuple[int, int, int]] = []
    rows: list[tuple[str, int]] = []
    nonholonomic: list[bool] = []
    start = [np.zeros(0)]
    record, n_q, n_u, n_entries = 0, 0, 0, 0
    for k, (name, element) in enumerate(zip(names, elements, strict=True)):
        row = plan_chord[k]
        row[chord.KIND], row[chord.EULER] = chord_kind(element), -1
        row[chord.FIRST_ROW], row[chord.FIRST_Q], row[chord.FIRST_U], row[chord.RECORD] = (
            len(rows),
            n_q,
            n_u,
            record,
        )
        if by_address(element):
            row[chord.ADDRESS], row[chord.PARAMETER] = records[name]
        if isinstance(element, Coupling):
            found = [(coordinates or {})[a] for a in couplings[k - len(tree.chords)].arguments]
            own = [(c.speed, 1, c.q) for c in found]
        else:
            ends = tree.chords[k].ends
            bodies = [tree.numbers[end.body.name] for end in ends]
            place_chord(place[k], element, ends, bodies, frames)
            row[[chord.BODY_A, chord.BODY_B]] = bodies
            own = paths(tree, plan, *bodies)
        row[chord.HOLONOMIC], n_rows, size = _sizes(name, element, row)
        record += size
        row[chord.N_ROWS] = n_rows
        row[chord.PATH_START], row[chord.PATH_END], row[chord.FIRST_ENTRY] = (
            len(path),
            len(path) + len(own),
            n_entries,
        )
        path += own
        n_q, n_u, n_entries = (
            n_q + int(row[chord.NQ]),
            n_u + int(row[chord.NU]),
            n_entries + len(own) * n_rows,
        )
        rows += [(name, j) for j in range(n_rows)]
        nonholonomic += [j >= row[chord.HOLONOMIC] for j in range(n_rows)]
        if numbers is not object:
            start.append(start_of(name, element))
    steps = np.array(path, dtype=np.int64).reshape(-1, chord.N_PATH_COLUMNS)
    return ChordLayout(
        ChordPlan(plan_chord, place, steps), rows, np.array(nonholonomic, dtype=np.bool_), names, elements,
        np.concatenate(start), record,
    )  # fmt: skip


def place_chord(
    place: Floats,
    element: Element,
    ends: Sequence[Attachment],
    bodies: Sequence[int],
    frames: Mapping[int, tuple[Floats, Floats]],
) -> None:
    """Fill in where the ends of a chord are on their bodies, in the base of the core."""
    base = element.base() if isinstance(element, Hinge) else np.eye(3)
    for side, (end, number) in enumerate(zip(ends, bodies, strict=True)):
        F, f = frames[number]
        first = (chord.PLACE_A, chord.PLACE_B)[side]
        place[first : first + 9] = (F.T @ end.rotation @ base).ravel()
        place[first + 9 : first + 12] = F.T @ (end.offset - f)


def _sizes(name: str, element: Element, row: Ints) -> tuple[int, int, int]:
    """Fill in NQ, NU and EULER of a chord. Return (holonomic rows, all rows, numbers in the record)."""
    if isinstance(element, Coupling):
        n, k = element.n_rows, element.n_arguments or 0
        return element.n_holonomic, n, 2 * k + coupling_size(n, k)
    if isinstance(element, Constraint):
        na, n = element.n_auxiliary, element.n_rows
        for what, count, most in (
            ("n_holonomic", element.n_holonomic, chord.MOST_HOLONOMIC),
            ("n_auxiliary", na, chord.MOST_AUXILIARY),
            ("rows", n, chord.MOST_ROWS),
        ):
            if count > most:
                raise ElementError(
                    f"constraint {name!r} ({element.kind}) has {what} = {count}; at most {most} are possible."
                )
        row[chord.NQ] = row[chord.NU] = na
        return element.n_holonomic, n - na, rows_size(n, na) + n * (element.n_holonomic + na)
    assert isinstance(element, Hinge)
    row[chord.NQ], row[chord.NU] = element.n_coordinates, element.n_speeds
    row[chord.EULER] = -1 if element.euler_parameters is None else element.euler_parameters
    n = 6 - element.n_speeds
    return n, n, 24 + 6 * element.n_speeds if row[chord.KIND] == body.BY_ADDRESS else 0


def start_of(name: str, element: Element) -> Floats:
    """Return where a fit starts: coordinates of a hinge, auxiliary unknowns of a constraint."""
    if isinstance(element, Hinge):
        q = element.reference()
        motion = element.motion(q=q)
        partials = np.hstack((motion.translation_partials, motion.rotation_partials))
        regular = np.linalg.matrix_rank(partials) == element.n_speeds
        # A fit cannot leave a singular reference position
        return q if regular else element.sample(np.random.default_rng(0))
    n = element.n_auxiliary if isinstance(element, Constraint) else 0
    s = np.asarray(element.auxiliary(), dtype=np.float64) if isinstance(element, Constraint) else np.zeros(0)
    if s.shape != (n,) or not np.all(np.isfinite(s)):
        raise ElementError(
            f"constraint {name!r}: {type(element).__name__}.auxiliary() gives {s}; wanted {n} finite numbers."
        )
    return s
