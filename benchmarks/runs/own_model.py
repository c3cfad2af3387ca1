"""A user's own model by every formulation, integrator and tolerance: what `tm.compare` runs.

A candidate is a formulation with an integrator. Those of the engine run as users run them, by `mech.simulate`: all its integrators
with the default way of closing chains, and DOP853 with the other ways. The other formulations run as in `compare`. CPU time is that
of the integration alone: what a call of `mech.simulate` costs without any step is taken off. Building and compiling are not counted,
not towards the budget either.
"""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import treemech as tm
from treemech.results.comparison import Comparison, Reference, Row, label
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..formulations import Bodies, Formulation, Inexpressible, Solution, TooSlow, formulations
from ..formulations.relative.relative import OwnSolution, Relative
from .compare import _STEP, LARGEST

RTOLS = tuple(10.0**-k for k in range(3, 13))
METHODS = ("DOP853", "Adams", "DP5", "Radau", "auto", "RK4", "alpha3", "alpha2")
# the reference, and what checks it: the first that gets there; (method, rtol)
FINEST = (("DOP853", 1e-13), ("Radau", 1e-12), ("auto", 1e-12))
CHECKS = (("Adams", 1e-12), ("Radau", 1e-11), ("DP5", 1e-11), ("DOP853", 1e-12))
CLOSE = 1e-9  # a check that is as near as this needs no other one
PART = 0.2  # of the budget, for the reference and for its checks
SYMBOLIC = 10.0  # s of budget that must be left to derive equations by SymPy
REPEATS = 9  # of a run, as long as all together take less than QUICK s and a small part of what is left
QUICK = 0.02
ROUNDS = 3
_SHORT = 1e-4  # of the time span: what a candidate warms up with


@dataclass(frozen=True)
class Task:
    """The motion to compute."""

    system: tm.System
    state: tm.State
    t_span: tuple[float, float]
    times: Floats

    @property
    def duration(self) -> float:
        return abs(self.t_span[1] - self.t_span[0])


@dataclass(frozen=True)
class Found:
    """What one run left."""

    seconds: float
    success: bool
    message: str
    evaluations: int
    steps: int
    bodies: Callable[[], Bodies]
    residual: Callable[[], float]


class ByEngine:
    """A candidate that runs by `mech.simulate`."""

    def __init__(self, method: str, stabilisation: Any, task: Task) -> None:
        self.method, self.stabilisation, self.task = method, stabilisation, task
        self.mech = task.system.build()
        self.setting, self.order = ("step", 4) if method == "RK4" else ("rtol", 8)
        self.fixed = 0.0  # CPU seconds of a call without any step

    def warm_up(self) -> None:
        """Load what the first run needs, and measure a call without any step."""
        begin, short = self.task.t_span[0], replace(self.task, t_span=_short_span(self.task))
        ByEngine(self.method, self.stabilisation, replace(short, times=np.array(short.t_span))).run(
            self._first(), math.inf
        )
        standing = ByEngine(
            self.method,
            self.stabilisation,
            replace(self.task, t_span=(begin, begin), times=np.array([begin])),
        )
        self.fixed = min(standing.run(self._first(), math.inf).seconds for _ in range(REPEATS))

    def _first(self) -> float:
        return 1e-3 if self.setting == "rtol" else _SHORT / 5 * self.task.duration

    def options(self, setting: float) -> dict[str, Any]:
        """Return the keywords of `mech.simulate`."""
        kept = {"max_step": setting} if self.setting == "step" else {"rtol": setting, "atol": setting}
        way = {} if self.stabilisation == "default" else {"stabilisation": self.stabilisation}
        return {"method": self.method, **kept, **way}

    def call(self, setting: float) -> str:
        """Return the call a user would write."""
        given = ", ".join(f"{k}={_short(v)}" for k, v in self.options(setting).items())
        begin, end = self.task.t_span
        return f"mech.simulate(({begin:g}, {end:g}), state, {given})"

    def evaluation(self) -> float:
        return 0.0  # its runs can be stopped at any time

    def run(self, setting: float, allowed: float) -> Found:
        """Run once; raise `TooSlow` after the CPU seconds allowed."""
        until = time.process_time() + allowed

        def watch(fraction: float) -> None:
            if time.process_time() > until:
                raise TooSlow

        task, began = self.task, time.process_time()
        run = self.mech.simulate(
            task.t_span, task.state, t_eval=task.times, progress=watch, **self.options(setting)
        )
        whole = time.process_time() - began
        seconds = max(whole - self.fixed, 0.1 * whole)

        def bodies() -> Bodies:
            motion = [run.body(b.name) for b in task.system.bodies[1:]]
            names = ("position", "rotation", "velocity", "angular_velocity")
            return Bodies(*(np.stack([getattr(m, name) for m in motion], axis=1) for name in names))

        return Found(
            seconds, bool(run.success), str(run.message), run.statistics.get("evaluations", 0), run.statistics.get("steps", 0),
            bodies, lambda: float(np.max(np.abs(run.residual.position), initial=0.0)),
        )  # fmt: skip


class ByFormulation:
    """A candidate of benchmarks/formulations."""

    def __init__(self, kind: type[Formulation], task: Task) -> None:
        self.made, self.task = kind(task.system), task
        self.setting, self.order = self.made.setting, self.made.order

    def warm_up(self) -> None:
        """Compile what the first run needs."""
        made, (begin, end) = self.made, _short_span(self.task)
        first = 1e-3 if self.setting == "rtol" else (end - begin) / 5
        found = made.integrate((begin, end), made.initial(self.task.state), first, np.array([end]), math.inf)
        made.bodies(found.t, found.y)
        made.residuals(found.t, found.y)

    def call(self, setting: float) -> str:
        return ""

    def evaluation(self) -> float:
        """Return the CPU seconds of an evaluation: runs look at the clock only now and then."""
        y = self.made.initial(self.task.state)
        began = time.process_time()
        self.made.rhs(self.task.t_span[0], y)
        return time.process_time() - began

    def run(self, setting: float, allowed: float) -> Found:
        """Run once; raise `TooSlow` after the CPU seconds allowed."""
        made, task = self.made, self.task
        y0 = made.initial(task.state)
        began = time.process_time()
        found = made.integrate(task.t_span, y0, setting, task.times, allowed)
        seconds = time.process_time() - began

        def bodies() -> Bodies:
            return made.bodies(found.t, found.y)

        def residual() -> float:
            return float(np.max(made.residuals(found.t, found.y)[:, 0], initial=0.0))

        return Found(seconds, found.success, found.message, found.evaluations, found.steps, bodies, residual)


@dataclass(frozen=True)
class Candidate:
    """A formulation with an integrator, not made yet."""

    formulation: str
    coordinates: str
    integrator: str
    make: Callable[[Task], ByEngine | ByFormulation]
    refuses: type[Formulation] | None = None  # is asked first whether it can express the model

    @property
    def label(self) -> str:
        return label(self.formulation, self.integrator)


def candidates(kinds: Sequence[str], methods: Sequence[str], closed: bool) -> list[Candidate]:
    """Return the candidates for a tree or closed chains, the most promising first: others may run out of time."""
    known, own, others = formulations(), [], []
    usual = "relative-kkt" if closed else "relative-recursion"
    for name in kinds:
        kind = known[name]
        if not (issubclass(kind, Relative) and not issubclass(kind, OwnSolution)):
            integrator = "DOP853" if kind.setting == "rtol" else name.rpartition("-")[2]
            others.append(Candidate(name, _coordinates(kind), integrator, partial(ByFormulation, kind)))
            continue
        for method in methods if name == usual else methods[:1]:
            make = partial(ByEngine, method, kind.stabilisation)
            own.append(Candidate(name, "relative", method, make, kind))
    own.sort(key=lambda c: c.formulation != usual)
    others.sort(key=lambda c: ("symbolic" in c.formulation, "dense" in c.formulation))
    return own + others


def _coordinates(kind: type[Formulation]) -> str:
    """Return the coordinates of a formulation: its folder.

    >>> _coordinates(formulations()["nikravesh-3-sparse"])
    'Cartesian'
    """
    folder = kind.__module__.split(".")[-2]
    return {"formulations": "relative", "cartesian": "Cartesian"}.get(folder, folder)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else repr(value)


# ---------------------------------------------------------------- the reference
def reference(task: Task, budget: "Budget", log: Callable[[str], None]) -> tuple[Bodies, Reference]:
    """Return the motion that errors are taken from, with its check by a second integrator."""
    notes: list[str] = []
    exact: Bodies | None = None
    method, rtol = FINEST[0]
    for method, rtol in FINEST:
        exact, why = _fine(task, method, rtol, PART * budget.seconds, budget)
        if exact is not None:
            break
        notes.append(f"{method} at rtol {rtol:.0e} gave no reference: {why}.")
    if exact is None:
        raise TreemechError(
            f"compare: there is no reference motion of {task.system.name!r}. {' '.join(notes)} "
            "Compare over a shorter time, or give more seconds."
        )
    log(f"reference: {method} at rtol {rtol:.0e}")
    checked, least = "", math.inf
    until = budget.spent() + PART * budget.seconds
    for other, tolerance in CHECKS:
        if other == method or budget.spent() >= until:
            continue
        motion, why = _fine(task, other, tolerance, until - budget.spent(), budget)
        if motion is None:
            notes.append(f"{other} at rtol {tolerance:.0e} could not check the reference: {why}.")
            continue
        deviation = _deviation(motion, exact)
        if deviation < least:
            checked, least = f"{other} at rtol {tolerance:.0e}", deviation
        if least < CLOSE:
            break
    return exact, Reference(method, rtol, checked, least if checked else math.nan, tuple(notes))


def _fine(
    task: Task, method: str, rtol: float, allowed: float, budget: "Budget"
) -> tuple[Bodies | None, str]:
    """Return a fine motion, or the reason why there is none."""
    try:
        engine = ByEngine(method, "default", task)
        budget.build(engine.warm_up)  # may compile
        found = engine.run(rtol, allowed)
    except TooSlow:
        return None, f"it takes more than {allowed:.3g} s"
    except Exception as error:
        return None, _told(error)
    return (found.bodies(), "") if found.success else (None, found.message.rstrip("."))


def _deviation(motion: Bodies, exact: Bodies) -> float:
    none: Any = None  # errors look at the bodies alone
    return Solution("", none, motion, np.zeros((0, 2)), 0, 0).error(exact)


def _told(error: Exception) -> str:
    text = str(error).strip().splitlines()
    said = text[0] if text else ""
    return said.rstrip(".") if isinstance(error, TreemechError) else f"{type(error).__name__}: {said}"


# ---------------------------------------------------------------- all together
class Budget:
    """CPU seconds for all runs; building does not count."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.began, self.outside = seconds, time.process_time(), 0.0

    def spent(self) -> float:
        return time.process_time() - self.began - self.outside

    def left(self) -> float:
        return max(self.seconds - self.spent(), 0.0)

    def build(self, make: Callable[[], Any]) -> Any:
        """Return what `make` makes, off the clock."""
        began = time.process_time()
        try:
            return make()
        finally:
            self.outside += time.process_time() - began


def measure(
    system: tm.System,
    state: tm.State,
    t_span: tuple[float, float],
    kinds: Sequence[str],
    methods: Sequence[str] = METHODS,
    rtols: Sequence[float] = RTOLS,
    seconds: float = 60.0,
    points: int = 41,
    tell: Callable[[float], None] | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Run all candidates; return what they cost and reached. A candidate that fails is recorded, and the others go on."""
    plain = replace(state, t=t_span[0], coordinates=None)
    task = Task(system, plain, t_span, np.linspace(*t_span, points))
    budget = Budget(seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # candidates that do badly are told in the result
        exact, found_reference = reference(task, budget, log)
        usual = ByEngine("DOP853", "default", task)
        budget.build(usual.warm_up)
        coarse = _coarse(usual, budget)
        result = Comparison(system.name, t_span, found_reference)
        wanted = candidates(kinds, methods, usual.mech._core.loops is not None)
        climbs: list[Climb] = []
        try:
            for candidate in wanted:
                climb = _made(candidate, task, rtols, coarse, budget, result)
                climbs += [climb] if climb is not None else []
            _climb_all(climbs, exact, 2.0 * coarse.seconds, budget, result, tell, log)
        except KeyboardInterrupt:
            ended = {c.candidate.label for c in climbs if not c.rest}
            for candidate in wanted:
                if candidate.label not in ended | result.reasons.keys() | result.failures.keys():
                    result.dropped[candidate.label] = "the comparison was interrupted"
    return replace(result, cpu_s=budget.spent())


def _short_span(task: Task) -> tuple[float, float]:
    return task.t_span[0], task.t_span[0] + _SHORT * task.duration


@dataclass(frozen=True)
class Coarse:
    """What DOP853 needs at rtol 1e-6: what other candidates are expected to need is judged by it."""

    step: float  # s, the mean one
    evaluations: float
    seconds: float


def _coarse(usual: ByEngine, budget: Budget) -> Coarse:
    try:
        found = usual.run(1e-6, 0.5 * PART * budget.seconds)
    except Exception:  # stiff: a guess, for the steps of methods that want one
        return Coarse(usual.task.duration / 1000.0, 10_000.0, 0.0)
    return Coarse(usual.task.duration / max(found.steps, 1), float(max(found.evaluations, 1)), found.seconds)


def _dense_rows(candidate: Candidate, bodies: int) -> int:
    """Return about how many rows the dense matrix of a candidate has; 0 if it has none."""
    if "dense" not in candidate.formulation or (
        candidate.coordinates == "relative" and "newton" not in candidate.formulation
    ):
        return 0
    return 12 * bodies


@dataclass
class Climb:
    """A candidate on its way along the ladder of tolerances."""

    candidate: Candidate
    made: ByEngine | ByFormulation
    rest: list[float]  # rtols still to run, the coarsest first
    step: float  # s; of DOP853 at rtol 1e-6
    least: float  # CPU seconds that a run at rtol 1e-6 takes at least

    def row(self) -> tuple[Row, float]:
        """Return the next row, without numbers, and its setting."""
        rtol, made, candidate = self.rest[0], self.made, self.candidate
        setting, step = rtol, None
        if made.setting == "step":
            setting = step = self.step * _STEP[made.order] * (rtol / 1e-4) ** (1 / made.order)
        return Row(
            candidate.formulation, candidate.coordinates, candidate.integrator, rtol, step, call=made.call(setting)
        ), setting  # fmt: skip

    def go(self, exact: Bodies, share: float, budget: Budget, result: Comparison) -> None:
        """Climb as far as the share of time allows; write what happens into the result."""
        name, began = self.candidate.label, budget.spent()
        if share <= 0.0:
            result.dropped.setdefault(name, "no time was left for it")
            return
        result.dropped.pop(name, None)
        while self.rest:
            row, setting = self.row()
            allowed = share - (budget.spent() - began)
            expected = self.least * (1e-6 / row.rtol) ** (1 / 8)
            try:
                if allowed <= 0.0 or expected > allowed:
                    raise TooSlow
                row = _run(self.made, row, setting, exact, allowed)
            except TooSlow:
                takes = (
                    f"at least {expected:.2g} s" if expected > allowed > 0.0 else "more than was left for it"
                )
                result.dropped[name] = f"at {row.setting} {takes}; its share of the time was {share:.2g} s"
                return
            except Exception as error:
                row = replace(row, failure=_told(error))
            result.rows.append(row)
            if row.failure:
                result.failures.setdefault(name, f"at {row.setting}: {row.failure}")
            del self.rest[0]


def _made(
    candidate: Candidate, task: Task, rtols: Sequence[float], coarse: Coarse, budget: Budget, result: Comparison
) -> Climb | None:  # fmt: skip
    """Build a candidate; None, with the reason in the result, if that cannot be."""
    name = candidate.label
    rows = _dense_rows(candidate, len(task.system.bodies) - 1)
    if rows > LARGEST:
        result.dropped[name] = f"a dense matrix of about {rows} rows is not tried"
        return None
    if "symbolic" in candidate.formulation and budget.left() < SYMBOLIC:
        result.dropped[name] = f"with less than {SYMBOLIC:g} s its equations are not derived"
        return None

    def build() -> Climb:
        if candidate.refuses is not None:
            candidate.refuses(task.system)
        made = candidate.make(task)
        made.warm_up()
        once = min(made.evaluation() for _ in range(3))
        return Climb(
            candidate, made, sorted(rtols, reverse=True), coarse.step, 0.3 * once * coarse.evaluations
        )

    try:
        made: Climb = budget.build(build)
        return made
    except Inexpressible as error:
        result.reasons[name] = str(error)
    except Exception as error:
        result.failures[name] = _told(error)
    return None


def _climb_all(
    climbs: Sequence[Climb], exact: Bodies, least: float, budget: Budget, result: Comparison, tell: Callable[[float], None] | None,
    log: Callable[[str], None],
) -> None:  # fmt: skip
    """Let all candidates climb, each with an equal share of the time left, but no less than one run takes, so that the first
    ones get there; what is left over goes to those that were stopped."""
    count = max(sum(len(c.rest) for c in climbs), 1)
    for _ in range(ROUNDS):
        going = [c for c in climbs if c.rest]
        for number, climb in enumerate(going):
            log(climb.candidate.label)
            left = budget.left()
            climb.go(exact, min(left, max(left / (len(going) - number), least)), budget, result)
            if tell is not None:
                tell(1.0 - sum(len(c.rest) for c in climbs) / count)


def _run(made: ByEngine | ByFormulation, row: Row, setting: float, exact: Bodies, allowed: float) -> Row:
    """Run at one setting, several times if that is quick; return the row with its numbers."""
    if allowed <= 0.0:
        raise TooSlow
    best, spent = math.inf, 0.0
    for _ in range(REPEATS):
        found = made.run(setting, allowed)
        best, spent = min(best, found.seconds), spent + found.seconds
        if spent > min(QUICK, 0.05 * allowed) or not found.success:
            break
    row = replace(row, cpu_s=best, evaluations=int(found.evaluations), steps=int(found.steps))
    if not found.success:
        return replace(row, failure=found.message.rstrip("."))
    error = _deviation(found.bodies(), exact)
    if not math.isfinite(error):
        return replace(row, failure="the motion is not finite")
    return replace(row, error=error, constraint=found.residual())
