# mypy: ignore-errors
"""Derivatives, exact to rounding, of the rows of a chord by address along one direction, by dual numbers.

The kernels that make the rows (hinge.py, equations.py) run once more on dual numbers and call the dual form
of the element (elements.compilation.entry). The fitted coordinates of a cut hinge, or auxiliary unknowns,
solve their equations at the state; one Gauss-Newton step on dual numbers from there gives their derivatives
(implicit function theorem).
"""

from ..kernel.language import call_element, duals, duals2, floats, floats2, ints2, kernel
from ..plan.chord_views import chord_paths, chord_pivots, chord_q, chord_records, chord_work, chords
from ..plan.columns import chord, row, speed
from ..plan.views import dofs, own_q, own_u, own_ud, parameter_duals
from .equations import constraint_element, fit_unknowns
from .hinge import fit_hinge, hinge_rows


@kernel
def _record_size(plan_chord, c):
    """Return the numbers in the record of a constraint or of a hinge."""
    if plan_chord[c, chord.KIND] == chord.CONSTRAINT:
        n, na = plan_chord[c, chord.N_ROWS] + plan_chord[c, chord.NU], plan_chord[c, chord.NU]
        return n * (9 + 2 * na + plan_chord[c, chord.HOLONOMIC])
    return 24 + 6 * plan_chord[c, chord.NU]


@kernel
def _as_duals(to, values, first):
    """Write numbers as dual numbers with derivative zero."""
    for k in range(to.shape[0]):
        to[k, 0] = values[first + k]
        to[k, 1] = 0.0


@kernel
def _of_pose(plan, loops, c, t, direction, out, workspace):
    """Differentiate the rows of a hinge or constraint by a displacement of b (direction 0 .. 5) or rate (6 .. 11).

    Returns False if the element failed.
    """
    plan_chord, X, pivot = chords(loops), chord_work(loops), chord_pivots(loops)
    size, count, na = _record_size(plan_chord, c), plan_chord[c, chord.N_ROWS], plan_chord[c, chord.NU]
    own, own_pivot = (
        ints2(workspace, 1, chord.N_COLUMNS),
        ints2(workspace + 8 * chord.N_COLUMNS, 1, 6),
    )  # this chord alone
    for k in range(chord.N_COLUMNS):
        own[0, k] = plan_chord[c, k]
    own[0, chord.ADDRESS], own[0, chord.FIRST_Q], own[0, chord.FIRST_ROW], own[0, chord.RECORD] = (
        plan_chord[c, chord.DUAL],
        0,
        0,
        0,
    )
    for k in range(6):
        own_pivot[0, k] = pivot[c, k]
    motion = workspace + 8 * (chord.N_COLUMNS + 6)
    fitted = motion + 16 * chord.N_WORK
    record = fitted + 16 * 7
    index = record + 16 * size
    x = floats2(motion, chord.N_WORK, 2)
    _as_duals(x, X[c], 0)
    _as_duals(floats2(fitted, plan_chord[c, chord.NQ], 2), chord_q(loops), plan_chord[c, chord.FIRST_Q])
    _as_duals(floats2(record, size, 2), chord_records(loops), plan_chord[c, chord.RECORD])
    if direction < 3:
        x[chord.OFFSET + direction, 1] = 1.0
    elif direction < 6:  # [e x] C
        k, l = (direction - 2) % 3, (direction - 1) % 3
        for j in range(3):
            x[chord.ROTATION + 3 * k + j, 1] = -x[chord.ROTATION + 3 * l + j, 0]
            x[chord.ROTATION + 3 * l + j, 1] = x[chord.ROTATION + 3 * k + j, 0]
    else:
        x[chord.RATE + direction - 6, 1] = 1.0
    Xd, qd, recorded, Yd = (
        duals2(motion, 1, chord.N_WORK),
        duals(fitted, 7),
        duals(record, size),
        duals2(index, count, row.N_COLUMNS),
    )
    parameter, worked = parameter_duals(plan), True
    if plan_chord[c, chord.KIND] == chord.CONSTRAINT:
        if na > 0:
            worked = fit_unknowns(own, Xd, recorded, qd, parameter, 0, t)
        worked = worked and constraint_element(own, Yd, Xd, recorded, qd, own_pivot, parameter, 0, t)
    else:
        worked = fit_hinge(own, Xd, recorded, qd, parameter, 0, t)
        worked = worked and hinge_rows(own, Yd, Xd, recorded, qd, own_pivot, parameter, 0, t)
    y = floats2(index, count, 2 * row.N_COLUMNS)
    for r in range(count):
        for k in range(6):
            out[chord.N_LOCAL * r + k] = y[r, 2 * (row.F + k) + 1]
        out[chord.N_LOCAL * r + 6] = y[r, 2 * row.VELOCITY + 1]
        out[chord.N_LOCAL * r + 7] = y[r, 2 * row.BIAS + 1]
    return worked


@kernel
def _of_coordinates(plan, loops, c, t, direction, out, workspace):
    """Differentiate the rows of a coupling by a coordinate (direction 0 .. n - 1) or a speed (n .. 2 n - 1).

    The derivatives of a row are those of its partials, velocity and bias. Returns False if the element
    failed.
    """
    plan_chord, path, dof, q, u, ud = (
        chords(loops),
        chord_paths(loops),
        dofs(plan),
        own_q(plan),
        own_u(plan),
        own_ud(plan),
    )
    first, count = plan_chord[c, chord.PATH_START], plan_chord[c, chord.N_ROWS]
    n = plan_chord[c, chord.PATH_END] - first
    D = floats(workspace, 2 * (2 * n + count * (3 + n)))
    for k in range(D.shape[0]):
        D[k] = 0.0
    for i in range(n):
        D[2 * i] = q[path[first + i, chord.COORDINATE]]
        D[2 * (n + i)] = u[dof[path[first + i, chord.SPEED], speed.PUBLIC]]
    D[2 * direction + 1] = 1.0
    at = 4 * n
    own = parameter_duals(plan)
    status = call_element(
        plan_chord[c, chord.DUAL], D, 0, D, 2 * n, t, own, plan_chord[c, chord.PARAMETER], D, at
    )
    for r in range(count):
        velocity, bias = D[at + 2 * (count + r) + 1], D[at + 2 * (2 * count + r) + 1]
        for i in range(n):
            derivative = D[at + 2 * (3 * count + n * r + i) + 1]
            out[(n + 2) * r + i] = derivative
            velocity += derivative * D[2 * (n + i)]
            bias += derivative * ud[dof[path[first + i, chord.SPEED], speed.PUBLIC]]
            if direction == n + i:
                velocity += D[at + 2 * (3 * count + n * r + i)]
        out[(n + 2) * r + n] = velocity
        out[(n + 2) * r + n + 1] = bias
    return status == 1


@kernel
def chord_duals(plan, loops, c, t, direction, workspace):
    """Differentiate all rows of chord c along a direction; the result is at the address `workspace`.

    Returns False if the element failed or a derivative is not a finite number.
    """
    plan_chord = chords(loops)
    coupled = plan_chord[c, chord.KIND] == chord.COUPLING
    n = plan_chord[c, chord.N_ROWS] * (
        plan_chord[c, chord.PATH_END] - plan_chord[c, chord.PATH_START] + 2 if coupled else chord.N_LOCAL
    )
    out = floats(workspace, n)
    if coupled:
        worked = _of_coordinates(plan, loops, c, t, direction, out, workspace + 8 * n)
    else:
        worked = _of_pose(plan, loops, c, t, direction, out, workspace + 8 * n)
    total = 0.0
    for k in range(n):
        total += 0.0 * out[k]
    return worked and total == 0.0
