"""Equations of an equilibrium and their derivatives: loads, rates of element states, steady rolling.

Nothing accelerates if three things vanish together: the loads on all displacements N that the constraints
allow, N^T (A ud - Q) with ud = 0; the rates of element states, x'; and the slip, P u + P0 of the nonholonomic
rows. Rates u are those of the driven coordinates, and of the coordinates that follow them: by the holonomic
rows, and by rolling along coordinates on which nothing depends (cyclic ones, as the place on a plane). All
others stand still, so that slip vanishes only where a wheel rolls steadily. There are as many equations as
unknowns: displacements that keep the holonomic rows, rates that are sought, element states.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.manifold import move
from treemech.kinematics.plan.columns import body
from treemech.kinematics.rank import null_space
from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from ..model.core import Core
from ..model.reaction_dependent import ReactionDependent
from ..model.row_derivatives import row_derivatives
from ..model.trace import OMEGA
from ..model.tree_derivatives import TreeDerivatives

_SINGULAR = 1e-10  # singular values below this part of the largest count as zero
_TURN, _SHIFT = 0.3, 0.3  # longest step: of a rotation [rad], of a translation relative to the mechanism


class Motion(NamedTuple):
    """Coordinates that may move, coordinates whose loads must balance, and their rates."""

    movable: NDArray[np.bool_]
    balanced: NDArray[np.bool_]
    rates: Floats  # (nu,) of driven coordinates
    driven: NDArray[np.bool_]
    sought: list[int]  # rates to be found


class Point(NamedTuple):
    """Equations at one position."""

    q: Floats
    u: Floats
    z: Floats  # states of elements and what they remember
    rates: Floats  # of driven coordinates
    loads: Floats  # A 0 - Q
    partials: Floats
    N: Floats  # displacements on which the loads must balance
    multipliers: Floats
    unbalanced: Floats  # (nu,) N N^T loads
    x_rates: Floats  # rates of element states, each divided by its size
    slip: Floats  # P u + P0 of the nonholonomic rows, divided by 1 + |u|
    size: float  # of all equations, as loads
    scale: float  # largest load that is carried


class Step(NamedTuple):
    """Change of the unknowns."""

    q: Floats  # displacement (nu,)
    rates: Floats  # of the rates sought
    z: Floats  # of element states (nx,)


class Slope(NamedTuple):
    """Derivatives of the equations at one point by displacements, rates sought and element states."""

    loads: tuple[Floats, Floats, Floats]  # of A 0 - Q - P^T lambda
    x_rates: tuple[Floats, Floats, Floats]
    slip: tuple[Floats, Floats, Floats]
    moves: Floats  # displacements that keep the holonomic rows


def least(M: Floats, right: Floats) -> Floats:
    """Return the least solution of M x = right."""
    if not M.size:
        return np.zeros((M.shape[1], *right.shape[1:]))
    return np.asarray(np.linalg.lstsq(M, right, rcond=_SINGULAR)[0])


def largest(x: Floats) -> float:
    """Return the largest absolute value."""
    return float(np.max(np.abs(x), initial=0.0))


class BalanceEquations:
    """Equations of an equilibrium of one model at a time t."""

    def __init__(
        self, core: Core, tree: TreeDerivatives, t: float, q: Floats, motion: Motion, length: float
    ) -> None:
        self.core, self.tree, self.t, self.motion = core, tree, t, motion
        self.rolling = core.layout.chords.nonholonomic
        self.state_sizes = np.maximum(1.0, np.abs(core.work.z[: core.nx]))
        self._rate_sizes = self._usual_rates(q)
        self.reach = self._longest_steps(q, length)
        self._cyclic = self._without_effect(q) if np.any(self.rolling) else np.zeros(core.nu, dtype=bool)

    def _usual_rates(self, q: Floats) -> Floats:
        """Return the usual sizes (nx,) of the rates of element states."""
        if not self.core.nx:
            return np.zeros(0)
        self.tree.inverse_dynamics(self.t, q, self.motion.rates, np.zeros(self.core.nu))
        by_q, _, by_x = (np.abs(x) for x in self.tree.states())
        return np.asarray(np.maximum(by_q.sum(axis=1) + by_x @ self.state_sizes, 1e-300))

    def _longest_steps(self, q: Floats, length: float) -> Floats:
        """Return the longest step (nu,) of every coordinate: translations may move by a part of the mechanism."""
        n, core = self.core.nu, self.core
        with core.unloaded(), core.undriven():
            u = np.vstack((np.zeros((1, n)), np.eye(n)))
            trace, _ = core.trace(np.full(n + 1, self.t), np.repeat(q[None], n + 1, axis=0), u, 0.0 * u)
        turns = np.abs(trace[1:, :, OMEGA] - trace[0, :, OMEGA]).max(axis=(1, 2))
        return np.where(turns > 1e-9, _TURN, _SHIFT * length)

    def _without_effect(self, q: Floats) -> NDArray[np.bool_]:
        """Return which coordinates change neither loads nor rows, tried at two positions and random rates."""
        rng, core, n = np.random.default_rng(0), self.core, self.core.nu
        effect, z, cut = np.zeros(n), core.work.z.copy(), core.chord_work.q.copy()
        for _ in range(2):
            there = move(core.coordinates, q, 0.1 * self.reach * rng.normal(size=n))
            u, ones = rng.normal(size=n), np.ones(len(self.rolling))
            try:
                tau_q, _, _ = self.tree.inverse_dynamics(self.t, there, u, np.zeros(n))
                rows = row_derivatives(core, self.tree, self.t, there, u, np.zeros(n), ones)
            except ElementError:  # an element that does not work there: nothing is known of it
                return np.zeros(n, dtype=bool)
            finally:
                core.work.z[:], core.chord_work.q[:] = z, cut
            for by in (tau_q - rows.loads_q, rows.velocity_q, rows.partials[~self.rolling]):
                effect = np.maximum(effect, np.abs(by).max(axis=0, initial=0.0) / max(largest(by), 1e-300))
        return np.asarray((effect < 1e-9) & ~self.motion.driven)

    # ------------------------------------------------------------ values
    def at(self, q: Floats, z: Floats, rates: Floats) -> Point:
        """Evaluate the equations."""
        core, chosen = self.core, self.motion.balanced
        core.work.z[: core.nz] = z
        u = self.speeds(q, rates)
        if core.loops is None:
            loads = core.inverse_dynamics(np.array([self.t]), q[None], u[None], np.zeros((1, core.nu)))[0]
            P, slip = np.zeros((0, core.nu)), np.zeros(0)
        else:
            now = core.constraints(self.t, q, u, loaded=True)
            reaction_dependent = ReactionDependent(core)
            loads, P = now.loads, now.partials
            slip = now.velocity[self.rolling] / (1.0 + largest(u))
            if reaction_dependent:
                loads = reaction_dependent.solve_reactions(
                    lambda: core.constraints(self.t, q, u, loaded=True).loads,
                    lambda x: least(P[:, chosen].T, x[chosen]),
                ).required
        x_rates, scale = core.work.zd[: core.nx] / self._rate_sizes, self._carried()
        N, multipliers, unbalanced = (
            np.eye(core.nu)[:, chosen],
            np.zeros(len(P)),
            np.where(chosen, loads, 0.0),
        )
        if len(P):
            N = np.zeros((core.nu, 0))
            if np.any(chosen):
                own = null_space(P[:, chosen])
                N = np.zeros((core.nu, own.shape[1]))
                N[chosen] = own
            multipliers = least(P[:, chosen].T, loads[chosen])
            unbalanced = N @ (N.T @ loads)
        size = float(np.sqrt(np.sum(unbalanced**2) + scale**2 * (np.sum(x_rates**2) + np.sum(slip**2))))
        return Point(q, u, z, rates, loads, P, N, multipliers, unbalanced, x_rates, slip, size, scale)

    def _carried(self) -> float:
        """Return the largest load of a hinge of the tree or of an element, as evaluated last."""
        core = self.core
        carried = [largest(core.work.body[:, body.MOMENT : body.FORCE + 3])]
        if len(core.layout.plan.efforts):
            loads = core.work.body[:, body.APPLIED_N : body.APPLIED_F + 3]
            carried += [largest(loads), largest(core.work.effort)]
        return max(carried)

    def speeds(self, q: Floats, rates: Floats) -> Floats:
        """Return the smallest rates of all coordinates that follow given rates of the driven ones."""
        u = np.where(self.motion.driven, rates, 0.0)
        if self.core.loops is not None:
            now = self.core.constraints(self.t, q, u)
            u = u + self._following(now.partials, now.velocity)
        return u

    def _following(self, P: Floats, velocity: Floats) -> Floats:
        """Return the change of rates that follow, for P u + P0 = `velocity` (m, ...) so far."""
        change, others, rolling = (
            np.zeros((self.core.nu, *velocity.shape[1:])),
            ~self.motion.driven,
            self.rolling,
        )
        change[others] = -least(P[np.ix_(~rolling, others)], velocity[~rolling])
        if np.any(self._cyclic):
            slip = velocity[rolling] + P[rolling] @ change
            change[self._cyclic] -= least(P[np.ix_(rolling, self._cyclic)], slip)
        return change

    # ------------------------------------------------------------ derivatives
    def slope(self, here: Point) -> Slope:
        """Return the derivatives at a point; x' and element states are divided by their sizes."""
        core, tree, n, zero = self.core, self.tree, self.core.nu, np.zeros(self.core.nu)
        sizes, usual = self._rate_sizes, self.state_sizes
        core.work.z[: core.nz] = here.z
        reaction_dependent = ReactionDependent(core)
        with reaction_dependent.held():
            tau_q, tau_u, _ = tree.inverse_dynamics(self.t, here.q, here.u, zero)
        tau_x, (x_q, x_u, x_x) = tree.loads_x(), tree.states()
        P, rolling = here.partials, self.rolling
        speeds_q, slip_q = np.zeros((n, n)), np.zeros((0, n))
        unit = np.eye(n)[:, self.motion.sought]
        if core.loops is not None:
            with reaction_dependent.held():
                rows = row_derivatives(core, tree, self.t, here.q, here.u, zero, here.multipliers)
                seen_q = reaction_dependent.loads_by_q(tree, self.t, here.q, here.u, zero, here.multipliers)
            tau_q = tau_q - rows.loads_q
            if reaction_dependent:
                by = np.hstack((tau_q, tau_u, tau_x))
                seen = reaction_dependent.follow(by, seen_q, P, self.motion.balanced)
                by -= reaction_dependent.derivatives() @ seen
                tau_q, tau_u, tau_x = np.split(by, [n, 2 * n], axis=1)
                by = np.hstack((x_q, x_u, x_x))
                by += reaction_dependent.rate_derivatives(self.t, here.q, here.u) @ seen
                x_q, x_u, x_x = np.split(by, [n, 2 * n], axis=1)
            speeds_q = self._following(P, rows.velocity_q)
            unit = unit + self._following(P, P @ unit)
            slip_q = rows.velocity_q[rolling] + P[rolling] @ speeds_q
        fast, own = 1.0 + largest(here.u), P[rolling] if len(P) else P
        return Slope(
            (tau_q + tau_u @ speeds_q, tau_u @ unit, tau_x * usual),
            tuple(y / sizes[:, None] for y in (x_q + x_u @ speeds_q, x_u @ unit, x_x * usual)),  # type: ignore[arg-type]
            (slip_q / fast, own @ unit / fast, np.zeros((len(slip_q), core.nx))),
            self._moves(here),
        )

    def _moves(self, here: Point) -> Floats:
        """Return displacements (nu, k) of movable coordinates that keep the holonomic rows."""
        movable = self.motion.movable
        if self.core.loops is None or not np.any(movable):
            return np.eye(self.core.nu)[:, movable]
        own = null_space(here.partials[np.ix_(~self.core.layout.chords.nonholonomic, movable)])
        moves = np.zeros((self.core.nu, own.shape[1]))
        moves[movable] = own
        return moves
