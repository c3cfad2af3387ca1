"""Stability of an equilibrium by its small motions: stable, unstable, or neutral.

A mode d (displacements) is neutral if nothing brings it back nor drives it away: the load of its
displacement, d^H A ud(d), is less than 1e-6 of the loads that act on it. These are the weights and inertia
loads of the bodies, each times its displacement, and the stiffness of elements, without regard to sign: where
they cancel only rounding remains, and its sign means nothing. A mode that is not neutral grows if the real
part of its eigenvalue exceeds 1e-6 of it.
"""

import numpy as np

from treemech.topology.arrays import Floats

from ..model.core import Core
from ..model.trace import ACCELERATION, OMEGA, ROTATION, VELOCITY
from ..model.tree_derivatives import TreeDerivatives
from .linearization import Linearization

NEUTRAL = 1e-6  # load of a displacement relative to the loads that act on it
GROWING = 1e-6  # real part of an eigenvalue relative to its size
_ROUNDING = 1e-12  # of an eigenvalue, relative to the largest


def stability(
    core: Core, tree: TreeDerivatives, t: float, q: Floats, u: Floats, small: Linearization
) -> bool | None:
    """Return True (stable), False (unstable) or None (neutral) of an equilibrium with these small motions."""
    values, vectors = np.linalg.eig(small.A)
    if not len(values):
        return True
    shapes = small.displacements[: core.nu] @ vectors
    A, stiffness, ends = core.mass_matrix(t, q), _stiffness(core, tree, t, q, u), _Weights(core, t, q, u)
    moving = np.array([name.endswith("'") for name in small.states])  # rates do not count
    largest, neutral = float(np.max(np.abs(values))), False
    for value, shape, vector in zip(values, shapes.T, vectors.T, strict=True):
        size = float(np.max(np.abs(shape), initial=0.0))
        if size > 1e-12 * float(np.max(np.abs(vector))):
            load = abs(np.vdot(shape, A @ (small.accelerations @ np.where(moving, 0.0, vector))))
            acting = size * ends.loads(shape) + np.abs(shape) @ stiffness @ np.abs(shape)
            alone = load <= NEUTRAL * acting
        else:
            alone = abs(value) <= NEUTRAL * largest
        if not alone and value.real > GROWING * abs(value) + _ROUNDING * largest:
            return False
        neutral = neutral or alone
    return None if neutral else True


def _stiffness(core: Core, tree: TreeDerivatives, t: float, q: Floats, u: Floats) -> Floats:
    """Return the sizes of the stiffness of all elements (nu, nu)."""
    zero = np.zeros(core.nu)
    with_elements = tree.inverse_dynamics(t, q, u, zero)[0]
    with core.unloaded():
        return np.abs(with_elements - tree.inverse_dynamics(t, q, u, zero)[0])


class _Weights:
    """Weight and inertia load of every body, to be weighed with the displacement of the body."""

    def __init__(self, core: Core, t: float, q: Floats, u: Floats) -> None:
        n, bodies, frames = core.nu, core.tree.bodies[1:], core.layout.plan.frames[1:]
        with core.unloaded(), core.undriven():
            speeds = np.vstack((u, np.zeros((1, n)), np.eye(n)))
            rows = np.full(n + 2, t), np.repeat(q[None], n + 2, axis=0), speeds, np.zeros((n + 2, n))
            trace, _ = core.trace(*rows)
        mass, com = np.array([b.mass for b in bodies]), np.array([b.com for b in bodies]).reshape(-1, 3)
        arms = np.einsum("kij,kj->ki", trace[0, 1:, ROTATION].reshape(-1, 3, 3), com)
        velocity = trace[:, 1:, VELOCITY] + np.cross(trace[:, 1:, OMEGA], arms)
        self.shifts = velocity[2:] - velocity[1]  # (nu, bodies, 3) of the centres of mass
        self.turns = trace[2:, 1:, OMEGA] - trace[1, 1:, OMEGA]
        levers = frames[:, 9:12] + np.einsum("kij,kj->ki", frames[:, :9].reshape(-1, 3, 3), com)
        gyration = [np.sqrt(np.max(np.abs(b.inertia)) / b.mass) if b.mass > 0.0 else 0.0 for b in bodies]
        self.levers = np.linalg.norm(levers, axis=1) + gyration  # about the hinge of each body
        gravity = float(np.linalg.norm(core.layout.plan.gravity))
        self.forces = mass * (gravity + np.linalg.norm(trace[0, 1:, ACCELERATION], axis=1))

    def loads(self, shape: Floats) -> float:
        """Return the sum of all forces, each times the displacement of its body."""
        shift, turn = (
            np.linalg.norm(np.abs(np.tensordot(shape, x, axes=1)), axis=1) for x in (self.shifts, self.turns)
        )
        return float(self.forces @ (shift + self.levers * turn))
