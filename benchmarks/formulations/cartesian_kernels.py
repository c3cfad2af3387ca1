# mypy: ignore-errors
"""Kinematics, constraint rows, loads and matrices of Cartesian formulations: compiled.

A body is described in its own axes with the centre of mass as origin. Its state is r, p (Euler parameters), and v with
the angular velocity w in body axes (kind 3), or v with p' (kinds 1, 2). `C` is the context: sizes, addresses.

Rows are those of Nikravesh, Table 11.1 in its corrected form: on (v_i, w_i, v_j, w_j), which is [Phi_r, Phi_p L^T / 2],
with gamma#. Raw partials are Phi_p = 2 (Phi_p L^T / 2) L: of all that differ by multiples of p^T, those that vanish along p;
for them gamma is gamma# (p'' = L^T w' / 2 - w^2 p / 4 has its second term along p).
"""

from math import atan2, pi, sqrt

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from treemech.kinematics.kernel import (
    address_of,
    call_element,
    floats,
    ints,
    kernel,
    load3,
    load9,
    member,
    store,
)
from treemech.kinematics.plan import N_CONTEXT
from treemech.kinematics.status import CHAIN_OPEN, CHORD_SWITCHED, OK, SIGNAL_FAILED, SINGULAR_POSITION
from treemech.kinematics.sweep import signals
from treemech.kinematics.vector import add, cross, dot, euler_rotation, multiply, rotate, scale, sub, unrotate
from treemech.kinematics.views import parameters, signal_values

from . import sparse_lu
from .joint_rows import ANGLE, EDGE, LENGTH, N1, N2, POINT, SCREW

# the context: sizes and addresses of functions, then addresses of arrays
(
    BODIES, ROWS, ACTIVE, KIND, SPARSE, SIZE, ENTRIES, CORE, LOADS, GETRF, GETRS, MATRIX, ROOM, FACTORED, GAIN, NQ, NV,
    FULL, POTRF, POTRS,
) = range(20)  # fmt: skip
SIZES = 20
# columns of `state`: position, Euler parameters, velocity, angular velocity in body axes and in the world
PLACE, EULER, VELOCITY, SPIN, OMEGA = 0, 3, 7, 10, 13
# columns of `level`: residual, its rate, gamma#
PHI, PHI_RATE, GAMMA = range(3)
_F, _I = types.float64, types.int64
_FIELDS = (
    ("body", _F, ((BODIES, 1), 16)),  # mass, inertia (9)
    ("gravity", _F, (3,)),
    ("row_ints", _I, ((ROWS, 0), 4)),  # kind, i, j, signal
    ("row_constants", _F, ((ROWS, 0), 20)),  # a, b, point_i, point_j, x_i, x_j, number, -
    ("active", _I, ((ROWS, 0),)),
    ("load_ints", _I, ((LOADS, 0), 3)),  # body, address, parameter
    ("load_points", _F, ((LOADS, 0), 12)),
    ("end", _F, (24,)),
    ("turn", _F, ((BODIES, 1), 9)),
    ("state", _F, ((BODIES, 1), 16)),
    ("applied", _F, ((BODIES, 1), 6)),  # force in the world, moment in body axes
    ("jacobian", _F, ((ROWS, 0), 12)),
    ("level", _F, ((ROWS, 0), 3)),
    ("multipliers", _F, ((ROWS, 0),)),
    ("values", _F, ((ENTRIES, 0),)),
    ("slot", _I, ((ENTRIES, 0),)),
    ("matrix", _F, ((MATRIX, 0),)),
    ("right", _F, ((SIZE, 0),)),
    ("room", _F, ((SIZE, 0),)),
    ("whole", _I, (8,)),  # numbers LAPACK wants by address
    ("pivots", _I, ((SIZE, 0),)),
    ("order", _I, ((SIZE, 0),)),
    ("Ap", _I, ((SIZE, 1),)),
    ("Ai", _I, ((MATRIX, 0),)),
    ("Lp", _I, ((SIZE, 1),)),
    ("Li", _I, ((ROOM, 0),)),
    ("Lx", _F, ((ROOM, 0),)),
    ("Up", _I, ((SIZE, 1),)),
    ("Ui", _I, ((ROOM, 0),)),
    ("Ux", _F, ((ROOM, 0),)),
    ("pinv", _I, ((FULL, 0),)),  # 2 n
    ("stack", _I, ((FULL, 0),)),  # 3 n: FULL is 3 n
    ("mark", _I, ((SIZE, 0),)),
    ("monitor", _F, (64,)),
    ("factors", _F, (8,)),  # penalty and the like
    ("scratch", _F, ((FULL, 0),)),
    ("start", _F, ((BODIES, 1), 9)),  # planar: rotations at the start
    ("frame", _F, (9,)),  # planar: e1, e2 and the normal
    ("independent", _I, ((NQ, 0),)),  # planar: 1 for independent coordinates
)
NAMES = [name for name, _, _ in _FIELDS]
N_CARTESIAN = SIZES + len(_FIELDS)
_view = {name: member(dtype, SIZES + k, *shape) for k, (name, dtype, shape) in enumerate(_FIELDS)}
body_, gravity_, row_ints, row_constants = (
    _view[n] for n in ("body", "gravity", "row_ints", "row_constants")
)
active_, load_ints, load_points, end_ = (_view[n] for n in ("active", "load_ints", "load_points", "end"))
turn_, state_, applied_, jacobian_ = (_view[n] for n in ("turn", "state", "applied", "jacobian"))
level_, multipliers_, values_, slot_ = (_view[n] for n in ("level", "multipliers", "values", "slot"))
matrix_, right_, room_, whole_, pivots_ = (_view[n] for n in ("matrix", "right", "room", "whole", "pivots"))
order_, Ap_, Ai_, Lp_, Li_, Lx_ = (_view[n] for n in ("order", "Ap", "Ai", "Lp", "Li", "Lx"))
Up_, Ui_, Ux_, pinv_, stack_, mark_ = (_view[n] for n in ("Up", "Ui", "Ux", "pinv", "stack", "mark"))
monitor_, factors_, scratch_, start_, frame_, independent_ = (
    _view[n] for n in ("monitor", "factors", "scratch", "start", "frame", "independent")
)

# statuses of this folder, by codes of the core that mean something alike: the matrix is singular; other rows should be chosen
SINGULAR, RESELECT = SINGULAR_POSITION, CHORD_SWITCHED
# places in `factors`: Baumgarte's gain; pivot below which rows are chosen anew; smallest pivot of the last factors
BAUMGARTE, LEAST, SMALLEST = 0, 4, 5


# ---------------------------------------------------------------- LAPACK by address
def _call(context, builder, signature, args):
    function = ir.FunctionType(ir.VoidType(), [a.type for a in args[1:]])
    builder.call(builder.inttoptr(args[0], function.as_pointer()), list(args[1:]))
    return context.get_constant(types.int64, 0)


@intrinsic
def call5(typing_context, address, a, b, c, d, e):
    return types.int64(*[types.int64] * 6), _call


@intrinsic
def call6(typing_context, address, a, b, c, d, e, f):
    return types.int64(*[types.int64] * 7), _call


@intrinsic
def call8(typing_context, address, a, b, c, d, e, f, g, h):
    return types.int64(*[types.int64] * 9), _call


@intrinsic
def call9(typing_context, address, a, b, c, d, e, f, g, h, i):
    return types.int64(*[types.int64] * 10), _call


# ---------------------------------------------------------------- kinematics
@kernel
def place(C, y):
    """Bodies from the state at the address y."""
    nb, kind = C[BODIES], C[KIND]
    q, S, T = floats(y, C[NQ]), state_(C), turn_(C)
    v = floats(y + 8 * C[NQ], C[NV])
    for i in range(1, nb + 1):
        k = 7 * (i - 1)
        for j in range(7):
            S[i, PLACE + j] = q[k + j]
        p0, p1, p2, p3 = q[k + 3], q[k + 4], q[k + 5], q[k + 6]
        R = euler_rotation(p0, p1, p2, p3)
        store(T, i, 0, R)
        if kind <= 2:
            for j in range(3):
                S[i, VELOCITY + j] = v[k + j]
            d0, d1, d2, d3 = v[k + 3], v[k + 4], v[k + 5], v[k + 6]
            w = (
                2.0 * (-p1 * d0 + p0 * d1 + p3 * d2 - p2 * d3),
                2.0 * (-p2 * d0 - p3 * d1 + p0 * d2 + p1 * d3),
                2.0 * (-p3 * d0 + p2 * d1 - p1 * d2 + p0 * d3),
            )
        else:
            k = 6 * (i - 1)
            for j in range(3):
                S[i, VELOCITY + j] = v[k + j]
            w = (v[k + 3], v[k + 4], v[k + 5])
        store(S, i, SPIN, w)
        store(S, i, OMEGA, rotate(R, w))


@kernel
def apply(C, t):
    """Applied loads of the System on the bodies, about their centres of mass: gravity and external loads."""
    B, F, S, T, g = body_(C), applied_(C), state_(C), turn_(C), gravity_(C)
    for i in range(1, C[BODIES] + 1):
        store(F, i, 0, scale(B[i, 0], (g[0], g[1], g[2])))
        store(F, i, 3, (0.0, 0.0, 0.0))
    if C[LOADS] == 0:
        return
    table, points, m, record = load_ints(C), load_points(C), end_(C), parameters(ints(C[CORE], N_CONTEXT))
    for k in range(C[LOADS]):
        i = table[k, 0]
        R, w = load9(T, i, 0), load3(S, i, OMEGA)
        arm = rotate(R, load3(points, k, 9))
        base = multiply(R, load9(points, k, 0))
        position, velocity = add(load3(S, i, PLACE), arm), add(load3(S, i, VELOCITY), cross(w, arm))
        for j in range(3):
            m[j] = position[j]
            m[12 + j] = velocity[j]
            m[15 + j] = w[j]
        for j in range(9):
            m[3 + j] = base[j]
        for j in range(18, 24):
            m[j] = 0.0
        call_element(table[k, 1], m, 0, m, 12, t, record, table[k, 2], m, 18)
        force, moment = (m[18], m[19], m[20]), (m[21], m[22], m[23])
        store(F, i, 0, add(load3(F, i, 0), force))
        store(F, i, 3, add(load3(F, i, 3), unrotate(R, add(moment, cross(arm, force)))))


@kernel
def wrapped(x):
    """An angle between -pi and pi."""
    return x - 2.0 * pi * np.floor(x / (2.0 * pi) + 0.5)


@kernel
def row(C, r, given):
    """One row: on the velocities of its bodies, residual, its rate, gamma#."""
    n, c, S, T, J, V = row_ints(C), row_constants(C), state_(C), turn_(C), jacobian_(C), level_(C)
    kind, i, j, signal = n[r, 0], n[r, 1], n[r, 2], n[r, 3]
    Ri, Rj = load9(T, i, 0), load9(T, j, 0)
    wi, wj = load3(S, i, OMEGA), load3(S, j, OMEGA)
    f, fd, fdd = 0.0, 0.0, 0.0
    if signal >= 0:
        f, fd, fdd = given[signal, 0], given[signal, 1], given[signal, 2]
    if kind == N1:
        a, b = rotate(Ri, load3(c, r, 0)), rotate(Rj, load3(c, r, 3))
        m = cross(b, a)
        store(J, r, 0, (0.0, 0.0, 0.0))
        store(J, r, 3, scale(-1.0, unrotate(Ri, m)))
        store(J, r, 6, (0.0, 0.0, 0.0))
        store(J, r, 9, unrotate(Rj, m))
        da, db = cross(wi, a), cross(wj, b)
        V[r, PHI] = dot(a, b)
        V[r, PHI_RATE] = dot(sub(wj, wi), m)
        V[r, GAMMA] = -(2.0 * dot(da, db) + dot(a, cross(wj, db)) + dot(b, cross(wi, da)))
        return
    si, sj = rotate(Ri, load3(c, r, 6)), rotate(Rj, load3(c, r, 9))
    d = sub(add(load3(S, j, PLACE), sj), add(load3(S, i, PLACE), si))
    dsi, dsj = cross(wi, si), cross(wj, sj)
    dd = sub(add(load3(S, j, VELOCITY), dsj), add(load3(S, i, VELOCITY), dsi))
    bend = sub(cross(wj, dsj), cross(wi, dsi))
    a, mi, mj = load3(c, r, 0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)  # direction; moments on i and j besides
    phi, rate, gamma = 0.0, 0.0, 0.0
    if kind == POINT:
        phi, rate, gamma = dot(a, d), dot(a, dd), -dot(a, bend)
    elif kind == LENGTH:
        l0 = 1.0 / c[r, 18]
        a = scale(l0, d)
        phi = 0.5 * l0 * (dot(d, d) - f * f)
        rate = dot(a, dd) - l0 * f * fd
        gamma = -l0 * (dot(dd, dd) + dot(d, bend)) + l0 * (fd * fd + f * fdd)
    elif kind == EDGE:
        a = rotate(Rj, load3(c, r, 3))
        rate = dot(a, dd)
        gamma = -(dot(cross(wj, a), dd) + dot(a, bend))
    else:
        a = rotate(Ri, a)
        da = cross(wi, a)
        angle, turning, drift = 0.0, 0.0, 0.0
        if kind != N2:
            xi, xj = rotate(Ri, load3(c, r, 12)), rotate(Rj, load3(c, r, 15))
            angle = atan2(dot(cross(xi, xj), a), dot(xi, xj))
            turning, drift = dot(a, sub(wj, wi)), dot(da, sub(wj, wi))
        if kind == ANGLE:
            phi, rate, gamma = wrapped(angle - f), turning - fd, fdd - drift
            mi, mj = scale(-1.0, a), a
            a = (0.0, 0.0, 0.0)
        else:  # N2, SCREW
            phi, rate = dot(a, d) - f, dot(a, dd) + dot(da, d) - fd
            gamma = fdd - (2.0 * dot(da, dd) + dot(d, cross(wi, da)) + dot(a, bend))
            mi = cross(a, d)
            if kind == SCREW:
                pitch = c[r, 18]
                phi = pitch * wrapped(phi / pitch - angle)
                rate -= pitch * turning
                gamma += pitch * drift
                mi, mj = add(mi, scale(pitch, a)), scale(-pitch, a)
    store(J, r, 0, scale(-1.0, a))
    store(J, r, 3, unrotate(Ri, sub(mi, cross(si, a))))
    store(J, r, 6, a)
    store(J, r, 9, unrotate(Rj, add(mj, cross(sj, a))))
    V[r, PHI], V[r, PHI_RATE], V[r, GAMMA] = phi, rate, gamma


@kernel
def evaluate(C, t, y):
    """Bodies, applied loads and active rows of a state; a status."""
    core = ints(C[CORE], N_CONTEXT)
    failed = signals(core, t)
    if failed >= 0:
        return SIGNAL_FAILED + 16 * failed
    place(C, y)
    apply(C, t)
    active, given = active_(C), signal_values(core)
    for k in range(C[ACTIVE]):
        row(C, active[k], given)
    return OK


# ---------------------------------------------------------------- matrices: values in a fixed order of entries
@kernel
def lmatrix(p0, p1, p2, p3):
    """L of Euler parameters, by rows: w = 2 L p' in body axes."""
    return (-p1, p0, p3, -p2, -p2, -p3, p0, p1, -p3, p2, -p1, p0)


@kernel
def spread(J, r, at, L, scratch):
    """2 [row on w] L (4): the row on Euler parameters."""
    a, b, c = 2.0 * J[r, at], 2.0 * J[r, at + 1], 2.0 * J[r, at + 2]
    for k in range(4):
        scratch[k] = a * L[k] + b * L[4 + k] + c * L[8 + k]


@kernel
def assemble(C):
    """Values of the matrix entries, in the order of `cartesian.entries`."""
    kind, B, S, J, n, active = C[KIND], body_(C), state_(C), jacobian_(C), row_ints(C), active_(C)
    v, scratch, at = values_(C), scratch_(C), 0
    for i in range(1, C[BODIES] + 1):
        for _ in range(3):
            v[at] = B[i, 0]
            at += 1
        if kind == 3:
            for k in range(9):
                v[at] = B[i, 1 + k]
                at += 1
            continue
        p0, p1, p2, p3 = S[i, EULER], S[i, EULER + 1], S[i, EULER + 2], S[i, EULER + 3]
        L = lmatrix(p0, p1, p2, p3)
        for a in range(3):  # 2 J' L (3 x 4)
            for k in range(4):
                scratch[4 * a + k] = 2.0 * (
                    B[i, 1 + 3 * a] * L[k] + B[i, 2 + 3 * a] * L[4 + k] + B[i, 3 + 3 * a] * L[8 + k]
                )
        if kind == 2:
            for k in range(12):
                v[at] = scratch[k]
                at += 1
        else:  # 4 L^T J' L (4 x 4)
            for a in range(4):
                for k in range(4):
                    v[at] = 2.0 * (L[a] * scratch[k] + L[4 + a] * scratch[4 + k] + L[8 + a] * scratch[8 + k])
                    at += 1
        for k in range(4):  # normalisation
            v[at] = S[i, EULER + k]
            at += 1
            if kind == 1:
                v[at] = S[i, EULER + k]
                at += 1
    for k in range(C[ACTIVE]):
        r = active[k]
        for side in range(2):
            i = n[r, 1 + side]
            if i == 0:
                continue
            for j in range(3):
                v[at] = v[at + 1] = J[r, 6 * side + j]
                at += 2
            if kind == 3:
                for j in range(3):
                    v[at] = v[at + 1] = J[r, 6 * side + 3 + j]
                    at += 2
                continue
            L = lmatrix(S[i, EULER], S[i, EULER + 1], S[i, EULER + 2], S[i, EULER + 3])
            spread(J, r, 6 * side + 3, L, scratch)
            if kind == 2:
                for j in range(3):
                    v[at] = J[r, 6 * side + 3 + j]
                    at += 1
                for j in range(4):
                    v[at] = scratch[j]
                    at += 1
            else:
                for j in range(4):
                    v[at] = v[at + 1] = scratch[j]
                    at += 2


@kernel
def fill(C):
    """The matrix from the values of its entries."""
    v, slot, M = values_(C), slot_(C), matrix_(C)
    for k in range(M.shape[0]):
        M[k] = 0.0
    for k in range(v.shape[0]):
        M[slot[k]] += v[k]


@kernel
def factorise(C):
    """Factors of the matrix; a status: RESELECT where the smallest pivot has become small."""
    status = factors(C)
    if status != OK:
        return status
    n, M, smallest = C[SIZE], matrix_(C), 1e300
    if C[SPARSE] == 1:
        Up, Ux = Up_(C), Ux_(C)
        for j in range(n):
            smallest = min(smallest, abs(Ux[Up[j + 1] - 1]))
    else:
        for j in range(n):
            smallest = min(smallest, abs(M[n * j + j]))
    f = factors_(C)
    f[SMALLEST] = smallest
    return OK if smallest >= f[LEAST] else RESELECT


@kernel
def factors(C):
    n, M = C[SIZE], matrix_(C)
    if C[SPARSE] == 1:
        if C[FACTORED] == 1:
            if sparse_lu.refactor(
                n, Ap_(C), Ai_(C), M, order_(C), Lp_(C), Li_(C), Lx_(C), Up_(C), Ui_(C), Ux_(C), pinv_(C), room_(C)
            ):  # fmt: skip
                return OK
        failed = sparse_lu.factor(
            n, Ap_(C), Ai_(C), M, order_(C), Lp_(C), Li_(C), Lx_(C), Up_(C), Ui_(C), Ux_(C), pinv_(C), room_(C), stack_(C),
            mark_(C),
        )  # fmt: skip
        C[FACTORED] = 1 if failed == 0 else 0
        return OK if failed == 0 else SINGULAR + 16 * failed
    w = whole_(C)
    w[0], w[3] = n, 0
    at = address_of(w)
    call6(C[GETRF], at, at, address_of(M), at, address_of(pivots_(C)), at + 24)
    return OK if w[3] == 0 else SINGULAR


@kernel
def back(C):
    """right <- matrix^-1 right"""
    n, b = C[SIZE], right_(C)
    if C[SPARSE] == 1:
        sparse_lu.solve(n, order_(C), Lp_(C), Li_(C), Lx_(C), Up_(C), Ui_(C), Ux_(C), pinv_(C), b, room_(C))
        return
    w = whole_(C)
    w[0], w[1], w[2], w[3] = n, 1, 84, 0  # "T": LAPACK reads columns where we have rows
    at = address_of(w)
    call9(
        C[GETRS], at + 16, at, at + 8, address_of(matrix_(C)), at, address_of(pivots_(C)), address_of(b), at, at + 24
    )  # fmt: skip


# ---------------------------------------------------------------- equations of motion
@kernel
def inner_torque(C, i):
    """Applied moment less w x J w, in body axes."""
    B, S, F = body_(C), state_(C), applied_(C)
    w = load3(S, i, SPIN)
    return sub(load3(F, i, 3), cross(w, rotate(load9(B, i, 1), w)))


@kernel
def loads(C):
    """The right side: loads on the bodies, normalisation, gamma#."""
    kind, nb, B, S, F, b = C[KIND], C[BODIES], body_(C), state_(C), applied_(C), right_(C)
    V, active, gain = level_(C), active_(C), factors_(C)[BAUMGARTE]
    for i in range(1, nb + 1):
        force = load3(F, i, 0)
        if kind == 1:
            k = 7 * (i - 1)
            w = load3(S, i, SPIN)
            p0, p1, p2, p3 = S[i, EULER], S[i, EULER + 1], S[i, EULER + 2], S[i, EULER + 3]
            # p' = L^T w / 2; n* - 2 H p' = 2 L^T n' - 4 L'^T J' w
            L = lmatrix(p0, p1, p2, p3)
            D = lmatrix(
                0.5 * (L[0] * w[0] + L[4] * w[1] + L[8] * w[2]), 0.5 * (L[1] * w[0] + L[5] * w[1] + L[9] * w[2]),
                0.5 * (L[2] * w[0] + L[6] * w[1] + L[10] * w[2]), 0.5 * (L[3] * w[0] + L[7] * w[1] + L[11] * w[2]),
            )  # fmt: skip
            moment, h = load3(F, i, 3), rotate(load9(B, i, 1), w)
            for j in range(4):
                b[k + 3 + j] = 2.0 * (
                    L[j] * moment[0] + L[4 + j] * moment[1] + L[8 + j] * moment[2]
                ) - 4.0 * (D[j] * h[0] + D[4 + j] * h[1] + D[8 + j] * h[2])
            b[7 * nb + i - 1] = -0.25 * dot(w, w)
        else:
            k = (7 if kind == 2 else 6) * (i - 1)
            moment = inner_torque(C, i)
            for j in range(3):
                b[k + 3 + j] = moment[j]
            if kind == 2:
                w = load3(S, i, SPIN)
                b[k + 6] = -0.25 * dot(w, w)
        for j in range(3):
            b[k + j] = force[j]
    first = C[SIZE] - C[ACTIVE]
    for k in range(C[ACTIVE]):
        r = active[k]
        b[first + k] = V[r, GAMMA] - gain * (2.0 * V[r, PHI_RATE] + gain * V[r, PHI])


@kernel
def rates(C, dy):
    """y' from the solution of the equations of motion."""
    nb, S, x = C[BODIES], state_(C), right_(C)
    q, v = floats(dy, C[NQ]), floats(dy + 8 * C[NQ], C[NV])
    for i in range(1, nb + 1):
        k = 7 * (i - 1)
        for j in range(3):
            q[k + j] = S[i, VELOCITY + j]
        L = lmatrix(S[i, EULER], S[i, EULER + 1], S[i, EULER + 2], S[i, EULER + 3])
        for j in range(4):
            q[k + 3 + j] = 0.5 * (L[j] * S[i, SPIN] + L[4 + j] * S[i, SPIN + 1] + L[8 + j] * S[i, SPIN + 2])
    for k in range(C[NV]):
        v[k] = x[k]


@kernel
def motion(C, t, y, dy):
    """y' of a state, and the multipliers; a status."""
    status = evaluate(C, t, y)
    if status != OK:
        return status
    assemble(C)
    fill(C)
    status = factorise(C)
    if status != OK:
        return CHAIN_OPEN if status == SINGULAR else status  # a shorter step may help
    loads(C)
    back(C)
    rates(C, dy)
    x, lam, active, first = right_(C), multipliers_(C), active_(C), C[SIZE] - C[ACTIVE]
    for k in range(C[ACTIVE]):
        lam[active[k]] = -x[first + k]
    return OK


# ---------------------------------------------------------------- projection
@kernel
def largest(C, column):
    """The largest residual of the active rows."""
    V, active, size = level_(C), active_(C), 0.0
    for k in range(C[ACTIVE]):
        size = max(size, abs(V[active[k], column]))
    return size


@kernel
def correct(C, y, column):
    """One mass-weighted correction of positions (column PHI) or velocities (PHI_RATE) with the factors there are."""
    kind, nb, b, V, active, S = C[KIND], C[BODIES], right_(C), level_(C), active_(C), state_(C)
    for k in range(C[SIZE]):
        b[k] = 0.0
    first = C[SIZE] - C[ACTIVE]
    for k in range(C[ACTIVE]):
        b[first + k] = -V[active[k], column]
    q = floats(y, C[NQ])
    v = floats(y + 8 * C[NQ], C[NV])
    if kind <= 2:
        for i in range(nb):
            s = 0.0
            for j in range(4):
                s += q[7 * i + 3 + j] * (v[7 * i + 3 + j] if column == PHI_RATE else 0.0)
            b[7 * nb + i if kind == 1 else 7 * i + 6] = -s
    back(C)
    if column == PHI_RATE:
        for k in range(C[NV]):
            v[k] += b[k]
        return
    if kind <= 2:
        for k in range(C[NQ]):
            q[k] += b[k]
    else:
        for i in range(nb):
            for j in range(3):
                q[7 * i + j] += b[6 * i + j]
            L = lmatrix(S[i + 1, EULER], S[i + 1, EULER + 1], S[i + 1, EULER + 2], S[i + 1, EULER + 3])
            for j in range(4):
                q[7 * i + 3 + j] += 0.5 * (
                    L[j] * b[6 * i + 3] + L[4 + j] * b[6 * i + 4] + L[8 + j] * b[6 * i + 5]
                )
    for i in range(nb):
        s = 0.0
        for j in range(4):
            s += q[7 * i + 3 + j] ** 2
        s = 1.0 / sqrt(s)
        for j in range(4):
            q[7 * i + 3 + j] *= s


@kernel
def onto(C, t, y, fresh):
    """Bring the state at the address y onto the constraints; `fresh`: its matrix is the one factorised last. A status."""
    status = OK
    if not fresh:
        status = evaluate(C, t, y)
        if status == OK:
            assemble(C)
            fill(C)
            status = factorise(C)
    if status != OK:
        return status
    before = 1e300
    for _ in range(8):
        gap = largest(C, PHI)
        if gap < 1e-15 or not gap < 0.5 * before:
            break
        before = gap
        correct(C, y, PHI)
        evaluate(C, t, y)
    if not largest(C, PHI) < 1e-8:
        return CHAIN_OPEN
    before = 1e300
    for _ in range(4):
        gap = largest(C, PHI_RATE)
        if gap < 1e-15 or not gap < 0.5 * before:
            break
        before = gap
        correct(C, y, PHI_RATE)
        evaluate(C, t, y)
    if C[KIND] <= 2:
        normalise_rates(C, y)
    return OK


@kernel
def normalise_rates(C, y):
    """Take from p' what is along p: with the normalisation p . p' = 0, which nothing else keeps."""
    q, v = floats(y, C[NQ]), floats(y + 8 * C[NQ], C[NV])
    for i in range(C[BODIES]):
        at, s, n = 7 * i + 3, 0.0, 0.0
        for j in range(at, at + 4):
            s += q[j] * v[j]
            n += q[j] * q[j]
        for j in range(at, at + 4):
            v[j] -= s / n * q[j]
