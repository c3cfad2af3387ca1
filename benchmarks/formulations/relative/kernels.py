# mypy: ignore-errors
"""Equations of motion in the relative coordinates of the engine, solved in other ways than the engine does.

Kinematics, A, Q, P, P00 are those of the core's kernels; `D` is the context here. Speeds stand in the regular order,
prescribed ones are taken out by a 1 on the diagonal.
"""

from math import sqrt

import numpy as np
from numba import types

from treemech.dynamics.equations.loop_views import N_LOOP_CONTEXT, kept_rows, masks
from treemech.dynamics.equations.virtual_work import evaluate_motion, inverse_dynamics, mass_matrix
from treemech.kinematics.chords.coordinates import chord_rates
from treemech.kinematics.chords.motion import constraint_rows
from treemech.kinematics.kernel.language import address_of, floats, ints, kernel, load3, load6, load9, member
from treemech.kinematics.kernel.status import CHORD_FAILED, OK, SIGNAL_FAILED
from treemech.kinematics.kernel.vector import add, cross, rotate, rotate_symmetric, scale, sub, symmetric
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.chord_views import chord_paths, chord_q, chords, partials, places, rows
from treemech.kinematics.plan.columns import body, chord, row, speed
from treemech.kinematics.plan.views import (
    bodies,
    body_work,
    constants,
    counts,
    dofs,
    n_efforts,
    n_states,
    own_effort,
    own_q,
    own_required,
    own_u,
    own_ud,
    own_z,
    own_zd,
    prescriptions,
    signal_values,
    speed_work,
)
from treemech.kinematics.tree.sweep import (
    columns,
    coordinate_rates,
    origin_velocities,
    prescribe,
    signals,
    turn_speeds,
)

from .. import dense, sparse_lu
from ..cartesian.kernels import SINGULAR

(
    CORE, LOOPS, MODE, SPEEDS, KEPT, SIZE, ENTRIES, MATRIX, CAPACITY, SPARSE, FACTORED, FULL, POTRF, POTRS, GETRF, GETRS,
    PROJECT, WIDE, TALL, BODIES,
) = range(20)  # fmt: skip
SIZES = 20
SCHUR, NULLSPACE, NEWTON_EULER = range(3)
_F, _I = types.float64, types.int64
_FIELDS = (
    ("A", _F, ((WIDE, 0),)),  # nu x nu
    ("B", _F, ((WIDE, 0),)),
    ("P", _F, ((TALL, 0),)),  # m x nu
    ("X", _F, ((TALL, 0),)),
    ("S", _F, ((FULL, 0),)),  # m x m
    ("fixed", _I, ((SPEEDS, 0),)),
    ("chosen", _I, ((KEPT, 0),)),
    ("load", _F, ((SPEEDS, 0),)),
    ("bias", _F, ((KEPT, 0),)),
    ("z", _F, ((SPEEDS, 0),)),
    ("tau", _F, ((SPEEDS, 0),)),
    ("whole", _I, (8,)),
    *sparse_lu.context_fields(SIZE, ENTRIES, MATRIX, CAPACITY, SIZE),
)
NAMES = [name for name, _, _ in _FIELDS]
N_RELATIVE = SIZES + len(_FIELDS)
_view = {name: member(dtype, SIZES + k, *shape) for k, (name, dtype, shape) in enumerate(_FIELDS)}
A_, B_, P_, X_, S_ = (_view[n] for n in ("A", "B", "P", "X", "S"))
fixed_, chosen_, load_, bias_, z_, tau_ = (_view[n] for n in ("fixed", "chosen", "load", "bias", "z", "tau"))
whole_, values_, slot_, matrix_, right_ = (_view[n] for n in ("whole", "values", "slot", "matrix", "right"))
workspace_, pivots_, order_, Ap_, Ai_ = (_view[n] for n in ("workspace", "pivots", "order", "Ap", "Ai"))
Lp_, Li_, Lx_, Up_, Ui_, Ux_ = (_view[n] for n in ("Lp", "Li", "Lx", "Up", "Ui", "Ux"))
pinv_, stack_, mark_ = (_view[n] for n in ("pinv", "stack", "mark"))


@kernel
def evaluate(D, t, y):
    """Evaluate motion and rows of the state at the address y, as the engine does. Returns a status code."""
    plan = ints(D[CORE], N_CONTEXT)
    _, nq, nu = counts(plan)
    failed = signals(plan, t)
    if failed >= 0:
        return SIGNAL_FAILED + 16 * failed
    prescribe(plan, floats(y, nq), floats(y + 8 * nq, nu))
    nz, _ = n_states(plan)
    z, given_z = own_z(plan), floats(y + 8 * (nq + nu), nz)
    for k in range(nz):
        z[k] = given_z[k]
    q, u, ud = own_q(plan), own_u(plan), own_ud(plan)
    turn_speeds(plan, q, u, -1.0)
    W, S = body_work(plan), speed_work(plan)
    status = evaluate_motion(plan, W, S, t, q, u)
    if status != OK:
        return status
    prescribed, given = prescriptions(plan), signal_values(plan)
    for k in range(ud.shape[0]):
        ud[k] = 0.0
    for k in range(prescribed.shape[0]):
        ud[prescribed[k, speed.PRESCRIBED_U]] = given[prescribed[k, speed.PRESCRIBED_SIGNAL], 2]
    inverse_dynamics(plan, W, S, ud, own_required(plan))
    columns(plan, W, S)
    if D[LOOPS] != 0:
        loops = ints(D[LOOPS], N_LOOP_CONTEXT)
        cut = chord_q(loops)
        near = floats(y + 8 * (nq + nu + nz), cut.shape[0])
        for k in range(cut.shape[0]):
            cut[k] = near[k]
        origin_velocities(plan, W, S, u)
        failed = constraint_rows(plan, loops, W, S, t)
        if failed >= 0:
            return CHORD_FAILED + 16 * failed
    return OK


@kernel
def choose(D):
    """Choose the rows that count now, as numbers among all. Returns how many."""
    if D[LOOPS] == 0:
        return 0
    loops = ints(D[LOOPS], N_LOOP_CONTEXT)
    kept, masked, chosen, m = kept_rows(loops), masks(loops), chosen_(D), 0
    for r in range(kept.shape[0]):
        if kept[r] >= 0 and masked[kept[r]] == 0:
            chosen[m] = r
            m += 1
    return m


@kernel
def terms(D, m):
    """Write A (full), P, Q and P00 as dense arrays."""
    plan = ints(D[CORE], N_CONTEXT)
    n, A, fixed, load = D[SPEEDS], A_(D), fixed_(D), load_(D)
    for k in range(n * n):
        A[k] = 0.0
    mass_matrix(plan, body_work(plan), speed_work(plan), address_of(A), False)
    own, dof = own_required(plan), dofs(plan)
    for i in range(n):
        if fixed[i] == 1:
            for j in range(n):
                A[n * i + j] = 0.0
                A[n * j + i] = 0.0
            A[n * i + i] = 1.0
        load[i] = 0.0 if fixed[i] == 1 else -own[dof[i, speed.PUBLIC]]
    for i in range(n):
        for j in range(i):
            A[n * j + i] = A[n * i + j]
    if m == 0:
        return
    loops = ints(D[LOOPS], N_LOOP_CONTEXT)
    X, path, entry, Y = P_(D), chord_paths(loops), partials(loops), rows(loops)
    chosen, plan_chord, bias = chosen_(D), chords(loops), bias_(D)
    for k in range(m * n):
        X[k] = 0.0
    for c in range(plan_chord.shape[0]):
        first, count, at = (
            plan_chord[c, chord.FIRST_ROW],
            plan_chord[c, chord.N_ROWS],
            plan_chord[c, chord.FIRST_ENTRY],
        )
        for r in range(m):
            own_row = chosen[r] - first
            if 0 <= own_row < count:
                bias[r] = -Y[chosen[r], row.BIAS]
                for k in range(plan_chord[c, chord.PATH_START], plan_chord[c, chord.PATH_END]):
                    d = path[k, chord.SPEED]
                    if fixed[d] == 0:
                        X[n * r + d] = entry[at + (k - plan_chord[c, chord.PATH_START]) * count + own_row]


@kernel
def cholesky(D, n, matrix):
    """Factorise a matrix at an address into U^T U. Returns a status code."""
    return OK if dense.cholesky(D[POTRF], whole_(D), n, matrix) else SINGULAR


@kernel
def cholesky_solve(D, n, matrix, count, right):
    """Solve for `count` right sides (rows of n numbers): right <- matrix^-1 right."""
    dense.cholesky_solve(D[POTRS], whole_(D), n, matrix, count, right)


@kernel
def schur(D, m):
    """Solve A ud = Q + P^T lambda, P ud = -P00 by the Schur complement (6.3.6): z <- ud, tau <- multipliers."""
    n, A, P0, X, S = D[SPEEDS], A_(D), P_(D), X_(D), S_(D)
    z, load, bias, lam = z_(D), load_(D), bias_(D), right_(D)
    status = cholesky(D, n, address_of(A))
    if status != OK:
        return status
    for k in range(n):
        z[k] = load[k]
    cholesky_solve(D, n, address_of(A), 1, address_of(z))
    if m == 0:
        return OK
    for k in range(m * n):
        X[k] = P0[k]
    cholesky_solve(D, n, address_of(A), m, address_of(X))
    for r in range(m):
        for s in range(r + 1):
            total = 0.0
            for k in range(n):
                total += P0[n * r + k] * X[n * s + k]
            S[m * r + s] = total
        total = bias[r]
        for k in range(n):
            total -= P0[n * r + k] * z[k]
        lam[r] = total
    status = cholesky(D, m, address_of(S))
    if status != OK:
        return status
    cholesky_solve(D, m, address_of(S), 1, address_of(lam))
    for r in range(m):
        for k in range(n):
            z[k] += X[n * r + k] * lam[r]
    return OK


@kernel
def null_space(D, m):
    """Solve for z <- ud by the null space N of P.

    P^T = Q R (Householder), ud = Q1 R^-T (-P00) + N y, N^T A N y = N^T (Q - A ud0).
    """
    n, A, V, B, S = D[SPEEDS], A_(D), X_(D), B_(D), S_(D)
    P0, z, load, bias, workspace, lam = P_(D), z_(D), load_(D), bias_(D), tau_(D), right_(D)
    for k in range(m * n):
        V[k] = P0[k]
    for r in range(m):  # reflectors, one per row of P; R^T goes to S, by rows
        s = 0.0
        for k in range(r, n):
            s += V[n * r + k] * V[n * r + k]
        s = sqrt(s)
        if not s > 0.0:
            return SINGULAR
        d = V[n * r + r]
        alpha = -s if d > 0.0 else s
        S[m * r + r] = alpha
        V[n * r + r] = d - alpha
        beta = 1.0 / (s * (s + abs(d)))  # 2 / v.v
        workspace[r] = beta
        for q in range(r + 1, m):
            total = 0.0
            for k in range(r, n):
                total += V[n * r + k] * V[n * q + k]
            total *= beta
            for k in range(r, n):
                V[n * q + k] -= total * V[n * r + k]
            S[m * q + r] = V[n * q + r]
    for k in range(n * n):  # columns of Q as rows of B
        B[k] = 0.0
    for c in range(n):
        B[n * c + c] = 1.0
        for r in range(m - 1, -1, -1):
            total = 0.0
            for k in range(r, n):
                total += V[n * r + k] * B[n * c + k]
            total *= workspace[r]
            for k in range(r, n):
                B[n * c + k] -= total * V[n * r + k]
    for k in range(n):
        z[k] = 0.0
    for r in range(m):  # R^T x = -P00
        total = bias[r]
        for s in range(r):
            total -= S[m * r + s] * lam[s]
        lam[r] = total / S[m * r + r]
        for k in range(n):
            z[k] += lam[r] * B[n * r + k]
    f = n - m
    if f == 0:
        return OK
    H = matrix_(D)  # memory for A N and the reduced matrix
    for c in range(f):  # A N, by rows
        for i in range(n):
            total = 0.0
            for k in range(n):
                total += A[n * i + k] * B[n * (m + c) + k]
            H[n * c + i] = total
    for c in range(f):
        for e in range(c + 1):
            total = 0.0
            for k in range(n):
                total += H[n * c + k] * B[n * (m + e) + k]
            H[n * f + f * c + e] = total
        total = 0.0
        for k in range(n):
            total += B[n * (m + c) + k] * load[k] - H[n * c + k] * z[k]
        workspace[c] = total
    reduced = address_of(H) + 8 * n * f
    status = cholesky(D, f, reduced)
    if status != OK:
        return status
    cholesky_solve(D, f, reduced, 1, address_of(workspace))
    for c in range(f):
        for k in range(n):
            z[k] += workspace[c] * B[n * (m + c) + k]
    return OK


# ---------------------------------------------------------------- Newton-Euler with all loads
@kernel
def put(v, at, a):
    """Write three numbers."""
    v[at], v[at + 1], v[at + 2] = a[0], a[1], a[2]
    return at + 3


@kernel
def put_cross(v, at, a, s):
    """Write s (a x): the six entries off the diagonal, by rows."""
    v[at], v[at + 1] = -s * a[2], s * a[1]
    v[at + 2], v[at + 3] = s * a[2], -s * a[0]
    v[at + 4], v[at + 5] = -s * a[1], s * a[0]
    return at + 6


@kernel
def newton_euler(D, m):
    """Write entries and right side of (6.1.1) for every body, with what joins them (`newton_euler.entries`)."""
    plan = ints(D[CORE], N_CONTEXT)
    W, S, C, plan_body = body_work(plan), speed_work(plan), constants(plan), bodies(plan)
    nb, nu, fixed, v, b, at = D[BODIES], D[SPEEDS], fixed_(D), values_(D), right_(D), 0
    loaded = n_efforts(plan) > 0
    for k in range(D[SIZE]):
        b[k] = 0.0
    ones = (1.0, 1.0, 1.0)
    for i in range(1, nb + 1):
        Ri, w = load9(W, i, body.R), load3(W, i, body.OMEGA)
        c, mass = rotate(Ri, load3(C, i, body.COM)), C[i, body.MASS]
        J = rotate_symmetric(Ri, load6(C, i, body.INERTIA))
        h = scale(mass, c)
        # m (a + alpha x c) - F + ... = f;  h x a + (J + m c c) alpha - M + ... = n, about the origin
        at = put(v, at, scale(mass, ones))
        at = put_cross(v, at, h, -1.0)
        at = put_cross(v, at, h, 1.0)
        cc = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
        full = (
            J[0] + mass * (cc - c[0] * c[0]), J[1] - mass * c[0] * c[1], J[2] - mass * c[0] * c[2],
            J[3] + mass * (cc - c[1] * c[1]), J[4] - mass * c[1] * c[2], J[5] + mass * (cc - c[2] * c[2]),
        )  # fmt: skip
        at = put(v, at, (full[0], full[1], full[2]))
        at = put(v, at, (full[1], full[3], full[4]))
        at = put(v, at, (full[2], full[4], full[5]))
        at = put(v, at, scale(-1.0, ones))
        at = put(v, at, scale(-1.0, ones))
        force = scale(-mass, cross(w, cross(w, c)))
        moment = add(cross(c, force), scale(-1.0, cross(w, symmetric(J, w))))
        if loaded:
            force, moment = add(force, load3(W, i, body.APPLIED_F)), add(moment, load3(W, i, body.APPLIED_N))
        index = 6 * (i - 1)
        for k in range(3):
            b[index + k], b[index + 3 + k] = force[k], moment[k]
        p = plan_body[i, body.PARENT]
        arm = load3(W, i, body.ARM)
        if p > 0:  # + F and + M + arm x F on the parent
            at = put(v, at, ones)
            at = put(v, at, ones)
            at = put_cross(v, at, arm, 1.0)
        # a_i - a_p - alpha_p x arm - [v w] ud = bias
        at = put(v, at, ones)
        at = put(v, at, ones)
        if p > 0:
            at = put(v, at, scale(-1.0, ones))
            at = put_cross(v, at, arm, 1.0)
            at = put(v, at, scale(-1.0, ones))
        index = 6 * nb + 6 * (i - 1)
        bias = sub(sub(load3(W, i, body.ACC), load3(W, p, body.ACC)), cross(load3(W, p, body.ALPHA), arm))
        turn = sub(load3(W, i, body.ALPHA), load3(W, p, body.ALPHA))
        if p == 0:
            bias, turn = load3(W, i, body.ACC), load3(W, i, body.ALPHA)
        for k in range(3):
            b[index + k], b[index + 3 + k] = bias[k], turn[k]
    effort, dof = own_effort(plan), dofs(plan)
    for d in range(nu):
        pv, pw = load3(S, d, speed.PARTIAL_V), load3(S, d, speed.PARTIAL_W)
        if loaded:
            b[12 * nb + d] = (1.0 - fixed[d]) * effort[dof[d, speed.PUBLIC]]
        at = put(v, at, scale(-1.0, pv))
        at = put(v, at, scale(-1.0, pw))
        free = 1.0 - fixed[d]
        at = put(v, at, scale(free, pv))  # the hinge does the work of elements on its coordinates
        at = put(v, at, scale(free, pw))
        v[at] = 1.0 - free
        at += 1
    if m == 0:
        return
    loops = ints(D[LOOPS], N_LOOP_CONTEXT)
    Y, chosen, plan_chord, place = rows(loops), chosen_(D), chords(loops), places(loops)
    first = 12 * nb + nu
    for r in range(m):
        number = chosen[r]
        for c in range(plan_chord.shape[0]):
            if not (
                plan_chord[c, chord.FIRST_ROW]
                <= number
                < plan_chord[c, chord.FIRST_ROW] + plan_chord[c, chord.N_ROWS]
            ):
                continue
            B0 = plan_chord[c, chord.BODY_B]
            x = add(load3(W, B0, body.P), rotate(load9(W, B0, body.R), load3(place, c, chord.PLACE_B + 9)))
            bias = Y[number, row.BIAS]
            for side in range(2):
                i = plan_chord[c, chord.BODY_B] if side == 0 else plan_chord[c, chord.BODY_A]
                if i == 0:
                    continue
                f = load3(Y, number, row.F)
                n = add(load3(Y, number, row.M), cross(sub(x, load3(W, i, body.P)), f))
                if side == 1:
                    f, n = scale(-1.0, f), scale(-1.0, n)
                at = put(v, at, scale(-1.0, f))
                at = put(v, at, scale(-1.0, n))
                at = put(v, at, f)
                at = put(v, at, n)
                a, alpha = load3(W, i, body.ACC), load3(W, i, body.ALPHA)
                bias -= (
                    f[0] * a[0]
                    + f[1] * a[1]
                    + f[2] * a[2]
                    + n[0] * alpha[0]
                    + n[1] * alpha[1]
                    + n[2] * alpha[2]
                )
            b[first + r] = -bias


@kernel
def tableau(D, m):
    """Solve for z <- ud by the matrix of all accelerations and loads. Returns a status code."""
    n, M, v, slot, b = D[SIZE], matrix_(D), values_(D), slot_(D), right_(D)
    newton_euler(D, m)
    for k in range(M.shape[0]):
        M[k] = 0.0
    for k in range(v.shape[0]):
        M[slot[k]] += v[k]
    status = solve_tableau(D, n, M, b)
    if status != OK:
        return status
    z, at = z_(D), 12 * D[BODIES]
    for k in range(D[SPEEDS]):
        z[k] = b[at + k]
    return OK


@kernel
def solve_tableau(D, n, M, b):
    if D[SPARSE] == 1:
        failed = sparse_lu.factorise(
            D[FACTORED] == 1, n, Ap_(D), Ai_(D), M, order_(D), Lp_(D), Li_(D), Lx_(D), Up_(D), Ui_(D), Ux_(D), pinv_(D),
            workspace_(D), stack_(D), mark_(D),
        )  # fmt: skip
        D[FACTORED] = 1 if failed == 0 else 0
        if failed != 0:
            return SINGULAR + 16 * failed
        sparse_lu.solve(
            n, order_(D), Lp_(D), Li_(D), Lx_(D), Up_(D), Ui_(D), Ux_(D), pinv_(D), b, workspace_(D)
        )
        return OK
    if not dense.lu(D[GETRF], whole_(D), n, M, pivots_(D)):
        return SINGULAR
    dense.lu_solve(D[GETRS], whole_(D), n, M, pivots_(D), b)
    return OK


@kernel
def motion(D, t, y, dy):
    """Write y' of the integrator state at the address y. Returns a status code."""
    status = evaluate(D, t, y)
    if status != OK:
        return status
    m = choose(D)
    if D[MODE] == NEWTON_EULER:
        status = tableau(D, m)
    else:
        terms(D, m)
        status = schur(D, m) if D[MODE] == SCHUR or m == 0 else null_space(D, m)
    if status != OK:
        return status
    plan = ints(D[CORE], N_CONTEXT)
    _, nq, nu = counts(plan)
    ud, rates, dof, z = floats(dy + 8 * nq, nu), floats(dy, nq), dofs(plan), z_(D)
    q, u, own = own_q(plan), own_u(plan), own_ud(plan)
    for d in range(nu):
        ud[dof[d, speed.PUBLIC]] = own[dof[d, speed.PUBLIC]] + z[d]
    coordinate_rates(plan, q, u, rates)
    turn_speeds(plan, q, ud, 1.0)
    nz, _ = n_states(plan)
    zd, own_rates = own_zd(plan), floats(dy + 8 * (nq + nu), nz)
    for k in range(nz):
        own_rates[k] = zd[k]
    prescribed = prescriptions(plan)
    for k in range(prescribed.shape[0]):
        rates[prescribed[k, speed.PRESCRIBED_Q]] = 0.0
        ud[prescribed[k, speed.PRESCRIBED_U]] = 0.0
    if D[LOOPS] != 0:
        loops = ints(D[LOOPS], N_LOOP_CONTEXT)
        chord_rates(loops, floats(dy + 8 * (nq + nu + nz), chord_q(loops).shape[0]))
    return np.int64(OK)
