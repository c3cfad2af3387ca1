"""Light bodies that carry heavy ones cost no more digits than a dense solution with pivoting does.

The truth is computed with fifty decimal digits from the equations of a plane chain of point masses, and of a
cart with a pole.
"""

from decimal import Decimal, localcontext

import numpy as np
import pytest

import treemech as tm

G = 9.81


def sine_and_cosine(x):
    sine = cosine = Decimal(0)
    term, k = Decimal(1), 0
    while abs(term) > Decimal(10) ** -60 or k < 4:
        if k % 2:
            sine += term if k % 4 == 1 else -term
        else:
            cosine += term if k % 4 == 0 else -term
        k += 1
        term *= x / k
    return sine, cosine


def solved(A, b):
    """Solve A x = b in exact pivoted elimination, up to the digits of the context."""
    A, b, n = [row[:] for row in A], list(b), len(b)
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(A[i][k]))
        A[k], A[p], b[k], b[p] = A[p], A[k], b[p], b[k]
        for i in range(k + 1, n):
            f = A[i][k] / A[k][k]
            A[i] = [x - f * y for x, y in zip(A[i], A[k], strict=True)]
            b[i] -= f * b[k]
    x = [Decimal(0)] * n
    for k in reversed(range(n)):
        x[k] = (b[k] - sum(A[k][j] * x[j] for j in range(k + 1, n))) / A[k][k]
    return x


def chain(masses, lengths):
    system = tm.System("chain", gravity=(0, 0, -G))
    place = system.ground.at()
    for k, (mass, length) in enumerate(zip(masses, lengths, strict=True)):
        body = system.body(f"b{k}", mass, (0, 0, 0), com=(0, 0, -length))
        system.connect(f"h{k}", tm.Revolute("y"), place, body)
        place = body.at((0, 0, -length))
    return system.build()


def true_chain(masses, lengths, q, u):
    """Return the accelerations of the chain: sum_j M_ij phi_j'' = -mu l_i l_j sin(phi_i - phi_j) phi_j'^2 - ..."""
    with localcontext() as context:
        context.prec = 60
        m, l = [Decimal(float(x)) for x in masses], [Decimal(float(x)) for x in lengths]
        q, u, n = [Decimal(float(x)) for x in q], [Decimal(float(x)) for x in u], len(m)
        phi, w = [sum(q[: k + 1]) for k in range(n)], [sum(u[: k + 1]) for k in range(n)]
        A, b = [[Decimal(0)] * n for _ in range(n)], [Decimal(0)] * n
        for i in range(n):
            b[i] = -sum(m[i:]) * Decimal(G) * l[i] * sine_and_cosine(phi[i])[0]
            for j in range(n):
                s, c = sine_and_cosine(phi[i] - phi[j])
                A[i][j] = sum(m[max(i, j) :]) * l[i] * l[j] * c
                b[i] -= sum(m[max(i, j) :]) * l[i] * l[j] * s * w[j] ** 2
        x = [float(a) for a in solved(A, b)]
    return np.diff(x, prepend=0.0)


def errors(mech, state, truth):
    """Return the relative errors of forward dynamics and of a dense solution of the same equations."""
    dense = np.linalg.solve(mech.mass_matrix(state), mech.load_column(state))
    size = np.abs(truth).max()
    return [np.abs(x - truth).max() / size for x in (mech.forward_dynamics(state).ud, dense)]


@pytest.mark.parametrize("masses", [
    (1.0, 1e-10, 1.0, 1e-10, 1.0), (1e-10, 1e-10, 1e-10, 1.0, 1.0), (1e10, 1.0, 1e-3, 1.0, 1e6), (1e-6, 1.0),
], ids=str)  # fmt: skip
def test_light_bodies_in_a_chain(masses):
    rng = np.random.default_rng(len(masses))
    lengths = rng.uniform(0.3, 1.0, len(masses))
    mech, found = chain(masses, lengths), []
    for _ in range(60):
        q, u = rng.uniform(-2.0, 2.0, len(masses)), rng.normal(size=len(masses))
        found.append(errors(mech, mech.state(q=q, u=u), true_chain(masses, lengths, q, u)))
    ours, dense = np.array(found).T
    assert np.median(ours) < 2.0 * np.median(dense) + 1e-15
    assert np.max(ours) < 3.0 * np.max(dense) + 1e-14


def test_a_cart_of_a_millionth_of_the_mass_of_its_pole():
    light, m, l = 1e-6, 1.0, 0.5
    system = tm.System("cart-pole", gravity=(0, 0, -G))
    cart = system.body("cart", light, (0, 0, 0))
    pole = system.body("pole", m, (0, 0, 0), com=(0, 0, -l))
    system.connect("x", tm.Prismatic("x"), system.ground, cart)
    system.connect("A", tm.Revolute("y"), cart, pole)
    mech, found, rng = system.build(), [], np.random.default_rng(3)
    for _ in range(300):
        A, w = rng.uniform(-3.0, 3.0), rng.normal()
        s, c = np.sin(A), np.cos(A)
        divisor = light + m * s * s
        way = -m * s * (l * w * w + G * c) / divisor
        turn = -((light + m) * G * s + m * l * w * w * s * c) / (l * divisor)
        truth = np.array([way, turn])
        found.append(errors(mech, mech.state(q=[0.3, A], u=[0.1, w]), truth))
    ours, dense = np.array(found).T
    assert np.median(ours) < 2.0 * np.median(dense) + 1e-15
    assert np.max(ours) < 3.0 * np.max(dense) + 1e-14
