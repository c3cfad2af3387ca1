"""Events of a simulation: functions of the state that change sign, and what happens then."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.simulation.event_search import Change, Occurrence
from treemech.topology import ElementError, TreemechError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.user_code import user_code

from ..analyses.cut_hinges import CutMotion
from ..analyses.evaluation import results_of_states
from ..results.computed import Results
from ..results.measures import check_owner, find_measure
from ..results.model_info import ModelInfo
from ..results.naming import Comparison, as_comparison, as_coordinate
from ..results.run import Run
from ..results.state import State
from .state_change import changed_state, reassembled

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from .impact import Contact

_DIRECTIONS = {">": 1, ">=": 1, "<": -1, "<=": -1, "==": 0}


@dataclass(frozen=True, eq=False)
class Event:
    """Event during a simulation: a function of the state changes its sign.

    Parameters
    ----------
    what : callable f(t, state) or str
        A continuous function, or a comparison: "A.q > 1.2", "slider.u[1] < 0", "height == B.q". The event
        occurs when it becomes true; with "==" when both sides pass each other. A side is a number, a measure
        of the system, or "name.quantity[place]" of a connection, body or element.
    action : callable f(t, state)
        Called at the state of the event; returns None, another State, or changes by name: ``{"A.q": 0.0,
        "B.u[1]": -2.0}``. Chains are closed again: positions changed by name hold, all others are found next
        to where they were; speeds satisfy the constraints, and given speeds hold.
    terminal : bool or int
        End the run there, or at the n-th time; after the action.
    direction : float
        > 0: only from minus to plus, < 0: only from plus to minus.
    name : str

    Examples
    --------
    >>> Event("A.q > 1.2", terminal=True).name
    'A.q > 1.2'
    """

    what: Any
    action: Callable[[float, State], Any] | None = None
    terminal: bool | int = False
    direction: float = 0
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.what) and not (isinstance(self.what, str) and self.what.strip()):
            raise ElementError(f"event {self.what!r} is neither a function f(t, state) nor a comparison.")
        if not self.name:
            name = (
                self.what if isinstance(self.what, str) else getattr(self.what, "__name__", repr(self.what))
            )
            object.__setattr__(self, "name", name)
        if self.action is not None and not callable(self.action):
            raise ElementError(
                f"the action of event {self.name!r} is {self.action!r}; wanted a function f(t, state)."
            )
        if not isinstance(self.terminal, (int, np.integer, np.bool_)) or self.terminal < 0:
            raise ElementError(
                f"terminal of event {self.name!r} is {self.terminal!r}; wanted a bool or a count."
            )
        if not isinstance(self.direction, (int, float, np.number)) or np.isnan(self.direction):
            raise ElementError(f"direction of event {self.name!r} is {self.direction!r}; wanted -1, 0 or 1.")

    def bound(self, mech: "Mechanism", ahead: float = 1.0) -> "Bound":
        """Bind the event to a mechanism, for a simulation forwards or (ahead < 0) backwards in time."""
        if isinstance(self.what, str):
            left, sign, right = _compared(self.what)
            sides = _side(mech, left, self.what), _side(mech, right, self.what)
            return Bound(lambda look: sides[0](look) - sides[1](look), _DIRECTIONS[sign], self.action)

        def value(state: State) -> float:
            with user_code:
                return _number(state.t, self.what(state.t, state))

        def values(look: Look) -> Floats:
            return np.array([value(state) for state in look.states()])

        return Bound(values, 0, self.action)


def _number(t: float, given: Any) -> float:
    """Return the value of a function of the state as one number; an array with one number is accepted."""
    if isinstance(given, (bool, np.bool_)):
        raise ElementError(
            f"it gives {given} at t = {t:.6g} s, and truth values have no sign to change; wanted a number that passes zero, "
            "the difference of what is compared, or a comparison as a text, 'A.q > 1.2'."
        )
    numbers = np.asarray(given)
    if numbers.size != 1 or numbers.dtype.kind not in "iuf":
        raise ElementError(f"it gives {given!r} at t = {t:.6g} s; wanted a number.")
    return float(numbers.item())


class Bound(NamedTuple):
    """An event of one mechanism: its function over many states, its own direction, its action."""

    values: Callable[["Look"], Floats]
    direction: int
    action: Callable[[float, State], Any] | None
    contact: "Contact | None" = None  # of an impact; its action is the jump of the speeds
    side: int = 0  # the sign it has until a value shows another one
    slack: float = 0.0  # values up to this size show no sign


class Look:
    """Integrator states of a simulation (rows), seen by the names of the mechanism."""

    def __init__(self, mech: "Mechanism", t: Floats, y: Floats) -> None:
        self.mech, self.t, self.y = mech, t, y
        self.q, self.u = mech._core.states(t, y)
        self.rest = mech._core.unpack(y)
        self.now = float(t[0])  # time of the present state
        self._run: Run | None = None

    @property
    def run(self) -> Run:
        """The states as a Run: everything that follows from them, computed on first use."""
        if self._run is None:
            mech, loops = self.mech, self.mech._core.loops
            off = () if loops is None else loops.released()

            def results(t: Floats, q: Floats, u: Floats, cut: Floats, z: Floats) -> Results:
                return results_of_states(mech, t, q, u, cut, z, ((-np.inf, off),))

            self._run = Run(
                mech._info, self.t, self.q, self.u, True, "", tracer=results, cut=self.rest.cut, z=self.rest.z,
                measures=mech._wiring.measures,
            )  # fmt: skip
            # An evaluation moves the starting points of the core, from which the integration continues: keep its order.
            self._run._at_once = True
        return self._run

    def states(self) -> Iterator[State]:
        """Yield the states one by one."""
        core, lagrange = self.mech._core, self.mech._lagrange
        for k, t in enumerate(self.t.tolist()):
            self.now = t
            q, u, z = self.q[k].copy(), self.u[k].copy(), self.rest.z[k]
            cut = CutMotion(self.mech, t, q, u, self.rest.cut[k].copy()) if self.mech._info.chords else {}
            yield State(t, q, u, z[: core.nx].copy(), z[core.nx :].copy(), coordinates=lagrange, cut=cut)


def _compared(text: str) -> Comparison:
    found = as_comparison(text)
    if found is None:
        raise ElementError(f"event {text!r} is no comparison; wanted one like 'A.q > 1.2'.")
    return found


def _side(mech: "Mechanism", text: str, event: str) -> Callable[[Look], Floats]:
    """Return one side of a comparison as a function: a number, a coordinate or speed (without a Run), a measure."""
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        return lambda look: np.full(len(look.t), number)
    asked = as_coordinate(text)
    hinges = {h.name: h for h in mech._info.hinges}
    if asked is not None and asked.owner in hinges and text not in mech._wiring.measures:
        hinge, which = hinges[asked.owner], asked.quantity
        first, count = (hinge.q, hinge.nq) if which == "q" else (hinge.u, hinge.nu)
        place = asked.indices[0] if asked.indices else 0
        if place >= count or (not asked.indices and count > 1):
            raise ElementError(
                f"event {event!r}: hinge {hinge.name!r} has {count} numbers in {which}, from 0: {hinge.name}.{which}[0]."
            )
        return lambda look: getattr(look, which)[:, first + place]
    if "." not in text and text not in mech._wiring.measures:
        raise ElementError(f"event {event!r}: {unknown('measure', text, mech._wiring.measures)}")
    try:
        measure = find_measure(mech._wiring.measures, text)
        if measure.text is not None:
            check_owner(mech._info, measure)
    except TreemechError as error:
        raise ElementError(
            f"event {event!r}: {error} A side is a number, a measure or 'name.quantity[place]'; for more give a function "
            "f(t, state)."
        ) from None
    return lambda look: measure.of(look.run)


def as_events(given: Any) -> list[Event]:
    """Return a list of events; a function may have scipy's attributes and an action."""
    many = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [e if isinstance(e, Event) else _of_function(e) for e in many]


def _of_function(what: Any) -> Event:
    return Event(
        what,
        action=getattr(what, "action", None),
        terminal=getattr(what, "terminal", False),
        direction=getattr(what, "direction", 0),
    )


class Watch:
    """All events of one simulation, in the form its integration uses (`dynamics.simulation.event_search.Watched`)."""

    def __init__(self, mech: "Mechanism", events: Sequence[Event], ahead: float) -> None:
        self.mech, self.events = mech, list(events)
        self.names = tuple(e.name for e in self.events)
        self.bound = [e.bound(mech, ahead) for e in self.events]
        self.directions = tuple(
            int(np.sign(e.direction)) or b.direction for e, b in zip(self.events, self.bound, strict=True)
        )
        self.terminal = tuple(int(e.terminal) for e in self.events)
        self.sides = tuple(b.side for b in self.bound)
        self.slacks = tuple(b.slack for b in self.bound)
        self.acts = tuple(b.action is not None for b in self.bound)

    def described(self) -> list[list[Any]]:
        """Return the events as data for JSON, without the code of functions."""
        return [list(x) for x in zip(self.names, self.directions, self.terminal, self.acts, strict=True)]

    def check_start(self, t: float, y: Floats) -> None:
        """Refuse an event that occurred before the start: a gap that is closed already, and closes further."""
        (state,) = Look(self.mech, np.array([t]), y[None]).states()
        for k, bound in enumerate(self.bound):
            if bound.contact is None:
                continue
            width = self.value(k, t, y)
            if width < -bound.slack and bound.contact.closing(state):
                raise ElementError(
                    f"{self.names[k]!r}: the start at t = {t:.6g} s is beyond it by {-width:.3g} (m, rad) and nothing would stop "
                    "it. Start before it, or move the limit."
                )

    def values(self, t: Floats, y: Floats) -> Floats:
        look = Look(self.mech, t, y)
        return np.stack([self._values(k, look) for k in range(len(self.bound))], axis=1)

    def value(self, event: int, t: float, y: Floats) -> float:
        return float(self._values(event, Look(self.mech, np.array([t]), y[None]))[0])

    def _values(self, event: int, look: Look) -> Floats:
        name, t = self.names[event], look.t
        try:
            values = np.asarray(self.bound[event].values(look), dtype=np.float64)
        except TreemechError as error:
            raise ElementError(f"event {name!r}: {error}") from error
        except Exception as error:
            raise _failed(f"event {name!r}", look.now, error) from error
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ElementError(
                f"event {name!r} gives {values[bad[0]]} at t = {t[bad[0]]:.6g} s; wanted a number."
            )
        return values

    def act(self, event: int, t: float, y: Floats) -> Change:
        """Call the action and put together again what it gives."""
        name, bound = self.names[event], self.bound[event]
        look = Look(self.mech, np.array([t]), y[None])
        (state,) = look.states()
        for numbers in (state.q, state.u, state.x, state.memory):
            numbers.flags.writeable = False  # a user who writes into it expects a change
        self.mech._core.chord_work.q[:] = look.rest.cut[0]
        if bound.contact is not None:
            return self._strike(event, look, state)
        assert bound.action is not None
        try:
            with user_code:
                given = bound.action(t, state)
        except TreemechError:
            raise
        except Exception as error:
            raise _failed(f"the action of event {name!r}", t, error) from error
        if given is None:
            return Change(y)
        try:
            new, held = changed_state(self.mech, state, given)
            return Change(reassembled(self.mech, t, y, state, new, held))
        except TreemechError as error:
            raise ElementError(f"the action of event {name!r} at t = {t:.6g} s: {error}") from error

    def _strike(self, event: int, look: "Look", state: State) -> Change:
        """Apply the impacts of one instant: this one, and all others whose gaps are closed and close further."""
        from .impact import INSTANT, apply_impulses, struck

        t, y, name = float(look.t[0]), look.y[0], self.names[event]
        known = {k: bound.contact for k, bound in enumerate(self.bound) if bound.contact is not None}
        first = known.pop(event)
        try:
            closed = {k: c for k, c in known.items() if abs(self._values(k, look)[0]) <= INSTANT}
            others = struck(first, closed, state)
            u, (rests, *more), apart = apply_impulses(
                self.mech, t, state, [first, *(closed[k] for k in others)]
            )
            came = tuple(zip(others, more, strict=True))
            if u is None:
                return Change(y, rests, came)
            for chord in apart:
                assert self.mech._core.loops is not None
                self.mech._core.loops.switch(chord)  # only in this copy; the run itself follows
            new = State(t, state.q, u, state.x, state.memory, coordinates=self.mech._lagrange)
            return Change(reassembled(self.mech, t, y, state, new, {"q": {}, "u": {}}), rests, came, apart)
        except TreemechError as error:
            raise ElementError(f"impact {name!r} at t = {t:.6g} s: {error}") from error

    def points(self, happened: Sequence[Occurrence]) -> "list[EventPoints]":
        """Return the occurrences, event by event."""
        found = []
        for k, name in enumerate(self.names):
            own = [e for e in happened if e.event == k]
            t = np.array([e.t for e in own])
            looks = [
                Look(self.mech, t, np.array(rows).reshape(len(own), -1)) if own else None
                for rows in ([e.y for e in own], [e.after for e in own])
            ]
            states, after = (list(look.states()) if look is not None else [] for look in looks)
            found.append(EventPoints(name, t, states, after))
        return found


class EventPoints(NamedTuple):
    """Occurrences of an event: times, the states reached, and the states after its action."""

    name: str
    t: Floats
    states: list[State]
    after: list[State]

    def as_dict(self) -> dict[str, Any]:
        """Return the content as data for JSON."""

        def plain(state: State) -> list[Any]:
            cut = {name: [q.tolist(), u.tolist()] for name, (q, u) in state.cut.items()}
            return [*(part.tolist() for part in (state.q, state.u, state.x, state.memory)), cut]

        states, after = ([plain(s) for s in states] for states in (self.states, self.after))
        return {"name": self.name, "t": self.t.tolist(), "states": states, "after": after}

    @classmethod
    def from_dict(cls, content: dict[str, Any], info: ModelInfo) -> "EventPoints":
        def numbers(part: Any) -> Floats:
            return np.array(part, dtype=np.float64)

        def state(t: float, row: list[Any]) -> State:
            q, u, x, memory, *rest = row
            cut = {name: (numbers(q), numbers(u)) for name, (q, u) in (rest[0] if rest else {}).items()}
            return State(
                float(t), numbers(q), numbers(u), numbers(x), numbers(memory), cut=cut, coordinates=info
            )

        def states(rows: list[list[Any]]) -> list[State]:
            return [state(t, row) for t, row in zip(content["t"], rows, strict=True)]

        t = np.array(content["t"], dtype=np.float64)
        return cls(str(content["name"]), t, states(content["states"]), states(content["after"]))


def _failed(what: str, t: float, error: Exception) -> ElementError:
    return ElementError(f"{what} failed at t = {t:.6g} s: {type(error).__name__}: {error}")
