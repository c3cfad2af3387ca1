# mypy: ignore-errors
"""Entry points of single bodies and of all together: pose, velocity and Jacobian of an end, energy, momentum.

An end is a place in the core's base of a body: rotation, then point (12 numbers). Results are in world axes.
"""

import numpy as np

from treemech.kinematics.kernel.language import floats, floats2, ints, kernel, load3, load6, load9, store
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.kernel.vector import (
    add,
    cross,
    dot,
    multiply,
    rotate,
    scale,
    sub,
    symmetric,
    unrotate,
)
from treemech.kinematics.plan.arrays import N_CONTEXT
from treemech.kinematics.plan.columns import body, speed
from treemech.kinematics.plan.views import (
    bodies,
    body_work,
    constants,
    counts,
    dofs,
    effort_records,
    gravity,
    own_u,
    rotors,
    speed_work,
)
from treemech.kinematics.tree.sweep import columns, origin_velocities, relative_velocity

from .begin import evaluate_row, place_row
from .results import N_TRACE


@kernel
def move(plan, W, S, u, rows):
    """Compute angular velocities (5.2.7) and velocities of the origins (5.2.18) of the first bodies, without biases."""
    plan_body = bodies(plan)
    for i in range(1, rows):
        p = plan_body[i, body.PARENT]
        omega, velocity = relative_velocity(plan, W, S, i, u)
        wp = load3(W, p, body.OMEGA)
        carried = add(load3(W, p, body.VELOCITY), cross(wp, load3(W, i, body.ARM)))
        store(W, i, body.OMEGA, add(wp, omega))
        store(W, i, body.VELOCITY, add(carried, velocity))


def pose(count, t, q, u, number, place, out, context):
    """Compute position (3) and rotation (9) of an end of body `number` at each state."""
    plan = ints(context, N_CONTEXT)
    W, S, times, at = body_work(plan), speed_work(plan), floats(t, count), floats2(place, 1, 12)
    for k in range(count):
        status = place_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        to = floats2(out + 96 * k, 1, 12)
        R = load9(W, number, body.R)
        store(to, 0, 0, add(load3(W, number, body.P), rotate(R, load3(at, 0, 9))))
        store(to, 0, 3, multiply(R, load9(at, 0, 0)))
    return np.int32(OK)


def velocity(count, t, q, u, number, place, out, context):
    """Compute velocity (3) and angular velocity (3) of an end of body `number` at each state."""
    plan = ints(context, N_CONTEXT)
    W, S, times, at = body_work(plan), speed_work(plan), floats(t, count), floats2(place, 1, 12)
    state_u = own_u(plan)
    for k in range(count):
        status = place_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        move(plan, W, S, state_u, number + 1)
        to = floats2(out + 48 * k, 1, 6)
        arm, w = rotate(load9(W, number, body.R), load3(at, 0, 9)), load3(W, number, body.OMEGA)
        store(to, 0, 0, add(load3(W, number, body.VELOCITY), cross(w, arm)))
        store(to, 0, 3, w)
    return np.int32(OK)


def end_jacobian(count, t, q, u, number, place, out, context):
    """Compute velocity and angular velocity of an end of body `number` per unit speed (6, nu) at each state.

    Only the speeds between the ground and the body move it (5.2.7), (5.2.23).
    """
    plan = ints(context, N_CONTEXT)
    rows, nq, nu = counts(plan)
    W, S, times, at = body_work(plan), speed_work(plan), floats(t, count), floats2(place, 1, 12)
    plan_body, dof = bodies(plan), dofs(plan)
    for k in range(count):
        status = place_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        columns(plan, W, S)
        J = floats2(out + 48 * nu * k, 6, nu)
        for j in range(6):
            for d in range(nu):
                J[j, d] = 0.0
        x = add(load3(W, number, body.P), rotate(load9(W, number, body.R), load3(at, 0, 9)))
        i = number
        while i > 0:
            arm = sub(x, load3(W, i, body.P))
            for d in range(plan_body[i, body.DOF], plan_body[i, body.DOF] + plan_body[i, body.NU]):
                w = load3(S, d, speed.PARTIAL_W)
                v = add(load3(S, d, speed.PARTIAL_V), cross(w, arm))
                public = dof[d, speed.PUBLIC]
                for j in range(3):
                    J[j, public] = v[j]
                    J[3 + j, public] = w[j]
            i = plan_body[i, body.PARENT]
    return np.int32(OK)


def energy(count, t, q, u, n, stores, out, context):
    """Compute kinetic (6.2.13), potential and stored energy at each state.

    Heights count from the world origin; `stores` are the n places of the energies of elements in their
    records.
    """
    plan = ints(context, N_CONTEXT)
    W, S, times, place = body_work(plan), speed_work(plan), floats(t, count), ints(stores, n)
    C, state_u, g, records = constants(plan), own_u(plan), gravity(plan), effort_records(plan)
    table = rotors(plan)
    down = (g[0], g[1], g[2])
    for k in range(count):
        status = evaluate_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        origin_velocities(plan, W, S, state_u)
        kinetic, potential, stored = 0.0, 0.0, 0.0
        for i in range(1, W.shape[0]):
            m, R, w = C[i, body.MASS], load9(W, i, body.R), load3(W, i, body.OMEGA)
            arm = rotate(R, load3(C, i, body.COM))
            v, wb = add(load3(W, i, body.VELOCITY), cross(w, arm)), unrotate(R, w)
            kinetic += 0.5 * (m * dot(v, v) + dot(wb, symmetric(load6(C, i, body.INERTIA), wb)))
            potential -= m * dot(down, add(load3(W, i, body.P), arm))
        for j in range(table.shape[0]):
            x = state_u[table[j, speed.ROTOR_U]]
            kinetic += 0.5 * C[table[j, speed.ROTOR_BODY], body.ROTOR] * x * x
        for j in range(n):
            stored += records[place[j]]
        to = floats(out + 24 * k, 3)
        to[0] = kinetic
        to[1] = potential
        to[2] = stored
    return np.int32(OK)


def momentum(count, t, q, u, out, context):
    """Compute momentum (3), and angular momentum (3) about the world origin, at each state."""
    plan = ints(context, N_CONTEXT)
    W, S, times = body_work(plan), speed_work(plan), floats(t, count)
    C, state_u = constants(plan), own_u(plan)
    for k in range(count):
        status = place_row(plan, W, S, times, q, u, k)
        if status != OK:
            return np.int32(status)
        move(plan, W, S, state_u, W.shape[0])
        linear, angular = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for i in range(1, W.shape[0]):
            R, w = load9(W, i, body.R), load3(W, i, body.OMEGA)
            arm = rotate(R, load3(C, i, body.COM))
            p = scale(C[i, body.MASS], add(load3(W, i, body.VELOCITY), cross(w, arm)))
            spin = rotate(R, symmetric(load6(C, i, body.INERTIA), unrotate(R, w)))
            linear = add(linear, p)
            angular = add(angular, add(cross(add(load3(W, i, body.P), arm), p), spin))
        to = floats2(out + 48 * k, 1, 6)
        store(to, 0, 0, linear)
        store(to, 0, 3, angular)
    return np.int32(OK)


def carry_chord_loads(count, loads, trace, n, chords, points, inner, parents, rows):
    """Add the loads of n chords to the hinge loads of a trace at each state (8.5.6).

    A chord relieves the hinges before it. `chords` (n, 2) are the bodies of its ends, `points` (n, 3) the end
    b in its body, `inner` (rows, 3) the end points of the hinges in their bodies, `parents` (rows,) the tree.
    """
    ends, point, place, parent = (
        ints(chords, 2 * n),
        floats2(points, n, 3),
        floats2(inner, rows, 3),
        ints(parents, rows),
    )
    for k in range(count):
        T = floats2(trace + 8 * rows * N_TRACE * k, rows, N_TRACE)
        load = floats2(loads + 48 * n * k, n, 6)
        for c in range(n):
            b = ends[2 * c + 1]
            at = add(load3(T, b, 9), rotate(load9(T, b, 0), load3(point, c, 0)))
            force, moment = load3(load, c, 0), load3(load, c, 3)
            for side in range(2):
                sign = 1.0 if side == 0 else -1.0
                i = ends[2 * c + side]
                while i > 0:
                    origin = add(load3(T, i, 9), rotate(load9(T, i, 0), load3(place, i, 0)))
                    about = add(moment, cross(sub(at, origin), force))
                    for j in range(3):
                        T[i, 24 + j] += sign * about[j]
                        T[i, 27 + j] += sign * force[j]
                    i = parent[i]
    return np.int32(OK)
