# mypy: ignore-errors
"""Jacobian of the right-hand side in the integrator's coordinates y = (q, speeds, states).

It follows from the derivatives along the speeds (dynamics.derivatives.tree, dynamics.derivatives.loops). A
change of Euler parameters turns by theta = 2 (de e*) / |e|^2. Their angular speeds v are in the base of the
outer body; in the base of end a they are w = C v, so::

    dw = C dv + theta x w        d(C^T w') = C^T (dw' - theta x w')        e' = (0, w) e / 2
"""

from treemech.kinematics.kernel.language import floats, floats2, kernel
from treemech.kinematics.kernel.vector import cross, euler_rotation, rotate, sub, unrotate
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import (
    bodies,
    counts,
    dofs,
    n_audit,
    n_states,
    own_q,
    own_u,
    prescriptions,
)

from . import layout


@kernel
def _unit(m, k):
    return 1.0 if m == k else 0.0


@kernel
def _turn(e, m):
    """Return theta of a unit change of Euler parameter m."""
    f = 2.0 / (e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3])
    r0, r1, r2, r3 = f * _unit(m, 0), f * _unit(m, 1), f * _unit(m, 2), f * _unit(m, 3)
    return (
        r1 * e[0] - r0 * e[1] + r3 * e[2] - r2 * e[3],
        r2 * e[0] - r0 * e[2] + r1 * e[3] - r3 * e[1],
        r3 * e[0] - r0 * e[3] + r2 * e[1] - r1 * e[2],
    )


@kernel
def _add_rates(J, a, column, e, w):
    """Add e' = (0, w) e / 2 to a column."""
    J[column, a] += 0.5 * (-w[0] * e[1] - w[1] * e[2] - w[2] * e[3])
    J[column, a + 1] += 0.5 * (w[0] * e[0] + w[1] * e[3] - w[2] * e[2])
    J[column, a + 2] += 0.5 * (w[1] * e[0] + w[2] * e[1] - w[0] * e[3])
    J[column, a + 3] += 0.5 * (w[2] * e[0] + w[0] * e[2] - w[1] * e[1])


@kernel
def _along(J, out, rates, dof, nq, column, d, by_q, by_u):
    """Add the derivatives of ud and x' along (by_q of coordinate, by_u of speed) d to a column."""
    nu = dof.shape[0]
    for r in range(nu):
        J[column, nq + dof[r, speed.PUBLIC]] += by_q * out[r, d] + by_u * out[r, nu + d]
    for r in range(rates.shape[0]):
        J[column, nq + nu + r] += by_q * rates[r, d] + by_u * rates[r, nu + d]


@kernel
def _regular(plan_body, dof, i, k):
    """Return the regular number of the speed k of hinge i."""
    d = plan_body[i, body.DOF]
    while dof[d, speed.COLUMN] != k:
        d += 1
    return d


@kernel
def _columns_of_hinge(plan, i, out, rates, J):
    """Write the columns of the coordinates and speeds of hinge i; accelerations are in the base of end a."""
    plan_body, dof, q, u = bodies(plan), dofs(plan), own_q(plan), own_u(plan)
    rows, nq, nu = counts(plan)
    iq, iu, euler = plan_body[i, body.Q], plan_body[i, body.U], plan_body[i, body.EULER]
    for k in range(plan_body[i, body.NU]):
        if euler < 0 or k < euler or k >= euler + 3:
            at = iq + (k if euler < 0 or k < euler else k + 1)
            d = _regular(plan_body, dof, i, k)
            _along(J, out, rates, dof, nq, at, d, 1.0, 0.0)
            _along(J, out, rates, dof, nq, nq + iu + k, d, 0.0, 1.0)
            J[nq + iu + k, at] = 1.0
    if euler < 0:
        return
    a, first, turned = iq + euler, iu + euler, plan_body[i, body.REVERSED] == 0
    e, w = (q[a], q[a + 1], q[a + 2], q[a + 3]), (u[first], u[first + 1], u[first + 2])
    C = euler_rotation(e[0], e[1], e[2], e[3])
    for m in range(4):
        theta = _turn(e, m)
        dw = (0.0, 0.0, 0.0)
        if turned:
            dw = cross(theta, w)
        _add_rates(J, a, a + m, (_unit(m, 0), _unit(m, 1), _unit(m, 2), _unit(m, 3)), w)
        _add_rates(J, a, a + m, e, dw)
        for k in range(3):
            _along(J, out, rates, dof, nq, a + m, _regular(plan_body, dof, i, euler + k), theta[k], dw[k])
    for m in range(3):
        dw = (_unit(m, 0), _unit(m, 1), _unit(m, 2))
        if turned:
            dw = rotate(C, dw)
        _add_rates(J, a, nq + first + m, e, dw)
        for k in range(3):
            _along(J, out, rates, dof, nq, nq + first + m, _regular(plan_body, dof, i, euler + k), 0.0, dw[k])


@kernel
def state_jacobian(plan, table, J, more):
    """Write d(y')/dy to the address J, column by column, from the derivatives in the table.

    y is the state in the work arrays. Columns and rows of the memory of elements, of the audit and of `more`
    numbers behind (cut hinges) are zero.
    """
    plan_body, dof, q = bodies(plan), dofs(plan), own_q(plan)
    rows, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    n = nq + nu + nz + n_audit(plan) + more
    to, by, ud = floats2(J, n, n), floats2(table[layout.OUT], nu, 2 * nu), floats(table[layout.UD], nu)
    by_x, rates, rates_x = (
        floats2(table[layout.UD_X], nu, nx),
        floats2(table[layout.RATES], nx, 2 * nu),
        floats2(table[layout.RATES_X], nx, nx),
    )
    for c in range(n):
        for r in range(n):
            to[c, r] = 0.0
    for i in range(1, rows):
        _columns_of_hinge(plan, i, by, rates, to)
    for x in range(nx):
        for r in range(nu):
            to[nq + nu + x, nq + dof[r, speed.PUBLIC]] = by_x[r, x]
        for r in range(nx):
            to[nq + nu + x, nq + nu + r] = rates_x[r, x]
    for i in range(1, rows):
        if plan_body[i, body.EULER] >= 0 and plan_body[i, body.REVERSED] == 0:
            a, r = (
                plan_body[i, body.Q] + plan_body[i, body.EULER],
                nq + plan_body[i, body.U] + plan_body[i, body.EULER],
            )
            e = (q[a], q[a + 1], q[a + 2], q[a + 3])
            C = euler_rotation(e[0], e[1], e[2], e[3])
            wd = (ud[r - nq], ud[r - nq + 1], ud[r - nq + 2])
            for c in range(n):
                x = (to[c, r], to[c, r + 1], to[c, r + 2])
                if c >= a and c < a + 4:
                    x = sub(x, cross(_turn(e, c - a), wd))
                x = unrotate(C, x)
                for k in range(3):
                    to[c, r + k] = x[k]
    prescribed = prescriptions(plan)
    for k in range(prescribed.shape[0]):
        a, b = prescribed[k, speed.PRESCRIBED_Q], nq + prescribed[k, speed.PRESCRIBED_U]
        for c in range(n):
            to[a, c] = 0.0
            to[b, c] = 0.0
            to[c, a] = 0.0
            to[c, b] = 0.0
