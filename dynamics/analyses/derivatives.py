"""Exact derivatives of the equations of motion: ud and multipliers by coordinates, speeds and loads.

Directions in q are those of the speeds, q' = N(q) u: for hinges with u = q' these are plain partial
derivatives, for Euler parameters derivatives along rotations in the base of end a, as for the relative
angular velocity. So all are (nu, nu).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.rank import pivoted, rank
from treemech.topology.arrays import Floats

from ..model.composite_derivatives import Input
from ..model.core import Core
from ..model.inertia_check import refuse_weightless
from ..model.reaction_dependent import ReactionDependent
from ..model.row_derivatives import RowDerivatives, row_derivatives
from ..model.tree_derivatives import TreeDerivatives
from .parameter_derivatives import Direction, equations_by_parameters


class Derivatives(NamedTuple):
    """Derivatives of ud (nu, nu) and of the multipliers (m, nu), columns in the public order."""

    ud: Floats  # (nu,) accelerations
    multipliers: Floats  # (m,)
    ud_q: Floats
    ud_u: Floats
    ud_load: Floats
    multipliers_q: Floats
    multipliers_u: Floats
    multipliers_load: Floats
    ud_x: Floats  # (nu, nx) by states of elements
    multipliers_x: Floats
    x_rates: Floats  # (nx,) x' of the states of elements
    x_rates_q: Floats  # (nx, nu)
    x_rates_u: Floats
    x_rates_x: Floats  # (nx, nx)
    x_rates_load: Floats  # (nx, nu), not zero with reaction-dependent elements only
    inputs: tuple[str, ...]  # names of inputs of elements
    ud_input: Floats  # (nu, ni)
    multipliers_input: Floats
    x_rates_input: Floats  # (nx, ni)
    ud_p: Floats  # (nu, np) by parameters, at fixed q, u, x
    multipliers_p: Floats
    x_rates_p: Floats


def derivatives(
    core: Core,
    tree: TreeDerivatives,
    t: float,
    q: Floats,
    u: Floats,
    tau: Floats | None = None,
    held: NDArray[np.bool_] | None = None,
    inputs: Mapping[str, Input] | None = None,
    parameters: Sequence[Direction] = (),
) -> Derivatives:
    """Return the derivatives of ud and multipliers at a state; with chords, after `core.loops.choose`.

    For closed chains A ud = Q + P^T lambda, P ud + P00 = 0 are differentiated: the same matrix with other
    right sides. Among redundant rows only the chosen ones carry loads, and only their loads vary. `held`
    speeds keep their value. `inputs` gives for every name the inputs of elements that it stands for.
    """
    loops, reaction_dependent, none = core.loops, ReactionDependent(core), np.zeros((0, core.nu))
    named = inputs or {}
    if loops is None and held is None:
        ud, ud_q, ud_u, ud_load = tree.forward(t, q, u, tau)
        if not np.all(np.isfinite(ud)):
            refuse_weightless(core, t, q)
        x_rates, ud_x, states = core.work.zd[: core.nx].copy(), tree.accelerations_x(), tree.states()
        tau_i, rates_i = tree.inputs(t, tuple(named.values()))
        by_p = equations_by_parameters(core, parameters, t, q, u, ud, np.zeros(0))
        return Derivatives(
            ud, np.zeros(0), ud_q, ud_u, ud_load, none, none, none, ud_x, np.zeros((0, core.nx)), x_rates, *states,
            np.zeros((core.nx, core.nu)), tuple(named), -ud_load @ tau_i, np.zeros((0, len(named))), rates_i,
            by_p.prescribed[2] - ud_load @ by_p.loads, np.zeros((0, len(parameters))), by_p.x_rates,
        )  # fmt: skip
    free = core.free_speeds()
    load = np.zeros(core.nu) if tau is None else tau
    if loops is None:
        chosen, ud, multipliers = (
            np.zeros(0, dtype=np.int64),
            core.forward_dynamics(t, q, u, load),
            np.zeros(0),
        )
    else:
        near = core.chord_work.q[None].copy()
        found = loops.solve(np.array([t]), q[None], u[None], near, load[None])
        chosen = loops.kept[loops.work.masked[: loops.n_kept] == 0]
        ud, multipliers = found.ud[0], found.multipliers[0]
    if held is not None:
        free = free & ~held
        given = np.where(free | held, 0.0, ud)
        chosen, ud, multipliers = _held(core, reaction_dependent, t, q, u, load, free, given, chosen)
    with reaction_dependent.held():
        tau_q, tau_u, A = tree.inverse_dynamics(t, q, u, ud)
        tau_x, states, x_rates = tree.loads_x(), tree.states(), core.work.zd[: core.nx].copy()
        tau_i, rates_i = tree.inputs(t, tuple(named.values()))
        rows = RowDerivatives(none, 0.0 * tau_q, none, none, none, np.zeros((0, 6, core.nu)))
        if loops is not None:
            rows = row_derivatives(core, tree, t, q, u, ud, multipliers)
        by_p = equations_by_parameters(core, parameters, t, q, u, ud, multipliers)
        seen_p = by_p.chord_loads
        if any(reaction_dependent.frames):
            seen_multipliers = reaction_dependent.seen_multipliers(multipliers)
            seen_p = equations_by_parameters(core, parameters, t, q, u, ud, seen_multipliers).chord_loads
        seen_q = reaction_dependent.loads_by_q(tree, t, q, u, ud, multipliers)
    n, nf = core.nu, int(np.sum(free))
    P = rows.partials[np.ix_(chosen, free)]
    # reaction-dependent elements see s = F^T lambda: this gives loads B ds on the speeds
    B, F = reaction_dependent.derivatives(), reaction_dependent.wrenches()[chosen]
    seen_p = seen_p[reaction_dependent.chords].reshape(len(B.T), len(parameters))
    ends = np.cumsum([n, n, n, core.nx, len(named), len(parameters)])
    right = np.zeros((nf + len(P), ends[-1]))
    of_loads = (rows.loads_q - tau_q + B @ seen_q, -tau_u, np.eye(n), -tau_x, -tau_i, B @ seen_p - by_p.loads)
    right[:nf] = np.hstack(of_loads)[free]
    right[nf:, :n], right[nf:, n : 2 * n] = -rows.bias_q[chosen], -rows.bias_u[chosen]
    right[nf:, ends[4] :] = -by_p.bias[chosen]
    K = _matrix(A[np.ix_(free, free)], P)
    K[:nf, nf:] += B[free] @ F.T
    x = np.linalg.solve(K, right)
    by, of_multipliers = np.zeros((n, ends[-1])), np.zeros((len(multipliers), ends[-1]))
    by[:, ends[4] :] = by_p.prescribed[2]
    by[free], of_multipliers[chosen] = x[:nf], -x[nf:]
    of_rates = np.hstack((*states[:2], np.zeros((core.nx, n)), states[2], rates_i, by_p.x_rates))
    if reaction_dependent:
        seen = F.T @ of_multipliers[chosen]
        seen[:, :n] += seen_q
        seen[:, ends[4] :] += seen_p
        of_rates += reaction_dependent.rate_derivatives(t, q, u) @ seen
    ud_q, ud_u, ud_load, ud_x, ud_i, ud_p = np.split(by, ends[:-1], axis=1)
    of_q, of_u, of_load, of_x, of_i, of_p = np.split(of_multipliers, ends[:-1], axis=1)
    x_q, x_u, x_load, x_x, x_i, x_p = np.split(of_rates, ends[:-1], axis=1)
    return Derivatives(
        ud, multipliers, ud_q, ud_u, ud_load, of_q, of_u, of_load, ud_x, of_x, x_rates, x_q, x_u, x_x, x_load,
        tuple(named), ud_i, of_i, x_i, ud_p, of_p, x_p,
    )  # fmt: skip


def _matrix(A: Floats, P: Floats) -> Floats:
    """Return the matrix of the equations for (ud, -multipliers)."""
    return np.block([[A, P.T], [P, np.zeros((len(P), len(P)))]])


def _held(
    core: Core,
    reaction_dependent: ReactionDependent,
    t: float,
    q: Floats,
    u: Floats,
    tau: Floats,
    free: NDArray[np.bool_],
    given: Floats,
    chosen: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return (independent rows, ud, multipliers) if only some speeds are free and the others are given."""
    P, bias, ud = np.zeros((0, core.nu)), np.zeros(0), given.copy()
    if core.loops is not None:
        now = core.constraints(t, q, u, given)
        P, bias = now.partials, now.bias
        F = P[np.ix_(chosen, free)]
        chosen = chosen[sorted(pivoted(F)[: rank(F)])]
    nf = int(np.sum(free))
    K = _matrix(core.mass_matrix(t, q)[np.ix_(free, free)], P[np.ix_(chosen, free)])

    def loads() -> Floats:
        if core.loops is not None:
            return core.constraints(t, q, u, given, loaded=True).loads
        return np.asarray(core.inverse_dynamics(np.array([t]), q[None], u[None], given[None])[0])

    def respond(required: Floats) -> Floats:
        x = np.linalg.solve(K, np.concatenate(((tau - required)[free], -bias[chosen])))
        multipliers = np.zeros(len(bias))
        ud[free], multipliers[chosen] = x[:nf], -x[nf:]
        return multipliers

    multipliers = respond(
        reaction_dependent.solve_reactions(loads, respond).required if reaction_dependent else loads()
    )
    return chosen, ud, multipliers
