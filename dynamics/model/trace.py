"""Columns of a trace (`Core.trace`): motion and hinge load of every body, in world components."""

N_TRACE = 30
ROTATION, POSITION, OMEGA = slice(0, 9), slice(9, 12), slice(12, 15)
VELOCITY, ALPHA, ACCELERATION = slice(15, 18), slice(18, 21), slice(21, 24)
MOMENT, FORCE = slice(24, 27), slice(27, 30)
