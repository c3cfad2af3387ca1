# mypy: ignore-errors
"""Sweep from the ground outwards: positions, velocities and biases of all bodies (5.2).

Vectors are written in world components and referred to the body's own origin (the end point of its hinge):
long chains keep their accuracy because no arm ever reaches back to the world origin. Every routine reads
``f(plan, W, S, t, q, u)`` and works in the body array W and the speed array S (kinematics.plan.arrays).
"""

from ..kernel.language import accumulate, call_part, evaluate_signal, kernel, link, load3, load9, store
from ..kernel.vector import add, cross, euler_rotation, multiply, rotate, scale, sincos, turn_z, unrotate
from ..plan.arrays import GENERAL_HINGE
from ..plan.columns import body, signal, speed
from ..plan.views import (
    bodies,
    constants,
    dofs,
    own_q,
    own_u,
    parameters,
    prescriptions,
    signal_links,
    signal_table,
    signal_values,
)


@kernel
def signals(plan, t):
    """Evaluate every signal at t (value, rate, acceleration), and copy it into the records that contain it.

    Returns -1, or the index of the signal that failed. Signals without an address keep their value.
    """
    table, links = signal_table(plan), signal_links(plan)
    values, record = signal_values(plan), parameters(plan)
    for k in range(table.shape[0]):
        address, first = table[k, signal.ADDRESS], table[k, signal.PARAMETER]
        if address != 0 and not evaluate_signal(address, t, record, first, values, k):
            return k
    for k in range(links.shape[0]):
        link(record, links[k, signal.LINK_PARAMETER], values, links[k, signal.LINK_SIGNAL])
    return -1


@kernel
def prescribe(plan, q, u):
    """Copy the state into the work arrays, with prescribed coordinates from their signals (5.4)."""
    to_q, to_u = own_q(plan), own_u(plan)
    for k in range(to_q.shape[0]):
        to_q[k] = q[k]
    for k in range(to_u.shape[0]):
        to_u[k] = u[k]
    prescribed, values = prescriptions(plan), signal_values(plan)
    for k in range(prescribed.shape[0]):
        s = prescribed[k, speed.PRESCRIBED_SIGNAL]
        to_q[prescribed[k, speed.PRESCRIBED_Q]] = values[s, 0]
        to_u[prescribed[k, speed.PRESCRIBED_U]] = values[s, 1]


@kernel
def _unit_columns(S, d, offset, T):
    """Store the base vectors of T as three columns; their other half is zero."""
    for k in range(3):
        store(S, d + k, offset, (T[k], T[3 + k], T[6 + k]))
        store(S, d + k, 3 - offset, (0.0, 0.0, 0.0))


@kernel
def positions(plan, W, S, t, q):
    """Compute R^j, r^j of all bodies (5.2.1), (5.2.13), and the partials of every speed in world components.

    A hinge by address is placed by an entry point of its own (kinematics.tree.general_hinge), from q and u of
    the work arrays. Returns -1, or the body whose hinge failed.
    """
    plan_body, C = bodies(plan), constants(plan)
    for i in range(1, plan_body.shape[0]):
        p = plan_body[i, body.PARENT]
        Rp = load9(W, p, body.R)
        place = load9(C, i, body.PLACE_R)
        r = rotate(Rp, load3(C, i, body.PLACE_P))
        kind = plan_body[i, body.KIND]
        if kind == body.REVOLUTE:
            s, c = sincos(C[i, body.SIGN] * q[plan_body[i, body.Q]])
            # the turn first: it does not wait for the parent
            store(W, i, body.R, multiply(Rp, turn_z(place, c, s)))
            store(W, i, body.ARM, r)
            store(W, i, body.P, add(load3(W, p, body.P), r))
            continue
        T = multiply(Rp, place)
        if kind == body.PRISMATIC:
            z = (T[2], T[5], T[8])
            r = add(r, scale(C[i, body.SIGN] * q[plan_body[i, body.Q]], z))
            store(W, i, body.R, T)
        elif kind == body.BALL:
            k = plan_body[i, body.Q]
            store(W, i, body.R, multiply(T, euler_rotation(q[k], q[k + 1], q[k + 2], q[k + 3])))
            _unit_columns(S, plan_body[i, body.DOF], speed.PARTIAL_W, T)
        elif kind == body.FREE:
            k = plan_body[i, body.Q]
            r = add(r, rotate(T, (q[k], q[k + 1], q[k + 2])))
            store(W, i, body.R, multiply(T, euler_rotation(q[k + 3], q[k + 4], q[k + 5], q[k + 6])))
            _unit_columns(S, plan_body[i, body.DOF], speed.PARTIAL_V, T)
            _unit_columns(S, plan_body[i, body.DOF] + 3, speed.PARTIAL_W, T)
        elif kind == body.BY_ADDRESS:
            if call_part(plan[GENERAL_HINGE], i, t, plan) != 1:
                return i
            continue
        else:
            store(W, i, body.R, T)
        store(W, i, body.ARM, r)
        store(W, i, body.P, add(load3(W, p, body.P), r))
    return -1


@kernel
def columns(plan, W, S):
    """Store the partials of hinges with one speed as well; the sweeps otherwise read them from R."""
    plan_body, C = bodies(plan), constants(plan)
    for i in range(1, plan_body.shape[0]):
        kind = plan_body[i, body.KIND]
        if kind == body.REVOLUTE or kind == body.PRISMATIC:
            d = plan_body[i, body.DOF]
            z = scale(C[i, body.SIGN], (W[i, body.R + 2], W[i, body.R + 5], W[i, body.R + 8]))
            zero = (0.0, 0.0, 0.0)
            if kind == body.REVOLUTE:
                store(S, d, speed.PARTIAL_W, z)
                store(S, d, speed.PARTIAL_V, zero)
            else:
                store(S, d, speed.PARTIAL_W, zero)
                store(S, d, speed.PARTIAL_V, z)


@kernel
def relative_velocity(plan, W, S, i, u):
    """Return relative angular velocity and velocity in hinge i, world components (5.2.4), (5.2.19)."""
    plan_body = bodies(plan)
    kind = plan_body[i, body.KIND]
    zero = 0.0 * W[i, body.R]  # of the scalar type in use
    omega = (zero, zero, zero)
    velocity = (zero, zero, zero)
    if kind == body.REVOLUTE or kind == body.PRISMATIC:
        rate = constants(plan)[i, body.SIGN] * u[plan_body[i, body.U]]
        z = (rate * W[i, body.R + 2], rate * W[i, body.R + 5], rate * W[i, body.R + 8])
        if kind == body.REVOLUTE:
            omega = z
        else:
            velocity = z
    else:
        d, dof = plan_body[i, body.DOF], dofs(plan)
        for k in range(plan_body[i, body.NU]):
            rate = u[dof[d + k, speed.PUBLIC]]
            omega = add(omega, scale(rate, load3(S, d + k, speed.PARTIAL_W)))
            velocity = add(velocity, scale(rate, load3(S, d + k, speed.PARTIAL_V)))
        if kind == body.BY_ADDRESS:
            omega = add(omega, load3(W, i, body.DRIFT_W))
            velocity = add(velocity, load3(W, i, body.DRIFT_V))
    return omega, velocity


@kernel
def velocities(plan, W, S, u):
    """Compute angular velocities (5.2.7) and the accelerations for ud = 0: W00, V00 (5.2.10), (5.2.24)."""
    plan_body, C = bodies(plan), constants(plan)
    for i in range(1, plan_body.shape[0]):
        p = plan_body[i, body.PARENT]
        wp = load3(W, p, body.OMEGA)
        kind = plan_body[i, body.KIND]
        arm = cross(wp, cross(wp, load3(W, i, body.ARM)))
        if kind == body.REVOLUTE:
            rate = C[i, body.SIGN] * u[plan_body[i, body.U]]
            omega = (rate * W[i, body.R + 2], rate * W[i, body.R + 5], rate * W[i, body.R + 8])
            store(W, i, body.OMEGA, add(wp, omega))
            store(W, i, body.ZETA_W, cross(wp, omega))
            store(W, i, body.ZETA_V, arm)
        else:
            omega, velocity = relative_velocity(plan, W, S, i, u)
            zeta_w = cross(wp, omega)
            zeta_v = add(arm, scale(2.0, cross(wp, velocity)))
            if kind == body.BY_ADDRESS:
                zeta_w = add(zeta_w, load3(W, i, body.HINGE_BIAS_W))
                zeta_v = add(zeta_v, load3(W, i, body.HINGE_BIAS_V))
            store(W, i, body.OMEGA, add(wp, omega))
            store(W, i, body.ZETA_W, zeta_w)
            store(W, i, body.ZETA_V, zeta_v)


@kernel
def origin_velocities(plan, W, S, u):
    """Compute velocities of the body origins (5.2.18); only applied loads and chords need them."""
    plan_body = bodies(plan)
    for i in range(1, plan_body.shape[0]):
        p = plan_body[i, body.PARENT]
        omega, velocity = relative_velocity(plan, W, S, i, u)
        carried = add(load3(W, p, body.VELOCITY), cross(load3(W, p, body.OMEGA), load3(W, i, body.ARM)))
        store(W, i, body.VELOCITY, add(carried, velocity))


@kernel
def prescribed_accelerations(plan, W, S):
    """Add the given ud of prescribed coordinates to the biases, so that the equations need not treat them."""
    prescribed, values, dof, plan_body = prescriptions(plan), signal_values(plan), dofs(plan), bodies(plan)
    for k in range(prescribed.shape[0]):
        d = prescribed[k, speed.PRESCRIBED_DOF]
        i = dof[d, speed.OWNER]
        rate = values[prescribed[k, speed.PRESCRIBED_SIGNAL], 2]
        kind = plan_body[i, body.KIND]
        if kind == body.REVOLUTE or kind == body.PRISMATIC:
            z = scale(
                constants(plan)[i, body.SIGN] * rate, (W[i, body.R + 2], W[i, body.R + 5], W[i, body.R + 8])
            )
            accumulate(W, i, body.ZETA_W if kind == body.REVOLUTE else body.ZETA_V, z)
        else:
            accumulate(W, i, body.ZETA_W, scale(rate, load3(S, d, speed.PARTIAL_W)))
            accumulate(W, i, body.ZETA_V, scale(rate, load3(S, d, speed.PARTIAL_V)))


@kernel
def turn_speeds(plan, q, u, direction):
    """Turn angular speeds of Euler parameters from the base of end a to that of the outer body, or back (-1).

    The integrator keeps them in the base of the outer body: Euler's equations are then independent of the
    attitude, and errors stay small where the motion is sensitive (a free body near its intermediate axis: 1e4
    times smaller). Their rates turn in the same way, because omega x omega = 0.
    """
    plan_body = bodies(plan)
    for i in range(1, plan_body.shape[0]):
        if plan_body[i, body.EULER] >= 0 and plan_body[i, body.REVERSED] == 0:
            a, k = (
                plan_body[i, body.Q] + plan_body[i, body.EULER],
                plan_body[i, body.U] + plan_body[i, body.EULER],
            )
            C = euler_rotation(q[a], q[a + 1], q[a + 2], q[a + 3])
            w = (u[k], u[k + 1], u[k + 2])
            w = unrotate(C, w) if direction > 0.0 else rotate(C, w)
            u[k] = w[0]
            u[k + 1] = w[1]
            u[k + 2] = w[2]


@kernel
def speeds_of_rates(plan, q, rates, u):
    """Solve q' = N(q) u for u: inverse of `coordinate_rates`, without components that leave the manifold."""
    plan_body = bodies(plan)
    for i in range(1, plan_body.shape[0]):
        iq, iu, euler = plan_body[i, body.Q], plan_body[i, body.U], plan_body[i, body.EULER]
        before = plan_body[i, body.NU] if euler < 0 else euler
        for k in range(before):
            u[iu + k] = rates[iq + k]
        if euler >= 0:
            a, w = iq + euler, iu + euler
            e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
            f = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
            r0, r1, r2, r3 = f * rates[a], f * rates[a + 1], f * rates[a + 2], f * rates[a + 3]
            u[w] = r1 * e0 - r0 * e1 + r3 * e2 - r2 * e3
            u[w + 1] = r2 * e0 - r0 * e2 + r1 * e3 - r3 * e1
            u[w + 2] = r3 * e0 - r0 * e3 + r2 * e1 - r1 * e2
            for k in range(euler + 4, plan_body[i, body.NQ]):
                u[iu + k - 1] = rates[iq + k]


@kernel
def normalise(plan, q):
    """Scale Euler parameters to length 1."""
    plan_body = bodies(plan)
    for i in range(1, plan_body.shape[0]):
        if plan_body[i, body.EULER] >= 0:
            a = plan_body[i, body.Q] + plan_body[i, body.EULER]
            s = (q[a] * q[a] + q[a + 1] * q[a + 1] + q[a + 2] * q[a + 2] + q[a + 3] * q[a + 3]) ** -0.5
            for k in range(a, a + 4):
                q[k] *= s


@kernel
def coordinate_rates(plan, q, u, rates):
    """Compute q' = N(q) u of all hinges."""
    plan_body = bodies(plan)
    for i in range(1, plan_body.shape[0]):
        rates_of_hinge(
            q,
            plan_body[i, body.Q],
            plan_body[i, body.NQ],
            u,
            plan_body[i, body.U],
            plan_body[i, body.EULER],
            rates,
        )


@kernel
def rates_of_hinge(q, iq, nq, u, iu, euler, rates):
    """Compute q' of one hinge: the speeds themselves; for Euler parameters e' = (0, omega) e / 2."""
    if euler < 0:
        for k in range(nq):
            rates[iq + k] = u[iu + k]
        return
    for k in range(euler):
        rates[iq + k] = u[iu + k]
    a, w = iq + euler, iu + euler
    e0, e1, e2, e3 = 0.5 * q[a], 0.5 * q[a + 1], 0.5 * q[a + 2], 0.5 * q[a + 3]
    x, y, z = u[w], u[w + 1], u[w + 2]
    rates[a] = -x * e1 - y * e2 - z * e3
    rates[a + 1] = x * e0 + y * e3 - z * e2
    rates[a + 2] = y * e0 + z * e1 - x * e3
    rates[a + 3] = z * e0 + x * e2 - y * e1
    for k in range(euler + 4, nq):
        rates[iq + k] = u[iu + k - 1]
