# mypy: ignore-errors
"""Motion of chords: the relative motion of two ends, and the constraint rows P, P0, P00 made from it (5.3).

A cut hinge allows the motions spanned by its partials v, w. Its constraints are the wrenches that do no work
on them (3.3.17): one row per direction of the complement, f . v + m . w = 0 for every speed of the hinge. A
row acts at the point of end b. With N the rows in the base of end a and y the motion of b relative to a::

    position      N (y - y_hinge)            y_hinge: the pose of the hinge nearest to y, by its own coordinates
    velocity      P u + P0 = N (y' - v0)
    acceleration  P ud + P00 = N (y'' - v00)

(The derivative of N adds nothing where the constraints hold.) The file hinge.py makes the rows of a hinge
without unit directions; equations.py takes the rows of constraint elements and couplings.
"""

from ..kernel.language import call_part, kernel, load3, load9, store
from ..kernel.vector import add, cross, dot, multiply, rotate, scale, sub, transpose, unrotate
from ..plan.chord_views import CHORD_ELEMENT, chord_paths, chord_work, chords, partials, places, rows
from ..plan.columns import body, chord, row, speed
from ..plan.views import dofs


@kernel
def _end(W, place, c, start, i):
    """Return base, point, velocity and acceleration of an end of chord c on body i."""
    Ri = load9(W, i, body.R)
    arm = rotate(Ri, load3(place, c, start + 9))
    w = load3(W, i, body.OMEGA)
    velocity = add(load3(W, i, body.VELOCITY), cross(w, arm))
    acceleration = add(
        load3(W, i, body.ACC), add(cross(load3(W, i, body.ALPHA), arm), cross(w, cross(w, arm)))
    )
    return multiply(Ri, load9(place, c, start)), add(load3(W, i, body.P), arm), velocity, acceleration


@kernel
def relative_motion(W, X, place, c, a, b):
    """Compute the motion of end b relative to end a in the base of a.

    Returns that base and the point of b.
    """
    Ra, xa, va, aa = _end(W, place, c, chord.PLACE_A, a)
    Rb, xb, vb, ab = _end(W, place, c, chord.PLACE_B, b)
    wa, dwa = load3(W, a, body.OMEGA), load3(W, a, body.ALPHA)
    d, w = sub(xb, xa), sub(load3(W, b, body.OMEGA), wa)
    store(X, c, chord.OFFSET, unrotate(Ra, d))
    store(X, c, chord.ROTATION, multiply(transpose(Ra), Rb))
    v = sub(sub(vb, va), cross(wa, d))  # (5.2.18) solved for the hinge
    store(X, c, chord.RATE, unrotate(Ra, v))
    store(X, c, chord.TURN, unrotate(Ra, w))
    carried = add(cross(dwa, d), add(cross(wa, cross(wa, d)), scale(2.0, cross(wa, v))))
    store(X, c, chord.ACCELERATION, unrotate(Ra, sub(sub(ab, aa), carried)))
    turn_rate = sub(sub(load3(W, b, body.ALPHA), dwa), cross(wa, w))  # (5.2.8)
    store(X, c, chord.TURN_RATE, unrotate(Ra, turn_rate))
    return Ra, xb


@kernel
def _write(Y, X, c, r, Ra, k, residual):
    """Write row r: unit direction k of (translation, rotation) in the base of end a."""
    zero, axis = (0.0, 0.0, 0.0), (Ra[0], Ra[3], Ra[6])
    if k % 3 == 1:
        axis = (Ra[1], Ra[4], Ra[7])
    elif k % 3 == 2:
        axis = (Ra[2], Ra[5], Ra[8])
    store(Y, r, row.F, axis if k < 3 else zero)
    store(Y, r, row.M, axis if k >= 3 else zero)
    Y[r, row.POSITION] = residual
    Y[r, row.VELOCITY] = X[c, chord.RATE + k]  # TURN follows RATE, TURN_RATE follows ACCELERATION
    Y[r, row.BIAS] = X[c, chord.ACCELERATION + k]


@kernel
def _built_in_rows(Y, X, c, r, kind, Ra):
    """Write the rows of a hinge whose complement is made of unit directions."""
    if kind != body.PRISMATIC:
        for k in range(3):
            _write(Y, X, c, r, Ra, k, X[c, chord.OFFSET + k])
            r += 1
    else:
        for k in range(2):
            _write(Y, X, c, r, Ra, k, X[c, chord.OFFSET + k])
            r += 1
    C = chord.ROTATION
    if kind == body.REVOLUTE:  # the third axis of b seen from a: its turn away from the third axis of a
        _write(Y, X, c, r, Ra, 3, -X[c, C + 5])
        _write(Y, X, c, r + 1, Ra, 4, X[c, C + 2])
    elif kind != body.BALL:  # no turn at all: the axial part of the rotation
        _write(Y, X, c, r, Ra, 3, 0.5 * (X[c, C + 7] - X[c, C + 5]))
        _write(Y, X, c, r + 1, Ra, 4, 0.5 * (X[c, C + 2] - X[c, C + 6]))
        _write(Y, X, c, r + 2, Ra, 5, 0.5 * (X[c, C + 3] - X[c, C + 1]))


@kernel
def constraint_rows(plan, loops, W, S, t):
    """Compute wrenches, residuals, biases and partials P of all chords.

    Call it after positions, velocities and origin velocities, with the accelerations of the bodies for own_ud
    in W (all given, or zero except the prescribed ones) and the partials of all speeds in S. Returns -1, or
    the chord whose element failed.
    """
    plan_chord, place, X, Y = chords(loops), places(loops), chord_work(loops), rows(loops)
    path, entry, dof = chord_paths(loops), partials(loops), dofs(plan)
    for c in range(plan_chord.shape[0]):
        kind, first, count = (
            plan_chord[c, chord.KIND],
            plan_chord[c, chord.FIRST_ROW],
            plan_chord[c, chord.N_ROWS],
        )
        if kind == chord.COUPLING:
            if call_part(loops[CHORD_ELEMENT], c, t, loops) != 1:
                return c
            continue
        Ra, xb = relative_motion(W, X, place, c, plan_chord[c, chord.BODY_A], plan_chord[c, chord.BODY_B])
        if kind == body.BY_ADDRESS or kind == chord.CONSTRAINT:
            if call_part(loops[CHORD_ELEMENT], c, t, loops) != 1:
                return c
            for r in range(first, first + count):
                store(Y, r, row.F, rotate(Ra, load3(Y, r, row.F)))
                store(Y, r, row.M, rotate(Ra, load3(Y, r, row.M)))
        else:
            _built_in_rows(Y, X, c, first, kind, Ra)
        at, skip = plan_chord[c, chord.FIRST_ENTRY], plan_chord[c, chord.SKIP]
        for k in range(plan_chord[c, chord.PATH_START], plan_chord[c, chord.PATH_END]):
            d = path[k, chord.SPEED]
            w = load3(S, d, speed.PARTIAL_W)
            v = add(load3(S, d, speed.PARTIAL_V), cross(w, sub(xb, load3(W, dof[d, speed.OWNER], body.P))))
            for r in range(first, first + count):
                if (skip >> (r - first)) & 1 == 0:
                    entry[at] = path[k, chord.SIDE] * (
                        dot(load3(Y, r, row.F), v) + dot(load3(Y, r, row.M), w)
                    )
                at += 1
    return -1
