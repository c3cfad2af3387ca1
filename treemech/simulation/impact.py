"""Impacts: a gap closes, and the speeds jump by impulses (Newton's law of restitution)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treemech.dynamics.model import trace as columns
from treemech.dynamics.simulation.impulse import (
    AT_REST,
    answers,
    holding,
    impulse,
    resting,
    solve_impact,
    thrown_apart,
)
from treemech.kinematics.plan.columns import row
from treemech.topology import Attachment, Body, ElementError, TopologyError, as_vector, unknown
from treemech.topology.arrays import Floats

from ..analyses.cut_hinges import cut_partials
from ..results.model_info import ChordInfo, HingeInfo, rotations
from ..results.motions import BodyMotion
from ..results.naming import as_place
from ..results.state import State
from .events import Bound, Event, Look

if TYPE_CHECKING:
    from ..mechanism import Mechanism

INSTANT = 1e-9  # [m, rad] gaps within this distance close together
_SOME = 1e-9  # part of the rate of the closing gap: a larger rate of another gap is not rounding
_TOUCH = 1e-13  # [m, rad] a smaller gap counts as closed: a resting body must not fall through by rounding


@dataclass(frozen=True, eq=False)
class Gap:
    """Gap that closes: its width over many states, and its rate at one: (J, J u + drift)."""

    width: Callable[[Look], Floats]
    rate: Callable[[State], tuple[Floats, float]]
    chord: int = -1  # number of the unilateral constraint that can hold it closed


@dataclass(frozen=True, eq=False)
class Impact(Event):
    """Impact: an event of `simulate` that occurs when a gap closes. Made by `at_limit`, `between` or `of`.

    With the rate v = J u + v0 of the gap, constraints P, impulses L and multipliers l::

        A (u+ - u-) = J^T L + P^T l      v+ = -restitution v-      P u+ + P0 = 0

    Prescribed speeds stay. Constraints that hold continue to hold; unilateral ones only push, and are
    released if the impact lifts them. Gaps that close at the same instant are struck together, with impulses
    that can only push (dynamics.simulation.impulse); a gap that closes because of the impact has its own
    impact next, at the same instant. A rebound slower than `at_rest` [m/s or rad/s] is ignored: the unilateral constraint holds from
    then on; without one the run ends, since nothing would keep the gap closed.
    """

    restitution: float = 1.0
    at_rest: float = 1e-6
    gap: Callable[["Mechanism"], Gap] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.restitution, (int, float, np.number)) or not 0.0 <= self.restitution <= 1.0:
            raise ElementError(f"restitution of {self.name!r} is {self.restitution!r}; wanted 0 .. 1.")
        if not isinstance(self.at_rest, (int, float, np.number)) or not self.at_rest >= 0.0:
            raise ElementError(f"at_rest of {self.name!r} is {self.at_rest!r}; wanted a speed, not negative.")

    @classmethod
    def at_limit(
        cls,
        hinge: str,
        *,
        upper: float | None = None,
        lower: float | None = None,
        restitution: float = 1.0,
        at_rest: float = 1e-6,
        name: str = "",
        terminal: bool | int = False,
    ) -> "Impact":
        """Make the impact of a coordinate, "A" or "A[1]", also of a cut hinge, at its upper or lower limit."""
        if (upper is None) == (lower is None):
            raise ElementError(f"impact at a limit of {hinge!r}: give upper= or lower=, one of them.")
        sign = -1.0 if upper is not None else 1.0
        limit = _finite(upper if upper is not None else lower, f"limit of {hinge!r}")
        return cls._made(
            name or f"limit of {hinge}",
            terminal,
            restitution,
            at_rest,
            lambda mech: _limit_gap(mech, hinge, limit, sign),
        )

    @classmethod
    def between(
        cls,
        a: Body | Attachment,
        b: Body | Attachment,
        *,
        normal: ArrayLike | None = None,
        distance: float = 0.0,
        restitution: float = 1.0,
        at_rest: float = 1e-6,
        name: str = "",
        terminal: bool | int = False,
    ) -> "Impact":
        """Make the impact of point b at a plane fixed to end a.

        The plane lies at a distance along its normal (in the base of a). Without a normal it is a ball: the
        impact occurs when the points come as close as the distance.
        """
        ends = tuple(e.at() if isinstance(e, Body) else e for e in (a, b))
        for end in ends:
            if not isinstance(end, Attachment):
                raise TopologyError(
                    f"impact between: {end!r} is neither a body nor an attachment, body.at(...)."
                )
        distance = _finite(distance, "distance of an impact")
        axis = None if normal is None else as_vector(normal, "normal of an impact")
        if axis is not None and not np.any(axis):
            raise ElementError(f"normal of an impact is {normal!r}; wanted a direction.")
        if axis is not None:
            axis = axis / np.linalg.norm(axis)
        elif not distance > 0.0:
            raise ElementError(
                "an impact of two points without a normal needs a distance: the sum of their radii."
            )
        title = name or f"impact of {ends[0].body.name} and {ends[1].body.name}"
        return cls._made(
            title,
            terminal,
            restitution,
            at_rest,
            lambda mech: _point_gap(mech, ends[0], ends[1], axis, distance),
        )

    @classmethod
    def of(
        cls,
        connection: str,
        *,
        restitution: float,
        at_rest: float = 1e-6,
        name: str = "",
        terminal: bool | int = False,
    ) -> "Impact":
        """Make the impact of a unilateral constraint that closes: it rebounds, and holds if the rebound is too weak."""
        return cls._made(
            name or f"impact of {connection}",
            terminal,
            restitution,
            at_rest,
            lambda mech: _chord_gap(mech, connection),
        )

    @classmethod
    def _made(
        cls,
        name: str,
        terminal: bool | int,
        restitution: float,
        at_rest: float,
        gap: "Callable[[Mechanism], Gap]",
    ) -> "Impact":
        return cls(_never, None, terminal, -1, name, restitution, at_rest, gap)

    def bound(self, mech: "Mechanism", ahead: float = 1.0) -> Bound:
        if self.gap is None:
            raise ElementError("an impact is made by Impact.at_limit, Impact.between or Impact.of.")
        if ahead < 0.0 and self.restitution == 0.0:
            raise ElementError(f"{self.name!r} has no restitution: nobody knows what was before it.")
        back = self.restitution if ahead > 0.0 else 1.0 / self.restitution
        contact = Contact(self.name, self.gap(mech), back, ahead, self.at_rest)
        return Bound(contact.gap.width, -1, _strike, contact, side=1, slack=_TOUCH)


class Contact(NamedTuple):
    """Impact bound to one mechanism: its gap and restitution, forwards or (ahead < 0) backwards in time."""

    name: str
    gap: Gap
    back: float
    ahead: float
    at_rest: float

    def weak(self, rate: float) -> bool:
        """Return whether a gap with this rate comes to rest."""
        return self.ahead * rate <= 0.0 and self.back * abs(rate) <= self.at_rest

    def closing(self, state: State) -> bool:
        return self.ahead * self.gap.rate(state)[1] <= 0.0


def struck(first: Contact, others: Mapping[int, Contact], state: State) -> list[int]:
    """Return which other closed gaps take part in an impact: those that close, and not by rounding alone.

    A gap that does not close yet waits: the impact may make it close; then it has an impact of its own at the
    same instant. In this way an impulse runs through a row of balls that touch.
    """
    least = _SOME * abs(first.gap.rate(state)[1])
    return [k for k, c in others.items() if c.ahead * c.gap.rate(state)[1] < -least]


class Struck(NamedTuple):
    """Result of an impact: speeds (None: unchanged), where each contact comes to rest, chords that were thrown apart.

    A contact rests at the unilateral chord that holds it closed from then on, or at -1 if there is none.
    """

    u: Floats | None
    rests: list[int | None]
    apart: tuple[int, ...] = ()


def apply_impulses(mech: "Mechanism", t: float, state: State, contacts: Sequence[Contact]) -> Struck:
    """Compute the impact of all these contacts at once.

    Unilateral chords that hold take part: they push or let go.
    """
    rows, rates = zip(*(c.gap.rate(state) for c in contacts), strict=True)
    rests = [c.gap.chord if c.weak(rate) else None for c, rate in zip(contacts, rates, strict=True)]
    first, chords = contacts[0], resting(mech._core)
    if not first.ahead * rates[0] < 0.0:
        return Struck(None, rests)
    held = list(chords.values())
    now, free = holding(mech._core, t, state.q, state.u, held), mech._core.free_speeds()
    if len(contacts) == 1 and rests[0] is not None and rests[0] >= 0:
        return Struck(None, rests)
    if len(contacts) == 1 and not chords:
        change = np.concatenate(([-(1.0 + first.back) * rates[0]], -now.velocity))
        found = impulse(mech._core, t, state.q, state.u, np.vstack((rows[0], now.partials)), change, free)
        _refuse_driven(first, found.missing[0], rates[0])
        return Struck(found.u, rests)
    n, every = len(contacts), mech._core.constraints(t, state.q, state.u) if held else now
    J = first.ahead * np.vstack((rows, every.partials[held]))
    v = first.ahead * np.concatenate((rates, every.velocity[held]))
    back = np.zeros(len(v))
    back[:n] = [0.0 if k is not None and k >= 0 else c.back for c, k in zip(contacts, rests, strict=True)]
    answer, kept = answers(mech._core, t, state.q, J, now, free)
    together = solve_impact(J @ answer, v + J @ kept, back)
    for c, missing, rate in zip(contacts, together.missing[:n], rates, strict=True):
        _refuse_driven(c, missing, rate)
    u = state.u + kept + answer @ together.impulses
    after = v + J @ (u - state.u)
    slow = [abs(rate) <= c.at_rest for c, rate in zip(contacts, after[:n], strict=True)]
    return Struck(
        u,
        [k if still else None for k, still in zip(rests, slow, strict=True)],
        tuple(thrown_apart(list(chords), after[n:], v, at_rest=max(first.at_rest, AT_REST))),
    )


def _refuse_driven(contact: Contact, missing: float, rate: float) -> None:
    if abs(missing) > 1e-6 * abs(rate):
        raise ElementError(
            f"{contact.name!r} cannot rebound: prescribed motions and closed chains drive it on."
        )


def _strike(t: float, state: State) -> None:
    raise AssertionError("an impact is struck with all others of its instant")


def _never(t: float, state: State) -> float:
    raise AssertionError("an impact looks at its gap")


def _finite(given: Any, what: str) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ElementError(f"{what} is {given!r}; wanted a finite number.")
    return number


def _limit_gap(mech: "Mechanism", hinge: str, limit: float, sign: float) -> Gap:
    cut = {c.name: c for c in mech._info.chords if c.nq}
    known: dict[str, HingeInfo | ChordInfo] = {h.name: h for h in mech._info.hinges} | cut
    place = as_place(mech._numbered(hinge), known)
    name = place.owner
    if name not in known:
        raise TopologyError(f"impact at a limit: {unknown('hinge', name, known)}")
    info = known[name]
    k = 0 if place.index is None else place.below(info.nq)
    if k is None or not info.nq or info.nq != info.nu:
        raise ElementError(
            f"impact at a limit of {hinge!r}: wanted one of its {info.nu} coordinates that is no attitude."
        )
    if name in cut:
        return _cut_gap(mech, info.q + k, info.u + k, limit, sign)
    J = np.zeros(mech.nu)
    J[info.u + k] = sign
    return Gap(lambda look: sign * (look.q[:, info.q + k] - limit), lambda state: (J, float(J @ state.u)))


def _cut_gap(mech: "Mechanism", q: int, u: int, limit: float, sign: float) -> Gap:
    """Return the gap of a coordinate of a cut hinge, which follows from those of the tree: u_c = V u + ..."""
    core = mech._core

    def width(look: Look) -> Floats:
        found = []
        for t, own, speeds, cut in zip(look.t.tolist(), look.q, look.u, look.rest.cut, strict=True):
            core.chord_work.q[:] = cut
            core.constraints(t, own, speeds)
            found.append(sign * (core.chord_work.q[q] - limit))
        return np.array(found)

    def rate(state: State) -> tuple[Floats, float]:
        core.constraints(state.t, state.q, state.u)
        now = sign * float(core.chord_work.u[u])
        return sign * cut_partials(core, state.t, state.q)[u], now

    return Gap(width, rate)


def _point_gap(
    mech: "Mechanism", a: Attachment, b: Attachment, normal: Floats | None, distance: float
) -> Gap:
    for end in (a, b):
        if end.body.name not in mech.tree.numbers:
            raise TopologyError(f"impact: {unknown('body', end.body.name, mech.tree.numbers)}")

    numbers = [mech.tree.numbers[end.body.name] for end in (a, b)]

    def seen(t: Floats, q: Floats, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return traces of both bodies, the vector from a to b, and the normal: rows over time."""
        trace, _ = mech._core.trace(t, q, u, np.zeros((len(t), mech.nu)))
        turned = [rotations(trace[:, k]) for k in numbers]
        d = trace[:, numbers[1], columns.POSITION] + turned[1] @ b.offset
        d -= trace[:, numbers[0], columns.POSITION] + turned[0] @ a.offset
        n = d / np.linalg.norm(d, axis=1)[:, None] if normal is None else turned[0] @ (a.rotation @ normal)
        return trace[:, numbers], d, n

    def width(look: Look) -> Floats:
        _, d, n = seen(look.t, look.q, look.u)
        return np.asarray(np.sum(d * n, axis=1) - distance)

    def rate(state: State) -> tuple[Floats, float]:
        trace, (d,), (n,) = seen(np.array([state.t]), state.q[None], state.u[None])
        first, second = (BodyMotion.of_trace(trace[:, k], mech._info.bodies[numbers[k]]) for k in (0, 1))
        v = (second.point(b.offset).velocity - first.point(a.offset).velocity)[0]
        Ja, Jb = mech.jacobian(a, state), mech.jacobian(b, state)
        J = n @ (Jb[:3] - Ja[:3])
        if normal is not None:  # it turns with its body
            J, v = J - np.cross(d, n) @ Ja[3:], v - np.cross(first.angular_velocity[0], d)
        return J, float(n @ v)

    return Gap(width, rate)


def _chord_gap(mech: "Mechanism", connection: str) -> Gap:
    core, loops = mech._core, mech._core.loops
    rows = core.layout.chords.rows
    names = [] if loops is None else [rows[first][0] for first in loops.plan.unilateral[::2]]
    if loops is None or connection not in names:
        raise TopologyError(f"impact: {unknown('unilateral constraint', connection, names)}")
    chord = names.index(connection)
    first = int(loops.plan.unilateral[2 * chord])

    def width(look: Look) -> Floats:
        if not loops.work.off[first]:
            return np.ones(len(look.t))
        found = []
        for t, q, u, cut in zip(look.t.tolist(), look.q, look.u, look.rest.cut, strict=True):
            core.chord_work.q[:] = cut
            core.constraints(t, q, u)
            found.append(core.chord_work.row[first, row.POSITION])
        return np.array(found)

    def rate(state: State) -> tuple[Floats, float]:
        now = core.constraints(state.t, state.q, state.u)
        return now.partials[first], float(core.chord_work.row[first, row.VELOCITY])

    return Gap(width, rate, chord)
