"""Impacts: a gap closes, and the speeds jump by impulses (Newton's law of restitution)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemech.dynamics import core as columns
from treemech.dynamics.impulse import free_speeds, holding, impulse
from treemech.kinematics.chord_plan import POSITION as ROW_POSITION
from treemech.kinematics.chord_plan import VELOCITY as ROW_VELOCITY
from treemech.topology import Attachment, Body, ElementError, TopologyError, as_vector, unknown

from .assembly import not_cut
from .events import Bound, Event, Look
from .model_info import rotations
from .run import BodyMotion
from .state import State

if TYPE_CHECKING:
    from .mechanism import Mechanism

Floats = NDArray[np.float64]
_TOUCH = 1e-13  # [m, rad] a gap less open by this is still none: what rests there must not fall through by rounding


@dataclass(frozen=True, eq=False)
class Gap:
    """What closes: its width over many states, and its rate at one: (J, J u + drift)."""

    width: Callable[[Look], Floats]
    rate: Callable[[State], tuple[Floats, float]]
    chord: int = -1  # the unilateral one, counted among them, that can hold it closed


@dataclass(frozen=True, eq=False)
class Impact(Event):
    """A blow: an event of `simulate` that comes where a gap closes. Made by `at_limit`, `between` or `of`.

    With the rate v = J u + v0 of the gap, constraints P, impulses L and multipliers l::

        A (u+ - u-) = J^T L + P^T l      v+ = -restitution v-      P u+ + P0 = 0

    Prescribed speeds stay. Constraints that hold go on holding; other gaps that are closed at that instant have blows of their
    own, one after the other. A rebound slower than `at_rest` [m/s or rad/s] is none: the unilateral constraint holds from then
    on; where there is none the run ends, for nothing would keep the gap closed.
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
        """A coordinate, "A" or "A[1]", meets a hard stop: its upper or its lower limit."""
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
        """Point b meets a plane fixed to end a, at a distance along its normal (in the base of a), or without a normal a ball:
        the points come as close as the distance."""
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
        """A unilateral constraint closes: it rebounds, and holds when that is too weak to be seen."""
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
        gap, back = self.gap(mech), self.restitution if ahead > 0.0 else 1.0 / self.restitution

        def weak(rate: float) -> bool:
            return ahead * rate <= 0.0 and back * abs(rate) <= self.at_rest

        def blow(t: float, state: State) -> State | None:
            J, rate = gap.rate(state)
            if not ahead * rate < 0.0 or (gap.chord >= 0 and weak(rate)):
                return None
            now = holding(mech.core, t, state.q, state.u)
            found = impulse(
                mech.core, t, state.q, state.u, np.vstack((J, now.partials)),
                np.concatenate(([-(1.0 + back) * rate], -now.velocity)), free_speeds(mech.core),
            )  # fmt: skip
            if abs(found.missing[0]) > 1e-6 * abs(rate):
                raise ElementError(
                    f"{self.name!r} cannot rebound: prescribed motions and closed chains drive it on."
                )
            return State(t, state.q, found.u, state.x, state.memory, coordinates=mech.lagrange)

        def rests(t: float, state: State) -> int | None:
            return gap.chord if weak(gap.rate(state)[1]) else None

        def closing(state: State) -> bool:
            return ahead * gap.rate(state)[1] <= 0.0

        return Bound(gap.width, -1, blow, rests, side=1, slack=_TOUCH, closing=closing)


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
    known = {h.name: h for h in mech.info.hinges}
    place = re.fullmatch(r"(.+)\[(-?\w*)\]", hinge)
    name, index = (place[1], place[2]) if place is not None and hinge not in known else (hinge, "0")
    not_cut(mech, [name])
    if name not in known:
        raise TopologyError(f"impact at a limit: {unknown('hinge of the tree', name, known)}")
    info, k = known[name], int(index) if index.isdecimal() else -1
    if not 0 <= k < info.nq or info.nq != info.nu:
        raise ElementError(
            f"impact at a limit of {hinge!r}: wanted one of its {info.nu} coordinates that is no attitude."
        )
    J = np.zeros(mech.nu)
    J[info.u + k] = sign
    return Gap(lambda look: sign * (look.q[:, info.q + k] - limit), lambda state: (J, float(J @ state.u)))


def _point_gap(
    mech: "Mechanism", a: Attachment, b: Attachment, normal: Floats | None, distance: float
) -> Gap:
    for end in (a, b):
        if end.body.name not in mech.tree.numbers:
            raise TopologyError(f"impact: {unknown('body', end.body.name, mech.tree.numbers)}")

    numbers = [mech.tree.numbers[end.body.name] for end in (a, b)]

    def seen(t: Floats, q: Floats, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Traces of both bodies, the way from a to b, the normal: rows over time."""
        trace, _ = mech.core.trace(t, q, u, np.zeros((len(t), mech.nu)))
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
        first, second = (BodyMotion(trace[:, k], mech.info.bodies[numbers[k]]) for k in (0, 1))
        v = (second.point(b.offset).velocity - first.point(a.offset).velocity)[0]
        Ja, Jb = mech.jacobian(a, state), mech.jacobian(b, state)
        J = n @ (Jb[:3] - Ja[:3])
        if normal is not None:  # which turns with its body
            J, v = J - np.cross(d, n) @ Ja[3:], v - np.cross(first.angular_velocity[0], d)
        return J, float(n @ v)

    return Gap(width, rate)


def _chord_gap(mech: "Mechanism", connection: str) -> Gap:
    core, loops = mech.core, mech.core.loops
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
            found.append(core.chord_work.row[first, ROW_POSITION])
        return np.array(found)

    def rate(state: State) -> tuple[Floats, float]:
        now = core.constraints(state.t, state.q, state.u)
        return now.partials[first], float(core.chord_work.row[first, ROW_VELOCITY])

    return Gap(width, rate, chord)
