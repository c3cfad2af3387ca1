# mypy: ignore-errors
"""Rows of constraint elements and couplings: their equations without the auxiliary unknowns (5.3.17).

A constraint with unknowns s of its own has n_holonomic + n_auxiliary equations on position. s is their least-
squares solution (Gauss-Newton from the last one). The net rows are the combinations in which s' and s'' do
not occur::

    N A = 0        A: the columns `auxiliary` of the equations on position, N: orthonormal rows of their complement

In equations on velocity, s' is replaced by its solution from the equations on position. So a net row is a
weighted sum of the rows of the element. Its weights follow the rows in the record (1 on the diagonal for an
element without s).
"""

from ..kernel.language import apply_element, kernel, store
from ..kernel.orthonormal import complement, orthonormalise
from ..kernel.vector import add, scale
from ..plan.columns import chord, row, speed


# ---------------------------------------------------------------- constraints
@kernel
def _evaluate(plan_chord, X, record, s, parameter, c, t):
    """Evaluate the rows of constraint c at its relative motion, its unknowns s and their rates in X.

    Returns False if the element failed.
    """
    o, na = plan_chord[c, chord.RECORD], plan_chord[c, chord.NU]
    motion = X[c]
    for k in range(na):  # s directly before its rates
        motion[chord.SPEEDS - na + k] = s[plan_chord[c, chord.FIRST_Q] + k]
    for k in range((plan_chord[c, chord.N_ROWS] + na) * (9 + na)):
        record[o + k] = 0.0
    status = apply_element(
        plan_chord[c, chord.ADDRESS], motion, chord.OFFSET, 18, motion, chord.SPEEDS - na, 2 * na, t, parameter,
        plan_chord[c, chord.PARAMETER], record, o, (plan_chord[c, chord.N_ROWS] + na) * (9 + na),
    )  # fmt: skip
    return status == 1


@kernel
def _three(record, at):
    return (record[at], record[at + 1], record[at + 2])


@kernel
def _on_motion(X, record, c, o, n, entry, at, rest):
    """Return force . v + moment . w + rest of a row, with (v, w) at `at` in X."""
    s = record[rest + entry]
    for j in range(3):
        s += (
            record[o + 3 * (n + entry) + j] * X[c, at + j]
            + record[o + 3 * (2 * n + entry) + j] * X[c, at + 3 + j]
        )
    return s


@kernel
def _factorise(plan_chord, X, record, c):
    """Factorise `auxiliary` = Q R: columns of Q are the first rows of the weights, R is the triangle in X.

    Returns False if R is singular.
    """
    na, n = plan_chord[c, chord.NU], plan_chord[c, chord.N_ROWS] + plan_chord[c, chord.NU]
    width = plan_chord[c, chord.HOLONOMIC] + na
    auxiliary, first = plan_chord[c, chord.RECORD] + 9 * n, plan_chord[c, chord.RECORD] + n * (9 + na)
    for k in range(na):
        at = first + width * k
        for j in range(width):
            record[at + j] = record[auxiliary + na * j + k]
        length = orthonormalise(record, first, k, at, width)
        if not length > 0.0:
            return False
        for i in range(k + 1):
            s = 0.0
            for j in range(width):
                s += record[first + width * i + j] * record[auxiliary + na * j + k]
            X[c, chord.TRIANGLE + 4 * i + k] = s
    return True


@kernel
def _solve(plan_chord, X, record, c, what, to):
    """Solve the equations on position for a step of s (OFFSET), s' (RATE) or s'' (ACCELERATION).

    The least-squares solution is stored from `to` on; its largest component is returned.
    """
    o, na, n = (
        plan_chord[c, chord.RECORD],
        plan_chord[c, chord.NU],
        plan_chord[c, chord.N_ROWS] + plan_chord[c, chord.NU],
    )
    width, first = plan_chord[c, chord.HOLONOMIC] + na, o + n * (9 + na)
    for k in range(na):
        X[c, to + k] = 0.0
    for j in range(width):
        if what == chord.OFFSET:
            gap = record[o + j]
        else:
            gap = _on_motion(X, record, c, o, n, j, what, o + n if what == chord.RATE else o + 2 * n)
        for k in range(na):
            X[c, to + k] -= record[first + width * k + j] * gap
    largest = 0.0
    for k in range(na - 1, -1, -1):
        for j in range(k + 1, na):
            X[c, to + k] -= X[c, chord.TRIANGLE + 4 * k + j] * X[c, to + j]
        X[c, to + k] /= X[c, chord.TRIANGLE + 4 * k + k]
        largest = max(largest, abs(X[c, to + k]))
    return largest


@kernel
def _fit(plan_chord, X, record, s, parameter, c, t):
    """Fit s by Gauss-Newton, with half steps where the error would grow; then solve for s' and s''.

    Returns False if the element failed.
    """
    o, na, i = plan_chord[c, chord.RECORD], plan_chord[c, chord.NU], plan_chord[c, chord.FIRST_Q]
    for k in range(na):
        X[c, chord.SPEEDS + k] = 0.0
    before = 1e300
    for _ in range(20):
        if not _evaluate(plan_chord, X, record, s, parameter, c, t):
            return False
        size = 0.0
        for j in range(plan_chord[c, chord.HOLONOMIC] + na):
            size += record[o + j] * record[o + j]
        if size > before:
            for k in range(na):
                X[c, chord.SPEEDS + k] *= 0.5
                s[i + k] -= X[c, chord.SPEEDS + k]
            continue
        before = size
        if not _factorise(plan_chord, X, record, c):
            return False
        step = _solve(plan_chord, X, record, c, chord.OFFSET, chord.SPEEDS)
        for k in range(na):
            s[i + k] += X[c, chord.SPEEDS + k]
        if step < 1e-9:  # quadratic convergence: the next step would be rounding
            break
    if not _evaluate(plan_chord, X, record, s, parameter, c, t) or not _factorise(plan_chord, X, record, c):
        return False
    _solve(plan_chord, X, record, c, chord.RATE, chord.SPEEDS)
    if not _evaluate(plan_chord, X, record, s, parameter, c, t):
        return False
    _solve(plan_chord, X, record, c, chord.ACCELERATION, chord.SPEED_RATES)
    return True


@kernel
def fit_unknowns(plan_chord, X, record, s, parameter, c, t):
    """Take one Gauss-Newton step for the auxiliary unknowns s. Returns False if the element failed."""
    for k in range(plan_chord[c, chord.NU]):
        X[c, chord.SPEEDS + k] = 0.0
    if not _evaluate(plan_chord, X, record, s, parameter, c, t) or not _factorise(plan_chord, X, record, c):
        return False
    _solve(plan_chord, X, record, c, chord.OFFSET, chord.SPEEDS)
    for k in range(plan_chord[c, chord.NU]):
        s[plan_chord[c, chord.FIRST_Q] + k] += X[c, chord.SPEEDS + k]
    return True


@kernel
def _weigh(plan_chord, X, record, pivot, c):
    """Compute the weights of the net rows of a constraint with auxiliary unknowns."""
    na, n = plan_chord[c, chord.NU], plan_chord[c, chord.N_ROWS] + plan_chord[c, chord.NU]
    width = plan_chord[c, chord.HOLONOMIC] + na
    auxiliary, first = plan_chord[c, chord.RECORD] + 9 * n, plan_chord[c, chord.RECORD] + n * (9 + na)
    complement(record, first, na, width, pivot, c)
    for entry in range(width, n):
        at = first + width * entry
        for j in range(width):
            record[at + j] = 0.0
        for k in range(na):  # y R = auxiliary of the row
            y = record[auxiliary + na * entry + k]
            for i in range(k):
                y -= X[c, chord.SOLUTION + i] * X[c, chord.TRIANGLE + 4 * i + k]
            X[c, chord.SOLUTION + k] = y / X[c, chord.TRIANGLE + 4 * k + k]
            for j in range(width):
                record[at + j] -= X[c, chord.SOLUTION + k] * record[first + width * k + j]


@kernel
def plain_constraint(plan_chord, Y, X, record, s, parameter, c, t):
    """Compute the rows of a constraint without auxiliary unknowns. Returns False if the element failed."""
    if not _evaluate(plan_chord, X, record, s, parameter, c, t):
        return False
    o, n = plan_chord[c, chord.RECORD], plan_chord[c, chord.N_ROWS]
    for k in range(n):
        r = plan_chord[c, chord.FIRST_ROW] + k
        store(Y, r, row.F, _three(record, o + 3 * (n + k)))
        store(Y, r, row.M, _three(record, o + 3 * (2 * n + k)))
        Y[r, row.POSITION] = record[o + k] if k < plan_chord[c, chord.HOLONOMIC] else 0.0
        Y[r, row.VELOCITY] = _on_motion(X, record, c, o, n, k, chord.RATE, o + n)
        Y[r, row.BIAS] = _on_motion(X, record, c, o, n, k, chord.ACCELERATION, o + 2 * n)
    return True


@kernel
def constraint_element(plan_chord, Y, X, record, s, pivot, parameter, c, t):
    """Compute wrenches (in the base of end a), residuals and biases of the net rows of constraint c.

    Returns False if the element failed.
    """
    o, na = plan_chord[c, chord.RECORD], plan_chord[c, chord.NU]
    n, width = plan_chord[c, chord.N_ROWS] + na, plan_chord[c, chord.HOLONOMIC] + na
    if na == 0:
        return plain_constraint(plan_chord, Y, X, record, s, parameter, c, t)
    if not _fit(plan_chord, X, record, s, parameter, c, t):
        return False
    _weigh(plan_chord, X, record, pivot, c)
    for k in range(plan_chord[c, chord.N_ROWS]):
        at = o + n * (9 + na) + width * (na + k)
        force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        position, velocity, bias = 0.0, 0.0, 0.0
        for e in range(n):
            weight = record[at + e] if e < width else 1.0 if e == na + k else 0.0
            # a weight of zero may have a derivative
            force = add(force, scale(weight, _three(record, o + 3 * (n + e))))
            moment = add(moment, scale(weight, _three(record, o + 3 * (2 * n + e))))
            position += weight * record[o + e]
            velocity += weight * _on_motion(X, record, c, o, n, e, chord.RATE, o + n)
            bias += weight * _on_motion(X, record, c, o, n, e, chord.ACCELERATION, o + 2 * n)
        r = plan_chord[c, chord.FIRST_ROW] + k
        store(Y, r, row.F, force)
        store(Y, r, row.M, moment)
        Y[r, row.POSITION] = position if k < plan_chord[c, chord.HOLONOMIC] else 0.0
        Y[r, row.VELOCITY] = velocity
        Y[r, row.BIAS] = bias
    return True


# ---------------------------------------------------------------- couplings
@kernel
def coupling_element(plan_chord, path, dof, Y, record, entry, parameter, c, q, u, ud, t):
    """Compute residuals, biases and partials P of the rows of coupling c on the coordinates q.

    Returns False if the element failed.
    """
    first, stop, n = (
        plan_chord[c, chord.PATH_START],
        plan_chord[c, chord.PATH_END],
        plan_chord[c, chord.N_ROWS],
    )
    count = stop - first
    a, out = plan_chord[c, chord.RECORD], plan_chord[c, chord.RECORD] + 2 * count
    for i in range(count):
        record[a + i] = q[path[first + i, chord.COORDINATE]]
        record[a + count + i] = u[dof[path[first + i, chord.SPEED], speed.PUBLIC]]
    for k in range(n * (3 + count)):
        record[out + k] = 0.0
    status = apply_element(
        plan_chord[c, chord.ADDRESS], record, a, count, record, a + count, count, t, parameter, plan_chord[c, chord.PARAMETER],
        record, out, n * (3 + count),
    )  # fmt: skip
    zero, at = (0.0, 0.0, 0.0), plan_chord[c, chord.FIRST_ENTRY]
    for k in range(n):
        r = plan_chord[c, chord.FIRST_ROW] + k
        velocity, bias = record[out + n + k], record[out + 2 * n + k]
        for i in range(count):
            partial = record[out + 3 * n + count * k + i]
            entry[at + n * i + k] = partial
            velocity += partial * record[a + count + i]
            bias += partial * ud[dof[path[first + i, chord.SPEED], speed.PUBLIC]]
        store(Y, r, row.F, zero)
        store(Y, r, row.M, zero)
        Y[r, row.POSITION] = record[out + k] if k < plan_chord[c, chord.HOLONOMIC] else 0.0
        Y[r, row.VELOCITY] = velocity
        Y[r, row.BIAS] = bias
    return status == 1
