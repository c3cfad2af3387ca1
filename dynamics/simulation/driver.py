"""Driver of an integration: calls of the compiled loop, leg by leg between the breaks of signals.

Control returns to Python to grow buffers, look for events, show progress, stop at the breaks and let Ctrl-C
through. Every move begins and ends with consistent numbers: an interrupted move is taken back, and the state
of a driver can be kept in a file.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.kinematics.kernel.status import (
    CHAIN_OPEN,
    CHORD_SWITCHED,
    NOT_CONVERGED,
    OK,
    PAUSED,
    SINGULAR_POSITION,
    STEP_TOO_SMALL,
    split,
)
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats, address
from treemech.topology.user_code import user_code

from ..equations import watch
from ..integrators import layout as m
from ..model.core import Core
from ..native import entry_points as native
from .crawl import LOOKED_AT, Crawl, Pace, examine, largest_speed
from .dense_output import interpolate, standstill
from .event_driver import Cause, EventDriver
from .event_search import Change, Crossing, Path, Search, Watched
from .integrator import Closure, Integrator, Switch
from .snapshot import Snapshot, Snapshots

if TYPE_CHECKING:
    from .automatic import Automatic

_BUFFER = 64  # accepted steps per call of the loop at the start, and the most with events
_FEW = 4  # the same after an event
_MOST_BUDGET = 2**30  # steps per call of the loop, far from what a 64-bit number holds
_NONE = np.zeros(0)
_STORED = 2**25  # numbers of accepted steps that are kept (256 MB); beyond that every second step is dropped
_PASSAGE = 4  # steps of DOP853 at once, where another method cannot pass a singular position
_MOST_PASSAGE = 64  # the most of them
_MOST_HANDED = 4  # times that DOP853 takes over before one position, and does not pass it
_SAME_PLACE = 1e-6  # part of the whole way within which it is one position
_EARLIER = (4, 16, 64)  # steps before the position where DOP853 takes over, if it does not pass from its edge
_LOST = (CHAIN_OPEN, NOT_CONVERGED, SINGULAR_POSITION, STEP_TOO_SMALL)
# loops that let DOP853 pass a position, and how they end there
_HANDED_OVER = {
    "radau_integrate": (SINGULAR_POSITION,), "adams_integrate": (SINGULAR_POSITION,), "alpha_integrate": _LOST,
}  # fmt: skip
_SCALARS = (
    "leg", "entered", "budget", "capacity", "done", "status", "ended_by", "stuck_at", "every", "left", "instead",
    "handed", "handed_at",
)  # fmt: skip


class Mark(NamedTuple):
    """State of a driver to return to: time, numbers, the rest in a form for JSON, how much was written."""

    t: float
    memory: Snapshot
    place: dict[str, Any]
    counts: tuple[int, ...]


class Piece(NamedTuple):
    """Result of one call of the loop: steps, and their interpolants if they are kept."""

    t: Floats
    y: Floats
    table: Floats


class Driver(EventDriver):
    """One integration of y (`Core.pack`) over t_span; the arguments are those of `integrate.integrate`."""

    def __init__(
        self,
        core: Core,
        t_span: tuple[float, float],
        y0: Floats,
        method: str | tuple[str, float],
        rtol: float,
        atol: Floats,
        t_eval: Floats | None,
        max_step: float,
        first_step: float | None,
        breaks: tuple[float, ...],
        dense: bool,
        closure: Closure,
        sample: Callable[[float, Floats], None] | None,
        watched: Watched | None,
        max_steps: int | None = None,
    ) -> None:
        super().__init__(core, t_span, t_eval, dense, watched)
        self.sample, self.first_step = sample, first_step
        self.legs = legs(*t_span, breaks)
        self.run = Integrator(core, method, t_span[0], np.array(y0), rtol, atol, max_step, closure)
        if first_step == max_step:
            self.run.keep_step()
        self.max_steps, self.every, self.stored = max_steps, 1, 1
        # a method without error control does not crawl
        self.pace = None if self.run.fixed_step else Pace(*t_span, self.run.n)
        self.automatic: "Automatic | None" = None
        if method == "auto":
            from .automatic import Automatic

            self.automatic = Automatic(self.run)
        self.y_out = np.zeros((max(len(self.t_out), 1), self.run.n))
        self.t, self.y, self.tables = [np.array([t_span[0]])], [self.run.y.copy()[None]], list[Floats]()
        self.switched, self.singular = list[Switch](), list[tuple[float, str]]()
        self.left, self.instead = 0, ""  # steps left of DOP853, and the method that it passes a position for
        self.handed, self.handed_at = 0, np.inf  # how often in vain, and where
        self.origin: Mark | None = None  # before the call of the loop that ended at a position
        self.ended, self.earlier, self.until = 0, 0, 0  # steps then, tries from earlier ones, steps to repeat
        self.leg, self.entered = 0, False
        self.capacity, self.budget = _BUFFER, _FEW if self.search else _BUFFER
        self.mark: Mark | None = None
        self._room = (
            np.zeros(0),
            np.zeros((0, self.run.n)),
        )  # of the steps; others each time where they are kept

    @cached_property
    def memory(self) -> Snapshots:
        """Snapshots of the numbers of this run."""
        return Snapshots(self.run, self.automatic)

    # ------------------------------------------------------------ moves
    def go(
        self, progress: Callable[[float], None] | None, keep: Callable[["Driver", bool], None] | None
    ) -> None:
        """Integrate to the end, or as far as possible.

        `keep` is called after every call of the loop, and after Ctrl-C (True).

        Without `keep` and without events no state is kept to return to: an interrupted move stays as it is.
        """
        t0, t1 = self.t_span
        back = self.search is not None or keep is not None
        self.mark = self._mark() if back else None
        with self.core.guard() as self.failure:
            try:
                while not self.done:
                    entered = self.entered
                    if entered and self._hands_over and not (self.left or self.until):
                        self.origin = self._mark()
                    self._visit() if entered else self._enter()
                    if entered and not self.done:
                        self.crawl = self._crawl()
                        self.done = self.crawl is not None and not self._creeps_to_position()
                    self._thin()
                    if back:
                        self.mark = self._mark()
                    if not entered:
                        continue
                    if keep is not None:
                        keep(self, False)
                    if progress is not None:
                        with user_code:
                            progress((self.run.t - t0) / (t1 - t0) if t1 != t0 else 1.0)
            except KeyboardInterrupt:
                self._back()
                self.interrupted = True
                if keep is not None:
                    keep(self, True)
            except TreemechError as error:
                self._back()
                self.error = error
        self.failure = Cause(getattr(self.failure, "exception", None))

    def place(self) -> dict[str, Any]:
        """Return the state of the driver besides its numbers, in a form for JSON."""
        found = {name: getattr(self, name) for name in _SCALARS}
        return found if self.search is None else found | {"search": self.search.place()}

    def resume(self, memory: Snapshot, place: dict[str, Any]) -> None:
        """Continue from a snapshot and a `place`; the caller restores what was written until then."""
        for name in _SCALARS:
            setattr(self, name, place[name])
        if self.search is not None:
            self.search.resume(place["search"])
        self.memory.restore(memory)

    @property
    def _written(self) -> tuple[list[Any], ...]:
        return self.t, self.y, self.tables, self.switched, self.happened, self.singular

    def _mark(self) -> Mark:
        return Mark(
            self.run.t, self.memory.copy(), self.place(), tuple(len(found) for found in self._written)
        )

    def _back(self) -> None:
        """Undo everything since the mark."""
        if self.mark is not None:
            self._return(self.mark)

    def _return(self, mark: Mark) -> None:
        """Undo everything since a mark."""
        for found, count in zip(self._written, mark.counts, strict=True):
            del found[count:]
        self.stored = sum(len(t) for t in self.t)
        self.resume(mark.memory, mark.place)

    def _visit(self) -> None:
        """Call the compiled loop once and handle its status."""
        _, end, mark = self.legs[self.leg]
        run, started = self.run, time.perf_counter()
        passed, passing, steps = len(self.singular), self.left > 0 or self.until > 0, int(run.count[m.STEPS])
        allowed = self.budget if self.max_steps is None else self.max_steps - steps
        wanted = min(self.left, _PASSAGE) or (
            min(self.until - steps, self.budget) if self.until else self.budget
        )
        status, piece = self._advance(min(wanted, max(allowed, 1)))
        elapsed = time.perf_counter() - started
        if self.search is not None and self.mark is not None and self._look(self.search, self.mark):
            return
        self._keep(piece)
        if self.left and status in (OK, PAUSED):
            self.left -= _PASSAGE
            if len(self.singular) > passed:
                self.handed = self.earlier = 0
            if len(self.singular) > passed or not self.left:
                self._take_back()
        elif self.until and status == PAUSED and run.count[m.STEPS] >= self.until:
            self._let_pass()
        if status == CHAIN_OPEN and run.raise_rank():
            return
        if split(status)[0] == CHORD_SWITCHED:
            self._switch(split(status)[1])
        elif status == PAUSED:
            if self.search is not None:
                self.budget = min(2 * self.budget, _BUFFER)
            elif (
                elapsed < 0.05 and not passing
            ):  # return to Python about ten times a second, whatever the model costs
                self.budget = min(2 * self.budget, _MOST_BUDGET)
                if self.stepwise and self.capacity * run.n < 2_000_000:
                    self.capacity *= 2
        elif status != OK:
            if not self._hand_over(int(status)):
                self.status, self.done = int(status), True
        else:
            if end != mark and self.stepwise:
                self.t[-1][-1] = mark
            self.leg, self.entered = self.leg + 1, False
            self.done = self.leg == len(self.legs)

    @property
    def _hands_over(self) -> bool:
        """Whether the method lets DOP853 pass singular positions."""
        return self.core.loops is not None and self.automatic is None and self.run.loop in _HANDED_OVER

    def _hand_over(self, status: int) -> bool:
        """Let DOP853 pass a singular position that the method ends at.

        Return whether it does, or tries to once more. With on_singular="stop" the position is noted.
        """
        run, (code, index) = self.run, split(status)
        if self.left:
            return code in _LOST and self._start_earlier()
        if not self._hands_over or code not in _HANDED_OVER[run.loop]:
            return False
        if code == SINGULAR_POSITION:
            if run.hooks[m.STOP]:
                assert self.core.loops is not None
                if run.loop != "alpha_integrate":  # which notes it itself
                    self.singular.append((float(run.control[m.STAGE_TIME]), self.core.loops.row_name(index)))
                return False
        elif not self._near:
            return False
        near = _SAME_PLACE * abs(self.t_span[1] - self.t_span[0])
        self.handed = self.handed + 1 if abs(run.t - self.handed_at) < near else 1
        self.handed_at, self.ended = run.t, int(run.count[m.STEPS])
        if self.handed > _MOST_HANDED:
            return self._start_earlier()
        self._let_pass()
        return True

    def _creeps_to_position(self) -> bool:
        """Let DOP853 pass if what looks like a crawl is the way to a singular position. Return whether it tries."""
        full = self.max_steps is not None and self.run.count[m.STEPS] >= self.max_steps
        if full or not (self.left or self._hands_over) or not self._near or self.earlier == len(_EARLIER):
            return False
        if self.left:
            self.crawl = None if self._start_earlier() else self.crawl
            return self.crawl is None
        self.crawl, self.ended = None, int(self.run.count[m.STEPS])
        self.earlier += 1
        self._let_pass()
        return True

    @property
    def _near(self) -> bool:
        """Whether a singular position is near the state reached."""
        assert self.core.loops is not None
        monitor = self.core.loops.work.monitor
        return bool(monitor[watch.START_PIVOT] < monitor[watch.NEAR] * monitor[watch.LARGEST_PIVOT])

    def _start_earlier(self) -> bool:
        """Repeat the way to the position, and let DOP853 take over some steps before.

        From the edge of a position the steps to choose from are those that end next to it. Return whether there is a place to try.
        """
        if self.origin is None or self.earlier == len(_EARLIER):
            return False
        self._return(self.origin)
        self.until = max(self.ended - _EARLIER[self.earlier], int(self.run.count[m.STEPS]))
        self.earlier += 1
        if self.until == int(self.run.count[m.STEPS]):
            self._let_pass()
        return True

    def _let_pass(self) -> None:
        """Go on with DOP853 for some steps."""
        run = self.run
        self.left, self.instead, self.until = _MOST_PASSAGE, run.name, 0
        run.use("DOP853")
        run.count[m.STARTED], run.control[m.STEP] = 0, 0.0

    def _take_back(self) -> None:
        """Go on with the method that DOP853 was used instead of."""
        self.run.use(self.instead)
        self.run.count[m.STARTED], self.run.control[m.STEP] = 0, 0.0
        self.left, self.instead = 0, ""

    def _enter(self) -> None:
        """Start a leg: prescribed rates may jump, controllers are called."""
        (t0, t1), run = self.t_span, self.run
        start, end, _ = self.legs[self.leg]
        before = self.legs[self.leg - 1][2] if self.leg else t0
        jumps = self.leg > 0 and len(self.core.layout.kinematic) > 0
        if jumps or self.sample is not None:
            looks = jumps or getattr(self.sample, "looks", True)  # else nothing but y is touched
            with self.memory.aside() if looks else nullcontext():
                if jumps:
                    from ..model.prescribed_jump import speed_jump

                    run.y[:] = speed_jump(self.core, run.t, start, run.y)
                if self.sample is not None:
                    self.sample(before, run.y)
        if self.leg == 0:  # nothing was before the first call of the controllers
            self.y[0][0] = run.y
        run.aim(start, end)
        if self.leg == 0 and self.first_step is not None:
            run.control[m.STEP] = self.first_step if t1 >= t0 else -self.first_step
        self.entered = True
        self._jumped(before)

    def _crawl(self) -> Crawl | None:
        """Return why the run should be given up: too many steps, or steps that do not get on."""
        run, steps = self.run, int(self.run.count[m.STEPS])
        full = self.max_steps is not None and steps >= self.max_steps
        if not (
            full
            or (
                self.pace is not None
                and self.pace.slow(run.t, steps + int(run.count[m.REJECTED]), largest_speed(self.core, run.y))
            )
        ):
            return None
        noisy = any(run.below_rounding(k) for k in range(len(run.atol)))  # short steps need no other reason
        found = self._look_closer() if self.pace is not None and not noisy else None
        if not full:
            return found
        text = (
            f"max_steps = {self.max_steps} steps were taken at t = {run.t:.9g} s of {self.t_span[1]:.6g} s."
        )
        return Crawl(text) if found is None else found._replace(message=f"{text} Then {found.message}")

    def _look_closer(self) -> Crawl | None:
        """Examine some steps ahead, which are taken back."""
        assert self.pace is not None
        run, here = self.run, self.memory.copy()
        t, y = np.zeros(LOOKED_AT), np.zeros((LOOKED_AT, run.n))
        start = run.t, run.y.copy()
        run.advance(_NONE, self.y_out, t, y, None, LOOKED_AT)
        taken = int(run.count[m.PENDING])
        times, states = np.append(start[0], t[:taken]), np.vstack((start[1], y[:taken]))
        try:
            return examine(self.core, times, states, run.rates, self.pace) if taken else None
        finally:
            self.memory.restore(here)

    def _advance(self, budget: int) -> tuple[int, Piece]:
        run = self.run
        size = min(self.capacity, budget)
        if self.stepwise or len(self._room[0]) != size:
            self._room = np.zeros(size), np.zeros((size, run.n))
        t, y = self._room
        table = np.zeros((size, 8 * run.n)) if self.dense else None
        advance = run.advance if self.automatic is None else self.automatic.advance
        status = advance(self.t_out, self.y_out, t, y, table, budget)
        pending = int(run.count[m.PENDING]) if self.stepwise else 0
        return status, Piece(t[:pending], y[:pending], np.zeros((0, 0)) if table is None else table[:pending])

    def _keep(self, piece: Piece) -> None:
        if self.every > 1 and len(piece.t):
            kept = np.arange((len(piece.t) - 1) % self.every, len(piece.t), self.every)  # the last among them
            piece = piece._replace(t=piece.t[kept], y=piece.y[kept])
        if len(piece.t):
            self.stored += len(piece.t)
            self.t.append(piece.t)
            self.y.append(piece.y)
            if self.dense:
                self.tables.append(piece.table)
        if self.core.loops is not None:
            self.singular += self.core.loops.take_passed()

    def _thin(self) -> None:
        """Drop every second step from memory when more are kept than `_STORED`; keep fewer from then on.

        Interpolants cannot be dropped: their run ends.
        """
        if self.stored * (self.run.n * (9 if self.dense else 1) + 1) <= _STORED:
            return
        if self.dense:
            self.crawl, self.done = self.crawl or _too_dense(self.run.t, self.stored), True
            return
        self.origin = None  # what was written until then is not there any more
        t, y = np.concatenate(self.t), np.concatenate(self.y)
        kept = np.arange(len(t) % 2 == 0, len(t), 2)  # the last step among them
        if len(kept) and kept[0]:
            kept = np.append(0, kept)
        self.t, self.y, self.stored, self.every = [t[kept]], [y[kept]], len(kept), 2 * self.every

    def _switch(self, chord: int) -> None:
        """Let a unilateral chord go, or let it hold again."""
        self.switched += self.run.switch(chord)
        self.run.aim(self.run.t, self.legs[self.leg][1])
        self._jumped(self.run.t)

    # ------------------------------------------------------------ events
    def _look(self, search: Search, mark: Mark) -> bool:
        """Note the events since the mark.

        Return whether one of them acted or ended the run, which then is at its time.
        """
        if self.run.t == mark.t:
            return False
        nodes, path = self._path(mark)
        crossing = self._note_crossings(search, nodes, path)
        if crossing is not None:
            self._land(search, mark, crossing, nodes, path)
        return crossing is not None

    def _path(self, mark: Mark) -> tuple[Floats, Path]:
        """Repeat the steps since the mark with interpolants.

        Return the ends of the steps, and a function for states.

        The run itself is not disturbed: an interpolant may need evaluations, and with closed chains other
        steps.
        """
        run, memory = self.run, self.memory
        here, end, last = memory.copy(), run.t, run.y.copy()
        memory.restore(mark.memory)
        method = run.name
        run.control[m.END] = end
        nodes, tables, status = [np.array([run.t])], [], PAUSED
        while status == PAUSED:
            t, states = np.zeros(_BUFFER), np.zeros((_BUFFER, run.n))
            table = np.zeros((_BUFFER, 8 * run.n))
            status = run.advance(_NONE, self.y_out, t, states, table, _BUFFER)
            pending = int(run.count[m.PENDING])
            nodes.append(t[:pending])
            tables.append(table[:pending])
        t_reached, y = run.t, run.y.copy()
        memory.restore(here)
        if t_reached != end:  # the rest is unknown: a straight line
            nodes.append(np.array([end]))
            tables.append(np.concatenate((y, last - y, np.zeros(6 * run.n)))[None])
        ends, table, euler = np.concatenate(nodes), np.concatenate(tables), run.euler[:-1].tolist()

        def path(times: Floats) -> Floats:
            found = np.ascontiguousarray(interpolate(method, ends, table, times, euler))
            if run.projects:
                project = native.entry("loop_project")
                for t, row in zip(times.tolist(), found, strict=True):
                    open_ = row.copy()
                    if project(t, address(row), -1, run.context) != OK:
                        row[:] = open_
            return found

        return ends, path

    def _land(self, search: Search, mark: Mark, crossing: Crossing, nodes: Floats, path: Path) -> None:
        """Integrate from the mark exactly to an event: its function is zero for the state reached there."""
        run, t = self.run, crossing.t
        ahead = np.sign(nodes[-1] - nodes[0])
        k = int(np.clip(np.searchsorted(ahead * nodes, ahead * t), 1, len(nodes) - 1))
        start, end = float(nodes[k - 1]), float(nodes[k])
        with self.memory.aside():
            slope = search.slope(crossing.event, path, t, start, end)
        for _ in range(4):
            self.memory.restore(mark.memory)
            run.control[m.END] = t
            status, pieces = PAUSED, []
            while status == PAUSED:
                status, piece = self._advance(self.budget)
                pieces.append(piece)
            if status != OK:
                break
            step = self._correction(search, crossing.event, slope, t, run.y, (start, end))
            if not step:
                break
            t += step
        for piece in pieces:
            self._keep(piece)
        self.budget = _FEW
        if split(status)[0] == CHORD_SWITCHED:
            self._switch(split(status)[1])
        elif status != OK:
            self.status, self.done = int(status), True
        else:
            self._fire(search, crossing.event, 8.0 * abs(slope) * float(np.spacing(abs(t))))

    @property
    def _reached(self) -> tuple[float, Floats]:
        return self.run.t, self.run.y

    def _aside(self) -> AbstractContextManager[None]:
        return self.memory.aside()

    def _take_over(self, change: Change, before: Floats, came: tuple[tuple[int, int | None], ...]) -> None:
        run, nq = self.run, self.core.nq
        run.y[:] = change.y
        if not np.array_equal(change.y[:nq], before[:nq]):
            run.choose_rows()
        for apart in change.apart:
            self.switched += run.switch(apart)
        for _, rests in came:
            if rests is not None and rests >= 0:
                self.switched += run.switch(rests)

    def _cannot_rest(self, rests: int | None) -> bool:
        return rests == -1

    def _restart(self) -> None:
        self.run.aim(self.run.t, self.legs[self.leg][1])

    def _write_jump(self) -> None:
        run = self.run
        if self.stepwise:
            self._keep(Piece(np.array([run.t]), run.y.copy()[None], standstill(run.y)))
        else:
            last = int(run.count[m.WRITTEN]) - 1
            if last >= 0 and self.t_out[last] == run.t:
                self.y_out[last] = run.y


def _too_dense(t: float, steps: int) -> Crawl:
    advice = ("Give t_eval= in place of dense_output=True, or max_steps=.",)
    return Crawl(
        f"the interpolants of {steps} steps until t = {t:.9g} s fill the memory. {advice[0]}", advice=advice
    )


def legs(t0: float, t1: float, breaks: tuple[float, ...]) -> list[tuple[float, float, float]]:
    """Return (start, end, nominal end) of the legs between breaks.

    A leg stays one rounding unit inside its breaks, so that it sees only one side of a signal that jumps
    there: a stage on the wrong side would be rejected until the step is as small as the tolerance.

    >>> [(round(a, 9), round(b, 9), mark) for a, b, mark in legs(0.0, 2.0, (1.0, 5.0))]
    [(0.0, 1.0, 1.0), (1.0, 2.0, 2.0)]
    """
    direction = 1.0 if t1 >= t0 else -1.0
    jumps = set(breaks)
    inner = sorted({b for b in jumps if (b - t0) * direction > 0.0 and (t1 - b) * direction > 0.0})
    edges = [t0, *(inner if direction > 0 else inner[::-1]), t1]
    found = []
    for a, b in pairwise(edges):
        start = float(np.nextafter(a, t1)) if a in jumps else a
        end = float(np.nextafter(b, t0)) if b in jumps else b
        if (end - start) * direction > 0.0:
            found.append((start, end, b))
    if not found or found[-1][1] != t1:
        found.append((t1, t1, t1))
    return found
