"""Random models for the laws: trees with every hinge kind in them, seeded."""

import numpy as np

import treemech as tm

TOLERANCE_NOTE = "tolerances live in tests.support.tolerances"


def rotation(rng):
    """Return a random rotation matrix."""
    a = rng.normal(size=4)
    w, x, y, z = a / np.linalg.norm(a)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def inertia(rng, mass):
    """Return a physically possible inertia."""
    B = rng.normal(size=(3, 3))
    S = 0.01 * mass * (B @ B.T + np.eye(3))
    return np.trace(S) * np.eye(3) - S


def any_hinge(rng, kind):
    """Return a hinge of a kind, with random parameters."""
    axis = rng.normal(size=3)
    return {
        "Rigid": lambda: tm.Rigid(),
        "Revolute": lambda: tm.Revolute(axis),
        "Prismatic": lambda: tm.Prismatic(axis),
        "Cylindrical": lambda: tm.Cylindrical(axis),
        "Screw": lambda: tm.Screw(pitch=float(rng.uniform(-0.3, 0.3)), axis=axis),
        "Universal": lambda: tm.Universal(),
        "Planar": lambda: tm.Planar(axis),
        "Translation": lambda: tm.Translation(),
        "Ball": lambda: tm.Ball(),
        "BallBryant": lambda: tm.BallBryant(),
        "Free": lambda: tm.Free(),
        "Polar": lambda: tm.Polar(axis),
        "Curve": lambda: tm.Curve(np.cumsum(rng.uniform(0.1, 0.5, size=(8, 3)), axis=0)),
        "Moving": lambda: tm.Moving(
            x=tm.Harmonic(0.2, 3.0), z=tm.Polynomial([0.1, 0.3, -0.2]), turn_x=tm.Harmonic(0.4, 2.0, 0.3),
            turn_y=tm.Polynomial([0.1, 0.5]), turn_z=0.3,
        ),
    }[kind]()  # fmt: skip


KINDS = (
    "Rigid", "Revolute", "Prismatic", "Cylindrical", "Screw", "Universal", "Planar", "Translation", "Ball",
    "BallBryant", "Free", "Polar", "Curve", "Moving",
)  # fmt: skip


def random_system(seed, n=12, kinds=KINDS, reverse=0.4, loads=True, gravity=(0.3, -0.5, -9.0), branching=2):
    """Return a random tree of n bodies.

    Every kind occurs if n is large enough. The order of hinges is random.
    """
    rng = np.random.default_rng(seed)
    system = tm.System(f"random {seed}", gravity=gravity)
    bodies = [system.ground]
    for k in range(n):
        mass = float(rng.uniform(0.5, 2.0))
        bodies.append(system.body(f"b{k + 1}", mass, inertia(rng, mass), com=rng.uniform(-0.2, 0.2, 3)))
    order = [kinds[k % len(kinds)] for k in range(n)]
    rng.shuffle(order)
    edges = [(k + 1, int(rng.integers(max(0, k + 1 - branching - 1), k + 1)), order[k]) for k in range(n)]
    for j in rng.permutation(n):
        child, parent, kind = edges[j]
        ends = [
            bodies[parent].at(rng.uniform(-0.4, 0.4, 3), rotation(rng)),
            bodies[child].at(rng.uniform(-0.4, 0.4, 3), rotation(rng)),
        ]
        if rng.uniform() < reverse:
            ends.reverse()
        system.connect(f"h{child}", any_hinge(rng, kind), *ends)
    if loads:
        system.load(
            "push", tm.Force(x=1.5, y=tm.Harmonic(2.0, 3.0), frame="body"), bodies[n].at((0.1, 0.2, 0.3))
        )
        system.load("wind", tm.Force(z=-2.0), bodies[n // 2].at((0.0, 0.1, 0.0)))
        system.load("twist", tm.Moment(x=0.3, z=0.7, frame="body"), bodies[max(1, n // 3)])
    return system


def random_state(mech, seed, speed=1.0):
    """Return a random state within the domains of the hinges."""
    rng = np.random.default_rng(seed)
    q = np.concatenate([np.zeros(0), *(c.hinge.sample(rng) for c in mech._lagrange.hinges)])
    return mech.state(t=float(rng.uniform(0, 1)), q=q, u=speed * rng.normal(size=mech.nu))
