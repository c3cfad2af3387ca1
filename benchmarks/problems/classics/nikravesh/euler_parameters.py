"""A free body under a body-fixed moment, and the identities of Euler parameters (Nikravesh 11.1-11.6, ME751).

Data of the problems: p = (0.5, 0.7, -0.5, 0.1), f' = (3, -2, -1) at s' = (1, -1, 2), so n' = (5, 7, 1); inertia (2, 3, 4)
and omega' = (1, 2, 3) are ours. The library gives attitude, angular velocity and acceleration; the matrices G and L of
the book, made from its coordinates, must turn them into one another, along the whole run. Known values are recomputed.
"""

import numpy as np

import treemech as tm

P, INERTIA, SPIN = np.array([0.5, 0.7, -0.5, 0.1]), (2.0, 3.0, 4.0), np.array([1.0, 2.0, 3.0])
ARM, PUSH = (1.0, -1.0, 2.0), (3.0, -2.0, -1.0)
DURATION = 2.0
SIMULATE = {"rtol": 1e-10}
PLOTS = [
    ("flight.q[3]", "flight.q[4]", "flight.q[5]", "flight.q[6]"),
    ("flight.u[3]", "flight.u[4]", "flight.u[5]"),
]


def tilde(a) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def G(p) -> np.ndarray:
    return np.hstack([-p[1:, None], tilde(p[1:]) + p[0] * np.eye(3)])


def L(p) -> np.ndarray:
    return np.hstack([-p[1:, None], -tilde(p[1:]) + p[0] * np.eye(3)])


def system() -> tm.System:
    system = tm.System("Euler parameters", gravity=(0, 0, 0))
    body = system.body("body", mass=1.0, inertia=INERTIA)
    system.connect("flight", tm.Free(), system.ground, body)
    system.load("push", tm.Force(*PUSH, frame="body"), body.at(ARM))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(q={"flight": [0, 0, 0, *P]}, u={"flight": [0, 0, 0, *(G(P) @ L(P).T @ SPIN)]})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    body, q, J = run.body("body"), run.connection("flight").q[:, 3:], np.diag(INERTIA)
    A, w, w1 = body.rotation[0], body.angular_velocity, body.angular_acceleration
    rates = np.array([0.5 * G(p).T @ x for p, x in zip(q, w, strict=True)])  # p' = 1/2 G^T omega
    p, p1 = q[0], rates[0]
    p2 = 0.5 * G(p).T @ w1[0] - 0.25 * (w[0] @ w[0]) * p
    star = 4 * L(p).T @ J @ L(p)
    moment = np.cross(ARM, PUSH)
    own = [np.linalg.norm(x) for x in (L(p) @ p, G(p) @ p, G(p) @ p1 + G(p1) @ p, 4 * p1 @ p1 - w[0] @ w[0])]
    n_star = 2 * L(p).T @ moment
    return {
        "A (11.6)": A,
        "A = G L^T along the run": max(
            np.abs(G(x) @ L(x).T - R).max() for x, R in zip(q, body.rotation, strict=True)
        ),
        "omega' = 2 L p' along the run": max(
            np.abs(R.T @ x - 2 * L(y) @ r).max()
            for R, x, y, r in zip(body.rotation, w, q, rates, strict=True)
        ),
        "n of the moment (11.6)": A @ moment,
        "n* of the moment (11.6)": n_star,
        "eigenvalues of J* (11.1)": np.linalg.eigvalsh(star),
        "J* p (11.1)": star @ p,
        "J* from J in world axes (11.2)": np.abs(star - 4 * G(p).T @ A @ J @ A.T @ G(p)).max(),
        "p' (11.3)": p1,
        "p'' (11.3, 11.4)": p2,
        "rate of omega' by formulation III (11.4)": A.T @ w1[0],
        "sigma (11.3)": n_star @ p + 8 * p1 @ L(p).T @ J @ L(p) @ p1,
        "energy of rotation (11.5)": run.energy.kinetic[0],
        "half of p' J* p' (11.5)": 0.5 * p1 @ star @ p1,
        "identities": own,
    }


WHERE = "recomputed: the formulas of the chapter with these data"
KNOWN = {
    "A (11.6)": ([[0.48, -0.80, -0.36], [-0.60, 0.00, -0.80], [0.64, 0.60, -0.48]], 1e-14, WHERE),
    "A = G L^T along the run": (0.0, 1e-12, "identity"),
    "omega' = 2 L p' along the run": (0.0, 1e-12, "identity"),
    "n of the moment (11.6)": ([-3.56, -3.80, 6.92], 1e-13, WHERE),
    "n* of the moment (11.6)": ([-0.2, 2.6, 6.6, 15.8], 1e-13, WHERE),
    "eigenvalues of J* (11.1)": ([0, 8, 12, 16], 1e-12, "0 and 4 J'"),
    "J* p (11.1)": ([0, 0, 0, 0], 1e-13, "identity"),
    "J* from J in world axes (11.2)": (0.0, 1e-12, "identity"),
    "p' (11.3)": ([0, -0.6, -0.5, 1.7], 1e-13, WHERE),
    "p'' (11.3, 11.4)": ([-0.4791666667, -2.7291666667, 2.8958333333, 0.9791666667], 1e-9, WHERE),
    "rate of omega' by formulation III (11.4)": ([-0.5, 4.3333333333, -0.25], 1e-9, WHERE),
    "sigma (11.3)": (100.0, 1e-11, WHERE),
    "energy of rotation (11.5)": (25.0, 1e-12, WHERE),
    "half of p' J* p' (11.5)": (25.0, 1e-12, WHERE),
    "identities": ([0, 0, 0, 0], 1e-13, "L p = G p = 0, G p' = -G' p, 4 p'.p' = omega^2"),
}
