"""States next to a state, with all chains closed."""

from dataclasses import replace

import numpy as np


def closed_nearby(blueprint, mech, state, size, k=0, direction=None):
    """Return a closed state next to a state, with its speeds disturbed too."""
    rng, free = np.random.default_rng(k), blueprint.free_speeds(mech)
    v, w = (free * rng.normal(size=mech.nu) for _ in range(2))
    if direction is not None:
        v, w = direction
    q = _moved(mech, state.q, size * v)
    for _ in range(6):
        rows = mech.constraints(replace(state, q=q))
        if np.abs(rows.residual).max(initial=0.0) < 1e-13:
            break
        step = np.zeros(mech.nu)
        step[free] = -np.linalg.lstsq(rows.partials[:, free], rows.residual, rcond=1e-9)[0]
        q = _moved(mech, q, step)
    u = state.u + size * w
    for _ in range(2):
        rows = mech.constraints(replace(state, q=q, u=u))
        u[free] -= np.linalg.lstsq(rows.partials[:, free], rows.velocity, rcond=1e-9)[0]
    return replace(state, q=q, u=u)


def _moved(mech, q, step):
    q = q.copy()
    for c in mech._lagrange.hinges:
        q[c.q_slice] = c.hinge.move(q[c.q_slice], step[c.u_slice])
    return q


def displacement(mech, q0, q):
    """Return the small motion from q0 to q, measured as the speeds do (an odd function of it, to third order)."""
    step = np.zeros(mech.nu)
    for c in mech._lagrange.hinges:
        a, b, k = q0[c.q_slice], q[c.q_slice], c.hinge.euler_parameters
        if k is None:
            step[c.u_slice] = b - a
            continue
        n = c.hinge.n_coordinates
        own = np.zeros(n - 1)
        own[:k], own[k + 3 :] = (b - a)[:k], (b - a)[k + 4 :]
        e, f = a[k : k + 4], b[k : k + 4]
        # vector part of f conj(e), times 2: the rotation in the base of end a
        vector = -f[0] * e[1:] + e[0] * f[1:] - np.cross(f[1:], e[1:])
        sine = np.linalg.norm(vector)
        own[k : k + 3] = 2.0 * vector * (np.arcsin(sine) / sine if sine > 1e-12 else 1.0)
        step[c.u_slice] = own
    return step
