"""Workspace of one run of a compiled integrator, and the calls on it."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import effort
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats, address

from ..equations import watch
from ..integrators import layout as m
from ..integrators.alpha import layout as alpha_layout
from ..model.core import Core
from ..model.stabilisation import stabilisation
from ..model.state_vector import without_prescribed
from ..native import entry_points as native

if TYPE_CHECKING:
    from .alpha_workspace import AlphaWorkspace

# name -> compiled loop and number of its method; `integrate` has a loop of its own for closed chains
METHODS = {
    "DOP853": ("integrate", 0), "DP5": ("integrate", 1), "RK4": ("integrate", 2), "Radau": ("radau_integrate", 0),
    "Adams": ("adams_integrate", 0), "alpha3": ("alpha_integrate", 0), "alpha2": ("alpha_integrate", 1),
}  # fmt: skip
# Methods of other libraries: dynamics.simulation.external_methods
SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
SUNDIALS = ("CVODE", "IDA")
EXTERNAL_METHODS = (*(f"scipy:{name}" for name in SCIPY), *SUNDIALS)
NAMES = (*METHODS, "auto", *EXTERNAL_METHODS)


_EPS = float(np.finfo(float).eps)
_RADIUS = 0.8  # spectral radius of generalized-alpha at infinity unless given


class Switch(NamedTuple):
    """A unilateral constraint that lets go, or holds again."""

    t: float
    name: str
    holds: bool


Released = tuple[tuple[float, tuple[str, ...]], ...]  # (time, connections that have let go from then on)


class Closure(NamedTuple):
    """How chains are kept closed, and what to do at a singular position."""

    stabilisation: str | tuple[str, float] = "default"
    on_singular: str = "pass"


def one_sided_table(core: Core) -> NDArray[np.int64] | None:
    """Return where the loop finds the loads and energies of one-sided elements (corners.py); None: there are none."""
    numbers, record = core.one_sided, address(core.work.effort_records)
    if not numbers:
        return None
    table = [len(numbers)]
    for row in core.layout.plan.efforts[numbers]:
        loads = 6 * int(row[effort.N_ENDS]) + int(row[effort.N_ACTED])
        at = record + 8 * int(row[effort.LOAD_RECORD])
        table += [at, loads, at + 8 * (loads + int(row[effort.N_STATES]))]
    return np.array(table, dtype=np.int64)


class Integrator:
    """Workspace of one run of a compiled integrator."""

    def __init__(
        self, core: Core, method: str | tuple[str, float], t0: float, y: Floats, rtol: float, atol: Floats, max_step: float,
        closure: "Closure",
    ) -> None:  # fmt: skip
        n = len(y)
        method, rho = radius(method)
        self.core, self.n = core, n
        self.control, self.count = np.zeros(m.N_CONTROL), np.zeros(m.N_COUNT, dtype=np.int64)
        self.y, self.atol = y, without_prescribed(core, atol)
        self.work = np.zeros(m.work_rows(n, core.loops is not None, method in ("Radau", "auto")) * n)
        self.euler = np.array([*core.coordinates.euler_parameters, 0], dtype=np.int64)
        self.control[m.TIME], self.control[m.RTOL], self.control[m.MAX_STEP] = t0, rtol, max_step
        self.count[m.CONTROLLED] = len(atol)
        loops = core.loops
        self.context = core.context_address if loops is None else address(loops.context)
        self.rhs = native.address("rhs" if loops is None else "loop_rhs")
        self.hooks = np.zeros(m.N_HOOKS, dtype=np.int64)
        stabilisation(closure.stabilisation)  # refuses an unknown name, in trees too
        self.projects = loops is not None and loops.stabilise(closure.stabilisation)
        if loops is not None and self.projects:
            self.hooks[: m.SWITCH + 1] = (
                native.address("loop_project"), native.address("loop_tangent"), address(loops.work.monitor),
                loops.selected, closure.on_singular == "stop",
                native.address("loop_switch") if len(loops.plan.unilateral) else 0,
            )  # fmt: skip
        if core.remembers or len(core.layout.plan.points):
            self.hooks[[m.REMEMBER, m.REMEMBERING]] = native.address("remember"), core.context_address
        self.one_sided = one_sided_table(core)
        if self.one_sided is not None:
            self.hooks[m.ONE_SIDED] = address(self.one_sided)
        # Arrays of the last call of the loop, and their addresses: finding all takes longer than a short leg
        self._given: list[NDArray[Any]] = [np.zeros(0)] * 11
        self._at = [0] * 11
        self.groups: NDArray[np.int64] | None = None  # moved together for a Jacobian by differences
        self.alpha: "AlphaWorkspace | None" = None
        if METHODS.get(method, ("",))[0] == "alpha_integrate":
            if closure.stabilisation != "default":
                raise TreemechError(
                    f"{method} closes the chains itself: it does not go with stabilisation={closure.stabilisation!r}."
                )
            from .alpha_workspace import AlphaWorkspace

            self.alpha = AlphaWorkspace(core, n)
            self.hooks[m.ALPHA] = address(self.alpha.table)
            for place, value in alpha_layout.coefficients(rho).items():
                self.control[place] = value
        self.use("DOP853" if method == "auto" else method)

    def use(self, method: str) -> None:
        """Continue with this method from the state reached."""
        self.name = method
        self.loop, self.method = METHODS[method]
        if (
            self.core.loops is not None and method != "DOP853"
        ):  # others do not know how far a hinge may turn in a step
            self.core.loops.work.monitor[watch.TURNS] = 1.0
        closed = self.loop == "integrate" and self.projects
        self.integrate = native.entry("loop_integrate" if closed else self.loop)
        self.count[m.HAS_JACOBIAN] = -1
        if self.loop in ("radau_integrate", "alpha_integrate"):
            from ..model.tree_derivatives import TreeDerivatives
            from .jacobian_groups import state_groups  # explicit methods need neither

            if self.core.has_jacobian:
                self.core.jacobian_workspace = self.core.jacobian_workspace or TreeDerivatives(
                    self.core, rough=True
                )
                self.hooks[m.JACOBIAN] = self.core.jacobian_workspace.serve(
                    residual=self.loop == "alpha_integrate"
                )
            elif self.groups is None:
                self.groups = state_groups(self.core)
                self.hooks[m.GROUPS] = address(self.groups)

    def keep_step(self) -> None:
        """Use steps of one size, max_step, without error control, if the method can (generalized-alpha)."""
        if self.loop == "alpha_integrate":
            self.control[alpha_layout.FIXED] = 1.0

    @property
    def fixed_step(self) -> bool:
        """Whether all steps have one size, without error control."""
        return self.name == "RK4" or bool(self.alpha is not None and self.control[alpha_layout.FIXED])

    def below_rounding(self, k: int) -> bool:
        """Return whether the tolerance of number k of y is below the rounding of its values."""
        size = abs(float(self.y[k]))
        return float(self.atol[k] + self.control[m.RTOL] * size) < 20.0 * _EPS * max(size, 1e-3)

    def rates(self, t: float, y: Floats) -> Floats:
        """Evaluate the rates of a state; the arrays of the model change."""
        entry, dy = native.entry("rhs" if self.core.loops is None else "loop_rhs"), np.zeros(self.n)
        y = np.ascontiguousarray(y)  # kept until the call has returned
        if entry(t, address(y), address(dy), self.context) != OK:
            raise TreemechError("the state has no rates")
        return dy

    @property
    def t(self) -> float:
        return float(self.control[m.TIME])

    def choose_rows(self) -> int:
        """Choose independent rows at the state reached.

        Return the rank, or 0 if there is nothing to choose.
        """
        loops = self.core.loops
        if loops is None or not self.projects:
            return 0
        q, u = self.core.states(np.array([self.t]), self.y[None])
        kept = loops.work.monitor.copy()
        self.core.chord_work.q[:] = self.core.unpack(self.y).cut
        rank = loops.choose(self.t, q[0], u[0])
        loops.work.monitor[:] = kept
        self.hooks[m.RANK] = loops.selected
        return rank

    def raise_rank(self) -> bool:
        """Choose rows again where the constraints had a lower rank at the start.

        Return whether the rank has grown.
        """
        before = int(self.hooks[m.RANK])
        return before > 0 and self.choose_rows() > before

    def switch(self, chord: int) -> list[Switch]:
        """Let a unilateral chord go, or let it hold again. Return all switches.

        Holding again is an impact without rebound, by projection of the speeds. It may open other chords that
        held: these let go.
        """
        loops = self.core.loops
        if loops is None:
            raise AssertionError("no chords")
        found = [loops.switch(chord)]
        if found[0][1]:
            from .impulse import let_go

            (q,), (u,) = self.core.states(np.array([self.t]), self.y[None])
            kept = loops.work.monitor.copy()
            self.core.chord_work.q[:] = self.core.unpack(self.y).cut
            found += [loops.switch(k) for k in let_go(self.core, self.t, q, u, chord)]
            loops.work.monitor[:] = kept
        self.choose_rows()
        if found[0][1]:
            native.entry("loop_project")(self.t, address(self.y), -1, self.context)
        return [Switch(self.t, name, holds) for name, holds in found]

    def aim(self, start: float, end: float) -> None:
        """Start a new leg. The state may have changed, so the first step is chosen anew, but for a fixed one."""
        self.control[m.TIME], self.control[m.END] = start, end
        fixed = self.control[m.MAX_STEP] if self.fixed_step else 0.0
        self.control[m.STEP], self.count[m.STARTED] = (fixed if end >= start else -fixed), 0

    def advance(
        self, t_out: Floats, y_out: Floats, t_step: Floats, y_step: Floats, dense: Floats | None, budget: int
    ) -> int:
        given = (
            self.control, self.count, self.y, self.atol, self.work, self.euler, self.hooks, t_out, y_out, t_step, y_step,
        )  # fmt: skip
        for k, array in enumerate(given):
            if array is not self._given[k]:
                self._given[k], self._at[k] = array, address(array)
        control, count, y, atol, work, euler, hooks, t_at, y_at, t_step_at, y_step_at = self._at
        status: int = self.integrate(
            self.method, self.rhs, self.context, self.n, control, count, y, atol, work, len(self.euler) - 1, euler, len(t_out),
            t_at, y_at, len(t_step), t_step_at, y_step_at, 0 if dense is None else address(dense), budget, hooks,
        )  # fmt: skip
        return status


def radius(method: object) -> tuple[str, float]:
    """Return (name, spectral radius at infinity) of a method given as a name or a pair."""
    name, rho = (
        (method, _RADIUS) if not isinstance(method, tuple) else method if len(method) == 2 else (method, 0.0)
    )
    if isinstance(method, tuple) and (
        name not in ("alpha3", "alpha2") or not isinstance(rho, (int, float)) or not 0.0 <= rho <= 1.0
    ):
        raise TreemechError(
            f"method is {method!r}; wanted a name, or ('alpha3', rho) or ('alpha2', rho) with rho between 0 and 1."
        )
    return str(name), float(rho)
