"""Bushing: an elastic connection of two frames with a 6x6 stiffness matrix."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import plain

from ..element import structure
from ..shared.finite_rotation import half, offset_in, relative_quaternion, rotation_vector, turn_back
from ..shared.linear_law import LinearElement, square_matrix


@dataclass(frozen=True, eq=False)
class Bushing(LinearElement):
    """Stiffness and damping between two frames that coincide without load.

    With the displacement d of end b in the base half-way between both ends, and the rotation vector r of b
    relative to a (the same in all three bases)::

        eps = (d, r)        F = stiffness eps + damping eps'        (3.4.7)

    Both ends may rotate freely; their relative rotation must stay below half a turn. Neither end is
    preferred.

    Parameters
    ----------
    stiffness, damping : 6 numbers or 6x6 matrix
        For x, y, z [N/m, N s/m], then for the rotations about them [N m/rad, N m s/rad]. The stiffness is
        symmetric; neither may create energy.

    Examples
    --------
    >>> Bushing([1e5, 1e5, 1e4, 50.0, 50.0, 5.0], damping=np.full(6, 10.0)).K.shape
    (6, 6)
    """

    stiffness: Any = structure()
    damping: Any = structure(default=(0.0,) * 6)
    K: Any = field(default=None, init=False, repr=False)
    B: Any = field(default=None, init=False, repr=False)

    @classmethod
    def example(cls) -> "Bushing":
        return cls(stiffness=[300.0, 300.0, 500.0, 4.0, 4.0, 6.0])

    def __post_init__(self) -> None:
        K = square_matrix(self.stiffness, f"{self.kind}.stiffness")
        if not np.allclose(plain(K), plain(K.T), rtol=1e-9, atol=1e-12 * np.max(np.abs(plain(K)))):
            raise ElementError(f"{self.kind}.stiffness is not symmetric: such a spring has no energy.")
        object.__setattr__(self, "K", 0.5 * (K + K.T))
        object.__setattr__(self, "B", square_matrix(self.damping, f"{self.kind}.damping"))

    def deformation(self, position: Floats, rotation: Floats, t: float, eps: Floats) -> None:
        w, x, y, z = relative_quaternion(rotation, 0, 1)
        h, i, j, k = half(w, x, y, z)
        a, b, c = offset_in(rotation, position, 0, 1)
        eps[0], eps[1], eps[2] = turn_back(h, i, j, k, a, b, c)
        eps[3], eps[4], eps[5] = rotation_vector(w, x, y, z)
