# mypy: ignore-errors
"""Equations of motion with chords (6.3.4-6): assemble the KKT matrix and solve it.

Index-1 form on a static sparse pattern (dynamics.kkt).
"""

from treemech.kinematics.chord_motion import constraint_rows
from treemech.kinematics.chord_plan import BIAS
from treemech.kinematics.chord_views import partials, rows
from treemech.kinematics.kernel import address_of, inlined, kernel
from treemech.kinematics.plan import PRESCRIBED_SIGNAL, PRESCRIBED_U, PUBLIC
from treemech.kinematics.status import CHORD_FAILED, OK
from treemech.kinematics.sweep import columns, origin_velocities
from treemech.kinematics.views import dofs, own_required, own_ud, prescriptions, signal_values

from . import kkt
from .loop_views import (
    counters,
    diagonals,
    entry_rows,
    entry_speeds,
    factor,
    factor_rows,
    factor_starts,
    fixed_speeds,
    flags,
    kept_rows,
    masks,
    matrix,
    matrix_rows,
    matrix_starts,
    packed_mass,
    parents,
    patterns,
    perms,
    permuted,
    pivots,
    right_sides,
    scratch,
    shifts,
    slots,
    solutions,
    speed_columns,
    speed_rows,
)
from .virtual_work import evaluate_motion, inverse_dynamics, mass_matrix

_EPSILON = 1e-12  # regularisation relative to P A^-1 P^T, removed again by one refinement


@inlined
def evaluate(plan, loops, W, S, t, q, u):
    """Motion, constraint rows, packed A, and A ud - Q for the prescribed accelerations; a status."""
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return status
    prescribed, values, ud = prescriptions(plan), signal_values(plan), own_ud(plan)
    for k in range(ud.shape[0]):
        ud[k] = 0.0
    for k in range(prescribed.shape[0]):
        ud[prescribed[k, PRESCRIBED_U]] = values[prescribed[k, PRESCRIBED_SIGNAL], 2]
    inverse_dynamics(plan, W, S, ud, own_required(plan))
    origin_velocities(plan, W, S, u)
    columns(plan, W, S)
    failed = constraint_rows(plan, loops, W, S, t)
    if failed >= 0:
        return CHORD_FAILED + 16 * failed
    mass_matrix(plan, W, S, address_of(packed_mass(loops)), True)
    return OK


@kernel
def factorise(loops):
    """The KKT matrix of the last evaluation, factorised."""
    Ax, slot, diagonal, A, P = (
        matrix(loops),
        slots(loops),
        diagonals(loops),
        packed_mass(loops),
        partials(loops),
    )
    fixed, row, column = fixed_speeds(loops), speed_rows(loops), speed_columns(loops)
    entry_row, entry_speed, kept, masked = (
        entry_rows(loops),
        entry_speeds(loops),
        kept_rows(loops),
        masks(loops),
    )
    shift, perm, D = shifts(loops), perms(loops), pivots(loops)
    n, size = fixed.shape[0], perm.shape[0]
    m = size - n
    for k in range(Ax.shape[0]):
        Ax[k] = 0.0
    for k in range(A.shape[0]):
        if fixed[row[k]] == 0 and fixed[column[k]] == 0:
            Ax[slot[k]] += A[k]
    for d in range(n):
        if fixed[d] == 1:
            Ax[diagonal[d]] = 1.0
    for r in range(m):
        shift[r] = 0.0
    first = A.shape[0]
    for k in range(entry_row.shape[0]):
        r = kept[entry_row[k]]
        if r >= 0:
            d = entry_speed[k]
            if masked[r] == 0 and fixed[d] == 0:
                Ax[slot[first + k]] += P[k]
                shift[r] += P[k] * P[k] / Ax[diagonal[d]]
    largest = 0.0
    for r in range(m):
        largest = max(largest, shift[r])
    for r in range(m):
        # a floor for rows that happen to vanish here, else 0/0
        Ax[diagonal[n + r]] = -1.0 if masked[r] == 1 else -_EPSILON * (shift[r] + 1e-3 * largest)
    kkt.factorise(
        size, matrix_starts(loops), matrix_rows(loops), Ax, factor_starts(loops), parents(loops), counters(loops),
        factor_rows(loops), factor(loops), D, scratch(loops), patterns(loops), flags(loops),
    )  # fmt: skip


@kernel
def solve(loops):
    """x of K x = right, refined once against the matrix without its regularisation."""
    right, x, b, perm = right_sides(loops), solutions(loops), permuted(loops), perms(loops)
    Lp, Li, Lx, D, y = factor_starts(loops), factor_rows(loops), factor(loops), pivots(loops), scratch(loops)
    size, n = perm.shape[0], fixed_speeds(loops).shape[0]
    for k in range(size):
        b[k] = right[perm[k]]
    kkt.solve(size, Lp, Li, Lx, D, b)
    for k in range(size):
        y[k] = right[perm[k]]
    kkt.residual(
        size, n, matrix_starts(loops), matrix_rows(loops), matrix(loops), perm, masks(loops), y, b, y
    )
    kkt.solve(size, Lp, Li, Lx, D, y)
    for k in range(size):
        x[perm[k]] = b[k] + y[k]


@kernel
def accelerate(plan, loops, tau, ud):
    """ud and the multipliers (left in `solutions`, negative) after `evaluate`; tau are loads on the speeds."""
    right, x, Y, kept = right_sides(loops), solutions(loops), rows(loops), kept_rows(loops)
    masked, fixed, dof, own = masks(loops), fixed_speeds(loops), dofs(plan), own_required(plan)
    n = fixed.shape[0]
    factorise(loops)
    for d in range(n):
        public = dof[d, PUBLIC]
        right[d] = 0.0 if fixed[d] == 1 else tau[public] - own[public]
    for r in range(kept.shape[0]):
        if kept[r] >= 0:
            right[n + kept[r]] = 0.0 if masked[kept[r]] == 1 else -Y[r, BIAS]
    solve(loops)
    given = own_ud(plan)
    for d in range(n):
        public = dof[d, PUBLIC]
        ud[public] = given[public] + x[d]
