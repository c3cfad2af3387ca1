"""The dynamic simulation problem (8.4) for trees: the compiled integrator, driven from Python.

Python is entered only to grow buffers, show progress, stop at the breaks of signals and let Ctrl-C through.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from treemech.kinematics.status import (
    CHAIN_OPEN,
    CHORD_SWITCHED,
    OK,
    PAUSED,
    split,
)
from treemech.topology import TreemechError

from . import foreign_methods
from . import step_memory as m
from .automatic import Automatic
from .core import Core
from .integrator import Closure, Integrator, Switch
from .report import report

Floats = NDArray[np.float64]
_BUFFER = 64  # accepted steps per visit to Python at the start


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


def integrate(
    core: Core,
    t_span: tuple[float, float],
    y0: Floats,
    method: str | tuple[str, float],
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
    run = Integrator(core, method, t0, np.array(y0), rtol, atol, max_step, closure or Closure())
    if first_step == max_step:
        run.keep_step()
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
    result.message = report(core, run, status, interrupted, t1)
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
