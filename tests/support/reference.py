"""The dense matrix formulas of chapters 5 and 6, written plainly: slow, obvious, and the oracle of the sweeps.

Hinges keep the direction in which they were declared, so a reversed one shows as signs in S and T; the compiled
sweeps turn its motion round instead. Every 3-vector is in world components; block matrices have one row per
speed and three columns per body, as in the thesis.
"""

from dataclasses import dataclass

import numpy as np

from treemech.elements.compilation.callback import python_self
from treemech.elements.load import EndLoad, EndMotion


def tilde(a):
    """Return the matrix with a x b = tilde(a) @ b."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


@dataclass
class Dense:
    """Everything about one state; blocks over bodies 1 .. nb."""

    R: list  # rotations, ground first
    r: np.ndarray  # (nb+1, 3) origins
    omega: np.ndarray  # (nb+1, 3)
    rdot: np.ndarray  # (nb+1, 3)
    WT: np.ndarray  # (nu, 3 nb)
    UT: np.ndarray  # (nu, 3 nb)
    omega_bias: np.ndarray  # (3 nb,) angular accelerations for ud = 0
    r_bias: np.ndarray  # (3 nb,) accelerations of the origins for ud = 0
    A: np.ndarray
    Q: np.ndarray
    terms: np.ndarray  # largest single term that entered each component of Q
    kinetic: float
    potential: float


def signed_location(tree):
    """Return S with the declared directions: +1 where hinge k ends (b), -1 where it starts (a), (4.3.1)."""
    nb = len(tree.branches)
    L = np.zeros((nb + 1, nb))
    for k, branch in enumerate(tree.branches):
        a, b = (tree.numbers[end.body.name] for end in branch.connection.ends)
        L[b, k] += 1.0
        L[a, k] -= 1.0
    return L


def dense(mech, t, q, u, loads=()):
    tree, lagrange = mech.tree, mech._lagrange
    nb, nu = len(tree.branches), mech.nu
    by_number = {c.number: c for c in lagrange.hinges}
    L = signed_location(tree)
    T = np.linalg.inv(L[1:])  # (4.3.8)
    # positions, from the ground outwards (5.2.1), (5.2.13)
    R, r = [np.eye(3)] + [None] * nb, np.zeros((nb + 1, 3))
    hinge = {}
    for k in range(1, nb + 1):
        c = by_number[k]
        a, b = c.connection.ends
        na, nb_ = tree.numbers[a.body.name], tree.numbers[b.body.name]
        G = c.hinge.base()
        m = c.hinge.motion(q[c.q_slice], u[c.u_slice], t)
        if c.forward:
            base = R[na] @ a.rotation @ G
            R[k] = base @ m.rotation @ (b.rotation @ G).T
            r[k] = r[na] + R[na] @ a.offset + base @ m.offset - R[k] @ b.offset
        else:
            R[k] = R[nb_] @ b.rotation @ G @ m.rotation.T @ (a.rotation @ G).T
            base = R[k] @ a.rotation @ G
            r[k] = r[nb_] + R[nb_] @ b.offset - base @ m.offset - R[k] @ a.offset
        hinge[k] = (c, na, nb_, base, m)
    # W, w0 and V, v0 block diagonal (5.2.5), (5.2.20); D: omega -> omega_a x (b_a + c) - omega_b x b_b
    W, V = np.zeros((nu, 3 * nb)), np.zeros((nu, 3 * nb))
    w0, v0 = np.zeros(3 * nb), np.zeros(3 * nb)
    D = np.zeros((3 * nb, 3 * nb))
    for k, (c, na, nb_, base, m) in hinge.items():
        s = slice(3 * (k - 1), 3 * k)
        W[c.u_slice, s] = m.rotation_partials @ base.T
        V[c.u_slice, s] = m.translation_partials @ base.T
        w0[s], v0[s] = base @ m.rotation_drift, base @ m.translation_drift
        a, b = c.connection.ends
        if na > 0:
            D[s, 3 * (na - 1) : 3 * na] -= tilde(R[na] @ a.offset + base @ m.offset)
        if nb_ > 0:
            D[s, 3 * (nb_ - 1) : 3 * nb_] += tilde(R[nb_] @ b.offset)
    T3 = np.kron(T, np.eye(3))
    WT = W @ T3  # (5.2.7)
    UT = (V + WT @ D.T) @ T3  # (5.2.23)
    omega = WT.T @ u + T3.T @ w0
    rdot = UT.T @ u + T3.T @ (v0 + D @ (T3.T @ w0))
    full_omega, full_rdot = (
        np.vstack((np.zeros(3), omega.reshape(-1, 3))),
        np.vstack((np.zeros(3), rdot.reshape(-1, 3))),
    )
    # biases (5.2.10), (5.2.26)
    W00, V00 = np.zeros(3 * nb), np.zeros(3 * nb)
    for k, (c, na, nb_, base, m) in hinge.items():
        s = slice(3 * (k - 1), 3 * k)
        a, b = c.connection.ends
        wa, wb = full_omega[na], full_omega[nb_]
        relative = W[c.u_slice, s].T @ u[c.u_slice] + w0[s]
        v = V[c.u_slice, s].T @ u[c.u_slice] + v0[s]
        arm = R[na] @ a.offset + base @ m.offset
        W00[s] = base @ m.rotation_bias + np.cross(wa, relative)
        V00[s] = (
            np.cross(wa, np.cross(wa, arm)) - np.cross(wb, np.cross(wb, R[nb_] @ b.offset))
            + 2 * np.cross(wa, v) + base @ m.translation_bias
        )  # fmt: skip
    omega_bias = T3.T @ W00
    r_bias = T3.T @ (V00 + D @ omega_bias)
    # equations of motion (6.2.12), about the centres of mass
    A, Q, kinetic, potential = np.zeros((nu, nu)), np.zeros(nu), 0.0, 0.0
    terms = np.zeros(nu)
    g = mech._core.layout.plan.gravity
    for k in range(1, nb + 1):
        body, s = tree.bodies[k], slice(3 * (k - 1), 3 * k)
        d, J, w = R[k] @ body.com, R[k] @ body.inertia @ R[k].T, full_omega[k]
        Um = UT[:, s] + np.cross(WT[:, s], d)
        bias = r_bias[s] + np.cross(omega_bias[s], d) + np.cross(w, np.cross(w, d))
        A += body.mass * Um @ Um.T + WT[:, s] @ J @ WT[:, s].T
        parts = (
            Um @ (body.mass * g), -Um @ (body.mass * bias),
            -WT[:, s] @ np.cross(w, J @ w), -WT[:, s] @ (J @ omega_bias[s]),
        )  # fmt: skip
        for part in parts:
            Q += part
            terms = np.maximum(terms, np.abs(part))
        v = full_rdot[k] + np.cross(w, d)
        kinetic += 0.5 * (body.mass * v @ v + w @ J @ w)
        potential -= body.mass * g @ (r[k] + d)
    for load in loads:
        place = load.ends[0]
        k = tree.numbers[place.body.name]
        s = slice(3 * (k - 1), 3 * k)
        arm = R[k] @ place.offset
        end = EndMotion(
            r[k] + arm, R[k] @ place.rotation, full_rdot[k] + np.cross(full_omega[k], arm), full_omega[k]
        )
        out = EndLoad(np.zeros(3), np.zeros(3))
        type(load.element).evaluate(python_self(load.element, t), end, t, out)
        part = UT[:, s] @ out.force + WT[:, s] @ (out.moment + np.cross(arm, out.force))
        Q += part
        terms = np.maximum(terms, np.abs(part))
    return Dense(R, r, full_omega, full_rdot, WT, UT, omega_bias, r_bias, A, Q, terms, kinetic, potential)
