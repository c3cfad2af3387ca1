"""Report of an integration: how it ended, what failed, where, and what to try."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treemech.kinematics.kernel.status import (
    CHAIN_OPEN,
    ELEMENT_FAILURES,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
    split,
)
from treemech.kinematics.plan.columns import row
from treemech.kinematics.rows import worst_row
from treemech.topology.arrays import Floats

from ..integrators import layout as m
from ..integrators.alpha import layout as alpha_layout
from ..model.core import Core
from .crawl import Crawl
from .integrator import Integrator

if TYPE_CHECKING:
    from .diagnosis import Diagnosis

_JUMP = 1e-3  # largest relative change of a load within a step that is too short


class Report(NamedTuple):
    """How an integration ended; numbers are nan and names "" if unknown.

    A run that reached its end has only the first five.
    """

    message: str  # everything in words
    t: float  # reached [s]
    steps: int
    rejected: int
    step: float = np.nan  # the last that was tried, or the next one [s]
    coordinate: str = ""  # with the largest error
    value: float = np.nan
    connection: str = ""  # with the largest residual
    residual: float = np.nan  # (m, rad)
    conditioning: float = np.nan  # of the mass matrix; with chords, of their rows in its metric
    weakest: str = ""  # coordinate or connection behind the conditioning
    load: str = ""  # element whose load changes most within the last, too short step
    advice: tuple[str, ...] = ()  # what to try, the most likely first

    def __str__(self) -> str:
        return self.message


def report(
    core: Core, run: Integrator, status: int, interrupted: bool, end: float, crawl: Crawl | None
) -> Report:
    """Report how the integration ended, with the coordinate to look at if it failed."""
    count = run.t, int(run.count[m.STEPS]), int(run.count[m.REJECTED])
    code, index = split(status)
    if crawl is not None:
        return _given_up(core, run, crawl, end)
    if status == OK and not interrupted:
        text = (
            f"reached t = {end:.6g} s in {run.count[m.STEPS]} steps, {run.count[m.EVALUATIONS]} evaluations."
        )
        return Report(text, *count, abs(float(run.control[m.STEP])))
    if code == NOT_FINITE and not interrupted:
        text = (
            f"the equations of motion give {run.control[m.LAST_ERROR]} for the rate of {core.state_names[index]} at the "
            f"start, t = {run.t:.6g} s."
        )
        look = "Look at the initial state and at the inertia behind that hinge."
        return Report(f"{text} {look}", *count, coordinate=core.state_names[index], advice=(look,))
    if code in ELEMENT_FAILURES and not interrupted:
        return Report(f"{core.culprit(status)} failed at t = {run.t:.6g} s.", *count)
    opened = (
        worst_row(core.layout.chords.rows, core.chord_work.row[:, row.POSITION])
        if code == CHAIN_OPEN
        else None
    )
    from .diagnosis import diagnose

    found = diagnose(core, run, interrupted and run.loop != "radau_integrate")
    if opened is not None:
        found = found._replace(connection=opened[0], residual=float(opened[1]))
    worst = _worst(run) if code in (STEP_TOO_SMALL, NOT_CONVERGED) and not interrupted else -1
    advice = _advice(core, run, code, index, interrupted, end, found, worst)
    texts = [_what(core, run, status, interrupted, end, found, worst), *_numbers(found), *advice]
    return Report(
        " ".join(text for text in texts if text), *count, abs(float(run.control[m.STEP])),
        core.state_names[worst] if worst >= 0 else "", float(run.y[worst]) if worst >= 0 else np.nan,
        found.connection, found.residual, found.conditioning, found.weakest,
        found.load if found.load_change > _JUMP else "", advice,
    )  # fmt: skip


def _given_up(core: Core, run: Integrator, crawl: Crawl, end: float) -> Report:
    """Report on a run that was given up: what keeps its steps short, or whether it is stiff."""
    from .diagnosis import diagnose

    found = diagnose(core, run, not crawl.advice and run.loop != "radau_integrate")
    advice = crawl.advice or _advice(core, run, OK, 0, True, end, found, -1)
    text = crawl.message if crawl.advice else " ".join((crawl.message, *advice))
    if crawl.advice and not crawl.load and found.conditioning > 1e6:  # nothing that was given jumps
        text = (
            f"{text} The conditioning is {found.conditioning:.2g}, look at {found.weakest!r}: so near a singular position "
            "rounding alone makes the rates jump. A larger rtol may do."
        )
    return Report(
        text, run.t, int(run.count[m.STEPS]), int(run.count[m.REJECTED]), abs(float(run.control[m.STEP])),
        crawl.coordinate, np.nan, found.connection, found.residual, found.conditioning, found.weakest, crawl.load, advice,
    )  # fmt: skip


def external_report(core: Core, text: str, t: float, y: Floats, steps: int, rates: Floats | None) -> Report:
    """Report on a method of another library, from the state reached.

    `rates`: the last ones if it failed, else None.
    """
    if rates is None:
        return Report(text, t, steps, 0)
    from .diagnosis import diagnose_state

    found, coordinate, value = diagnose_state(core, t, y), "", np.nan
    with np.errstate(all="ignore"):
        fast = np.abs(rates) / (1.0 + np.abs(y))
    if len(fast):
        k = int(np.argmax(np.where(np.isfinite(fast), fast, np.inf)))
        coordinate, value = core.state_names[k], float(y[k])
        text += f" {coordinate} = {value:.6g} changes fastest."
    advice = ["'DOP853' and 'Radau' of the library itself say more about it."]
    if found.singular:
        what = "position" if core.loops is not None else "choice of coordinates"
        advice.insert(0, f"The {what} is singular there: look at {found.weakest!r}, or start elsewhere.")
    texts = " ".join([text, *_numbers(found), *advice])
    return Report(
        texts, t, steps, 0, np.nan, coordinate, value, found.connection, found.residual, found.conditioning,
        found.weakest, "", tuple(advice),
    )  # fmt: skip


def _worst(run: Integrator) -> int:
    """Return the index in y of the largest error."""
    n, controlled = run.n, len(run.atol)
    error = np.abs(run.work[m.E5 * n : m.E5 * n + controlled])
    error = error / (run.atol + run.control[m.RTOL] * np.abs(run.y[:controlled]))
    return int(np.nanargmax(error)) if np.any(np.isfinite(error)) else int(np.argmax(~np.isfinite(error)))


def _what(
    core: Core, run: Integrator, status: int, interrupted: bool, end: float, found: "Diagnosis", worst: int
) -> str:
    """Say what happened and where."""
    code, index = split(status)
    done = f"{run.count[m.STEPS]} steps ({run.count[m.REJECTED]} rejected)"
    if interrupted:
        return f"interrupted at t = {run.t:.6g} s of {end:.6g} s; what was computed until then is kept."
    if code == NOT_CONVERGED:
        return (
            f"Newton's iteration does not converge at t = {run.t:.6g} s even with a step of "
            f"{abs(run.control[m.STEP]):.2g} s, after {done}. {core.state_names[worst]} = {run.y[worst]:.6g} moves most."
        )
    if code == STEP_TOO_SMALL:
        return (
            f"the step size fell to {abs(run.control[m.STEP]):.2g} s at t = {run.t:.6g} s after {done}. The error is "
            f"dominated by {core.state_names[worst]} = {run.y[worst]:.6g}."
        )
    if code == CHAIN_OPEN and core.loops is not None:
        return f"the chain opens at {found.connection!r} at t = {run.t:.6g} s, after {done}: no position near it is closed."
    if code == SINGULAR_POSITION and core.loops is not None:
        return (
            f"the constraints lose rank at t = {run.control[m.STAGE_TIME]:.6g} s: the position is singular, look at "
            f"{core.loops.row_name(index)!r}."
        )
    return f"it stopped at t = {run.t:.6g} s (status {status})."


def _numbers(found: "Diagnosis") -> list[str]:
    texts = []
    if found.connection:
        texts.append(
            f"The constraint that is worst met is {found.connection!r}, by {found.residual:.2g} (m, rad)."
        )
    if found.conditioning > 1e6:
        texts.append(f"The conditioning is {found.conditioning:.2g}, look at {found.weakest!r}.")
    return texts


def _advice(
    core: Core,
    run: Integrator,
    code: int,
    index: int,
    interrupted: bool,
    end: float,
    found: "Diagnosis",
    worst: int,
) -> tuple[str, ...]:
    """Say what to try, the most likely first."""
    if interrupted:
        reach = found.fastest * abs(end - run.t)
        if found.fastest * abs(run.control[m.STEP]) > 0.5 and reach > 1e4:
            return (
                f"The model is stiff: its fastest motion takes {1.0 / found.fastest:.2g} s and keeps the steps short. Try "
                "method='Radau' or 'auto'.",
            )
        return ()
    if code == CHAIN_OPEN:
        return ("It may have come to the end of its travel; else try a smaller rtol.",)
    if code == SINGULAR_POSITION:
        return (
            "on_singular='pass' goes through it." if run.hooks[m.STOP] else
            "No step leads through it: a prescribed motion may lead beyond the end of the travel, where the mechanism locks; else "
            "start elsewhere, or try another rtol." if len(core.layout.plan.prescribed) else
            "No step leads through it: start elsewhere, or try another rtol.",
        )  # fmt: skip
    if code not in (STEP_TOO_SMALL, NOT_CONVERGED):
        return ()
    advice, name = [], core.state_names[worst]
    if run.below_rounding(worst):
        tolerance = float(run.atol[worst] + run.control[m.RTOL] * abs(run.y[worst]))
        advice.append(
            f"The tolerance of {name}, {tolerance:.2g}, is below the rounding of its values: give it a larger atol, by name."
        )
    if found.load_change > _JUMP:
        advice.append(
            f"The load of {found.load!r} changes by {100.0 * min(found.load_change, 1e3):.3g} % within "
            f"{1e3 * abs(run.control[m.STEP]):.2g} s: it jumps or is unbounded there. Bound or smooth it, use "
            "tm.Friction for dry friction, switch it by an event (tm.Event with an action), or start elsewhere."
        )
    if found.singular:
        what = "position" if core.loops is not None else "choice of coordinates"
        advice.append(f"The {what} is singular there: look at {found.weakest!r}, or start elsewhere.")
        if core.loops is not None and len(core.layout.plan.prescribed):
            advice.append(
                "A prescribed motion may lead beyond the end of the travel, where the mechanism locks."
            )
    if not advice:
        other = (
            "a shorter max_step,"
            if run.control[alpha_layout.FIXED] and run.alpha is not None
            else "another rtol,"
        )
        advice.append(f"Look for a singular position or an unbounded load there; else try {other}")
        advice.append(
            "an explicit method." if code == NOT_CONVERGED else "or atol for this coordinate by name."
        )
        advice = [" ".join(advice)]
    return tuple(advice)
