"""Linear elements between two frames (3.4.7): F = K eps + B eps'."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import plain

from ..energetic import Deformed, Effort, Energetic, motion_views
from ..fields import as_numbers


class LinearElement(Energetic):
    """Base class of bushings and beams: the fields K (stiffness) and B (damping), and a rest offset."""

    K: Any
    B: Any
    n_deformations = 6

    def rest(self) -> Floats:
        """Return the offset of end b in the base of end a without load."""
        return np.zeros(3)

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        for i in range(6):
            elastic, viscous = 0.0, 0.0
            for j in range(6):
                elastic += self.K[i, j] * now.deformation[j]
                viscous += self.B[i, j] * now.rate[j]
            out.effort[i] = elastic + viscous
            out.energy[0] += 0.5 * elastic * now.deformation[i]
            out.dissipated[0] += viscous * now.rate[i]

    def sample(self, rng: "np.random.Generator", t: float) -> Floats:
        """Return a random motion near rest: the ends are displaced and turned by some tenths."""
        record = super().sample(rng, t)
        motion = motion_views(record, self.n)
        base = motion.rotation[0]
        motion.rotation[1] = base @ small_turn(rng)
        size = 0.1 * max(1.0, float(np.linalg.norm(self.rest())))
        motion.position[1] = motion.position[0] + base @ (self.rest() + size * rng.uniform(-1.0, 1.0, 3))
        return record


def small_turn(rng: "np.random.Generator") -> Floats:
    """Return a random rotation by some tenths (Cayley)."""
    turn = 0.3 * rng.uniform(-1.0, 1.0, 3)
    axis = np.array([[0, -turn[2], turn[1]], [turn[2], 0, -turn[0]], [-turn[1], turn[0], 0]])
    return np.asarray(np.linalg.solve(np.eye(3) - 0.5 * axis, np.eye(3) + 0.5 * axis), dtype=np.float64)


def square_matrix(given: ArrayLike, what: str) -> Floats:
    """Return 6 numbers or a 6x6 matrix as a matrix; refuse negative eigenvalues."""
    K = as_numbers(given, what, "6 finite numbers or a 6x6 matrix", (6,), (6, 6))
    K = np.diag(K) if K.ndim == 1 else K
    values = np.linalg.eigvalsh(plain(0.5 * (K + K.T)))
    if values[0] < -1e-9 * max(values[-1], -values[0]):
        raise ElementError(f"{what} has the negative eigenvalue {values[0]:.3g}: it would create energy.")
    return K
