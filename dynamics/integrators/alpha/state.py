# mypy: ignore-errors
"""State of generalized-alpha: addresses, motion of coordinates on their manifold, end of a step.

With the auxiliary accelerations a at both ends, for the speeds u and the states x of elements (v are their
rates; x has coefficients of its own)::

    (1 - alpha_m) a_new + alpha_m a = (1 - alpha_f) v_new + alpha_f v
    u_new = u + h ((1 - gamma) a + gamma a_new)
    q_new = q o exp(h u + h^2 ((1/2 - beta) a + beta a_new) + p)

(Arnold and Bruels 2007, Bruels, Cardona and Arnold 2012.) The shift p is zero with index 3.
"""

from math import cos, sin, sqrt

from treemech.kinematics.kernel.language import floats, inlined, ints, ints2, kernel

from .. import layout
from . import layout as alpha


@inlined
def sizes(table):
    """Return the numbers of coordinates, unknown rates, multipliers, all unknowns, speeds."""
    ns = table[alpha.NU] + table[alpha.NX]
    return table[alpha.NQ], ns, table[alpha.N_ROWS], ns + table[alpha.N_ROWS], table[alpha.NU]


@inlined
def row_of(table, n, k):
    """Return the address of row k of the workspace."""
    return table[alpha.WORKSPACE] + 8 * k * (
        max(n, table[alpha.NU] + table[alpha.NX] + table[alpha.N_ROWS]) + 1
    )


@inlined
def matrices(table, n):
    """Return the addresses of: residual by q (followed by u and x), A, P, factors, Jacobian of a tree."""
    nq, ns, m, size, nu = sizes(table)
    G = row_of(table, n, alpha.MATRICES)
    A = G + 8 * (nu + ns) * size
    P = A + 8 * nu * nu
    M = P + 8 * m * nu
    return G, A, P, M, M + 8 * size * size


@inlined
def by_multipliers(table, n):
    """Return the address of the derivatives of the residual by the multipliers, row by row."""
    G, A, P, M, J = matrices(table, n)
    return J + 8 * n * n


@kernel
def turn(q, at, x, y, z, left, out):
    """Rotate the Euler parameters q[at:] by a vector in the base of end a (left) or b; out[at:] is the result."""
    angle = sqrt(x * x + y * y + z * z)
    half = 0.5 - angle * angle / 48.0 if angle < 1e-3 else sin(0.5 * angle) / angle
    c, x, y, z = cos(0.5 * angle), half * x, half * y, half * z
    s = -1.0 if left else 1.0
    a, b, d, e = q[at], q[at + 1], q[at + 2], q[at + 3]
    out[at] = a * c - b * x - d * y - e * z
    out[at + 1] = a * x + b * c + s * (d * z - e * y)
    out[at + 2] = a * y + d * c + s * (e * x - b * z)
    out[at + 3] = a * z + e * c + s * (b * y - d * x)


@kernel
def displace(table, q, step, out):
    """Compute out = q o exp(step) of all coordinates; prescribed ones do not move."""
    nq, ns, m, size, nu = sizes(table)
    moves, turns = ints(table[alpha.MOVES], nu), ints2(table[alpha.TURNS], table[alpha.N_TURNS], 3)
    for k in range(nq):
        out[k] = q[k]
    for j in range(nu):
        if moves[j] >= 0:
            out[moves[j]] = q[moves[j]] + step[j]
    for k in range(table[alpha.N_TURNS]):
        j = turns[k, 1]
        turn(q, turns[k, 0], step[j], step[j + 1], step[j + 2], turns[k, 2] == 1, out)


@kernel
def tangent(table, q, step, out):
    """Compute out = N(q) step of all coordinates."""
    nq, ns, m, size, nu = sizes(table)
    moves, turns = ints(table[alpha.MOVES], nu), ints2(table[alpha.TURNS], table[alpha.N_TURNS], 3)
    for k in range(nq):
        out[k] = 0.0
    for j in range(nu):
        if moves[j] >= 0:
            out[moves[j]] = step[j]
    for k in range(table[alpha.N_TURNS]):
        a, j, s = turns[k, 0], turns[k, 1], -0.5 if turns[k, 2] == 1 else 0.5
        x, y, z = step[j], step[j + 1], step[j + 2]
        out[a] = 0.5 * (-q[a + 1] * x - q[a + 2] * y - q[a + 3] * z)
        out[a + 1] = 0.5 * q[a] * x + s * (q[a + 2] * z - q[a + 3] * y)
        out[a + 2] = 0.5 * q[a] * y + s * (q[a + 3] * x - q[a + 1] * z)
        out[a + 3] = 0.5 * q[a] * z + s * (q[a + 1] * y - q[a + 2] * x)


@inlined
def factors(control, h):
    """Return the derivatives of q, u and x by their rates at the end of the step."""
    second = (1.0 - control[alpha.ALPHA_F]) / (1.0 - control[alpha.ALPHA_M])
    first = (1.0 - control[alpha.ALPHA_F]) / (1.0 - control[alpha.ALPHA_X])
    return (
        h * h * control[alpha.BETA] * second,
        h * control[alpha.GAMMA] * second,
        h * control[alpha.GAMMA_X] * first,
    )


@kernel
def begin_step(table, n, h, y, control, count, work):
    """Set the speeds, and scale the auxiliary accelerations to this step size.

    Their distance from the true accelerations is proportional to the step size.
    """
    nq, ns, m, size, nu = sizes(table)
    a, scaled, rate, speed = (
        floats(row_of(table, n, alpha.AUXILIARY), ns),
        floats(row_of(table, n, alpha.SCALED), ns),
        floats(work, n),
        floats(row_of(table, n, alpha.SPEEDS), nu),
    )
    ratio = h / control[layout.OLD_STEP] if count[layout.HAS_PAST] == 1 else 0.0
    for i in range(ns):
        scaled[i] = rate[nq + i] + ratio * (a[i] - rate[nq + i])
    for j in range(nu):
        speed[j] = y[nq + j]


@kernel
def advance(table, n, h, y, control, work):
    """Compute the new state NEW from the rates in LAST and the shift."""
    nq, ns, m, size, nu = sizes(table)
    a, a_new = floats(row_of(table, n, alpha.SCALED), ns), floats(row_of(table, n, alpha.NEW_AUXILIARY), ns)
    step, shift, moves = (
        floats(row_of(table, n, alpha.MOVE), nu),
        floats(row_of(table, n, alpha.SHIFT), nu),
        ints(table[alpha.MOVES], nu),
    )
    new, v, rate = (
        floats(work + 8 * n * layout.NEW, n),
        floats(work + 8 * n * layout.LAST, n),
        floats(work, n),
    )
    speed = floats(row_of(table, n, alpha.SPEEDS), nu)
    f, beta = control[alpha.ALPHA_F], control[alpha.BETA]
    for i in range(ns):
        m_, g = (
            (control[alpha.ALPHA_M], control[alpha.GAMMA])
            if i < nu
            else (control[alpha.ALPHA_X], control[alpha.GAMMA_X])
        )
        a_new[i] = ((1.0 - f) * v[nq + i] + f * rate[nq + i] - m_ * a[i]) / (1.0 - m_)
        new[nq + i] = (speed[i] if i < nu else y[nq + i]) + h * ((1.0 - g) * a[i] + g * a_new[i])
    for j in range(nu):
        step[j] = h * speed[j] + h * h * ((0.5 - beta) * a[j] + beta * a_new[j]) + shift[j]
        if moves[j] == alpha.PRESCRIBED:
            new[nq + j] = y[nq + j]
    displace(table, y, step, new)


@kernel
def predict(table, n, h, y, control, work):
    """Compute NEW with the rates at the start."""
    nq, ns, m, size, nu = sizes(table)
    new, v, rate = (
        floats(work + 8 * n * layout.NEW, n),
        floats(work + 8 * n * layout.LAST, n),
        floats(work, n),
    )
    shift = floats(row_of(table, n, alpha.SHIFT), nu)
    for i in range(n):
        new[i] = y[i] + (h * rate[i] if i >= nq + ns else 0.0)
        v[i] = rate[i]
    for j in range(nu):
        shift[j] = 0.0
    advance(table, n, h, y, control, work)
