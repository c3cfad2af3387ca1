"""Columns of Plan.body, Plan.constants and Work.body: one row per body, row 0 is the ground."""

# Kinds of hinges that the sweeps know; every other hinge is called through its address.
RIGID, REVOLUTE, PRISMATIC, BALL, FREE, BY_ADDRESS = range(6)

# Plan.body. DUAL is the address of the hinge on dual numbers, or 0 (kinematics.layout.dual_addresses).
PARENT, KIND, Q, U, DOF, NQ, NU, N_FREE, REVERSED, EULER, ADDRESS, PARAMETER, RECORD, DUAL = range(14)
N_COLUMNS = 14

# Plan.constants: placement of the hinge on the parent, the inertia of the body, that of the rotor on the speeds of the hinge.
PLACE_R, PLACE_P, MASS, COM, INERTIA, SIGN, ROTOR = 0, 9, 12, 13, 16, 22, 23
N_CONSTANTS = 24

# The first numbers of a hinge record: offset 3, rotation 9. Partials 2 x 3 nu, drifts 6 and biases 6 follow
# (elements.hinge.motion_layout).
FRAME = 12

# Work.body
R, P, ARM = 0, 9, 12  # rotation, position, arm from the parent's origin
OMEGA, ALPHA, ACC = 15, 18, 21  # angular velocity, angular acceleration, acceleration less gravity
MOMENT, FORCE = 24, 27  # loads handed to the parent, about the body's origin
ART_A, ART_B, ART_M = 30, 36, 45  # articulated inertia: rotation (sym), coupling, translation (sym)
BIAS_N, BIAS_F = 51, 54  # articulated bias load
U_N, U_F, D_INV, U_LOAD = 57, 60, 63, 64  # one free speed: inertia column, 1/D, load
ZETA_W, ZETA_V = 65, 68  # accelerations without ud and without the parent's
DRIFT_W, DRIFT_V, HINGE_BIAS_W, HINGE_BIAS_V = 71, 74, 77, 80  # of a hinge by address, world components
VELOCITY = 83  # of the origin
APPLIED_N, APPLIED_F = 86, 89  # applied loads about the origin
N_WORK = 92
