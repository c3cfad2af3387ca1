"""Fung's quasi-linear viscoelastic element between two points (3.4.3): Prony series, or with history."""

from dataclasses import dataclass, field
from math import expm1, floor, log1p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError
from treemech.topology.parameter import as_floats, plain

from ..element import structure
from ..energetic import Deformed, Effort, EndsMotion, Energetic
from ..fields import make_numbers, refuse_negative, refuse_unless_positive
from ..shared.splines import cubic_coefficients, monotone_coefficients
from ..shared.two_ends import distance
from .viscoelastic import Relaxing, make_branches

_EARLY = 1e-6  # part of the time between samples by which a step may end before the time of one, by rounding


@dataclass(frozen=True, eq=False)
class Fung(Relaxing):
    """Fung's relaxation integral (3.4.3) with a Prony series, G(t) = G_oo + sum g_i exp(-t / tau_i), G(0) = 1.

    With the elongation eps = l - length, the elastic response E and a state z_i for each term::

        F = int G(t - s) E'(eps) eps' ds = E(eps) - sum g_i z_i         z_i' = (E(eps) - z_i) / tau_i
        E(eps) = stiffness (exp(stiffening eps) - 1) / stiffening,      stiffness eps if stiffening = 0

    Stored energy and dissipation follow from W = int E deps and the elongation eps_i at which E(eps_i) = z_i.
    Neither can be negative, because E increases with eps::

        energy = G_oo W(eps) + sum g_i (W(eps) - W(eps_i) - z_i (eps - eps_i))
        dissipated = sum g_i (E(eps) - z_i) (eps - eps_i) / tau_i

    Parameters
    ----------
    stiffness : float [N/m]
        Of the elastic response at eps = 0, positive.
    weights : (n,)
        g_i, not negative, their sum at most 1.
    times : (n,) [s]
        Relaxation times tau_i.
    length : float [m]
        Length without tension.
    stiffening : float [1/m]
        Growth rate of the response.
    relaxed : bool
        True: at the start the element is in equilibrium (assemble finds z_i = E). False: it has just been
        stretched in a jump, z_i = 0.

    Examples
    --------
    >>> Fung(stiffness=200.0, weights=[0.3, 0.2], times=[0.1, 1.0], stiffening=5.0).n_states
    2
    """

    stiffness: float
    weights: Any
    times: Any
    length: float = 0.0
    stiffening: float = 0.0
    relaxed: bool = structure(default=True)

    @classmethod
    def example(cls) -> "Fung":
        return cls(stiffness=50.0, weights=[0.3, 0.2], times=[0.1, 1.0], length=0.3)

    @classmethod
    def examples(cls) -> "list[Fung]":
        """Return one of one, two and three terms: the library holds them, numba compiles others."""
        return [cls(50.0, [0.2] * n, [0.1, 0.3, 1.0][:n], 0.3) for n in (1, 2, 3)]

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "length", "stiffening")
        refuse_unless_positive(self, "stiffness")
        refuse_negative(self, "length")
        make_branches(self, "weights", "times")
        if np.sum(self.weights) > 1.0 + 1e-12:
            raise ElementError(
                f"Fung.weights add up to {np.sum(self.weights):g}: wanted at most 1, so that G stays positive."
            )

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        eps, k, b = now.deformation[0], self.stiffness, self.stiffening
        E, W = response(k, b, eps), response_energy(k, b, eps)
        F, energy, lost = E, W, 0.0
        for i in range(len(self.times)):
            g, z = self.weights[i], now.x[i]
            back = response_inverse(k, b, z)
            F -= g * z
            energy -= g * (response_energy(k, b, back) + z * (eps - back))
            lost += g * (E - z) * (eps - back) / self.times[i]
            out.rates[i] = (E - z) / self.times[i]
        out.effort[0] = F
        out.energy[0] = energy
        out.dissipated[0] = lost


@dataclass(frozen=True, eq=False)
class FungHistory(Energetic):
    """Fung's relaxation integral (3.4.3) with any relaxation function, summed over the deformation history.

    The deformation is stored at the start and at all multiples of span / (samples - 1); steps end there, whatever the
    integrator, its tolerance, and the times at which a run begins or goes on. The integral is the trapezoidal sum over these samples and the present
    deformation, of second order in their distance, which `rtol` does not control: compare with a run with
    twice as many samples. Before the oldest stored sample the deformation is taken as constant.
    With weights w_k of the samples (by partial summation; G_k = G(t - t_k)), and with G_b = G at the age of
    the start, or G_oo if it started relaxed::

        F = G_b E + sum w_k (E - E_k)        w_k = (G_k+1 - G_k-1) / 2
        energy = G_b W + sum w_k (W - W_k - E_k (eps - eps_k))              dissipated = -d(energy)/dt at standing eps

    so the power balance is exact. The dissipation is that of a relaxing material except for the error of the
    sum. An element that does not start relaxed jumps at the first accepted step: choose a small
    ``first_step``.

    Parameters
    ----------
    stiffness : float [N/m]
        Stiffness of the elastic response E (see `Fung`) at eps = 0.
    times, relaxation : (n,)
        Table of G: times from 0 [s], G positive and decreasing. It is interpolated by a cubic spline, or, if
        that would increase anywhere, by monotone cubics (their second derivative jumps at every time, so work
        and dissipation balance less closely). G is constant after the end of the table.
    span : float [s]
        Length of the remembered history.
    length, stiffening, relaxed
        As in `Fung`.
    samples : int
        Number of remembered samples.

    Examples
    --------
    >>> FungHistory.fung(stiffness=100.0, c=0.2, tau_1=0.01, tau_2=10.0, span=30.0).n_memory
    402
    """

    stiffness: float
    times: ArrayLike = structure()
    relaxation: ArrayLike = structure()
    span: float  # type: ignore[misc]
    length: float = 0.0
    stiffening: float = 0.0
    relaxed: bool = structure(default=True)
    samples: int = structure(default=200)
    knots: Any = field(default=None, init=False, repr=False)
    table: Any = field(default=None, init=False, repr=False)
    stood: float = field(default=0.0, init=False, repr=False)
    n_deformations = 1

    @classmethod
    def example(cls) -> "FungHistory":
        return cls(stiffness=50.0, times=[0.0, 0.1, 1.0], relaxation=[1.0, 0.7, 0.5], span=1.0, length=0.3)

    @classmethod
    def examples(cls) -> "list[FungHistory]":
        """Return one with the usual number of samples: the library holds it, numba compiles others."""
        return [cls.example()]

    def __post_init__(self) -> None:
        make_numbers(self, "stiffness", "span", "length", "stiffening")
        refuse_unless_positive(self, "stiffness", "span")
        refuse_negative(self, "length")
        if not isinstance(self.samples, int) or self.samples < 2:
            raise ElementError(f"FungHistory.samples is {self.samples!r}: wanted an integer of at least 2.")
        s, G = as_floats(self.times), as_floats(self.relaxation)
        if s.ndim != 1 or s.shape != G.shape or len(s) < 2 or not np.all(np.diff(s) > 0.0) or s[0] != 0.0:
            raise ElementError(
                "FungHistory: times and relaxation must be equally long, at least 2, times increasing from 0."
            )
        if not np.all(np.isfinite(plain(G))) or not np.all(np.diff(G) <= 0.0) or G[-1] < 0.0:
            raise ElementError("FungHistory.relaxation must fall with time and not become negative.")
        object.__setattr__(self, "knots", s)
        object.__setattr__(self, "table", _falling(s, G))
        object.__setattr__(self, "stood", float(self.relaxed))

    @classmethod
    def fung(
        cls, stiffness: float, c: float, tau_1: float, tau_2: float, span: float, **options: Any
    ) -> "FungHistory":
        """Make an element with Fung's relaxation function of constant damping between two times.

        With the exponential integral E1::

            G(t) = (1 + c (E1(t / tau_2) - E1(t / tau_1))) / (1 + c log(tau_2 / tau_1))
        """
        if not 0.0 < tau_1 < tau_2 or not c > 0.0:
            raise ElementError(
                f"FungHistory.fung: c = {c:g}, tau_1 = {tau_1:g}, tau_2 = {tau_2:g}; wanted c > 0 and 0 < tau_1 < tau_2."
            )
        from scipy.special import exp1

        s = np.geomspace(1e-3 * tau_1, 30.0 * tau_2, 600)
        G = (1.0 + c * (exp1(s / tau_2) - exp1(s / tau_1))) / (1.0 + c * np.log(tau_2 / tau_1))
        return cls(stiffness, np.append(0.0, s), np.append(1.0, np.minimum(G, 1.0)), span, **options)

    @property
    def n_memory(self) -> int:  # type: ignore[override]
        return 2 + 2 * self.samples

    @property
    def remembers_every(self) -> float:  # type: ignore[override]
        return self.span / (self.samples - 1.0)

    def deformation(self, position: Any, rotation: Any, t: Any, eps: Any) -> None:
        eps[0] = distance(position) - self.length

    def effort(self, now: Deformed, t: float, out: Effort) -> None:
        eps, k, b, memory = now.deformation[0], self.stiffness, self.stiffening, now.memory
        E, W = response(k, b, eps), response_energy(k, b, eps)
        workspace = (len(memory) - 2) // 2
        count = int(memory[0])
        held = min(count, workspace)
        end = len(self.knots) - 1
        base, fall = self.table[0, 0], 0.0  # G and its rate for the part that counts since the start
        if self.stood > 0.5:
            base, fall = relaxation(self.knots, self.table, self.knots[end])
        elif held > 0:
            base, fall = relaxation(self.knots, self.table, t - memory[1])
        F, energy, lost = base * E, base * W, -fall * W
        G, dG = base, fall
        if held > 0:
            G, dG = relaxation(self.knots, self.table, t - memory[2 + 2 * ((count - held) % workspace)])
        G_before, dG_before = 2.0 * base - G, 2.0 * fall - dG  # so that w_0 = (G_1 + G_0) / 2 - G_b
        for j in range(held):
            slot = 2 + 2 * ((count - held + j) % workspace)
            G_next, dG_next = self.table[0, 0], 0.0  # after the last sample comes the present
            if j + 1 < held:
                G_next, dG_next = relaxation(
                    self.knots, self.table, t - memory[2 + 2 * ((count - held + j + 1) % workspace)]
                )
            w, dw = 0.5 * (G_next - G_before), 0.5 * (dG_next - dG_before)
            E_k = response(k, b, memory[slot + 1])
            part = W - response_energy(k, b, memory[slot + 1]) - E_k * (eps - memory[slot + 1])
            F += w * (E - E_k)
            energy += w * part
            lost -= dw * part
            G_before, dG_before, G, dG = G, dG, G_next, dG_next
        out.effort[0] = F
        out.energy[0] = energy
        out.dissipated[0] = lost

    def remember(self, motion: EndsMotion, t: float, memory: Floats) -> None:
        workspace = (len(memory) - 2) // 2
        count = int(memory[0])
        if count > 0:
            last, every = memory[2 + 2 * ((count - 1) % workspace)], self.span / (workspace - 1.0)
            if floor(t / every + _EARLY) <= floor(last / every + _EARLY):
                return
        else:
            memory[1] = t
        slot = 2 + 2 * (count % workspace)
        memory[slot] = t
        memory[slot + 1] = distance(motion.position) - self.length
        memory[0] = count + 1.0


def response(k: float, b: float, eps: float) -> float:
    """Return E(eps): Fung's exponential, by its series where it is almost linear, so that slopes by b are exact there."""
    x = b * eps
    if abs(x) < 1e-2:
        series = 1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0)))
        return k * eps * (1.0 + x / 2.0 * (1.0 + x / 3.0 * series))
    return k * expm1(x) / b


def response_inverse(k: float, b: float, E: float) -> float:
    """Return the eps at which E(eps) = E."""
    eps = E / k
    x = b * eps
    if abs(x) < 1e-2:
        series = 1.0 / 4.0 - x * (1.0 / 5.0 - x * (1.0 / 6.0 - x * (1.0 / 7.0 - x / 8.0)))
        return eps * (1.0 - x * (1.0 / 2.0 - x * (1.0 / 3.0 - x * series)))
    return log1p(x) / b


def response_energy(k: float, b: float, eps: float) -> float:
    """Return W = int E deps."""
    x = b * eps
    if abs(x) < 1e-2:
        return 0.5 * k * eps * eps * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0))))
    return k * (expm1(x) - x) / (b * b)


def _falling(s: Floats, G: Floats) -> Floats:
    """Return coefficients (n - 1, 4), constant first, of a decreasing interpolant of G.

    It is the cubic spline if that decreases everywhere, else monotone cubics.
    """
    from scipy.interpolate import PPoly

    if len(s) > 2:
        c = cubic_coefficients(s, G)
        slope = PPoly(plain(c), plain(s)).derivative()
        where = np.concatenate((plain(s), slope.derivative().roots(extrapolate=False)))
    if len(s) == 2 or np.any(slope(where[np.isfinite(where)]) > 0.0):
        c = monotone_coefficients(s, G)
    return np.ascontiguousarray(c.T[:, ::-1])


def relaxation(knots: Floats, table: Floats, age: float) -> tuple[float, float]:
    """Return G and its slope at an age, from cubics between the knots; G is constant outside."""
    n = len(knots) - 1
    if age >= knots[n]:
        x = knots[n] - knots[n - 1]
        a, b, c, d = table[n - 1, 0], table[n - 1, 1], table[n - 1, 2], table[n - 1, 3]
        return a + x * (b + x * (c + x * d)), 0.0
    if age <= 0.0:
        return table[0, 0], table[0, 1]
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= age:
            low = middle
        else:
            high = middle
    x = age - knots[low]
    a, b, c, d = table[low, 0], table[low, 1], table[low, 2], table[low, 3]
    return a + x * (b + x * (c + x * d)), b + x * (2.0 * c + x * 3.0 * d)
