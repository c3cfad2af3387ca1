# mypy: ignore-errors
"""Rows of chords whose element is called through its address, one lane after the other.

The context of closed chains on lanes ends with what that takes: the context of a single state with arrays of its own, the entry
point `chord_element`, and the unit directions of complements in each lane (kinematics.chords.hinge).
"""

from treemech.elements.lanes.numbers import LANES, lane_of
from treemech.kinematics.kernel.language import address_of, call_part, floats, ints, ints2, kernel
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.arrays import FIRST_WORK, LANE_STRIDE, N_CONTEXT, Work
from treemech.kinematics.plan.chord_views import (
    CHORD_ELEMENT,
    chord_pivots,
    chord_q,
    chord_work,
    chords,
    partials,
    rows,
)
from treemech.kinematics.plan.columns import chord, row
from treemech.kinematics.plan.views import own_q, own_u, own_ud

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
    one = ints(loops[SINGLE], N_LOOP_CONTEXT)
    tree = ints(one[0], N_CONTEXT)
    table, kept = chords(loops), ints2(loops[PIVOTS], LANES * chords(loops).shape[0], 6)
    X, Y, q, P = chord_work(loops), rows(loops), chord_q(loops), partials(loops)
    x, y, near, pivot, p = chord_work(one), rows(one), chord_q(one), chord_pivots(one), partials(one)
    first, count, iq, nq = (
        table[c, chord.FIRST_ROW],
        table[c, chord.N_ROWS],
        table[c, chord.FIRST_Q],
        table[c, chord.NQ],
    )
    at = table[c, chord.FIRST_ENTRY]
    entries = count * (table[c, chord.PATH_END] - table[c, chord.PATH_START])
    coupled = table[c, chord.KIND] == chord.COUPLING
    x_lanes, y_lanes = (
        floats(address_of(X), LANES * X.shape[0] * chord.N_WORK),
        floats(address_of(Y), LANES * Y.shape[0] * row.N_COLUMNS),
    )
    for k in range(LANES):
        tree[_PARAMETERS] = plan[_PARAMETERS] + plan[LANE_STRIDE] * k
        if coupled:
            _take(own_q(tree), own_q(plan), 0, own_q(plan).shape[0], k)
            _take(own_u(tree), own_u(plan), 0, own_u(plan).shape[0], k)
            _take(own_ud(tree), own_ud(plan), 0, own_ud(plan).shape[0], k)
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
        if coupled:
            _give(P, p, at, entries, k)
    return status
