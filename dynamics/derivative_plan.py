"""Room for the derivatives of the equations of motion: what stands where in one block of doubles."""

# Per body, components about the first body's origin of its branch from the ground: spatial velocity 6, acceleration 6,
# then, of the body and later of all bodies it carries, mass, first moment 3, inertia 6, sum of m v 3, of m v r^T 9,
# moment 3 and force 3
VELOCITY, ACCELERATION, MASS, FIRST, SECOND, MOMENTUM, FLUX, MOMENT, FORCE = 0, 6, 12, 13, 16, 22, 25, 34, 37
N_DERIVATIVE_BODY = 40
# Per speed, one row per component: the speed's motion s; what a displacement along s adds to the velocity (y) and to
# the acceleration (z) of all bodies beyond, seen from there; what a change of the speed adds to the acceleration (e)
SPEED_S, SPEED_Y, SPEED_Z, SPEED_E, N_COMPONENTS = 0, 6, 12, 18, 24
# Differences of a record; the largest is that of a hinge with six speeds
LONGEST_RECORD = 60
# A hinge's derivatives by one coordinate of its own: those of the record, then of the biases by the speed
N_OWN = LONGEST_RECORD + 6
# Scratch for one load (dynamics.effort_partials)
N_EFFORT = 96


def room_size(rows: int, nu: int) -> int:
    """Doubles `tree_derivatives` needs for so many bodies (ground too) and speeds."""
    scratch = N_EFFORT + max(4 * LONGEST_RECORD, 18 * nu)
    return rows * (N_DERIVATIVE_BODY + 6 * N_OWN) + (N_COMPONENTS + 2) * nu + scratch
