# mypy: ignore-errors
"""Rows of a cut hinge by address: its coordinates are fitted to the pose, its complement gives the rows."""

from ..kernel.language import apply_element, kernel, load3, store
from ..kernel.orthonormal import complement, orthonormalise
from ..plan.columns import chord, row
from ..tree.general_hinge import clear_record


@kernel
def evaluate_hinge(plan_chord, X, record, q, parameter, c, t):
    """Evaluate the motion record of the hinge at its coordinates q and the speeds in X.

    Returns False if it failed.
    """
    o, n = plan_chord[c, chord.RECORD], plan_chord[c, chord.NU]
    clear_record(record, o, n)
    speeds = X[c]
    status = apply_element(
        plan_chord[c, chord.ADDRESS], q, plan_chord[c, chord.FIRST_Q], plan_chord[c, chord.NQ], speeds, chord.SPEEDS, n, t,
        parameter, plan_chord[c, chord.PARAMETER], record, o, 24 + 6 * n,
    )  # fmt: skip
    return status == 1


@kernel
def motion_space(plan_chord, X, record, c):
    """Store orthonormal rows that span the partials of the hinge."""
    o, n, base = plan_chord[c, chord.RECORD] + 12, plan_chord[c, chord.NU], X[c]
    for k in range(n):
        at = chord.BASE + 6 * k
        for j in range(3):
            base[at + j] = record[o + 3 * k + j]
            base[at + 3 + j] = record[o + 3 * n + 3 * k + j]
        orthonormalise(base, chord.BASE, k, at, 6)


@kernel
def _gap(X, record, o, c, k):
    """Return component k of the pose of b less that of the hinge (offset; axial part of the turn)."""
    if k < 3:
        return X[c, chord.OFFSET + k] - record[o + k]
    i, j = (k - 3 + 2) % 3, (k - 3 + 1) % 3  # axial k: (i, j) of C C_hinge^T, antisymmetric part
    s = 0.0
    for l in range(3):
        s += X[c, chord.ROTATION + 3 * i + l] * record[o + 3 + 3 * j + l]
        s -= X[c, chord.ROTATION + 3 * j + l] * record[o + 3 + 3 * i + l]
    return 0.5 * s


@kernel
def along(plan_chord, X, record, c, what, to):
    """Fit the speeds of the hinge, stored from `to` on, and return the largest.

    They fit the gap of its pose (what = OFFSET), RATE less the drift, or ACCELERATION less the bias.
    """
    o, n = plan_chord[c, chord.RECORD], plan_chord[c, chord.NU]
    v = o + 12
    known = v + 6 * n + (6 if what == chord.ACCELERATION else 0)
    # J J^T s = J g by Gauss elimination
    for a in range(n):
        right = 0.0
        for k in range(6):
            g = _gap(X, record, o, c, k) if what == chord.OFFSET else X[c, what + k] - record[known + k]
            right += _partial(record, v, n, a, k) * g
        X[c, to + a] = right
        for b in range(n):
            s = 0.0
            for k in range(6):
                s += _partial(record, v, n, a, k) * _partial(record, v, n, b, k)
            X[c, chord.WORKSPACE + 6 * a + b] = s
    for a in range(n):
        for b in range(a + 1, n):
            f = X[c, chord.WORKSPACE + 6 * b + a] / X[c, chord.WORKSPACE + 6 * a + a]
            for k in range(a, n):
                X[c, chord.WORKSPACE + 6 * b + k] -= f * X[c, chord.WORKSPACE + 6 * a + k]
            X[c, to + b] -= f * X[c, to + a]
    size = 0.0
    for a in range(n - 1, -1, -1):
        s = X[c, to + a]
        for b in range(a + 1, n):
            s -= X[c, chord.WORKSPACE + 6 * a + b] * X[c, to + b]
        X[c, to + a] = s / X[c, chord.WORKSPACE + 6 * a + a]
        size = max(size, abs(X[c, to + a]))
    return size


@kernel
def _partial(record, v, n, a, k):
    """Return component k of (translation, rotation) of the partial of speed a."""
    return record[v + 3 * a + k] if k < 3 else record[v + 3 * n + 3 * a + k - 3]


@kernel
def move(plan_chord, X, q, c):
    """Move the coordinates of the hinge by the small motion in its speeds; Euler parameters keep length 1."""
    iq, n, euler = plan_chord[c, chord.FIRST_Q], plan_chord[c, chord.NU], plan_chord[c, chord.EULER]
    if euler < 0:
        for k in range(n):
            q[iq + k] += X[c, chord.SPEEDS + k]
        return
    for k in range(euler):
        q[iq + k] += X[c, chord.SPEEDS + k]
    a = iq + euler
    x, y, z = X[c, chord.SPEEDS + euler], X[c, chord.SPEEDS + euler + 1], X[c, chord.SPEEDS + euler + 2]
    e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
    q[a] = e0 - 0.5 * (x * e1 + y * e2 + z * e3)
    q[a + 1] = e1 + 0.5 * (x * e0 + y * e3 - z * e2)
    q[a + 2] = e2 + 0.5 * (y * e0 + z * e1 - x * e3)
    q[a + 3] = e3 + 0.5 * (z * e0 + x * e2 - y * e1)
    s = (q[a] * q[a] + q[a + 1] * q[a + 1] + q[a + 2] * q[a + 2] + q[a + 3] * q[a + 3]) ** -0.5
    for k in range(a, a + 4):
        q[k] *= s
    for k in range(euler + 4, plan_chord[c, chord.NQ]):
        q[iq + k] += X[c, chord.SPEEDS + k - 1]


@kernel
def fit_hinge(plan_chord, X, record, q, parameter, c, t):
    """Take one Gauss-Newton step for the coordinates of a hinge by address.

    Returns False if the hinge failed.
    """
    for k in range(plan_chord[c, chord.NU]):
        X[c, chord.SPEEDS + k] = 0.0
    if not evaluate_hinge(plan_chord, X, record, q, parameter, c, t):
        return False
    if plan_chord[c, chord.NU] > 0:
        along(plan_chord, X, record, c, chord.OFFSET, chord.SPEEDS)
        move(plan_chord, X, q, c)
    return True


@kernel
def hinge_rows(plan_chord, Y, X, record, q, pivot, parameter, c, t):
    """Compute the rows of a hinge by address: fit its coordinates by Gauss-Newton, then take its complement.

    Returns False if the hinge failed.
    """
    n = plan_chord[c, chord.NU]
    for k in range(n):
        X[c, chord.SPEEDS + k] = 0.0
    for _ in range(20):
        if not evaluate_hinge(plan_chord, X, record, q, parameter, c, t):
            return False
        size = along(plan_chord, X, record, c, chord.OFFSET, chord.SPEEDS) if n > 0 else 0.0
        if size < 1e-14:
            break
        move(plan_chord, X, q, c)
        if size < 1e-9:  # quadratic convergence: the next step would be rounding
            if not evaluate_hinge(plan_chord, X, record, q, parameter, c, t):
                return False
            break
    if n > 0:
        along(plan_chord, X, record, c, chord.RATE, chord.SPEEDS)
    if not evaluate_hinge(plan_chord, X, record, q, parameter, c, t):
        return False
    if n > 0:
        along(plan_chord, X, record, c, chord.ACCELERATION, chord.SPEED_RATES)
    motion_space(plan_chord, X, record, c)
    complement(X[c], chord.BASE, n, 6, pivot, c)
    write_hinge_rows(plan_chord, Y, X, record, c)
    return True


@kernel
def write_hinge_rows(plan_chord, Y, X, record, c):
    """Write the rows of a hinge by address whose complement stands in X."""
    o, n, r = plan_chord[c, chord.RECORD], plan_chord[c, chord.NU], plan_chord[c, chord.FIRST_ROW]
    ob = o + 12 + 6 * n + 6
    for k in range(6 - n):
        at = chord.BASE + 6 * (n + k)
        store(Y, r + k, row.F, load3(X, c, at))
        store(Y, r + k, row.M, load3(X, c, at + 3))
        position, velocity, bias = 0.0, 0.0, 0.0
        for j in range(6):
            x = X[c, at + j]
            position += x * _gap(X, record, o, c, j)
            velocity += x * (X[c, chord.RATE + j] - record[ob - 6 + j])
            bias += x * (X[c, chord.ACCELERATION + j] - record[ob + j])
        Y[r + k, row.POSITION] = position
        Y[r + k, row.VELOCITY] = velocity
        Y[r + k, row.BIAS] = bias
