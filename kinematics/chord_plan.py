"""The chords of a Plan: which bodies a cut hinge or constraint joins, where its rows stand, what they need."""

from typing import NamedTuple

import numpy as np

from treemech.elements import Ball, Hinge, Prismatic, Revolute, Rigid
from treemech.topology import Connection, Tree

from . import plan as p
from .plan import Floats, Ints, Plan

# Columns of ChordPlan.chord; KIND is one of plan.RIGID, REVOLUTE, PRISMATIC, BALL, TABLE
BODY_A, BODY_B, KIND, ADDRESS, PARAMETER, RECORD, NQ, NU, EULER = range(9)
FIRST_ROW, N_ROWS, FIRST_Q, FIRST_U, PATH_START, PATH_END, FIRST_ENTRY = range(9, 16)
N_CHORD = 16
# Columns of ChordPlan.place: end a in its body's base (rotation, point), then end b
PLACE_A, PLACE_B, N_PLACE = 0, 12, 24
# Columns of ChordPlan.path: a speed between the two ends, and whether it moves end b (+1) or end a (-1)
SPEED, SIDE = 0, 1
# Columns of ChordWork.row: the wrench of a row at the point of end b (world), residuals of the three levels
ROW_F, ROW_M, POSITION, VELOCITY, BIAS = 0, 3, 6, 7, 8
N_ROW = 9
# Columns of ChordWork.chord: motion of end b relative to end a in the base of a; bases of the fit of a TABLE hinge
OFFSET, ROTATION, RATE, TURN, ACCELERATION, TURN_RATE = 0, 3, 12, 15, 18, 21
MOTION_SPACE, COMPLEMENT = 24, 60  # orthonormal rows of six
SPEEDS = 96
N_CHORD_WORK = 102


class ChordPlan(NamedTuple):
    """What the chords ARE."""

    chord: Ints  # (nc, N_CHORD)
    place: Floats  # (nc, N_PLACE)
    path: Ints  # (npath, 2)


class ChordWork(NamedTuple):
    """What is computed NOW."""

    row: Floats  # (m, N_ROW)
    chord: Floats  # (nc, N_CHORD_WORK)
    partials: Floats  # entries of P: per chord, per speed of its path, per row
    record: Floats  # motion records of TABLE hinges
    q: Floats  # coordinates of the cut hinges: where the fit of a TABLE hinge starts and ends
    u: Floats  # their speeds
    pivot: Ints  # (nc, 6) which unit directions span the complement of a TABLE hinge


class ChordLayout(NamedTuple):
    """The chord arrays and who is who in them."""

    plan: ChordPlan
    rows: list[tuple[str, int]]  # (connection, number within it) of every row


def chord_kind(hinge: Hinge) -> int:
    return {Rigid: p.RIGID, Revolute: p.REVOLUTE, Prismatic: p.PRISMATIC, Ball: p.BALL}.get(
        type(hinge), p.TABLE
    )


def paths(tree: Tree, plan: Plan, a: int, b: int) -> list[tuple[int, int]]:
    """(speed, side) of all speeds that move end b relative to end a."""
    up_a, up_b = list(tree.path(a)), list(tree.path(b))
    while up_a and up_b and up_a[0] == up_b[0]:
        del up_a[0], up_b[0]
    found = []
    for side, bodies in ((-1, up_a), (1, up_b)):
        for number in bodies:
            first, count = int(plan.body[number, p.DOF]), int(plan.body[number, p.NU])
            found += [(d, side) for d in range(first, first + count)]
    return found


def make_chord_layout(
    tree: Tree,
    plan: Plan,
    frames: dict[int, tuple[Floats, Floats]],
    records: dict[str, tuple[int, int]],
) -> ChordLayout:
    """Arrays of the chords. frames: the core's body base in the user's; records: address, parameter start."""
    chords: tuple[Connection, ...] = tree.chords
    chord = np.zeros((len(chords), N_CHORD), dtype=np.int64)
    place = np.zeros((len(chords), N_PLACE))
    path: list[tuple[int, int]] = []
    rows: list[tuple[str, int]] = []
    record, n_q, n_u, n_entries = 0, 0, 0, 0
    for k, connection in enumerate(chords):
        hinge: Hinge = connection.element
        row = chord[k]
        bodies = [tree.numbers[end.body.name] for end in connection.ends]
        for side, (end, number) in enumerate(zip(connection.ends, bodies, strict=True)):
            F, f = frames[number]
            start = (PLACE_A, PLACE_B)[side]
            place[k, start : start + 9] = (F.T @ end.rotation @ hinge.base()).ravel()
            place[k, start + 9 : start + 12] = F.T @ (end.offset - f)
        row[[BODY_A, BODY_B]] = bodies
        row[KIND] = chord_kind(hinge)
        row[NQ], row[NU] = hinge.n_coordinates, hinge.n_speeds
        row[EULER] = -1 if hinge.euler_parameters is None else hinge.euler_parameters
        row[FIRST_ROW], row[N_ROWS] = len(rows), 6 - hinge.n_speeds
        row[FIRST_Q], row[FIRST_U], row[RECORD] = n_q, n_u, record
        n_q += hinge.n_coordinates
        n_u += hinge.n_speeds
        if row[KIND] == p.TABLE:
            row[ADDRESS], row[PARAMETER] = records[connection.name]
            record += 24 + 6 * hinge.n_speeds
        own = paths(tree, plan, *bodies)
        row[PATH_START], row[PATH_END], row[FIRST_ENTRY] = len(path), len(path) + len(own), n_entries
        path += own
        n_entries += len(own) * (6 - hinge.n_speeds)
        rows += [(connection.name, j) for j in range(6 - hinge.n_speeds)]
    return ChordLayout(ChordPlan(chord, place, np.array(path, dtype=np.int64).reshape(-1, 2)), rows)


def make_chord_work(layout: ChordLayout, tree: Tree) -> ChordWork:
    chord = layout.plan.chord
    table = chord[:, KIND] == p.TABLE
    record = int(np.sum(24 + 6 * chord[table, NU])) if table.any() else 0
    q = [np.zeros(0), *(c.element.reference() for c in tree.chords)]
    entries = int(np.sum((chord[:, PATH_END] - chord[:, PATH_START]) * chord[:, N_ROWS]))
    return ChordWork(
        row=np.zeros((len(layout.rows), N_ROW)),
        chord=np.zeros((len(chord), N_CHORD_WORK)),
        partials=np.zeros(max(entries, 1)),
        record=np.zeros(max(record, 1)),
        q=np.concatenate(q),
        u=np.zeros(int(np.sum(chord[:, NU]))),
        pivot=np.full((len(chord), 6), -1, dtype=np.int64),
    )


def make_chord_context(tree_context: int, layout: ChordLayout, work: ChordWork) -> Ints:
    """The int64 table by which the compiled core finds the chords; keep plan and work alive beside it."""
    arrays = (*layout.plan, *work)
    head = (
        tree_context, len(layout.plan.chord), len(layout.plan.path), len(layout.rows), len(work.partials),
        len(work.record), len(work.q), len(work.u),
    )  # fmt: skip
    addresses = [array.__array_interface__["data"][0] for array in arrays]
    return np.array([*head, *addresses], dtype=np.int64)
