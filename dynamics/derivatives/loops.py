# mypy: ignore-errors
"""Derivatives of the accelerations of closed chains by coordinates, speeds and states of elements.

A ud = Q + P^T lambda, P ud + P00 = 0 differentiated give the same matrix, which is factorised already, with
other right sides::

    [A  P^T] [ d ud     ]   [ d(P^T lambda) - d(A ud - Q) ]
    [P   0 ] [-d lambda ] = [ -d(P ud + P00)              ]           at fixed ud and lambda on the right

Only the chosen ones of redundant rows have derivatives; accelerations of prescribed speeds have none.
"""

from treemech.kinematics.kernel.language import floats2, ints, kernel
from treemech.kinematics.plan.chord_views import chord_paths, chords, partials
from treemech.kinematics.plan.columns import chord
from treemech.kinematics.plan.views import counts, n_states

from ..equations import watch
from ..equations.loop_views import fixed_speeds, kept_rows, masks, monitors, right_sides, solutions
from ..equations.loops import solve
from . import layout


@kernel
def _baumgarte(loops, right, gain, column, nu):
    """Subtract the terms with P of Baumgarte's 2 gain (P u + P0) + gain^2 f on the right.

    The term with d(P u + P0)/dq is there already.
    """
    P, kept, plan_chord, path = partials(loops), kept_rows(loops), chords(loops), chord_paths(loops)
    by_u = column >= nu
    for c in range(plan_chord.shape[0]):
        at = plan_chord[c, chord.FIRST_ENTRY]
        for k in range(plan_chord[c, chord.PATH_START], plan_chord[c, chord.PATH_END]):
            for j in range(plan_chord[c, chord.N_ROWS]):
                r = kept[plan_chord[c, chord.FIRST_ROW] + j]
                if path[k, chord.SPEED] == column % nu and r >= 0:
                    right[nu + r] -= P[at] * (
                        2.0 * gain if by_u else gain * gain if j < plan_chord[c, chord.HOLONOMIC] else 0.0
                    )
                at += 1


@kernel
def loop_derivatives(plan, loops, table):
    """Compute OUT and UD_X of the table from its BY and TAU_X and the table of rows.

    The factors are those of `accelerate`, whose solution is overwritten.
    """
    n_bodies, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    right, x, kept, masked = right_sides(loops), solutions(loops), kept_rows(loops), masks(loops)
    fixed, gain, m = fixed_speeds(loops), monitors(loops)[watch.GAIN], kept_rows(loops).shape[0]
    rows = ints(table[layout.ROWS], layout.N_ROW_TABLE)
    by, by_x, loads_q = (
        floats2(table[layout.BY], nu, 2 * nu),
        floats2(table[layout.TAU_X], nu, nx),
        floats2(rows[layout.LOADS_Q], nu, nu),
    )
    velocity_q, bias_q, bias_u = (
        floats2(rows[layout.VELOCITY_Q], m, nu),
        floats2(rows[layout.BIAS_Q], m, nu),
        floats2(rows[layout.BIAS_U], m, nu),
    )
    out, out_x = floats2(table[layout.OUT], nu, 2 * nu), floats2(table[layout.UD_X], nu, nx)
    for column in range(2 * nu + nx):
        for d in range(nu):
            if column < nu:
                right[d] = loads_q[d, column] - by[d, column]
            elif column < 2 * nu:
                right[d] = -by[d, column]
            else:
                right[d] = -by_x[d, column - 2 * nu]
            if fixed[d] == 1:
                right[d] = 0.0
        for r in range(m):
            k = kept[r]
            if k >= 0:
                if column < nu:
                    right[nu + k] = -bias_q[r, column] - 2.0 * gain * velocity_q[r, column]
                else:
                    right[nu + k] = -bias_u[r, column - nu] if column < 2 * nu else 0.0
        if gain > 0.0 and column < 2 * nu:
            _baumgarte(loops, right, gain, column, nu)
        for k in range(masked.shape[0]):
            if nu + k < right.shape[0] and masked[k] == 1:
                right[nu + k] = 0.0
        solve(loops)
        for d in range(nu):
            if column < 2 * nu:
                out[d, column] = x[d]
            else:
                out_x[d, column - 2 * nu] = x[d]
