# mypy: ignore-errors
"""Derivatives of the rows of a chord whose element is called through its address.

The rows of a cut hinge or a constraint depend on the motion of end b relative to end a, in the base of a:
they are differentiated by displacement and turn, and by the rates of both. The rows of a coupling depend on
coordinates and speeds. The derivatives come from dual numbers (kinematics.chords.duals).

An element is differenced if it has no such form, or if the result is not finite. By rates the differences are
exact, because the biases are polynomials of second degree. By the pose they are central differences of eighth
order; the step is halved until two derivatives agree (to about 1e-12 of the rows), and the best ones are
kept. Rough derivatives, for Newton's method in an integrator, are forward differences with one call each.
"""

from ..kernel.differences import ROUGH_STEP, eighth_order, keep_best
from ..kernel.language import address_of, call_part, call_rhs, floats, floats2, kernel
from ..kernel.vector import euler_rotation, multiply
from ..plan.chord_views import (
    CHORD_DUALS,
    CHORD_ELEMENT,
    chord_paths,
    chord_pivots,
    chord_q,
    chord_work,
    chords,
    partials,
    rows,
)
from ..plan.columns import chord, row, speed
from ..plan.views import dofs, own_q, own_u

_FIRST_STEP, _LEVELS = 2.0**-6, 8


@kernel
def _on_duals(loops, c, t, direction, best, workspace):
    """Differentiate all rows along a direction by dual numbers into best.

    Returns False if that gives no numbers.
    """
    if loops[CHORD_DUALS] == 0 or chords(loops)[c, chord.DUAL] == 0:
        return False
    if (
        call_rhs(loops[CHORD_DUALS], t, chord.MOST_DIRECTIONS * c + direction, workspace, address_of(loops))
        != 1
    ):
        return False
    found = floats(workspace, best.shape[0])
    for k in range(best.shape[0]):
        best[k] = found[k]
    return True


# ---------------------------------------------------------------- cut hinges and constraints
@kernel
def _keep(loops, c, kept):
    """Copy everything an evaluation of chord c may change, except its record."""
    plan_chord, X, q, pivot = chords(loops), chord_work(loops), chord_q(loops), chord_pivots(loops)
    for k in range(chord.N_WORK):
        kept[k] = X[c, k]
    for k in range(plan_chord[c, chord.NQ]):
        kept[chord.N_WORK + k] = q[plan_chord[c, chord.FIRST_Q] + k]
    for k in range(6):
        kept[chord.N_WORK + 7 + k] = pivot[c, k]


@kernel
def _restore(loops, c, kept):
    """Undo an evaluation of chord c, from the copy made by `_keep`."""
    plan_chord, X, q, pivot = chords(loops), chord_work(loops), chord_q(loops), chord_pivots(loops)
    for k in range(chord.N_WORK):
        X[c, k] = kept[k]
    for k in range(plan_chord[c, chord.NQ]):
        q[plan_chord[c, chord.FIRST_Q] + k] = kept[chord.N_WORK + k]
    for k in range(6):
        pivot[c, k] = int(kept[chord.N_WORK + 7 + k])


@kernel
def _moved(loops, c, t, kept, direction, h, out):
    """Evaluate the rows with b displaced (direction 0 .. 5) or its rates changed (6 .. 11) by h.

    Returns False if the element failed.
    """
    plan_chord, X, Y = chords(loops), chord_work(loops), rows(loops)
    _restore(loops, c, kept)
    if direction < 3:
        X[c, chord.OFFSET + direction] += h
    elif direction < 6:
        half = 0.5 * h
        turn = euler_rotation(
            1.0,
            half if direction == 3 else 0.0,
            half if direction == 4 else 0.0,
            half if direction == 5 else 0.0,
        )
        C = multiply(
            turn,
            (
                kept[chord.ROTATION], kept[chord.ROTATION + 1], kept[chord.ROTATION + 2], kept[chord.ROTATION + 3], kept[chord.ROTATION + 4],
                kept[chord.ROTATION + 5], kept[chord.ROTATION + 6], kept[chord.ROTATION + 7], kept[chord.ROTATION + 8],
            ),
        )  # fmt: skip
        for k in range(9):
            X[c, chord.ROTATION + k] = C[k]
    else:
        X[c, chord.RATE + direction - 6] += h
    if call_part(loops[CHORD_ELEMENT], c, t, loops) != 1:
        return False
    for r in range(plan_chord[c, chord.N_ROWS]):
        index = plan_chord[c, chord.FIRST_ROW] + r
        for k in range(6):
            out[chord.N_LOCAL * r + k] = Y[index, row.F + k]
        out[chord.N_LOCAL * r + 6] = Y[index, row.VELOCITY]
        out[chord.N_LOCAL * r + 7] = Y[index, row.BIAS]
    return True


@kernel
def _by_pose(loops, c, t, kept, direction, base, value, now, before, best):
    """Difference the rows along a direction of the pose into best. Returns False if the element failed."""
    size, least = 0.0, 1e300
    for k in range(base.shape[0]):
        size = max(size, abs(base[k]))
    for level in range(_LEVELS):
        h = _FIRST_STEP * 0.5**level
        for k in range(now.shape[0]):
            now[k] = 0.0
        for side in range(8):
            displacement, weight = eighth_order(side, h)
            if not _moved(loops, c, t, kept, direction, displacement, value):
                return False
            for k in range(now.shape[0]):
                now[k] += weight * value[k]
        done, least = keep_best(level, size, best, now, before, least)
        if done:
            break
    return True


@kernel
def pose_partials(loops, c, t, rough, out, workspace):
    """Differentiate the rows of a cut hinge or constraint by the motion of b relative to a.

    At `out`: the wrenches (rows, 6) in the base of a; by each displacement and turn (6, rows, N_LOCAL)
    wrench, velocity and bias; by each rate (6, rows) the bias. Call it after `constraint_rows`, whose results
    are restored. Returns False if the element failed.
    """
    plan_chord, Y = chords(loops), rows(loops)
    first, count = plan_chord[c, chord.FIRST_ROW], plan_chord[c, chord.N_ROWS]
    n = count * chord.N_LOCAL
    value, now, before, base = (
        floats(workspace, n),
        floats(workspace + 8 * n, n),
        floats(workspace + 16 * n, n),
        floats(workspace + 24 * n, n),
    )
    written, kept = (
        floats2(workspace + 32 * n, count, row.N_COLUMNS),
        floats(workspace + 32 * n + 8 * count * row.N_COLUMNS, chord.N_KEPT),
    )
    wrench, by_rate = floats2(out, count, 6), floats2(out + 8 * (6 * count + 6 * n), 6, count)
    for r in range(count):
        for k in range(row.N_COLUMNS):
            written[r, k] = Y[first + r, k]
    _keep(loops, c, kept)
    worked = _moved(loops, c, t, kept, 0, 0.0, base)
    for r in range(count):
        for k in range(6):
            wrench[r, k] = base[chord.N_LOCAL * r + k]
    derivatives = workspace + 32 * n + 8 * (count * row.N_COLUMNS + chord.N_KEPT)
    for direction in range(6):
        best = floats(out + 8 * (6 * count + n * direction), n)
        if _on_duals(loops, c, t, direction, best, derivatives):
            continue
        if rough == 1:
            worked = worked and _moved(loops, c, t, kept, direction, ROUGH_STEP, value)
            for k in range(n):
                best[k] = (value[k] - base[k]) / ROUGH_STEP
        else:
            worked = worked and _by_pose(loops, c, t, kept, direction, base, value, now, before, best)
    for k in range(6):
        if _on_duals(loops, c, t, 6 + k, value, derivatives):
            for r in range(count):
                by_rate[k, r] = value[chord.N_LOCAL * r + 7]
        elif rough == 1:
            h = ROUGH_STEP * max(1.0, abs(kept[chord.RATE + k]))
            worked = worked and _moved(loops, c, t, kept, 6 + k, h, value)
            for r in range(count):
                by_rate[k, r] = (value[chord.N_LOCAL * r + 7] - base[chord.N_LOCAL * r + 7]) / h
        else:
            worked = worked and _moved(loops, c, t, kept, 6 + k, 1.0, value)
            worked = worked and _moved(loops, c, t, kept, 6 + k, -1.0, now)
            for r in range(count):
                by_rate[k, r] = 0.5 * (value[chord.N_LOCAL * r + 7] - now[chord.N_LOCAL * r + 7])
    worked = worked and _moved(loops, c, t, kept, 0, 0.0, value)  # for the record
    _restore(loops, c, kept)
    for r in range(count):
        for k in range(row.N_COLUMNS):
            Y[first + r, k] = written[r, k]
    return worked


# ---------------------------------------------------------------- couplings
@kernel
def _coupled(plan, loops, c, t, kept, by_rate, argument, h, out):
    """Evaluate partials, velocities and biases of coupling c with one coordinate (by_rate: speed) changed by h.

    Returns False if the element failed.
    """
    plan_chord, path, Y, entry = chords(loops), chord_paths(loops), rows(loops), partials(loops)
    q, u, dof = own_q(plan), own_u(plan), dofs(plan)
    first, count = plan_chord[c, chord.PATH_START], plan_chord[c, chord.N_ROWS]
    n, at = plan_chord[c, chord.PATH_END] - first, plan_chord[c, chord.FIRST_ENTRY]
    place, at_speed = (
        path[first + argument, chord.COORDINATE],
        dof[path[first + argument, chord.SPEED], speed.PUBLIC],
    )
    if by_rate:
        u[at_speed] = kept[n + argument] + h
    else:
        q[place] = kept[argument] + h
    worked = call_part(loops[CHORD_ELEMENT], c, t, loops) == 1
    q[place], u[at_speed] = kept[argument], kept[n + argument]
    for r in range(count):
        for i in range(n):
            out[(n + 2) * r + i] = entry[at + count * i + r]
        out[(n + 2) * r + n] = Y[plan_chord[c, chord.FIRST_ROW] + r, row.VELOCITY]
        out[(n + 2) * r + n + 1] = Y[plan_chord[c, chord.FIRST_ROW] + r, row.BIAS]
    return worked


@kernel
def coordinate_partials(plan, loops, c, t, rough, out, workspace):
    """Differentiate the rows of a coupling by the coordinates and speeds it joins.

    At `out`: by each coordinate (n, rows, n + 2) partials, velocity and bias; by each speed (n, rows) the
    bias. Returns False if the element failed.
    """
    plan_chord, path, dof = chords(loops), chord_paths(loops), dofs(plan)
    q, u = own_q(plan), own_u(plan)
    first, count = plan_chord[c, chord.PATH_START], plan_chord[c, chord.N_ROWS]
    n = plan_chord[c, chord.PATH_END] - first
    width, m = n + 2, count * (n + 2)
    value, now, before, base = (
        floats(workspace, m),
        floats(workspace + 8 * m, m),
        floats(workspace + 16 * m, m),
        floats(workspace + 24 * m, m),
    )
    kept, by_rate = floats(workspace + 32 * m, 2 * n), floats2(out + 8 * n * m, n, count)
    for i in range(n):
        kept[i] = q[path[first + i, chord.COORDINATE]]
        kept[n + i] = u[dof[path[first + i, chord.SPEED], speed.PUBLIC]]
    derivatives = workspace + 32 * m + 16 * n
    worked, size = _coupled(plan, loops, c, t, kept, False, 0, 0.0, base), 0.0
    for k in range(m):
        size = max(size, abs(base[k]))
    for i in range(n):
        best, least = floats(out + 8 * m * i, m), 1e300
        if _on_duals(loops, c, t, i, best, derivatives):
            continue
        if rough == 1:
            h = ROUGH_STEP * max(1.0, abs(kept[i]))
            worked = worked and _coupled(plan, loops, c, t, kept, False, i, h, value)
            for k in range(m):
                best[k] = (value[k] - base[k]) / h
            continue
        for level in range(_LEVELS):
            h = _FIRST_STEP * 0.5**level
            for k in range(m):
                now[k] = 0.0
            for side in range(8):
                displacement, weight = eighth_order(side, h)
                worked = worked and _coupled(plan, loops, c, t, kept, False, i, displacement, value)
                for k in range(m):
                    now[k] += weight * value[k]
            done, least = keep_best(level, size, best, now, before, least)
            if done:
                break
    for i in range(n):
        if _on_duals(loops, c, t, n + i, value, derivatives):
            for r in range(count):
                by_rate[i, r] = value[width * r + n + 1]
            continue
        h = ROUGH_STEP * max(1.0, abs(kept[n + i])) if rough == 1 else 1.0
        worked = worked and _coupled(plan, loops, c, t, kept, True, i, h, value)
        if rough == 0:
            worked = worked and _coupled(plan, loops, c, t, kept, True, i, -h, base)
        for r in range(count):
            at = width * r + n + 1
            by_rate[i, r] = (value[at] - base[at]) / (h if rough == 1 else 2.0 * h)
    return worked and _coupled(plan, loops, c, t, kept, False, 0, 0.0, base)
