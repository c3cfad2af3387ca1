"""Columns of Plan.composites, Plan.points and Work.point: composite connections and their internal points."""

# Plan.composites: consecutive efforts and points, unknowns and their workspace, its first two ends among all
# ends.
FIRST_PART, N_PARTS, FIRST_POINT, N_POINTS, N_UNKNOWNS, WORKSPACE, LINE_A, LINE_B = range(8)
N_COMPOSITE = 8

# Plan.points: number of coordinates (1: along the line between those ends, 3 or 6), its place in z or -1, and
# the place in z of what it is sought from: 1 once that is known, then its N_SOUGHT unknowns by coordinates
# (a rotation of zeros is not known).
COORDINATES, STATE, SOUGHT = range(3)
N_TABLE = 3
N_SOUGHT = {1: 1, 3: 3, 6: 12}  # distance along the line; position or velocity; position and rotation

# Work.point: pose and motion of an internal point, load on it; distance along the line and its rate.
P, R, V, W, F, N, S, RATE = 0, 3, 12, 15, 18, 21, 24, 25
N_WORK = 26
