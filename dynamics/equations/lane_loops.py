# mypy: ignore-errors
"""Equations of motion with chords of several states at once: `loops.py` for a context of lanes.

The formulas are those of `loops.py`, evaluated in the same order, so every lane has the digits of its state alone. All
rows count (none is masked, no contact switches), and chains are kept closed by projection; other models go state by state. Decisions
are made in every lane for itself: a lane that is closed stays as it is while others go on.
"""

from math import atan2, floor, pi, sqrt

from treemech.elements.lanes.numbers import alike, both, select, some
from treemech.kinematics.kernel.language import kernel, load3, number_size, numbers
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.kernel.vector import dot, sub
from treemech.kinematics.plan.chord_views import chord_paths, chord_q, chord_work, chords, partials, rows
from treemech.kinematics.plan.columns import body, chord, row, speed
from treemech.kinematics.plan.views import (
    bodies,
    counts,
    dofs,
    n_audit,
    n_states,
    own_q,
    own_required,
    own_u,
    own_ud,
)
from treemech.kinematics.tree.sweep import coordinate_rates, normalise, turn_speeds

from . import kkt, watch
from .loop_views import (
    added_entries_a,
    added_entries_b,
    added_rows,
    added_slots,
    diagonals,
    entry_speeds,
    factor,
    factor_columns,
    factor_row_starts,
    factor_rows,
    factor_slots,
    factor_starts,
    fixed_speeds,
    inverses,
    kept_rows,
    matrix,
    matrix_rows,
    matrix_starts,
    monitors,
    packed_mass,
    perms,
    permuted,
    pivots,
    right_sides,
    row_scales,
    scratch,
    slots,
    solutions,
    speed_columns,
    speed_rows,
    used_entries,
    used_slots,
    used_speeds,
    workspace_q,
    workspace_rows,
    workspace_u,
)
from .loops import CLOSE, SOUND, evaluate_rows, keeps_factor


@kernel
def factorise(loops):
    """Factorise the KKT matrices of the last evaluation and note the smallest pivot of a multiplier in each lane."""
    Ax, slot, diagonal, A, P = (
        matrix(loops),
        slots(loops),
        diagonals(loops),
        packed_mass(loops),
        partials(loops),
    )
    fixed, row, column = fixed_speeds(loops), speed_rows(loops), speed_columns(loops)
    entry, speed_of, entry_slot = used_entries(loops), used_speeds(loops), used_slots(loops)
    scale, perm, D, monitor = row_scales(loops), perms(loops), pivots(loops), monitors(loops)
    n, size = fixed.shape[0], perm.shape[0]
    for k in range(Ax.shape[0]):
        Ax[k] = 0.0
    for k in range(A.shape[0]):
        if fixed[row[k]] == 0 and fixed[column[k]] == 0:
            Ax[slot[k]] += A[k]
    for d in range(n):
        if fixed[d] == 1:
            Ax[diagonal[d]] = 1.0
    for k in range(entry.shape[0]):
        if fixed[speed_of[k]] == 0:
            Ax[entry_slot[k]] += P[entry[k]]
    added_a, added_b, added_slot = added_entries_a(loops), added_entries_b(loops), added_slots(loops)
    added_row, entry_speed = added_rows(loops), entry_speeds(loops)
    for k in range(added_row.shape[0]):
        a, b = added_a[k], added_b[k]
        if fixed[entry_speed[a]] == 0 and fixed[entry_speed[b]] == 0:
            Ax[added_slot[k]] += P[a] * P[b] / scale[added_row[k]]
    kkt.factorise(
        size, n, matrix_starts(loops), matrix_rows(loops), Ax, factor_starts(loops), factor_rows(loops),
        factor_row_starts(loops), factor_columns(loops), factor_slots(loops), perm, scale, factor(loops), D,
        inverses(loops), scratch(loops),
    )  # fmt: skip
    smallest = alike(1e300, D[0])
    for k in range(size):
        r = perm[k] - n
        if r >= 0:
            smallest = select(abs(D[k]) < smallest * scale[r], abs(D[k]) / scale[r], smallest)
    monitor[watch.LAST_PIVOT] = smallest
    monitor[watch.STEP_PIVOT] = min(monitor[watch.STEP_PIVOT], smallest)
    monitor[watch.LARGEST_PIVOT] = max(monitor[watch.LARGEST_PIVOT], smallest)


@kernel
def solve(loops):
    """Solve K x = right as `loops.solve` does; the lanes where the regularisation has an effect are refined once."""
    right, x, b, perm = right_sides(loops), solutions(loops), permuted(loops), perms(loops)
    Lp, Li, Lx, D, y = (
        factor_starts(loops),
        factor_rows(loops),
        factor(loops),
        inverses(loops),
        scratch(loops),
    )
    size, n = perm.shape[0], fixed_speeds(loops).shape[0]
    for k in range(size):
        x[k] = right[k]
    added_row, entry, other, P = (
        added_rows(loops),
        added_entries_a(loops),
        added_entries_b(loops),
        partials(loops),
    )
    fixed, scale, entry_speed = fixed_speeds(loops), row_scales(loops), entry_speeds(loops)
    for k in range(added_row.shape[0]):
        r, d = added_row[k], entry_speed[entry[k]]
        if entry[k] == other[k] and fixed[d] == 0:
            x[d] += P[entry[k]] * x[n + r] / scale[r]
    for k in range(size):
        b[k] = x[perm[k]]
    kkt.solve(size, Lp, Li, Lx, D, b)
    monitor = monitors(loops)
    weak = monitor[watch.LAST_PIVOT] < max(alike(kkt.WEAK, monitor[0]), SOUND * monitor[watch.LARGEST_PIVOT])
    if some(weak):
        for k in range(size):
            y[k] = x[perm[k]]
        kkt.residual(size, matrix_starts(loops), matrix_rows(loops), matrix(loops), y, b, y)
        kkt.solve(size, Lp, Li, Lx, D, y)
        for k in range(size):
            b[k] = select(weak, b[k] + y[k], b[k])
    for k in range(size):
        x[perm[k]] = b[k]


@kernel
def accelerate(plan, loops, tau, ud):
    """Solve for ud and the multipliers under the loads tau on the speeds, as `loops.accelerate` does."""
    right, x, Y, kept = right_sides(loops), solutions(loops), rows(loops), kept_rows(loops)
    fixed, dof, own, given = fixed_speeds(loops), dofs(plan), own_required(plan), own_ud(plan)
    n = fixed.shape[0]
    factorise(loops)
    for d in range(n):
        right[d] = 0.0
        if fixed[d] == 0:
            right[d] = tau[dof[d, speed.PUBLIC]] - own[dof[d, speed.PUBLIC]]
    for r in range(kept.shape[0]):
        if kept[r] >= 0:
            right[n + kept[r]] = -Y[r, row.BIAS]
    solve(loops)
    for d in range(n):
        public = dof[d, speed.PUBLIC]
        ud[public] = given[public] + x[d]


@kernel
def largest(loops, level):
    """Return the largest residual of a level in each lane: POSITION or VELOCITY."""
    Y = rows(loops)
    size = alike(0.0, rows(loops)[0, 0])
    for r in range(Y.shape[0]):
        size = max(size, abs(Y[r, level]))
    return size


@kernel
def correct(plan, loops, level, step):
    """Compute the mass-weighted step of the speeds that removes the residuals of a level, after `factorise`."""
    right, x, Y, kept, dof = right_sides(loops), solutions(loops), rows(loops), kept_rows(loops), dofs(plan)
    n = dof.shape[0]
    for d in range(n):
        right[d] = 0.0
    for r in range(kept.shape[0]):
        if kept[r] >= 0:
            right[n + kept[r]] = -Y[r, level]
    solve(loops)
    for d in range(n):
        step[dof[d, speed.PUBLIC]] = x[d]


@kernel
def project(plan, loops, W, S, t):
    """Project the states of the work arrays, which were evaluated and factorised last, onto the constraints.

    Returns a status, and the gaps that are left in the positions.
    """
    q, u, monitor = own_q(plan), own_u(plan), monitors(loops)
    rates, step, turn = workspace_q(loops), workspace_u(loops), workspace_rows(loops)
    rounding = select(
        monitor[watch.LAST_PIVOT] > CLOSE * monitor[watch.LARGEST_PIVOT],
        alike(2e-15, monitor[0]),
        alike(1e-16, monitor[0]),
    )
    gap, before = largest(loops, row.POSITION), alike(1e300, monitor[0])
    moving = both(gap > rounding, both(gap <= 0.5 * before, before >= 1e-9))
    status, moved, stale = OK, False, alike(0.0, gap)  # 1 in lanes whose factors are too old for their speeds
    correct(plan, loops, row.VELOCITY, turn)
    while some(moving) and status == OK:
        if moved:
            factorise(loops)
        correct(plan, loops, row.POSITION, step)
        coordinate_rates(plan, q, step, rates)
        for k in range(q.shape[0]):
            rates[k] = q[k] + rates[k]
        normalise(plan, rates)
        for k in range(q.shape[0]):
            q[k] = select(moving, rates[k], q[k])
        before, moved = select(moving, gap, before), True
        status = evaluate_rows(plan, loops, W, S, t, q, u)
        gap = largest(loops, row.POSITION)
        # what becomes of the speeds of a lane that is closed now, as long as it has its factors
        correct(plan, loops, row.VELOCITY, step)
        keeps = keeps_factor(before, largest(loops, row.VELOCITY), monitor)
        stale = select(moving, select(keeps, alike(0.0, gap), alike(1.0, gap)), stale)
        for k in range(u.shape[0]):
            turn[k] = select(moving, step[k], turn[k])
        moving = both(moving, both(gap > rounding, both(gap <= 0.5 * before, before >= 1e-9)))
    if status == OK:
        if some(stale > 0.0):
            factorise(loops)
            correct(plan, loops, row.VELOCITY, step)
            for k in range(u.shape[0]):
                turn[k] = select(stale > 0.0, step[k], turn[k])
        for k in range(u.shape[0]):
            u[k] += turn[k]
        fit_coordinates(loops)
    return status, gap


@kernel
def _fit_ball(X, c, q, a):
    """Compute the Euler parameters of the rotation (Shepperd), with the sign of the last ones."""
    C = chord.ROTATION
    xx, yy, zz = X[c, C], X[c, C + 4], X[c, C + 8]
    s0, s1, s2, s3 = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    x, y, z = X[c, C + 7] - X[c, C + 5], X[c, C + 2] - X[c, C + 6], X[c, C + 3] - X[c, C + 1]
    xy, xz, yz = X[c, C + 1] + X[c, C + 3], X[c, C + 2] + X[c, C + 6], X[c, C + 5] + X[c, C + 7]
    third = s2 >= s3
    e0, e1, e2, e3 = select(third, y, z), select(third, xy, xz), select(third, s2, yz), select(third, yz, s3)
    second = both(s1 >= s2, s1 >= s3)
    e0, e1, e2, e3 = (
        select(second, x, e0),
        select(second, s1, e1),
        select(second, xy, e2),
        select(second, xz, e3),
    )
    first = both(s0 >= s1, both(s0 >= s2, s0 >= s3))
    e0, e1, e2, e3 = select(first, s0, e0), select(first, x, e1), select(first, y, e2), select(first, z, e3)
    f = 1.0 / sqrt(e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    f = select(e0 * q[a] + e1 * q[a + 1] + e2 * q[a + 2] + e3 * q[a + 3] < 0.0, -f, f)
    q[a] = f * e0
    q[a + 1] = f * e1
    q[a + 2] = f * e2
    q[a + 3] = f * e3


@kernel
def fit_coordinates(loops):
    """Fit the coordinates of all cut hinges to their poses, as `fit_chord_coordinates` does."""
    plan_chord, X, q = chords(loops), chord_work(loops), chord_q(loops)
    for c in range(plan_chord.shape[0]):
        kind, a = plan_chord[c, chord.KIND], plan_chord[c, chord.FIRST_Q]
        if kind == body.REVOLUTE:
            angle = atan2(
                X[c, chord.ROTATION + 3] - X[c, chord.ROTATION + 1],
                X[c, chord.ROTATION] + X[c, chord.ROTATION + 4],
            )
            q[a] = angle + 2.0 * pi * floor((q[a] - angle) / (2.0 * pi) + 0.5)
        elif kind == body.PRISMATIC:
            q[a] = X[c, chord.OFFSET + 2]
        elif kind == body.BALL:
            _fit_ball(X, c, q, a)


@kernel
def spin_of(plan, loops, W):
    """Return the largest angular speed in a hinge between the ends of a chord, as `note_spin` does."""
    plan_body, dof, plan_chord, path = bodies(plan), dofs(plan), chords(loops), chord_paths(loops)
    fastest = alike(0.0, W[0, 0])
    for c in range(plan_chord.shape[0]):
        if plan_chord[c, chord.KIND] != chord.COUPLING:
            for k in range(plan_chord[c, chord.PATH_START], plan_chord[c, chord.PATH_END]):
                i = dof[path[k, chord.SPEED], speed.OWNER]
                w = sub(load3(W, i, body.OMEGA), load3(W, plan_body[i, body.PARENT], body.OMEGA))
                fastest = max(fastest, dot(w, w))
    return sqrt(fastest)


@kernel
def take_back(plan, loops, y):
    """Write the projected states of the work arrays to y, as `loop_project` does."""
    _, nq, nu = counts(plan)
    nz, _ = n_states(plan)
    q, u, cut, size = own_q(plan), own_u(plan), chord_q(loops), number_size(plan)
    turn_speeds(plan, q, u, 1.0)
    to = numbers(plan, y, nq + nu)
    for k in range(nq):
        to[k] = q[k]
    for k in range(nu):
        to[nq + k] = u[k]
    to = numbers(plan, y + size * (nq + nu + nz + n_audit(plan)), cut.shape[0])
    for k in range(cut.shape[0]):
        to[k] = cut[k]
