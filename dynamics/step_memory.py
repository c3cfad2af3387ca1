"""The memory of an integration, which the caller owns: what stands where. (Importing this does not import numba.)"""

# control (float64)
TIME, END, STEP, RTOL, MAX_STEP, LAST_ERROR, STAGE_TIME, USUAL_STEP, SWITCHED, ACCEPTED_ERROR = range(10)
N_CONTROL = 10
# count (int64)
EVALUATIONS, STEPS, REJECTED, WRITTEN, STARTED, PENDING, CONTROLLED, SINGULAR = range(8)
N_COUNT = 8
# hooks (int64): entries that project a state and an error, the address of the monitor, rank if rows are selected,
# whether to stop at a singular position, the entry that says which chord switches, the entry by which elements write down
# what they must remember, and its context
PROJECT, TANGENT, MONITOR, RANK, STOP, SWITCH, REMEMBER, REMEMBERING = range(8)
N_HOOKS = 8
# work: rows of n doubles: 16 stages, new state, two errors, another state, 8 of dense output, an output; with chords
# room for the stages of another step
NEW, E5, E3, OLD, DENSE, OUT = 16, 17, 18, 19, 20, 28
N_WORK_ROWS, N_LOOP_WORK_ROWS = 29, 46
