"""The dynamic simulation problem (8.4) for trees: the compiled integrator, driven from Python.

Python is entered only to grow buffers, show progress, stop at the breaks of signals and let Ctrl-C through.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.assembly import worst_row
from treemech.kinematics.chord_plan import POSITION as ROW_POSITION
from treemech.kinematics.status import (
    CHAIN_OPEN,
    CHORD_SWITCHED,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    PAUSED,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
    split,
)
from treemech.topology import TreemechError

from . import foreign_methods, native
from . import step_memory as m
from .automatic import Automatic
from .core import Core, data
from .tree_room import TreeDerivatives, has_jacobian

Floats = NDArray[np.float64]
# name -> compiled loop, its method; a loop for trees has one for closed chains beside it, if that is another one
METHODS = {
    "DOP853": ("integrate", 0), "DP5": ("integrate", 1), "RK4": ("integrate", 2), "Radau": ("radau_integrate", 0),
    "Adams": ("adams_integrate", 0),
}  # fmt: skip
NAMES = (*METHODS, "auto", *foreign_methods.NAMES)
_BUFFER = 64  # accepted steps per visit to Python at the start


class Switch(NamedTuple):
    """A unilateral constraint lets go, or holds again."""

    t: float
    name: str
    holds: bool


class Closure(NamedTuple):
    """How closed chains are kept closed, and what a singular position on the way means."""

    stabilisation: str | tuple[str, float] = "default"
    on_singular: str = "pass"


@dataclass(eq=False)
class Integration:
    """What an integration computed: states row by row, and how it went."""

    t: Floats
    y: Floats
    status: int = OK
    message: str = ""
    failure: object = None
    failed_at: float = 0.0
    interrupted: bool = False
    n_evaluations: int = 0
    n_steps: int = 0
    n_rejected: int = 0
    n_jacobians: int = 0
    n_factorisations: int = 0
    methods: list[tuple[float, str]] = field(default_factory=list)  # time from which on another one was used
    dense: Floats | None = None
    singular: list[tuple[float, str]] = field(default_factory=list)  # time, connection
    switched: list[Switch] = field(default_factory=list)


class _Integrator:
    """Memory of one run of the compiled integrator."""

    def __init__(
        self, core: Core, method: str, t0: float, y: Floats, rtol: float, atol: Floats, max_step: float,
        closure: "Closure",
    ) -> None:  # fmt: skip
        n = len(y)
        self.core, self.n = core, n
        self.control, self.count = np.zeros(m.N_CONTROL), np.zeros(m.N_COUNT, dtype=np.int64)
        self.y, self.atol = y, atol
        self.work = np.zeros(m.work_rows(n, core.loops is not None, method in ("Radau", "auto")) * n)
        self.euler = np.array([*core.coordinates.euler_parameters, 0], dtype=np.int64)
        self.control[m.TIME], self.control[m.RTOL], self.control[m.MAX_STEP] = t0, rtol, max_step
        self.count[m.CONTROLLED] = len(atol)
        loops = core.loops
        self.context = core.context_address if loops is None else data(loops.context)
        self.rhs = native.address("rhs" if loops is None else "loop_rhs")
        self.hooks = np.zeros(m.N_HOOKS, dtype=np.int64)
        self.projects = loops is not None and loops.stabilise(closure.stabilisation)
        if loops is not None and self.projects:
            self.hooks[: m.SWITCH + 1] = (
                native.address("loop_project"), native.address("loop_tangent"), data(loops.work.monitor),
                loops.selected, closure.on_singular == "stop",
                native.address("loop_switch") if len(loops.plan.unilateral) else 0,
            )  # fmt: skip
        if method in ("Radau", "auto") and has_jacobian(core):
            core.jacobian_room = core.jacobian_room or TreeDerivatives(core, rough=True)
            self.hooks[m.JACOBIAN] = core.jacobian_room.serve()
        if core.remembers:
            self.hooks[[m.REMEMBER, m.REMEMBERING]] = native.address("remember"), core.context_address
        self.use("DOP853" if method == "auto" else method)

    def use(self, method: str) -> None:
        """Go on with this method from the state reached."""
        self.loop, self.method = METHODS[method]
        closed = self.loop == "integrate" and self.projects
        self.integrate = native.entry("loop_integrate" if closed else self.loop)
        self.count[m.HAS_JACOBIAN] = -1

    @property
    def t(self) -> float:
        return float(self.control[m.TIME])

    def choose_rows(self) -> int:
        """Rank and independent rows at the state reached."""
        loops = self.core.loops
        if loops is None or not self.projects:
            return 0
        q, _ = self.core.states(np.array([self.t]), self.y[None])
        kept = loops.work.monitor.copy()
        self.core.chord_work.q[:] = self.core.unpack(self.y).cut
        rank = loops.choose(self.t, q[0])
        loops.work.monitor[:] = kept
        self.hooks[m.RANK] = loops.selected
        return rank

    def raise_rank(self) -> bool:
        """More rows count than at the start, where the constraints had a lower rank; whether that is so."""
        before = int(self.hooks[m.RANK])
        return before > 0 and self.choose_rows() > before

    def switch(self, chord: int) -> Switch:
        """A unilateral chord lets go, or holds again: an impact without rebound, by projection of the speeds."""
        loops = self.core.loops
        if loops is None:
            raise AssertionError("no chords")
        name, holds = loops.switch(chord)
        self.choose_rows()
        if holds:
            native.entry("loop_project")(self.t, data(self.y), -1, self.context)
        return Switch(self.t, name, holds)

    def aim(self, start: float, end: float) -> None:
        """A new leg of the integration; the state may have changed, so the first step is chosen anew."""
        self.control[m.TIME], self.control[m.END] = start, end
        self.control[m.STEP], self.count[m.STARTED] = 0.0, 0

    def advance(
        self, t_out: Floats, y_out: Floats, t_step: Floats, y_step: Floats, dense: Floats | None, budget: int
    ) -> int:
        status: int = self.integrate(
            self.method, self.rhs, self.context, self.n, data(self.control), data(self.count),
            data(self.y), data(self.atol), data(self.work), len(self.euler) - 1, data(self.euler),
            len(t_out), data(t_out), data(y_out), len(t_step), data(t_step), data(y_step),
            0 if dense is None else data(dense), budget, data(self.hooks),
        )  # fmt: skip
        return status


def integrate(
    core: Core,
    t_span: tuple[float, float],
    y0: Floats,
    method: str,
    rtol: float,
    atol: Floats,
    t_eval: Floats | None = None,
    max_step: float = np.inf,
    first_step: float | None = None,
    breaks: tuple[float, ...] = (),
    dense: bool = False,
    progress: Callable[[float], None] | None = None,
    closure: "Closure | None" = None,
    sample: Callable[[float, Floats], None] | None = None,
) -> Integration:
    """Integrate y (`Core.pack`) over t_span; does not raise for what elements do, see `status` and `message`.

    `sample(t, y)` may change y at the start and at every break.
    """
    t0, t1 = t_span
    direction = 1.0 if t1 >= t0 else -1.0
    if method in foreign_methods.NAMES:
        result = Integration(np.zeros(0), np.zeros((0, len(y0))))
        options = {"rtol": rtol, "atol": atol, "max_step": max_step, "first_step": first_step}
        legs = _legs(t0, t1, breaks)
        foreign_methods.integrate(
            core, method, t_span, legs, y0, options, t_eval, dense, progress, result, sample
        )
        return result
    if method == "RK4":
        max_step = first_step = _fixed_step(max_step, first_step)
    run = _Integrator(core, method, t0, np.array(y0), rtol, atol, max_step, closure or Closure())
    t_out = np.zeros(0) if t_eval is None else t_eval
    y_out = np.zeros((max(len(t_out), 1), run.n))
    ts, ys, coefficients = [np.array([t0])], [run.y.copy()[None]], []
    capacity, budget, status, interrupted = _BUFFER, _BUFFER, OK, False
    switched: list[Switch] = []
    automatic = Automatic(run) if method == "auto" else None
    advance = run.advance if automatic is None else automatic.advance
    with core.guard() as failure:
        try:
            before = t0
            for leg, (start, end, mark) in enumerate(_legs(t0, t1, breaks)):
                if leg and core.layout.kinematic:
                    run.y[:] = core.strike(run.t, start, run.y)
                if sample is not None:
                    sample(before, run.y)
                run.aim(start, end)
                if leg == 0 and first_step is not None:
                    run.control[m.STEP] = direction * first_step
                while True:
                    t_step, y_step = np.zeros(capacity), np.zeros((capacity, run.n))
                    table = np.zeros((capacity, 8 * run.n)) if dense else None
                    started = time.perf_counter()
                    status = advance(t_out, y_out, t_step, y_step, table, budget)
                    elapsed = time.perf_counter() - started
                    pending = int(run.count[m.PENDING]) if t_eval is None else 0
                    if pending:
                        ts.append(t_step[:pending])
                        ys.append(y_step[:pending])
                        if table is not None:
                            coefficients.append(table[:pending])
                    if progress is not None:
                        progress((run.t - t0) / (t1 - t0) if t1 != t0 else 1.0)
                    if status == CHAIN_OPEN and run.raise_rank():
                        continue
                    if split(status)[0] == CHORD_SWITCHED:
                        switched.append(run.switch(split(status)[1]))
                        run.aim(run.t, end)
                        continue
                    if status != PAUSED:
                        break
                    if elapsed < 0.05:  # visit Python about ten times a second, whatever the model costs
                        budget *= 2
                        if t_eval is None and capacity * run.n < 2_000_000:
                            capacity *= 2
                if status != OK:
                    break
                if end != mark and t_eval is None:
                    ts[-1][-1] = mark
                before = mark
        except KeyboardInterrupt:
            interrupted = True
    written = int(run.count[m.WRITTEN])
    result = Integration(
        t=t_out[:written].copy() if t_eval is not None else np.concatenate(ts),
        y=y_out[:written] if t_eval is not None else np.concatenate(ys),
        status=status,
        interrupted=interrupted,
        failure=failure,
        n_evaluations=int(run.count[m.EVALUATIONS]),
        n_steps=int(run.count[m.STEPS]),
        n_rejected=int(run.count[m.REJECTED]),
        n_jacobians=int(run.count[m.JACOBIANS]),
        n_factorisations=int(run.count[m.FACTORISATIONS]),
        methods=[] if automatic is None else automatic.switched,
    )
    if dense:
        result.dense = np.concatenate(coefficients) if coefficients else np.zeros((0, 8 * run.n))
    result.failed_at = float(run.control[m.STAGE_TIME]) if run.count[m.STARTED] else run.t
    if core.loops is not None:
        result.singular, result.switched = core.loops.passed(), switched
    result.message = _message(core, run, status, interrupted, t1)
    if result.methods:
        result.message += "".join(f" From t = {t:.6g} s on with {name}." for t, name in result.methods)
    return result


def _fixed_step(max_step: float, first_step: float | None) -> float:
    """The step of a method without error control."""
    step = max_step if np.isfinite(max_step) else first_step
    if step is None:
        raise TreemechError("RK4 has no error control: give its step as max_step=... [s].")
    return step


def _legs(t0: float, t1: float, breaks: tuple[float, ...]) -> list[tuple[float, float, float]]:
    """(start, end, time the end stands for) of the legs between breaks.

    A leg stays one rounding unit inside its breaks, so that a signal that jumps there is met from one side only:
    a stage on the wrong side would be rejected until the step is as small as the tolerance.

    >>> [(round(a, 9), round(b, 9), mark) for a, b, mark in _legs(0.0, 2.0, (1.0, 5.0))]
    [(0.0, 1.0, 1.0), (1.0, 2.0, 2.0)]
    """
    direction = 1.0 if t1 >= t0 else -1.0
    inner = sorted({b for b in breaks if (b - t0) * direction > 0.0 and (t1 - b) * direction > 0.0})
    edges = [t0, *(inner if direction > 0 else inner[::-1]), t1]
    legs = []
    for a, b in pairwise(edges):
        start = float(np.nextafter(a, t1)) if a in breaks else a
        end = float(np.nextafter(b, t0)) if b in breaks else b
        if (end - start) * direction > 0.0:
            legs.append((start, end, b))
    if not legs or legs[-1][1] != t1:
        legs.append((t1, t1, t1))
    return legs


def interpolate(method: str, t: Floats, table: Floats, times: Floats, euler: list[int]) -> Floats:
    """States at `times` from the interpolants of all steps; Euler parameters brought back to length 1."""
    if not len(table):
        raise TreemechError("the run made no step: there is nothing to interpolate.")
    step = np.sign(t[-1] - t[0]) or 1.0
    if np.any((times - t[0]) * step < 0) or np.any((t[-1] - times) * step < 0):
        raise TreemechError(f"the run covers t = {t[0]:.6g} .. {t[-1]:.6g} s; asked for a time outside.")
    k = np.clip(np.searchsorted(step * t, step * times, side="right") - 1, 0, len(t) - 2)
    x = ((times - t[k]) / (t[k + 1] - t[k]))[..., None]
    n = table.shape[1] // 8
    rows = table[k].reshape(*np.shape(times), 8, n)
    y = np.zeros((*np.shape(times), n))
    for r in range(3 if method == "DP5" else 6, -1, -1):
        y = (y + rows[..., 1 + r, :]) * (1.0 - x if method != "DP5" and r % 2 else x)
    y += rows[..., 0, :]
    for a in euler:
        y[..., a : a + 4] /= np.linalg.norm(y[..., a : a + 4], axis=-1, keepdims=True)
    return y


def _message(core: Core, run: _Integrator, status: int, interrupted: bool, end: float) -> str:
    """How the integration ended, with the coordinate to look at if it failed."""
    if interrupted:
        return f"interrupted at t = {run.t:.6g} s of {end:.6g} s; what was computed until then is kept."
    if status == OK:
        return (
            f"reached t = {end:.6g} s in {run.count[m.STEPS]} steps, {run.count[m.EVALUATIONS]} evaluations."
        )
    names = core.state_names
    code, index = split(status)
    if code == NOT_FINITE:
        return (
            f"the equations of motion give {run.control[m.LAST_ERROR]} for the rate of {names[index]} at the start, "
            f"t = {run.t:.6g} s. Look at the initial state and at the inertia behind that hinge."
        )
    if code in (STEP_TOO_SMALL, NOT_CONVERGED):
        n, controlled = run.n, len(run.atol)
        error = np.abs(run.work[m.E5 * n : m.E5 * n + controlled])
        error = error / (run.atol + run.control[m.RTOL] * np.abs(run.y[:controlled]))
        worst = (
            int(np.nanargmax(error)) if np.any(np.isfinite(error)) else int(np.argmax(~np.isfinite(error)))
        )
        if code == NOT_CONVERGED:
            return (
                f"Newton's iteration does not converge at t = {run.t:.6g} s even with a step of "
                f"{abs(run.control[m.STEP]):.2g} s, after {run.count[m.STEPS]} steps ({run.count[m.REJECTED]} "
                f"rejected). {names[worst]} = {run.y[worst]:.6g} moves most. Look for a load that jumps or is "
                "unbounded there; else try another rtol, or an explicit method."
            )
        return (
            f"the step size fell to {abs(run.control[m.STEP]):.2g} s at t = {run.t:.6g} s after "
            f"{run.count[m.STEPS]} steps ({run.count[m.REJECTED]} rejected). The error is dominated by "
            f"{names[worst]} = {run.y[worst]:.6g}. Look for a singular position or an unbounded load there; "
            "else try another rtol, or atol for this coordinate by name."
        )
    if code == CHAIN_OPEN and core.loops is not None:
        rows = core.layout.chords.rows
        name, gap = worst_row(rows, core.chord_work.row[:, ROW_POSITION])
        return (
            f"the chain opens at {name!r} by {gap:.2g} (m, rad) at t = {run.t:.6g} s: no position near it is closed. It "
            "may have come to the end of its travel; else try a smaller rtol."
        )
    if code == SINGULAR_POSITION and core.loops is not None:
        passed, name = core.loops.passed(), core.loops.row_name(index)
        time_ = passed[-1][0] if passed and passed[-1][0] > run.t else run.t
        return (
            f"the constraints lose rank at t = {time_:.6g} s: the position is singular, look at {name!r}. "
            + ("on_singular='pass' goes through it." if run.hooks[m.STOP] else
               "This method does not pass it: 'DOP853', the default, does." if run.loop != "integrate" else
               "No step leads through it: start elsewhere, or try another rtol.")
        )  # fmt: skip
    return f"{core.culprit(status)} failed at t = {run.t:.6g} s."


class ProgressBar:
    """A bar on stderr: fraction done, time left. tqdm if it is installed."""

    def __init__(self, label: str) -> None:
        self.started, self.label, self.bar = time.perf_counter(), label, None
        try:
            from tqdm import tqdm

            self.bar = tqdm(total=1.0, desc=label, unit="s", bar_format="{l_bar}{bar}| {elapsed}<{remaining}")
        except ImportError:
            pass

    def __call__(self, fraction: float) -> None:
        if self.bar is not None:
            self.bar.update(fraction - self.bar.n)
            return
        elapsed = time.perf_counter() - self.started
        left = elapsed * (1.0 - fraction) / fraction if fraction > 0 else float("nan")
        filled = int(30 * fraction)
        sys.stderr.write(
            f"\r{self.label} [{'#' * filled}{'.' * (30 - filled)}] {100 * fraction:3.0f}% {left:.1f} s left "
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        else:
            sys.stderr.write("\n")
