"""Places in LoopWork.monitor: what the solution of closed chains and their integration tell each other."""

# Every factorisation has a smallest pivot of a multiplier. STEP_PIVOT is the smallest of the step so far,
# STEP_ROW its row; LARGEST_PIVOT is the largest of all, LAST_PIVOT the last; START_PIVOT is that at the start
# of the step, STAGE_PIVOTS those of its stages. STAGED: every stage is projected. N_PASSED counts the
# singular positions passed, PASSED is the first of their (time, row). NEAR: below this part of the largest
# pivot a singular position is near. GAIN: Baumgarte's gain [1/s]. PARTITIONED: independent speeds are held
# while dependent ones follow. FRESH: the state to project was evaluated last. SPIN: largest angular speed of
# a body relative to its parent.
STEP_PIVOT, STEP_ROW, LARGEST_PIVOT, LAST_PIVOT, STAGED, N_PASSED, NEAR, GAIN, PARTITIONED = range(9)
START_PIVOT, FRESH, SPIN, STAGE_PIVOTS = 9, 10, 11, 12
MOST_PASSED, PASSED = 256, STAGE_PIVOTS + 13
N_MONITOR = PASSED + 2 * MOST_PASSED
