# mypy: ignore-errors
"""Derivatives of the constraint rows of closed chains by coordinates and speeds.

The motion of end b relative to end a is differentiated exactly (dynamics.derivatives.relative); rows of cut
Rigid, Revolute, Prismatic and Ball hinges are components of it. Elements called through their address have
rows N that depend on the relative pose y (kinematics.chords.partials)::

    d(N y' + ...)  = (velocity by pose) dy + N dy'
    d(N y'' + ...) = (bias by pose) dy + (bias by rate) dy' + N dy''
    d(P^T lambda)  = the load lambda^T N turned with the bodies between, and lambda^T (N by pose) dy
"""

from treemech.kinematics.chords.partials import coordinate_partials, pose_partials
from treemech.kinematics.kernel.language import floats, floats2, ints, kernel
from treemech.kinematics.kernel.status import CHORD_FAILED, OK
from treemech.kinematics.kernel.vector import cross, rotate
from treemech.kinematics.plan.chord_views import chord_paths, chords, places, rows
from treemech.kinematics.plan.columns import body, chord
from treemech.kinematics.plan.views import bodies, counts

from ..equations.spatial import column
from . import layout
from .relative import end_base, load_derivatives, relative_derivatives


@kernel
def _coupling(plan, loops, c, t, rough, table, workspace):
    """Differentiate the rows of a coupling by the coordinates it joins. Returns whether it worked."""
    plan_chord, path = chords(loops), chord_paths(loops)
    n_bodies, nq, nu = counts(plan)
    m = rows(loops).shape[0]
    first, start, count = (
        plan_chord[c, chord.PATH_START],
        plan_chord[c, chord.FIRST_ROW],
        plan_chord[c, chord.N_ROWS],
    )
    n = plan_chord[c, chord.PATH_END] - first
    size = n * count * (n + 3)
    if not coordinate_partials(plan, loops, c, t, rough, workspace, workspace + 8 * size):
        return False
    multipliers, loads_q = floats(table[layout.MULTIPLIERS], m), floats2(table[layout.LOADS_Q], nu, nu)
    velocity_q, bias_q, bias_u = (
        floats2(table[layout.VELOCITY_Q], m, nu),
        floats2(table[layout.BIAS_Q], m, nu),
        floats2(table[layout.BIAS_U], m, nu),
    )
    by_rate = floats2(workspace + 8 * n * count * (n + 2), n, count)
    for i in range(n):
        d, by = path[first + i, chord.SPEED], floats2(workspace + 8 * i * count * (n + 2), count, n + 2)
        for r in range(count):
            for k in range(n):
                loads_q[path[first + k, chord.SPEED], d] += multipliers[start + r] * by[r, k]
            velocity_q[start + r, d] += by[r, n]
            bias_q[start + r, d] += by[r, n + 1]
            bias_u[start + r, d] += by_rate[i, r]
    return True


@kernel
def _six(a, i, at, b, j, to):
    """Return the product of six numbers of a row of a with six of a row of b."""
    s = 0.0
    for k in range(6):
        s += a[i, at + k] * b[j, to + k]
    return s


@kernel
def _plain_rows(plan, loops, c, table, D):
    """Differentiate the rows of a cut hinge that are unit directions: components of the relative motion."""
    plan_chord, path = chords(loops), chord_paths(loops)
    n_bodies, nq, nu = counts(plan)
    m = rows(loops).shape[0]
    first, start = plan_chord[c, chord.PATH_START], plan_chord[c, chord.FIRST_ROW]
    velocity_q, bias_q, bias_u = (
        floats2(table[layout.VELOCITY_Q], m, nu),
        floats2(table[layout.BIAS_Q], m, nu),
        floats2(table[layout.BIAS_U], m, nu),
    )
    for r in range(plan_chord[c, chord.N_ROWS]):
        k = r + 1 if plan_chord[c, chord.KIND] == body.PRISMATIC and r >= 2 else r
        for j in range(D.shape[0]):
            d = path[first + j, chord.SPEED]
            velocity_q[start + r, d] = D[j, layout.RATE_Q + k]
            bias_q[start + r, d] = D[j, layout.ACCELERATION_Q + k]
            bias_u[start + r, d] = D[j, layout.ACCELERATION_U + k]


@kernel
def _element_rows(plan, loops, c, table, D, turned, local):
    """Differentiate the rows of an element by its relative pose and rates, and its load by the pose.

    `local` comes from `pose_partials`.
    """
    plan_chord, path = chords(loops), chord_paths(loops)
    n_bodies, nq, nu = counts(plan)
    m = rows(loops).shape[0]
    first, start, count = (
        plan_chord[c, chord.PATH_START],
        plan_chord[c, chord.FIRST_ROW],
        plan_chord[c, chord.N_ROWS],
    )
    multipliers = floats(table[layout.MULTIPLIERS], m)
    velocity_q, bias_q, bias_u = (
        floats2(table[layout.VELOCITY_Q], m, nu),
        floats2(table[layout.BIAS_Q], m, nu),
        floats2(table[layout.BIAS_U], m, nu),
    )
    wrench, pose = floats2(local, count, 6), floats2(local + 48 * count, 6, count * chord.N_LOCAL)
    rate = floats2(local + 8 * count * (6 + 6 * chord.N_LOCAL), 6, count)
    for j in range(D.shape[0]):
        d = path[first + j, chord.SPEED]
        for r in range(count):
            velocity = _six(D, j, layout.RATE_Q, wrench, r, 0)
            by_q, by_u = (
                _six(D, j, layout.ACCELERATION_Q, wrench, r, 0),
                _six(D, j, layout.ACCELERATION_U, wrench, r, 0),
            )
            for k in range(6):
                moved = D[j, layout.DISPLACEMENT + k]
                velocity += moved * pose[k, chord.N_LOCAL * r + 6]
                by_q += moved * pose[k, chord.N_LOCAL * r + 7] + D[j, layout.RATE_Q + k] * rate[k, r]
                by_u += moved * rate[k, r]
                for i in range(6):
                    turned[j, i] += multipliers[start + r] * moved * pose[k, chord.N_LOCAL * r + i]
            velocity_q[start + r, d] = velocity
            bias_q[start + r, d] = by_q
            bias_u[start + r, d] = by_u


@kernel
def _load(plan, loops, c, table, local, by_address):
    """Return (force, moment) of chord c on end b, in the base of a."""
    plan_chord, m = chords(loops), rows(loops).shape[0]
    start, count, multipliers = (
        plan_chord[c, chord.FIRST_ROW],
        plan_chord[c, chord.N_ROWS],
        floats(table[layout.MULTIPLIERS], m),
    )
    f0, f1, f2, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(count):
        x, k = multipliers[start + r], r + 1 if plan_chord[c, chord.KIND] == body.PRISMATIC and r >= 2 else r
        if by_address:
            N = floats(local + 48 * r, 6)
            f0, f1, f2 = f0 + x * N[0], f1 + x * N[1], f2 + x * N[2]
            m0, m1, m2 = m0 + x * N[3], m1 + x * N[4], m2 + x * N[5]
        elif k == 0:
            f0 += x
        elif k == 1:
            f1 += x
        elif k == 2:
            f2 += x
        elif k == 3:
            m0 += x
        elif k == 4:
            m1 += x
        else:
            m2 += x
    return (f0, f1, f2), (m0, m1, m2)


@kernel
def _world_load(plan, loops, W, Z, c, turned, force, moment, out):
    """Write the derivatives (6, nu) of the load of chord c on end b in world axes.

    They are the change in the base of a, and that of the turn of this base.
    """
    plan_body, plan_chord, path, place = bodies(plan), chords(loops), chord_paths(loops), places(loops)
    i, first = plan_chord[c, chord.BODY_A], plan_chord[c, chord.PATH_START]
    Ra = end_base(W, place, c, i)
    for k in range(6):
        for d in range(out.shape[1]):
            out[k, d] = 0.0
    for j in range(turned.shape[0]):
        d = path[first + j, chord.SPEED]
        f = rotate(Ra, (turned[j, 0], turned[j, 1], turned[j, 2]))
        n = rotate(Ra, (turned[j, 3], turned[j, 4], turned[j, 5]))
        for k in range(3):
            out[k, d] += f[k]
            out[3 + k, d] += n[k]
    force, moment = rotate(Ra, force), rotate(Ra, moment)
    while i > 0:
        for d in range(plan_body[i, body.DOF], plan_body[i, body.DOF] + plan_body[i, body.NU]):
            w = column(Z, layout.SPEED_S, d)
            f, n = cross(w, force), cross(w, moment)
            for k in range(3):
                out[k, d] += f[k]
                out[3 + k, d] += n[k]
        i = plan_body[i, body.PARENT]


@kernel
def _clear(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 0.0


@kernel
def row_derivatives(plan, loops, W, S, t, table_):
    """Differentiate all rows, columns in regular order, at the addresses of the table of rows.

    Call `tree_derivatives` and `constraint_rows` of the same state and accelerations before. Returns a status
    code (kernel.status).
    """
    plan_chord = chords(loops)
    n_bodies, nq, nu = counts(plan)
    m, table, rough = (
        rows(loops).shape[0],
        ints(table_[layout.ROWS], layout.N_ROW_TABLE),
        table_[layout.ROUGH],
    )
    Y = floats2(table_[layout.WORKSPACE_OF_ALL], n_bodies, layout.N_DERIVATIVE_BODY)
    z = table_[layout.WORKSPACE_OF_ALL] + 8 * n_bodies * layout.N_DERIVATIVE_BODY
    Z = floats2(z, layout.N_COMPONENTS, nu)
    own = z + 8 * (layout.N_COMPONENTS * nu + layout.HINGE_SCRATCH)
    loads_q, workspace, path = (
        floats2(table[layout.LOADS_Q], nu, nu),
        table[layout.WORKSPACE_OF_ROWS],
        chord_paths(loops),
    )
    _clear(loads_q)
    _clear(floats2(table[layout.VELOCITY_Q], m, nu))
    _clear(floats2(table[layout.BIAS_Q], m, nu))
    _clear(floats2(table[layout.BIAS_U], m, nu))
    for c in range(plan_chord.shape[0]):
        kind, first, count = (
            plan_chord[c, chord.KIND],
            plan_chord[c, chord.PATH_START],
            plan_chord[c, chord.N_ROWS],
        )
        if kind == chord.COUPLING:
            if not _coupling(plan, loops, c, t, rough, table, workspace):
                return CHORD_FAILED + 16 * c
            continue
        n = plan_chord[c, chord.PATH_END] - first
        turned, by = floats2(workspace, n, 6), floats2(workspace + 48 * n, n, n)
        relative = workspace + 8 * n * (6 + n)
        local = relative + 8 * n * layout.N_RELATIVE
        D = floats2(relative, n, layout.N_RELATIVE)
        relative_derivatives(plan, loops, W, Y, Z, c, relative)
        for j in range(n):
            for k in range(6):
                turned[j, k] = 0.0
        by_address = kind == body.BY_ADDRESS or kind == chord.CONSTRAINT
        if by_address:
            if not pose_partials(loops, c, t, rough, local, local + 8 * count * (12 + 6 * chord.N_LOCAL)):
                return CHORD_FAILED + 16 * c
            _element_rows(plan, loops, c, table, D, turned, local)
        else:
            _plain_rows(plan, loops, c, table, D)
        force, moment = _load(plan, loops, c, table, local, by_address)
        load_derivatives(plan, loops, W, S, c, relative, force, moment, own, turned, by)
        for j in range(n):
            for k in range(n):
                loads_q[path[first + k, chord.SPEED], path[first + j, chord.SPEED]] += by[j, k]
        if table[layout.CHORD_LOADS_Q] != 0:
            out = floats2(table[layout.CHORD_LOADS_Q] + 48 * nu * c, 6, nu)
            _world_load(plan, loops, W, Z, c, turned, force, moment, out)
    return OK
