"""Driver of an integration by a method of another library, with all outputs and events of a `Driver`.

The loop is in Python, so it is slow. Closed chains and Euler parameters are projected in the output and at
events. Where an event acts or ends the run, a new solver goes exactly there from the start of the step.
"""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

import numpy as np

from treemech.kinematics.kernel.status import NOT_FINITE
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats
from treemech.topology.user_code import user_code

from ..model.core import Core
from ..model.prescribed_jump import speed_jump
from .crawl import LOOKED_AT, Crawl, Pace, examine, largest_speed
from .dense_output import standstill
from .event_driver import Cause, EventDriver
from .event_search import Change, Crossing, Path, Search, Watched
from .external_methods import Failed, RightHandSide, Step, project, solver
from .snapshot import aside, model_arrays

# Seven times within a step, and the matrix from values there to an interpolant as in `dense_output`
_NODES = np.arange(1, 8) / 7
_FIT = np.linalg.inv(
    np.stack([_NODES ** (j // 2 + 1) * (1 - _NODES) ** ((j + 1) // 2) for j in range(7)], axis=1)
)
_CLOSE = (
    1e3 * np.finfo(float).eps
)  # an end that is nearer, relative to the time, is too near for a solver to start


class Point(NamedTuple):
    """End of an accepted step: time, state, interpolant of the step (8 n numbers)."""

    t: float
    y: Floats
    table: Floats


class ExternalDriver(EventDriver):
    """One integration of y (`Core.pack`) over t_span; legs are those of `driver.legs`."""

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
        max_steps: int | None = None,
    ) -> None:
        if core.remembers:
            raise TreemechError(
                f"method {method!r} of another library tells no element of its accepted steps, which must remember: take 'DOP853'."
            )
        super().__init__(core, t_span, t_eval, dense, watched)
        self.method, self.legs, self.sample, n = method, legs, sample, len(y0)
        self.rhs = RightHandSide(core, n)
        # numbers without error control (coordinates of cut hinges) get a coarse tolerance
        atol = np.concatenate((options["atol"], np.ones(n - len(options["atol"]))))
        self.options = {**options, "atol": atol}
        self.ahead = 1.0 if t_span[1] >= t_span[0] else -1.0
        self.t, self.y = t_span[0], self._closed(t_span[0], np.array(y0))
        self.points = [Point(self.t, self.y.copy(), np.zeros(0))]
        self.y_out, self.written = np.zeros((len(self.t_out), n)), 0
        if len(self.t_out) and self.t_out[0] == self.t:
            self.y_out[0], self.written = self.y, 1
        self.steps, self.message, self.max_steps = 0, "", max_steps
        self.pace, self.last = Pace(*t_span, n), deque[Step](maxlen=LOOKED_AT + 1)
        self.arrays = list(model_arrays(core).values())

    def go(self, progress: Callable[[float], None] | None) -> None:
        """Integrate to the end, or as far as possible."""
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
                if self.crawl is not None:
                    self.message = self.crawl.message
                else:
                    self.message = (
                        f"reached t = {t1:.6g} s in {self.steps} steps, {self.rhs.calls} evaluations."
                    )
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
        """Start a leg: prescribed rates may jump, controllers are called, and both may cause events."""
        if leg and self.core.layout.kinematic:
            self.y = speed_jump(self.core, self.t, start, self.y)
        if self.sample is not None:
            with self._aside():
                self.sample(before, self.y)
            if leg == 0:  # nothing was before the first call of the controllers
                self.points[0] = Point(self.t, self.y.copy(), np.zeros(0))
                self.y_out[: self.written] = self.y
        self.t = start
        for k in np.flatnonzero(~np.isfinite(self.rhs(start, self.y)))[:1]:
            raise Failed(NOT_FINITE + 16 * int(k))
        self._jumped(before)

    def _drive(self, end: float, progress: Callable[[float], None] | None) -> None:
        """Integrate with one solver to the end of the leg, or to an event that needs a new solver."""
        (t0, t1), steps = self.t_span, solver(self.method, self.rhs, self.t, self.y, end, self.options)
        while (end - self.t) * self.ahead > 0.0:
            step = steps.step()
            fired = self.search is not None and self._look(self.search, step)
            if not fired:
                self._accept(step)
            if progress is not None:
                with user_code:
                    progress((self.t - t0) / (t1 - t0))
            self.crawl = self._crawl(step)
            self.done = self.done or self.crawl is not None
            if fired or self.done:
                return

    def _crawl(self, step: Step) -> Crawl | None:
        """Return why the run should be given up: too many steps, or steps that do not get on."""
        self.last.append(step)
        if self.max_steps is not None and self.steps >= self.max_steps and self.t != self.t_span[1]:
            return Crawl(
                f"max_steps = {self.max_steps} steps were taken at t = {self.t:.9g} s of {self.t_span[1]:.6g} s."
            )
        if not self.pace.slow(self.t, self.steps, largest_speed(self.core, self.y)):
            return None
        with self._aside():
            times, states = np.array([s.t for s in self.last]), np.array([s.y for s in self.last])
            return examine(self.core, times, states, self.rhs, self.pace)

    def _accept(self, step: Step) -> None:
        """Write a step, and the outputs within it."""
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

    # ------------------------------------------------------------ events
    def _look(self, search: Search, step: Step) -> bool:
        """Note the events within a step.

        Return whether one of them acted or ended the run, which then is at its time.
        """

        def path(times: Floats) -> Floats:
            found = step.inside(times)
            for k, t in enumerate(times.tolist()):
                with suppress(Failed):  # then the interpolant is good enough
                    found[k] = self._closed(t, found[k].copy())
            return found

        nodes = np.array([self.t, step.t])
        crossing = self._note_crossings(search, nodes, path)
        if crossing is not None:
            self._land(search, crossing, nodes, path)
        return crossing is not None

    def _land(self, search: Search, crossing: Crossing, nodes: Floats, path: Path) -> None:
        """Integrate from the start of the step exactly to an event, where its function is zero.

        A new solver goes to the time that the interpolant gives. The rest of the way is one short step of our
        own, since with another end the solver would take other steps, with another error.
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
        """Take one step of the classical Runge-Kutta method of order 4."""
        a = self.rhs(t, y)
        b = self.rhs(t + 0.5 * h, y + 0.5 * h * a)
        c = self.rhs(t + 0.5 * h, y + 0.5 * h * b)
        return np.asarray(y + h / 6.0 * (a + 2.0 * b + 2.0 * c + self.rhs(t + h, y + h * c)))

    def _way(self, end: float) -> list[Step]:
        """Take the steps of a new solver from here to an end.

        All but the last have their inner states in a table.
        """
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
        """Do nothing: every leg starts with a new solver, also after an event."""

    def _choose_rows(self) -> None:
        """Choose independent rows at the state reached."""
        loops, core = self.core.loops, self.core
        assert loops is not None
        q, u = core.states(np.array([self.t]), self.y[None])
        kept = loops.work.monitor.copy()
        core.chord_work.q[:] = core.unpack(self.y).cut
        loops.choose(self.t, q[0], u[0])
        loops.work.monitor[:] = kept

    def _write_jump(self) -> None:
        if self.stepwise:
            self.points.append(Point(self.t, self.y.copy(), standstill(self.y)[0]))
        elif self.written and self.t_out[self.written - 1] == self.t:
            self.y_out[self.written - 1] = self.y


class _Table:
    """States at known times within a step, for use when its solver has gone on."""

    def __init__(self, times: Floats, states: Floats) -> None:
        self.states = dict(zip(times.tolist(), states, strict=True))

    def __call__(self, times: Floats) -> Floats:
        return np.array([self.states[t] for t in times.tolist()])
