# mypy: ignore-errors
"""Coordinates and speeds of cut hinges, as if they were branches: over several turns, by name in every result.

The integrator carries them behind q and u: their rates are integrated, so that whole turns are counted whatever
the size of a step, and a fit (chord_motion) starts next to its solution; every accepted step settles them to the
coordinates the pose has.
"""

from math import atan2, floor, pi, sqrt

from ..kernel.language import kernel
from ..plan.arrays import BALL, PRISMATIC, REVOLUTE
from ..plan.chord_views import chord_q, chord_u, chord_work, chords
from ..plan.chords import (
    ACCELERATION,
    EULER,
    FIRST_Q,
    FIRST_U,
    KIND,
    NQ,
    NU,
    OFFSET,
    RATE,
    ROTATION,
    SPEED_RATES,
    SPEEDS,
    TURN,
    TURN_RATE,
)
from ..tree.sweep import rates_of_hinge


@kernel
def _settle_ball(X, c, q, a):
    """Euler parameters of the rotation, on the side of the last ones: from the largest of them (Shepperd)."""
    C = ROTATION
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
def settle(loops):
    """Coordinates of all cut hinges at the pose of the last `constraint_rows`, next to those they had."""
    chord, X, q = chords(loops), chord_work(loops), chord_q(loops)
    for c in range(chord.shape[0]):
        kind, a = chord[c, KIND], chord[c, FIRST_Q]
        if kind == REVOLUTE:
            angle = atan2(X[c, ROTATION + 3] - X[c, ROTATION + 1], X[c, ROTATION] + X[c, ROTATION + 4])
            q[a] = angle + 2.0 * pi * floor((q[a] - angle) / (2.0 * pi) + 0.5)
        elif kind == PRISMATIC:
            q[a] = X[c, OFFSET + 2]
        elif kind == BALL:
            _settle_ball(X, c, q, a)


@kernel
def _pick(loops, along, about, fitted, out):
    """Of every cut hinge its part of the relative motion: along and about the axes of end a, or as fitted."""
    chord, X = chords(loops), chord_work(loops)
    for c in range(chord.shape[0]):
        kind, a = chord[c, KIND], chord[c, FIRST_U]
        if kind == REVOLUTE:
            out[a] = X[c, about + 2]
        elif kind == PRISMATIC:
            out[a] = X[c, along + 2]
        else:
            first = about if kind == BALL else fitted
            for k in range(chord[c, NU]):
                out[a + k] = X[c, first + k]


@kernel
def chord_speeds(loops):
    """Speeds of all cut hinges, after `constraint_rows`."""
    _pick(loops, RATE, TURN, SPEEDS, chord_u(loops))


@kernel
def chord_accelerations(loops, ud):
    """Accelerations of all cut hinges, after `constraint_rows` with the accelerations of the bodies."""
    _pick(loops, ACCELERATION, TURN_RATE, SPEED_RATES, ud)


@kernel
def chord_rates(loops, rates):
    """q' of all cut hinges, after `constraint_rows`."""
    chord, q, u = chords(loops), chord_q(loops), chord_u(loops)
    chord_speeds(loops)
    for c in range(chord.shape[0]):
        rates_of_hinge(q, chord[c, FIRST_Q], chord[c, NQ], u, chord[c, FIRST_U], chord[c, EULER], rates)
