"""Columns of ChordWork.row: one row per constraint equation."""

# Wrench of the row at the point of end b (world), then the residuals of the three levels.
F, M, POSITION, VELOCITY, BIAS = 0, 3, 6, 7, 8
N_COLUMNS = 9
