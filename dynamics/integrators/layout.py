"""The memory of an integration, which the caller owns: what stands where. (Importing this does not import numba.)"""

# control (float64)
TIME, END, STEP, RTOL, MAX_STEP, LAST_ERROR, STAGE_TIME, USUAL_STEP, SWITCHED, ACCEPTED_ERROR = range(10)
# implicit: size and error of the step before, size the factors are for
OLD_STEP, OLD_ERROR, FACTORED_STEP = range(10, 13)
# Adams: times of the past, newest first; beta and g of (III.5), and room for what g is made from; 16 numbers each
PAST, BETA, G, WORKSPACE = 13, 29, 45, 61
N_CONTROL = 77
# count (int64)
EVALUATIONS, STEPS, REJECTED, WRITTEN, STARTED, PENDING, CONTROLLED, SINGULAR = range(8)
# implicit: Jacobians and factorisations made, whether there is a Jacobian (2: at this state, -1: neither that nor any other
# past of the method), whether there is an interpolant of the step before
JACOBIANS, FACTORISATIONS, HAS_JACOBIAN, HAS_PAST = range(8, 12)
# Adams: order, steps since it or the step size changed, times of the past that count, whether it still starts
ORDER, STEADY, N_PAST, STARTING = range(12, 16)
N_COUNT = 16
# hooks (int64): entries that project a state and an error, the address of the monitor, rank if rows are selected,
# whether to stop at a singular position, the entry that says which chord switches; the entry that gives the Jacobian; the
# entry by which elements write down what they must remember, and its context; the table of generalized-alpha (alpha_memory);
# the table of numbers that are moved together for a Jacobian by differences (column_groups), or 0
PROJECT, TANGENT, MONITOR, RANK, STOP, SWITCH, JACOBIAN, REMEMBER, REMEMBERING, ALPHA, GROUPS = range(11)
N_HOOKS = 11
# work: rows of n doubles: 16 stages, new state, two errors, another state, 8 of dense output, an output; with chords
# room for the stages of another step
NEW, E5, E3, OLD, DENSE, OUT = 16, 17, 18, 19, 20, 28
N_WORK_ROWS, N_LOOP_WORK_ROWS = 29, 46
# implicit, in the rooms of the stages: rate, stages less the start, the same transformed, their rates, scale of the error,
# rate of the new state, three right sides; behind all that the pivots of two factorisations, size of their rows, then the
# matrices: Jacobian, real factors, complex factors, column by column
RATE, Z, TRANSFORMED, STAGE_RATES, SCALE, LAST, RIGHT, RIGHT_RE, RIGHT_IM = 0, 1, 4, 7, 10, 11, 12, 13, 14
PIVOTS, COMPLEX_PIVOTS, ROW_SIZE, MATRICES = 46, 47, 48, 49
# Adams, in the rooms of the stages: 14 differences, the first of them the rate, rate of the new state, another difference
NEW_RATE, DIFFERENCE = 14, 15


def work_rows(n: int, closed: bool, implicit: bool) -> int:
    """Rows of n numbers that an integration works in."""
    return MATRICES + 4 * n if implicit else N_LOOP_WORK_ROWS if closed else N_WORK_ROWS
