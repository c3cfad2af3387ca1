"""Integrators of other libraries behind the same front, on the same compiled right-hand side: for cross-checks.

"scipy:NAME" takes any solver class of scipy.integrate, "CVODE" and "IDA" those of scikit-sundae. The loop is Python's, so they
are slow. Closed chains are projected in the output only, Euler parameters as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.status import NOT_FINITE, OK, STEP_TOO_SMALL
from treemech.topology import TreemechError

from . import native
from .column_groups import state_groups
from .core import Core, data
from .loop_plan import STAGED
from .tree_room import TreeDerivatives, has_jacobian

if TYPE_CHECKING:
    from .simulate import Integration

Floats = NDArray[np.float64]
SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
SUNDIALS = ("CVODE", "IDA")
NAMES = (*(f"scipy:{name}" for name in SCIPY), *SUNDIALS)
# Seven values within a step, and its interpolant in the form of `stages.interpolate` from them
_NODES = np.arange(1, 8) / 7
_FIT = np.linalg.inv(
    np.stack([_NODES ** (j // 2 + 1) * (1 - _NODES) ** ((j + 1) // 2) for j in range(7)], axis=1)
)


class Failed(Exception):
    """The right-hand side, or the method, cannot go on: the status says why."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


class RightHandSide:
    """y' by one ctypes call on arrays at fixed addresses; counts its calls."""

    def __init__(self, core: Core, n: int) -> None:
        self.y, self.rate, self.calls, self.t = np.zeros(n), np.zeros(n), 0, 0.0
        self.entry = native.entry("rhs" if core.loops is None else "loop_rhs")
        self.context = core.context_address if core.loops is None else data(core.loops.context)
        self.at, self.to = data(self.y), data(self.rate)
        self.exact, groups = "", state_groups(core)
        self.part, self.members = (
            groups[2 : 2 + n],
            groups[2 + n : -1].reshape(int(groups[0]), int(groups[1])),
        )
        if has_jacobian(core) and not core.n_audit:  # which has no rows for the audit
            core.jacobian_room = core.jacobian_room or TreeDerivatives(core, rough=True)
            core.jacobian_room.serve()
            self.exact = "jacobian" if core.loops is None else "loop_jacobian"
        if core.loops is not None:
            if len(core.loops.plan.unilateral):
                name = core.layout.chords.rows[core.loops.plan.unilateral[0]][0]
                raise TreemechError(
                    f"{name!r} is unilateral: no method of another library can switch it; take 'DOP853'."
                )
            core.loops.stabilise("none")
            core.loops.work.monitor[STAGED] = 0.0

    def __call__(self, t: float, y: Any) -> Floats:
        self.y[:] = y
        self.t, self.calls = t, self.calls + 1
        status = self.entry(t, self.at, self.to, self.context)
        if status != OK:
            raise Failed(status)
        return self.rate.copy()

    def jacobian(self, t: float, y: Any) -> Floats:
        """The exact one where the core has it; else by forward differences, independent parts of the model moved together.

        scipy's own differences enlarge the increment of a zero column without end.
        """
        n = len(self.y)
        if self.exact:
            self.y[:] = y
            J = np.zeros((n, n))
            status = native.entry(self.exact)(t, self.at, data(J), self.context)
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


class ScipySteps:
    """One of scipy's solvers, step by step."""

    def __init__(
        self, method: str, rhs: RightHandSide, t: float, y: Floats, end: float, options: dict[str, Any]
    ) -> None:
        import scipy.integrate

        name = method.removeprefix("scipy:")
        if name in ("Radau", "BDF"):
            options = {**options, "jac": rhs.jacobian}
        self.solver = getattr(scipy.integrate, name)(rhs, t, y, end, **options)

    def step(self) -> tuple[float, Floats, Callable[[Floats], Floats]]:
        """(time, state, values at times within the step)"""
        message = self.solver.step()
        if self.solver.status == "failed":
            raise Failed(STEP_TOO_SMALL, str(message))
        inside = self.solver.dense_output()
        return float(self.solver.t), np.array(self.solver.y), lambda times: np.asarray(inside(times)).T


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

    def step(self) -> tuple[float, Floats, Callable[[Floats], Floats]]:
        """(time, state, values at times within the step)"""
        found = self.solver.step(self.end, method="onestep", tstop=self.end)
        if found.t == self.t:  # after a look at the inside it answers with the end of the step once more
            found = self.solver.step(self.end, method="onestep", tstop=self.end)
        if not found.success or found.t == self.t:
            raise Failed(STEP_TOO_SMALL, str(found.message))
        self.t = float(found.t)
        return self.t, np.array(found.y), self.inside

    def inside(self, times: Floats) -> Floats:
        return np.array([self.solver.step(float(t), method="normal").y for t in times])


def leg(
    core: Core, method: str, rhs: RightHandSide, t: float, y: Floats, end: float, options: dict[str, Any],
    t_out: Floats, accept: Callable[[float, Floats, Floats, Floats], None],
) -> Floats:  # fmt: skip
    """Integrate from t to end; the state there.

    After every step `accept` receives time, state, the interpolant (8 n numbers), and the states at those of t_out that lie
    within or at the end.
    """
    rates = rhs(t, y)
    for k in np.flatnonzero(~np.isfinite(rates))[:1]:
        raise Failed(NOT_FINITE + 16 * int(k))
    if t == end:
        return y
    kind = SundialsSteps if method in SUNDIALS else ScipySteps
    steps, direction = kind(method, rhs, t, y, end, options), np.sign(end - t)
    while (end - t) * direction > 0.0:
        t_new, y_new, inside = steps.step()
        values = inside(t + (t_new - t) * _NODES[:-1]) - y
        table = np.concatenate((y[None], _FIT @ np.vstack((values, y_new - y))))
        wanted = t_out[((t_out - t) * direction > 0.0) & ((t_new - t_out) * direction >= 0.0)]
        outputs = [y_new if w == t_new else inside(np.array([w]))[0] for w in wanted]
        accept(t_new, y_new, table.ravel(), project(core, rhs, wanted, np.array(outputs).reshape(-1, len(y))))
        t, y = t_new, y_new
    return y


def project(core: Core, rhs: RightHandSide, t: Floats, y: Floats) -> Floats:
    """States onto the constraints, Euler parameters to length 1."""
    y = np.ascontiguousarray(y)
    for a in core.coordinates.euler_parameters:
        y[:, a : a + 4] /= np.linalg.norm(y[:, a : a + 4], axis=1, keepdims=True)
    if core.loops is not None:
        entry = native.entry("loop_project")
        for k in range(len(t)):
            status = entry(float(t[k]), data(y[k]), -1, rhs.context)
            if status != OK:
                raise Failed(status)
    return y


def integrate(
    core: Core,
    method: str,
    t_span: tuple[float, float],
    legs: list[tuple[float, float, float]],
    y0: Floats,
    options: dict[str, Any],
    t_eval: Floats | None,
    dense: bool,
    progress: Callable[[float], None] | None,
    result: Integration,
    sample: Callable[[float, Floats], None] | None,
) -> None:
    """As `simulate.integrate`, into `result`; legs as `course.legs` gives them."""
    if core.remembers:
        raise TreemechError(
            f"method {method!r} of another library tells no element of its accepted steps, which must remember: take 'DOP853'."
        )
    (t0, t1), n = t_span, len(y0)
    rhs = RightHandSide(core, n)
    y, reached = project(core, rhs, np.array([t0]), np.array(y0)[None])[0], t0
    # what nobody controls (coordinates of cut hinges) gets the coarsest of all tolerances
    options["atol"] = np.concatenate((options["atol"], np.ones(n - len(options["atol"]))))
    t_out = np.zeros(0) if t_eval is None else t_eval
    ts, ys, tables = [t0], [y.copy()], []
    outputs = [y[None]] if np.any(t_out[:1] == t0) else []

    def accept(t: float, y: Floats, table: Floats, wanted: Floats) -> None:
        result.n_steps += 1
        outputs.append(wanted)
        if t_eval is None:
            ts.append(t)
            ys.append(project(core, rhs, np.array([t]), y[None].copy())[0])
        if dense:
            tables.append(table)
        if progress is not None:
            progress((t - t0) / (t1 - t0))

    with core.guard() as result.failure:
        try:
            before = t0
            for k, (start, end, mark) in enumerate(legs):
                if k and core.layout.kinematic:
                    y = core.strike(reached, start, y)
                if sample is not None:
                    sample(before, y)
                y, reached = leg(core, method, rhs, start, y, end, options, t_out, accept), end
                before, options["first_step"] = mark, None
                if end != mark and t_eval is None:
                    ts[-1] = mark
            result.message = f"reached t = {t1:.6g} s in {result.n_steps} steps, {rhs.calls} evaluations."
        except Failed as failed:
            result.status, result.failed_at = failed.status, rhs.t
            result.message = f"{method} failed at t = {rhs.t:.6g} s after {result.n_steps} steps. {failed}"
        except KeyboardInterrupt:
            result.interrupted = True
            result.message = (
                f"interrupted at t = {rhs.t:.6g} s of {t1:.6g} s; what was computed until then is kept."
            )
    result.n_evaluations = rhs.calls
    states = outputs if t_eval is not None else [np.array(ys)]
    result.y = np.concatenate([np.zeros((0, n)), *states])
    result.t = np.array(ts) if t_eval is None else t_out[: len(result.y)].copy()
    if dense:
        result.dense = np.array(tables).reshape(-1, 8 * n)
