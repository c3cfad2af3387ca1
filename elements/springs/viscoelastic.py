"""Linear viscoelastic element between two points (3.4.4): a spring parallel to Maxwell branches."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_floats, plain

from ..element import structure
from ..energetic import Deformed, Effort, Energetic
from ..fields import make_numbers, refuse_negative, warn_negative
from ..shared.two_ends import distance


class Relaxing(Energetic):
    """Base class of elements between two points with one state and one relaxation time per branch."""

    times: Any
    length: float
    relaxed: bool
    n_deformations = 1

    @property
    def n_states(self) -> int:  # type: ignore[override]
        return len(self.times)

    @property
    def settled(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(range(self.n_states)) if self.relaxed else ()

    def deformation(self, position: Any, rotation: Any, t: Any, eps: Any) -> None:
        eps[0] = distance(position) - self.length


@dataclass(frozen=True, eq=False)
class Viscoelastic(Relaxing):
    """Generalised Maxwell element: a spring, a damper and branches (spring and dashpot in series).

    With the elongation eps = l - length and the elongation x_i of every dashpot::

        F = k eps + d eps' + sum k_i (eps - x_i)        x_i' = (eps - x_i) / tau_i

    One branch gives the standard linear solid, (3.4.4) with K_F = -1/tau, K_eps = k/tau, K_eps' = k + k_1
    (`from_rates`). After a jump of eps, F / eps = k + sum k_i exp(-t / tau_i).

    Parameters
    ----------
    stiffness : float [N/m]
        k, the stiffness that remains after a long time.
    branches : (n,) [N/m]
        k_i, not negative.
    times : (n,) [s]
        Relaxation times tau_i, positive.
    length : float [m]
        Length without tension.
    damping : float [N s/m]
        d, of a damper parallel to all others.
    relaxed : bool
        True: at the start the element is in equilibrium (assemble finds x = eps). False: it has just been
        stretched in a jump, x = 0.

    Examples
    --------
    >>> Viscoelastic(stiffness=100.0, branches=[50.0], times=[0.2], length=1.0).n_states
    1
    """

    stiffness: float
    branches: Any
    times: Any
    length: float = 0.0
    damping: float = 0.0
    relaxed: bool = structure(default=True)

    @classmethod
    def example(cls) -> "Viscoelastic":
        return cls(stiffness=50.0, branches=[30.0, 20.0], times=[0.1, 1.0], length=0.3)

    @classmethod
    def examples(cls) -> "list[Viscoelastic]":
        """Return one of one, two and three branches: the library holds them, numba compiles others."""
        return [cls(50.0, [10.0] * n, [0.1, 0.3, 1.0][:n], 0.3) for n in (1, 2, 3)]

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "length", "damping")
        refuse_negative(self, "length")
        warn_negative(self, "stiffness", "damping")
        make_branches(self, "branches", "times")

    @classmethod
    def from_rates(
        cls, K_F: float, K_eps: float, K_rate: float, length: float = 0.0, relaxed: bool = True
    ) -> "Viscoelastic":
        """Make the standard linear solid F' = K_F F + K_eps eps + K_rate eps' (3.4.4).

        >>> Viscoelastic.from_rates(-5.0, 500.0, 150.0).branches
        array([50.])
        """
        if not K_F < 0.0:
            raise ElementError(
                f"Viscoelastic.from_rates: K_F is {K_F:g}; wanted a negative number: F must relax."
            )
        k = -K_eps / K_F
        return cls(k, [K_rate - k], [-1.0 / K_F], length, relaxed=relaxed)

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        eps, rate = now.deformation[0], now.rate[0]
        F, energy = self.stiffness * eps + self.damping * rate, 0.5 * self.stiffness * eps * eps
        lost = self.damping * rate * rate
        for i in range(len(self.times)):
            stretch = eps - now.x[i]
            F += self.branches[i] * stretch
            energy += 0.5 * self.branches[i] * stretch * stretch
            lost += self.branches[i] * stretch * stretch / self.times[i]
            out.rates[i] = stretch / self.times[i]
        out.effort[0] = F
        out.energy[0] = energy
        out.dissipated[0] = lost


def make_branches(element: Any, weights: str, times: str) -> None:
    """Turn the weights and times of branches into arrays (n,); refuse branches that do not relax."""
    kind = element.kind
    for name in (weights, times):
        given = getattr(element, name)
        try:
            numbers: Floats = as_floats(given)
        except (TypeError, ValueError):
            raise ElementError(f"{kind}.{name} is {given!r}: wanted numbers, one for each branch.") from None
        if numbers.ndim != 1 or not len(numbers) or not np.all(np.isfinite(plain(numbers))):
            raise ElementError(f"{kind}.{name} is {given!r}: wanted finite numbers, one for each branch.")
        object.__setattr__(element, name, numbers)
    w, tau = getattr(element, weights), getattr(element, times)
    if len(w) != len(tau):
        raise ElementError(
            f"{kind}: {len(w)} {weights} and {len(tau)} {times}; wanted as many of both: one for each branch."
        )
    if np.any(w < 0.0):
        raise ElementError(
            f"{kind}.{weights} is {w}: wanted no negative number, a branch must not gain energy."
        )
    if np.any(tau <= 0.0):
        raise ElementError(f"{kind}.{times} is {tau}: wanted positive relaxation times.")
