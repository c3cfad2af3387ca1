"""Derivatives of a tree's equations of motion: room at fixed addresses, arrays in, arrays out."""

from typing import Any

import numpy as np

from treemech.kinematics.plan import DERIVATIVES, PUBLIC, REACTION
from treemech.kinematics.status import OK
from treemech.topology import TreemechError

from . import native
from .core import Core, Floats, data
from .derivative_plan import LONGEST_RECORD, N_COMPONENTS, N_DERIVATIVE_BODY, N_OWN, room_size


def not_differentiated(core: Core) -> list[str]:
    """Composites and elements that depend on a reaction, by what the user calls them."""
    composites = core.layout.efforts.composites
    return [
        *(f"composite {c.name!r} (its internal points)" for c in composites),
        *waiting_for_reactions(core),
    ]


def waiting_for_reactions(core: Core) -> list[str]:
    """Elements that depend on the load of a chord, by what the user calls them."""
    efforts = core.layout.efforts
    return [
        f"element {a.name!r} (it depends on the load of {a.reaction_of!r})"
        for a, row in zip(efforts.applied, efforts.rows, strict=True)
        if row[REACTION] >= 0
    ]


def refuse_what_is_not_differentiated(core: Core) -> None:
    found = not_differentiated(core)
    if found:
        raise TreemechError(
            f"not differentiated: {', '.join(found)}. Leave it out of the model for this analysis."
        )


class TreeDerivatives:
    """Room at fixed addresses for the derivatives of one tree, and the entry point on it.

    `rough`: elements by one forward difference, as an integrator needs them.
    """

    def __init__(self, core: Core, rough: bool = False) -> None:
        refuse_what_is_not_differentiated(core)
        n, x = core.nu, core.nx
        self.core = core
        self._entry: Any = None
        self.q, self.u = np.zeros(core.nq), np.zeros(n)
        self.tau, self.ud = np.zeros(n), np.zeros(n)
        self.J, self.A = np.zeros((n, 2 * n)), np.zeros((n, n))
        self.inverse, self.out = np.zeros((n, n)), np.zeros((n, 2 * n))
        self.factors, self.room = (
            np.zeros(2 * n * n + 1),
            np.zeros(room_size(core.rows, n, core.layout.plan.efforts)),
        )
        self.tau_x, self.ud_x = np.zeros((n, x)), np.zeros((n, x))
        self.rates, self.rates_x = np.zeros((x, 2 * n)), np.zeros((x, x))
        arrays = (
            self.q, self.u, self.tau, self.ud, self.J, self.A, self.inverse, self.out, self.factors, self.room, self.tau_x,
            self.ud_x, self.rates, self.rates_x,
        )  # fmt: skip
        self.table = np.array(
            [core.context_address, *(data(array) for array in arrays), int(rough)], dtype=np.int64
        )
        self.address = data(self.table)
        # what the last call left there: of bodies, speeds, and hinges by their own coordinates
        split = core.rows * N_DERIVATIVE_BODY
        self.bodies = self.room[:split].reshape(core.rows, N_DERIVATIVE_BODY)
        self.speeds = self.room[split : split + N_COMPONENTS * n].reshape(N_COMPONENTS, n)
        own = split + (N_COMPONENTS + 2) * n + 4 * LONGEST_RECORD
        self.own = self.room[own : own + core.rows * 6 * N_OWN].reshape(core.rows, 6, N_OWN)
        self.roots = np.arange(core.rows)  # body whose origin is the reference point
        for i in range(1, core.rows):
            if core.tree.parent[i] > 0:
                self.roots[i] = self.roots[core.tree.parent[i]]
        order = np.argsort(core.layout.plan.dof[:, PUBLIC])
        self.order = None if np.array_equal(order, np.arange(n)) else order

    def _call(self, t: float, forward: int, q: Floats, u: Floats) -> None:
        self.q[:] = q
        self.u[:] = u
        if self._entry is None:
            self._entry = native.entry("derivatives")
        with self.core.guard() as failure:
            status = self._entry(t, forward, self.address)
        if status != OK:
            self.core.fail(status, t, failure)

    def serve(self) -> int:
        """Address of the entry point that gives integrators the Jacobian from this room."""
        self.core.context[DERIVATIVES] = self.address
        return native.address("jacobian")

    def jacobian(self, t: float, y: Floats) -> Floats:
        """d(y')/dy of the integrator's state y (dynamics.state_jacobian)."""
        y, J = np.array(y, dtype=np.float64), np.zeros((len(y), len(y)))
        self.serve()
        with self.core.guard() as failure:
            status = native.entry("jacobian")(t, data(y), data(J), self.core.context_address)
        if status != OK:
            self.core.fail(status, t, failure)
        return J.T

    def _public(self, matrix: Floats) -> Floats:
        """Rows and columns in the public order; a copy."""
        return matrix.copy() if self.order is None else matrix[np.ix_(self.order, self.order)]

    def _public_rows(self, matrix: Floats) -> Floats:
        return matrix.copy() if self.order is None else matrix[self.order]

    def states(self) -> tuple[Floats, Floats, Floats]:
        """Rates of element states by q, u and the states, of the last call."""
        n = self.core.nu
        by_q, by_u = self.rates[:, :n].T, self.rates[:, n:].T
        return self._public_rows(by_q).T, self._public_rows(by_u).T, self.rates_x.copy()

    def accelerations_x(self) -> Floats:
        """d ud/dx (nu, nx), of the last call of `forward`."""
        return self._public_rows(self.ud_x)

    def loads_x(self) -> Floats:
        """d tau/dx (nu, nx), of the last call of `inverse_dynamics`."""
        return self._public_rows(self.tau_x)

    def forward(
        self, t: float, q: Floats, u: Floats, tau: Floats | None = None
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """(ud, and its derivatives by q, u and loads on the speeds)."""
        self.tau[:] = 0.0 if tau is None else tau
        self._call(t, 1, q, u)
        n = self.core.nu
        return (
            self.ud.copy(),
            self._public(self.out[:, :n]),
            self._public(self.out[:, n:]),
            self._public(self.inverse),
        )

    def inverse_dynamics(self, t: float, q: Floats, u: Floats, ud: Floats) -> tuple[Floats, Floats, Floats]:
        """(derivatives of tau = A ud - Q by q and u, A)."""
        self.ud[:] = ud
        self._call(t, 0, q, u)
        n = self.core.nu
        A = self.A + self.A.T
        A.reshape(-1)[:: n + 1] *= 0.5
        return self._public(self.J[:, :n]), self._public(self.J[:, n:]), self._public(A)
