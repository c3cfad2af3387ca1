"""How an integration ended: the report of what failed, where, and what to try."""

import numpy as np

from treemech.kinematics.assembly import worst_row
from treemech.kinematics.chord_plan import POSITION as ROW_POSITION
from treemech.kinematics.status import (
    CHAIN_OPEN,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
    split,
)

from . import step_memory as m
from .core import Core
from .integrator import Integrator


def report(core: Core, run: Integrator, status: int, interrupted: bool, end: float) -> str:
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
