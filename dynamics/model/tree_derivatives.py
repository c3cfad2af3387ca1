"""Derivatives of the equations of motion: a workspace at fixed addresses, arrays in, arrays out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.arrays import DERIVATIVES
from treemech.kinematics.plan.columns import effort, speed
from treemech.topology.arrays import Floats, address, addresses

from ..derivatives import layout
from ..native import entry_points as native
from .composite_derivatives import Input, through_points
from .core import Core
from .element_derivatives import element_derivatives
from .row_derivatives import RowWorkspace


class TreeDerivatives:
    """Workspace at fixed addresses for the derivatives of one tree and its chords, with their entry points.

    `rough`: elements without exact derivatives take one forward difference, which is enough for an
    integrator.
    """

    def __init__(self, core: Core, rough: bool = False) -> None:
        n, x = core.nu, core.nx
        self.core = core
        core.serve_dual_addresses()
        self._entry: Any = None
        self.q, self.u = np.zeros(core.nq), np.zeros(n)
        self.tau, self.ud = np.zeros(n), np.zeros(n)
        self.J, self.A = np.zeros((n, 2 * n)), np.zeros((n, n))
        self.inverse, self.out = np.zeros((n, n)), np.zeros((n, 2 * n))
        self.factors, self.workspace = (
            np.zeros(layout.accelerations_size(core.rows, n)),
            np.zeros(layout.workspace_size(core.rows, n, core.layout.plan.efforts)),
        )
        self.tau_x, self.ud_x = np.zeros((n, x)), np.zeros((n, x))
        self.rates, self.rates_x = np.zeros((x, 2 * n)), np.zeros((x, x))
        self.rows = None if core.loops is None else RowWorkspace(core, chord_loads=not rough)
        arrays = (
            self.q, self.u, self.tau, self.ud, self.J, self.A, self.inverse, self.out, self.factors, self.workspace, self.tau_x,
            self.ud_x, self.rates, self.rates_x,
        )  # fmt: skip
        self.table = np.array(
            [
                core.context_address, *addresses(arrays), int(rough),
                0 if self.rows is None else address(self.rows.table), 0, 0,
            ],
            dtype=np.int64,
        )  # fmt: skip
        self.address = address(self.table)
        # What the last call left there: of bodies, of speeds, and of hinges by their own coordinates
        split = core.rows * layout.N_DERIVATIVE_BODY
        self.bodies = self.workspace[:split].reshape(core.rows, layout.N_DERIVATIVE_BODY)
        self.speeds = self.workspace[split : split + layout.N_COMPONENTS * n].reshape(layout.N_COMPONENTS, n)
        own = self.first_own = split + layout.N_COMPONENTS * n + layout.HINGE_SCRATCH
        self.own = self.workspace[own : own + core.rows * 6 * layout.N_OWN].reshape(
            core.rows, 6, layout.N_OWN
        )
        self.roots = np.arange(core.rows)  # body whose origin is the reference point
        for i in range(1, core.rows):
            if core.tree.parent[i] > 0:
                self.roots[i] = self.roots[core.tree.parent[i]]
        order = np.argsort(core.layout.plan.dof[:, speed.PUBLIC])
        self.order = None if np.array_equal(order, np.arange(n)) else order

    def read_from(self, q: Floats, u: Floats) -> None:
        """Take the state from these arrays from now on."""
        self.q, self.u = q, u
        self.table[[layout.GIVEN_Q, layout.GIVEN_U]] = addresses((q, u))

    def _call(self, t: float, forward: int, q: Floats, u: Floats) -> None:
        self.q[:] = q
        self.u[:] = u
        if self._entry is None:
            self._entry = native.entry("derivatives")
        with self.core.guard() as failure:
            status = self._entry(t, forward, self.address)
        if status != OK:
            self.core.fail(status, t, failure)

    def serve(self, residual: bool = False) -> int:
        """Return the address of the entry point that computes the Jacobian of integrators in this workspace.

        It is the Jacobian of the rates, or, for closed chains with `residual`, of the residual of
        generalized-alpha.
        """
        self.core.context[DERIVATIVES] = self.address
        if self.core.loops is None:
            return native.address("jacobian")
        self.table[[layout.DIFFERENTIATE, layout.DIFFERENTIATE_ROWS]] = [
            native.address(name) for name in ("derivatives", "row_derivatives")
        ]
        return native.address("residual_jacobian" if residual else "loop_jacobian")

    def jacobian(self, t: float, y: Floats) -> Floats:
        """Return d(y')/dy of the integrator's state y (dynamics.derivatives.state_jacobian).

        Rows and columns of cut hinges are zero.
        """
        y, J, loops = np.array(y, dtype=np.float64), np.zeros((len(y), len(y))), self.core.loops
        self.serve()
        entry = native.entry("jacobian" if loops is None else "loop_jacobian")
        context = self.core.context_address if loops is None else address(loops.context)
        with self.core.guard() as failure:
            status = entry(t, address(y), address(J), context)
        if status != OK:
            self.core.fail(status, t, failure)
        return J.T

    def _public(self, matrix: Floats) -> Floats:
        """Return a copy with rows and columns in the public order."""
        return matrix.copy() if self.order is None else matrix[np.ix_(self.order, self.order)]

    def _public_rows(self, matrix: Floats) -> Floats:
        return matrix.copy() if self.order is None else matrix[self.order]

    def states(self) -> tuple[Floats, Floats, Floats]:
        """Return the derivatives of element rates by q, u and the states, of the last call."""
        n = self.core.nu
        by_q, by_u = self.rates[:, :n].T, self.rates[:, n:].T
        return self._public_rows(by_q).T, self._public_rows(by_u).T, self.rates_x.copy()

    def accelerations_x(self) -> Floats:
        """Return d ud/dx (nu, nx) of the last call of `forward`."""
        return self._public_rows(self.ud_x)

    def loads_x(self) -> Floats:
        """Return d tau/dx (nu, nx) of the last call of `inverse_dynamics`."""
        return self._public_rows(self.tau_x)

    def _through_points(self, t: float) -> Floats:
        """Return the derivatives of tau by (q, u, x) through internal points.

        Those of the rates are added to `rates`.
        """
        n, left = self.core.nu, (self.J, self.tau_x, self.rates, self.rates_x)
        kept = [array.copy() for array in left]
        change = through_points(self, t)
        for array, before in zip(left, kept, strict=True):
            array[:] = before
        self.rates += change.rates[:, : 2 * n]
        self.rates_x += change.rates[:, 2 * n :]
        return change.tau

    def forward(
        self, t: float, q: Floats, u: Floats, tau: Floats | None = None
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return ud and its derivatives by q, u and the loads on the speeds."""
        self.tau[:] = 0.0 if tau is None else tau
        self._call(t, 1, q, u)
        n = self.core.nu
        if self.core.layout.efforts.composites:
            by = self._through_points(t)
            self.out -= self.inverse @ by[:, : 2 * n]
            self.ud_x -= self.inverse @ by[:, 2 * n :]
        return (
            self.ud.copy(),
            self._public(self.out[:, :n]),
            self._public(self.out[:, n:]),
            self._public(self.inverse),
        )

    def inputs(self, t: float, given: Sequence[Input]) -> tuple[Floats, Floats]:
        """Return the derivatives of tau (nu, ni) and x' (nx, ni) by inputs of elements.

        What the last call left of elements is overwritten.
        """
        n, x, table = self.core.nu, self.core.nx, self.core.layout.plan.efforts
        tau, rates = np.zeros((n, len(given))), np.zeros((x, len(given)))
        for k, members in enumerate(given):
            for e, number in members:
                derivatives = element_derivatives(self, t, e)
                by, loads = (
                    derivatives.partials[derivatives.first_input + number],
                    derivatives.motion.shape[1],
                )
                tau[:, k] -= derivatives.motion @ by[:loads]
                rates[table[e, effort.FIRST_STATE] : table[e, effort.FIRST_STATE] + len(by) - loads, k] += by[
                    loads:
                ]
        if given and self.core.layout.efforts.composites:
            change = through_points(self, t, given)
            tau += change.tau[:, 2 * n + x :]
            rates += change.rates[:, 2 * n + x :]
        return self._public_rows(tau), rates

    def inverse_dynamics(self, t: float, q: Floats, u: Floats, ud: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the derivatives of tau = A ud - Q by q and u, and A."""
        self.ud[:] = ud
        self._call(t, 0, q, u)
        n = self.core.nu
        if self.core.layout.efforts.composites:
            by = self._through_points(t)
            self.J += by[:, : 2 * n]
            self.tau_x += by[:, 2 * n :]
        A = self.A + self.A.T
        A.reshape(-1)[:: n + 1] *= 0.5
        return self._public(self.J[:, :n]), self._public(self.J[:, n:]), self._public(A)
