# mypy: ignore-errors
"""Equations of motion with chords (6.3.4-6): assemble the KKT matrix, solve it, project onto the constraints.

The equations have index 1 and a static sparse pattern (dynamics.equations.kkt). The smallest pivot of a
multiplier tells how near a singular position is; LoopWork.monitor keeps it for the integrator.
"""

from treemech.kinematics.chords.coordinates import fit_chord_coordinates
from treemech.kinematics.chords.motion import constraint_rows
from treemech.kinematics.kernel.language import address_of, call_part, floats2, inlined, kernel, load3
from treemech.kinematics.kernel.status import CHAIN_OPEN, CHORD_FAILED, HINGE_FAILED, OK
from treemech.kinematics.kernel.vector import dot, sub
from treemech.kinematics.plan.arrays import REACTIONS
from treemech.kinematics.plan.chord_views import chord_paths, chord_pivots, chords, partials, rows
from treemech.kinematics.plan.columns import body, chord, row, speed
from treemech.kinematics.plan.views import (
    bodies,
    dofs,
    own_q,
    own_required,
    own_u,
    own_ud,
    prescriptions,
    signal_values,
)
from treemech.kinematics.tree.sweep import (
    columns,
    coordinate_rates,
    normalise,
    origin_velocities,
    positions,
    velocities,
)

from . import kkt, watch
from .loop_views import (
    added_entries_a,
    added_entries_b,
    added_rows,
    added_slots,
    diagonals,
    entry_rows,
    entry_speeds,
    factor,
    factor_columns,
    factor_row_starts,
    factor_rows,
    factor_slots,
    factor_starts,
    fixed_speeds,
    held_speeds,
    independents,
    inverses,
    kept_rows,
    masks,
    matrix,
    matrix_rows,
    matrix_starts,
    monitors,
    off_rows,
    orders,
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
    unilaterals,
    used_entries,
    used_rows,
    used_slots,
    used_speeds,
    workspace_q,
    workspace_rows,
    workspace_u,
)
from .virtual_work import evaluate_motion, inverse_dynamics, mass_matrix

_OPEN = 1e-7  # [m, rad] the projection fails if a larger gap is left in any row
SOUND = 1e-2  # above this part of the largest pivot a solution is not worth refining
CLOSE = 0.1  # below this part of the largest pivot a gap of 2e-15 is worth another step
_LEFT = 1e-16  # [m/s, rad/s] residual of rates that is below rounding
# [m] a gap that is closed by less is no contact yet: at lift-off it opens with the third power of time, out
# of rounding
_TOUCH = 1e-12
_RATES_ONLY, _LAST = (
    2,
    1e-8,
)  # mark of rows that restrict rates only; factor of their size^2, so that they come last


@inlined
def evaluate(plan, loops, W, S, t, q, u):
    """Evaluate motion, constraint rows, packed A, and A ud - Q for the prescribed accelerations.

    Returns a status code (kernel.status).
    """
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return status
    prescribed, values, ud = prescriptions(plan), signal_values(plan), own_ud(plan)
    for k in range(ud.shape[0]):
        ud[k] = 0.0
    for k in range(prescribed.shape[0]):
        ud[prescribed[k, speed.PRESCRIBED_U]] = values[prescribed[k, speed.PRESCRIBED_SIGNAL], 2]
    inverse_dynamics(plan, W, S, ud, own_required(plan))
    origin_velocities(plan, W, S, u)
    columns(plan, W, S)
    failed = constraint_rows(plan, loops, W, S, t)
    if failed >= 0:
        return CHORD_FAILED + 16 * failed
    mass_matrix(plan, W, S, address_of(packed_mass(loops)), True)
    return OK


@kernel
def evaluate_rows(plan, loops, W, S, t, q, u):
    """Evaluate motion and constraint rows alone. Returns a status code (kernel.status)."""
    failed = positions(plan, W, S, t, q)
    if failed >= 0:
        return HINGE_FAILED + 16 * failed
    velocities(plan, W, S, u)
    origin_velocities(plan, W, S, u)
    columns(plan, W, S)
    failed = constraint_rows(plan, loops, W, S, t)
    return OK if failed < 0 else CHORD_FAILED + 16 * failed


@kernel
def factorise(loops):
    """Factorise the KKT matrix of the last evaluation and note the smallest pivot of a multiplier."""
    Ax, slot, diagonal, A, P = (
        matrix(loops),
        slots(loops),
        diagonals(loops),
        packed_mass(loops),
        partials(loops),
    )
    fixed, row, column = held_speeds(loops), speed_rows(loops), speed_columns(loops)
    entry, entry_row, entry_speed, entry_slot = (
        used_entries(loops),
        used_rows(loops),
        used_speeds(loops),
        used_slots(loops),
    )
    scale, perm, D, masked = row_scales(loops), perms(loops), pivots(loops), masks(loops)
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
        if masked[entry_row[k]] == 0 and fixed[entry_speed[k]] == 0:
            Ax[entry_slot[k]] += P[entry[k]]
    added_a, added_b, added_slot = added_entries_a(loops), added_entries_b(loops), added_slots(loops)
    added_row, speed_of = added_rows(loops), entry_speeds(loops)
    for k in range(added_row.shape[0]):
        r, a, b = added_row[k], added_a[k], added_b[k]
        if masked[r] == 0 and fixed[speed_of[a]] == 0 and fixed[speed_of[b]] == 0:
            Ax[added_slot[k]] += P[a] * P[b] / scale[r]
    for r in range(size - n):
        if masked[r] == 1:
            Ax[diagonal[n + r]] = -1.0
    kkt.factorise(
        size, n, matrix_starts(loops), matrix_rows(loops), Ax, factor_starts(loops), factor_rows(loops),
        factor_row_starts(loops), factor_columns(loops), factor_slots(loops), perm, scale, factor(loops), D,
        inverses(loops), scratch(loops),
    )  # fmt: skip
    smallest, weakest = 1e300, 0
    for k in range(size):
        if perm[k] >= n:
            r = perm[k] - n
            if masked[r] == 0 and abs(D[k]) < smallest * scale[r]:
                smallest, weakest = abs(D[k]) / scale[r], r
    monitor = monitors(loops)
    if smallest == 1e300:  # no row holds: every contact is open, and no position is singular
        smallest = monitor[watch.LARGEST_PIVOT]
    monitor[watch.LAST_PIVOT] = smallest
    if smallest < monitor[watch.STEP_PIVOT]:
        monitor[watch.STEP_PIVOT], monitor[watch.STEP_ROW] = smallest, weakest
    monitor[watch.LARGEST_PIVOT] = max(monitor[watch.LARGEST_PIVOT], smallest)


@kernel
def _add_to_right_side(loops, x, n):
    """Add P^T D times the rows of a right side to its speeds, for the products in the matrix."""
    added_row, a, b, P = added_rows(loops), added_entries_a(loops), added_entries_b(loops), partials(loops)
    masked, fixed, scale, entry_speed = (
        masks(loops),
        held_speeds(loops),
        row_scales(loops),
        entry_speeds(loops),
    )
    for k in range(added_row.shape[0]):
        r, d = added_row[k], entry_speed[a[k]]
        if a[k] == b[k] and masked[r] == 0 and fixed[d] == 0:
            x[d] += P[a[k]] * x[n + r] / scale[r]


@kernel
def measure(plan, loops, W, S, t, q, u):
    """Find the pivots at a position, without loads. Returns a status code (kernel.status)."""
    status = evaluate_rows(plan, loops, W, S, t, q, u)
    if status == OK:
        mass_matrix(plan, W, S, address_of(packed_mass(loops)), True)
        factorise(loops)
    return status


@kernel
def solve(loops):
    """Solve K x = right, and refine x once where rounding, or the regularisation of K, may be felt.

    A + P^T D P stands in K where chords hold frames without mass, which A alone does not accelerate. With
    P^T D times the rows on the right, the solution and the multipliers are those of A.
    """
    right, x, b, perm = right_sides(loops), solutions(loops), permuted(loops), orders(loops)
    Lp, Li, Lx, D, y = (
        factor_starts(loops),
        factor_rows(loops),
        factor(loops),
        inverses(loops),
        scratch(loops),
    )
    size, n = perm.shape[0], fixed_speeds(loops).shape[0]
    if added_rows(loops).shape[0] > 0:
        for k in range(size):
            x[k] = right[k]
        _add_to_right_side(loops, x, n)
        for k in range(size):
            b[k] = x[perm[k]]
    else:
        for k in range(size):
            b[k] = right[perm[k]]
    monitor = monitors(loops)
    weak = monitor[watch.LAST_PIVOT] < max(kkt.WEAK, SOUND * monitor[watch.LARGEST_PIVOT])
    if weak:
        for k in range(size):
            y[k] = b[k]
    kkt.solve(size, Lp, Li, Lx, D, b)
    if weak:
        kkt.residual(size, matrix_starts(loops), matrix_rows(loops), matrix(loops), y, b, y)
        kkt.solve(size, Lp, Li, Lx, D, y)
        for k in range(size):
            b[k] += y[k]
    for k in range(size):
        x[perm[k]] = b[k]


@kernel
def accelerate(plan, loops, t, tau, ud):
    """Solve for ud and the multipliers under the loads tau on the speeds, after `evaluate`.

    The multipliers stand in `solutions`, with a negative sign. Returns a status code (kernel.status).
    """
    right, x, Y, kept = right_sides(loops), solutions(loops), rows(loops), kept_rows(loops)
    masked, fixed, dof, own = masks(loops), fixed_speeds(loops), dofs(plan), own_required(plan)
    n, gain = fixed.shape[0], monitors(loops)[watch.GAIN]
    factorise(loops)
    for d in range(n):
        public = dof[d, speed.PUBLIC]
        right[d] = 0.0 if fixed[d] == 1 else tau[public] - own[public]
    for r in range(kept.shape[0]):
        if kept[r] >= 0:
            drift = Y[r, row.BIAS] + gain * (2.0 * Y[r, row.VELOCITY] + gain * Y[r, row.POSITION])
            right[n + kept[r]] = 0.0 if masked[kept[r]] == 1 else -drift
    solve(loops)
    if plan[REACTIONS] != 0:
        status = call_part(plan[REACTIONS], 0, t, loops)
        if status != OK:
            return status
    given = own_ud(plan)
    for d in range(n):
        public = dof[d, speed.PUBLIC]
        ud[public] = given[public] + x[d]
    return OK


@kernel
def largest(loops, level):
    """Return the largest residual of a level in rows that hold: POSITION, VELOCITY or BIAS."""
    Y, off, size = rows(loops), off_rows(loops), 0.0
    for r in range(Y.shape[0]):
        if off[r] == 0:
            size = max(size, abs(Y[r, level]))
    return size


@kernel
def switching(loops):
    """Find the unilateral chord that should switch, after `accelerate`. Returns (value, chord).

    The value is negative: the multiplier of a chord that should let go, the gap of one that should hold
    again. The chord is counted among the unilateral chords. If nothing switches, returns (0, -1).
    """
    pairs, off, kept, Y, x = (
        unilaterals(loops),
        off_rows(loops),
        kept_rows(loops),
        rows(loops),
        solutions(loops),
    )
    n, worst, which = fixed_speeds(loops).shape[0], 0.0, -1
    for k in range(pairs.shape[0] // 2):
        r = pairs[2 * k]
        value = Y[r, row.POSITION] + _TOUCH if off[r] == 1 else -x[n + kept[r]]
        if value < worst:
            worst, which = value, k
    return worst, which


@kernel
def relieve(plan, loops, multipliers, tau):
    """Subtract the loads of the chords from the loads on the speeds: tau - P^T lambda."""
    P, row, at, dof = partials(loops), entry_rows(loops), entry_speeds(loops), dofs(plan)
    for k in range(row.shape[0]):
        tau[dof[at[k], speed.PUBLIC]] -= P[k] * multipliers[row[k]]


@kernel
def chord_loads(loops, multipliers, out):
    """Find force and moment of every chord on the body of its end b, at that end, in world axes (8.5.1-3)."""
    plan_chord, Y = chords(loops), rows(loops)
    for c in range(plan_chord.shape[0]):
        for j in range(6):
            s = 0.0
            for r in range(
                plan_chord[c, chord.FIRST_ROW], plan_chord[c, chord.FIRST_ROW] + plan_chord[c, chord.N_ROWS]
            ):
                s += multipliers[r] * Y[r, row.F + j]
            out[c, j] = s


@kernel
def correct(plan, loops, level, step):
    """Compute the mass-weighted step of the speeds that removes the residuals of a level, after `factorise`.

    The level is POSITION or VELOCITY.
    """
    right, x, Y, kept = right_sides(loops), solutions(loops), rows(loops), kept_rows(loops)
    masked, dof = masks(loops), dofs(plan)
    n = fixed_speeds(loops).shape[0]
    for d in range(n):
        right[d] = 0.0
    for r in range(kept.shape[0]):
        if kept[r] >= 0:
            right[n + kept[r]] = 0.0 if masked[kept[r]] == 1 else -Y[r, level]
    solve(loops)
    for d in range(n):
        step[dof[d, speed.PUBLIC]] = x[d]


@kernel
def note_spin(plan, loops, W):
    """Note the largest angular speed in a hinge between the ends of a chord.

    Other hinges do not change the relation of the ends, and couplings relate coordinates, not poses.
    """
    plan_body, dof, plan_chord, path = bodies(plan), dofs(plan), chords(loops), chord_paths(loops)
    fastest = 0.0
    for c in range(plan_chord.shape[0]):
        if plan_chord[c, chord.KIND] != chord.COUPLING:
            for k in range(plan_chord[c, chord.PATH_START], plan_chord[c, chord.PATH_END]):
                i = dof[path[k, chord.SPEED], speed.OWNER]
                w = sub(load3(W, i, body.OMEGA), load3(W, plan_body[i, body.PARENT], body.OMEGA))
                fastest = max(fastest, dot(w, w))
    monitors(loops)[watch.SPIN] = fastest**0.5


@kernel
def hold(loops, independent):
    """Keep the prescribed speeds, or the independent ones as well, from moving."""
    held, fixed, chosen = held_speeds(loops), fixed_speeds(loops), independents(loops)
    for d in range(held.shape[0]):
        held[d] = 1 if fixed[d] == 1 or (independent and chosen[d] == 1) else 0


@kernel
def keeps_factor(gap, rate, monitor):
    """Return whether speeds are corrected to rounding by the factors from before a gap in the positions was closed.

    With them the correction of a residual `rate` is wrong by a part of about gap / s^2, where s^2 is the pivot as a
    part of the largest.
    """
    return gap * rate * monitor[watch.LARGEST_PIVOT] < _LEFT * monitor[watch.LAST_PIVOT]


@kernel
def project(plan, loops, W, S, t, fresh):
    """Project the state of the work arrays onto the constraints, positions, then velocities, to rounding.

    Newton's steps are weighted by A at the start. If `fresh`, this state was evaluated last. The coordinates
    of cut hinges follow. Returns a status code (kernel.status).
    """
    q, u = own_q(plan), own_u(plan)
    rates, step = workspace_q(loops), workspace_u(loops)
    partitioned = monitors(loops)[watch.PARTITIONED] > 0.0
    if partitioned:
        hold(loops, True)
    before, gap, moved, status = 1e300, 0.0, False, OK
    if not fresh:
        status = measure(plan, loops, W, S, t, q, u)
    monitor = monitors(loops)
    rounding = 2e-15 if monitor[watch.LAST_PIVOT] > CLOSE * monitor[watch.LARGEST_PIVOT] else 1e-16
    while status == OK:
        gap = largest(loops, row.POSITION)
        if gap <= rounding or gap > 0.5 * before or before < 1e-9:  # a gap below 1e-9 is closed by one step
            break
        if moved:
            factorise(loops)
        correct(plan, loops, row.POSITION, step)
        coordinate_rates(plan, q, step, rates)
        for k in range(q.shape[0]):
            q[k] += rates[k]
        normalise(plan, q)
        before, moved = gap, True
        status = evaluate_rows(plan, loops, W, S, t, q, u)
    if status == OK and not gap < _OPEN:
        status = CHAIN_OPEN
    if status == OK:
        if moved and not keeps_factor(before, largest(loops, row.VELOCITY), monitor):
            factorise(loops)
        correct(plan, loops, row.VELOCITY, step)
        for k in range(u.shape[0]):
            u[k] += step[k]
        fit_chord_coordinates(loops)
    if partitioned:
        hold(loops, False)
    return status


@kernel
def tangential(plan, loops, step):
    """Remove from a displacement of the speeds its part normal to the constraints, in the metric of A.

    After `factorise`.
    """
    right, x, A = right_sides(loops), solutions(loops), packed_mass(loops)
    row, column, fixed, dof = speed_rows(loops), speed_columns(loops), fixed_speeds(loops), dofs(plan)
    n = fixed.shape[0]
    for k in range(right.shape[0]):
        right[k] = 0.0
    for k in range(A.shape[0]):
        i, j = row[k], column[k]
        if fixed[i] == 0 and fixed[j] == 0:
            right[i] += A[k] * step[dof[j, speed.PUBLIC]]
            if i != j:
                right[j] += A[k] * step[dof[i, speed.PUBLIC]]
    solve(loops)
    for d in range(n):
        if fixed[d] == 0:
            step[dof[d, speed.PUBLIC]] = x[d]


@kernel
def select_speeds(loops):
    """Choose the independent speeds of coordinate partitioning.

    As many speeds as there are independent rows depend on the others: those with the largest pivots.
    """
    masked, kept, P, fixed = masks(loops), kept_rows(loops), partials(loops), fixed_speeds(loops)
    row, speed, chosen = entry_rows(loops), entry_speeds(loops), independents(loops)
    m, n = masked.shape[0], fixed.shape[0]
    G = floats2(address_of(workspace_rows(loops)), m, n)
    for r in range(m):
        for d in range(n):
            G[r, d] = 0.0
    for k in range(row.shape[0]):
        r = kept[row[k]]
        if r >= 0 and masked[r] == 0 and fixed[speed[k]] == 0:
            G[r, speed[k]] += P[k]
    for d in range(n):
        chosen[d] = 1
    for _ in range(m):
        best_row, best, size = -1, -1, 0.0
        for r in range(m):
            for d in range(n):
                if abs(G[r, d]) > size:
                    best_row, best, size = r, d, abs(G[r, d])
        if best < 0:
            return
        chosen[best] = 0
        for r in range(m):
            if r != best_row:
                f = G[r, best] / G[best_row, best]
                for d in range(n):
                    G[r, d] -= f * G[best_row, d]
                G[r, best] = 0.0
        for d in range(n):
            G[best_row, d] = 0.0


@kernel
def choose_complements(loops):
    """Let the rows of chords by address be chosen anew, from the unit directions that are best now."""
    pivot = chord_pivots(loops)
    for c in range(pivot.shape[0]):
        for k in range(6):
            pivot[c, k] = -1


@kernel
def select_rows(loops, rank):
    """Mask all but `rank` independent rows: pivoted Gram-Schmidt of P, speeds weighted by their inertia.

    Rows that restrict rates only come last: they imply the rate of a position that they depend on, but not the
    position itself, which drifts. The choice stays the same until the next call, because redundant rows must not alternate in between.
    """
    masked, kept, P, fixed = masks(loops), kept_rows(loops), partials(loops), fixed_speeds(loops)
    entry_row, entry_speed, off = entry_rows(loops), entry_speeds(loops), off_rows(loops)
    A, row, column = packed_mass(loops), speed_rows(loops), speed_columns(loops)
    m, n = masked.shape[0], fixed.shape[0]
    G = floats2(address_of(workspace_rows(loops)), m, n)
    weight = scratch(loops)
    for k in range(A.shape[0]):
        if row[k] == column[k]:
            weight[row[k]] = A[k]
    added_row, added_a, added_b, scale = (
        added_rows(loops),
        added_entries_a(loops),
        added_entries_b(loops),
        row_scales(loops),
    )
    for k in range(added_row.shape[0]):
        if added_a[k] == added_b[k]:
            weight[entry_speed[added_a[k]]] += P[added_a[k]] ** 2 / scale[added_row[k]]
    for d in range(n):
        weight[d] = weight[d] ** -0.5
    for r in range(m):
        masked[r] = 1
        for d in range(n):
            G[r, d] = 0.0
    table = chords(loops)
    for c in range(table.shape[0]):
        for k in range(table[c, chord.HOLONOMIC], table[c, chord.N_ROWS]):
            r = kept[table[c, chord.FIRST_ROW] + k]
            if r >= 0:
                masked[r] = _RATES_ONLY
    for k in range(P.shape[0]):
        r = kept[entry_row[k]]
        if r >= 0 and fixed[entry_speed[k]] == 0 and off[entry_row[k]] == 0:
            G[r, entry_speed[k]] += P[k] * weight[entry_speed[k]]
    for _ in range(rank):
        best, size = -1, 0.0
        for r in range(m):
            if masked[r] != 0:
                s = 0.0
                for d in range(n):
                    s += G[r, d] * G[r, d]
                if masked[r] == _RATES_ONLY:
                    s *= _LAST
                if s > size:
                    best, size = r, s
        if best < 0:
            break
        if masked[best] == _RATES_ONLY:
            size /= _LAST
        masked[best] = 0
        for r in range(m):
            if masked[r] != 0:
                s = 0.0
                for d in range(n):
                    s += G[r, d] * G[best, d]
                s /= size
                for d in range(n):
                    G[r, d] -= s * G[best, d]
    for r in range(m):
        if masked[r] == _RATES_ONLY:
            masked[r] = 1
