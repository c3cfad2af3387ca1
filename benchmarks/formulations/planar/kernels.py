# mypy: ignore-errors
"""Planar Cartesian coordinates x, y, phi of every body: rows, matrices and partitioning, compiled.

Vectors are in the plane; the context is that of the spatial kernels, whose matrix solvers are used. Rows stand in
columns 0..2 (body i) and 6..8 (body j) of `jacobian`. Haug, chapters 3 (rows), 6 (6.3.18), 7.
"""

from math import cos, sin

from treemech.kinematics.kernel.language import address_of, floats, ints, kernel, load3, load9, store
from treemech.kinematics.kernel.status import CHAIN_OPEN, OK, SIGNAL_FAILED
from treemech.kinematics.kernel.vector import add, multiply, rotate, scale, unrotate
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.views import signal_values
from treemech.kinematics.tree.sweep import signals

from .. import dense
from ..cartesian import kernels as k
from ..cartesian import views as views
from ..cartesian.element_rows import rows_of_elements
from ..cartesian.force_kernels import apply as apply_in_space
from ..cartesian.joint_rows import ELEMENT
from ..cartesian.views import FIRST, GAMMA, OMEGA, PHI, PHI_RATE, PLACE, SPIN, STOP, VELOCITY

# rows: a component of d, a fixed in i on d less f(t), phi_j - phi_i less f(t), a distance, the knife edge
POINT, LINE, TURN, LENGTH, EDGE = range(5)
GAIN, TOLERANCE, PARTITIONED, STABILISED = 0, 1, 2, 3  # places in `factors`
# columns of `flat`: x, y, phi, their rates, cosine and sine of phi
X, Y, ANGLE, X_RATE, Y_RATE, TURNING, COS, SIN = range(8)
_JN, _HEIGHT = 10, 11  # columns of `body`


@kernel
def place(C, q, v):
    """Place the bodies by coordinates and velocities (3 b each); in space too, where elements look at them."""
    S = views.flat_(C)
    for i in range(1, C[views.BODIES] + 1):
        at = 3 * (i - 1)
        for j in range(3):
            S[i, X + j] = q[at + j]
            S[i, X_RATE + j] = v[at + j]
        S[i, COS], S[i, SIN] = cos(q[at + 2]), sin(q[at + 2])
    if C[views.LOADS] > 0 or C[views.CHORDS] != 0:
        lift(C)


@kernel
def lift(C):
    """Place the bodies in space as they are in the plane."""
    B, P, S, T, T0, E = (
        views.body_(C), views.flat_(C), views.state_(C), views.turn_(C), views.start_(C), views.frame_(C),
    )  # fmt: skip
    x, y, n = (E[0], E[1], E[2]), (E[3], E[4], E[5]), (E[6], E[7], E[8])
    base = (x[0], x[1], x[2], y[0], y[1], y[2], n[0], n[1], n[2])
    for i in range(1, C[views.BODIES] + 1):
        c, s = P[i, COS], P[i, SIN]
        # turn by phi about n, in the base E: E^T Rz E
        turned = multiply((c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0), base)
        R = multiply(
            multiply((x[0], y[0], n[0], x[1], y[1], n[1], x[2], y[2], n[2]), turned), load9(T0, i, 0)
        )
        store(T, i, 0, R)
        w = scale(P[i, TURNING], n)
        store(S, i, PLACE, add(add(scale(P[i, X], x), scale(P[i, Y], y)), scale(B[i, _HEIGHT], n)))
        store(S, i, VELOCITY, add(scale(P[i, X_RATE], x), scale(P[i, Y_RATE], y)))
        store(S, i, SPIN, unrotate(R, w))
        store(S, i, OMEGA, w)


@kernel
def flattened(C, i, force, moment):
    """Return what of a force (world) and a moment (axes of body i) is in the plane."""
    E, moment = views.frame_(C), rotate(load9(views.turn_(C), i, 0), moment)
    return (
        force[0] * E[0] + force[1] * E[1] + force[2] * E[2],
        force[0] * E[3] + force[1] * E[4] + force[2] * E[5],
        moment[0] * E[6] + moment[1] * E[7] + moment[2] * E[8],
    )


@kernel
def apply(C, t):
    """Apply the loads in the plane: gravity, and elements by the spatial kernel. Returns a status code."""
    B, F, g, E = views.body_(C), views.applied_(C), views.gravity_(C), views.frame_(C)
    if C[views.LOADS] == 0:
        for i in range(1, C[views.BODIES] + 1):
            F[i, 0] = B[i, 0] * (g[0] * E[0] + g[1] * E[1] + g[2] * E[2])
            F[i, 1] = B[i, 0] * (g[0] * E[3] + g[1] * E[4] + g[2] * E[5])
            F[i, 2] = 0.0
        return OK
    status = apply_in_space(C, t)
    for i in range(1, C[views.BODIES] + 1):
        store(F, i, 0, flattened(C, i, load3(F, i, 0), load3(F, i, 3)))
    return status


@kernel
def row(C, r, given):
    """Compute one row: on the velocities of its bodies, residual, its rate, gamma (6.3, Table of chapter 3)."""
    n, c, S, B, V = (
        views.row_ints(C),
        views.row_constants(C),
        views.flat_(C),
        views.jacobian_(C),
        views.level_(C),
    )
    kind, i, j, signal, p = (
        n[r, views.ROW_KIND], n[r, views.BODY_I], n[r, views.BODY_J], n[r, views.SIGNAL], n[r, FIRST],
    )  # fmt: skip
    f, fd, fdd = 0.0, 0.0, 0.0
    if signal >= 0:
        f, fd, fdd = given[signal, 0], given[signal, 1], given[signal, 2]
    wi, wj = S[i, TURNING], S[j, TURNING]
    if kind == TURN:
        store(B, p, 0, (0.0, 0.0, -1.0))
        store(B, p + 1, 0, (0.0, 0.0, 1.0))
        sign = c[r, 19]
        V[r, PHI] = S[j, ANGLE] - S[i, ANGLE] - sign * (f - c[r, 18])
        V[r, PHI_RATE], V[r, GAMMA] = wj - wi - sign * fd, sign * fdd
        return
    ci, si, cj, sj = S[i, COS], S[i, SIN], S[j, COS], S[j, SIN]
    six, siy = ci * c[r, 6] - si * c[r, 7], si * c[r, 6] + ci * c[r, 7]
    sjx, sjy = cj * c[r, 9] - sj * c[r, 10], sj * c[r, 9] + cj * c[r, 10]
    dx, dy = S[j, 0] + sjx - S[i, 0] - six, S[j, 1] + sjy - S[i, 1] - siy
    dvx = S[j, X_RATE] - wj * sjy - S[i, X_RATE] + wi * siy
    dvy = S[j, Y_RATE] + wj * sjx - S[i, Y_RATE] - wi * six
    bx, by = -wj * wj * sjx + wi * wi * six, -wj * wj * sjy + wi * wi * siy
    turn = 0.0  # on phi_i besides
    if kind == POINT:
        ax, ay = c[r, 0], c[r, 1]
        phi, rate, gamma = ax * dx + ay * dy, ax * dvx + ay * dvy, -(ax * bx + ay * by)
    elif kind == LENGTH:
        l0 = 1.0 / c[r, 18]
        ax, ay = l0 * dx, l0 * dy
        phi = 0.5 * l0 * (dx * dx + dy * dy - f * f)
        rate = ax * dvx + ay * dvy - l0 * f * fd
        gamma = l0 * (fd * fd + f * fdd - dvx * dvx - dvy * dvy - dx * bx - dy * by)
    elif kind == EDGE:
        ax, ay = cj * c[r, 3] - sj * c[r, 4], sj * c[r, 3] + cj * c[r, 4]
        phi, rate = 0.0, ax * dvx + ay * dvy
        gamma = -(wj * (-ay * dvx + ax * dvy) + ax * bx + ay * by)
    else:  # LINE
        ax, ay = ci * c[r, 0] - si * c[r, 1], si * c[r, 0] + ci * c[r, 1]
        turn = -ay * dx + ax * dy
        phi, rate = ax * dx + ay * dy - f, ax * dvx + ay * dvy + wi * turn - fd
        gamma = fdd - (2.0 * wi * (-ay * dvx + ax * dvy) - wi * wi * (ax * dx + ay * dy) + ax * bx + ay * by)
    store(B, p, 0, (-ax, -ay, turn - (six * ay - siy * ax)))
    store(B, p + 1, 0, (ax, ay, sjx * ay - sjy * ax))
    V[r, PHI], V[r, PHI_RATE], V[r, GAMMA] = phi, rate, gamma


@kernel
def evaluate_rows(C, t):
    """Evaluate the rows of the bodies as they are placed. Returns a status code."""
    active, n, given = views.active_(C), views.row_ints(C), signal_values(ints(C[views.CORE], N_CONTEXT))
    for a in range(C[views.ACTIVE]):
        if n[active[a], views.ROW_KIND] < ELEMENT:
            row(C, active[a], given)
    if C[views.CHORDS] == 0:
        return OK
    status, B, joined = rows_of_elements(C, t), views.jacobian_(C), views.block_bodies(C)
    for r in range(C[views.ROWS]):
        if n[r, views.ROW_KIND] >= ELEMENT:
            for p in range(n[r, FIRST], n[r, STOP]):
                store(B, p, 0, flattened(C, joined[p], load3(B, p, 0), load3(B, p, 3)))
    return status


@kernel
def evaluate(C, t, q, v):
    """Evaluate bodies and rows at coordinates and velocities. Returns a status code."""
    failed = signals(ints(C[views.CORE], N_CONTEXT), t)
    if failed >= 0:
        return SIGNAL_FAILED + 16 * failed
    place(C, q, v)
    return evaluate_rows(C, t)


@kernel
def assemble(C):
    """Write the values of [M Phi^T; Phi 0] (6.3.18)."""
    B, J, n, joined, active, v, at = (
        views.body_(C),
        views.jacobian_(C),
        views.row_ints(C),
        views.block_bodies(C),
        views.active_(C),
        views.values_(C),
        0,
    )
    for i in range(1, C[views.BODIES] + 1):
        v[at], v[at + 1], v[at + 2] = B[i, 0], B[i, 0], B[i, _JN]
        at += 3
    for r in range(C[views.ACTIVE]):
        number = active[r]
        for p in range(n[number, FIRST], n[number, STOP]):
            if joined[p] > 0:
                for j in range(3):
                    v[at] = v[at + 1] = J[p, j]
                    at += 2


@kernel
def accelerate(C, t, dy):
    """Solve for accelerations and multipliers of the state evaluated last. Returns a status code."""
    status = apply(C, t)
    if status != OK:
        return status
    assemble(C)
    k.fill(C)
    status = k.factorise(C)
    if status != OK:
        return status
    nb, F, b, V, active, lam = (
        C[views.BODIES],
        views.applied_(C),
        views.right_(C),
        views.level_(C),
        views.active_(C),
        views.multipliers_(C),
    )
    gain, first = views.factors_(C)[GAIN], 3 * C[views.BODIES]
    for i in range(nb):
        for j in range(3):
            b[3 * i + j] = F[i + 1, j]
    for r in range(C[views.ACTIVE]):
        number = active[r]
        b[first + r] = V[number, GAMMA] - gain * (2.0 * V[number, PHI_RATE] + gain * V[number, PHI])
    k.back(C)
    for i in range(first):
        dy[i] = b[i]
    for r in range(C[views.ACTIVE]):
        lam[active[r]] = -b[first + r]
    return OK


# ---------------------------------------------------------------- partitioning: dependent coordinates follow
@kernel
def dense_rows(C, G, n):
    """Write the active rows as a dense matrix (m x n)."""
    J, ni, joined, active = views.jacobian_(C), views.row_ints(C), views.block_bodies(C), views.active_(C)
    for r in range(C[views.ACTIVE]):
        for i in range(n):
            G[n * r + i] = 0.0
        for p in range(ni[active[r], FIRST], ni[active[r], STOP]):
            i = joined[p]
            if i > 0:
                for j in range(3):
                    G[n * r + 3 * (i - 1) + j] = J[p, j]


@kernel
def choose(C):
    """Choose independent coordinates by Gaussian elimination with full pivoting (Haug 4.4): 1 in
    `independent`.
    """
    n, m, mark, G = 3 * C[views.BODIES], C[views.ACTIVE], views.independent_(C), views.Lx_(C)
    dense_rows(C, G, n)
    for i in range(n):
        mark[i] = 1
    for step in range(m):
        best, row_, col = 0.0, -1, -1
        for r in range(step, m):
            for i in range(n):
                if mark[i] == 1 and abs(G[n * r + i]) > best:
                    best, row_, col = abs(G[n * r + i]), r, i
        if not best > 0.0:
            return k.SINGULAR
        mark[col] = 0
        if row_ != step:
            for i in range(n):
                G[n * row_ + i], G[n * step + i] = G[n * step + i], G[n * row_ + i]
        for r in range(step + 1, m):
            s = G[n * r + col] / G[n * step + col]
            if s != 0.0:
                for i in range(n):
                    if mark[i] == 1:
                        G[n * r + i] -= s * G[n * step + i]
                G[n * r + col] = 0.0
    return OK


@kernel
def follow(C, t, q, v):
    """Find dependent coordinates and velocities from the independent ones (7.2), in q, v. Returns a status
    code.
    """
    n, m, mark, G, b, V, active = (
        3 * C[views.BODIES], C[views.ACTIVE], views.independent_(C), views.Lx_(C), views.Ux_(C), views.level_(C), views.active_(C),
    )  # fmt: skip
    status = evaluate(C, t, q, v)
    if status != OK:
        return status
    # columns of dependent coordinates, as rows for LAPACK's transposed view
    J, ni, joined = views.jacobian_(C), views.row_ints(C), views.block_bodies(C)
    place_of = views.stack_(C)
    count = 0
    for i in range(n):
        place_of[i] = -1
        if mark[i] == 0:
            place_of[i] = count
            count += 1
    for i in range(m * m):
        G[i] = 0.0
    for r in range(m):
        for p in range(ni[active[r], FIRST], ni[active[r], STOP]):
            i = joined[p]
            if i > 0:
                for j in range(3):
                    c = place_of[3 * (i - 1) + j]
                    if c >= 0:
                        G[m * r + c] = J[p, j]
    w, pivots = views.whole_(C), views.pivots_(C)
    if not dense.lu(C[views.GETRF], w, m, G, pivots):
        return CHAIN_OPEN
    for column in (PHI, PHI_RATE):
        before = 1e300
        for _ in range(8):
            gap = k.largest(C, column)
            if gap < 1e-15 or not gap < 0.5 * before:
                break
            before = gap
            for r in range(m):
                b[r] = -V[active[r], column]
            dense.lu_solve(C[views.GETRS], w, m, G, pivots, b)
            for i in range(n):
                if mark[i] == 0:
                    if column == PHI:
                        q[i] += b[place_of[i]]
                    else:
                        v[i] += b[place_of[i]]
            place(C, q, v)
            evaluate_rows(C, t)
        if column == PHI and not k.largest(C, PHI) < 1e-8:
            return CHAIN_OPEN
    return OK


@kernel
def motion(C, t, y, dy):
    """Write y' of a state. Returns a status code."""
    n = 3 * C[views.BODIES]
    k.take_states(C, y + 16 * n)
    q, v, dq, dv = floats(y, n), floats(y + 8 * n, n), floats(dy, n), floats(dy + 8 * n, n)
    if views.factors_(C)[PARTITIONED] > 0.0 and C[views.ACTIVE] > 0:
        own = views.scratch_(C)
        at = address_of(own) + 8 * 6 * (C[views.BODIES] + 2)
        own_q, own_v = floats(at, n), floats(at + 8 * n, n)
        for i in range(n):
            own_q[i], own_v[i] = q[i], v[i]
        status = follow(C, t, own_q, own_v)
        v = own_v
    else:
        status = evaluate(C, t, q, v)
    if status != OK:
        return status
    for i in range(n):
        dq[i] = v[i]
    status = accelerate(C, t, dv)
    k.give_rates(C, dy + 16 * n)
    return status


@kernel
def onto(C, t, y):
    """Let the dependent coordinates follow after a step, and choose the partition anew.

    With stabilised equations (Park) only where the constraints are off by more than a tolerance.
    """
    n = 3 * C[views.BODIES]
    k.take_states(C, y + 16 * n)
    q, v, factors = floats(y, n), floats(y + 8 * n, n), views.factors_(C)
    status = OK
    if factors[STABILISED] > 0.0:
        status = evaluate(C, t, q, v)
        if status == OK and max(k.largest(C, PHI), k.largest(C, PHI_RATE)) > factors[TOLERANCE]:
            status = choose(C)
            status = status if status != OK else follow(C, t, q, v)
    else:
        status = follow(C, t, q, v)
        status = status if status != OK else choose(C)
    if status == OK:
        k.keep_carried(C, y)
    return status
