# mypy: ignore-errors
"""D'Alembert's virtual work on a tree (6.2): inverse dynamics and the mass matrix A."""

from treemech.kinematics.kernel.language import (
    accumulate,
    call_part,
    inlined,
    kernel,
    load3,
    load6,
    load9,
    number_size,
    numbers,
    store,
)
from treemech.kinematics.kernel.status import HINGE_FAILED, OK
from treemech.kinematics.kernel.vector import (
    add,
    cross,
    dot,
    rotate,
    rotate_symmetric,
    scale,
    sub,
    symmetric,
    unrotate,
)
from treemech.kinematics.plan.arrays import APPLIED_LOADS
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import (
    ancestor_runs,
    bodies,
    constants,
    dofs,
    gravity,
    n_efforts,
    own_effort,
    rotors,
    run_starts,
    soa_address,
    soa_work,
)
from treemech.kinematics.tree.sweep import positions, velocities


@kernel
def ground(plan, W):
    """Set the acceleration of the ground: gravity enters as an upward acceleration of it (6.2.9)."""
    g = gravity(plan)
    store(W, 0, body.ACC, (-g[0], -g[1], -g[2]))


@kernel
def inverse_dynamics(plan, W, S, ud, tau):
    """Compute tau = A ud - Q, the loads on the speeds that cause the accelerations ud (6.2.12).

    Call `evaluate_motion` before. MOMENT and FORCE of each body hold the load of its hinge on it afterwards,
    about the body's origin.
    """
    plan_body, C, dof = bodies(plan), constants(plan), dofs(plan)
    rows = plan_body.shape[0]
    loaded = n_efforts(plan) > 0
    ground(plan, W)
    for i in range(1, rows):
        p = plan_body[i, body.PARENT]
        dwp = load3(W, p, body.ALPHA)
        dw = add(dwp, load3(W, i, body.ZETA_W))
        a = add(add(load3(W, p, body.ACC), cross(dwp, load3(W, i, body.ARM))), load3(W, i, body.ZETA_V))
        Ri = load9(W, i, body.R)
        kind = plan_body[i, body.KIND]
        if kind == body.REVOLUTE:
            dw = add(dw, scale(C[i, body.SIGN] * ud[plan_body[i, body.U]], (Ri[2], Ri[5], Ri[8])))
        elif kind == body.PRISMATIC:
            a = add(a, scale(C[i, body.SIGN] * ud[plan_body[i, body.U]], (Ri[2], Ri[5], Ri[8])))
        else:
            d = plan_body[i, body.DOF]
            for k in range(plan_body[i, body.NU]):
                x = ud[dof[d + k, speed.PUBLIC]]
                dw = add(dw, scale(x, load3(S, d + k, speed.PARTIAL_W)))
                a = add(a, scale(x, load3(S, d + k, speed.PARTIAL_V)))
        store(W, i, body.ALPHA, dw)
        store(W, i, body.ACC, a)
        # inertia loads (6.2.5) about the origin
        w = load3(W, i, body.OMEGA)
        arm = rotate(Ri, load3(C, i, body.COM))
        J = load6(C, i, body.INERTIA)
        wb = unrotate(Ri, w)
        moment = rotate(Ri, add(symmetric(J, unrotate(Ri, dw)), cross(wb, symmetric(J, wb))))
        force = scale(C[i, body.MASS], add(a, add(cross(dw, arm), cross(w, cross(w, arm)))))
        moment = add(moment, cross(arm, force))
        if loaded:
            force = sub(force, load3(W, i, body.APPLIED_F))
            moment = sub(moment, load3(W, i, body.APPLIED_N))
        store(W, i, body.FORCE, force)
        store(W, i, body.MOMENT, moment)
    for i in range(rows - 1, 0, -1):
        p = plan_body[i, body.PARENT]
        moment = load3(W, i, body.MOMENT)
        force = load3(W, i, body.FORCE)
        kind = plan_body[i, body.KIND]
        if kind == body.REVOLUTE:
            tau[plan_body[i, body.U]] = C[i, body.SIGN] * dot(
                (W[i, body.R + 2], W[i, body.R + 5], W[i, body.R + 8]), moment
            )
        elif kind == body.PRISMATIC:
            tau[plan_body[i, body.U]] = C[i, body.SIGN] * dot(
                (W[i, body.R + 2], W[i, body.R + 5], W[i, body.R + 8]), force
            )
        else:
            d = plan_body[i, body.DOF]
            for k in range(plan_body[i, body.NU]):
                tau[dof[d + k, speed.PUBLIC]] = dot(load3(S, d + k, speed.PARTIAL_W), moment) + dot(
                    load3(S, d + k, speed.PARTIAL_V), force
                )
        if p > 0:
            accumulate(W, p, body.FORCE, force)
            accumulate(W, p, body.MOMENT, add(moment, cross(load3(W, i, body.ARM), force)))
    table = rotors(plan)
    for k in range(table.shape[0]):
        j = table[k, speed.ROTOR_U]
        tau[j] += C[table[k, speed.ROTOR_BODY], body.ROTOR] * ud[j]
    if loaded:
        effort = own_effort(plan)
        for k in range(effort.shape[0]):
            tau[k] -= effort[k]


@inlined
def evaluate_motion(plan, W, S, t, q, u):
    """Evaluate positions, velocities and applied loads of a state, after `signals` and `prescribe`.

    Returns a status code (kernel.status).
    """
    failed = positions(plan, W, S, t, q)
    if failed >= 0:
        return HINGE_FAILED + 16 * failed
    velocities(plan, W, S, u)
    if n_efforts(plan) > 0:
        return call_part(plan[APPLIED_LOADS], 0, t, plan)
    return OK


@kernel
def body_inertia(C, W, i):
    """Return the arm d of the centre of mass, m d, and the inertia about it and about the body's origin.

    All are in world components.
    """
    Ri = load9(W, i, body.R)
    m = C[i, body.MASS]
    d = rotate(Ri, load3(C, i, body.COM))
    J = rotate_symmetric(Ri, load6(C, i, body.INERTIA))
    h = scale(m, d)
    dd = dot(h, d)
    about = (
        J[0] + dd - h[0] * d[0], J[1] - h[0] * d[1], J[2] - h[0] * d[2],
        J[3] + dd - h[1] * d[1], J[4] - h[1] * d[2], J[5] + dd - h[2] * d[2],
    )  # fmt: skip
    return d, h, J, about


@kernel
def mass_matrix(plan, W, S, A, packed):
    """Write the lower triangle of A (6.2.12) to the address A, in the regular order of the speeds.

    Call `positions` and `columns` before.
    A is a dense matrix or, if `packed`, only the entries of related speeds, one row behind the other.

    Composite inertias are summed from the tips. An entry is A_dj = w_j . (n + (p_i - p_j) x f) + v_j . f with
    n, f the load of composite body i for a unit acceleration of speed d. This needs no walk to the ground,
    and the ancestors of a speed form long runs of consecutive numbers, so the inner loop vectorises. The
    caller sets a dense matrix to zero before: entries of unrelated speeds are not written.
    """
    plan_body, C, dof, Z = bodies(plan), constants(plan), dofs(plan), soa_work(plan)
    run_start, runs = run_starts(plan), ancestor_runs(plan)
    rows, nu = plan_body.shape[0], dof.shape[0]
    z, size = soa_address(plan), number_size(plan)
    before = 0  # packed entries of the speeds of all bodies before this one
    for d in range(nu):
        for k in range(run_start[d], run_start[d + 1]):
            before += runs[k, 1] - runs[k, 0]
        i = dof[d, speed.OWNER]
        for k in range(6):
            Z[k, d] = S[d, k]
        for k in range(3):
            Z[6 + k, d] = W[i, body.P + k]
    for i in range(1, rows):
        d, h, J, about = body_inertia(C, W, i)
        store(W, i, body.ART_A, about)
        store(W, i, body.BIAS_N, h)
        W[i, body.BIAS_F] = C[i, body.MASS]
    for i in range(rows - 1, 0, -1):
        J = load6(W, i, body.ART_A)
        h = load3(W, i, body.BIAS_N)
        m = W[i, body.BIAS_F]
        p = plan_body[i, body.PARENT]
        if p > 0:
            r = load3(W, i, body.ARM)
            mr = scale(m, r)
            b = add(h, mr)
            W[p, body.BIAS_F] += m
            accumulate(W, p, body.BIAS_N, b)
            s = dot(add(h, b), r)
            K = load6(W, p, body.ART_A)
            shifted = (
                K[0] + J[0] + s - h[0] * r[0] - r[0] * b[0], K[1] + J[1] - h[0] * r[1] - r[0] * b[1],
                K[2] + J[2] - h[0] * r[2] - r[0] * b[2], K[3] + J[3] + s - h[1] * r[1] - r[1] * b[1],
                K[4] + J[4] - h[1] * r[2] - r[1] * b[2], K[5] + J[5] + s - h[2] * r[2] - r[2] * b[2],
            )  # fmt: skip
            store(W, p, body.ART_A, shifted)
        position = load3(W, i, body.P)
        first = plan_body[i, body.DOF]
        for d in range(first + plan_body[i, body.NU] - 1, first - 1, -1):
            w, v = load3(S, d, speed.PARTIAL_W), load3(S, d, speed.PARTIAL_V)
            f = add(scale(m, v), cross(w, h))
            n = add(symmetric(J, w), cross(h, v))
            for k in range(run_start[d + 1] - 1, run_start[d] - 1, -1):
                start, count = runs[k, 0], runs[k, 1] - runs[k, 0]
                before -= count
                to = A + size * (before if packed else nu * d + start)
                _mass_row(plan, numbers(plan, to, count), z + size * start, size * nu, position, n, f)
    table = rotors(plan)
    for k in range(table.shape[0]):
        d = table[k, speed.ROTOR_SPEED]
        to = A + size * (table[k, speed.ROTOR_PACKED] if packed else nu * d + d)
        numbers(plan, to, 1)[0] += C[table[k, speed.ROTOR_BODY], body.ROTOR]


@inlined
def _rows(plan, z, stride, count):
    """Return three rows of numbers."""
    return numbers(plan, z, count), numbers(plan, z + stride, count), numbers(plan, z + 2 * stride, count)


@kernel
def _mass_row(plan, out, z, stride, position, n, f):
    """Write one run of a row. z is the address of w, v, p of its speeds, each component an array of its own.

    Arrays made from addresses count from zero. Negative indices are not tested, so the loop vectorises.
    """
    count = out.shape[0]
    n0, n1, n2, f0, f1, f2 = n[0], n[1], n[2], f[0], f[1], f[2]
    x, y, w = position[0], position[1], position[2]
    wx, wy, wz = _rows(plan, z, stride, count)
    vx, vy, vz = _rows(plan, z + 3 * stride, stride, count)
    px, py, pz = _rows(plan, z + 6 * stride, stride, count)
    for j in range(count):
        rx, ry, rz = x - px[j], y - py[j], w - pz[j]
        out[j] = (
            wx[j] * (n0 + ry * f2 - rz * f1) + wy[j] * (n1 + rz * f0 - rx * f2)
            + wz[j] * (n2 + rx * f1 - ry * f0) + vx[j] * f0 + vy[j] * f1 + vz[j] * f2
        )  # fmt: skip
