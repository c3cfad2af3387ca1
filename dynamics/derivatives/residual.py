# mypy: ignore-errors
"""Derivatives of A ud - Q - P^T lambda and of the rates P u + P0 for generalized-alpha.

Rates and multipliers are given. The derivatives follow from the derivatives along the speeds in the base of
end a (dynamics.derivatives.tree, dynamics.derivatives.rows). The angular speeds v of Euler parameters, their
rates and the loads on them are in the base of the outer body, w = C v; a coordinate moves along them, theta =
C dv, so that at fixed v and v'::

    dw = theta x w        dw' = theta x w'        d(C^T r) = C^T (dr - theta x r)
"""

from treemech.kinematics.kernel.language import floats, floats2, ints, kernel
from treemech.kinematics.kernel.vector import cross, euler_rotation, sub, unrotate
from treemech.kinematics.plan.chord_views import partials
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import bodies, counts, dofs, n_states, own_q, own_u, prescriptions

from ..equations.loop_views import entry_rows, entry_speeds, kept_rows, masks, perms
from . import layout


@kernel
def _along_speeds(plan, loops, table, G):
    """Collect all derivatives in the base of end a, in the public order."""
    dof, kept, masked = dofs(plan), kept_rows(loops), masks(loops)
    n_bodies, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    ns, m = nu + nx, kept.shape[0]
    rows = ints(table[layout.ROWS], layout.N_ROW_TABLE)
    by, loads_q, velocity_q = (
        floats2(table[layout.BY], nu, 2 * nu),
        floats2(rows[layout.LOADS_Q], nu, nu),
        floats2(rows[layout.VELOCITY_Q], m, nu),
    )
    by_x, rates, rates_x = (
        floats2(table[layout.TAU_X], nu, nx),
        floats2(table[layout.RATES], nx, 2 * nu),
        floats2(table[layout.RATES_X], nx, nx),
    )
    for j in range(G.shape[0]):
        for i in range(G.shape[1]):
            G[j, i] = 0.0
    for d in range(nu):
        j = dof[d, speed.PUBLIC]
        for r in range(nu):
            i = dof[r, speed.PUBLIC]
            G[j, i] = by[r, d] - loads_q[r, d]
            G[nu + j, i] = by[r, nu + d]
        for x in range(nx):
            G[j, nu + x] = -rates[x, d]
            G[nu + j, nu + x] = -rates[x, nu + d]
            G[nu + nu + x, j] = by_x[d, x]
        for r in range(m):
            if kept[r] >= 0 and masked[kept[r]] == 0:
                G[j, ns + kept[r]] = velocity_q[r, d]
    for x in range(nx):
        for y in range(nx):
            G[nu + nu + x, nu + y] = -rates_x[y, x]
    P, row, at = partials(loops), entry_rows(loops), entry_speeds(loops)
    for k in range(row.shape[0]):
        r = kept[row[k]]
        if r >= 0 and masked[r] == 0:
            G[nu + dof[at[k], speed.PUBLIC], ns + r] += P[k]


@kernel
def _inertia(A, i, j):
    """Return an entry of A, of which only the lower triangle is stored, in regular order."""
    return A[i, j] if i >= j else A[j, i]


@kernel
def _turned_columns(plan, table, G, i):
    """Turn the columns of the coordinates and angular speeds of hinge i to the base of the outer body."""
    plan_body, dof, q, u = bodies(plan), dofs(plan), own_q(plan), own_u(plan)
    n_bodies, nq, nu = counts(plan)
    A, ud = floats2(table[layout.MASSES], nu, nu), floats(table[layout.UD], nu)
    a, first = (
        plan_body[i, body.Q] + plan_body[i, body.EULER],
        plan_body[i, body.U] + plan_body[i, body.EULER],
    )
    C = euler_rotation(q[a], q[a + 1], q[a + 2], q[a + 3])
    w, wd = (u[first], u[first + 1], u[first + 2]), (ud[first], ud[first + 1], ud[first + 2])
    d0, d1, d2 = 0, 0, 0
    for d in range(nu):
        if dof[d, speed.PUBLIC] == first:
            d0 = d
        elif dof[d, speed.PUBLIC] == first + 1:
            d1 = d
        elif dof[d, speed.PUBLIC] == first + 2:
            d2 = d
    axes = (C[0], C[3], C[6]), (C[1], C[4], C[7]), (C[2], C[5], C[8])
    dw = cross(axes[0], w), cross(axes[1], w), cross(axes[2], w)
    dwd = cross(axes[0], wd), cross(axes[1], wd), cross(axes[2], wd)
    for r in range(G.shape[1]):
        by_q = G[first, r], G[first + 1, r], G[first + 2, r]
        by_u = G[nu + first, r], G[nu + first + 1, r], G[nu + first + 2, r]
        for m in range(3):
            x, y = 0.0, 0.0
            for k in range(3):
                x += axes[m][k] * by_q[k] + dw[m][k] * by_u[k]
                y += axes[m][k] * by_u[k]
            G[first + m, r] = x
            G[nu + first + m, r] = y
    for d in range(nu):
        r = dof[d, speed.PUBLIC]
        x, y, z = _inertia(A, d, d0), _inertia(A, d, d1), _inertia(A, d, d2)
        for m in range(3):
            G[first + m, r] += dwd[m][0] * x + dwd[m][1] * y + dwd[m][2] * z


@kernel
def _turned_rows(plan, G, i, required):
    """Turn rows of the angular speeds of hinge i to the base of the outer body. `required` is the residual."""
    plan_body, q = bodies(plan), own_q(plan)
    a, first = (
        plan_body[i, body.Q] + plan_body[i, body.EULER],
        plan_body[i, body.U] + plan_body[i, body.EULER],
    )
    C = euler_rotation(q[a], q[a + 1], q[a + 2], q[a + 3])
    axes = (C[0], C[3], C[6]), (C[1], C[4], C[7]), (C[2], C[5], C[8])
    lack = (required[first], required[first + 1], required[first + 2])
    for j in range(G.shape[0]):
        x = (G[j, first], G[j, first + 1], G[j, first + 2])
        if j >= first and j < first + 3:
            x = sub(x, cross(axes[j - first], lack))
        x = unrotate(C, x)
        for k in range(3):
            G[j, first + k] = x[k]


@kernel
def residual_derivatives(plan, loops, table, required, G_):
    """Write (nu + nu + nx) columns to the address G: of the residual (nu), of -x' (nx), of P u + P0.

    Only rows of P that do not vanish count. `required` is A ud - Q - P^T lambda, in the base of end a. Masked
    rows and prescribed speeds have zeros.
    """
    plan_body = bodies(plan)
    n_bodies, nq, nu = counts(plan)
    nz, nx = n_states(plan)
    G = floats2(G_, nu + nu + nx, perms(loops).shape[0] + nx)
    _along_speeds(plan, loops, table, G)
    for i in range(1, n_bodies):
        if plan_body[i, body.EULER] >= 0 and plan_body[i, body.REVERSED] == 0:
            _turned_columns(plan, table, G, i)
    for i in range(1, n_bodies):
        if plan_body[i, body.EULER] >= 0 and plan_body[i, body.REVERSED] == 0:
            _turned_rows(plan, G, i, required)
    prescribed = prescriptions(plan)
    for k in range(prescribed.shape[0]):
        j = prescribed[k, speed.PRESCRIBED_U]
        for i in range(G.shape[1]):
            G[j, i] = 0.0
            G[nu + j, i] = 0.0
        for i in range(G.shape[0]):
            G[i, j] = 0.0
