"""Layout of the memory of an integration, which the caller owns.

(Importing this module does not import numba.)
"""

# control (float64)
TIME, END, STEP, RTOL, MAX_STEP, LAST_ERROR, STAGE_TIME, USUAL_STEP, SWITCHED, ACCEPTED_ERROR = range(10)
# implicit methods: size and error of the step before, step size of the factors
OLD_STEP, OLD_ERROR, FACTORED_STEP = range(10, 13)
# Adams: times of the past, newest first; beta and g of (III.5), and a workspace for g; 16 numbers each
PAST, BETA, G, WORKSPACE = 13, 29, 45, 61
N_CONTROL = 77
# count (int64)
EVALUATIONS, STEPS, REJECTED, WRITTEN, STARTED, PENDING, CONTROLLED, SINGULAR = range(8)
# implicit methods: Jacobians and factorisations made; whether there is a Jacobian (2: at this state; -1: the
# method starts without any past); whether there is an interpolant of the step before
JACOBIANS, FACTORISATIONS, HAS_JACOBIAN, HAS_PAST = range(8, 12)
# Adams: order, steps since the order or the step size changed, number of past times in use, whether the start
# phase lasts
ORDER, STEADY, N_PAST, STARTING = range(12, 16)
# which one-sided elements act at the state reached (corners.py)
ACTING = 16
N_COUNT = 17
# hooks (int64): entries that project a state and an error; address of the monitor; rank if rows are selected;
# whether to stop at a singular position; entry that finds the chord that switches; entry of the Jacobian;
# entry by which elements update their memory, and its context; table of generalized-alpha (alpha/layout.py);
# table of the Jacobian groups (dynamics/simulation/jacobian_groups.py), or 0; table of the one-sided elements, or 0
PROJECT, TANGENT, MONITOR, RANK, STOP, SWITCH, JACOBIAN, REMEMBER, REMEMBERING, ALPHA, GROUPS, ONE_SIDED = (
    range(12)
)
N_HOOKS = 12
# work: rows of n doubles: 16 stages, new state, two errors, another state, 8 rows of dense output, an output;
# with chords also a workspace for the stages of another step
NEW, E5, E3, OLD, DENSE, OUT = 16, 17, 18, 19, 20, 28
N_WORK_ROWS, N_LOOP_WORK_ROWS = 29, 46
# implicit methods, in place of the stages: rates; stages minus start, the same transformed, their rates;
# scale of the error; rates of the new state; three right-hand sides. After all rows above: pivots of two
# factorisations, size of their rows, then the matrices column by column: Jacobian, real factors, complex
# factors
RATE, Z, TRANSFORMED, STAGE_RATES, SCALE, LAST, RIGHT, RIGHT_RE, RIGHT_IM = 0, 1, 4, 7, 10, 11, 12, 13, 14
PIVOTS, COMPLEX_PIVOTS, ROW_SIZE, MATRICES = 46, 47, 48, 49
# Adams, in place of the stages: 14 differences (the first is the rates), rates of the new state, another
# difference
NEW_RATE, DIFFERENCE = 14, 15


def work_rows(n: int, closed: bool, implicit: bool) -> int:
    """Return the number of rows of `work`, of n numbers each."""
    return MATRICES + 4 * n if implicit else N_LOOP_WORK_ROWS if closed else N_WORK_ROWS
