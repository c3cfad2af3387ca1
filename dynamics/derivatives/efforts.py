# mypy: ignore-errors
"""Derivatives of the loads of elements on the speeds and of the rates of their states by q, u and states.

Every load of an element depends on the motion of all its ends, and on its coordinates, states and inputs. The
motion of an end follows from s and y of the speeds between it and the ground (dynamics.derivatives.tree).
"""

from treemech.kinematics.kernel.language import floats, floats2, ints, kernel, load3
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.kernel.vector import add, cross, sub
from treemech.kinematics.plan.columns import body, effort, speed
from treemech.kinematics.plan.views import (
    acted_table,
    bodies,
    counts,
    dofs,
    effort_records,
    effort_table,
    end_table,
    n_states,
    source_table,
)

from ..equations.spatial import column, motion_cross
from . import layout
from .effort_partials import duals, effort_partials, effort_sizes


@kernel
def _speed(dof, public):
    """Return the regular number of a speed."""
    d = 0
    while dof[d, speed.PUBLIC] != public:
        d += 1
    return d


@kernel
def _speed_of_coordinate(plan_body, dof, at):
    """Return the regular number of the speed that is the rate of coordinate `at` of q."""
    i = 1
    while at < plan_body[i, body.Q] or at >= plan_body[i, body.Q] + plan_body[i, body.NQ]:
        i += 1
    k, euler = at - plan_body[i, body.Q], plan_body[i, body.EULER]
    return _speed(dof, plan_body[i, body.U] + (k - 1 if euler >= 0 and k > euler else k))


@kernel
def _take(slot, speeds, count, d, jac, by_q, by_u):
    """Give speed d a row among the speeds that the element depends on. Returns (row, their number)."""
    if slot[d] < 0:
        slot[d], speeds[count] = count, d
        for k in range(jac.shape[1]):
            jac[count, k] = 0.0
        for k in range(by_q.shape[0]):
            by_q[k, count] = 0.0
            by_u[k, count] = 0.0
        count += 1
    return slot[d], count


@kernel
def _row(m, at):
    return (m[at], m[at + 1], m[at + 2])


@kernel
def effort_derivatives(plan, W, Y, Z, t, rough, J, by_x, rates, rates_x, G):
    """Add -d(load on the speeds) / d(q, u) to J, without the part of loads that turn with their bodies.

    Writes -d(load)/dx to by_x (nu, nx), dx'/d(q, u) to rates (nx, 2 nu) and dx'/dx to rates_x (nx, nx), all
    addresses. G is workspace. Returns a status code (kernel.status).
    """
    plan_body, dof, m = bodies(plan), dofs(plan), effort_records(plan)
    table, ends, acted, sources = effort_table(plan), end_table(plan), acted_table(plan), source_table(plan)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    X, D, DX = floats2(by_x, nu, nx), floats2(rates, nx, 2 * nu), floats2(rates_x, nx, nx)
    for x in range(nx):
        for d in range(nu):
            X[d, x] = 0.0
            D[x, d] = 0.0
            D[x, nu + d] = 0.0
        for y in range(nx):
            DX[x, y] = 0.0
    for e in range(table.shape[0]):
        status = effort_partials(plan, e, t, rough, G)
        if status != OK:
            return status
        n, nc, ns, loads, outputs, directions = effort_sizes(plan, e)
        base, part = floats(G, outputs), floats2(G + 8 * outputs, directions, outputs)
        more = G + 8 * (outputs * (directions + 4) + directions + 6 * n + duals(plan, e))
        slot, speeds, used = ints(more, nu), ints(more + 8 * nu, nu), ints(more + 16 * nu, loads)
        more += 8 * (2 * nu + loads)
        jac, by_q = floats2(more, nu, loads), floats2(more + 8 * nu * loads, outputs, nu)
        more += 8 * nu * (loads + outputs)
        by_u, sums = floats2(more, outputs, nu), floats2(more + 8 * nu * outputs, 2, nu)
        count = 0
        for d in range(nu):
            slot[d] = -1
        for k in range(n):
            i = max(ends[table[e, effort.FIRST_END] + k, 0], 0)  # internal points do not move with the speeds
            root = i
            while root > 0 and plan_body[root, body.PARENT] > 0:
                root = plan_body[root, body.PARENT]
            arm = sub(_row(m, table[e, effort.MOTION_RECORD] + 3 * k), load3(W, root, body.P))
            w, v = load3(Y, i, layout.VELOCITY), load3(Y, i, layout.VELOCITY + 3)
            force, moment = _row(base, 3 * k), _row(base, 3 * n + 3 * k)
            p = 12 * k
            while i > 0:
                for d in range(plan_body[i, body.DOF], plan_body[i, body.DOF] + plan_body[i, body.NU]):
                    s, count = _take(slot, speeds, count, d, jac, by_q, by_u)
                    sw, sv = column(Z, layout.SPEED_S, d), column(Z, layout.SPEED_S + 3, d)
                    dx = add(sv, cross(sw, arm))
                    dw, dv = motion_cross(sw, sv, w, v)
                    dw, dv = add(dw, column(Z, layout.SPEED_Y, d)), add(dv, column(Z, layout.SPEED_Y + 3, d))
                    dv = add(dv, add(cross(dw, arm), cross(w, dx)))
                    for o in range(outputs):
                        q_part, u_part = 0.0, 0.0
                        for c in range(3):
                            q_part += part[p + c, o] * dx[c] + part[p + 3 + c, o] * sw[c]
                            q_part += part[p + 6 + c, o] * dv[c] + part[p + 9 + c, o] * dw[c]
                            u_part += part[p + 6 + c, o] * dx[c] + part[p + 9 + c, o] * sw[c]
                        by_q[o, s] += q_part
                        by_u[o, s] += u_part
                    # F contains the load as one that turns with its body
                    turned_f, turned_m = cross(sw, force), cross(sw, moment)
                    for c in range(3):
                        jac[s, 3 * k + c] = dx[c]
                        jac[s, 3 * n + 3 * k + c] = sw[c]
                        by_q[3 * k + c, s] -= turned_f[c]
                        by_q[3 * n + 3 * k + c, s] -= turned_m[c]
                i = plan_body[i, body.PARENT]
        for k in range(nc):
            d = _speed(dof, acted[table[e, effort.FIRST_ACTED] + k, effort.ACTED_U])
            s, count = _take(slot, speeds, count, d, jac, by_q, by_u)
            jac[s, 6 * n + k] = 1.0
            for o in range(outputs):
                by_q[o, s] += part[12 * n + k, o]
                by_u[o, s] += part[12 * n + nc + k, o]
        for k in range(table[e, effort.N_INPUTS]):
            source = table[e, effort.FIRST_INPUT] + k
            kind, index, p = (
                sources[source, effort.SOURCE_KIND],
                sources[source, effort.SOURCE_INDEX],
                12 * n + 2 * nc + ns + k,
            )
            if kind == effort.FROM_Q:
                s, count = _take(
                    slot, speeds, count, _speed_of_coordinate(plan_body, dof, index), jac, by_q, by_u
                )
                for o in range(outputs):
                    by_q[o, s] += part[p, o]
            elif kind == effort.FROM_U:
                s, count = _take(slot, speeds, count, _speed(dof, index), jac, by_q, by_u)
                for o in range(outputs):
                    by_u[o, s] += part[p, o]
        first = table[e, effort.FIRST_STATE]
        for l in range(loads):
            used[l] = 0
            for b in range(count):
                if by_q[l, b] != 0.0 or by_u[l, b] != 0.0:
                    used[l] = 1
        for a in range(count):
            for b in range(count):
                sums[0, b] = 0.0
                sums[1, b] = 0.0
            for l in range(loads):
                share = jac[a, l]
                if used[l] == 1 and share != 0.0:
                    for b in range(count):
                        sums[0, b] += share * by_q[l, b]
                        sums[1, b] += share * by_u[l, b]
            row = floats(J + 16 * nu * speeds[a], 2 * nu)
            for b in range(count):
                row[speeds[b]] -= sums[0, b]
                row[nu + speeds[b]] -= sums[1, b]
            for x in range(ns):
                by = 0.0
                for l in range(loads):
                    by += jac[a, l] * part[12 * n + 2 * nc + x, l]
                X[speeds[a], first + x] = -by
                D[first + x, speeds[a]] = by_q[loads + x, a]
                D[first + x, nu + speeds[a]] = by_u[loads + x, a]
        for x in range(ns):
            for y in range(ns):
                DX[first + y, first + x] = part[12 * n + 2 * nc + x, loads + y]
    return OK
