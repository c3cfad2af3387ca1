# mypy: ignore-errors
"""Elements that depend on the load of a chord, solved together with the multipliers (9.3.11).

The loads of the chords depend linearly on the loads of the elements; the elements depend on the loads of the
chords by their own laws, with exact derivatives. Newton's method finds the loads that the elements see.
"""

from treemech.elements import energetic
from treemech.kinematics.kernel.language import kernel, load3, load9
from treemech.kinematics.kernel.status import OK, REACTION_LOST
from treemech.kinematics.kernel.vector import add, cross, dot, rotate, sub
from treemech.kinematics.plan.chord_views import chords, rows
from treemech.kinematics.plan.columns import body, chord, effort, row, speed
from treemech.kinematics.plan.views import (
    acted_table,
    bodies,
    body_work,
    dofs,
    effort_records,
    effort_table,
    end_points,
    end_table,
    speed_work,
)

from ..equations.loop_views import (
    fixed_speeds,
    kept_rows,
    masks,
    reaction_bases,
    reaction_workspace,
    right_sides,
    solutions,
)
from ..equations.loops import solve
from .composites import eliminate
from .efforts import call, scatter

_ITERATIONS = 50


@kernel
def _seen(table, e):
    """Return the place in the records where element e sees the load of its chord."""
    return (
        table[e, effort.MOTION_RECORD]
        + energetic.MOTION_PER_END * table[e, effort.N_ENDS]
        + 2 * table[e, effort.N_ACTED]
        + table[e, effort.N_STATES]
        + table[e, effort.N_INPUTS]
        + table[e, effort.N_MEMORY]
    )


@kernel
def _add_load(plan, loops, e, at, stride):
    """Add the loads of element e, which stand in the records at `at`, `stride` apart, to the right side."""
    W, S, m, table = body_work(plan), speed_work(plan), effort_records(plan), effort_table(plan)
    plan_body, dof, ends, points = bodies(plan), dofs(plan), end_table(plan), end_points(plan)
    right, fixed, acted = right_sides(loops), fixed_speeds(loops), acted_table(plan)
    n = table[e, effort.N_ENDS]
    for k in range(n):
        i, f, g = ends[table[e, effort.FIRST_END] + k, 0], at + 3 * k * stride, at + 3 * (n + k) * stride
        force = (m[f], m[f + stride], m[f + 2 * stride])
        moment = (m[g], m[g + stride], m[g + 2 * stride])
        place = add(
            load3(W, i, body.P), rotate(load9(W, i, body.R), load3(points, table[e, effort.FIRST_END] + k, 9))
        )
        while i > 0:
            about = add(moment, cross(sub(place, load3(W, i, body.P)), force))
            for d in range(plan_body[i, body.DOF], plan_body[i, body.DOF] + plan_body[i, body.NU]):
                if fixed[d] == 0:
                    right[d] += dot(load3(S, d, speed.PARTIAL_V), force) + dot(
                        load3(S, d, speed.PARTIAL_W), about
                    )
            i = plan_body[i, body.PARENT]
    for k in range(table[e, effort.N_ACTED]):
        at_speed = acted[table[e, effort.FIRST_ACTED] + k, effort.ACTED_U]
        for d in range(dof.shape[0]):
            if dof[d, speed.PUBLIC] == at_speed and fixed[d] == 0:
                right[d] += m[at + (6 * n + k) * stride]


@kernel
def _chord_load(loops, c, k):
    """Return component k of the load of chord c, from the solution."""
    plan_chord, Y, kept, masked, x = (
        chords(loops),
        rows(loops),
        kept_rows(loops),
        masks(loops),
        solutions(loops),
    )
    n, total = fixed_speeds(loops).shape[0], 0.0
    for r in range(
        plan_chord[c, chord.FIRST_ROW], plan_chord[c, chord.FIRST_ROW] + plan_chord[c, chord.N_ROWS]
    ):
        if kept[r] >= 0 and masked[kept[r]] == 0:
            total -= x[n + kept[r]] * Y[r, row.F + k]
    return total


@kernel
def apply_reactions(plan, loops, t):
    """Apply the reaction-dependent elements, with the multipliers in the solution.

    Returns a status code (kernel.status).
    """
    m, table = effort_records(plan), effort_table(plan)
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            for k in range(6):
                m[_seen(table, e) + k] = _chord_load(loops, table[e, effort.REACTION], k)
            status = call(plan, e, t)
            if status != OK:
                return status
            scatter(plan, e)
    return OK


@kernel
def solve_reactions(plan, loops, t):
    """Apply the reaction-dependent elements, and solve for the multipliers together with them.

    Call it after the solution without them, whose right side is kept. Returns a status code (kernel.status).
    """
    m, table, M = effort_records(plan), effort_table(plan), reaction_workspace(loops)
    right, base = right_sides(loops), reaction_bases(loops)
    size, count = right.shape[0], 0
    for k in range(size):
        base[k] = right[k]
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            count += 6
    w, last = count + 1, 1e300
    for _ in range(_ITERATIONS):
        for k in range(size):
            right[k] = base[k]
        for e in range(table.shape[0]):
            if table[e, effort.REACTION] >= 0:
                status = call(plan, e, t)
                if status != OK:
                    return status
                _add_load(plan, loops, e, table[e, effort.LOAD_RECORD], 1)
        solve(loops)
        row, scale = 0, 1.0
        for e in range(table.shape[0]):
            if table[e, effort.REACTION] >= 0:
                for k in range(6):
                    load = _chord_load(loops, table[e, effort.REACTION], k)
                    M[row * w + count] = load - m[_seen(table, e) + k]
                    scale = max(scale, abs(load))
                    row += 1
        gap = 0.0
        for r in range(count):
            gap = max(gap, abs(M[r * w + count]))
        if gap <= 1e-14 * scale or (gap <= 1e-10 * scale and gap >= 0.25 * last):
            for e in range(table.shape[0]):
                if table[e, effort.REACTION] >= 0:
                    scatter(plan, e)
            return OK
        last, column = gap, 0
        for e in range(table.shape[0]):
            if table[e, effort.REACTION] >= 0:
                for k in range(6):
                    for j in range(size):
                        right[j] = 0.0
                    _add_load(plan, loops, e, table[e, effort.LOAD_RECORD] + table[e, effort.N_LOAD] + k, 6)
                    solve(loops)
                    row = 0
                    for other in range(table.shape[0]):
                        if table[other, effort.REACTION] >= 0:
                            for j in range(6):
                                M[row * w + column] = -_chord_load(loops, table[other, effort.REACTION], j)
                                row += 1
                    M[column * w + column] += 1.0
                    column += 1
        eliminate(M, 0, count)
        row = 0
        for e in range(table.shape[0]):
            if table[e, effort.REACTION] >= 0:
                for k in range(6):
                    m[_seen(table, e) + k] += M[row * w + count]
                    row += 1
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            for k in range(6):
                m[_seen(table, e) + k] = 0.0
            failed = e
    return REACTION_LOST + 16 * failed
