# mypy: ignore-errors
"""Applied loads of a System on bodies in Cartesian coordinates: gravity, external loads and force elements, compiled.

An element is called through its address with the record the engine keeps for it; the places and velocities of its ends come
from the bodies here. The coordinate of a hinge on which it acts is measured by a row (`element_rows`): the value, its rate, and with the partials of that row the loads on the two bodies.
"""

from treemech.dynamics.loads.efforts import call
from treemech.kinematics.kernel.language import ints, kernel, load3, load9, store
from treemech.kinematics.kernel.status import CHORD_FAILED, OK
from treemech.kinematics.kernel.vector import add, cross, multiply, rotate, scale, unrotate
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.columns import effort
from treemech.kinematics.plan.views import (
    effort_records,
    effort_table,
    own_z,
    own_zd,
    signal_values,
    source_table,
)

from .element_rows import measure
from .views import (
    BODIES,
    CORE,
    FIRST,
    LOADS,
    OMEGA,
    PHI,
    PHI_RATE,
    PLACE,
    STOP,
    VELOCITY,
    acted_rows,
    applied_,
    block_bodies,
    body_,
    end_bodies,
    end_points,
    gravity_,
    jacobian_,
    level_,
    row_ints,
    source_rows,
    state_,
    turn_,
)


@kernel
def gather(C, core, e, t):
    """Gather what element e sees in its record. Returns whether a hinge that is measured worked."""
    S, T, V, m, table = state_(C), turn_(C), level_(C), effort_records(core), effort_table(core)
    bodies, points = end_bodies(C), end_points(C)
    n, at, first = table[e, effort.N_ENDS], table[e, effort.MOTION_RECORD], table[e, effort.FIRST_END]
    for k in range(n):
        i, j = bodies[first + k], first + k
        R, w = load9(T, i, 0), load3(S, i, OMEGA)
        arm = rotate(R, load3(points, j, 9))
        base = multiply(R, load9(points, j, 0))
        position, velocity = add(load3(S, i, PLACE), arm), add(load3(S, i, VELOCITY), cross(w, arm))
        for c in range(3):
            m[at + 3 * k + c] = position[c]
            m[at + 12 * n + 3 * k + c] = velocity[c]
            m[at + 15 * n + 3 * k + c] = w[c]
        for c in range(9):
            m[at + 3 * n + 9 * k + c] = base[c]
    at += 18 * n
    acted, n, first = acted_rows(C), table[e, effort.N_ACTED], table[e, effort.FIRST_ACTED]
    for k in range(n):
        r = acted[first + k]
        if not measure(C, r, t):
            return False
        m[at + k], m[at + n + k] = V[r, PHI], V[r, PHI_RATE]
    at += 2 * n
    z = own_z(core)
    for k in range(table[e, effort.N_STATES]):
        m[at + k] = z[table[e, effort.FIRST_STATE] + k]
    at += table[e, effort.N_STATES]
    sources, values, rows, first = (
        source_table(core),
        signal_values(core),
        source_rows(C),
        table[e, effort.FIRST_INPUT],
    )
    for k in range(table[e, effort.N_INPUTS]):
        if sources[first + k, effort.SOURCE_KIND] == effort.FROM_SIGNAL:
            m[at + k] = values[sources[first + k, effort.SOURCE_INDEX], 0]
        else:
            r = rows[first + k]
            if not measure(C, r, t):
                return False
            m[at + k] = V[r, PHI if sources[first + k, effort.SOURCE_KIND] == effort.FROM_Q else PHI_RATE]
    return True


@kernel
def scatter(C, core, e):
    """Add the loads of element e to the bodies, about their centres of mass.

    The rates of its states are written too.
    """
    T, F, J, m, table = turn_(C), applied_(C), jacobian_(C), effort_records(core), effort_table(core)
    bodies, points, kinds, joined = end_bodies(C), end_points(C), row_ints(C), block_bodies(C)
    n, at, first = table[e, effort.N_ENDS], table[e, effort.LOAD_RECORD], table[e, effort.FIRST_END]
    for k in range(n):
        i, f, g = bodies[first + k], at + 3 * k, at + 3 * n + 3 * k
        force, moment = (m[f], m[f + 1], m[f + 2]), (m[g], m[g + 1], m[g + 2])
        R = load9(T, i, 0)
        arm = rotate(R, load3(points, first + k, 9))
        store(F, i, 0, add(load3(F, i, 0), force))
        store(F, i, 3, add(load3(F, i, 3), unrotate(R, add(moment, cross(arm, force)))))
    at += 6 * n
    acted, first = acted_rows(C), table[e, effort.FIRST_ACTED]
    for k in range(table[e, effort.N_ACTED]):
        r = acted[first + k]
        for p in range(kinds[r, FIRST], kinds[r, STOP]):
            i = joined[p]
            for c in range(6):
                F[i, c] += m[at + k] * J[p, c]
    at += table[e, effort.N_ACTED]
    zd = own_zd(core)
    for k in range(table[e, effort.N_STATES]):
        zd[table[e, effort.FIRST_STATE] + k] = m[at + k]


@kernel
def apply(C, t):
    """Apply all loads to the bodies: force in the world, moment in body axes. Returns a status code."""
    B, F, g = body_(C), applied_(C), gravity_(C)
    for i in range(1, C[BODIES] + 1):
        store(F, i, 0, scale(B[i, 0], (g[0], g[1], g[2])))
        store(F, i, 3, (0.0, 0.0, 0.0))
    if C[LOADS] == 0:
        return OK
    core = ints(C[CORE], N_CONTEXT)
    for e in range(C[LOADS]):
        status = call(core, e, t) if gather(C, core, e, t) else CHORD_FAILED
        if status != OK:
            return status
        scatter(C, core, e)
    return OK
