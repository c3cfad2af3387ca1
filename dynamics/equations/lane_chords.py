# mypy: ignore-errors
"""Rows of chords whose element is called through its address, in all lanes.

The kernels are those for one state (kinematics.chords.hinge, .equations), but for decisions: every lane ends the fit of its cut
hinge for itself, and has unit directions of its complement of its own. A constraint with auxiliary unknowns goes one lane after the other.
The context of closed chains on lanes ends with what that takes: the context of a single state with arrays of its own, the entry
point `chord_element`, and the unit directions of complements in each lane.
"""

from treemech.elements.lanes.numbers import LANES, both, lane_of, select, some
from treemech.kinematics.chords.equations import coupling_element, plain_constraint
from treemech.kinematics.chords.hinge import along, evaluate_hinge, motion_space, move, write_hinge_rows
from treemech.kinematics.kernel.language import address_of, call_part, floats, ints, ints2, kernel
from treemech.kinematics.kernel.orthonormal import orthonormalise
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.arrays import FIRST_WORK, LANE_STRIDE, N_CONTEXT, Work
from treemech.kinematics.plan.chord_views import (
    CHORD_ELEMENT,
    chord_paths,
    chord_pivots,
    chord_q,
    chord_records,
    chord_work,
    chords,
    partials,
    rows,
)
from treemech.kinematics.plan.columns import chord, row
from treemech.kinematics.plan.views import dofs, own_q, own_u, own_ud, parameters

from .loop_views import N_LOOP_CONTEXT

SINGLE, ELEMENT, PIVOTS = N_LOOP_CONTEXT, N_LOOP_CONTEXT + 1, N_LOOP_CONTEXT + 2
N_LANE_LOOP_CONTEXT = N_LOOP_CONTEXT + 3
_PARAMETERS = FIRST_WORK + Work._fields.index("parameters")


@kernel
def _take(to, values, first, n, k):
    """Copy numbers of lane k."""
    for j in range(first, first + n):
        to[j] = lane_of(values[j], k)


@kernel
def _give(values, given, first, n, k):
    """Copy numbers to lane k."""
    to = floats(address_of(values), LANES * values.shape[0])
    for j in range(first, first + n):
        to[LANES * j + k] = given[j]


@kernel
def choose_complements(loops, k):
    """Let the rows of chords by address be chosen anew in lane k, as `loops.choose_complements` does."""
    if loops[CHORD_ELEMENT] != 0:
        pivot = ints(loops[PIVOTS] + 48 * chords(loops).shape[0] * k, 6 * chords(loops).shape[0])
        for j in range(pivot.shape[0]):
            pivot[j] = -1


@kernel
def element_rows(plan, loops, c, t):
    """Compute the rows of chord c in all lanes. Returns a status of the element, 1 = ok."""
    table, X, Y, record, parameter = (
        chords(loops),
        chord_work(loops),
        rows(loops),
        chord_records(loops),
        parameters(plan),
    )
    kind, q = table[c, chord.KIND], chord_q(loops)
    if kind == chord.COUPLING:
        worked = coupling_element(
            table, chord_paths(loops), dofs(plan), Y, record, partials(loops), parameter, c, own_q(plan), own_u(plan), own_ud(plan), t
        )  # fmt: skip
    elif kind != chord.CONSTRAINT:
        kept = ints2(loops[PIVOTS], LANES * table.shape[0], 6)
        worked = _hinge_rows(table, Y, X, record, q, kept, parameter, c, t)
    elif table[c, chord.NU] == 0:
        worked = plain_constraint(table, Y, X, record, q, parameter, c, t)
    else:
        return _one_by_one(plan, loops, c, t)
    return OK if worked else 0


@kernel
def _hinge_rows(table, Y, X, record, q, kept, parameter, c, t):
    """Compute the rows of a hinge by address, as `hinge_rows` does. Returns whether it worked."""
    n, iq, nq = table[c, chord.NU], table[c, chord.FIRST_Q], table[c, chord.NQ]
    for k in range(n):
        X[c, chord.SPEEDS + k] = 0.0
    moving, known = t == t, False  # the record is that of the coordinates
    for _ in range(20):
        if not evaluate_hinge(table, X, record, q, parameter, c, t):
            return False
        known = True
        if n == 0:
            break
        size = along(table, X, record, c, chord.OFFSET, chord.SPEEDS)
        moving = both(moving, size >= 1e-14)
        if not some(moving):
            break
        for k in range(nq):
            X[c, chord.WORKSPACE + k] = q[iq + k]
        move(table, X, q, c)
        for k in range(nq):
            q[iq + k] = select(moving, q[iq + k], X[c, chord.WORKSPACE + k])
        moving, known = both(moving, size >= 1e-9), False
        if not some(moving):
            break
    if not known and not evaluate_hinge(table, X, record, q, parameter, c, t):
        return False
    if n > 0:
        along(table, X, record, c, chord.RATE, chord.SPEEDS)
    if not evaluate_hinge(table, X, record, q, parameter, c, t):
        return False
    if n > 0:
        along(table, X, record, c, chord.ACCELERATION, chord.SPEED_RATES)
    motion_space(table, X, record, c)
    _complement(X, c, n, kept, table.shape[0])
    write_hinge_rows(table, Y, X, record, c)
    return True


@kernel
def _farthest(doubles, count, lane):
    """Return the unit direction farthest from the rows of a lane."""
    best, far = 0, -1.0
    for j in range(6):
        s = 1.0
        for i in range(count):
            x = doubles[LANES * (chord.BASE + 6 * i + j) + lane]
            s -= x * x
        if s > far + 1e-9:
            best, far = j, s
    return best


@kernel
def _complement(X, c, count, kept, n_chords):
    """Complete the motion space of a hinge as `complement` does, from unit directions that every lane keeps."""
    x = X[c]
    doubles = floats(address_of(x), LANES * chord.N_WORK)
    for k in range(6 - count):
        at = chord.BASE + 6 * (count + k)
        for lane in range(LANES):
            own = n_chords * lane + c
            if kept[own, k] < 0:
                kept[own, k] = _farthest(doubles, count + k, lane)
            for j in range(6):
                doubles[LANES * (at + j) + lane] = 1.0 if j == kept[own, k] else 0.0
        orthonormalise(x, chord.BASE, count + k, at, 6)


@kernel
def _one_by_one(plan, loops, c, t):
    """Compute the rows of chord c in one lane after the other. Returns a status of the element, 1 = ok."""
    one = ints(loops[SINGLE], N_LOOP_CONTEXT)
    tree = ints(one[0], N_CONTEXT)
    table, kept = chords(loops), ints2(loops[PIVOTS], LANES * chords(loops).shape[0], 6)
    X, Y, q = chord_work(loops), rows(loops), chord_q(loops)
    x, y, near, pivot = chord_work(one), rows(one), chord_q(one), chord_pivots(one)
    first, count, iq, nq = (
        table[c, chord.FIRST_ROW],
        table[c, chord.N_ROWS],
        table[c, chord.FIRST_Q],
        table[c, chord.NQ],
    )
    x_lanes, y_lanes = (
        floats(address_of(X), LANES * X.shape[0] * chord.N_WORK),
        floats(address_of(Y), LANES * Y.shape[0] * row.N_COLUMNS),
    )
    for k in range(LANES):
        tree[_PARAMETERS] = plan[_PARAMETERS] + plan[LANE_STRIDE] * k
        _take(near, q, iq, nq, k)
        for j in range(chord.N_WORK):
            x[c, j] = x_lanes[LANES * (chord.N_WORK * c + j) + k]
        for j in range(6):
            pivot[c, j] = kept[table.shape[0] * k + c, j]
        status = call_part(loops[ELEMENT], c, lane_of(t, k), one)
        if status != OK:
            return status
        for j in range(chord.N_WORK):
            x_lanes[LANES * (chord.N_WORK * c + j) + k] = x[c, j]
        for r in range(first, first + count):
            for j in range(row.N_COLUMNS):
                y_lanes[LANES * (row.N_COLUMNS * r + j) + k] = y[r, j]
        for j in range(6):
            kept[table.shape[0] * k + c, j] = pivot[c, j]
        _give(q, near, iq, nq, k)
    return status
