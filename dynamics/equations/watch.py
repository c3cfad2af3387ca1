"""Places in LoopWork.monitor: what the solution of closed chains and their integration tell each other."""

# Every factorisation has a smallest pivot of a multiplier. STEP_PIVOT is the smallest of the step so far,
# STEP_ROW its row; LARGEST_PIVOT is the largest of all, LAST_PIVOT the last; START_PIVOT is that at the start
# of the step, STAGE_PIVOTS those of its stages. STAGED: every stage is projected. N_PASSED counts the
# singular positions passed since they were taken over, PASSED is the first of their (time, row). NEAR: below this part of the largest
# pivot a singular position is near. GAIN: Baumgarte's gain [1/s]. PARTITIONED: independent speeds are held
# while dependent ones follow. FRESH: the state to project was evaluated last. SPIN: largest angular speed in
# a hinge between the ends of a chord.
STEP_PIVOT, STEP_ROW, LARGEST_PIVOT, LAST_PIVOT, STAGED, N_PASSED, NEAR, GAIN, PARTITIONED = range(9)
START_PIVOT, FRESH, SPIN, STAGE_PIVOTS = 9, 10, 11, 12
MOST_PASSED, PASSED = 256, STAGE_PIVOTS + 13
# Search for singular positions (dynamics.integrators.passage). WATCHED: it is wanted. LAST_PASSED: time of the
# last position, infinite if there is none. BEFORE_PIVOT: pivot at the start of the step before, BEFORE_STEP:
# size of that step, 0 if there is none. TURNS: factor of the turn that is allowed in a step. SAMPLE_TIMES:
# times within the step, as parts of it, SAMPLES: roots of the pivots there.
MEASURE = -2  # in place of a rank for `loop_project`: find the pivots of a state
WATCHED, LAST_PASSED, BEFORE_PIVOT, BEFORE_STEP, TURNS = range(
    PASSED + 2 * MOST_PASSED, PASSED + 2 * MOST_PASSED + 5
)
MOST_SAMPLES = 8
SAMPLE_TIMES, SAMPLES = TURNS + 1, TURNS + 1 + MOST_SAMPLES
N_MONITOR = SAMPLES + MOST_SAMPLES
