"""Columns of Plan.dof, Plan.prescribed and Work.speed: one row per speed, in regular order."""

# Plan.dof: position in the public u, column of the hinge, body, signal that prescribes the speed or -1.
PUBLIC, COLUMN, OWNER, SIGNAL = range(4)
N_COLUMNS = 4

# Plan.prescribed
PRESCRIBED_Q, PRESCRIBED_U, PRESCRIBED_DOF, PRESCRIBED_SIGNAL = range(4)

# Plan.rotors: a speed with the inertia of a rotor, in regular and in public order, its body, its place in the packed rows of A
ROTOR_SPEED, ROTOR_U, ROTOR_BODY, ROTOR_PACKED = range(4)

# Work.speed
PARTIAL_W, PARTIAL_V = 0, 3  # partials of the speed in world components
COLUMN_N, COLUMN_F = 6, 9  # articulated inertia column of a hinge with several speeds
REDUCED_N, REDUCED_F = 12, 15  # the same after elimination of the speeds before it
FACTOR, PIVOT, LOAD, REDUCED_LOAD = 18, 24, 25, 26  # LDL^T of the hinge, loads
N_WORK = 27
