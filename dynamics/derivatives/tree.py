# mypy: ignore-errors
"""Exact derivatives of inverse dynamics tau = A ud - Q of a tree by its coordinates and speeds.

Spatial vectors (angular part, part at the reference point) are in world axes, about the origin of the first
body of the branch from the ground. A displacement along the speed j of hinge J moves all bodies beyond J by
its motion s_j as if they were one rigid body. Seen from there (derivative' = derivative - s_j x) the velocity
of every body beyond changes by y_j and its acceleration by z_j + y_j x V, independent of the hinges between;
and only the motions of J itself change, by E_jk::

    y_j = V_p x s_j + e_j                                 e_j = sum E_jk u_k + E_j0
    z_j = A_p x s_j + V_p x (V_p x s_j) + (V_p + V) x e_j + sum E_jk ud_k + E_j00

E vanishes for one-speed hinges with an axis fixed in the body. Where speeds are measured in the base of end a
(Ball, Free) it is -s_j x s_k, apart from the moving origin. For a hinge by address it follows from its record
(kinematics.tree.hinge_partials). With B V' = (I (V' x V) + V' x* I V + V x* I V') / 2 of the composite bodies
and their load F::

    d tau_k / d q_j = s_k . (2 B y_j + I z_j) (+ E_jk . F in one hinge)     k beyond j or in its hinge
    d tau_k / d q_j = s_k . (2 B y_j + I z_j + s_j x* F)                    k before j
    d tau_k / d u_j = s_k . (2 B s_j + I e_j),   e_j = V_p x s_j + V x s_j + d(bias)/d u_j

(after Singh, Russell and Wensing). Every pair of related speeds costs the same few products, and A is found
on the way. Directions in q are those of the speeds, q' = N(q) u; for Euler parameters they are rotations,
measured as the angular velocity is.
"""

from treemech.kinematics.kernel.language import floats, floats2, kernel, load3, load6, load9, store
from treemech.kinematics.kernel.status import HINGE_FAILED, OK
from treemech.kinematics.kernel.vector import (
    add,
    cross,
    dot,
    multiply,
    rotate,
    rotate_symmetric,
    scale,
    sub,
    unrotate,
)
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import (
    ancestor_runs,
    bodies,
    constants,
    counts,
    dofs,
    fill_parameter_duals,
    gravity,
    n_efforts,
    own_u,
    rotors,
    run_starts,
)
from treemech.kinematics.tree.hinge_partials import record_partials
from treemech.kinematics.tree.sweep import columns, origin_velocities

from ..equations.spatial import column, inertia_times, motion_cross, put_column
from . import layout
from .efforts import effort_derivatives

_NIL = (0.0, 0.0, 0.0)


@kernel
def _of(record, o):
    return (record[o], record[o + 1], record[o + 2])


@kernel
def _own_body(plan, W, Y, i, origin):
    """Compute inertia, momentum flux and load of body i alone, about the reference point."""
    C = constants(plan)
    Ri, m = load9(W, i, body.R), C[i, body.MASS]
    c = add(sub(load3(W, i, body.P), origin), rotate(Ri, load3(C, i, body.COM)))
    h, J = scale(m, c), rotate_symmetric(Ri, load6(C, i, body.INERTIA))
    cc = dot(c, h)
    J = (
        J[0] + cc - h[0] * c[0], J[1] - h[0] * c[1], J[2] - h[0] * c[2],
        J[3] + cc - h[1] * c[1], J[4] - h[1] * c[2], J[5] + cc - h[2] * c[2],
    )  # fmt: skip
    w, v = load3(Y, i, layout.VELOCITY), load3(Y, i, layout.VELOCITY + 3)
    L, p = inertia_times(m, h, J, w, v)
    n, f = inertia_times(m, h, J, load3(Y, i, layout.ACCELERATION), load3(Y, i, layout.ACCELERATION + 3))
    half = 0.5 * (J[0] + J[3] + J[5])
    g0 = cross(w, (half - J[0], -J[1], -J[2]))
    g1 = cross(w, (-J[1], half - J[3], -J[4]))
    g2 = cross(w, (-J[2], -J[4], half - J[5]))
    Y[i, layout.MASS] = m
    store(Y, i, layout.FIRST, h)
    store(Y, i, layout.SECOND, J)
    store(Y, i, layout.MOMENTUM, p)
    flux = (
        v[0] * h[0] + g0[0], v[0] * h[1] + g1[0], v[0] * h[2] + g2[0],
        v[1] * h[0] + g0[1], v[1] * h[1] + g1[1], v[1] * h[2] + g2[1],
        v[2] * h[0] + g0[2], v[2] * h[1] + g1[2], v[2] * h[2] + g2[2],
    )  # fmt: skip
    store(Y, i, layout.FLUX, flux)
    store(Y, i, layout.MOMENT, add(n, add(cross(w, L), cross(v, p))))
    store(Y, i, layout.FORCE, add(f, cross(w, p)))


@kernel
def _own_derivatives(plan, W, S, Z, i, ud, origin, D, wp, vp, w, v):
    """Add the parts of y, z, e of hinge i that a fixed axis does not have: changes by its own speeds.

    D is the address of the derivatives of the record (zero for Ball and Free). The plain parts of y, z, e
    come before.
    """
    plan_body, dof, u, C = bodies(plan), dofs(plan), own_u(plan), constants(plan)
    first, n, table = (
        plan_body[i, body.DOF],
        plan_body[i, body.NU],
        plan_body[i, body.KIND] == body.BY_ADDRESS,
    )
    T = multiply(load9(W, plan_body[i, body.PARENT], body.R), load9(C, i, body.PLACE_R))
    pos = sub(load3(W, i, body.P), origin)
    size = 24 + 6 * n
    w00, wJ, vJ = _NIL, _NIL, _NIL
    if table:
        w00 = load3(W, i, body.HINGE_BIAS_W)
        wJ, vJ = load3(W, i, body.DRIFT_W), load3(W, i, body.DRIFT_V)
    aw, av = _NIL, _NIL  # hinge acceleration at the origin of the body
    for d in range(first, first + n):
        x, y = u[dof[d, speed.PUBLIC]], ud[dof[d, speed.PUBLIC]]
        wJ, vJ = (
            add(wJ, scale(x, load3(S, d, speed.PARTIAL_W))),
            add(vJ, scale(x, load3(S, d, speed.PARTIAL_V))),
        )
        aw, av = (
            add(aw, scale(y, load3(S, d, speed.PARTIAL_W))),
            add(av, scale(y, load3(S, d, speed.PARTIAL_V))),
        )
    if table:
        aw, av = add(aw, w00), add(av, load3(W, i, body.HINGE_BIAS_V))
    spatial_v, spatial_a = add(vJ, cross(pos, wJ)), add(add(av, cross(pos, aw)), cross(vJ, wJ))
    for d in range(first, first + n):
        wj, vj = load3(S, d, speed.PARTIAL_W), load3(S, d, speed.PARTIAL_V)
        sw, sv = column(Z, layout.SPEED_S, d), column(Z, layout.SPEED_S + 3, d)
        own = floats(D + 8 * layout.N_OWN * dof[d, speed.COLUMN], layout.N_OWN)
        dw, dv = _NIL, _NIL  # by coordinate d: hinge velocity, then acceleration, at the origin
        daw, dav = _NIL, _NIL
        bw, bv = _NIL, _NIL  # derivatives of the bias by speed d
        if table:
            ow = 12 + 3 * n
            dv, dw = _of(own, size - 12), _of(own, size - 9)
            dav, daw = _of(own, size - 6), _of(own, size - 3)
            for e in range(first, first + n):
                c, x, y = dof[e, speed.COLUMN], u[dof[e, speed.PUBLIC]], ud[dof[e, speed.PUBLIC]]
                pv, pw = _of(own, 12 + 3 * c), _of(own, ow + 3 * c)
                dv, dw = add(dv, scale(x, pv)), add(dw, scale(x, pw))
                dav, daw = add(dav, scale(y, pv)), add(daw, scale(y, pw))
            dv, dw, dav, daw = rotate(T, dv), rotate(T, dw), rotate(T, dav), rotate(T, daw)
            bv, bw = rotate(T, _of(own, size)), rotate(T, _of(own, size + 3))
        # move them to the reference point; the origin is `pos` away from it and moves with vj
        ev = add(add(dv, cross(pos, dw)), cross(vj, wJ))
        ea = add(add(dav, cross(pos, daw)), add(cross(vj, aw), add(cross(dv, wJ), cross(vJ, dw))))
        xw, xv = motion_cross(sw, sv, wJ, spatial_v)
        ew, ev = sub(dw, xw), sub(ev, xv)
        xw, xv = motion_cross(sw, sv, aw, spatial_a)
        zw, zv = sub(daw, xw), sub(ea, xv)
        xw, xv = motion_cross(add(wp, w), add(vp, v), ew, ev)
        zw, zv = add(zw, xw), add(zv, xv)
        bv = add(add(bv, cross(pos, bw)), add(cross(vj, wJ), cross(vJ, wj)))
        for k in range(3):
            Z[layout.SPEED_Y + k, d] += ew[k]
            Z[layout.SPEED_Y + 3 + k, d] += ev[k]
            Z[layout.SPEED_Z + k, d] += zw[k]
            Z[layout.SPEED_Z + 3 + k, d] += zv[k]
            Z[layout.SPEED_E + k, d] += bw[k]
            Z[layout.SPEED_E + 3 + k, d] += bv[k]


@kernel
def _own_loads(plan, W, S, Z, i, origin, D, N, F, J):
    """Add E_jk . F of the speeds of hinge i to d tau_k / d q_j (at the address J, rows of 2 nu)."""
    plan_body, dof, C = bodies(plan), dofs(plan), constants(plan)
    first, n, table = (
        plan_body[i, body.DOF],
        plan_body[i, body.NU],
        plan_body[i, body.KIND] == body.BY_ADDRESS,
    )
    T = multiply(load9(W, plan_body[i, body.PARENT], body.R), load9(C, i, body.PLACE_R))
    pos = sub(load3(W, i, body.P), origin)
    at_origin = sub(N, cross(pos, F))
    for j in range(first, first + n):
        own = floats(D + 8 * layout.N_OWN * dof[j, speed.COLUMN], layout.N_OWN)
        vj = load3(S, j, speed.PARTIAL_V)
        sw, sv = column(Z, layout.SPEED_S, j), column(Z, layout.SPEED_S + 3, j)
        for k in range(first, first + n):
            x = dot(cross(vj, load3(S, k, speed.PARTIAL_W)), F)
            if table:
                c = dof[k, speed.COLUMN]
                x += dot(rotate(T, _of(own, 12 + 3 * n + 3 * c)), at_origin)
                x += dot(rotate(T, _of(own, 12 + 3 * c)), F)
            a, b = motion_cross(sw, sv, column(Z, layout.SPEED_S, k), column(Z, layout.SPEED_S + 3, k))
            floats(J + 8 * (2 * dof.shape[0] * k + j), 1)[0] += x - dot(a, N) - dot(b, F)


@kernel
def _six(out, z, stride, a, b):
    """Set out to (a, b) . components of a run of speeds.

    z is the address of the first component; the next one is `stride` bytes away.
    """
    n = out.shape[0]
    z0, z1, z2 = floats(z, n), floats(z + stride, n), floats(z + 2 * stride, n)
    z3, z4, z5 = floats(z + 3 * stride, n), floats(z + 4 * stride, n), floats(z + 5 * stride, n)
    a0, a1, a2, b0, b1, b2 = a[0], a[1], a[2], b[0], b[1], b[2]
    for j in range(n):
        out[j] = a0 * z0[j] + a1 * z1[j] + a2 * z2[j] + b0 * z3[j] + b1 * z4[j] + b2 * z5[j]


@kernel
def _three_more(out, z, stride, a):
    n = out.shape[0]
    z0, z1, z2 = floats(z, n), floats(z + stride, n), floats(z + 2 * stride, n)
    a0, a1, a2 = a[0], a[1], a[2]
    for j in range(n):
        out[j] += a0 * z0[j] + a1 * z1[j] + a2 * z2[j]


@kernel
def _outwards(plan, W, S, Y, Z, t, ud, table, workspace):
    """Compute V, A of all bodies and s, y, z, e of all speeds. Returns a status code (kernel.status)."""
    plan_body, dof, u, g = bodies(plan), dofs(plan), own_u(plan), gravity(plan)
    store(Y, 0, layout.VELOCITY, _NIL)
    store(Y, 0, layout.VELOCITY + 3, _NIL)
    store(Y, 0, layout.ACCELERATION, _NIL)
    store(Y, 0, layout.ACCELERATION + 3, (-g[0], -g[1], -g[2]))
    origin, loaded = _NIL, n_efforts(plan) > 0
    for i in range(1, plan_body.shape[0]):
        p, kind, first, n = (
            plan_body[i, body.PARENT],
            plan_body[i, body.KIND],
            plan_body[i, body.DOF],
            plan_body[i, body.NU],
        )
        if p == 0:
            origin = load3(W, i, body.P)
        pos = sub(load3(W, i, body.P), origin)
        wp, vp = load3(Y, p, layout.VELOCITY), load3(Y, p, layout.VELOCITY + 3)
        dwp, ap = load3(Y, p, layout.ACCELERATION), load3(Y, p, layout.ACCELERATION + 3)
        rw, rv, rate = _NIL, _NIL, _NIL  # hinge velocity; its translation at the body's origin
        dw, a = dwp, ap
        if kind == body.BY_ADDRESS:
            rw, rate = load3(W, i, body.DRIFT_W), load3(W, i, body.DRIFT_V)
            rv = add(rate, cross(pos, rw))
            bias = load3(W, i, body.HINGE_BIAS_W)
            dw, a = add(dw, bias), add(a, add(load3(W, i, body.HINGE_BIAS_V), cross(pos, bias)))
        for d in range(first, first + n):
            x, y = u[dof[d, speed.PUBLIC]], ud[dof[d, speed.PUBLIC]]
            sw, sv = load3(S, d, speed.PARTIAL_W), load3(S, d, speed.PARTIAL_V)
            rate = add(rate, scale(x, sv))
            sv = add(sv, cross(pos, sw))
            rw, rv = add(rw, scale(x, sw)), add(rv, scale(x, sv))
            dw, a = add(dw, scale(y, sw)), add(a, scale(y, sv))
            yw, yv = motion_cross(wp, vp, sw, sv)
            zw, zv = motion_cross(dwp, ap, sw, sv)
            xw, xv = motion_cross(wp, vp, yw, yv)
            put_column(Z, layout.SPEED_S, d, sw, sv)
            put_column(Z, layout.SPEED_Y, d, yw, yv)
            put_column(Z, layout.SPEED_Z, d, add(zw, xw), add(zv, xv))
        w, v = add(wp, rw), add(vp, rv)
        xw, xv = motion_cross(wp, vp, rw, rv)
        store(Y, i, layout.VELOCITY, w)
        store(Y, i, layout.VELOCITY + 3, v)
        store(Y, i, layout.ACCELERATION, add(dw, xw))
        store(Y, i, layout.ACCELERATION + 3, add(add(a, xv), cross(rate, rw)))
        for d in range(first, first + n):
            xw, xv = motion_cross(w, v, column(Z, layout.SPEED_S, d), column(Z, layout.SPEED_S + 3, d))
            put_column(
                Z,
                layout.SPEED_E,
                d,
                add(xw, column(Z, layout.SPEED_Y, d)),
                add(xv, column(Z, layout.SPEED_Y + 3, d)),
            )  # y is still V_p x s alone
        if kind == body.BALL or kind == body.FREE or kind == body.BY_ADDRESS:
            if kind == body.BY_ADDRESS and not record_partials(
                plan, i, t, table + 8 * 6 * layout.N_OWN * i, layout.N_OWN, workspace
            ):
                return HINGE_FAILED + 16 * i
            _own_derivatives(plan, W, S, Z, i, ud, origin, table + 8 * 6 * layout.N_OWN * i, wp, vp, w, v)
        _own_body(plan, W, Y, i, origin)
        Y[i, layout.SPEEDS] = n
        if loaded:  # applied loads, as if they turned with the body
            force = load3(W, i, body.APPLIED_F)
            moment = add(load3(W, i, body.APPLIED_N), cross(pos, force))
            for k in range(3):
                Y[i, layout.MOMENT + k] -= moment[k]
                Y[i, layout.FORCE + k] -= force[k]
    return OK


@kernel
def _inwards(plan, W, S, Y, Z, z, table, J, A):
    """Compute d tau / d (q, u) of all pairs of related speeds, with composite bodies from the tips; A too, if it is not 0."""
    plan_body = bodies(plan)
    run_start, runs = run_starts(plan), ancestor_runs(plan)
    rows, nq, nu = counts(plan)
    stride = 8 * nu
    for i in range(rows - 1, 0, -1):
        p, kind, first, n = (
            plan_body[i, body.PARENT],
            plan_body[i, body.KIND],
            plan_body[i, body.DOF],
            plan_body[i, body.NU],
        )
        if p > 0:
            for k in range(layout.MASS, layout.N_DERIVATIVE_BODY):
                Y[p, k] += Y[i, k]
        beyond = first + int(Y[i, layout.SPEEDS])
        m, h, I = Y[i, layout.MASS], load3(Y, i, layout.FIRST), load6(Y, i, layout.SECOND)
        p0, G = load3(Y, i, layout.MOMENTUM), load9(Y, i, layout.FLUX)
        N, F = load3(Y, i, layout.MOMENT), load3(Y, i, layout.FORCE)
        trace = G[0] + G[4] + G[8]
        for d in range(first, first + n):
            sw, sv, yw = (
                column(Z, layout.SPEED_S, d),
                column(Z, layout.SPEED_S + 3, d),
                column(Z, layout.SPEED_Y, d),
            )
            a, f = inertia_times(m, h, I, sw, sv)
            b = scale(2.0, add(sub(scale(trace, sw), unrotate(G, sw)), cross(p0, sv)))  # 2 B^T s
            kn, kf = inertia_times(m, h, I, column(Z, layout.SPEED_Z, d), column(Z, layout.SPEED_Z + 3, d))
            kn = add(kn, scale(2.0, sub(scale(trace, yw), rotate(G, yw))))
            kf = add(kf, scale(2.0, cross(yw, p0)))
            kn, kf = add(kn, add(cross(sw, N), cross(sv, F))), add(kf, cross(sw, F))
            en, ef = inertia_times(m, h, I, column(Z, layout.SPEED_E, d), column(Z, layout.SPEED_E + 3, d))
            en = add(en, scale(2.0, sub(scale(trace, sw), rotate(G, sw))))
            ef = add(ef, scale(2.0, cross(sw, p0)))
            put_column(Z, layout.SPEED_LOAD_Q, d, kn, kf)
            put_column(Z, layout.SPEED_LOAD_U, d, en, ef)
            for r in range(run_start[d], run_start[d + 1]):
                start, stop = runs[r, 0], runs[r, 1]
                if A != 0:
                    _six(floats(A + 8 * (nu * d + start), stop - start), z + 8 * start, stride, a, f)
                if r == run_start[d + 1] - 1:
                    stop = first + n  # all speeds of the hinge itself
                by_q = floats(J + 8 * (2 * nu * d + start), stop - start)
                by_u = floats(J + 8 * (2 * nu * d + nu + start), stop - start)
                _six(by_q, z + stride * layout.SPEED_Z + 8 * start, stride, a, f)
                _three_more(by_q, z + stride * layout.SPEED_Y + 8 * start, stride, b)
                _six(by_u, z + stride * layout.SPEED_E + 8 * start, stride, a, f)
                _three_more(by_u, z + 8 * start, stride, b)
            start = first + n
            if beyond > start:
                by_q = floats(J + 8 * (2 * nu * d + start), beyond - start)
                by_u = floats(J + 8 * (2 * nu * d + nu + start), beyond - start)
                _six(by_q, z + stride * layout.SPEED_LOAD_Q + 8 * start, stride, sw, sv)
                _six(by_u, z + stride * layout.SPEED_LOAD_U + 8 * start, stride, sw, sv)
        if kind == body.BALL or kind == body.FREE or kind == body.BY_ADDRESS:
            # the reference point is the origin of the first body of the branch
            root = i
            while plan_body[root, body.PARENT] > 0:
                root = plan_body[root, body.PARENT]
            _own_loads(plan, W, S, Z, i, load3(W, root, body.P), table + 8 * 6 * layout.N_OWN * i, N, F, J)


@kernel
def speed_changes(plan, table):
    """Return the address of s, y, z, e and the loads of all speeds, which `tree_derivatives` leaves."""
    rows, nq, nu = counts(plan)
    return table[layout.WORKSPACE_OF_ALL] + 8 * rows * layout.N_DERIVATIVE_BODY


@kernel
def tree_derivatives(plan, W, S, t, ud, table, with_masses):
    """Write d tau / d (q, u) (nu, 2 nu) and, if wanted, the lower triangle of A to BY and MASSES of the table.

    Speeds are in regular order. tau belongs to the accelerations ud. For elements with states the rest of the
    table follows (effort_derivatives). Call `evaluate_motion` of the state in the work arrays before. Returns
    a status code (kernel.status).
    """
    rows, nq, nu = counts(plan)
    J, A, workspace = table[layout.BY], table[layout.MASSES], table[layout.WORKSPACE_OF_ALL]
    columns(plan, W, S)
    fill_parameter_duals(plan)
    loaded = n_efforts(plan) > 0
    if loaded:
        origin_velocities(plan, W, S, own_u(plan))
    Y = floats2(workspace, rows, layout.N_DERIVATIVE_BODY)
    z = speed_changes(plan, table)
    Z = floats2(z, layout.N_COMPONENTS, nu)
    more = z + 8 * layout.N_COMPONENTS * nu
    own = more + 8 * layout.HINGE_SCRATCH
    out, lower = floats(J, 2 * nu * nu), floats(A, nu * nu if with_masses else 0)
    for k in range(2 * nu * nu):
        out[k] = 0.0
    for k in range(lower.shape[0]):
        lower[k] = 0.0
    status = _outwards(plan, W, S, Y, Z, t, ud, own, more)
    if status != OK:
        return status
    _inwards(plan, W, S, Y, Z, z, own, J, A if with_masses else 0)
    table_of_rotors = rotors(plan)
    for k in range(table_of_rotors.shape[0] if with_masses else 0):
        d = table_of_rotors[k, speed.ROTOR_SPEED]
        lower[nu * d + d] += constants(plan)[table_of_rotors[k, speed.ROTOR_BODY], body.ROTOR]
    if not loaded:
        return OK
    G = own + 8 * 6 * layout.N_OWN * rows
    return effort_derivatives(
        plan,
        W,
        Y,
        Z,
        t,
        table[layout.ROUGH],
        J,
        table[layout.TAU_X],
        table[layout.RATES],
        table[layout.RATES_X],
        G,
    )
