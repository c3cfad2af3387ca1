"""Integrators of other libraries on the same compiled right-hand side, for cross-checks.

"scipy:NAME" takes any solver class of scipy.integrate, "CVODE" and "IDA" those of scikit-sundae.
`external_driver` takes the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treemech.kinematics.kernel.status import OK, STEP_TOO_SMALL
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats, address

from ..equations import watch
from ..model.core import Core
from ..model.tree_derivatives import TreeDerivatives
from ..native import entry_points as native
from .integrator import SUNDIALS
from .jacobian_groups import state_groups


class Failed(Exception):
    """The right-hand side or the method cannot go on; the status gives the reason."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


class RightHandSide:
    """Right-hand side y' by one ctypes call on arrays at fixed addresses; it counts its calls."""

    def __init__(self, core: Core, n: int) -> None:
        self.y, self.rate, self.calls, self.t = np.zeros(n), np.zeros(n), 0, 0.0
        self.entry = native.entry("rhs" if core.loops is None else "loop_rhs")
        self.context = core.context_address if core.loops is None else address(core.loops.context)
        self.at, self.to = address(self.y), address(self.rate)
        self.exact, groups = "", state_groups(core)
        self.part, self.members = (
            groups[2 : 2 + n],
            groups[2 + n : -1].reshape(int(groups[0]), int(groups[1])),
        )
        if core.has_jacobian and not core.n_audit:  # the Jacobian has no rows for the audit
            core.jacobian_workspace = core.jacobian_workspace or TreeDerivatives(core, rough=True)
            core.jacobian_workspace.serve()
            self.exact = "jacobian" if core.loops is None else "loop_jacobian"
        if core.loops is not None:
            if len(core.loops.plan.unilateral):
                name = core.layout.chords.rows[core.loops.plan.unilateral[0]][0]
                raise TreemechError(
                    f"{name!r} is unilateral: no method of another library can switch it; take 'DOP853'."
                )
            core.loops.stabilise("none")
            core.loops.work.monitor[watch.STAGED] = 0.0

    def __call__(self, t: float, y: Any) -> Floats:
        self.y[:] = y
        self.t, self.calls = t, self.calls + 1
        status = self.entry(t, self.at, self.to, self.context)
        if status != OK:
            raise Failed(status)
        return self.rate.copy()

    def jacobian(self, t: float, y: Any) -> Floats:
        """Return the exact Jacobian if the core has it, else one by forward differences.

        Independent parts of the model are moved together. scipy's own differences enlarge the increment of a
        zero column without end.
        """
        n = len(self.y)
        if self.exact:
            self.y[:] = y
            J = np.zeros((n, n))
            status = native.entry(self.exact)(t, self.at, address(J), self.context)
            if status != OK:
                raise Failed(status)
            return J.T
        rate, J, steps = self(t, y), np.zeros((n, n)), 1.5e-8 * np.maximum(np.abs(y), 1e-3)
        for members in self.members:
            moved, columns = np.array(y), members[members >= 0]
            moved[columns] += steps[columns]
            change = self(t, moved) - rate
            rows = np.flatnonzero(self.part >= 0)
            rows = rows[members[self.part[rows]] >= 0]
            columns = members[self.part[rows]]
            J[rows, columns] = change[rows] / (moved - y)[columns]
        return J


class Step(NamedTuple):
    """End of a step, and a function for states (rows) at times within it."""

    t: float
    y: Floats
    inside: Callable[[Floats], Floats]


class ScipySteps:
    """A solver of scipy, step by step."""

    def __init__(
        self, method: str, rhs: RightHandSide, t: float, y: Floats, end: float, options: dict[str, Any]
    ) -> None:
        import scipy.integrate

        name = method.removeprefix("scipy:")
        if name in ("Radau", "BDF"):
            options = {**options, "jac": rhs.jacobian}
        self.solver = getattr(scipy.integrate, name)(rhs, t, y, end, **options)

    def step(self) -> Step:
        message = self.solver.step()
        if self.solver.status == "failed":
            raise Failed(STEP_TOO_SMALL, str(message))
        inside = self.solver.dense_output()
        return Step(float(self.solver.t), np.array(self.solver.y), lambda times: np.asarray(inside(times)).T)


class SundialsSteps:
    """CVODE (BDF) or IDA of scikit-sundae, step by step."""

    def __init__(
        self, method: str, rhs: RightHandSide, t: float, y: Floats, end: float, options: dict[str, Any]
    ) -> None:
        try:
            from sksundae.cvode import CVODE
            from sksundae.ida import IDA
        except ImportError as error:
            raise TreemechError(
                f"method {method!r} is that of scikit-sundae, which is not installed: pip install scikit-sundae."
            ) from error
        options = {**options, "max_step": options["max_step"] if np.isfinite(options["max_step"]) else 0.0}
        options["first_step"] = options["first_step"] or 0.0
        self.end, self.t = end, t

        def rates(t: float, y: Any, yp: Any) -> None:
            yp[:] = rhs(t, y)

        def residual(t: float, y: Any, yp: Any, res: Any) -> None:
            res[:] = yp - rhs(t, y)

        self.solver: Any
        if method == "CVODE":
            self.solver = CVODE(rates, **options)
            self.solver.init_step(t, y)
        else:
            self.solver = IDA(residual, **options)
            self.solver.init_step(t, y, rhs(t, y))

    def step(self) -> Step:
        found = self.solver.step(self.end, method="onestep", tstop=self.end)
        if found.t == self.t:  # after a call of `inside` it returns the end of the step once more
            found = self.solver.step(self.end, method="onestep", tstop=self.end)
        if not found.success or found.t == self.t:
            raise Failed(
                STEP_TOO_SMALL, "The step size fell to nothing." if found.success else str(found.message)
            )
        self.t = float(found.t)
        return Step(self.t, np.array(found.y), self.inside)

    def inside(self, times: Floats) -> Floats:
        return np.array([self.solver.step(float(t), method="normal").y for t in times])


def project(core: Core, rhs: RightHandSide, t: Floats, y: Floats) -> Floats:
    """Project states onto the constraints, Euler parameters to length 1."""
    y = np.ascontiguousarray(y)
    for a in core.coordinates.euler_parameters:
        y[:, a : a + 4] /= np.linalg.norm(y[:, a : a + 4], axis=1, keepdims=True)
    if core.loops is not None:
        entry = native.entry("loop_project")
        for k in range(len(t)):
            status = entry(float(t[k]), address(y[k]), -1, rhs.context)
            if status != OK:
                raise Failed(status)
    return y


def solver(
    method: str, rhs: RightHandSide, t: float, y: Floats, end: float, options: dict[str, Any]
) -> ScipySteps | SundialsSteps:
    """Make a new solver of this name, from a state to an end."""
    return (SundialsSteps if method in SUNDIALS else ScipySteps)(method, rhs, t, y, end, options)
