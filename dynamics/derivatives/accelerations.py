# mypy: ignore-errors
"""Accelerations of a tree under many columns of loads at once: X = -A^-1 B, and A^-1, in O(n) a column.

The articulated bodies of forward dynamics (dynamics.equations.articulated) stay what they are for every
column, so only their bias loads p and the accelerations a of the bodies are swept, once from the tips and
once from the ground. All spatial vectors are about one reference point, so that nothing is moved between bodies.
For every speed, a hinge with several taking one after the other,

    x = -b - s . p,   p += U x / D   from the tips,     x = (x - U . a) / D,   a += s x   from the ground

with the motion s of the speed, its articulated inertia column U and its resistance D = s . U. A column costs 24
multiplications a speed, where the product with a full A^-1 costs one for every speed of the tree. The last branch
beyond a body shares the memory of its p and a with the body itself; only the other branches need their own.
"""

from treemech.kinematics.kernel.language import floats, floats2, ints2, kernel, load3
from treemech.kinematics.kernel.vector import add, cross, sub
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import bodies, counts

from . import layout

_WIDTH = layout.WIDTH


@kernel
def _branches(plan, T):
    """Find which bodies and columns lie beyond each body, and where its p and a stand (layout.BEYOND ...)."""
    plan_body = bodies(plan)
    rows, nq, nu = counts(plan)
    for i in range(rows):
        T[i, layout.BEYOND] = 0
        T[i, layout.TIP] = 1
    for i in range(rows - 1, 0, -1):
        p = plan_body[i, body.PARENT]
        T[i, layout.BEYOND] = max(plan_body[i, body.DOF] + plan_body[i, body.NU], T[i, layout.BEYOND])
        T[p, layout.BEYOND] = max(T[i, layout.BEYOND], T[p, layout.BEYOND])
        T[i, layout.SHARES] = T[p, layout.TIP]  # the last branch of its parent
        T[p, layout.TIP] = 0
    for i in range(1, rows):
        p = plan_body[i, body.PARENT]
        if p == 0:
            T[i, layout.ROOT] = i
            T[i, layout.PLACE] = 0
        else:
            T[i, layout.ROOT] = T[p, layout.ROOT]
            T[i, layout.PLACE] = T[p, layout.PLACE] + 1 - T[i, layout.SHARES]


@kernel
def _factors(plan, W, S, Z, F, T):
    """Write s, U / D and 1 / D of all free speeds about the reference point, after forward dynamics of the state.

    The reference point is the origin of the first body of the branch; Z holds s already.
    """
    plan_body = bodies(plan)
    for i in range(1, plan_body.shape[0]):
        kind, first, free = plan_body[i, body.KIND], plan_body[i, body.DOF], plan_body[i, body.N_FREE]
        pos = sub(load3(W, i, body.P), load3(W, T[i, layout.ROOT], body.P))
        for d in range(first, first + free):
            if kind == body.REVOLUTE or kind == body.PRISMATIC:
                n, f, inverse = load3(W, i, body.U_N), load3(W, i, body.U_F), W[i, body.D_INV]
            else:
                n, f, inverse = (
                    load3(S, d, speed.REDUCED_N),
                    load3(S, d, speed.REDUCED_F),
                    S[d, speed.FACTOR + d - first],
                )
            n = add(n, cross(pos, f))
            for k in range(6):
                F[d, k] = Z[layout.SPEED_S + k, d]
            for k in range(3):
                F[d, 6 + k] = inverse * n[k]
                F[d, 9 + k] = inverse * f[k]
            F[d, 12] = inverse


@kernel
def _load(x, b, P, F, d):
    """Set x = -b - s . p and add U x / D to p of these columns."""
    s0, s1, s2, s3, s4, s5 = F[d, 0], F[d, 1], F[d, 2], F[d, 3], F[d, 4], F[d, 5]
    v0, v1, v2, v3, v4, v5 = F[d, 6], F[d, 7], F[d, 8], F[d, 9], F[d, 10], F[d, 11]
    for j in range(x.shape[0]):
        p0, p1, p2, p3, p4, p5 = P[0, j], P[1, j], P[2, j], P[3, j], P[4, j], P[5, j]
        y = -b[j] - (s0 * p0 + s1 * p1 + s2 * p2) - (s3 * p3 + s4 * p4 + s5 * p5)
        x[j] = y
        P[0, j] = p0 + v0 * y
        P[1, j] = p1 + v1 * y
        P[2, j] = p2 + v2 * y
        P[3, j] = p3 + v3 * y
        P[4, j] = p4 + v4 * y
        P[5, j] = p5 + v5 * y


@kernel
def _carry(x, P, F, d):
    """Do what `_load` does for columns without a load."""
    s0, s1, s2, s3, s4, s5 = F[d, 0], F[d, 1], F[d, 2], F[d, 3], F[d, 4], F[d, 5]
    v0, v1, v2, v3, v4, v5 = F[d, 6], F[d, 7], F[d, 8], F[d, 9], F[d, 10], F[d, 11]
    for j in range(x.shape[0]):
        p0, p1, p2, p3, p4, p5 = P[0, j], P[1, j], P[2, j], P[3, j], P[4, j], P[5, j]
        y = -(s0 * p0 + s1 * p1 + s2 * p2) - (s3 * p3 + s4 * p4 + s5 * p5)
        x[j] = y
        P[0, j] = p0 + v0 * y
        P[1, j] = p1 + v1 * y
        P[2, j] = p2 + v2 * y
        P[3, j] = p3 + v3 * y
        P[4, j] = p4 + v4 * y
        P[5, j] = p5 + v5 * y


@kernel
def _accelerate(x, P, F, d):
    """Set x = x / D - U . a / D and add s x to a of these columns."""
    s0, s1, s2, s3, s4, s5 = F[d, 0], F[d, 1], F[d, 2], F[d, 3], F[d, 4], F[d, 5]
    v0, v1, v2, v3, v4, v5 = F[d, 6], F[d, 7], F[d, 8], F[d, 9], F[d, 10], F[d, 11]
    inverse = F[d, 12]
    for j in range(x.shape[0]):
        a0, a1, a2, a3, a4, a5 = P[0, j], P[1, j], P[2, j], P[3, j], P[4, j], P[5, j]
        y = inverse * x[j] - (v0 * a0 + v1 * a1 + v2 * a2) - (v3 * a3 + v4 * a4 + v5 * a5)
        x[j] = y
        P[0, j] = a0 + s0 * y
        P[1, j] = a1 + s1 * y
        P[2, j] = a2 + s2 * y
        P[3, j] = a3 + s3 * y
        P[4, j] = a4 + s4 * y
        P[5, j] = a5 + s5 * y


@kernel
def _clear_row(x):
    for j in range(x.shape[0]):
        x[j] = 0.0


@kernel
def _clear(P, n):
    for k in range(6):
        for j in range(n):
            P[k, j] = 0.0


@kernel
def _sum(P, Q, n):
    for k in range(6):
        for j in range(n):
            P[k, j] += Q[k, j]


@kernel
def _copy(P, Q, n):
    for k in range(6):
        for j in range(n):
            P[k, j] = Q[k, j]


@kernel
def _place(work, T, i, j):
    """Return the address of the spatial vectors of body i from column j of the block on, one row of _WIDTH per component."""
    return work + 8 * (6 * _WIDTH * T[i, layout.PLACE] + j)


@kernel
def _columns(plan, T, i, c0, c1, everywhere, unit):
    """Return which of the columns c0 .. c1 - 1 move body i: the first, the end of those with loads, the end."""
    first, beyond = bodies(plan)[i, body.DOF], T[i, layout.BEYOND]
    start = first if unit else 0 if everywhere else bodies(plan)[T[i, layout.ROOT], body.DOF]
    stop = c1 if everywhere else T[T[i, layout.ROOT], layout.BEYOND]
    start, stop = max(start, c0), min(stop, c1)
    return start, max(start, stop if everywhere else min(beyond, c1)), max(start, stop)


@kernel
def _inwards(plan, T, F, work, B, X, m, c0, c1, everywhere):
    """Sweep the bias loads of the columns c0 .. c1 - 1 from the tips."""
    plan_body, unit = bodies(plan), B == 0
    for i in range(plan_body.shape[0] - 1, 0, -1):
        p, first, free = plan_body[i, body.PARENT], plan_body[i, body.DOF], plan_body[i, body.N_FREE]
        start, stop, _ = _columns(plan, T, i, c0, c1, everywhere, unit)
        P, n = floats2(_place(work, T, i, start - c0), 6, _WIDTH), stop - start
        if unit:
            _clear(P, max(0, min(stop, first + plan_body[i, body.NU]) - start))
        elif T[i, layout.TIP] == 1:
            _clear(P, stop - start)
        for d in range(first, first + free):
            x = floats(X + 8 * (m * d + start), n)
            if not unit:
                _load(x, floats(B + 8 * (m * d + start), n), P, F, d)
                continue
            _carry(x, P, F, d)
            if start <= d and d < stop:  # the load of the column d
                x[d - start] = 1.0
                for k in range(6):
                    P[k, d - start] = F[d, layout.COLUMN + k]
        if p > 0 and T[i, layout.SHARES] == 0:
            before = floats2(_place(work, T, p, start - c0), 6, _WIDTH)
            if unit:  # each branch has columns of its own
                _copy(before, P, stop - start)
            else:
                _sum(before, P, stop - start)


@kernel
def _outwards(plan, T, F, work, X, m, c0, c1, everywhere, unit):
    """Sweep the accelerations of the columns c0 .. c1 - 1 from the ground."""
    plan_body = bodies(plan)
    for i in range(1, plan_body.shape[0]):
        p, first, free = plan_body[i, body.PARENT], plan_body[i, body.DOF], plan_body[i, body.N_FREE]
        start, loaded, stop = _columns(plan, T, i, c0, c1, everywhere, unit)
        P = floats2(_place(work, T, i, start - c0), 6, _WIDTH)
        if p == 0:
            _clear(P, stop - start)
        elif T[i, layout.SHARES] == 0:
            _copy(P, floats2(_place(work, T, p, start - c0), 6, _WIDTH), stop - start)
        for d in range(first + plan_body[i, body.NU] - 1, first - 1, -1):
            at = X + 8 * m * d
            if not unit:
                _clear_row(floats(at + 8 * c0, start - c0))
            _clear_row(floats(at + 8 * loaded, stop - loaded))
            _clear_row(floats(at + 8 * stop, c1 - stop))
            x = floats(at + 8 * start, stop - start)
            if d < first + free:
                _accelerate(x, P, F, d)
            else:  # prescribed
                _clear_row(x)


@kernel
def _solve(plan, T, F, work, B, X, m, n, everywhere):
    for c0 in range(0, n, _WIDTH):
        c1 = min(c0 + _WIDTH, n)
        _inwards(plan, T, F, work, B, X, m, c0, c1, everywhere)
        _outwards(plan, T, F, work, X, m, c0, c1, everywhere, B == 0)


@kernel
def _first_factor(plan, work):
    """Return the address of the factors, behind the table of branches."""
    rows, nq, nu = counts(plan)
    return work + 8 * layout.N_BRANCH * rows


@kernel
def prepare(plan, W, S, Z, work):
    """Fill the workspace after forward dynamics and `tree_derivatives` of the state, which leaves s in Z."""
    rows, nq, nu = counts(plan)
    T, F = ints2(work, rows, layout.N_BRANCH), floats2(_first_factor(plan, work), nu, layout.N_FACTOR)
    _branches(plan, T)
    _factors(plan, W, S, Z, F, T)


@kernel
def accelerations(plan, work, B, X, m, everywhere):
    """Write X = -A^-1 B, both addresses of (nu, m) matrices. Rows of prescribed speeds become zero.

    Unless `everywhere`, B is a row of (nu, nu) matrices in which only related speeds have entries: those of one
    body, and of bodies before and beyond each other.
    """
    rows, nq, nu = counts(plan)
    if nu == 0:
        return
    factors = _first_factor(plan, work)
    T, F = ints2(work, rows, layout.N_BRANCH), floats2(factors, nu, layout.N_FACTOR)
    places = factors + 8 * layout.N_FACTOR * nu
    n = m if everywhere else nu
    for first in range(0, m, n):
        _solve(plan, T, F, places, B + 8 * first, X + 8 * first, m, n, everywhere)


@kernel
def inverse(plan, work, X):
    """Write the full A^-1 to the address X. Rows and columns of prescribed speeds become zero."""
    rows, nq, nu = counts(plan)
    factors = _first_factor(plan, work)
    T, F = ints2(work, rows, layout.N_BRANCH), floats2(factors, nu, layout.N_FACTOR)
    places = factors + 8 * layout.N_FACTOR * nu
    _solve(plan, T, F, places, 0, X, nu, nu, False)
    full = floats2(X, nu, nu)
    for i in range(nu):
        for j in range(i):
            full[i, j] = full[j, i]
