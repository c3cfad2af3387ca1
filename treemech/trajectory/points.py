"""The model at points of a trajectory: rates, constraint rows and their exact derivatives.

A point is (q, u, x, i): coordinates, speeds, states of elements, inputs. Closed chains keep all their coordinates; at every
point the rows f(q) = 0 and P u = 0 hold, and rates are compared in independent coordinates only. So the number of equations
is that of the unknowns, there is no drift, and no choice of coordinates has to serve a whole motion.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.analyses.derivatives import derivatives
from treemech.dynamics.model.reaction_dependent import ReactionDependent
from treemech.dynamics.model.row_derivatives import row_derivatives
from treemech.kinematics.rank import complete, null_space, pivoted, preferring, rank
from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from ..analyses.small_motions import derivative_workspace, element_inputs
from ..analyses.states import unpack

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_STEP = 1e-6  # of differences of exact derivatives, for second derivatives


class Point(NamedTuple):
    """Rates y' (ny,) of y = (q, u, x), rows (nr,) = (f, P u), and their derivatives by (q, u, x, i)."""

    rates: Floats
    rows: Floats
    rates_z: Floats
    rows_z: Floats


class Points:
    """The model of a mechanism at points."""

    def __init__(self, mech: "Mechanism", inputs: list[str], start: Any) -> None:
        core = mech._core
        self.mech, self.core, self.inputs, self.n, self.nx = mech, core, inputs, mech.nu, core.nx
        self.ny, self.nz = 2 * self.n + self.nx, 2 * self.n + self.nx + len(inputs)
        known = element_inputs(mech)
        self.known = {name: known[name] for name in inputs}
        self.places = [core.layout.efforts.held[name] for name in inputs]
        self.chosen, self.holonomic = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        if core.loops is not None:
            t, q, u = unpack(mech, start, "trajectory")
            P = core.constraints(t, q, u).partials
            largest = float(np.linalg.norm(P, 2))
            kept = sorted(pivoted(P)[: rank(P, largest)])
            self.chosen = np.array(kept, dtype=np.int64)
            self.holonomic = self.chosen[~core.layout.chords.nonholonomic[self.chosen]]
        self.nr = len(self.holonomic) + len(self.chosen)

    def independent_with(self, t: float, q: Floats, u: Floats, wanted: list[int]) -> list[int]:
        """Return independent coordinates, those wanted first as far as they are independent."""
        unpack(self.mech, (t, q, u), "trajectory")
        return preferring(null_space(self.core.constraints(t, q, u).partials[self.holonomic]), wanted)

    def independent(self, t: float, q: Floats, u: Floats) -> list[int]:
        """Return the places in y whose rates are compared at a point: independent coordinates and speeds, states."""
        n = self.n
        if self.core.loops is None:
            return list(range(self.ny))
        unpack(self.mech, (t, q, u), "trajectory")
        P = self.core.constraints(t, q, u).partials
        of_q, of_u = (complete(null_space(P[rows]), []) for rows in (self.holonomic, self.chosen))
        return [*sorted(of_q), *(n + k for k in sorted(of_u)), *range(2 * n, self.ny)]

    def _stand(self, t: float, z: Floats) -> tuple[Floats, Floats]:
        """Give the core a point."""
        n, core = self.n, self.core
        q, u = z[:n].copy(), z[n : 2 * n].copy()
        unpack(self.mech, (t, q, u), "trajectory")
        core.work.z[: self.nx] = z[2 * n : self.ny]
        core.work.z[self.places] = z[self.ny :]
        return q, u

    def at(self, t: float, z: Floats) -> Point:
        """Return rates and rows at a point, with derivatives."""
        core, workspace = self.core, derivative_workspace(self.mech)
        q, u = self._stand(t, z)
        if core.loops is not None:
            return self._of_chain(t, q, u)
        d = derivatives(core, workspace, t, q, u, inputs=self.known)
        of_speeds = np.hstack((d.ud_q, d.ud_u, d.ud_x, d.ud_input))
        of_states = np.hstack((d.x_rates_q, d.x_rates_u, d.x_rates_x, d.x_rates_input))
        return Point(
            np.concatenate((u, d.ud, d.x_rates)),
            np.zeros(0),
            self._by(of_speeds, of_states),
            np.zeros((0, self.nz)),
        )

    def _by(self, of_speeds: Floats, of_states: Floats) -> Floats:
        """Return the derivatives of the rates: those of coordinates are the speeds."""
        by = np.zeros((self.ny, self.nz))
        by[: self.n, self.n : 2 * self.n] = np.eye(self.n)
        by[self.n : 2 * self.n], by[2 * self.n :] = of_speeds, of_states
        return by

    def _of_chain(self, t: float, q: Floats, u: Floats) -> Point:
        """Return the rates of a closed chain, which need not be closed here: an optimiser passes such points.

        A ud - P^T lambda = Q and P ud + P00 = 0, and the same matrix with their derivatives as right sides.
        """
        n, core, workspace, chosen = self.n, self.core, derivative_workspace(self.mech), self.chosen
        near, zero = core.chord_work.q.copy(), np.zeros(n)
        now = core.constraints(t, q, u, zero, loaded=True)
        P, m = now.partials[chosen], len(chosen)
        rows = np.concatenate((now.residual[self.holonomic], now.velocity[chosen]))
        core.chord_work.q[:] = near
        A = core.mass_matrix(t, q)
        K = np.block([[A, -P.T], [P, np.zeros((m, m))]])
        solution = np.linalg.solve(K, np.concatenate((-now.loads, -now.bias[chosen])))
        ud, multipliers = solution[:n], np.zeros(len(now.bias))
        multipliers[chosen] = solution[n:]
        core.chord_work.q[:] = near
        tau_q, tau_u, _ = workspace.inverse_dynamics(t, q, u, ud)
        tau_x, states, x_rates = workspace.loads_x(), workspace.states(), core.work.zd[: self.nx].copy()
        tau_i, rates_i = workspace.inputs(t, tuple(self.known.values()))
        core.chord_work.q[:] = near
        r = row_derivatives(core, workspace, t, q, u, ud, multipliers)
        right = np.zeros((n + m, self.nz))
        right[:n] = np.hstack((r.loads_q - tau_q, -tau_u, -tau_x, -tau_i))
        right[n:, :n], right[n:, n : 2 * n] = -r.bias_q[chosen], -r.bias_u[chosen]
        rows_z, h = np.zeros((self.nr, self.nz)), len(self.holonomic)
        rows_z[:h, :n] = r.partials[self.holonomic]
        rows_z[h:, :n], rows_z[h:, n : 2 * n] = r.velocity_q[chosen], r.partials[chosen]
        of_states = np.hstack((*states, rates_i))
        return Point(
            np.concatenate((u, ud, x_rates)), rows, self._by(np.linalg.solve(K, right)[:n], of_states), rows_z
        )

    def curvature(self, t: float, z: Floats, of_rates: Floats, of_rows: Floats) -> Floats:
        """Return the second derivatives (nz, nz) of of_rates . rates + of_rows . rows, by differences of exact first ones."""
        found = np.zeros((self.nz, self.nz))
        for k in range(self.nz):
            h = _STEP * max(1.0, abs(z[k]))
            ahead, behind = (self.at(t, z + s * h * np.eye(1, self.nz, k)[0]) for s in (1.0, -1.0))
            found[k] = (
                of_rates @ (ahead.rates_z - behind.rates_z) + of_rows @ (ahead.rows_z - behind.rows_z)
            ) / (2 * h)
        return 0.5 * (found + found.T)


def refuse_unsuitable(mech: "Mechanism") -> None:
    """Refuse models that a trajectory cannot be made of, and say what to do."""
    for c in mech._lagrange.hinges:
        if c.hinge.euler_parameters is not None:
            raise ElementError(
                f"trajectory: hinge {c.name!r} has Euler parameters, which are not independent: use tm.BallBryant, or hinges in series."
            )
    if mech._prescriptions:
        name = mech._prescriptions[0].hinge
        raise ElementError(
            f"trajectory: the motion of {name!r} is prescribed: build the system without, and give a tm.Actuator an input."
        )
    if mech._core.loops is not None and len(mech._core.loops.plan.unilateral):
        raise ElementError(
            "trajectory: constraints that may open (contacts) make motions that are not smooth."
        )
    if ReactionDependent(mech._core):
        raise ElementError("trajectory: elements that depend on a reaction (reaction_of=) are not supported.")
    if mech._core.nz > mech._core.nx + len(mech._core.layout.efforts.held):
        raise ElementError(
            "trajectory: elements or controllers in this model remember: rates do not follow from its state alone."
        )
