# mypy: ignore-errors
"""Coordinates and speeds of cut hinges, as for branches: over several turns, by name in every result.

The integrator carries them behind q and u. Their rates are integrated, so that whole turns are counted with
steps of any size, and a fit (kinematics.chords.hinge) starts next to its solution. Every accepted step
replaces them by the coordinates of the pose.
"""

from math import atan2, floor, pi, sqrt

from ..kernel.language import kernel
from ..plan.chord_views import chord_q, chord_u, chord_work, chords
from ..plan.columns import body, chord
from ..tree.sweep import rates_of_hinge


@kernel
def _fit_ball(X, c, q, a):
    """Compute the Euler parameters of the rotation (Shepperd), with the sign of the last ones."""
    C = chord.ROTATION
    xx, yy, zz = X[c, C], X[c, C + 4], X[c, C + 8]
    s0, s1, s2, s3 = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    x, y, z = X[c, C + 7] - X[c, C + 5], X[c, C + 2] - X[c, C + 6], X[c, C + 3] - X[c, C + 1]
    xy, xz, yz = X[c, C + 1] + X[c, C + 3], X[c, C + 2] + X[c, C + 6], X[c, C + 5] + X[c, C + 7]
    if s0 >= s1 and s0 >= s2 and s0 >= s3:
        e0, e1, e2, e3 = s0, x, y, z
    elif s1 >= s2 and s1 >= s3:
        e0, e1, e2, e3 = x, s1, xy, xz
    elif s2 >= s3:
        e0, e1, e2, e3 = y, xy, s2, yz
    else:
        e0, e1, e2, e3 = z, xz, yz, s3
    f = 1.0 / sqrt(e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    if e0 * q[a] + e1 * q[a + 1] + e2 * q[a + 2] + e3 * q[a + 3] < 0.0:
        f = -f
    q[a] = f * e0
    q[a + 1] = f * e1
    q[a + 2] = f * e2
    q[a + 3] = f * e3


@kernel
def fit_chord_coordinates(loops):
    """Fit the coordinates of all cut hinges to the pose of `constraint_rows`, next to their last values."""
    plan_chord, X, q = chords(loops), chord_work(loops), chord_q(loops)
    for c in range(plan_chord.shape[0]):
        kind, a = plan_chord[c, chord.KIND], plan_chord[c, chord.FIRST_Q]
        if kind == body.REVOLUTE:
            angle = atan2(
                X[c, chord.ROTATION + 3] - X[c, chord.ROTATION + 1],
                X[c, chord.ROTATION] + X[c, chord.ROTATION + 4],
            )
            q[a] = angle + 2.0 * pi * floor((q[a] - angle) / (2.0 * pi) + 0.5)
        elif kind == body.PRISMATIC:
            q[a] = X[c, chord.OFFSET + 2]
        elif kind == body.BALL:
            _fit_ball(X, c, q, a)


@kernel
def _pick(loops, along, about, fitted, out):
    """Copy the rates of every cut hinge from the relative motion (along, about axes of a) or from its fit."""
    plan_chord, X = chords(loops), chord_work(loops)
    for c in range(plan_chord.shape[0]):
        kind, a = plan_chord[c, chord.KIND], plan_chord[c, chord.FIRST_U]
        if kind == body.REVOLUTE:
            out[a] = X[c, about + 2]
        elif kind == body.PRISMATIC:
            out[a] = X[c, along + 2]
        else:
            first = about if kind == body.BALL else fitted
            for k in range(plan_chord[c, chord.NU]):
                out[a + k] = X[c, first + k]


@kernel
def chord_speeds(loops):
    """Compute the speeds of all cut hinges, after `constraint_rows`."""
    _pick(loops, chord.RATE, chord.TURN, chord.SPEEDS, chord_u(loops))


@kernel
def chord_accelerations(loops, ud):
    """Compute accelerations of all cut hinges, after `constraint_rows` with accelerations of the bodies."""
    _pick(loops, chord.ACCELERATION, chord.TURN_RATE, chord.SPEED_RATES, ud)


@kernel
def chord_rates(loops, rates):
    """Compute q' of all cut hinges, after `constraint_rows`."""
    plan_chord, q, u = chords(loops), chord_q(loops), chord_u(loops)
    chord_speeds(loops)
    for c in range(plan_chord.shape[0]):
        rates_of_hinge(
            q,
            plan_chord[c, chord.FIRST_Q],
            plan_chord[c, chord.NQ],
            u,
            plan_chord[c, chord.FIRST_U],
            plan_chord[c, chord.EULER],
            rates,
        )
