# mypy: ignore-errors
"""Entry points of results: states in the public conventions, records of elements, motion of all bodies."""

import numpy as np

from treemech.kinematics.kernel.language import floats, floats2, ints, load3, load9, store
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.kernel.vector import add, cross, multiply, rotate
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import (
    body_work,
    counts,
    effort_records,
    frames,
    gravity,
    own_q,
    own_u,
    prescriptions,
    signal_values,
    speed_work,
)
from treemech.kinematics.tree.sweep import origin_velocities, turn_speeds

from ..equations.virtual_work import inverse_dynamics as load_tree
from .begin import begin, evaluate_row

N_TRACE = 30  # rotation 9, position 3, omega 3, velocity 3, alpha 3, acceleration 3, moment 3, force 3


def states(count, t, y, q, u, context):
    """Extract q and u in the public conventions from each integrator state y.

    Prescribed entries come from their signals.
    """
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    times = floats(t, count)
    state_q, state_u = own_q(plan), own_u(plan)
    for k in range(count):
        at = y + 8 * (nq + nu) * k
        status = begin(plan, times[k], at, at + 8 * nq)
        if status != OK:
            times[0] = times[k]
            return np.int32(status)
        turn_speeds(plan, state_q, state_u, -1.0)
        out_q, out_u = floats(q + 8 * nq * k, nq), floats(u + 8 * nu * k, nu)
        for j in range(nq):
            out_q[j] = state_q[j]
        for j in range(nu):
            out_u[j] = state_u[j]
    return np.int32(OK)


def elements(count, t, q, u, out, context):
    """Copy the records of all elements (Work.effort_records) at each state."""
    plan = ints(context, N_CONTEXT)
    W, S, times, workspace = body_work(plan), speed_work(plan), floats(t, count), effort_records(plan)
    n = workspace.shape[0]
    for k in range(count):
        status = evaluate_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        to = floats(out + 8 * n * k, n)
        for j in range(n):
            to[j] = workspace[j]
    return np.int32(OK)


def trace(count, t, q, u, ud, tau, out, context):
    """Compute the motion of every body in the user's base, and the load of its hinge: N_TRACE numbers a body.

    Moment and force act on the body, about the end point of its hinge; all are in world components. The
    prescribed entries of q, u, ud are overwritten by those of their signals.
    """
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    state_u = own_u(plan)
    prescribed, values, frame, g = prescriptions(plan), signal_values(plan), frames(plan), gravity(plan)
    for k in range(count):
        status = evaluate_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        given = floats(ud + 8 * nu * k, nu)
        given_q, given_u = floats(q + 8 * nq * k, nq), floats(u + 8 * nu * k, nu)
        for j in range(prescribed.shape[0]):
            a, b, s = (
                prescribed[j, speed.PRESCRIBED_Q],
                prescribed[j, speed.PRESCRIBED_U],
                prescribed[j, speed.PRESCRIBED_SIGNAL],
            )
            given_q[a] = values[s, 0]
            given_u[b] = values[s, 1]
            given[b] = values[s, 2]
        load_tree(plan, W, S, given, floats(tau + 8 * nu * k, nu))
        origin_velocities(plan, W, S, state_u)
        to = floats2(out + 8 * rows * N_TRACE * k, rows, N_TRACE)
        for i in range(rows):
            Ri = load9(W, i, body.R)
            arm = rotate(Ri, load3(frame, i, 9))
            w, dw = load3(W, i, body.OMEGA), load3(W, i, body.ALPHA)
            store(to, i, 0, multiply(Ri, load9(frame, i, 0)))
            store(to, i, 9, add(load3(W, i, body.P), arm))
            store(to, i, 12, w)
            store(to, i, 15, add(load3(W, i, body.VELOCITY), cross(w, arm)))
            store(to, i, 18, dw)
            a = add(load3(W, i, body.ACC), (g[0], g[1], g[2]))
            store(to, i, 21, add(a, add(cross(dw, arm), cross(w, cross(w, arm)))))
            store(to, i, 24, load3(W, i, body.MOMENT))
            store(to, i, 27, load3(W, i, body.FORCE))
    return np.int32(OK)
