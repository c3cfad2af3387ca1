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

_ITERATIONS, _SMALLEST = 50, 1e-3


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
def _look(plan, loops, e, M, at):
    """Write the load of the chord that element e depends on, from the solution, into M at `at`.

    If the chord closes a frame that carries the coordinates of a hinge, the loads along the motions of this
    hinge, of its drives and springs, are left out: M has workspace for them behind `at`.
    """
    plan_chord, Y, kept, masked, x = (
        chords(loops),
        rows(loops),
        kept_rows(loops),
        masks(loops),
        solutions(loops),
    )
    table, plan_body, S = effort_table(plan), bodies(plan), speed_work(plan)
    n, c, i = fixed_speeds(loops).shape[0], table[e, effort.REACTION], table[e, effort.FRAME]
    for k in range(6):
        M[at + k] = 0.0
    for r in range(
        plan_chord[c, chord.FIRST_ROW], plan_chord[c, chord.FIRST_ROW] + plan_chord[c, chord.N_ROWS]
    ):
        if kept[r] >= 0 and masked[kept[r]] == 0:
            for k in range(6):
                M[at + k] -= x[n + kept[r]] * Y[r, row.F + k]
    for j in range(plan_body[i, body.NU] if i > 0 else 0):  # Gram and Schmidt
        own, d = at + 6 + 6 * j, plan_body[i, body.DOF] + j
        for k in range(3):
            M[own + k] = S[d, speed.PARTIAL_V + k]
            M[own + 3 + k] = S[d, speed.PARTIAL_W + k]
        for before in range(at + 6, own, 6):
            _remove(M, own, before)
        _remove(M, at, own)


@kernel
def _remove(M, a, b):
    """Subtract from the six numbers at a their part along the six numbers at b."""
    along, size = 0.0, 1e-300
    for k in range(6):
        along += M[a + k] * M[b + k]
        size += M[b + k] * M[b + k]
    for k in range(6):
        M[a + k] -= along / size * M[b + k]


@kernel
def apply_reactions(plan, loops, t):
    """Apply the reaction-dependent elements, with the multipliers in the solution.

    Returns a status code (kernel.status).
    """
    m, table, M = effort_records(plan), effort_table(plan), reaction_workspace(loops)
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            _look(plan, loops, e, M, 0)
            for k in range(6):
                m[_seen(table, e) + k] = M[k]
            status = call(plan, e, t)
            if status != OK:
                return status
            scatter(plan, e)
    return OK


@kernel
def _solve_with(plan, loops, t, M, w, count):
    """Solve for the multipliers with the loads that the elements see now.

    The last column of M gets what these differ from the loads that follow. Returns a status code
    (kernel.status), the largest difference and the largest load.
    """
    m, table, right, base = (
        effort_records(plan),
        effort_table(plan),
        right_sides(loops),
        reaction_bases(loops),
    )
    for k in range(right.shape[0]):
        right[k] = base[k]
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            status = call(plan, e, t)
            if status != OK:
                return status, 1e300, 1.0
            _add_load(plan, loops, e, table[e, effort.LOAD_RECORD], 1)
    solve(loops)
    own, gap, scale = 0, 0.0, 1.0
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            _look(plan, loops, e, M, count * w)
            for k in range(6):
                load = M[count * w + k]
                M[own * w + count] = load - m[_seen(table, e) + k]
                gap, scale = max(gap, abs(M[own * w + count])), max(scale, abs(load))
                own += 1
    return OK, gap, scale


@kernel
def _step(plan, M, w, count, factor):
    """Change the loads that the elements see by a part of Newton's step, which is kept behind the workspace."""
    m, table, own = effort_records(plan), effort_table(plan), count * w + 48
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            for k in range(6):
                m[_seen(table, e) + k] += factor * M[own]
                own += 1


@kernel
def solve_reactions(plan, loops, t):
    """Apply the reaction-dependent elements, and solve for the multipliers together with them.

    Call it after the solution without them, whose right side is kept and whose loads are the start: the result
    is a function of the state alone. A step of Newton's method that leads away is halved. Returns a status
    code (kernel.status).
    """
    m, table, M = effort_records(plan), effort_table(plan), reaction_workspace(loops)
    right, base = right_sides(loops), reaction_bases(loops)
    size, count, failed = right.shape[0], 0, 0
    for k in range(size):
        base[k] = right[k]
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            count, failed = count + 6, e
    w = count + 1
    for e in range(table.shape[0]):
        if table[e, effort.REACTION] >= 0:
            _look(plan, loops, e, M, count * w)
            for k in range(6):
                m[_seen(table, e) + k] = M[count * w + k]
    status, gap, scale = _solve_with(plan, loops, t, M, w, count)
    last = 1e300
    for _ in range(_ITERATIONS):
        if status != OK:
            return status
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
                    own = 0
                    for other in range(table.shape[0]):
                        if table[other, effort.REACTION] >= 0:
                            _look(plan, loops, other, M, count * w)
                            for j in range(6):
                                M[own * w + column] = -M[count * w + j]
                                own += 1
                    M[column * w + column] += 1.0
                    column += 1
        eliminate(M, 0, count)
        for k in range(count):
            M[count * w + 48 + k] = M[k * w + count]
        factor = 1.0
        _step(plan, M, w, count, factor)
        status, gap, scale = _solve_with(plan, loops, t, M, w, count)
        while (status != OK or not gap <= last) and gap > 1e-10 * scale and factor > _SMALLEST:
            _step(plan, M, w, count, -0.5 * factor)
            factor *= 0.5
            status, gap, scale = _solve_with(plan, loops, t, M, w, count)
    return REACTION_LOST + 16 * failed
