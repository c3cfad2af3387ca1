"""Dynamic simulation problem (8.4): from arguments to results. A `Driver` takes the run leg by leg."""

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from treemech.kinematics.kernel.status import ELEMENT_FAILURES, OK, split
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats
from treemech.topology.deferred import dataclass

from ..integrators import layout as m
from ..integrators.alpha import layout as alpha_layout
from ..model.core import Core
from .driver import Driver, legs
from .event_search import Occurrence, Watched
from .integrator import EXTERNAL_METHODS, Closure, Switch
from .report import Report, external_report, report

if TYPE_CHECKING:
    from .external_driver import ExternalDriver


@dataclass(eq=False)
class Integration:
    """Result of an integration: states row by row, and how it went."""

    t: Floats
    y: Floats
    status: int = OK
    message: str = ""
    report: Report | None = None
    failure: object = None
    failed_at: float = 0.0
    interrupted: bool = False
    n_evaluations: int = 0
    n_steps: int = 0
    n_rejected: int = 0
    n_jacobians: int = 0
    n_factorisations: int = 0
    methods: list[tuple[float, str]] = field(default_factory=list)  # (time, method used from then on)
    dense: Floats | None = None
    nodes: Floats | None = None  # ends of the steps of the interpolants
    events: list[Occurrence] = field(default_factory=list)
    error: TreemechError | None = None  # of a controller or an event
    success: bool = False
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
    closure: Closure | None = None,
    sample: Callable[[float, Floats], None] | None = None,
    watched: Watched | None = None,
    keeper: "Keeper | None" = None,
    max_steps: int | None = None,
) -> Integration:
    """Integrate y (`Core.pack`) over t_span. Errors of elements are not raised: see `status` and `message`.

    `sample(t, y)` may change y at the start and at every break; `watched` are events; `keeper` writes
    checkpoints.
    """
    if method in EXTERNAL_METHODS:
        from .external_driver import ExternalDriver

        if keeper is not None:
            raise TreemechError(f"method {method!r} of another library has no checkpoints: take 'DOP853'.")
        options = {"rtol": rtol, "atol": atol, "max_step": max_step, "first_step": first_step}
        way = ExternalDriver(
            core,
            str(method),
            t_span,
            legs(*t_span, breaks),
            y0,
            options,
            t_eval,
            dense,
            sample,
            watched,
            max_steps,
        )
        way.go(progress)
        return _external_result(way)
    if method == "RK4":
        max_step = first_step = _fixed_step(max_step, first_step)
    driver = Driver(
        core, t_span, y0, method, rtol, atol, t_eval, max_step, first_step, breaks, dense, closure or Closure(), sample,
        watched, max_steps,
    )  # fmt: skip
    if keeper is not None:
        keeper.resume(driver)
    driver.go(progress, None if keeper is None else keeper.keep)
    return _result(driver)


class Keeper(Protocol):
    """Writes the state of a driver down, and restores it."""

    def resume(self, driver: Driver) -> None: ...
    def keep(self, driver: Driver, at_once: bool) -> None: ...


def _result(driver: Driver) -> Integration:
    core, run, written = driver.core, driver.run, int(driver.run.count[m.WRITTEN])
    t = np.concatenate(driver.t) if driver.stepwise else driver.t_out[:written].copy()
    y = np.concatenate(driver.y) if driver.stepwise else driver.y_out[:written]
    result = Integration(
        t, y, driver.status, failure=driver.failure, interrupted=driver.interrupted,
        n_evaluations=int(run.count[m.EVALUATIONS]),
        n_steps=int(run.count[m.STEPS]),
        n_rejected=int(run.count[m.REJECTED]),
        n_jacobians=int(run.count[m.JACOBIANS]),
        n_factorisations=int(run.count[m.FACTORISATIONS]),
        methods=[] if driver.automatic is None else driver.automatic.switched,
        events=driver.happened, error=driver.error,
        success=driver.status == OK and not driver.interrupted and driver.stuck_at < 0 and driver.crawl is None,
    )  # fmt: skip
    if driver.dense:
        result.dense, result.nodes = np.concatenate([np.zeros((0, 8 * run.n)), *driver.tables]), t
    result.failed_at = float(run.control[m.STAGE_TIME]) if run.count[m.STARTED] else run.t
    if core.loops is not None:
        result.singular, result.switched = driver.singular, driver.switched
    if driver.stepwise:
        result.t, result.y = _with_events(driver, t, y)
    result.report = _report(driver)
    result.message = result.report.message
    if driver.every > 1:
        result.message += f" Every {driver.every}th step was kept, to save memory: give t_eval= for outputs of your own choice."
    if result.methods:
        result.message += "".join(f" From t = {t:.6g} s on with {name}." for t, name in result.methods)
    lowered = int(run.count[alpha_layout.N_LOWERED]) if run.name == "alpha3" else 0
    if lowered:
        result.message += (
            f" {lowered} of {result.n_steps} steps had index 2: at this tolerance and step the rounding of closed positions, which "
            "index 3 divides by the step, exceeds that of the speeds."
        )
    return result


def _external_result(driver: "ExternalDriver") -> Integration:
    t = np.array([p.t for p in driver.points]) if driver.stepwise else driver.t_out[: driver.written].copy()
    y = np.array([p.y for p in driver.points]) if driver.stepwise else driver.y_out[: driver.written]
    result = Integration(
        t, y, driver.status, _ended(driver, driver.t) or driver.message, failure=driver.failure,
        failed_at=driver.rhs.t, interrupted=driver.interrupted, n_evaluations=driver.rhs.calls, n_steps=driver.steps,
        events=driver.happened, error=driver.error,
        success=driver.status == OK and not driver.interrupted and driver.stuck_at < 0 and driver.error is None
        and driver.crawl is None,
    )  # fmt: skip
    if driver.dense:
        result.dense = np.concatenate(
            [np.zeros((0, 8 * y.shape[1])), *(p.table[None] for p in driver.points[1:])]
        )
        result.nodes = t
    if driver.stepwise:
        result.t, result.y = _with_events(driver, t, y)
    failed = driver.status != OK and split(driver.status)[0] not in ELEMENT_FAILURES
    rates = driver.rhs.rate if failed and not driver.interrupted else None
    result.report = external_report(driver.core, result.message, driver.t, driver.y, driver.steps, rates)
    if driver.crawl is not None:
        result.report = result.report._replace(
            load=driver.crawl.load, coordinate=driver.crawl.coordinate, advice=driver.crawl.advice
        )
    result.message = result.report.message
    return result


def _report(driver: Driver) -> Report:
    run = driver.run
    found = report(driver.core, run, driver.status, driver.interrupted, driver.t_span[1], driver.crawl)
    return found._replace(message=_ended(driver, run.t) or found.message)


def _ended(driver: "Driver | ExternalDriver", t: float) -> str:
    """Describe the event that ended the run, or that comes without end.

    Return an empty text if there is none.
    """
    search = driver.search
    if search is not None and driver.stuck_at >= 0:
        return (
            f"event {search.watched.names[driver.stuck_at]!r} comes to rest at t = {t:.9g} s: nothing would keep "
            "it from coming again and again. Let it end the run (terminal=), or give it a unilateral constraint that holds."
        )
    if search is not None and driver.ended_by >= 0:
        return f"event {search.watched.names[driver.ended_by]!r} ended the run at t = {t:.6g} s."
    return ""


def _with_events(driver: "Driver | ExternalDriver", t: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Insert the events within steps between the steps, in the order of time."""
    own, ahead = set(t.tolist()), 1.0 if driver.t_span[1] >= driver.t_span[0] else -1.0
    found = {e.t: e.y for e in driver.happened if e.inside and e.t not in own}
    if not found:
        return t, y
    times = np.concatenate((t, list(found)))
    order = np.argsort(ahead * times, kind="stable")
    return times[order], np.vstack((y, *found.values()))[order]


def _fixed_step(max_step: float, first_step: float | None) -> float:
    """Return the step of a method without error control."""
    step = max_step if np.isfinite(max_step) else first_step
    if step is None:
        raise TreemechError("RK4 has no error control: give its step as max_step=... [s].")
    return step
