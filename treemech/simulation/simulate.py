"""Dynamic simulation of a Mechanism: from the user's arguments to a Run."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.dynamics.simulation.integrate import integrate
from treemech.dynamics.simulation.integrator import NAMES, Closure, Released, Switch, radius
from treemech.kinematics.kernel.status import ELEMENT_FAILURES
from treemech.kinematics.plan.arrays import REACTIONS
from treemech.topology import ElementError, SingularError, TreemechError
from treemech.topology.arrays import Floats
from treemech.topology.parameter import as_float, as_floats

from ..analyses.states import as_rows
from ..results.computed import Results
from ..results.measures import Measure
from ..results.naming import Quantity, as_quantity
from ..results.run import Run
from ..results.state import State, find

if TYPE_CHECKING:
    from pathlib import Path

    from ..mechanism import Mechanism
    from .control import Sampling
    from .events import Watch
    from .singular_start import Departure

_STEPS = 100  # of a run in which only the memory of elements changes
_MOST_REMEMBERED = 1_000_000  # times in a run at which an element remembers


def _own_audit(simulate: Callable[..., Run]) -> Callable[..., Run]:
    """Leave the numbers of an audit out of the model's state again when a run has ended."""

    @wraps(simulate)
    def run(mech: "Mechanism", *given: Any, **options: Any) -> Run:
        core = mech._core
        try:
            return simulate(mech, *given, **options)
        finally:
            core.audit(False)

    return run


@_own_audit
def simulate(
    mech: "Mechanism",
    t_span: tuple[float, float],
    state: State | None = None,
    method: str | tuple[str, float] = "DOP853",
    rtol: float = 1e-6,
    atol: Any = None,
    t_eval: ArrayLike | None = None,
    events: Any = None,
    max_step: float = np.inf,
    first_step: float | None = None,
    dense_output: bool = False,
    progress: bool | Callable[[float], None] = False,
    stabilisation: str | tuple[str, float] = "default",
    on_singular: str = "pass",
    audit: bool = False,
    checkpoint: "str | Path | None" = None,
    checkpoint_every: float = 60.0,
    resume: "str | Path | None" = None,
    max_steps: int | None = None,
) -> Run:
    """Simulate the motion over t_span (DSP, 8.4), see `Mechanism.simulate`."""
    name = check_method(method, rtol)
    core, (t0, t1) = mech._core, as_span(t_span)
    state = mech.assemble(t0) if state is None else state
    _, q, u = as_rows(mech, state, "simulate")
    if on_singular not in ("pass", "warn", "stop"):
        raise TreemechError(f"on_singular is {on_singular!r}; wanted 'pass', 'warn' or 'stop'.")
    open_: tuple[str, ...] = ()
    departure: Departure | None = None
    if core.loops is not None:
        from ..analyses.contacts import open_contacts

        core.loops.release(())
        if not (isinstance(state, State) and state.cut):  # otherwise they are where the state has them
            core.reset_chords()
        open_ = open_contacts(mech, t0, q[0], u[0])
        core.loops.release(open_)
        departure = _departure(mech, t0, t1, q[0], u[0])
    if not _positive(max_step) or (first_step is not None and not _positive(first_step)):
        raise TreemechError(f"max_step is {max_step!r}, first_step {first_step!r}; wanted positive numbers.")
    if max_steps is not None and not (isinstance(max_steps, (int, np.integer)) and max_steps > 0):
        raise TreemechError(
            f"max_steps is {max_steps!r}; wanted a positive whole number, or None for no limit."
        )
    rtol = max(rtol, 100 * np.finfo(float).eps)
    times = None if t_eval is None else output_times(t_eval, t0, t1)
    if dense_output and times is not None:
        raise TreemechError("dense_output keeps every step: ask for run.sol(t) or for t_eval, not for both.")
    if not callable(progress) and not isinstance(progress, (bool, np.bool_)):
        raise TreemechError(
            f"progress is {progress!r}; wanted True, False or a function of the fraction done."
        )
    if mech._core.layout.kinematic:
        from .motion_check import check_motions

        check_motions(mech, t0, t1)
    bar = None
    if progress is True:
        from .progress import ProgressBar

        bar = ProgressBar(mech.name)
    breaks = tuple(b for signal in core.layout.signals for b in signal.breaks)
    core.audit(audit)
    working = False  # whether the work of drives is asked for, which needs the motion within the steps
    if audit:
        from .drive_work import has_drives

        working = has_drives(mech)
    sampling = _sampling(mech)
    begin = t0 if departure is None else departure.end
    asked = times if departure is None else times_after(times, begin, t1)
    y = core.pack(q[0], u[0], core.work.z[: core.nz], core.chord_work.q)
    core.remember_start(t0, y)
    if departure is not None:
        from .singular_start import state_on

        memory, (first_q, first_u, cut) = core.unpack(y).z, state_on(mech, departure, begin)
        y = core.pack(first_q, first_u, memory, cut)
    if not (core.nq or core.nu or core.nx):  # nothing moves by itself: there is no error to choose a step by
        if core.n_audit:
            method = "DOP853"
        else:
            method, step = "RK4", (abs(t1 - t0) or 1.0) / (_STEPS if core.nz else 1)
            max_step = min(max_step, step)
    watch = None if events is None else _watch(mech, events, t0, t1, y)
    tolerance = np.concatenate((tolerances(mech, atol, rtol), np.full(core.n_audit, rtol)))
    keeper = None
    if checkpoint is not None or resume is not None:
        from ..files.checkpoint import Checkpoint, digest, fingerprint
        from .control import described

        identity = {
            "model": fingerprint(mech), "controllers": described(mech._wiring.controllers), "audit": audit, "t_span": [t0, t1], "start": digest(y), "method": method, "rtol": rtol,
            "atol": digest(tolerance), "t_eval": None if times is None else digest(times), "max_step": max_step,
            "first_step": first_step, "events": None if watch is None else watch.described(),
            "dense_output": dense_output, "stabilisation": stabilisation, "on_singular": on_singular,
        }  # fmt: skip
        keeper = Checkpoint(checkpoint, checkpoint_every, resume, identity)
    try:
        result = integrate(
            core, (begin, t1), y, method, rtol,
            tolerance, None if working else asked, max_step, first_step,
            (*breaks, *(sampling.instants(t0, t1) if sampling else ()), *remembered_times(mech, t0, t1)),
            dense_output or working,
            bar or (progress if callable(progress) else None), Closure(stabilisation, on_singular), sampling, watch,
            keeper, max_steps,
        )  # fmt: skip
    finally:
        if bar is not None:
            bar.close()
        if core.loops is not None:
            core.loops.release(())
    released = _released(open_, result.switched)
    work: dict[str, Floats] = {}
    if working and result.dense is not None:
        from .drive_work import drive_work, keep_outputs

        if asked is not None:
            keep_outputs(core, result, name, asked, 1.0 if t1 >= t0 else -1.0, released)
        if len(result.dense) and result.error is None:
            work = drive_work(mech, result, name, rtol, released)
        result.dense = result.dense if dense_output else None
    if departure is not None:
        _prepend(mech, departure, result, times)
        work = {n: np.concatenate((np.zeros(len(result.t) - len(w)), w)) for n, w in work.items()}

    def results(t: Floats, q: Floats, u: Floats, cut: Floats, z: Floats) -> Results:
        from ..analyses.evaluation import results_of_states

        return results_of_states(mech, t, q, u, cut, z, released)

    run = Run._of_integration(mech._info, result, name, lambda: mech._core, results, mech._wiring.measures)
    run._work = work
    if on_singular == "warn" and run.singular:
        where = ", ".join(f"{t:.6g} s ({name!r})" for t, name in run.singular[:8])
        warnings.warn(f"{mech.name!r} passed singular positions at t = {where}.", stacklevel=3)
    _warn_of_undecided(mech, run)
    if watch is not None:
        run.events = watch.points(result.events)
    if result.error is not None:
        if isinstance(result.error, ElementError):
            result.error.partial = run
        raise result.error
    if result.status % 16 in ELEMENT_FAILURES:
        core.fail(result.status, result.failed_at, result.failure, partial=run)
    return run


def _watch(mech: "Mechanism", events: Any, t0: float, t1: float, y: Floats) -> "Watch | None":
    """Return the events, if there are any, after a check that none occurred before the start."""
    from .events import Watch, as_events

    listed = as_events(events)
    watch = Watch(mech, listed, 1.0 if t1 >= t0 else -1.0) if listed else None
    if watch is not None:
        watch.check_start(t0, y)
    return watch


def _sampling(mech: "Mechanism") -> "Sampling | None":
    """Return the controllers, if there are any."""
    if not mech._wiring.controllers:
        return None
    from .control import Sampling
    from .events import Look

    first = mech.nq + mech.nu + mech._core.n_audit

    def look(t: float, y: Floats) -> Run:
        return Look(mech, np.array([t]), y[None]).run

    places = {name: first + at for name, at in mech._core.layout.efforts.held.items()}
    return Sampling(mech._wiring.controllers, mech._wiring.measures, look, places, partial(_place_in_y, mech))


def remembered_times(mech: "Mechanism", t0: float, t1: float) -> list[float]:
    """Return the times in a run at which steps end because elements remember what there is then.

    What they remember is part of the model: without such times it would depend on the steps of the integrator,
    and no tolerance would control the motion. They are multiples of a time, wherever a run begins, so that one
    that goes on from a state of another remembers what a single one would.
    """
    times = list[float]()
    for a in mech._core.layout.efforts.applied:
        every = float(getattr(a.element, "remembers_every", 0.0))
        if not every > 0.0:
            continue
        count = abs(t1 - t0) / every
        if count > _MOST_REMEMBERED:
            raise ElementError(
                f"{a.element.kind} {a.name!r} remembers every {every:.3g} s, {count:.3g} times between t = {t0:.6g} and "
                f"{t1:.6g} s: choose a longer span, fewer samples, or an element with states (Fung, Viscoelastic)."
            )
        first, last = sorted((t0 / every, t1 / every))
        times += (every * np.arange(np.ceil(first), np.floor(last) + 1.0)).tolist()
    return times


def _place_in_y(mech: "Mechanism", measure: Measure) -> int | None:
    """Return the place of a plain coordinate or speed of a branch in the integrator's state; None for other measures."""
    asked = None if measure.text is None else as_quantity(measure.text)
    hinge = None if asked is None else next((h for h in mech._info.hinges if h.name == asked.owner), None)
    if (
        asked is None
        or hinge is None
        or asked.quantity not in ("q", "u")
        or hinge.euler_parameters is not None
    ):
        return None
    k = asked.indices[0] if len(asked.indices) == 1 else 0
    if hinge.nu <= k or len(asked.indices) > 1 or (not asked.indices and hinge.nu != 1):
        return None
    if any(name == hinge.name and number == k for name, number, _ in mech._info.prescribed):
        return None  # its signal decides
    return hinge.q + k if asked.quantity == "q" else mech.nq + hinge.u + k


def _departure(mech: "Mechanism", t0: float, t1: float, q: Floats, u: Floats) -> "Departure | None":
    """Check the start. Return the motion around it if it is a singular position that the rates lead out of."""
    try:
        check_start(mech, t0, q, u)
    except SingularError as refusal:
        if t1 == t0 or mech.mobility(State(t0, q, u)).singular == []:
            raise
        from .singular_start import depart

        return depart(mech, t0, t1, q, u, refusal)
    return None


def times_after(times: Floats | None, begin: float, end: float) -> Floats | None:
    """Return the output times that are not before the begin of an integration."""
    return None if times is None else times[(times - begin) * (end - begin) >= 0.0]


def _warn_of_undecided(mech: "Mechanism", run: Run) -> None:
    """Warn of elements that depend on loads which no model of rigid bodies decides."""
    if not run.success or not mech._core.context[REACTIONS]:
        return
    from ..analyses.closed_chains import undecided_elements

    found: dict[str, str] = {}
    for k in sorted({0, len(run.t) // 2, len(run.t) - 1}):
        state = run.state(k)
        now = mech.reactions(state)
        loads = np.array([(*now[c.name].force, *now[c.name].moment) for c in mech._info.connections])
        found |= undecided_elements(mech, state, loads)
    for name, hinge in found.items():
        warnings.warn(
            f"element {name!r} depends on the load of {hinge!r}, part of which the model does not decide, as constraints are "
            "redundant: the motion depends on which hinge is cut. Let a hinge give way in a redundant direction, or give the "
            "element its load.",
            stacklevel=4,
        )


def _prepend(mech: "Mechanism", departure: "Departure", result: Any, times: Floats | None) -> None:
    """Add the outputs from the singular start to where the integrator took over, and note the start as singular."""
    from .singular_start import state_on

    at = [departure.t] if times is None else [t for t in times if (t - departure.end) * departure.step < 0.0]
    core, rows = mech._core, []
    for t in at:
        q, u, cut = state_on(mech, departure, t)
        rows.append(core.pack(q, u, departure.z, cut))
    result.t = np.concatenate((at, result.t))
    result.y = np.vstack((*rows, result.y)) if rows else result.y
    result.singular = [(departure.t, departure.name), *result.singular]


def check_start(mech: "Mechanism", t: float, q: Floats, u: Floats) -> None:
    """Refuse a start that is not closed or does not stay closed; choose its independent rows."""
    loops, core = mech._core.loops, mech._core
    if loops is not None and loops.choose(t, q, u, closed=True) < loops.n_kept:
        cut, z = core.chord_work.q.copy(), core.work.z.copy()
        found = mech.mobility(State(t, q, u))  # it evaluates other positions too
        core.chord_work.q[:], core.work.z[:] = cut, z
        if found.singular:
            from treemech.kinematics.rows import quoted

            raise SingularError(
                f"the start at t = {t:.6g} s is a singular position: it can be left on more than one branch, by "
                f"{quoted(found.singular)} too. Start a little before or after it."
            )
        loops.choose(t, q, u)


def tolerances(mech: "Mechanism", atol: Any, rtol: float) -> Floats:
    """Return the absolute tolerance of every number of q, u and x: as given, else a thousandth of rtol.

    The default is not below 1e-14: closed chains leave gaps of 1e-15, which finer tolerances would chase.
    """
    values = np.full(mech.nq + mech.nu + mech._core.nx, max(1e-3 * rtol, 1e-14))
    if atol is None:
        return values
    if isinstance(atol, Mapping):
        for key, given in atol.items():
            value = _tolerance(given, f"atol of {key!r}")
            asked = as_quantity(str(key))
            if asked is None or asked.indices or asked.quantity not in ("q", "u", "x"):
                asked = Quantity(str(key), "")
            name, which, _ = asked
            element = next((e for e in mech._info.elements if e.name == name), None)
            if element is not None and which in ("", "x"):
                first = mech.nq + mech.nu + element.state
                values[first : first + element.sizes[2]] = value
                continue
            from ..analyses.cut_hinges import not_cut

            not_cut(mech, [name])
            c = find(mech._lagrange, name)
            try:
                if which in ("", "q"):
                    values[c.q_slice] = value
                if which in ("", "u"):
                    values[mech.nq + c.u : mech.nq + c.u + c.hinge.n_speeds] = value
            except ValueError:
                raise TreemechError(
                    f"atol of {key!r} is {given!r}; wanted one number, or one for each of the hinge's."
                ) from None
    else:
        given = _tolerance(atol, "atol")
        if given.ndim and given.shape != values.shape:
            raise TreemechError(
                f"atol has shape {given.shape}; wanted a number or ({len(values)},): q, u, then states of elements."
            )
        values[:] = given
    return np.asarray(np.maximum(values, 1e-300))  # 0 / 0 is no error


def _tolerance(given: Any, what: str) -> Floats:
    try:
        numbers = as_floats(given)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not np.all(numbers >= 0.0):
        raise TreemechError(f"{what} is {given!r}; wanted numbers that are not negative.")
    return numbers


def _released(at_start: tuple[str, ...], switched: Sequence[Switch]) -> Released:
    """Return from which time on which unilateral chords are released."""
    steps: list[tuple[float, tuple[str, ...]]] = [(-np.inf, at_start)]
    for t, name, holds in switched:
        before = steps[-1][1]
        steps.append((t, tuple(n for n in before if n != name) if holds else (*before, name)))
    return tuple(steps)


def check_method(method: Any, rtol: Any) -> str:
    """Return the name of a method; refuse one that does not exist, and a tolerance that is none."""
    name, _ = radius(method)
    if name not in NAMES:
        raise TreemechError(f"there is no method {method!r}: there are {', '.join(NAMES)}.")
    if not _positive(rtol) or rtol >= 1.0:
        raise TreemechError(f"rtol is {rtol!r}; wanted a number between 0 and 1.")
    return name


def _positive(number: Any) -> bool:
    return isinstance(number, (int, float, np.number)) and as_float(number) > 0.0


def as_span(t_span: Any) -> tuple[float, float]:
    try:
        t0, t1 = (as_float(x) for x in t_span)
    except (TypeError, ValueError):
        raise TreemechError(f"t_span is {t_span!r}; wanted two times (start, end).") from None
    if not (np.isfinite(t0) and np.isfinite(t1)):
        raise TreemechError(f"t_span is {t_span!r}; wanted finite times.")
    return t0, t1


def as_times(t_eval: ArrayLike) -> Floats:
    """Return output times as one column."""
    try:
        times = np.atleast_1d(as_floats(t_eval))
    except (TypeError, ValueError):
        raise TreemechError(f"t_eval is {t_eval!r}; wanted times.") from None
    if times.ndim != 1:
        raise TreemechError(f"t_eval has shape {times.shape}; wanted one column of times, (n,).")
    return times


def output_times(t_eval: ArrayLike, t0: float, t1: float) -> Floats:
    """Return output times that lie within t_span, in its direction."""
    times = as_times(t_eval)
    if len(times) and not (
        times.min() >= min(t0, t1) and times.max() <= max(t0, t1)
    ):  # nan is not inside either
        raise TreemechError(f"t_eval reaches outside t_span ({t0}, {t1}).")
    if not np.all(np.diff(times) * (1.0 if t1 >= t0 else -1.0) > 0.0):
        raise TreemechError("t_eval must run in the direction of t_span without repetition.")
    return times
