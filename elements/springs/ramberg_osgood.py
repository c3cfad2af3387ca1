"""Ramberg and Osgood's spring between two points: an implicit law f(F, eps) = 0 (3.4.5)."""

from dataclasses import dataclass
from typing import Any

from treemech.topology.errors import ElementError

from ..energetic import Deformed, Effort, Energetic
from ..fields import make_numbers, refuse_negative, refuse_unless_positive
from ..shared.two_ends import distance


@dataclass(frozen=True)
class RambergOsgood(Energetic):
    """Softening spring. Its elongation is given as a function of the force, so the law is implicit (3.4.5)::

        eps = F / k + (a / k) F |F / F_y|^(n - 1)        energy = F^2 / 2k + (a / k) n / (n + 1) F^2 |F / F_y|^(n - 1)

    It unloads along the same curve (nonlinear elastic).

    Parameters
    ----------
    stiffness : float [N/m]
        k, at zero force.
    yield_force : float [N]
        F_y, at which the second term is `softening` times the first.
    softening : float
        a.
    exponent : float
        n, 1 or more.
    length : float [m]
        Length without tension.

    Examples
    --------
    >>> RambergOsgood(stiffness=1e4, yield_force=50.0, length=1.0).exponent
    5.0
    """

    stiffness: float
    yield_force: float
    softening: float = 3.0 / 7.0
    exponent: float = 5.0
    length: float = 0.0
    n_deformations = 1

    @classmethod
    def example(cls) -> "RambergOsgood":
        return cls(stiffness=100.0, yield_force=10.0)

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "yield_force", "softening", "exponent", "length")
        refuse_unless_positive(self, "stiffness", "yield_force")
        refuse_negative(self, "length")
        if self.softening < 0.0 or self.exponent < 1.0:
            raise ElementError(
                f"RambergOsgood: softening {self.softening:g}, exponent {self.exponent:g}; wanted 0 or more and 1 or more: "
                "the force must grow with the elongation."
            )

    def deformation(self, position: Any, rotation: Any, t: Any, eps: Any) -> None:
        eps[0] = distance(position) - self.length

    def law(self, now: Deformed, effort: Any, t: float, f: Any) -> None:
        F = effort[0]
        more = self.softening * abs(F / self.yield_force) ** (self.exponent - 1.0)
        f[0] = F * (1.0 + more) - self.stiffness * now.deformation[0]

    def balance(self, now: Deformed, t: float, out: Effort) -> None:
        F, n = out.effort[0], self.exponent
        more = self.softening * abs(F / self.yield_force) ** (n - 1.0)
        out.energy[0] = F * F / self.stiffness * (0.5 + more * n / (n + 1.0))
