# mypy: ignore-errors
"""Energetic elements and external loads (6.2.7-8), called through their addresses: for models that have any.

Gather what an element sees into its record, call it, and scatter what it does: loads about the origins of bodies, loads
on speeds, rates of its states.
"""

from treemech.kinematics.kernel.language import accumulate, call_element, kernel, load3, load9
from treemech.kinematics.kernel.status import EFFORT_NOT_FINITE, LOAD_FAILED, OK
from treemech.kinematics.kernel.vector import add, cross, multiply, rotate
from treemech.kinematics.plan.arrays import (
    ACTED_Q,
    ACTED_U,
    APPLIED_F,
    APPLIED_N,
    EFFORT_ADDRESS,
    EFFORT_PARAMETER,
    EXTERNAL,
    FIRST_ACTED,
    FIRST_END,
    FIRST_INPUT,
    FIRST_MEMORY,
    FIRST_STATE,
    FROM_MEMORY,
    FROM_Q,
    FROM_SIGNAL,
    LOAD_ROOM,
    N_ACTED,
    N_AUDIT,
    N_ENDS,
    N_INPUTS,
    N_KEPT,
    N_LOAD,
    N_MEMORY,
    N_STATES,
    OMEGA,
    POINT_F,
    POINT_N,
    POINT_P,
    POINT_R,
    POINT_V,
    POINT_W,
    REMEMBER,
    ROOM,
    SOURCE_INDEX,
    SOURCE_KIND,
    VELOCITY,
    P,
    R,
)
from treemech.kinematics.plan.views import (
    acted_table,
    body_work,
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
    room_work,
    signal_values,
    source_table,
)


@kernel
def gather(plan, e):
    """What element e sees, into its record."""
    W, m, table = body_work(plan), room_work(plan), effort_table(plan)
    ends, points, inner = end_table(plan), end_points(plan), point_work(plan)
    n, at, first = table[e, N_ENDS], table[e, ROOM], table[e, FIRST_END]
    for k in range(n):
        i, j = ends[first + k, 0], first + k
        if i >= 0:
            Ri, omega = load9(W, i, R), load3(W, i, OMEGA)
            arm = rotate(Ri, load3(points, j, 9))
            base = multiply(Ri, load9(points, j, 0))
            position = add(load3(W, i, P), arm)
            velocity = add(load3(W, i, VELOCITY), cross(omega, arm))
        else:
            position, base = load3(inner, -1 - i, POINT_P), load9(inner, -1 - i, POINT_R)
            velocity, omega = load3(inner, -1 - i, POINT_V), load3(inner, -1 - i, POINT_W)
        for c in range(3):
            m[at + 3 * k + c] = position[c]
            m[at + 12 * n + 3 * k + c] = velocity[c]
            m[at + 15 * n + 3 * k + c] = omega[c]
        for c in range(9):
            m[at + 3 * n + 9 * k + c] = base[c]
    at += 18 * n
    acted, q, u, z = acted_table(plan), own_q(plan), own_u(plan), own_z(plan)
    n, first = table[e, N_ACTED], table[e, FIRST_ACTED]
    for k in range(n):
        m[at + k] = q[acted[first + k, ACTED_Q]]
        m[at + n + k] = u[acted[first + k, ACTED_U]]
    at += 2 * n
    for k in range(table[e, N_STATES]):
        m[at + k] = z[table[e, FIRST_STATE] + k]
    at += table[e, N_STATES]
    sources, values = source_table(plan), signal_values(plan)
    for k in range(table[e, N_INPUTS]):
        kind, index = (
            sources[table[e, FIRST_INPUT] + k, SOURCE_KIND],
            sources[table[e, FIRST_INPUT] + k, SOURCE_INDEX],
        )
        if kind == FROM_SIGNAL:
            m[at + k] = values[index, 0]
        elif kind == FROM_MEMORY:
            m[at + k] = z[index]
        elif kind == FROM_Q:
            m[at + k] = q[index]
        else:
            m[at + k] = u[index]
    at += table[e, N_INPUTS]
    for k in range(table[e, N_MEMORY]):
        m[at + k] = z[table[e, FIRST_MEMORY] + k]


@kernel
def call(plan, e, t):
    """Element e at what stands in its record; a status."""
    m, table, record = room_work(plan), effort_table(plan), parameters(plan)
    at, out, n = table[e, ROOM], table[e, LOAD_ROOM], table[e, N_LOAD]
    for k in range(out, out + n - table[e, N_KEPT]):
        m[k] = 0.0
    status = call_element(
        table[e, EFFORT_ADDRESS], m, at, m, at + 12, t, record, table[e, EFFORT_PARAMETER], m, out
    )
    if status != 1:
        return LOAD_FAILED + 16 * e
    total = 0.0
    for k in range(out, out + n):
        total += 0.0 * m[k]
    return OK if total == 0.0 else EFFORT_NOT_FINITE + 16 * e


@kernel
def scatter(plan, e):
    """Loads of element e to bodies, internal points and speeds, and the rates of its states."""
    W, m, table = body_work(plan), room_work(plan), effort_table(plan)
    ends, points, inner = end_table(plan), end_points(plan), point_work(plan)
    n, at, first = table[e, N_ENDS], table[e, LOAD_ROOM], table[e, FIRST_END]
    for k in range(n):
        i = ends[first + k, 0]
        f, g = at + 3 * k, at + 3 * n + 3 * k
        force, moment = (m[f], m[f + 1], m[f + 2]), (m[g], m[g + 1], m[g + 2])
        if i >= 0:
            arm = rotate(load9(W, i, R), load3(points, first + k, 9))
            accumulate(W, i, APPLIED_F, force)
            accumulate(W, i, APPLIED_N, add(moment, cross(arm, force)))
        else:
            accumulate(inner, -1 - i, POINT_F, force)
            accumulate(inner, -1 - i, POINT_N, moment)
    at += 6 * n
    acted, effort, zd = acted_table(plan), own_effort(plan), own_zd(plan)
    for k in range(table[e, N_ACTED]):
        effort[acted[table[e, FIRST_ACTED] + k, ACTED_U]] += m[at + k]
    at += table[e, N_ACTED]
    for k in range(table[e, N_STATES]):
        zd[table[e, FIRST_STATE] + k] = m[at + k]


@kernel
def remember(plan, t, z):
    """What elements write down after an accepted step, into z; their records are those of its end. A status."""
    m, table, record = room_work(plan), effort_table(plan), parameters(plan)
    for e in range(table.shape[0]):
        if table[e, REMEMBER] != 0:
            at = table[e, ROOM]
            status = call_element(
                table[e, REMEMBER],
                m,
                at,
                m,
                at,
                t,
                record,
                table[e, EFFORT_PARAMETER],
                z,
                table[e, FIRST_MEMORY],
            )
            if status != 1:
                return LOAD_FAILED + 16 * e
    return OK


@kernel
def power(plan, e):
    """Power element e gives to the bodies and speeds."""
    m, table = room_work(plan), effort_table(plan)
    n, nc, at, out = table[e, N_ENDS], table[e, N_ACTED], table[e, ROOM], table[e, LOAD_ROOM]
    total = 0.0
    for k in range(3 * n):
        total += m[at + 12 * n + k] * m[out + k] + m[at + 15 * n + k] * m[out + 3 * n + k]
    for k in range(nc):
        total += m[at + 18 * n + nc + k] * m[out + 6 * n + k]
    return total


@kernel
def audit(plan, rates):
    """Rates of the audit: of every element its work on the bodies, what it dissipates, what it is supplied with."""
    m, table = room_work(plan), effort_table(plan)
    for e in range(table.shape[0]):
        out = table[e, LOAD_ROOM] + 6 * table[e, N_ENDS] + table[e, N_ACTED] + table[e, N_STATES]
        given = power(plan, e)
        rates[N_AUDIT * e] = given
        rates[N_AUDIT * e + 1] = 0.0 if table[e, EXTERNAL] == 1 else m[out + 1]
        rates[N_AUDIT * e + 2] = given if table[e, EXTERNAL] == 1 else m[out + 2]
