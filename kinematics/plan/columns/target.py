"""Columns of the targets of inverse kinematics: one row per target, and the numbers of a search."""

# Body, wanted components of the position (1 or 0), position, whether a rotation is wanted (1 or 0), end point in the
# core's base of the body, rotation from the wanted attitude if the body had none, roots of the weights.
NUMBER, WANTED, POSITION, TURNED, OFFSET, FROM_WANTED, ROOTS = 0, 1, 4, 7, 8, 11, 20
N_TARGET = 22

# The table of a search. Integers: targets, rows of their gaps, limits, addresses of the targets, of the limits, of the
# coordinates, of the workspace and of the numbers; most iterations, iterations done, whether all are reached (1 or 0).
TARGETS, ROWS, LIMITS, TARGETS_AT, LIMITS_AT, Q_AT, WORK_AT, NUMBERS_AT = range(8)
MOST, DONE, REACHED, N_SEARCH = range(8, 12)
# Numbers: tolerance, longest step, sum of squared gaps at the end.
TOLERANCE, LONGEST, COST, N_NUMBERS = range(4)
# One row per limited coordinate: its place in q and in u, low and high.
LIMIT_Q, LIMIT_U, LIMIT_LOW, LIMIT_HIGH, N_LIMIT = range(5)
