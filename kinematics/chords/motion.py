# mypy: ignore-errors
"""Chords: the relative motion of two ends, and from it the constraint rows P, P0, P00 (5.3).

A cut hinge allows the motions its partials v, w span; its constraints are the wrenches that do no work on them
(3.3.17): one row per direction of the complement, f . v + m . w = 0 for every speed of the hinge. A row acts at
the point of end b. With N the rows in the base of end a and y the motion of b relative to a::

    position      N (y - y_hinge)            y_hinge: the pose of the hinge nearest to y, by its own coordinates
    velocity      P u + P0 = N (y' - v0)
    acceleration  P ud + P00 = N (y'' - v00)

(The derivative of N adds nothing where the constraints hold.) How a hinge without unit
directions makes its rows is in chord_table; constraint elements and couplings bring their own (chord_equations).
"""

from ..kernel.language import call_part, kernel, load3, load9, store
from ..kernel.vector import add, cross, dot, multiply, rotate, scale, sub, transpose, unrotate
from ..plan.chord_views import CHORD_ELEMENT, chord_paths, chord_work, chords, partials, places, rows
from ..plan.columns import body, chord, row, speed
from ..plan.views import dofs


@kernel
def _end(W, place, c, start, i):
    """Base, point, velocity and acceleration of an end of chord c on body i."""
    Ri = load9(W, i, body.R)
    arm = rotate(Ri, load3(place, c, start + 9))
    w = load3(W, i, body.OMEGA)
    velocity = add(load3(W, i, body.VELOCITY), cross(w, arm))
    acceleration = add(
        load3(W, i, body.ACC), add(cross(load3(W, i, body.ALPHA), arm), cross(w, cross(w, arm)))
    )
    return multiply(Ri, load9(place, c, start)), add(load3(W, i, body.P), arm), velocity, acceleration


@kernel
def _relative_motion(W, X, place, c, a, b):
    """Motion of end b relative to end a in the base of a, for ud = 0; returns that base and the point of b."""
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
    """Row r: unit direction k of (translation, rotation) in the base of end a."""
    zero, axis = (0.0, 0.0, 0.0), (Ra[0], Ra[3], Ra[6])
    if k % 3 == 1:
        axis = (Ra[1], Ra[4], Ra[7])
    elif k % 3 == 2:
        axis = (Ra[2], Ra[5], Ra[8])
    store(Y, r, row.F, axis if k < 3 else zero)
    store(Y, r, row.M, axis if k >= 3 else zero)
    Y[r, row.POSITION] = residual
    Y[r, row.VELOCITY] = X[c, chord.RATE + k]  # RATE and TURN, ACCELERATION and TURN_RATE stand side by side
    Y[r, row.BIAS] = X[c, chord.ACCELERATION + k]


@kernel
def _built_in_rows(Y, X, c, r, kind, Ra):
    """Rows of the hinges whose complement is made of unit directions."""
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
    """Wrenches, residuals, biases and partials P of all chords; -1, or the chord whose element failed.

    After positions, velocities and origin velocities, and with the accelerations of the bodies for own_ud in W (zero
    but for the prescribed ones, or all given); the partials of all speeds in S.
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
        Ra, xb = _relative_motion(W, X, place, c, plan_chord[c, chord.BODY_A], plan_chord[c, chord.BODY_B])
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
