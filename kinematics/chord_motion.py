# mypy: ignore-errors
"""Chords: the relative motion of two ends, and from it the constraint rows P, P0, P00 (5.3).

A cut hinge allows the motions its partials v, w span; its constraints are the wrenches that do no work on them
(3.3.17): one row per direction of the complement, f . v + m . w = 0 for every speed of the hinge. A row acts at
the point of end b. With N the rows in the base of end a and y the motion of b relative to a::

    position      N (y - y_hinge)            y_hinge: the pose of the hinge nearest to y, by its own coordinates
    velocity      P u + P0 = N (y' - v0)
    acceleration  P ud + P00 = N (y'' - v00)

(The derivative of N adds nothing where the constraints hold.)
"""

from .chord_plan import (
    ACCELERATION,
    ADDRESS,
    BIAS,
    BODY_A,
    BODY_B,
    COMPLEMENT,
    EULER,
    FIRST_ENTRY,
    FIRST_Q,
    FIRST_ROW,
    KIND,
    MOTION_SPACE,
    N_ROWS,
    NQ,
    NU,
    OFFSET,
    PARAMETER,
    PATH_END,
    PATH_START,
    PLACE_A,
    PLACE_B,
    POSITION,
    RATE,
    RECORD,
    ROTATION,
    ROW_F,
    ROW_M,
    SIDE,
    SPEED,
    SPEEDS,
    TURN,
    TURN_RATE,
    VELOCITY,
)
from .chord_views import (
    chord_paths,
    chord_pivots,
    chord_q,
    chord_records,
    chord_work,
    chords,
    partials,
    places,
    rows,
)
from .kernel import call_element, kernel, load3, load9, store
from .plan import ACC, ALPHA, BALL, OMEGA, OWNER, PARTIAL_V, PARTIAL_W, PRISMATIC, REVOLUTE, TABLE, P, R
from .plan import VELOCITY as BODY_VELOCITY
from .table_hinge import clear_record
from .vector import add, cross, dot, multiply, rotate, scale, sub, transpose, unrotate
from .views import dofs, parameters


@kernel
def _end(W, place, c, start, i):
    """Base, point, velocity and acceleration of an end of chord c on body i."""
    Ri = load9(W, i, R)
    arm = rotate(Ri, load3(place, c, start + 9))
    w = load3(W, i, OMEGA)
    velocity = add(load3(W, i, BODY_VELOCITY), cross(w, arm))
    acceleration = add(load3(W, i, ACC), add(cross(load3(W, i, ALPHA), arm), cross(w, cross(w, arm))))
    return multiply(Ri, load9(place, c, start)), add(load3(W, i, P), arm), velocity, acceleration


@kernel
def _relative_motion(W, X, place, c, a, b):
    """Motion of end b relative to end a in the base of a, for ud = 0; returns that base and the point of b."""
    Ra, xa, va, aa = _end(W, place, c, PLACE_A, a)
    Rb, xb, vb, ab = _end(W, place, c, PLACE_B, b)
    wa, dwa = load3(W, a, OMEGA), load3(W, a, ALPHA)
    d, w = sub(xb, xa), sub(load3(W, b, OMEGA), wa)
    store(X, c, OFFSET, unrotate(Ra, d))
    store(X, c, ROTATION, multiply(transpose(Ra), Rb))
    v = sub(sub(vb, va), cross(wa, d))  # (5.2.18) solved for the hinge
    store(X, c, RATE, unrotate(Ra, v))
    store(X, c, TURN, unrotate(Ra, w))
    carried = add(cross(dwa, d), add(cross(wa, cross(wa, d)), scale(2.0, cross(wa, v))))
    store(X, c, ACCELERATION, unrotate(Ra, sub(sub(ab, aa), carried)))
    turn_rate = sub(sub(load3(W, b, ALPHA), dwa), cross(wa, w))  # (5.2.8)
    store(X, c, TURN_RATE, unrotate(Ra, turn_rate))
    return Ra, xb


@kernel
def _write(Y, X, c, r, Ra, k, residual):
    """Row r: unit direction k of (translation, rotation) in the base of end a."""
    unit = (1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
    zero = (0.0, 0.0, 0.0)
    store(Y, r, ROW_F, rotate(Ra, unit) if k < 3 else zero)
    store(Y, r, ROW_M, rotate(Ra, unit) if k >= 3 else zero)
    Y[r, POSITION] = residual
    Y[r, VELOCITY] = X[c, RATE + k]  # RATE and TURN, ACCELERATION and TURN_RATE stand side by side
    Y[r, BIAS] = X[c, ACCELERATION + k]


@kernel
def _built_in_rows(Y, X, c, r, kind, Ra):
    """Rows of the hinges whose complement is made of unit directions."""
    if kind != PRISMATIC:
        for k in range(3):
            _write(Y, X, c, r, Ra, k, X[c, OFFSET + k])
            r += 1
    else:
        for k in range(2):
            _write(Y, X, c, r, Ra, k, X[c, OFFSET + k])
            r += 1
    C = ROTATION
    if kind == REVOLUTE:  # the third axis of b seen from a: its turn away from the third axis of a
        _write(Y, X, c, r, Ra, 3, -X[c, C + 5])
        _write(Y, X, c, r + 1, Ra, 4, X[c, C + 2])
    elif kind != BALL:  # no turn at all: the axial part of the rotation
        _write(Y, X, c, r, Ra, 3, 0.5 * (X[c, C + 7] - X[c, C + 5]))
        _write(Y, X, c, r + 1, Ra, 4, 0.5 * (X[c, C + 2] - X[c, C + 6]))
        _write(Y, X, c, r + 2, Ra, 5, 0.5 * (X[c, C + 3] - X[c, C + 1]))


@kernel
def _evaluate(chord, X, record, q, parameter, c, t):
    """Motion record of the TABLE hinge of chord c at its coordinates q and the speeds in X; whether it worked."""
    o, n = chord[c, RECORD], chord[c, NU]
    clear_record(record, o, n)
    speeds = X[c]
    status = call_element(
        chord[c, ADDRESS], q, chord[c, FIRST_Q], speeds, SPEEDS, t, parameter, chord[c, PARAMETER], record, o
    )
    return status == 1


@kernel
def _motion_space(chord, X, record, c):
    """Orthonormal rows that span the partials of the hinge, by Gram and Schmidt, twice for good measure."""
    o, n = chord[c, RECORD] + 12, chord[c, NU]
    for k in range(n):
        at = MOTION_SPACE + 6 * k
        for j in range(3):
            X[c, at + j] = record[o + 3 * k + j]
            X[c, at + 3 + j] = record[o + 3 * n + 3 * k + j]
        _orthonormalise(X, c, MOTION_SPACE, k, at)


@kernel
def _orthonormalise(X, c, first, count, at):
    """Row `at` less its parts along the `count` rows from `first` on, at length 1; its length before."""
    for _ in range(2):
        for i in range(count):
            s = 0.0
            for j in range(6):
                s += X[c, at + j] * X[c, first + 6 * i + j]
            for j in range(6):
                X[c, at + j] -= s * X[c, first + 6 * i + j]
    s = 0.0
    for j in range(6):
        s += X[c, at + j] * X[c, at + j]
    s = s**0.5
    for j in range(6):
        X[c, at + j] /= s
    return s


@kernel
def _gap(X, record, o, c, k):
    """Component k of the pose of b less that of the hinge (offset; axial part of the turn between them)."""
    if k < 3:
        return X[c, OFFSET + k] - record[o + k]
    i, j = (k - 3 + 2) % 3, (k - 3 + 1) % 3  # axial k: (i, j) of C C_hinge^T, antisymmetric part
    s = 0.0
    for l in range(3):
        s += X[c, ROTATION + 3 * i + l] * record[o + 3 + 3 * j + l]
        s -= X[c, ROTATION + 3 * j + l] * record[o + 3 + 3 * i + l]
    return 0.5 * s


@kernel
def _along(chord, X, record, c, drift):
    """Speeds of the hinge that fit best: the gap of its pose, or (drift) the relative velocity less the drift."""
    o, n = chord[c, RECORD], chord[c, NU]
    v, od = o + 12, o + 12 + 6 * n
    # J J^T s = J g by Gauss elimination in the room of the complement, which is written later
    for a in range(n):
        right = 0.0
        for k in range(6):
            g = X[c, RATE + k] - record[od + k] if drift else _gap(X, record, o, c, k)
            right += _partial(record, v, n, a, k) * g
        X[c, SPEEDS + a] = right
        for b in range(n):
            s = 0.0
            for k in range(6):
                s += _partial(record, v, n, a, k) * _partial(record, v, n, b, k)
            X[c, COMPLEMENT + 6 * a + b] = s
    for a in range(n):
        for b in range(a + 1, n):
            f = X[c, COMPLEMENT + 6 * b + a] / X[c, COMPLEMENT + 6 * a + a]
            for k in range(a, n):
                X[c, COMPLEMENT + 6 * b + k] -= f * X[c, COMPLEMENT + 6 * a + k]
            X[c, SPEEDS + b] -= f * X[c, SPEEDS + a]
    size = 0.0
    for a in range(n - 1, -1, -1):
        s = X[c, SPEEDS + a]
        for b in range(a + 1, n):
            s -= X[c, COMPLEMENT + 6 * a + b] * X[c, SPEEDS + b]
        X[c, SPEEDS + a] = s / X[c, COMPLEMENT + 6 * a + a]
        size = max(size, abs(X[c, SPEEDS + a]))
    return size


@kernel
def _partial(record, v, n, a, k):
    """Component k of (translation, rotation) of the partial of speed a."""
    return record[v + 3 * a + k] if k < 3 else record[v + 3 * n + 3 * a + k - 3]


@kernel
def _move(chord, X, q, c):
    """Coordinates of the hinge after the small motion in the speeds; Euler parameters stay of length 1."""
    iq, n, euler = chord[c, FIRST_Q], chord[c, NU], chord[c, EULER]
    if euler < 0:
        for k in range(n):
            q[iq + k] += X[c, SPEEDS + k]
        return
    for k in range(euler):
        q[iq + k] += X[c, SPEEDS + k]
    a = iq + euler
    x, y, z = X[c, SPEEDS + euler], X[c, SPEEDS + euler + 1], X[c, SPEEDS + euler + 2]
    e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
    q[a] = e0 - 0.5 * (x * e1 + y * e2 + z * e3)
    q[a + 1] = e1 + 0.5 * (x * e0 + y * e3 - z * e2)
    q[a + 2] = e2 + 0.5 * (y * e0 + z * e1 - x * e3)
    q[a + 3] = e3 + 0.5 * (z * e0 + x * e2 - y * e1)
    s = (q[a] * q[a] + q[a + 1] * q[a + 1] + q[a + 2] * q[a + 2] + q[a + 3] * q[a + 3]) ** -0.5
    for k in range(a, a + 4):
        q[k] *= s
    for k in range(euler + 4, chord[c, NQ]):
        q[iq + k] += X[c, SPEEDS + k - 1]


@kernel
def _table_rows(chord, Y, X, record, q, pivot, parameter, c, Ra, t):
    """Rows of any other hinge: its coordinates by Gauss-Newton from the last ones, then its complement."""
    o, n, r = chord[c, RECORD], chord[c, NU], chord[c, FIRST_ROW]
    for k in range(n):
        X[c, SPEEDS + k] = 0.0
    for _ in range(20):
        if not _evaluate(chord, X, record, q, parameter, c, t):
            return False
        size = _along(chord, X, record, c, False) if n > 0 else 0.0
        if size < 1e-14:
            break
        _move(chord, X, q, c)
        if size < 1e-9:  # quadratic: the next one would be rounding
            if not _evaluate(chord, X, record, q, parameter, c, t):
                return False
            break
    if n > 0:
        _along(chord, X, record, c, True)
    if not _evaluate(chord, X, record, q, parameter, c, t):
        return False
    _motion_space(chord, X, record, c)
    ob = o + 12 + 6 * n + 6
    for k in range(6 - n):
        at = COMPLEMENT + 6 * k
        if pivot[c, k] < 0:
            _choose(X, pivot, c, n, k)
        for j in range(6):
            X[c, at + j] = 1.0 if j == pivot[c, k] else 0.0
        _orthonormalise(X, c, MOTION_SPACE, n, at)
        _orthonormalise(X, c, COMPLEMENT, k, at)
        f, m = load3(X, c, at), load3(X, c, at + 3)
        store(Y, r + k, ROW_F, rotate(Ra, f))
        store(Y, r + k, ROW_M, rotate(Ra, m))
        position, velocity, bias = 0.0, 0.0, 0.0
        for j in range(6):
            x = X[c, at + j]
            position += x * _gap(X, record, o, c, j)
            velocity += x * (X[c, RATE + j] - record[ob - 6 + j])
            bias += x * (X[c, ACCELERATION + j] - record[ob + j])
        Y[r + k, POSITION] = position
        Y[r + k, VELOCITY] = velocity
        Y[r + k, BIAS] = bias
    return True


@kernel
def _choose(X, pivot, c, n, k):
    """The unit direction farthest from the motion space and the complement so far."""
    best, far = 0, -1.0
    for j in range(6):
        s = 1.0
        for i in range(n):
            s -= X[c, MOTION_SPACE + 6 * i + j] * X[c, MOTION_SPACE + 6 * i + j]
        for i in range(k):
            s -= X[c, COMPLEMENT + 6 * i + j] * X[c, COMPLEMENT + 6 * i + j]
        if s > far + 1e-9:
            best, far = j, s
    pivot[c, k] = best


@kernel
def constraint_rows(plan, loops, W, S, t):
    """Wrenches, residuals, biases and partials P of all chords; -1, or the chord whose hinge failed.

    After positions, velocities and origin velocities, and with the accelerations of the bodies for ud = 0 (or
    for the prescribed ones) in W; the partials of all speeds in S.
    """
    chord, place, X, Y = chords(loops), places(loops), chord_work(loops), rows(loops)
    path, entry, dof = chord_paths(loops), partials(loops), dofs(plan)
    for c in range(chord.shape[0]):
        Ra, xb = _relative_motion(W, X, place, c, chord[c, BODY_A], chord[c, BODY_B])
        first, count = chord[c, FIRST_ROW], chord[c, N_ROWS]
        if chord[c, KIND] == TABLE:
            if not _table_rows(
                chord,
                Y,
                X,
                chord_records(loops),
                chord_q(loops),
                chord_pivots(loops),
                parameters(plan),
                c,
                Ra,
                t,
            ):
                return c
        else:
            _built_in_rows(Y, X, c, first, chord[c, KIND], Ra)
        at = chord[c, FIRST_ENTRY]
        for k in range(chord[c, PATH_START], chord[c, PATH_END]):
            d = path[k, SPEED]
            w = load3(S, d, PARTIAL_W)
            v = add(load3(S, d, PARTIAL_V), cross(w, sub(xb, load3(W, dof[d, OWNER], P))))
            for r in range(first, first + count):
                entry[at] = path[k, SIDE] * (dot(load3(Y, r, ROW_F), v) + dot(load3(Y, r, ROW_M), w))
                at += 1
    return -1
