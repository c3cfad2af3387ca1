"""Equilibrium: positions in which nothing accelerates, at rest or at constant rates (relative equilibrium).

The loads balance on all displacements that the constraints allow: N^T (A ud - Q) = 0 with ud = 0, together
with the rates of element states, x' = 0. Newton's method solves this in independent coordinates with exact
derivatives. The chains are closed after every step; steps are limited, and shortened until the residual falls
or, downhill, until the loads do work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.closure import move
from treemech.kinematics.plan.columns import body
from treemech.kinematics.rank import null_space
from treemech.kinematics.rows import worst_row
from treemech.topology import ConvergenceError
from treemech.topology.arrays import Floats

from ..model.core import Core
from ..model.reaction_dependent import ReactionDependent
from ..model.row_derivatives import row_derivatives
from ..model.tree_derivatives import TreeDerivatives
from ..simulation.diagnosis import usual_inertia
from .linearization import Linearization

_STEPS, _LONGEST = 100, 0.3
_WEIGHTLESS = (
    1e-10  # inertia relative to the usual one: 1e-5 rad from a position of a hinge where a direction is lost
)
_BALANCED = 1e-11  # residual relative to the largest load of a hinge of the tree or of an element


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
    """

    state: Any
    loads: dict[str, float]
    multipliers: Floats
    linearization: Linearization
    iterations: int

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        return self.linearization.eigenvalues

    @property
    def stable(self) -> bool:
        """Whether no eigenvalue has a positive real part (by more than rounding)."""
        values = self.eigenvalues
        largest = float(np.max(np.abs(values), initial=0.0))
        return bool(np.max(values.real, initial=-np.inf) <= 1e-6 * largest)


class Balance(NamedTuple):
    """Position of equilibrium, as arrays."""

    q: Floats
    u: Floats
    z: Floats
    loads: Floats  # A ud - Q - P^T lambda (nu,): loads that hold the coordinates
    multipliers: Floats
    iterations: int


class Motion(NamedTuple):
    """Coordinates that may move, coordinates whose loads must balance, and their rates."""

    movable: NDArray[np.bool_]
    balanced: NDArray[np.bool_]
    rates: Floats  # (nu,) of driven coordinates
    driven: NDArray[np.bool_]
    sought: list[int]  # rates to be found


class _Point(NamedTuple):
    """Equations at one position."""

    q: Floats
    u: Floats
    z: Floats  # states of elements and what they remember
    loads: Floats  # A 0 - Q
    partials: Floats
    N: Floats  # displacements on which the loads must balance
    residual: Floats
    x_rates: Floats  # rates of element states, each divided by its size
    size: float
    scale: float


def balance(
    core: Core,
    tree: TreeDerivatives,
    t: float,
    q: Floats,
    motion: Motion,
    close: Callable[[Floats], Floats],
    downhill: bool = False,
) -> Balance:
    """Find an equilibrium by Newton's method from q, a closed position.

    `close` returns the nearest closed position.

    Steps must reduce the residual. If that fails, or with `downhill` from the start, steps follow the loads
    instead, with every stiffness taken as positive, as long as the loads do work; so an unstable equilibrium
    is left again. If both fail (slender beams: every straight step stretches them), the residual may rise on
    the way.
    """
    usual = usual_inertia(core, t)

    def found(point: _Point) -> bool:
        return _balances(point) and not _weightless(core, t, point, usual)

    here, rates, iteration = _descend(core, tree, t, q, motion, close, downhill)
    if not found(here) and not downhill and not motion.sought:
        here, rates, iteration = _descend(core, tree, t, q, motion, close, True)
    if not found(here):
        there = _descend(core, tree, t, q, motion, close, False, bold=True)
        if found(there[0]) and downhill:
            lower = _descend(core, tree, t, there[0].q, motion, close, True)
            there = (*lower[:2], there[2] + lower[2])
        here, rates, iteration = there if found(there[0]) else (here, rates, iteration)
    if _balances(here) and (weak := _weightless(core, t, here, usual)):
        raise ConvergenceError(
            f"no equilibrium found: the search ended where {weak!r} moves no inertia, so that loads on it say nothing (Bryant "
            "angles at a right angle, a polar hinge at its centre). Start elsewhere, or use a hinge without such a position."
        )
    if not _balances(here):
        unbalanced, names = here.N @ here.residual, core.coordinates.u_names
        if _size(here.x_rates) * here.scale > _size(unbalanced):
            name = core.layout.efforts.z_names[int(np.argmax(np.abs(here.x_rates)))]
            raise ConvergenceError(
                f"no equilibrium found: the state {name!r} does not come to rest. Start nearer to it, or fix what drives it."
            )
        worst = int(np.argmax(np.abs(unbalanced)))
        raise ConvergenceError(
            f"no equilibrium found: {names[worst]!r} is out of balance by {abs(unbalanced[worst]):.3g} (N, N m). Start "
            "nearer to it, fix what has no place of its own, or give the rates it turns with."
        )
    if core.loops is not None:
        bias = core.constraints(t, here.q, here.u).bias
        if _size(bias) > 1e-8 * (1.0 + _size(here.u) ** 2):
            name, gap = worst_row(core.layout.chords.rows, bias)
            raise ConvergenceError(
                f"no relative equilibrium at these rates: for {name!r} to stay closed coordinates must accelerate "
                f"({gap:.3g} m/s2, rad/s2). Give rates of coordinates that turn the mechanism as a whole."
            )
    chosen = motion.balanced
    multipliers = _least(here.partials[:, chosen].T, here.loads[chosen])
    return Balance(here.q, here.u, here.z, here.loads - here.partials.T @ multipliers, multipliers, iteration)


def _balances(here: _Point) -> bool:
    return here.size <= 1e3 * _BALANCED * here.scale


def _weightless(core: Core, t: float, here: _Point, usual: Floats) -> str:
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


def _descend(
    core: Core,
    tree: TreeDerivatives,
    t: float,
    q: Floats,
    motion: Motion,
    close: Callable[[Floats], Floats],
    downhill: bool,
    bold: bool = False,
) -> tuple[_Point, Floats, int]:
    """Take Newton steps. Return the last point, its rates and the number of steps.

    `bold`: whole steps, even if the residual rises.
    """
    rates, z = motion.rates.copy(), core.work.z[: core.nz].copy()
    sizes = _rate_sizes(core, tree, t, q, z, rates)
    here, before = _evaluate(core, t, q, z, rates, motion, sizes), np.inf
    for iteration in range(_STEPS):
        balanced = here.size <= _BALANCED * here.scale
        # forces and moments share one measure: in small mechanisms moments may still fall beside large forces
        converged, before = balanced and not here.size < 0.1 * before, here.size
        if converged and not downhill:
            return here, rates, iteration
        step, change, change_x, falls = _newton(core, tree, t, here, motion, sizes, downhill, balanced)
        if converged and not falls:
            return here, rates, iteration
        factor = min(1.0, _LONGEST / max(_size(step), 1e-300))
        for _ in range(30):
            more = rates.copy()
            more[motion.sought] += factor * change
            z = here.z.copy()
            z[: core.nx] += factor * change_x
            try:
                core.work.z[: core.nz] = z
                nearest = close(move(core.coordinates, here.q, factor * step))
                there = _evaluate(core, t, nearest, z, more, motion, sizes)
            except ConvergenceError:
                there = here._replace(size=np.inf)
            if bold:
                better = bool(np.isfinite(there.size))
            elif downhill and np.isfinite(there.size):
                before = float(factor * (here.N @ here.residual) @ step)
                work = 0.5 * (before + float(factor * (there.N @ there.residual) @ step))
                better = work <= min(0.1 * before, 0.0) or there.size < 0.1 * here.size
            else:
                better = there.size < here.size * (1.0 - 1e-4 * factor)
            if better:
                break
            factor *= 0.5
        if not better:
            return here, rates, iteration
        here, rates = there, more
    return here, rates, _STEPS


def _size(x: Floats) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _least(M: Floats, right: Floats) -> Floats:
    """Return the least solution of M x = right."""
    if not M.size:
        return np.zeros((M.shape[1], *right.shape[1:]))
    return np.asarray(np.linalg.lstsq(M, right, rcond=1e-10)[0])


def _rate_sizes(core: Core, tree: TreeDerivatives, t: float, q: Floats, z: Floats, rates: Floats) -> Floats:
    """Return the usual sizes (nx,) of the rates of element states."""
    if not core.nx:
        return np.zeros(0)
    tree.inverse_dynamics(t, q, rates, np.zeros(core.nu))
    by_q, _, by_x = (np.abs(x) for x in tree.states())
    return np.asarray(np.maximum(by_q.sum(axis=1) + by_x @ _state_sizes(core, z), 1e-300))


def _state_sizes(core: Core, z: Floats) -> Floats:
    return np.asarray(np.maximum(1.0, np.abs(z[: core.nx])))


def _evaluate(
    core: Core, t: float, q: Floats, z: Floats, rates: Floats, motion: Motion, sizes: Floats
) -> _Point:
    core.work.z[: core.nz] = z
    u = _speeds(core, t, q, rates, motion)
    if core.loops is None:
        loads = core.inverse_dynamics(np.array([t]), q[None], u[None], np.zeros((1, core.nu)))[0]
        P = np.zeros((0, core.nu))
    else:
        now, reaction_dependent = core.constraints(t, q, u), ReactionDependent(core)
        loads, P, chosen = now.loads, now.partials, motion.balanced
        if reaction_dependent:
            loads = reaction_dependent.solve_reactions(
                lambda: core.constraints(t, q, u).loads, lambda x: _least(P[:, chosen].T, x[chosen])
            ).required
    N = np.zeros((core.nu, 0))
    if np.any(motion.balanced):
        own = null_space(P[:, motion.balanced])
        N = np.zeros((core.nu, own.shape[1]))
        N[motion.balanced] = own
    residual = N.T @ loads
    carried = [_size(core.work.body[:, body.MOMENT : body.FORCE + 3])]
    if len(core.layout.plan.efforts):
        carried += [_size(core.work.body[:, body.APPLIED_N : body.APPLIED_F + 3]), _size(core.work.effort)]
    scale, x_rates = max(carried), core.work.zd[: core.nx] / sizes
    size = float(np.hypot(np.linalg.norm(residual), scale * np.linalg.norm(x_rates)))
    return _Point(q, u, z, loads, P, N, residual, x_rates, size, scale)


def _speeds(core: Core, t: float, q: Floats, rates: Floats, motion: Motion) -> Floats:
    """Return the smallest rates of all coordinates for given rates of the driven ones."""
    u = np.where(motion.driven, rates, 0.0)
    if core.loops is not None:
        now = core.constraints(t, q, u)
        F = now.partials * ~motion.driven
        u = u - _least(F, now.velocity)
    return u


def _newton(
    core: Core,
    tree: TreeDerivatives,
    t: float,
    here: _Point,
    motion: Motion,
    sizes: Floats,
    downhill: bool = False,
    balanced: bool = False,
) -> tuple[Floats, Floats, Floats, bool]:
    """Return the Newton step that would balance linear loads.

    It is (displacement, change of the rates sought, change of element states, whether a balance is unstable).
    `downhill`: every stiffness is taken as positive, and the step leaves a balance with a negative one.
    """
    n, zero = core.nu, np.zeros(core.nu)
    core.work.z[: core.nz] = here.z
    reaction_dependent = ReactionDependent(core)
    with reaction_dependent.held():
        tau_q, tau_u, _ = tree.inverse_dynamics(t, here.q, here.u, zero)
    tau_x, (x_q, x_u, x_x), usual = tree.loads_x(), tree.states(), _state_sizes(core, here.z)
    speeds_q, P = np.zeros((n, n)), here.partials
    others = ~motion.driven
    if core.loops is not None:
        chosen = motion.balanced
        multipliers = _least(P[:, chosen].T, here.loads[chosen])
        with reaction_dependent.held():
            rows = row_derivatives(core, tree, t, here.q, here.u, zero, multipliers)
        tau_q = tau_q - rows.loads_q
        if reaction_dependent:
            by = np.hstack((tau_q, tau_u, tau_x))
            seen = reaction_dependent.follow(by, rows.chord_loads_q, P, chosen)
            tau_q, tau_u, tau_x = np.split(by - reaction_dependent.derivatives() @ seen, [n, 2 * n], axis=1)
            by = np.hstack((x_q, x_u, x_x)) + reaction_dependent.rate_derivatives(t, here.q, here.u) @ seen
            x_q, x_u, x_x = np.split(by, [n, 2 * n], axis=1)
        speeds_q[others] = -_least(P[:, others], rows.velocity_q)
    tau_x, x_x = tau_x * usual, x_x / sizes[:, None] * usual
    by_q, x_q = tau_q + tau_u @ speeds_q, (x_q + x_u @ speeds_q) / sizes[:, None]
    if downhill:
        follow = -_least(x_x, x_q)  # states at rest
        K = here.N.T @ (by_q + tau_x @ follow) @ here.N
        values, V = np.linalg.eigh(0.5 * (K + K.T))
        largest = _size(values)
        if balanced:
            falls = bool(len(values) and values[0] < -1e-6 * largest)
            step = here.N @ V[:, 0] if falls else zero
            return step, np.zeros(0), usual * (follow @ step), falls
        stiffness = np.maximum(np.abs(values), 1e-3 * largest + 1e-300)
        step = here.N @ (V @ (-(V.T @ here.residual) / stiffness))
        return step, np.zeros(0), usual * (follow @ step - _least(x_x, here.x_rates)), False
    moves = np.zeros((n, 0))
    if np.any(motion.movable):
        holonomic = ~core.layout.chords.nonholonomic
        own = null_space(P[np.ix_(holonomic, motion.movable)])
        moves = np.zeros((n, own.shape[1]))
        moves[motion.movable] = own
    unit = np.eye(n)[:, motion.sought]
    if core.loops is not None and motion.sought:
        unit[others] -= _least(P[:, others], P @ unit)
    of_loads = here.N.T @ np.hstack((by_q @ moves, tau_u @ unit, tau_x))
    of_rates = here.scale * np.hstack((x_q @ moves, x_u @ unit / sizes[:, None], x_x))
    x = _least(np.vstack((of_loads, of_rates)), -np.concatenate((here.residual, here.scale * here.x_rates)))
    k, s = moves.shape[1], moves.shape[1] + len(motion.sought)
    return moves @ x[:k], x[k:s], usual * x[s:], False
