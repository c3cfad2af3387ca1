"""Search for events: changes of sign of functions of the state within the steps of a run."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats

SAMPLES = 6  # of the sign within a step, its end included
_EARLY = 20  # more in the first step after an action, each at half the time of the next: for a rebound
_GOLDEN, _SECTIONS = (
    0.5 * (5.0**0.5 - 1.0),
    16,
)  # golden sections that find where a function turns, to 1e-3 of the time between samples
_MOST, _INSTANT = 20, 1e-9  # this many actions of one event within this part of the time span never end,
_SHORTER, _ROUNDING = (
    4,
    1e-10,
)  # nor do this many, with shrinking gaps, within this part of the time: they come from rounding


class Watched(Protocol):
    """Event functions of an integration."""

    names: tuple[str, ...]
    directions: tuple[int, ...]  # +1: only upward crossings count, -1: only downward ones, 0: both
    terminal: tuple[int, ...]  # number of the event that ends the run; 0: none does
    acts: tuple[bool, ...]
    sides: tuple[int, ...]  # sign of a function that is zero, after an action or at the start
    slacks: tuple[float, ...]  # values that are no larger count as zero

    def values(self, t: Floats, y: Floats) -> Floats:
        """Return the values (n, events) at n states (rows)."""

    def value(self, event: int, t: float, y: Floats) -> float:
        """Return the value of one event at one state."""

    def act(self, event: int, t: float, y: Floats) -> "Change":
        """Return the state after the action of an event."""


class Change(NamedTuple):
    """State after an action.

    `rests`: if it comes to rest, the number of the unilateral chord that holds, or -1: none.

    `others`: events of the same instant whose actions are part of this one, each with its `rests`.
    """

    y: Floats
    rests: int | None = None
    others: tuple[tuple[int, int | None], ...] = ()
    apart: tuple[int, ...] = ()  # unilateral chords that held and let go now


class Crossing(NamedTuple):
    """Change of sign of an event function. `counts`: in the direction that makes it an event."""

    t: float
    event: int
    sign: int
    counts: bool


class Occurrence(NamedTuple):
    """An event: the states before and after its action. `inside`: within a step, not at its end."""

    event: int
    t: float
    y: Floats
    after: Floats
    inside: bool


Path = Callable[[Floats], Floats]  # times -> states (rows)


class Search:
    """Signs of all event functions along a run, and the events that follow from them.

    A sign counts from the first sample that is not zero; a function that is zero for a while keeps its sign.
    An event that has acted and is still zero takes the next sign that it shows, unless `sides` gives one.
    """

    def __init__(self, watched: Watched, span: float) -> None:
        self.watched, self.span = watched, span
        self.signs = [0] * len(watched.names)
        self.counts = [0] * len(watched.names)
        self.actions: list[list[float]] = [[] for _ in watched.names]
        self.floors = [0.0] * len(watched.names)  # values next to the last action that may be rounding alone

    def place(self) -> dict[str, Any]:
        """Return its state in a form for JSON."""
        return {
            "signs": list(self.signs),
            "counts": list(self.counts),
            "actions": [list(a) for a in self.actions],
            "floors": list(self.floors),
        }

    def resume(self, place: dict[str, Any]) -> None:
        """Continue from a state of `place`."""
        vars(self).update(deepcopy(place))

    def crossings(self, nodes: Floats, path: Path) -> list[Crossing]:
        """Return all changes of sign along a path whose steps end at the nodes, in the order of time."""
        steps = np.diff(nodes)[:, None] * (np.arange(1, SAMPLES + 1) / SAMPLES)
        times = (nodes[:-1, None] + steps).reshape(-1)
        times[SAMPLES - 1 :: SAMPLES] = nodes[1:]
        fresh = [bool(past) and past[-1] == nodes[0] for past in self.actions]
        if any(fresh):
            times = np.concatenate(
                (nodes[0] + (times[0] - nodes[0]) * 0.5 ** np.arange(_EARLY, 0, -1), times)
            )
        times = np.concatenate((nodes[:1], times))
        values = self.watched.values(times, path(times))
        found = []
        for event, direction in enumerate(self.watched.directions):
            slack, before = max(self.watched.slacks[event], self.floors[event]), self.signs[event]
            instants, column = self._with_turns(event, path, times, values[:, event], slack)
            sign = _signs(column, slack)
            for i in np.flatnonzero(sign[1:]) + 1:
                if before == 0:
                    found.append(Crossing(float(instants[i]), event, int(sign[i]), False))
                elif sign[i] != before:
                    t = self._locate(
                        event,
                        path,
                        float(instants[i - 1]),
                        float(instants[i]),
                        float(column[i - 1]),
                        column[i],
                    )
                    found.append(Crossing(t, event, int(sign[i]), direction in (0, sign[i])))
                before = sign[i]
        ahead = 1.0 if nodes[-1] >= nodes[0] else -1.0
        return sorted(found, key=lambda c: ahead * c.t)

    def _with_turns(
        self, event: int, path: Path, times: Floats, column: Floats, slack: float
    ) -> tuple[Floats, Floats]:
        """Add a sample wherever a function takes the other sign and comes back between two samples.

        Where a sample is nearer to zero than its neighbours, by at least its own distance from zero, the
        nearest point is sought by golden sections. So balls that pass through each other between two samples
        are found.
        """
        sign, size, more = _signs(column, slack), np.abs(column), list[tuple[float, float]]()
        alike = (sign[1:-1] != 0) & (sign[:-2] == sign[1:-1]) & (sign[1:-1] == sign[2:])
        drop = np.maximum(size[:-2], size[2:]) - size[1:-1]
        turns = alike & (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:]) & (size[1:-1] <= drop)
        for i in (np.flatnonzero(turns) + 1).tolist():
            found = self._beyond(event, path, float(times[i - 1]), float(times[i + 1]), int(sign[i]), slack)
            if found is not None:
                more.append(found)
        if not more:
            return times, column
        instants = np.concatenate((times, [t for t, _ in more]))
        order = np.argsort(instants if times[-1] >= times[0] else -instants, kind="stable")
        return instants[order], np.concatenate((column, [value for _, value in more]))[order]

    def _beyond(
        self, event: int, path: Path, a: float, b: float, sign: int, slack: float
    ) -> tuple[float, float] | None:
        """Find a time between a and b where the function does not have `sign`.

        Return time and value, or None.
        """

        def value(t: float) -> float:
            return self.watched.value(event, t, path(np.array([t]))[0])

        low, high = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        at_low, at_high = value(low), value(high)
        for _ in range(_SECTIONS):
            for t, v in ((low, at_low), (high, at_high)):
                if sign * v < -slack:
                    return t, v
            if sign * at_low < sign * at_high:
                b, high, at_high = high, low, at_low
                low = b - _GOLDEN * (b - a)
                at_low = value(low)
            else:
                a, low, at_low = low, high, at_high
                high = a + _GOLDEN * (b - a)
                at_high = value(high)
        return None

    def _locate(self, event: int, path: Path, a: float, b: float, at_a: float, at_b: float) -> float:
        """Return the time where the function takes the sign that it has at b but not at a, to rounding.

        The method is the Illinois rule; every third step halves the interval.
        """
        sign, side = np.sign(at_b), 0
        weight_a = weight_b = 1.0
        for k in range(200):
            least = 2.0 * np.spacing(max(abs(a), abs(b)))
            if abs(b - a) <= least:
                break
            if at_a == 0.0 and k % 3 != 2:
                x = a + np.copysign(least, b - a)
            elif k % 3 == 2 or not at_a * at_b < 0.0:
                x = 0.5 * (a + b)
            else:
                x = b - weight_b * at_b * (b - a) / (weight_b * at_b - weight_a * at_a)
            x = float(np.clip(x, min(a, b) + 0.5 * least, max(a, b) - 0.5 * least))
            value = self.watched.value(event, x, path(np.array([x]))[0])
            if np.sign(value) == sign:
                b, at_b, weight_b, weight_a, side = x, value, 1.0, weight_a * (0.5 if side == 1 else 1.0), 1
            else:
                a, at_a, weight_a, weight_b, side = x, value, 1.0, weight_b * (0.5 if side == -1 else 1.0), -1
        return a if abs(at_a) < abs(at_b) else b

    def ends(self, event: int) -> bool:
        """Tell whether the run ends the next time this event comes."""
        return self.watched.terminal[event] == self.counts[event] + 1

    def stops(self, event: int) -> bool:
        """Tell whether the run must land exactly on the next occurrence of this event."""
        return self.watched.acts[event] or self.ends(event)

    def slope(self, event: int, path: Path, t: float, start: float, end: float) -> float:
        """Return the rate of an event function at time t along a path from start to end."""
        h = 1e-4 * (end - start)
        a, b = np.clip([t - h, t + h], min(start, end), max(start, end))
        low, high = (
            self.watched.value(event, x, y) for x, y in zip((a, b), path(np.array([a, b])), strict=True)
        )
        return float((high - low) / (b - a)) if b != a else 0.0

    def jump(self, t: float, y: Floats) -> list[int]:
        """Return the events that come because the state has jumped."""
        values = self.watched.values(np.array([t]), y[None])[0]
        found = []
        for event, sign in enumerate(_signs(values, np.array(self.watched.slacks)).tolist()):
            if self.actions[event] and self.actions[event][-1] == t:
                continue
            if sign and self.signs[event] not in (0, sign) and self.watched.directions[event] in (0, sign):
                found.append(event)
            self.signs[event] = sign or self.signs[event] or self.watched.sides[event]
        return found

    def acted(self, event: int, t: float, after: float, floor: float) -> bool:
        """Note an action and the value after it, which is zero up to `floor`.

        Return whether the actions never end.
        """
        slack = max(floor, self.watched.slacks[event])
        self.floors[event] = floor
        self.signs[event] = int(np.sign(after)) if abs(after) > slack else self.watched.sides[event]
        past = self.actions[event]
        past.append(t)
        del past[:-_MOST]
        if len(past) == _MOST and abs(t - past[0]) <= _INSTANT * min(self.span, abs(t)):
            return True
        gaps = np.abs(np.diff(past[-_SHORTER:]))
        shrinking = len(past) >= _SHORTER and bool(np.all(gaps[1:] < gaps[:-1]))
        return shrinking and float(np.sum(gaps)) <= _ROUNDING * abs(t)


def _signs(values: Floats, slack: float | Floats) -> NDArray[np.int64]:
    return np.where(np.abs(values) > slack, np.sign(values), 0.0).astype(np.int64)
