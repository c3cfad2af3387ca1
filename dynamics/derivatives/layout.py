"""Layout of the workspace of derivatives: places in its blocks of doubles and tables of addresses."""

from treemech.kinematics.plan.chord_arrays import partials_size
from treemech.kinematics.plan.columns import chord, effort
from treemech.topology.arrays import Ints

# One row per body. Components about the origin of the first body of its branch from the ground: spatial
# velocity 6, acceleration 6; then of the body, and later of all bodies it carries: mass, first moment 3,
# inertia 6, sum of m v 3, of m v r^T 9, moment 3 and force 3, number of speeds.
VELOCITY, ACCELERATION, MASS, FIRST, SECOND, MOMENTUM, FLUX, MOMENT, FORCE, SPEEDS = (
    0,
    6,
    12,
    13,
    16,
    22,
    25,
    34,
    37,
    40,
)
N_DERIVATIVE_BODY = 41
# One column per speed, one row per component: the motion s of the speed; the change of the velocity (y) and
# of the acceleration (z) of all bodies beyond by a displacement along s, seen from there; the change of the
# acceleration by a change of the speed (e); the changes of the load of all bodies beyond, on those before, by
# the coordinate and by the speed.
SPEED_S, SPEED_Y, SPEED_Z, SPEED_E, SPEED_LOAD_Q, SPEED_LOAD_U, N_COMPONENTS = 0, 6, 12, 18, 24, 30, 36
# Solutions of many columns (accelerations): of every body the end of the speeds beyond it, whether nothing is
# beyond, whether it has the place of the body before it, its place, the first body of its branch; of every speed
# s, U / D, 1 / D. So many columns are worked on at once.
BEYOND, TIP, SHARES, PLACE, ROOT, N_BRANCH = range(6)
COLUMN, RESISTANCE, N_FACTOR = 6, 12, 13
WIDTH = 64
FEW = 16  # columns that are not worth telling apart
# The longest record is that of a hinge with six speeds.
LONGEST_RECORD = 60
# Workspace to differentiate a record: the state, three records, and one record of dual numbers with its
# arguments.
HINGE_SCRATCH = 7 * LONGEST_RECORD
# Derivatives of a hinge by one of its own coordinates: those of the record, then those of the biases by the
# speed.
N_OWN = LONGEST_RECORD + 6
# The table of addresses that entry points take: the context of the core, the state and loads, ud, d tau/d(q,
# u), A, A^-1, d ud/d(q, u), workspace for factors and for everything else; for elements with states d tau/dx,
# d ud/dx, dx'/d(q, u), dx'/dx; ROUGH is 1 if one forward difference of every element is enough
# (dynamics.derivatives.effort_partials); the table of the rows of closed chains or 0; the addresses of the
# entry points `derivatives` and `row_derivatives`, for calls from within the core.
(
    CONTEXT, GIVEN_Q, GIVEN_U, GIVEN_TAU, UD, BY, MASSES, INVERSE, OUT, FACTORS, WORKSPACE_OF_ALL, TAU_X, UD_X, RATES, RATES_X,
    ROUGH, ROWS, DIFFERENTIATE, DIFFERENTIATE_ROWS,
) = range(19)  # fmt: skip
N_TABLE = 19
# The table of the rows: multipliers; d(P^T lambda)/dq (nu, nu), d(P u + P0)/dq (m, nu), d(P ud + P00)/dq and
# /du; the derivatives of the load of every chord on end b by q (nc, 6, nu), or 0 if they are not wanted;
# workspace for one chord.
MULTIPLIERS, LOADS_Q, VELOCITY_Q, BIAS_Q, BIAS_U, CHORD_LOADS_Q, WORKSPACE_OF_ROWS = range(7)
N_ROW_TABLE = 7
# One row per speed between the ends of a chord, (translation, rotation) of b in the base of a: its
# displacement, the changes of its rate and acceleration by the coordinate, the change of its acceleration by
# the speed (dynamics.derivatives.relative).
DISPLACEMENT, RATE_Q, ACCELERATION_Q, ACCELERATION_U, N_RELATIVE = 0, 6, 12, 18, 24


def workspace_size(rows: int, nu: int, efforts: Ints) -> int:
    """Return the number of doubles that `tree_derivatives` needs.

    `rows` counts the bodies with the ground; `efforts` is Plan.efforts.
    """
    scratch = HINGE_SCRATCH
    largest = max((_effort_workspace(row, nu) for row in efforts), default=0)
    return rows * (N_DERIVATIVE_BODY + 6 * N_OWN) + N_COMPONENTS * nu + scratch + largest


def accelerations_size(rows: int, nu: int) -> int:
    """Return the number of doubles that `accelerations` needs."""
    return rows * (N_BRANCH + 6 * WIDTH) + N_FACTOR * nu


def _effort_workspace(row: Ints, nu: int) -> int:
    """Return the number of doubles for one element: those of effort_partials, then of effort_derivatives."""
    n, nc, ns, ni = (int(row[k]) for k in (effort.N_ENDS, effort.N_ACTED, effort.N_STATES, effort.N_INPUTS))
    loads, outputs, directions = 6 * n + nc, 6 * n + nc + ns, 12 * n + 2 * nc + ns + ni
    duals = 2 * int(row[effort.LOAD_RECORD] - row[effort.MOTION_RECORD] + row[effort.N_LOAD])
    return outputs * (directions + 4) + directions + 6 * n + duals + loads + nu * (4 + loads + 2 * outputs)


def rows_workspace_size(chords: Ints) -> int:
    """Return the number of doubles that `row_derivatives` needs for these chords (ChordPlan.chord)."""
    return max((_chord_workspace(row) for row in chords), default=0) + 1


def _chord_workspace(row: Ints) -> int:
    n = int(row[chord.PATH_END] - row[chord.PATH_START])
    return n * (6 + n + N_RELATIVE) + partials_size(row)
