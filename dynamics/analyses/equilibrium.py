"""Equilibrium: positions in which nothing accelerates, at rest or at constant rates (relative equilibrium).

The equations (balance_equations) are solved by Newton's method with exact derivatives, in independent
coordinates; the chains are closed after every step. A step is shortened until the next one, taken with the
same derivatives, is shorter (the natural monotonicity test of Deuflhard: it does not depend on the units of
the equations, so that stretching a slender beam counts as little as it moves). If that fails, the unbalanced
part is taken away step by step, which for a structure under a dead load is load stepping. Downhill, steps are
shortened until the loads do work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.manifold import move
from treemech.kinematics.rows import worst_row
from treemech.topology import ConvergenceError
from treemech.topology.arrays import Floats

from ..model.core import Core
from ..model.tree_derivatives import TreeDerivatives
from ..simulation.diagnosis import usual_inertia
from .balance_equations import BalanceEquations, Motion, Point, Step, largest, least
from .linearization import Linearization

_STEPS = 100
_WEIGHTLESS = (
    1e-10  # inertia relative to the usual one: 1e-5 rad from a position of a hinge where a direction is lost
)
_BALANCED = 1e-11  # residual relative to the largest load of a hinge of the tree or of an element
_SHORTEST = 1e-4  # part of a Newton step
_LOAD_STEP, _SHORTEST_LOAD_STEP, _ROUGH = 0.1, 1e-3, 1e-3  # parts of the unbalanced loads


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Position of equilibrium, and whether the mechanism stays there.

    Attributes
    ----------
    state : State
        Position with its constant rates.
    loads : dict
        Loads that hold fixed and driven coordinates, by name. All other coordinates need none.
    multipliers : array
        Of the chords.
    linearization : Linearization
        Small motions about it, without those of fixed and driven coordinates.
    stable : bool or None
        True if small motions stay small, False if one grows, None if the position is neutral: nothing brings
        some displacement back nor drives it away, up to 1e-6 of the loads that act on it
        (dynamics.analyses.stability).
    """

    state: Any
    loads: dict[str, float]
    multipliers: Floats
    linearization: Linearization
    iterations: int
    stable: bool | None

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        return self.linearization.eigenvalues


class Balance(NamedTuple):
    """Position of equilibrium, as arrays."""

    q: Floats
    u: Floats
    z: Floats
    loads: Floats  # A ud - Q - P^T lambda (nu,): loads that hold the coordinates
    multipliers: Floats
    iterations: int


def balance(
    core: Core,
    tree: TreeDerivatives,
    t: float,
    q: Floats,
    motion: Motion,
    close: Callable[[Floats], Floats],
    downhill: bool = False,
    length: float = 1.0,
) -> Balance:
    """Find an equilibrium from q, a closed position of a mechanism of some length [m].

    `close` returns the nearest closed position.

    If Newton's method fails, the unbalanced loads are taken away in steps. If that fails too, or with
    `downhill` from the start, steps follow the loads, with every stiffness taken as positive, as long as the
    loads do work; so an unstable equilibrium is left again. If all fail, the residual may rise on the way.
    """
    usual, search = usual_inertia(core, t), _Search(core, tree, t, q, motion, close, length)

    def found(point: Point) -> bool:
        return _balances(point) and not _weightless(core, t, point, usual)

    start = search.start
    here = search.descend(start, downhill=True) if downhill else search.newton(start)
    if not found(here) and not downhill:
        here = search.in_load_steps(start)
    if not found(here) and not downhill and not motion.sought:
        here = search.descend(start, downhill=True)
    if not found(here):
        there = search.descend(start)
        if found(there) and downhill:
            there = search.descend(there, downhill=True)
        here = there if found(there) else here
    if _balances(here) and (weak := _weightless(core, t, here, usual)):
        raise ConvergenceError(
            f"no equilibrium found: the search ended where {weak!r} moves no inertia, so that loads on it say nothing (Bryant "
            "angles at a right angle, a polar hinge at its centre). Start elsewhere, or use a hinge without such a position."
        )
    if not _balances(here):
        _refuse(core, t, here)
    _refuse_unsteady(core, t, here)
    return Balance(
        here.q,
        here.u,
        here.z,
        here.loads - here.partials.T @ here.multipliers,
        here.multipliers,
        search.steps,
    )


def _balances(here: Point) -> bool:
    return here.size <= 1e3 * _BALANCED * max(here.scale, 1e-300)


def _refuse_unsteady(core: Core, t: float, here: Point) -> None:
    """Raise an error if the constraints demand accelerations at these rates."""
    if core.loops is None:
        return
    bias = core.constraints(t, here.q, here.u).bias
    if largest(bias) > 1e-8 * (1.0 + largest(here.u) ** 2):
        name, gap = worst_row(core.layout.chords.rows, bias)
        raise ConvergenceError(
            f"no relative equilibrium found at these rates: for {name!r} to stay closed coordinates must accelerate "
            f"({gap:.3g} m/s2, rad/s2). Give rates of coordinates that turn the mechanism as a whole, or start nearer to it."
        )


def _refuse(core: Core, t: float, here: Point) -> None:
    """Raise an error that names what does not balance."""
    loads, x_rates, slip = largest(here.unbalanced), largest(here.x_rates), largest(here.slip)
    if slip * here.scale > loads and slip > x_rates:
        rows = [
            row
            for row, own in zip(core.layout.chords.rows, core.layout.chords.nonholonomic, strict=True)
            if own
        ]
        name, gap = worst_row(rows, here.slip * (1.0 + largest(here.u)))
        raise ConvergenceError(
            f"no relative equilibrium found at these rates: {name!r} slips by {gap:.3g} (m/s, rad/s) if nothing else moves. "
            "Start nearer to a steady motion, give the rates of all coordinates that move in it, or name rates to be found in "
            "free=."
        )
    if x_rates * here.scale > loads:
        name = core.layout.efforts.z_names[int(np.argmax(np.abs(here.x_rates)))]
        raise ConvergenceError(
            f"no equilibrium found: the state {name!r} does not come to rest. Start nearer to it, or fix what drives it."
        )
    worst = int(np.argmax(np.abs(here.unbalanced)))
    raise ConvergenceError(
        f"no equilibrium found: {core.coordinates.u_names[worst]!r} is out of balance by {abs(here.unbalanced[worst]):.3g} (N, "
        "N m). Start nearer to it, fix what has no place of its own, or give the rates it turns with."
    )


def _weightless(core: Core, t: float, here: Point, usual: Floats) -> str:
    """Name a speed with nearly none of its usual inertia on some balanced displacement; "" if there is none.

    In such a position of a hinge a direction is lost. Loads in that direction do nothing there, so they seem
    to balance.
    """
    if not here.N.shape[1]:
        return ""
    A = core.mass_matrix(t, here.q)
    root = np.sqrt(np.maximum(np.diag(A), usual))
    scaled = np.linalg.qr(root[:, None] * here.N)[0]
    values, vectors = np.linalg.eigh(scaled.T @ (A / root[:, None] / root) @ scaled)
    if values[0] > _WEIGHTLESS:
        return ""
    return core.coordinates.u_names[int(np.argmax(np.abs(scaled @ vectors[:, 0])))]


class _Left(NamedTuple):
    """Values of the equations that are still allowed, in the order of Point: zero in the end."""

    unbalanced: Floats
    x_rates: Floats
    slip: Floats

    def size(self, here: Point) -> float:
        gaps = (
            here.unbalanced - here.N @ (here.N.T @ self.unbalanced),
            here.x_rates - self.x_rates,
            here.slip - self.slip,
        )
        parts = [np.sum(gap**2) for gap in gaps]
        return float(np.sqrt(parts[0] + here.scale**2 * (parts[1] + parts[2])))


class _Linear:
    """Newton's equations at one point, factorised once: they give the steps from there and from points nearby."""

    def __init__(self, equations: BalanceEquations, here: Point) -> None:
        slope = equations.slope(here)
        self.equations, self.here, self.moves = equations, here, slope.moves

        def by(part: tuple[Floats, Floats, Floats]) -> Floats:
            return np.hstack((part[0] @ slope.moves, *part[1:]))

        J = np.vstack(
            (here.N.T @ by(slope.loads), here.scale * by(slope.x_rates), here.scale * by(slope.slip))
        )
        self.inverse = _inverse(J)

    def step(self, there: Point, left: _Left) -> Step:
        """Return the step that would bring linear equations from their values at a point to what is left."""
        here, n, k = self.here, self.moves.shape[1], self.moves.shape[1] + len(self.equations.motion.sought)
        gap = (
            here.N.T @ (there.unbalanced - left.unbalanced),
            here.scale * (there.x_rates - left.x_rates),
            here.scale * (there.slip - left.slip),
        )
        x = -self.inverse @ np.concatenate(gap)
        return Step(self.moves @ x[:n], x[n:k], self.equations.state_sizes * x[k:])


def _inverse(J: Floats) -> Floats:
    """Return the inverse of a regular matrix, the pseudoinverse of any other."""
    if J.shape[0] == J.shape[1] and J.size:
        try:
            inverse = np.linalg.inv(J)
            if np.linalg.norm(J) * np.linalg.norm(inverse) < 1e10:
                return np.asarray(inverse)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.pinv(J, rcond=1e-10)) if J.size else np.zeros(J.shape[::-1])


class _Search:
    """Ways to an equilibrium from one start."""

    def __init__(
        self,
        core: Core,
        tree: TreeDerivatives,
        t: float,
        q: Floats,
        motion: Motion,
        close: Callable[[Floats], Floats],
        length: float,
    ) -> None:
        self.core, self.motion, self.close, self.steps = core, motion, close, 0
        z = core.work.z[: core.nz].copy()
        self.equations = BalanceEquations(core, tree, t, q, motion, length)
        self.start = self.equations.at(q, z, motion.rates)

    def moved(self, here: Point, step: Step, factor: float) -> Point | None:
        """Return the closed point after a part of a step; None if there is none."""
        rates, z = here.rates.copy(), here.z.copy()
        rates[self.motion.sought] += factor * step.rates
        z[: self.core.nx] += factor * step.z
        try:
            self.core.work.z[: self.core.nz] = z
            q = self.close(move(self.core.coordinates, here.q, factor * step.q))
            there = self.equations.at(q, z, rates)
        except ConvergenceError:
            return None
        return there if np.isfinite(there.size) else None

    def length(self, step: Step) -> float:
        """Return the length of a step, every coordinate measured by its longest step."""
        z = step.z / self.equations.state_sizes
        return float(
            np.sqrt(np.sum((step.q / self.equations.reach) ** 2) + np.sum(step.rates**2) + np.sum(z**2))
        )

    def within_reach(self, step: Step) -> float:
        """Return the part of a step in which no coordinate moves by more than its longest step."""
        return min(1.0, 1.0 / max(largest(step.q / self.equations.reach), 1e-300))

    def newton(
        self, here: Point, left: _Left | None = None, enough: float = 0.0, most: int = _STEPS
    ) -> Point:
        """Take Newton steps that pass the natural monotonicity test, until what is left is met to `enough`.

        By default nothing is left, and steps are taken as long as they improve a balance.
        """
        left, before, factor = left or _nothing(here), np.inf, 1.0
        for _ in range(most):
            size = left.size(here)
            if size <= enough or (size <= _BALANCED * here.scale and not size < 0.1 * before):
                return here
            before, linear = size, _Linear(self.equations, here)
            step = linear.step(here, left)
            length, factor, there = self.length(step), min(1.0, 4.0 * factor, self.within_reach(step)), None
            while factor > _SHORTEST:
                there = self.moved(here, step, factor)
                if there is not None:
                    follows = self.length(linear.step(there, left))
                    if (
                        follows <= (1.0 - 0.25 * factor) * length
                        or left.size(there) <= _BALANCED * there.scale
                    ):
                        break
                factor, there = 0.5 * factor, None
            if there is None:
                return here
            self.steps += 1
            here = there
        return here

    def in_load_steps(self, start: Point) -> Point:
        """Take the unbalanced part of the start away in steps, then balance what remains."""
        all_of_it, done, part, here = (
            _Left(start.unbalanced, start.x_rates, start.slip),
            0.0,
            _LOAD_STEP,
            start,
        )
        enough = _ROUGH * start.size
        while done < 1.0:
            ahead = min(1.0, done + part)
            left = _Left(*((1.0 - ahead) * x for x in all_of_it))
            before = self.steps
            there = self.newton(here, left, enough * part, 15)
            if left.size(there) > enough * part:
                part *= 0.5
                if part < _SHORTEST_LOAD_STEP:
                    return here
                continue
            here, done = there, ahead
            part *= 2.0 if self.steps - before <= 4 else 1.0
        return self.newton(here)

    def descend(self, here: Point, downhill: bool = False) -> Point:
        """Take Newton steps whose residual may rise; `downhill`, steps along which the loads do work."""
        for _ in range(_STEPS):
            balanced = here.size <= _BALANCED * here.scale
            if balanced and not downhill:
                return self.newton(here)
            step, falls = (
                self._downhill(here, balanced)
                if downhill
                else (_Linear(self.equations, here).step(here, _nothing(here)), False)
            )
            if balanced and not falls:
                return here
            factor = self.within_reach(step)
            for _ in range(30):
                there = self.moved(here, step, factor)
                if there is not None and (not downhill or _works(here, there, factor * step.q)):
                    break
                factor, there = 0.5 * factor, None
            if there is None:
                return here
            self.steps += 1
            here = there
        return here

    def _downhill(self, here: Point, balanced: bool) -> tuple[Step, bool]:
        """Return a step with every stiffness taken as positive, and whether a balance is left by it as unstable."""
        slope, usual = self.equations.slope(here), self.equations.state_sizes
        follow = -least(slope.x_rates[2], slope.x_rates[0])  # states at rest
        K = here.N.T @ (slope.loads[0] + slope.loads[2] @ follow) @ here.N
        values, V = np.linalg.eigh(0.5 * (K + K.T))
        if balanced:
            falls = bool(len(values) and values[0] < -1e-6 * largest(values))
            q = here.N @ V[:, 0] if falls else np.zeros(self.core.nu)
            return Step(q, np.zeros(0), usual * (follow @ q)), falls
        stiffness = np.maximum(np.abs(values), 1e-3 * largest(values) + 1e-300)
        q = here.N @ (V @ (-(V.T @ (here.N.T @ here.unbalanced)) / stiffness))
        return Step(q, np.zeros(0), usual * (follow @ q - least(slope.x_rates[2], here.x_rates))), False


def _nothing(here: Point) -> _Left:
    return _Left(0.0 * here.unbalanced, 0.0 * here.x_rates, 0.0 * here.slip)


def _works(here: Point, there: Point, step: Floats) -> bool:
    """Tell whether the loads do work along a step, or nearly balance after it."""
    before = float(here.unbalanced @ step)
    work = 0.5 * (before + float(there.unbalanced @ step))
    return work <= min(0.1 * before, 0.0) or there.size < 0.1 * here.size
