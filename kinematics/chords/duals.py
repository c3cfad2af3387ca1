# mypy: ignore-errors
"""Rows of a chord whose element is called through its address, differentiated along one direction, exact to rounding.

The kernels that make the rows (chord_table, chord_equations) run once more on pairs (number, derivative), the element through
its slopes (elements.compilation.entry). What they fit, the coordinates of a cut hinge or auxiliary unknowns, solves its equations at the
state; one step of Gauss and Newton on pairs from there gives its derivative (implicit function theorem).
"""

from ..kernel.language import call_element, floats, floats2, ints2, kernel, pairs, pairs2
from ..plan.arrays import PUBLIC
from ..plan.chord_views import chord_paths, chord_pivots, chord_q, chord_records, chord_work, chords
from ..plan.chords import (
    ADDRESS,
    BIAS,
    CONSTRAINT,
    COORDINATE,
    COUPLING,
    FIRST_Q,
    FIRST_ROW,
    HOLONOMIC,
    KIND,
    N_CHORD,
    N_CHORD_WORK,
    N_LOCAL,
    N_ROW,
    N_ROWS,
    NQ,
    NU,
    OFFSET,
    PARAMETER,
    PATH_END,
    PATH_START,
    RATE,
    RECORD,
    ROTATION,
    ROW_F,
    SLOPES,
    SPEED,
    VELOCITY,
)
from ..plan.views import dofs, own_q, own_u, own_ud, parameter_pairs
from .equations import constraint_element, fit_unknowns
from .hinge import fit_hinge, hinge_rows


@kernel
def _record_size(chord, c):
    if chord[c, KIND] == CONSTRAINT:
        n, na = chord[c, N_ROWS] + chord[c, NU], chord[c, NU]
        return n * (9 + 2 * na + chord[c, HOLONOMIC])
    return 24 + 6 * chord[c, NU]


@kernel
def _as_pairs(to, values, first):
    """Numbers without derivatives."""
    for k in range(to.shape[0]):
        to[k, 0] = values[first + k]
        to[k, 1] = 0.0


@kernel
def _of_pose(plan, loops, c, t, direction, out, room):
    """Rows of a cut hinge or constraint with b displaced (direction 0 .. 5) or its rates changed (6 .. 11)."""
    chord, X, pivot = chords(loops), chord_work(loops), chord_pivots(loops)
    size, count, na = _record_size(chord, c), chord[c, N_ROWS], chord[c, NU]
    own, own_pivot = ints2(room, 1, N_CHORD), ints2(room + 8 * N_CHORD, 1, 6)  # this chord alone
    for k in range(N_CHORD):
        own[0, k] = chord[c, k]
    own[0, ADDRESS], own[0, FIRST_Q], own[0, FIRST_ROW], own[0, RECORD] = chord[c, SLOPES], 0, 0, 0
    for k in range(6):
        own_pivot[0, k] = pivot[c, k]
    motion = room + 8 * (N_CHORD + 6)
    fitted = motion + 16 * N_CHORD_WORK
    record = fitted + 16 * 7
    row = record + 16 * size
    x = floats2(motion, N_CHORD_WORK, 2)
    _as_pairs(x, X[c], 0)
    _as_pairs(floats2(fitted, chord[c, NQ], 2), chord_q(loops), chord[c, FIRST_Q])
    _as_pairs(floats2(record, size, 2), chord_records(loops), chord[c, RECORD])
    if direction < 3:
        x[OFFSET + direction, 1] = 1.0
    elif direction < 6:  # [e x] C
        k, l = (direction - 2) % 3, (direction - 1) % 3
        for j in range(3):
            x[ROTATION + 3 * k + j, 1] = -x[ROTATION + 3 * l + j, 0]
            x[ROTATION + 3 * l + j, 1] = x[ROTATION + 3 * k + j, 0]
    else:
        x[RATE + direction - 6, 1] = 1.0
    Xd, qd, recorded, Yd = (
        pairs2(motion, 1, N_CHORD_WORK),
        pairs(fitted, 7),
        pairs(record, size),
        pairs2(row, count, N_ROW),
    )
    parameter, worked = parameter_pairs(plan), True
    if chord[c, KIND] == CONSTRAINT:
        if na > 0:
            worked = fit_unknowns(own, Xd, recorded, qd, parameter, 0, t)
        worked = worked and constraint_element(own, Yd, Xd, recorded, qd, own_pivot, parameter, 0, t)
    else:
        worked = fit_hinge(own, Xd, recorded, qd, parameter, 0, t)
        worked = worked and hinge_rows(own, Yd, Xd, recorded, qd, own_pivot, parameter, 0, t)
    y = floats2(row, count, 2 * N_ROW)
    for r in range(count):
        for k in range(6):
            out[N_LOCAL * r + k] = y[r, 2 * (ROW_F + k) + 1]
        out[N_LOCAL * r + 6] = y[r, 2 * VELOCITY + 1]
        out[N_LOCAL * r + 7] = y[r, 2 * BIAS + 1]
    return worked


@kernel
def _of_coordinates(plan, loops, c, t, direction, out, room):
    """Rows of a coupling by its coordinate (direction 0 .. n - 1) or speed (n .. 2 n - 1): partials, velocity, bias of each."""
    chord, path, dof, q, u, ud = (
        chords(loops),
        chord_paths(loops),
        dofs(plan),
        own_q(plan),
        own_u(plan),
        own_ud(plan),
    )
    first, count = chord[c, PATH_START], chord[c, N_ROWS]
    n = chord[c, PATH_END] - first
    D = floats(room, 2 * (2 * n + count * (3 + n)))
    for k in range(D.shape[0]):
        D[k] = 0.0
    for i in range(n):
        D[2 * i] = q[path[first + i, COORDINATE]]
        D[2 * (n + i)] = u[dof[path[first + i, SPEED], PUBLIC]]
    D[2 * direction + 1] = 1.0
    at = 4 * n
    own = parameter_pairs(plan)
    status = call_element(chord[c, SLOPES], D, 0, D, 2 * n, t, own, chord[c, PARAMETER], D, at)
    for r in range(count):
        velocity, bias = D[at + 2 * (count + r) + 1], D[at + 2 * (2 * count + r) + 1]
        for i in range(n):
            slope = D[at + 2 * (3 * count + n * r + i) + 1]
            out[(n + 2) * r + i] = slope
            velocity += slope * D[2 * (n + i)]
            bias += slope * ud[dof[path[first + i, SPEED], PUBLIC]]
            if direction == n + i:
                velocity += D[at + 2 * (3 * count + n * r + i)]
        out[(n + 2) * r + n] = velocity
        out[(n + 2) * r + n + 1] = bias
    return status == 1


@kernel
def chord_slopes(plan, loops, c, t, direction, room):
    """Derivatives of all rows of chord c along a direction, at the address `room`; whether there are any, all of them numbers."""
    chord = chords(loops)
    coupled = chord[c, KIND] == COUPLING
    n = chord[c, N_ROWS] * (chord[c, PATH_END] - chord[c, PATH_START] + 2 if coupled else N_LOCAL)
    out = floats(room, n)
    if coupled:
        worked = _of_coordinates(plan, loops, c, t, direction, out, room + 8 * n)
    else:
        worked = _of_pose(plan, loops, c, t, direction, out, room + 8 * n)
    total = 0.0
    for k in range(n):
        total += 0.0 * out[k]
    return worked and total == 0.0
