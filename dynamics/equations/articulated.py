# mypy: ignore-errors
"""Forward dynamics of a tree in O(n): the equations of motion A ud = Q solved from the tips inwards.

Each body takes over the resistance of its descendants as an articulated inertia (A, B; B^T, M) and a bias
load (n, f) about its own origin. A hinge removes the part along its free speeds. Prescribed speeds remove
nothing: their accelerations stand in the biases (kinematics.tree.sweep), so a driven tree stays O(n). The
result is equivalent to the dense A and Q of (6.2.12); tests compare the two.
"""

from treemech.kinematics.kernel.language import accumulate, kernel, load3, load6, load9, store, straight
from treemech.kinematics.kernel.vector import add, cross, dot, rotate, scale, sub, symmetric, unrotate
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import (
    bodies,
    constants,
    dofs,
    n_efforts,
    n_prescribed,
    prescriptions,
    signal_values,
)
from treemech.kinematics.tree.sweep import prescribed_accelerations

from .virtual_work import body_inertia, ground


@kernel
def _initialise(plan, W):
    """Set for every body alone its inertia about its origin and the loads that do not depend on ud."""
    C = constants(plan)
    loaded = n_efforts(plan) > 0
    for i in range(1, W.shape[0]):
        d, h, J, about = body_inertia(C, W, i)
        m = C[i, body.MASS]
        w = load3(W, i, body.OMEGA)
        f = cross(w, cross(w, h))
        n = add(cross(w, symmetric(J, w)), cross(d, f))
        if loaded:
            f = sub(f, load3(W, i, body.APPLIED_F))
            n = sub(n, load3(W, i, body.APPLIED_N))
        store(W, i, body.BIAS_N, n)
        store(W, i, body.BIAS_F, f)
        store(W, i, body.ART_A, about)
        store(W, i, body.ART_B, (0.0 * m, -h[2], h[1], h[2], 0.0 * m, -h[0], -h[1], h[0], 0.0 * m))
        store(W, i, body.ART_M, (m, 0.0 * m, 0.0 * m, m, 0.0 * m, m))


@straight
def _reduce_symmetric(A, s, x):
    """Return A - s x x^T."""
    y = scale(s, x)
    return (
        A[0] - y[0] * x[0], A[1] - y[0] * x[1], A[2] - y[0] * x[2],
        A[3] - y[1] * x[1], A[4] - y[1] * x[2], A[5] - y[2] * x[2],
    )  # fmt: skip


@straight
def _reduce(B, s, x, y):
    """Return B - s x y^T."""
    z = scale(s, x)
    return (
        B[0] - z[0] * y[0], B[1] - z[0] * y[1], B[2] - z[0] * y[2],
        B[3] - z[1] * y[0], B[4] - z[1] * y[1], B[5] - z[1] * y[2],
        B[6] - z[2] * y[0], B[7] - z[2] * y[1], B[8] - z[2] * y[2],
    )  # fmt: skip


@kernel
def _factorise(plan, S, i, A, B, M, n, f, tau):
    """Find inertia columns and LDL^T of the free speeds of hinge i, and apply L^-1 to columns and loads."""
    plan_body, dof, rotor = bodies(plan), dofs(plan), constants(plan)[i, body.ROTOR]
    o, count = plan_body[i, body.DOF], plan_body[i, body.N_FREE]
    for e in range(o, o + count):
        w, v = load3(S, e, speed.PARTIAL_W), load3(S, e, speed.PARTIAL_V)
        un = add(symmetric(A, w), rotate(B, v))
        uf = add(unrotate(B, w), symmetric(M, v))
        store(S, e, speed.COLUMN_N, un)
        store(S, e, speed.COLUMN_F, uf)
        S[e, speed.LOAD] = tau[dof[e, speed.PUBLIC]] - dot(w, n) - dot(v, f)
        for k in range(o, e + 1):
            S[e, speed.FACTOR + k - o] = dot(load3(S, k, speed.PARTIAL_W), un) + dot(
                load3(S, k, speed.PARTIAL_V), uf
            )
        S[e, speed.FACTOR + e - o] += rotor
    for j in range(o, o + count):
        pivot = S[j, speed.FACTOR + j - o]
        for k in range(o, j):
            pivot = pivot - S[j, speed.FACTOR + k - o] * S[j, speed.FACTOR + k - o] * S[k, speed.PIVOT]
        S[j, speed.PIVOT] = pivot
        inverse = 1.0 / pivot
        for e in range(j + 1, o + count):
            x = S[e, speed.FACTOR + j - o]
            for k in range(o, j):
                x = x - S[e, speed.FACTOR + k - o] * S[j, speed.FACTOR + k - o] * S[k, speed.PIVOT]
            S[e, speed.FACTOR + j - o] = x * inverse
        S[j, speed.FACTOR + j - o] = inverse
    for e in range(o, o + count):
        vn, vf, load = load3(S, e, speed.COLUMN_N), load3(S, e, speed.COLUMN_F), S[e, speed.LOAD]
        for k in range(o, e):
            x = S[e, speed.FACTOR + k - o]
            vn = sub(vn, scale(x, load3(S, k, speed.REDUCED_N)))
            vf = sub(vf, scale(x, load3(S, k, speed.REDUCED_F)))
            load = load - x * S[k, speed.REDUCED_LOAD]
        store(S, e, speed.REDUCED_N, vn)
        store(S, e, speed.REDUCED_F, vf)
        S[e, speed.REDUCED_LOAD] = load


@kernel
def _hand_over(W, i, p, A, B, M, n, f):
    """Add inertia and bias of body i to its parent, moved to the parent's origin."""
    zw, zv, r = load3(W, i, body.ZETA_W), load3(W, i, body.ZETA_V), load3(W, i, body.ARM)
    n = add(n, add(symmetric(A, zw), rotate(B, zv)))
    f = add(f, add(unrotate(B, zw), symmetric(M, zv)))
    accumulate(W, p, body.BIAS_F, f)
    accumulate(W, p, body.BIAS_N, add(n, cross(r, f)))
    # B' = B + r x M,  A' = A - B r x + r x B'^T
    c0, c1, c2 = cross(r, (M[0], M[1], M[2])), cross(r, (M[1], M[3], M[4])), cross(r, (M[2], M[4], M[5]))
    Bp = (
        B[0] + c0[0], B[1] + c1[0], B[2] + c2[0], B[3] + c0[1], B[4] + c1[1], B[5] + c2[1],
        B[6] + c0[2], B[7] + c1[2], B[8] + c2[2],
    )  # fmt: skip
    g0, g1, g2 = cross(r, (B[0], B[1], B[2])), cross(r, (B[3], B[4], B[5])), cross(r, (B[6], B[7], B[8]))
    k0, k1 = cross(r, (Bp[0], Bp[1], Bp[2])), cross(r, (Bp[3], Bp[4], Bp[5]))
    k2 = cross(r, (Bp[6], Bp[7], Bp[8]))
    K = load6(W, p, body.ART_A)
    a = (
        K[0] + A[0] + g0[0] + k0[0], K[1] + A[1] + g0[1] + k1[0], K[2] + A[2] + g0[2] + k2[0],
        K[3] + A[3] + g1[1] + k1[1], K[4] + A[4] + g1[2] + k2[1], K[5] + A[5] + g2[2] + k2[2],
    )  # fmt: skip
    store(W, p, body.ART_A, a)
    K9 = load9(W, p, body.ART_B)
    b = (
        K9[0] + Bp[0], K9[1] + Bp[1], K9[2] + Bp[2], K9[3] + Bp[3], K9[4] + Bp[4], K9[5] + Bp[5],
        K9[6] + Bp[6], K9[7] + Bp[7], K9[8] + Bp[8],
    )  # fmt: skip
    store(W, p, body.ART_B, b)
    K = load6(W, p, body.ART_M)
    store(W, p, body.ART_M, (K[0] + M[0], K[1] + M[1], K[2] + M[2], K[3] + M[3], K[4] + M[4], K[5] + M[5]))


@kernel
def _inwards(plan, W, S, tau):
    """Reduce the inertia and bias of every body by its hinge and add them to the parent, from the tips."""
    plan_body, C = bodies(plan), constants(plan)
    for i in range(plan_body.shape[0] - 1, 0, -1):
        p = plan_body[i, body.PARENT]
        A, B, M = load6(W, i, body.ART_A), load9(W, i, body.ART_B), load6(W, i, body.ART_M)
        n, f = load3(W, i, body.BIAS_N), load3(W, i, body.BIAS_F)
        kind, free = plan_body[i, body.KIND], plan_body[i, body.N_FREE]
        if free == 0:
            pass
        elif kind == body.REVOLUTE or kind == body.PRISMATIC:
            z = scale(C[i, body.SIGN], (W[i, body.R + 2], W[i, body.R + 5], W[i, body.R + 8]))
            if kind == body.REVOLUTE:
                un, uf = symmetric(A, z), unrotate(B, z)
                inverse = 1.0 / (dot(z, un) + C[i, body.ROTOR])
                load = tau[plan_body[i, body.U]] - dot(z, n)
            else:
                un, uf = rotate(B, z), symmetric(M, z)
                inverse = 1.0 / (dot(z, uf) + C[i, body.ROTOR])
                load = tau[plan_body[i, body.U]] - dot(z, f)
            store(W, i, body.U_N, un)
            store(W, i, body.U_F, uf)
            W[i, body.D_INV] = inverse
            W[i, body.U_LOAD] = load
            if p > 0:
                A = _reduce_symmetric(A, inverse, un)
                B = _reduce(B, inverse, un, uf)
                M = _reduce_symmetric(M, inverse, uf)
                n, f = add(n, scale(load * inverse, un)), add(f, scale(load * inverse, uf))
        else:
            _factorise(plan, S, i, A, B, M, n, f, tau)
            if p > 0:
                o = plan_body[i, body.DOF]
                for e in range(o, o + free):
                    vn, vf, inverse = (
                        load3(S, e, speed.REDUCED_N),
                        load3(S, e, speed.REDUCED_F),
                        S[e, speed.FACTOR + e - o],
                    )
                    A = _reduce_symmetric(A, inverse, vn)
                    B = _reduce(B, inverse, vn, vf)
                    M = _reduce_symmetric(M, inverse, vf)
                    load = S[e, speed.REDUCED_LOAD] * inverse
                    n, f = add(n, scale(load, vn)), add(f, scale(load, vf))
                if kind == body.BALL and free == 3:
                    # a ball joint transmits no moment: the rest of A and B is rounding
                    zero = 0.0 * M[0]
                    A = (zero, zero, zero, zero, zero, zero)
                    B = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        if p > 0:
            _hand_over(W, i, p, A, B, M, n, f)


@kernel
def _outwards(plan, W, S, ud):
    """Find the accelerations of all speeds and bodies, from the ground."""
    plan_body, C, dof = bodies(plan), constants(plan), dofs(plan)
    ground(plan, W)
    for i in range(1, plan_body.shape[0]):
        p = plan_body[i, body.PARENT]
        dwp = load3(W, p, body.ALPHA)
        dw = add(dwp, load3(W, i, body.ZETA_W))
        a = add(add(load3(W, p, body.ACC), cross(dwp, load3(W, i, body.ARM))), load3(W, i, body.ZETA_V))
        kind, free = plan_body[i, body.KIND], plan_body[i, body.N_FREE]
        if free == 0:
            pass
        elif kind == body.REVOLUTE or kind == body.PRISMATIC:
            x = W[i, body.D_INV] * (
                W[i, body.U_LOAD] - dot(load3(W, i, body.U_N), dw) - dot(load3(W, i, body.U_F), a)
            )
            ud[plan_body[i, body.U]] = x
            z = scale(C[i, body.SIGN] * x, (W[i, body.R + 2], W[i, body.R + 5], W[i, body.R + 8]))
            if kind == body.REVOLUTE:
                dw = add(dw, z)
            else:
                a = add(a, z)
        else:
            o = plan_body[i, body.DOF]
            for e in range(o, o + free):
                x = (
                    S[e, speed.LOAD]
                    - dot(load3(S, e, speed.COLUMN_N), dw)
                    - dot(load3(S, e, speed.COLUMN_F), a)
                )
                for k in range(o, e):
                    x = x - S[e, speed.FACTOR + k - o] * S[k, speed.REDUCED_LOAD]
                S[e, speed.REDUCED_LOAD] = x
            for e in range(o + free - 1, o - 1, -1):
                x = S[e, speed.REDUCED_LOAD] * S[e, speed.FACTOR + e - o]
                for k in range(e + 1, o + free):
                    x = x - S[k, speed.FACTOR + e - o] * S[k, speed.REDUCED_LOAD]
                S[e, speed.REDUCED_LOAD] = x
                ud[dof[e, speed.PUBLIC]] = x
            for e in range(o, o + free):
                x = S[e, speed.REDUCED_LOAD]
                dw = add(dw, scale(x, load3(S, e, speed.PARTIAL_W)))
                a = add(a, scale(x, load3(S, e, speed.PARTIAL_V)))
        store(W, i, body.ALPHA, dw)
        store(W, i, body.ACC, a)
    prescribed, values = prescriptions(plan), signal_values(plan)
    for k in range(prescribed.shape[0]):
        ud[prescribed[k, speed.PRESCRIBED_U]] = values[prescribed[k, speed.PRESCRIBED_SIGNAL], 2]


@kernel
def forward_dynamics(plan, W, S, tau, ud):
    """Compute the accelerations ud under the loads tau on the speeds, after `evaluate_motion`."""
    if n_prescribed(plan) > 0:
        prescribed_accelerations(plan, W, S)
    _initialise(plan, W)
    _inwards(plan, W, S, tau)
    _outwards(plan, W, S, ud)
