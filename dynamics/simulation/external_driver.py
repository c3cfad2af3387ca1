"""An integration by a method of another library, step by step: outputs, interpolants, events, as a `Driver` has them.

The loop is Python's, so it is slow. Closed chains are projected in the output and where events come, Euler parameters as
well. Where an event acts or ends the run, a fresh solver goes exactly there from the start of the step.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

import numpy as np

from treemech.kinematics.kernel.status import NOT_FINITE
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..model.core import Core
from ..model.prescribed_jump import speed_jump
from .dense_output import standstill
from .event_driver import Cause, EventDriver
from .event_search import Change, Crossing, Path, Search, Watched
from .external_methods import Failed, RightHandSide, Step, project, solver
from .snapshot import aside, model_arrays

# Seven values within a step, and its interpolant in the form of `stages.interpolate` from them
_NODES = np.arange(1, 8) / 7
_FIT = np.linalg.inv(
    np.stack([_NODES ** (j // 2 + 1) * (1 - _NODES) ** ((j + 1) // 2) for j in range(7)], axis=1)
)
_CLOSE = (
    1e3 * np.finfo(float).eps
)  # an end no further away, relative to the time, is too near for a solver to start


class Point(NamedTuple):
    """The end of an accepted step: time, state, the interpolant that leads there (8 n numbers)."""

    t: float
    y: Floats
    table: Floats


class ExternalDriver(EventDriver):
    """One integration of y (`Core.pack`) over t_span; legs as `course.legs` gives them."""

    def __init__(
        self,
        core: Core,
        method: str,
        t_span: tuple[float, float],
        legs: list[tuple[float, float, float]],
        y0: Floats,
        options: dict[str, Any],
        t_eval: Floats | None,
        dense: bool,
        sample: Callable[[float, Floats], None] | None,
        watched: Watched | None,
    ) -> None:
        if core.remembers:
            raise TreemechError(
                f"method {method!r} of another library tells no element of its accepted steps, which must remember: take 'DOP853'."
            )
        super().__init__(core, t_span, t_eval, dense, watched)
        self.method, self.legs, self.sample, n = method, legs, sample, len(y0)
        self.rhs = RightHandSide(core, n)
        # what nobody controls (coordinates of cut hinges) gets the coarsest of all tolerances
        atol = np.concatenate((options["atol"], np.ones(n - len(options["atol"]))))
        self.options = {**options, "atol": atol}
        self.ahead = 1.0 if t_span[1] >= t_span[0] else -1.0
        self.t, self.y = t_span[0], self._closed(t_span[0], np.array(y0))
        self.points = [Point(self.t, self.y.copy(), np.zeros(0))]
        self.y_out, self.written = np.zeros((len(self.t_out), n)), 0
        if len(self.t_out) and self.t_out[0] == self.t:
            self.y_out[0], self.written = self.y, 1
        self.steps, self.message = 0, ""
        self.arrays = list(model_arrays(core).values())

    def go(self, progress: Callable[[float], None] | None) -> None:
        """To the end, or as far as it goes."""
        before, t1 = self.t_span
        with self.core.guard() as self.failure:
            try:
                for k, (start, end, mark) in enumerate(self.legs):
                    self._enter(k, start, before)
                    while not self.done and (end - self.t) * self.ahead > 0.0:
                        self._drive(end, progress)
                        self.options["first_step"] = None
                    if self.done:
                        break
                    before = mark
                    if end != mark and self.stepwise:
                        self.points[-1] = self.points[-1]._replace(t=mark)
                self.message = f"reached t = {t1:.6g} s in {self.steps} steps, {self.rhs.calls} evaluations."
            except Failed as failed:
                self.status, t = failed.status, self.rhs.t
                reason = str(failed) or (
                    "The state there has no rates."
                    if self.core.loops is None
                    else "The chains cannot be closed there: where constraints lose rank 'DOP853' goes through."
                )
                self.message = f"{self.method} failed at t = {t:.6g} s after {self.steps} steps. {reason}"
            except KeyboardInterrupt:
                self.interrupted = True
                self.message = (
                    f"interrupted at t = {self.t:.6g} s of {t1:.6g} s; what was computed until then is kept."
                )
            except TreemechError as error:  # of an event or a controller
                self.error = error
        self.failure = Cause(getattr(self.failure, "exception", None))

    def _enter(self, leg: int, start: float, before: float) -> None:
        """The start of a leg: motions may jump, controllers are called, events may come by that."""
        if leg and self.core.layout.kinematic:
            self.y = speed_jump(self.core, self.t, start, self.y)
        if self.sample is not None:
            with self._aside():
                self.sample(before, self.y)
        self.t = start
        for k in np.flatnonzero(~np.isfinite(self.rhs(start, self.y)))[:1]:
            raise Failed(NOT_FINITE + 16 * int(k))
        self._jumped(before)

    def _drive(self, end: float, progress: Callable[[float], None] | None) -> None:
        """With one solver to the end of the leg, or to an event after which another one has to start."""
        (t0, t1), steps = self.t_span, solver(self.method, self.rhs, self.t, self.y, end, self.options)
        while (end - self.t) * self.ahead > 0.0:
            step = steps.step()
            fired = self.search is not None and self._look(self.search, step)
            if not fired:
                self._accept(step)
            if progress is not None:
                progress((self.t - t0) / (t1 - t0))
            if fired:
                return

    def _accept(self, step: Step) -> None:
        """Write a step down, and the outputs within it."""
        table = np.zeros(0)
        if self.dense:
            values = step.inside(self.t + (step.t - self.t) * _NODES[:-1]) - self.y
            table = np.concatenate((self.y[None], _FIT @ np.vstack((values, step.y - self.y)))).ravel()
        wanted = self.t_out[self.written :]
        wanted = wanted[(step.t - wanted) * self.ahead >= 0.0]
        inner = wanted[wanted != step.t]
        found = step.inside(inner) if len(inner) else np.zeros((0, len(self.y)))
        states = [*found, step.y][: len(wanted)]
        for k, (t, y) in enumerate(zip(wanted.tolist(), states, strict=True)):
            self.y_out[self.written + k] = self._closed(t, y.copy())
        if self.stepwise:
            self.points.append(Point(step.t, self._closed(step.t, step.y.copy()), table))
        self.t, self.y, self.steps, self.written = step.t, step.y, self.steps + 1, self.written + len(wanted)

    def _closed(self, t: float, y: Floats) -> Floats:
        closed: Floats = project(self.core, self.rhs, np.array([t]), y[None])[0]
        return closed

    def _aside(self) -> AbstractContextManager[None]:
        return aside(self.core, self.arrays)

    # ------------------------------------------------------------ events, as in `Driver`
    def _look(self, search: Search, step: Step) -> bool:
        """Note the events within a step; whether one of them acted or ended the run, which then stands there."""

        def path(times: Floats) -> Floats:
            found = step.inside(times)
            for k, t in enumerate(times.tolist()):
                with suppress(Failed):  # then as the interpolant has it
                    found[k] = self._closed(t, found[k].copy())
            return found

        nodes = np.array([self.t, step.t])
        crossing = self._note_crossings(search, nodes, path)
        if crossing is not None:
            self._land(search, crossing, nodes, path)
        return crossing is not None

    def _land(self, search: Search, crossing: Crossing, nodes: Floats, path: Path) -> None:
        """Integrate from the start of the step exactly to an event, where its function is zero for the state reached there.

        A fresh solver goes to the time of the interpolant; what is left to the zero is a last step of ours, for another end
        would give the solver other steps, and another error.
        """
        t, (start, end), event = crossing.t, nodes.tolist(), crossing.event
        with self._aside():
            slope = search.slope(event, path, t, start, end)
        way = self._way(t)
        last = way[-1] if way else Step(t, self.y, lambda times: np.tile(self.y, (len(times), 1)))
        low, y = way[-2].t if len(way) > 1 else self.t, self._closed(t, last.y.copy())
        for _ in range(4):
            step = self._correction(search, event, slope, t, y, (low, end))
            if not step:
                break
            y, t = self._closed(t + step, self._short_step(t, y, step)), t + step
        for made in way[:-1]:
            self._accept(made)
        if t != self.t:
            first, final = sorted((self.t, last.t))
            self._accept(Step(t, y, lambda times: last.inside(np.clip(times, first, final))))
        self.t, self.y = t, y
        self._fire(search, event, 8.0 * abs(slope) * float(np.spacing(abs(t))))

    def _short_step(self, t: float, y: Floats, h: float) -> Floats:
        """One step of the classical method of order 4."""
        a = self.rhs(t, y)
        b = self.rhs(t + 0.5 * h, y + 0.5 * h * a)
        c = self.rhs(t + 0.5 * h, y + 0.5 * h * b)
        return np.asarray(y + h / 6.0 * (a + 2.0 * b + 2.0 * c + self.rhs(t + h, y + h * c)))

    def _way(self, end: float) -> list[Step]:
        """Steps of a fresh solver from here to an end; all but the last have their insides in a table."""
        if end == self.t:
            return []
        if abs(end - self.t) <= _CLOSE * max(abs(end), abs(self.t)):  # too near for a solver to start
            t, y, made = self.t, self.y, self._short_step(self.t, self.y, end - self.t)
            return [Step(end, made, lambda times: y + np.multiply.outer((times - t) / (end - t), made - y))]
        steps, found, t = (
            solver(self.method, self.rhs, self.t, self.y, end, self.options),
            list[Step](),
            self.t,
        )
        while (end - t) * self.ahead > 0.0:
            made_step = steps.step()
            if (end - made_step.t) * self.ahead > 0.0:
                within = ((self.t_out - t) * self.ahead > 0.0) & (
                    (made_step.t - self.t_out) * self.ahead > 0.0
                )
                times = np.concatenate((t + (made_step.t - t) * _NODES[:-1], self.t_out[within]))
                found.append(made_step._replace(inside=_Table(times, made_step.inside(times))))
            else:
                found.append(made_step)
            t = made_step.t
        return found

    @property
    def _reached(self) -> tuple[float, Floats]:
        return self.t, self.y

    def _take_over(self, change: Change, before: Floats, came: tuple[tuple[int, int | None], ...]) -> None:
        self.y, nq = change.y.copy(), self.core.nq
        if self.core.loops is not None and not np.array_equal(self.y[:nq], before[:nq]):
            self._choose_rows()

    def _cannot_rest(self, rests: int | None) -> bool:
        return rests is not None  # a solver of another library cannot let a chord hold

    def _restart(self) -> None:
        """Do nothing: every leg and every event has a fresh solver."""

    def _choose_rows(self) -> None:
        """Independent rows at the state reached."""
        loops, core = self.core.loops, self.core
        assert loops is not None
        q, _ = core.states(np.array([self.t]), self.y[None])
        kept = loops.work.monitor.copy()
        core.chord_work.q[:] = core.unpack(self.y).cut
        loops.choose(self.t, q[0])
        loops.work.monitor[:] = kept

    def _write_jump(self) -> None:
        if self.stepwise:
            self.points.append(Point(self.t, self.y.copy(), standstill(self.y)[0]))
        elif self.written and self.t_out[self.written - 1] == self.t:
            self.y_out[self.written - 1] = self.y


class _Table:
    """States at known times: what is left of the inside of a step when its solver has gone on."""

    def __init__(self, times: Floats, states: Floats) -> None:
        self.states = dict(zip(times.tolist(), states, strict=True))

    def __call__(self, times: Floats) -> Floats:
        return np.array([self.states[t] for t in times.tolist()])
