# mypy: ignore-errors
"""Derivatives of external loads by the motion of their ends, and what they add to those of a tree.

Central differences of sixth order of the load as it is called, by displacement and turn of the end and by its velocity
and angular velocity; the step starts at 2^-7 and is cut to a quarter until the error is below 1e-12 of the load.
"""

from treemech.kinematics.kernel import call_element, floats, floats2, kernel, load3, load9
from treemech.kinematics.plan import (
    DOF,
    LOAD_ADDRESS,
    LOAD_BODY,
    LOAD_PARAMETER,
    NU,
    OMEGA,
    PARENT,
    VELOCITY,
    P,
    R,
)
from treemech.kinematics.status import LOAD_FAILED, OK
from treemech.kinematics.vector import add, cross, euler_rotation, multiply, rotate, sub
from treemech.kinematics.views import (
    bodies,
    body_work,
    counts,
    end_motion,
    load_points,
    load_table,
    parameters,
)

from .derivative_plan import SPEED_S, SPEED_Y
from .derivative_plan import VELOCITY as SPATIAL
from .spatial import column, motion_cross

_FIRST_STEP = 2.0**-7
_LEVELS = 4
_ENOUGH = 1e-12
_GAIN = 4.0**6


@kernel
def _evaluate(plan, k, t, x, B, v, w, direction, h):
    """The load k in end_motion[18:24] with its end moved by h along one of 12 directions; whether it worked."""
    m, loads = end_motion(plan), load_table(plan)
    d = (
        h if direction % 3 == 0 else 0.0,
        h if direction % 3 == 1 else 0.0,
        h if direction % 3 == 2 else 0.0,
    )
    if direction // 3 == 0:
        x = add(x, d)
    elif direction // 3 == 1:
        B = multiply(euler_rotation(1.0, 0.5 * d[0], 0.5 * d[1], 0.5 * d[2]), B)
    elif direction // 3 == 2:
        v = add(v, d)
    else:
        w = add(w, d)
    for j in range(3):
        m[j] = x[j]
        m[12 + j] = v[j]
        m[15 + j] = w[j]
    for j in range(9):
        m[3 + j] = B[j]
    for j in range(18, 24):
        m[j] = 0.0
    status = call_element(
        loads[k, LOAD_ADDRESS], m, 0, m, 12, t, parameters(plan), loads[k, LOAD_PARAMETER], m, 18
    )
    return status == 1


@kernel
def _difference(plan, k, t, x, B, v, w, direction, h, out):
    m = end_motion(plan)
    for j in range(6):
        out[j] = 0.0
    for side in range(6):
        step = 1.0 + side // 2
        weight = (1.5 if side < 2 else -0.6 if side < 4 else 0.1) / (2.0 * step * h)
        if side % 2 == 1:
            step, weight = -step, -weight
        if not _evaluate(plan, k, t, x, B, v, w, direction, step * h):
            return False
        for j in range(6):
            out[j] += weight * m[18 + j]
    return True


@kernel
def load_end(plan, k):
    """(body, base, point, its velocity, angular velocity) of the end of load k, world components."""
    W, points, i = body_work(plan), load_points(plan), load_table(plan)[k, LOAD_BODY]
    Ri, w = load9(W, i, R), load3(W, i, OMEGA)
    arm = rotate(Ri, load3(points, k, 9))
    x, v = add(load3(W, i, P), arm), add(load3(W, i, VELOCITY), cross(w, arm))
    return i, multiply(Ri, load9(points, k, 0)), x, v, w


@kernel
def effort_partials(plan, k, t, G):
    """Force and moment of load k, then (12, 6) their derivatives by displacement, turn, velocity, angular velocity, at the
    address G. Whether the load worked."""
    i, B, x, v, w = load_end(plan, k)
    m, effort, all_partials = end_motion(plan), floats(G, 6), floats(G + 48, 72)
    coarse, fine = floats(G + 624, 6), floats(G + 672, 6)
    worked = _evaluate(plan, k, t, x, B, v, w, 0, 0.0)
    for j in range(6):
        effort[j] = m[18 + j]
    for direction in range(12):
        h = _FIRST_STEP
        worked = worked and _difference(plan, k, t, x, B, v, w, direction, h, coarse)
        for level in range(_LEVELS):
            worked = worked and _difference(plan, k, t, x, B, v, w, direction, 0.25 * h, fine)
            gap, scale = 0.0, 0.0
            for j in range(6):
                gap = max(gap, abs(fine[j] - coarse[j]))
                scale = max(scale, abs(fine[j]), abs(effort[j]))
            if gap <= _ENOUGH * scale:
                break
            for j in range(6):
                coarse[j] = fine[j]
            h *= 0.25
            if gap <= _ENOUGH * _GAIN * scale:
                break
        for j in range(6):
            all_partials[6 * direction + j] = coarse[j]
    return worked


@kernel
def load_derivatives(plan, W, Y, Z, t, J, G, room):
    """External loads: -d(load on the speeds) / d (q, u), less what turning with their bodies makes of it; OK, or a status."""
    body, table = bodies(plan), load_table(plan)
    rows, nq, nu = counts(plan)
    effort, part = floats(G, 6), floats2(G + 48, 12, 6)
    jac, by_q, by_u = floats2(room, nu, 6), floats2(room + 48 * nu, nu, 6), floats2(room + 96 * nu, nu, 6)
    for l in range(table.shape[0]):
        if not effort_partials(plan, l, t, G):
            return LOAD_FAILED + 16 * l
        i, base, x, velocity, omega = load_end(plan, l)
        root = i
        while root > 0 and body[root, PARENT] > 0:
            root = body[root, PARENT]
        arm = sub(x, load3(W, root, P))
        w, v = load3(Y, i, SPATIAL), load3(Y, i, SPATIAL + 3)
        force, moment = (effort[0], effort[1], effort[2]), (effort[3], effort[4], effort[5])
        b = i
        while b > 0:
            for d in range(body[b, DOF], body[b, DOF] + body[b, NU]):
                sw, sv = column(Z, SPEED_S, d), column(Z, SPEED_S + 3, d)
                dx = add(sv, cross(sw, arm))
                dw, dv = motion_cross(sw, sv, w, v)
                dw, dv = add(dw, column(Z, SPEED_Y, d)), add(dv, column(Z, SPEED_Y + 3, d))
                dv = add(dv, add(cross(dw, arm), cross(w, dx)))
                turned_f, turned_m = cross(sw, force), cross(sw, moment)
                for k in range(3):
                    jac[d, k] = dx[k]
                    jac[d, 3 + k] = sw[k]
                for k in range(6):
                    q_part, u_part = 0.0, 0.0
                    for c in range(3):
                        q_part += part[c, k] * dx[c] + part[3 + c, k] * sw[c]
                        q_part += part[6 + c, k] * dv[c] + part[9 + c, k] * dw[c]
                        u_part += part[6 + c, k] * dx[c] + part[9 + c, k] * sw[c]
                    # as part of F the load was turned with its body
                    by_q[d, k] = q_part - (turned_f[k] if k < 3 else turned_m[k - 3])
                    by_u[d, k] = u_part
            b = body[b, PARENT]
        b = i
        while b > 0:
            for d in range(body[b, DOF], body[b, DOF] + body[b, NU]):
                row = floats(J + 16 * nu * d, 2 * nu)
                c = i
                while c > 0:
                    for j in range(body[c, DOF], body[c, DOF] + body[c, NU]):
                        s, r = 0.0, 0.0
                        for k in range(6):
                            s += jac[d, k] * by_q[j, k]
                            r += jac[d, k] * by_u[j, k]
                        row[j] -= s
                        row[nu + j] -= r
                    c = body[c, PARENT]
            b = body[b, PARENT]
    return OK
