# mypy: ignore-errors
"""Kinematics, constraint rows, loads and matrices of Cartesian formulations: compiled.

A body is described in its own axes with the centre of mass as origin. Its state is r, p (Euler parameters), and v with
the angular velocity w in body axes (kind 3), or v with p' (kinds 1, 2). `C` is the context: sizes, addresses.

Rows are those of Nikravesh, Table 11.1 in its corrected form: on (v_i, w_i, v_j, w_j), which is [Phi_r, Phi_p L^T / 2],
with gamma#. Raw partials are Phi_p = 2 (Phi_p L^T / 2) L: of all that differ by multiples of p^T, those that vanish along p;
for them gamma is gamma# (p'' = L^T w' / 2 - w^2 p / 4 has its second term along p).
"""

from math import sqrt

from treemech.kinematics.kernel.language import (
    floats,
    ints,
    kernel,
    load3,
    load9,
    store,
)
from treemech.kinematics.kernel.status import CHAIN_OPEN, CHORD_SWITCHED, OK, SIGNAL_FAILED, SINGULAR_POSITION
from treemech.kinematics.kernel.vector import cross, dot, euler_rotation, rotate, sub
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.views import own_z, own_zd, signal_values
from treemech.kinematics.tree.sweep import signals

from .. import dense, sparse_lu
from .element_rows import give_carried, give_carried_rates, rows_of_elements, take_carried
from .force_kernels import apply
from .joint_rows import ELEMENT
from .rows import row
from .views import (
    ACTIVE,
    BODIES,
    CORE,
    EULER,
    FACTORED,
    FIRST,
    GAMMA,
    GETRF,
    GETRS,
    KIND,
    NQ,
    NV,
    OMEGA,
    PHI,
    PHI_RATE,
    PLACE,
    ROW_KIND,
    SIZE,
    SPARSE,
    SPIN,
    STATES,
    STOP,
    VELOCITY,
    Ai_,
    Ap_,
    Li_,
    Lp_,
    Lx_,
    Ui_,
    Up_,
    Ux_,
    active_,
    applied_,
    block_bodies,
    body_,
    factors_,
    jacobian_,
    level_,
    mark_,
    matrix_,
    multipliers_,
    order_,
    pinv_,
    pivots_,
    right_,
    row_ints,
    scratch_,
    slot_,
    stack_,
    state_,
    turn_,
    values_,
    whole_,
    workspace_,
)

# statuses of this folder, by codes of the core that mean something alike: the matrix is singular; other rows should be chosen
SINGULAR, RESELECT = SINGULAR_POSITION, CHORD_SWITCHED
# places in `factors`: Baumgarte's gain; pivot below which rows are chosen anew; smallest pivot of the last factors
BAUMGARTE, LEAST, SMALLEST = 0, 4, 5


# ---------------------------------------------------------------- kinematics
@kernel
def place_body(C, i, p0, p1, p2, p3, w):
    """Write attitude and angular velocity (body axes) of body i."""
    S, R = state_(C), euler_rotation(p0, p1, p2, p3)
    store(turn_(C), i, 0, R)
    store(S, i, SPIN, w)
    store(S, i, OMEGA, rotate(R, w))


@kernel
def spin(p0, p1, p2, p3, d0, d1, d2, d3):
    """Return 2 L p', the angular velocity in body axes."""
    return (
        2.0 * (-p1 * d0 + p0 * d1 + p3 * d2 - p2 * d3),
        2.0 * (-p2 * d0 - p3 * d1 + p0 * d2 + p1 * d3),
        2.0 * (-p3 * d0 + p2 * d1 - p1 * d2 + p0 * d3),
    )


@kernel
def place(C, y):
    """Place the bodies by the state at the address y."""
    nb, kind, S = C[BODIES], C[KIND], state_(C)
    q, v = floats(y, C[NQ]), floats(y + 8 * C[NQ], C[NV])
    for i in range(1, nb + 1):
        k = 7 * (i - 1)
        for j in range(7):
            S[i, PLACE + j] = q[k + j]
        p0, p1, p2, p3 = q[k + 3], q[k + 4], q[k + 5], q[k + 6]
        if kind <= 2:
            w = spin(p0, p1, p2, p3, v[k + 3], v[k + 4], v[k + 5], v[k + 6])
        else:
            k = 6 * (i - 1)
            w = (v[k + 3], v[k + 4], v[k + 5])
        for j in range(3):
            S[i, VELOCITY + j] = v[k + j]
        place_body(C, i, p0, p1, p2, p3, w)


@kernel
def take_states(C, z):
    """Read the states of elements, and what is carried, from the address z."""
    own, given = own_z(ints(C[CORE], N_CONTEXT)), floats(z, C[STATES])
    for k in range(C[STATES]):
        own[k] = given[k]
    take_carried(C, z + 8 * C[STATES])


@kernel
def give_rates(C, zd):
    """Write the rates of the states of elements, and of what is carried, to the address zd."""
    own, rates = own_zd(ints(C[CORE], N_CONTEXT)), floats(zd, C[STATES])
    for k in range(C[STATES]):
        rates[k] = own[k]
    give_carried_rates(C, zd + 8 * C[STATES])


@kernel
def evaluate(C, t, y):
    """Evaluate bodies, applied loads and active rows of a state. Returns a status code."""
    core = ints(C[CORE], N_CONTEXT)
    failed = signals(core, t)
    if failed >= 0:
        return SIGNAL_FAILED + 16 * failed
    place(C, y)
    take_states(C, y + 8 * (C[NQ] + C[NV]))
    status = apply(C, t)
    if status != OK:
        return status
    evaluate_rows(C)
    return rows_of_elements(C, t)


@kernel
def evaluate_rows(C):
    """Evaluate the active rows between two bodies."""
    active, n, given = active_(C), row_ints(C), signal_values(ints(C[CORE], N_CONTEXT))
    for k in range(C[ACTIVE]):
        if n[active[k], ROW_KIND] < ELEMENT:
            row(C, active[k], given)


# ---------------------------------------------------------------- matrices: values in a fixed order of entries
@kernel
def lmatrix(p0, p1, p2, p3):
    """Return L of Euler parameters, by rows: w = 2 L p' in body axes."""
    return (-p1, p0, p3, -p2, -p2, -p3, p0, p1, -p3, p2, -p1, p0)


@kernel
def spread(J, p, L, scratch):
    """Compute a block of a row on Euler parameters, 2 [row on w] L (4)."""
    a, b, c = 2.0 * J[p, 3], 2.0 * J[p, 4], 2.0 * J[p, 5]
    for k in range(4):
        scratch[k] = a * L[k] + b * L[4 + k] + c * L[8 + k]


@kernel
def assemble(C):
    """Write the values of the matrix entries, in the order of `cartesian.entries`."""
    kind, B, S, J, n, active = C[KIND], body_(C), state_(C), jacobian_(C), row_ints(C), active_(C)
    v, scratch, joined, at = values_(C), scratch_(C), block_bodies(C), 0
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
        for p in range(n[r, FIRST], n[r, STOP]):
            i = joined[p]
            if i == 0:
                continue
            for j in range(3):
                v[at] = v[at + 1] = J[p, j]
                at += 2
            if kind == 3:
                for j in range(3):
                    v[at] = v[at + 1] = J[p, 3 + j]
                    at += 2
                continue
            L = lmatrix(S[i, EULER], S[i, EULER + 1], S[i, EULER + 2], S[i, EULER + 3])
            spread(J, p, L, scratch)
            if kind == 2:
                for j in range(3):
                    v[at] = J[p, 3 + j]
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
    """Fill the matrix with the values of its entries."""
    v, slot, M = values_(C), slot_(C), matrix_(C)
    for k in range(M.shape[0]):
        M[k] = 0.0
    for k in range(v.shape[0]):
        M[slot[k]] += v[k]


@kernel
def factorise(C):
    """Factorise the matrix. Returns a status code: RESELECT where the smallest pivot has become small."""
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
        failed = sparse_lu.factorise(
            C[FACTORED] == 1, n, Ap_(C), Ai_(C), M, order_(C), Lp_(C), Li_(C), Lx_(C), Up_(C), Ui_(C), Ux_(C), pinv_(C),
            workspace_(C), stack_(C), mark_(C),
        )  # fmt: skip
        C[FACTORED] = 1 if failed == 0 else 0
        return OK if failed == 0 else SINGULAR + 16 * failed
    return OK if dense.lu(C[GETRF], whole_(C), n, M, pivots_(C)) else SINGULAR


@kernel
def back(C):
    """Solve the system: right <- matrix^-1 right."""
    n, b = C[SIZE], right_(C)
    if C[SPARSE] == 1:
        sparse_lu.solve(
            n, order_(C), Lp_(C), Li_(C), Lx_(C), Up_(C), Ui_(C), Ux_(C), pinv_(C), b, workspace_(C)
        )
        return
    dense.lu_solve(C[GETRS], whole_(C), n, matrix_(C), pivots_(C), b)


# ---------------------------------------------------------------- equations of motion
@kernel
def inner_torque(C, i):
    """Return the applied moment less w x J w, in body axes."""
    B, S, F = body_(C), state_(C), applied_(C)
    w = load3(S, i, SPIN)
    return sub(load3(F, i, 3), cross(w, rotate(load9(B, i, 1), w)))


@kernel
def loads(C):
    """Write the right side: loads on the bodies, normalisation, gamma#."""
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
    """Write y' from the solution of the equations of motion."""
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
    give_rates(C, dy + 8 * (C[NQ] + C[NV]))


@kernel
def motion(C, t, y, dy):
    """Write y' of a state, and the multipliers. Returns a status code."""
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
    """Return the largest residual of the active rows."""
    V, active, size = level_(C), active_(C), 0.0
    for k in range(C[ACTIVE]):
        size = max(size, abs(V[active[k], column]))
    return size


@kernel
def correct(C, y, column):
    """Correct positions (column PHI) or velocities (PHI_RATE) once, weighted by masses, with the last
    factors.
    """
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
def close(C, t, y, column, most):
    """Correct the state at the address y while that halves the largest residual of a column of `level`."""
    before = 1e300
    for _ in range(most):
        gap = largest(C, column)
        if gap < 1e-15 or not gap < 0.5 * before:
            break
        before = gap
        correct(C, y, column)
        evaluate(C, t, y)


@kernel
def onto(C, t, y, fresh):
    """Bring the state at the address y onto the constraints; `fresh`: its matrix is factorised. Returns a status code."""
    status = OK
    if not fresh:
        status = evaluate(C, t, y)
        if status == OK:
            assemble(C)
            fill(C)
            status = factorise(C)
    if status != OK:
        return status
    close(C, t, y, PHI, 8)
    if not largest(C, PHI) < 1e-8:
        return CHAIN_OPEN
    close(C, t, y, PHI_RATE, 4)
    if C[KIND] <= 2:
        normalise_rates(C, y)
    keep_carried(C, y)
    return OK


@kernel
def keep_carried(C, y):
    """Replace what the state at the address y carries by what its pose says."""
    give_carried(C, y + 8 * (C[NQ] + C[NV] + C[STATES]))


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
