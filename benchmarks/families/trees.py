"""Model families that scale: random but seeded geometry and inertia, one function per family."""

from collections.abc import Callable, Sequence
from math import pi
from typing import Any

import numpy as np

import treemech as tm
from treemech.topology.arrays import Floats

HingeMaker = Callable[[int], Any]


def random_rotation(rng: np.random.Generator) -> Floats:
    """Return a rotation matrix, uniformly distributed."""
    from treemech.elements.hinges.ball import euler_rotation

    rotation = np.eye(3)
    a, b, c, d = rng.normal(size=4)
    euler_rotation(a, b, c, d, rotation)
    return rotation


def random_inertia(rng: np.random.Generator, mass: float) -> Floats:
    """Return a physically possible inertia about the centre of mass."""
    B = rng.normal(size=(3, 3))
    S = 0.01 * mass * (B @ B.T + np.eye(3))
    return np.asarray(np.trace(S) * np.eye(3) - S)


def random_tree(name: str, parents: Sequence[int], hinge: HingeMaker, seed: int) -> tm.System:
    """Return a tree: body k hangs by hinge(k) on body parents[k] (-1: the ground), at a random place."""
    rng = np.random.default_rng(seed)
    system = tm.System(name)
    bodies: list[Any] = []
    for k, parent in enumerate(parents):
        mass = float(rng.uniform(0.5, 2.0))
        body = system.body(f"b{k}", mass, random_inertia(rng, mass), com=rng.uniform(-0.15, 0.15, 3))
        base = system.ground if parent < 0 else bodies[parent]
        system.connect(f"h{k}", hinge(k), base.at(rng.uniform(-0.3, 0.3, 3), random_rotation(rng)), body)
        bodies.append(body)
    return system


def chain(n: int, hinge: HingeMaker | None = None, name: str | None = None) -> tm.System:
    """Return a chain of n hinges, revolutes by default.

    >>> chain(7).build().nu
    7
    """
    return random_tree(name or f"chain {n}", [k - 1 for k in range(n)], hinge or (lambda k: tm.Revolute()), n)


def balls(n: int = 50) -> tm.System:
    """Return a chain of ball joints."""
    return chain(n, lambda k: tm.Ball(), f"balls {n}")


def binary_tree(depth: int = 7) -> tm.System:
    """Return a binary tree of 2^depth - 1 revolutes, declared depth first."""
    parents: list[int] = []

    def grow(parent: int, levels: int) -> None:
        if levels:
            me = len(parents)
            parents.append(parent)
            grow(me, levels - 1)
            grow(me, levels - 1)

    grow(-1, depth)
    return random_tree(f"tree {len(parents)}", parents, lambda k: tm.Revolute(), 5)


def humanoid() -> tm.System:
    """Return a free body with 30 revolutes: two legs of 6, a trunk of 2 with two arms of 7 and a head of 2."""
    parents = [-1]

    def limb(start: int, length: int) -> int:
        for _ in range(length):
            parents.append(start)
            start = len(parents) - 1
        return start

    limb(0, 6)
    limb(0, 6)
    trunk = limb(0, 2)
    limb(trunk, 7)
    limb(trunk, 7)
    limb(trunk, 2)
    return random_tree("humanoid", parents, lambda k: tm.Revolute() if k else tm.Free(), 9)


def hanging_chain(n: int, length: float = 0.1) -> tm.System:
    """Return n slender links of 1 kg in a plane, hanging on the ground; q = 0 is straight down."""
    system = tm.System(f"hanging chain {n}", gravity=(0.0, 0.0, -9.81))
    end: Any = system.ground
    for k in range(n):
        a = length**2 / 12
        link = system.body(f"link{k}", 1.0, (a, a, 0.0), com=(0.0, 0.0, -0.5 * length))
        system.connect(f"pin{k}", tm.Revolute("y"), end, link)
        end = link.at((0.0, 0.0, -length))
    return system


def double_pendulum() -> tm.System:
    """Return two slender bars of 1 m and 1 kg."""
    return hanging_chain(2, 1.0)


def raised(mech: tm.Mechanism, degrees: float = 30.0) -> tm.State:
    """Return the state of a hanging chain pulled aside as one straight line, at rest."""
    q = np.zeros(mech.nq)
    q[0] = degrees * pi / 180
    return mech.state(q=q)


def random_states(mech: tm.Mechanism, count: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Return q, u, ud of `count` random states, row by row."""
    rng = np.random.default_rng(seed)
    q = [np.concatenate([c.hinge.sample(rng) for c in mech._lagrange.hinges]) for _ in range(count)]
    return np.array(q), rng.normal(size=(count, mech.nu)), rng.normal(size=(count, mech.nu))


# name -> System, as the table of the core shows them
FAMILIES: dict[str, Callable[[], tm.System]] = {
    "chain 7": lambda: chain(7),
    "chain 30": lambda: chain(30),
    "chain 100": lambda: chain(100),
    "chain 300": lambda: chain(300),
    "tree 127": binary_tree,
    "humanoid": humanoid,
    "balls 50": balls,
}
