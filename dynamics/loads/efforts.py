# mypy: ignore-errors
"""Energetic elements and external loads (6.2.7-8), called through their addresses.

The motion that an element sees is gathered into its record, the element is called, and its loads are
scattered: loads about the origins of bodies, loads on speeds, rates of its states.
"""

from treemech.elements import energetic
from treemech.elements.lanes.numbers import every
from treemech.kinematics.kernel.language import accumulate, apply_element, call_element, kernel, load3, load9
from treemech.kinematics.kernel.status import EFFORT_NOT_FINITE, LOAD_FAILED, OK
from treemech.kinematics.kernel.vector import add, cross, multiply, rotate
from treemech.kinematics.plan.columns import body, effort, point
from treemech.kinematics.plan.views import (
    acted_table,
    body_work,
    effort_records,
    effort_table,
    end_points,
    end_table,
    own_effort,
    own_q,
    own_u,
    own_z,
    own_zd,
    parameters,
    point_work,
    signal_values,
    source_table,
)


@kernel
def gather(plan, e):
    """Gather the motion, states and inputs that element e sees into its record."""
    W, m, table = body_work(plan), effort_records(plan), effort_table(plan)
    ends, points, inner = end_table(plan), end_points(plan), point_work(plan)
    n, at, first = table[e, effort.N_ENDS], table[e, effort.MOTION_RECORD], table[e, effort.FIRST_END]
    for k in range(n):
        i, j = ends[first + k, 0], first + k
        if i >= 0:
            Ri, omega = load9(W, i, body.R), load3(W, i, body.OMEGA)
            arm = rotate(Ri, load3(points, j, 9))
            base = multiply(Ri, load9(points, j, 0))
            position = add(load3(W, i, body.P), arm)
            velocity = add(load3(W, i, body.VELOCITY), cross(omega, arm))
        else:
            position, base = load3(inner, -1 - i, point.P), load9(inner, -1 - i, point.R)
            velocity, omega = load3(inner, -1 - i, point.V), load3(inner, -1 - i, point.W)
        for c in range(3):
            m[at + 3 * k + c] = position[c]
            m[at + energetic.VELOCITY * n + 3 * k + c] = velocity[c]
            m[at + energetic.ANGULAR_VELOCITY * n + 3 * k + c] = omega[c]
        for c in range(9):
            m[at + energetic.ROTATION * n + 9 * k + c] = base[c]
    at += energetic.MOTION_PER_END * n
    acted, q, u, z = acted_table(plan), own_q(plan), own_u(plan), own_z(plan)
    n, first = table[e, effort.N_ACTED], table[e, effort.FIRST_ACTED]
    for k in range(n):
        m[at + k] = q[acted[first + k, effort.ACTED_Q]]
        m[at + n + k] = u[acted[first + k, effort.ACTED_U]]
    at += 2 * n
    for k in range(table[e, effort.N_STATES]):
        m[at + k] = z[table[e, effort.FIRST_STATE] + k]
    at += table[e, effort.N_STATES]
    sources, values = source_table(plan), signal_values(plan)
    for k in range(table[e, effort.N_INPUTS]):
        kind, index = (
            sources[table[e, effort.FIRST_INPUT] + k, effort.SOURCE_KIND],
            sources[table[e, effort.FIRST_INPUT] + k, effort.SOURCE_INDEX],
        )
        if kind == effort.FROM_SIGNAL:
            m[at + k] = values[index, 0]
        elif kind == effort.FROM_MEMORY:
            m[at + k] = z[index]
        elif kind == effort.FROM_Q:
            m[at + k] = q[index]
        else:
            m[at + k] = u[index]
    at += table[e, effort.N_INPUTS]
    for k in range(table[e, effort.N_MEMORY]):
        m[at + k] = z[table[e, effort.FIRST_MEMORY] + k]


@kernel
def call(plan, e, t):
    """Call element e with its record. Returns a status code (kernel.status)."""
    m, table, record = effort_records(plan), effort_table(plan), parameters(plan)
    at, out, n = table[e, effort.MOTION_RECORD], table[e, effort.LOAD_RECORD], table[e, effort.N_LOAD]
    for k in range(out, out + n):
        m[k] = 0.0
    status = apply_element(
        table[e, effort.ADDRESS],
        m,
        at,
        out - at,
        m,
        at + 12,
        0,
        t,
        record,
        table[e, effort.PARAMETER],
        m,
        out,
        n,
    )
    if status != 1:
        return LOAD_FAILED + 16 * e
    total = 0.0 * m[out]  # of the scalar type in use
    for k in range(out + 1, out + n):
        total += 0.0 * m[k]
    return OK if every(total == 0.0) else EFFORT_NOT_FINITE + 16 * e


@kernel
def scatter(plan, e):
    """Add the loads of element e to bodies, internal points and speeds, and set the rates of its states."""
    W, m, table = body_work(plan), effort_records(plan), effort_table(plan)
    ends, points, inner = end_table(plan), end_points(plan), point_work(plan)
    n, at, first = table[e, effort.N_ENDS], table[e, effort.LOAD_RECORD], table[e, effort.FIRST_END]
    for k in range(n):
        i = ends[first + k, 0]
        f, g = at + 3 * k, at + energetic.MOMENT * n + 3 * k
        force, moment = (m[f], m[f + 1], m[f + 2]), (m[g], m[g + 1], m[g + 2])
        if i >= 0:
            arm = rotate(load9(W, i, body.R), load3(points, first + k, 9))
            accumulate(W, i, body.APPLIED_F, force)
            accumulate(W, i, body.APPLIED_N, add(moment, cross(arm, force)))
        else:
            accumulate(inner, -1 - i, point.F, force)
            accumulate(inner, -1 - i, point.N, moment)
    at += energetic.LOAD_PER_END * n
    acted, on_speeds, zd = acted_table(plan), own_effort(plan), own_zd(plan)
    for k in range(table[e, effort.N_ACTED]):
        on_speeds[acted[table[e, effort.FIRST_ACTED] + k, effort.ACTED_U]] += m[at + k]
    at += table[e, effort.N_ACTED]
    for k in range(table[e, effort.N_STATES]):
        zd[table[e, effort.FIRST_STATE] + k] = m[at + k]


@kernel
def remember(plan, t, z):
    """Let elements write their memory into z after an accepted step; their records are those at its end.

    Returns a status code (kernel.status).
    """
    m, table, record = effort_records(plan), effort_table(plan), parameters(plan)
    for e in range(table.shape[0]):
        if table[e, effort.REMEMBER] != 0:
            at = table[e, effort.MOTION_RECORD]
            status = call_element(
                table[e, effort.REMEMBER],
                m,
                at,
                m,
                at,
                t,
                record,
                table[e, effort.PARAMETER],
                z,
                table[e, effort.FIRST_MEMORY],
            )
            if status != 1:
                return LOAD_FAILED + 16 * e
    return OK


@kernel
def power(plan, e):
    """Return the power that element e gives to the bodies and speeds."""
    m, table = effort_records(plan), effort_table(plan)
    n, nc, at, out = (
        table[e, effort.N_ENDS],
        table[e, effort.N_ACTED],
        table[e, effort.MOTION_RECORD],
        table[e, effort.LOAD_RECORD],
    )
    total = 0.0
    for k in range(3 * n):
        total += (
            m[at + energetic.VELOCITY * n + k] * m[out + k]
            + m[at + energetic.ANGULAR_VELOCITY * n + k] * m[out + energetic.MOMENT * n + k]
        )
    for k in range(nc):
        total += m[at + energetic.MOTION_PER_END * n + nc + k] * m[out + energetic.LOAD_PER_END * n + k]
    return total


@kernel
def audit(plan, rates):
    """Compute the rates of the audit of every element: power on the bodies, dissipated, supplied."""
    m, table = effort_records(plan), effort_table(plan)
    for e in range(table.shape[0]):
        out = (
            table[e, effort.LOAD_RECORD]
            + 6 * table[e, effort.N_ENDS]
            + table[e, effort.N_ACTED]
            + table[e, effort.N_STATES]
        )
        given = power(plan, e)
        rates[effort.N_AUDIT * e] = given
        rates[effort.N_AUDIT * e + 1] = 0.0 if table[e, effort.EXTERNAL] == 1 else m[out + 1]
        rates[effort.N_AUDIT * e + 2] = given if table[e, effort.EXTERNAL] == 1 else m[out + 2]
