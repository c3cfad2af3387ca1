"""Exact derivatives of the equations of motion: ud and multipliers by coordinates, speeds and loads.

Directions in q are those of the speeds, q' = N(q) u: for hinges with u = q' plain partial derivatives, for Euler parameters
the derivative along a rotation as the relative angular velocity measures it (base of end a). So all are (nu, nu).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.assembly import pivoted, rank
from treemech.kinematics.plan import PRESCRIBED_U

from .core import Core, Floats
from .parameter_derivatives import Stencil, equations_by_parameters, prescribed_accelerations
from .row_derivatives import RowDerivatives, row_derivatives
from .tree_room import TreeDerivatives


class Derivatives(NamedTuple):
    """Derivatives of ud (nu, nu) and of the multipliers (m, nu), columns in the public order of the speeds."""

    ud: Floats  # (nu,) the accelerations themselves
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
    stencils: tuple[Stencil, ...] = (),
) -> Derivatives:
    """Derivatives of ud and multipliers at a state; with chords after `core.loops.choose`.

    Closed chains: A ud = Q + P^T lambda, P ud + P00 = 0 differentiated, the same matrix with other right sides. Of
    redundant rows only the chosen ones carry loads, and only theirs vary. `held` speeds stay as they are. `stencils`: the
    parameters.
    """
    loops, none = core.loops, np.zeros((0, core.nu))
    if loops is None and held is None:
        ud, ud_q, ud_u, ud_load = tree.forward(t, q, u, tau)
        x_rates = core.work.zd[: core.nx].copy()
        no_x, ud_x, states = np.zeros((0, core.nx)), tree.accelerations_x(), tree.states()
        by_p = equations_by_parameters(core, stencils, t, q, u, ud, np.zeros(0))
        return Derivatives(
            ud, np.zeros(0), ud_q, ud_u, ud_load, none, none, none, ud_x, no_x, x_rates, *states,
            prescribed_accelerations(core, stencils, t) - ud_load @ by_p.loads, np.zeros((0, len(stencils))), by_p.x_rates,
        )  # fmt: skip
    free = free_speeds(core)
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
        chosen, ud, multipliers = _held(core, t, q, u, load, free, np.where(free | held, 0.0, ud), chosen)
    nx = core.nx
    tau_q, tau_u, A = tree.inverse_dynamics(t, q, u, ud)
    tau_x, states, x_rates = tree.loads_x(), tree.states(), core.work.zd[:nx].copy()
    rows = RowDerivatives(none, 0.0 * tau_q, none, none, none)
    if loops is not None:
        rows = row_derivatives(core, tree, t, q, u, ud, multipliers)
    by_p = equations_by_parameters(core, stencils, t, q, u, ud, multipliers)
    n, nf, n_p = core.nu, int(np.sum(free)), len(stencils)
    P = rows.partials[np.ix_(chosen, free)]
    right = np.zeros((nf + len(P), 3 * n + nx + n_p))
    right[:nf, :n] = (rows.loads_q - tau_q)[free]
    right[:nf, n : 2 * n] = -tau_u[free]
    right[:nf, 2 * n : 3 * n] = np.eye(n)[free]
    right[:nf, 3 * n : 3 * n + nx] = -tau_x[free]
    right[:nf, 3 * n + nx :], right[nf:, 3 * n + nx :] = -by_p.loads[free], -by_p.bias[chosen]
    right[nf:, :n], right[nf:, n : 2 * n] = -rows.bias_q[chosen], -rows.bias_u[chosen]
    x = np.linalg.solve(_matrix(A[np.ix_(free, free)], P), right)
    by, of_multipliers = np.zeros((n, right.shape[1])), np.zeros((len(multipliers), right.shape[1]))
    by[:, 3 * n + nx :] = prescribed_accelerations(core, stencils, t)
    by[free], of_multipliers[chosen] = x[:nf], -x[nf:]
    ends = [n, 2 * n, 3 * n, 3 * n + nx]
    (ud_q, ud_u, ud_load, ud_x, ud_p), of = np.split(by, ends, axis=1), np.split(of_multipliers, ends, axis=1)
    return Derivatives(
        ud, multipliers, ud_q, ud_u, ud_load, of[0], of[1], of[2], ud_x, of[3], x_rates, *states, ud_p, of[4], by_p.x_rates
    )  # fmt: skip


def _matrix(A: Floats, P: Floats) -> Floats:
    """Of (ud, -multipliers)."""
    return np.block([[A, P.T], [P, np.zeros((len(P), len(P)))]])


def _held(
    core: Core,
    t: float,
    q: Floats,
    u: Floats,
    tau: Floats,
    free: NDArray[np.bool_],
    given: Floats,
    chosen: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """(rows that are independent then, ud, multipliers) where only some speeds are free, the others as given."""
    P, bias, multipliers = np.zeros((0, core.nu)), np.zeros(0), np.zeros(0)
    loads = core.inverse_dynamics(np.array([t]), q[None], u[None], given[None])[0]
    if core.loops is not None:
        now = core.constraints(t, q, u, given)
        P, bias, multipliers = now.partials, now.bias, np.zeros(len(now.bias))
        F = P[np.ix_(chosen, free)]
        chosen = chosen[sorted(pivoted(F)[: rank(F)])]
    nf = int(np.sum(free))
    K = _matrix(core.mass_matrix(t, q)[np.ix_(free, free)], P[np.ix_(chosen, free)])
    x = np.linalg.solve(K, np.concatenate(((tau - loads)[free], -bias[chosen])))
    ud = given.copy()
    ud[free], multipliers[chosen] = x[:nf], -x[nf:]
    return chosen, ud, multipliers


def free_speeds(core: Core) -> NDArray[np.bool_]:
    """(nu,) which speeds are not prescribed."""
    free = np.ones(core.nu, dtype=bool)
    free[core.layout.plan.prescribed[:, PRESCRIBED_U]] = False
    return free
