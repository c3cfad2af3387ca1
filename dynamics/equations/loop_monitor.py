"""Places in LoopWork.monitor: what the solution of closed chains and their integration tell each other."""

# LoopWork.monitor. Smallest pivot of a multiplier: in the step so far and its row, the largest ever, the last, that at
# the start of the step and those of all stages; whether every stage is projected; singular positions passed: how many, then (time, row).
# Stabilisation: part of the largest pivot that counts as near a singular position, Baumgarte's gain [1/s], whether
# independent speeds are held while dependent ones follow. FRESH: the state to project is the one evaluated last.
# SPIN: largest angular speed of a body relative to the one before it.
STEP_PIVOT, STEP_ROW, LARGEST_PIVOT, LAST_PIVOT, STAGED, N_PASSED, NEAR, GAIN, PARTITIONED = range(9)
START_PIVOT, FRESH, SPIN, STAGE_PIVOTS = 9, 10, 11, 12
MOST_PASSED, PASSED = 256, STAGE_PIVOTS + 13
N_MONITOR = PASSED + 2 * MOST_PASSED
