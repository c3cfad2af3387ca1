"""Columns of ChordPlan.chord, .place, .path and ChordWork.chord: cut hinges, constraints and couplings."""

# Kinds of chords besides the cut hinges body.RIGID, REVOLUTE, PRISMATIC, BALL, BY_ADDRESS.
CONSTRAINT, COUPLING = 10, 11

# ChordPlan.chord. NQ and NU count the coordinates and speeds of a cut hinge, or auxiliary unknowns. The first
# HOLONOMIC rows restrict positions. SKIP has a bit for each row whose partials vanish in every position. DUAL
# is the address of the element on dual numbers, or 0.
BODY_A, BODY_B, KIND, ADDRESS, PARAMETER, RECORD, NQ, NU, EULER = range(9)
FIRST_ROW, N_ROWS, HOLONOMIC, FIRST_Q, FIRST_U, PATH_START, PATH_END, FIRST_ENTRY, SKIP, DUAL = range(9, 19)
N_COLUMNS = 19

# ChordPlan.place: end a in its body's base (rotation, point), then end b.
PLACE_A, PLACE_B, N_PLACE = 0, 12, 24

# ChordPlan.path: a speed between the two ends, and whether it moves end b (+1) or end a (-1). For a coupling:
# a speed it joins, and where its coordinate stands in q.
SPEED, SIDE, COORDINATE = 0, 1, 2
N_PATH_COLUMNS = 3

# ChordWork.chord: motion of end b relative to end a in the base of a; for the fit of a hinge by address the
# orthonormal rows of its motion space and of their complement, six numbers each, and workspace; speeds of the
# hinge and their rates, or those of the auxiliary unknowns. A constraint with auxiliary unknowns has a
# triangular matrix in place of the base.
OFFSET, ROTATION, RATE, TURN, ACCELERATION, TURN_RATE = 0, 3, 12, 15, 18, 21
BASE, WORKSPACE, SPEEDS, SPEED_RATES = 24, 60, 96, 102
TRIANGLE, SOLUTION = BASE, BASE + 16
N_WORK = 108

# Derivatives of the rows of an element (kinematics.chords.partials): N_LOCAL numbers of a row vary with the
# relative pose (its wrench in the base of a, velocity, bias); N_KEPT numbers of the chord are kept meanwhile
# (its work, up to 7 coordinates, 6 unit directions).
N_LOCAL, N_KEPT = 8, N_WORK + 16

# Directions of one chord: 12, or coordinates and speeds of a coupling.
MOST_DIRECTIONS = 1024

# What a constraint may have; a pair of bodies has six freedoms.
MOST_HOLONOMIC, MOST_AUXILIARY, MOST_ROWS = 6, 4, 12
