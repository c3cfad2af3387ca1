"""Events of a run on its way, for the drivers of our own methods and of other libraries."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from treemech.kinematics.kernel.status import OK
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..model.core import Core
from .crawl import Crawl
from .event_search import Change, Crossing, Occurrence, Path, Search, Watched


class Cause(NamedTuple):
    """The exception of an element, kept because the next call of the core has a failure of its own."""

    exception: BaseException | None


class EventDriver(ABC):
    """How an integration over t_span ends, and the events on its way.

    A subclass takes the steps. It offers them to `_note_crossings`, calls `_jumped` where the state may have
    jumped, and lands on an event that acts or ends the run (`_correction`, then `_fire`).
    """

    def __init__(
        self,
        core: Core,
        t_span: tuple[float, float],
        t_eval: Floats | None,
        dense: bool,
        watched: Watched | None,
    ) -> None:
        self.core, self.t_span, self.dense = core, t_span, dense
        self.stepwise = t_eval is None
        self.t_out = np.zeros(0) if t_eval is None else t_eval
        self.search = Search(watched, abs(t_span[1] - t_span[0])) if watched is not None else None
        self.happened = list[Occurrence]()
        self.done, self.status = False, OK
        self.ended_by, self.stuck_at = -1, -1  # the event that ended the run, or that would come without end
        self.interrupted = False
        self.crawl: Crawl | None = None  # why the run was given up
        self.error: TreemechError | None = None
        self.failure: Any = None  # of an element

    # ------------------------------------------------------------ what the drivers differ in
    @property
    @abstractmethod
    def _reached(self) -> tuple[float, Floats]:
        """Time and state reached (not a copy)."""

    @abstractmethod
    def _aside(self) -> AbstractContextManager[None]:
        """Restore all numbers of the run on leaving: event functions may evaluate the model."""

    @abstractmethod
    def _take_over(self, change: Change, before: Floats, came: tuple[tuple[int, int | None], ...]) -> None:
        """Continue from the state after an action; `came` as in `_fire`."""

    @abstractmethod
    def _cannot_rest(self, rests: int | None) -> bool:
        """Tell whether an event comes to rest and nothing can hold it (`Change.rests`)."""

    @abstractmethod
    def _write_jump(self) -> None:
        """Write the state after a jump: one more of the same time, or in place of an output at that time."""

    @abstractmethod
    def _restart(self) -> None:
        """Prepare the integrator to go on from the state after an event."""

    # ------------------------------------------------------------ what they share
    def _note_crossings(self, search: Search, nodes: Floats, path: Path) -> Crossing | None:
        """Note the events within steps (their ends in `nodes`).

        Return the first that acts or ends the run, or None.
        """
        with self._aside():
            crossings = search.crossings(nodes, path)
        for crossing in crossings:
            if crossing.counts and search.stops(crossing.event):
                return crossing
            search.signs[crossing.event] = crossing.sign
            if crossing.counts:
                search.counts[crossing.event] += 1
                with self._aside():
                    y = path(np.array([crossing.t]))[0]
                self.happened.append(Occurrence(crossing.event, crossing.t, y, y, True))
        return None

    def _correction(
        self, search: Search, event: int, slope: float, t: float, y: Floats, between: tuple[float, float]
    ) -> float:
        """Return the Newton step of time to the zero of an event function, 0 if small or out of range."""
        with self._aside():
            value = search.watched.value(event, t, y)
        step = -value / slope if slope else 0.0
        inside = min(between) < t + step < max(between)
        return step if abs(step) > 2.0 * np.spacing(abs(t)) and inside else 0.0

    def _fire(self, search: Search, event: int, floor: float = 0.0) -> None:
        """Carry out an event that acts or ends the run, at the state reached.

        Its function is zero there up to `floor`.
        """
        t, before = self._reached[0], self._reached[1].copy()
        came: tuple[tuple[int, int | None], ...] = ((event, None),)
        if search.watched.acts[event]:
            with self._aside():
                change = search.watched.act(event, t, before.copy())
            came = ((event, change.rests), *change.others)
            self._take_over(change, before, came)
        for one, rests in came:
            ends = search.ends(one)
            search.counts[one] += 1
            if search.watched.acts[one]:
                with self._aside():
                    left = search.watched.value(one, t, self._reached[1])
                if search.acted(one, t, left, floor) or self._cannot_rest(rests):
                    self.stuck_at, self.done = one, True
            self.happened.append(Occurrence(one, t, before, self._reached[1].copy(), False))
            if ends:
                self.ended_by, self.done = one, True
        if search.watched.acts[event]:
            self._write_jump()
        if not self.done:
            self._restart()
            self._jumped(t)

    def _jumped(self, t: float) -> None:
        """Look for events that come because the state may have jumped; they are noted with time t."""
        search = self.search
        if search is None:
            return
        with self._aside():
            found = search.jump(*self._reached)
        for event in found:
            if self.done:
                return
            if search.stops(event):
                self._fire(search, event)
            else:
                search.counts[event] += 1
                y = self._reached[1]
                self.happened.append(Occurrence(event, t, y.copy(), y.copy(), False))
