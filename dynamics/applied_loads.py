# mypy: ignore-errors
"""External loads, called through their addresses: an entry point of its own, for models that have any."""

from treemech.kinematics.kernel import accumulate, call_element, kernel, load3, load9
from treemech.kinematics.plan import (
    APPLIED_F,
    APPLIED_N,
    LOAD_ADDRESS,
    LOAD_BODY,
    LOAD_PARAMETER,
    OMEGA,
    VELOCITY,
    P,
    R,
)
from treemech.kinematics.sweep import origin_velocities
from treemech.kinematics.vector import add, cross, multiply, rotate
from treemech.kinematics.views import (
    body_work,
    end_motion,
    load_points,
    load_table,
    own_u,
    parameters,
    speed_work,
)


@kernel
def apply_loads(plan, t):
    """External loads on the bodies, about their origins (6.2.8), after `velocities`; -1, or the load that failed."""
    W, S = body_work(plan), speed_work(plan)
    m, record = end_motion(plan), parameters(plan)
    loads, points = load_table(plan), load_points(plan)
    origin_velocities(plan, W, S, own_u(plan))
    for i in range(W.shape[0]):
        for k in range(6):
            W[i, APPLIED_N + k] = 0.0
    for k in range(loads.shape[0]):
        i = loads[k, LOAD_BODY]
        Ri = load9(W, i, R)
        arm = rotate(Ri, load3(points, k, 9))
        base = multiply(Ri, load9(points, k, 0))
        omega = load3(W, i, OMEGA)
        position = add(load3(W, i, P), arm)
        velocity = add(load3(W, i, VELOCITY), cross(omega, arm))
        for j in range(3):
            m[j] = position[j]
            m[12 + j] = velocity[j]
            m[15 + j] = omega[j]
        for j in range(9):
            m[3 + j] = base[j]
        for j in range(18, 24):
            m[j] = 0.0
        status = call_element(loads[k, LOAD_ADDRESS], m, 0, m, 12, t, record, loads[k, LOAD_PARAMETER], m, 18)
        if status != 1:
            return k
        force = (m[18], m[19], m[20])
        accumulate(W, i, APPLIED_F, force)
        accumulate(W, i, APPLIED_N, add((m[21], m[22], m[23]), cross(arm, force)))
    return -1
