"""Cut hinges: their coordinates and speeds follow from those of the tree, and may be given by name nevertheless."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.model.core import Core
from treemech.elements.hinge import Hinge
from treemech.kinematics.manifold import distance
from treemech.kinematics.rows import worst_row
from treemech.topology import Attachment, Body, ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats

from ..results.naming import as_place, numbered
from ..results.state import State, hinge_numbers

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_FITS = 1e-6  # [m, rad, 1/s] numbers of a cut hinge that differ by less fit the others


def connection_names(mech: "Mechanism") -> set[str]:
    """Return the names of all hinges and chords."""
    return {c.name for c in mech._info.hinges} | {c.name for c in mech._info.chords}


def split(mechanism: "Mechanism", given: Mapping[Any, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (of branches, of cut hinges): values given by name; ends of bodies belong to neither."""
    cut = {c.name for c in mechanism._info.chords if c.nq}
    hinges = [*(c.name for c in mechanism._info.hinges), *cut]
    plain = {c.name for c in mechanism._info.chords if not c.nq}  # their entries in State.cut are empty
    for key in given or {}:
        if not isinstance(key, str | Body | Attachment):
            raise ElementError(
                f"{key!r} is neither the name of a hinge nor a body or attachment, body.at(...)."
            )
    named = {n: v for n, v in (given or {}).items() if isinstance(n, str)}
    named = {n: v for n, v in named.items() if n not in plain or np.size(v)}
    known = connection_names(mechanism)
    for owner in (as_place(n, known).owner for n in named):
        if owner not in hinges:
            raise TopologyError(unknown("hinge", owner, hinges))
    mine = {n: v for n, v in named.items() if as_place(n, known).owner in cut}
    return {n: v for n, v in named.items() if n not in mine}, mine


def not_cut(mech: "Mechanism", names: Iterable[str]) -> None:
    """Refuse names of cut hinges."""
    cut, known = {c.name for c in mech._info.chords}, connection_names(mech)
    for name in names:
        if as_place(str(name), known).owner in cut:
            raise ElementError(
                f"{name!r} is cut: its coordinates follow from those of the tree. Name one of those, or connect it with "
                "role='branch'."
            )


def cut_numbers(mechanism: "Mechanism", given: Mapping[str, Any], what: str) -> dict[str, Floats]:
    """Return all numbers of the named cut hinges, nan where nothing is given. `what` is "q" or "u"."""
    found: dict[str, Floats] = {}
    known, hinges = connection_names(mechanism), {c.name: c.element for c in mechanism.tree.chords}
    for key, value in given.items():
        place = as_place(key, known)
        name = place.owner
        c = next(c for c in mechanism._info.chords if c.name == name)
        n = c.nq if what == "q" else c.nu
        row = found.setdefault(name, np.full(n, np.nan))
        try:
            row[place.selection] = (
                value if place.index is not None else hinge_numbers(value, hinges[name], name, what)
            )
        except (TypeError, ValueError, IndexError):
            raise ElementError(
                f"{what} of {key!r} is {value!r}; {name!r} has {n} numbers in {what}."
            ) from None
    for name, row in found.items():
        k = getattr(hinges[name], "euler_parameters", None)  # a constraint has unknowns, and no attitude
        if what == "q" and k is not None and 0 < np.sum(np.isnan(row[k : k + 4])) < 4:
            raise ElementError(
                f"q of {name!r}: some of its Euler parameters are given; give all four, or a rotation."
            )
    return found


def check_cut(mech: "Mechanism", state: State, q: Mapping[str, Floats], u: Mapping[str, Floats]) -> None:
    """Refuse numbers given for cut hinges that differ from those that follow from the tree."""
    if not (q or u):
        return
    with mech._core.unloaded():
        keep = mech._core.chord_work.q.copy()
        now = mech._core.constraints(state.t, state.q, state.u)
        mech._core.chord_work.q[:] = keep
    rows = mech._core.layout.chords.rows
    for level, what in ((now.residual, "open by"), (now.velocity, "opening at a rate of")):
        if level is now.residual or u:
            name, gap = worst_row(rows, np.where(np.array([r[0] in {*q, *u} for r in rows]), level, 0.0))
            if gap > _FITS:
                raise ElementError(
                    f"numbers of {name!r} are given, which is cut, but the others leave it {what} {gap:.3g}: find a state "
                    "that fits with mech.assemble(fix=..., guess=..., rates=...)."
                )
    hinges = {c.name: c.element for c in mech.tree.chords}
    for what, given in (("q", q), ("u", u)):
        for name, wanted in given.items():
            own, element = state.cut[name][what == "u"], hinges[name]
            turns = what == "q" and isinstance(element, Hinge)  # else speeds, or unknowns of a constraint
            off = distance(element, own, wanted)[0] if turns else own - wanted
            if np.any(np.abs(off) > _FITS):
                raise ElementError(
                    f"{what} of {name!r} is given as {_shown(wanted)}, but it is cut, and the others make it {_shown(own)}. "
                    "Leave it out, or let mech.assemble(fix=..., guess=..., rates=...) find a state that fits."
                )


def _shown(numbers: Floats) -> str:
    return f"{numbers[0]:.6g}" if len(numbers) == 1 else np.array2string(numbers, precision=6)


def cut_speed_names(mech: "Mechanism") -> list[str]:
    """Return the names of the speeds of all cut hinges, in their order."""
    return [name for c in mech._info.chords for name in numbered(c.name, c.nu)]


def cut_partials(core: Core, t: float, q: Floats) -> Floats:
    """Return the speeds of the cut hinges per unit of each speed, prescribed ones included."""
    near, work = core.chord_work.q.copy(), core.chord_work

    def speeds(u: Floats) -> Floats:
        work.q[:] = near
        core.constraints(t, q, u)
        return work.u.copy()

    with core.unloaded(), core.undriven():
        rest = speeds(np.zeros(core.nu))
        by_speed = [speeds(e) - rest for e in np.eye(core.nu)]
    return np.asarray(np.array(by_speed).T.reshape(len(rest), core.nu))


def fit_chords(mech: "Mechanism", t: float, q: Floats, near: Mapping[str, Any]) -> None:
    """Find coordinates of cut hinges that fit the pose, next to given ones.

    If they do not fit, other starts are tried.
    """
    rng, work, best, least = np.random.default_rng(0), mech._core.chord_work, None, np.inf
    last = work.q.copy()
    hinges = [c for c in mech.tree.chords if c.is_hinge and c.name not in near]
    for attempt in range(8 if hinges else 2):  # the second where auxiliary unknowns, and turns, were last
        mech._core.reset_chords(near)
        if attempt == 1:
            work.q[:] = np.where(np.isfinite(last), last, work.q)
        elif attempt > 1:
            mech._core.reset_chords({**{c.name: c.element.sample(rng) for c in hinges}, **near})
        start = work.q.copy()
        gap = float(np.max(np.abs(mech._core.constraints(t, q, np.zeros(mech.nu)).residual), initial=0.0))
        if gap < least or best is None:
            best, least = start, gap
        if not gap > 1e-9:
            break
    work.q[:] = best
    work.pivot[:] = -1


class CutMotion(Mapping[str, tuple[Floats, Floats]]):
    """Coordinates and speeds of cut hinges at a state, or at many, found when they are asked for first.

    They are sought next to `near` (coordinates of all chords), or, without it, where they fit.
    """

    __slots__ = ("found", "mechanism", "near", "q", "t", "u")

    def __init__(
        self, mechanism: "Mechanism", t: float, q: Floats, u: Floats, near: Floats | None = None
    ) -> None:
        self.mechanism, self.t, self.q, self.u = mechanism, t, q, u
        self.near = near
        self.found: dict[str, tuple[Floats, Floats]] | None = None

    def __getitem__(self, name: str) -> tuple[Floats, Floats]:
        if self.found is None:
            self.found = self._find()
        return self.found[name]

    def _find(self) -> dict[str, tuple[Floats, Floats]]:
        core = self.mechanism._core
        work = core.chord_work
        before = work.q.copy(), work.u.copy(), work.pivot.copy()
        try:
            with core.unloaded():  # positions only, also where states of elements are not known yet
                if self.q.ndim == 1:
                    cut_q, cut_u = self._at(self.t, self.q, self.u)
                else:
                    lead = self.q.shape[:-1]
                    t = np.broadcast_to(self.t, lead)
                    rows = [self._at(float(t[k]), self.q[k], self.u[k]) for k in np.ndindex(*lead)]
                    cut_q, cut_u = (np.array(x).reshape(*lead, -1) for x in zip(*rows, strict=True))
            return {
                c.name: (cut_q[..., c.q : c.q + c.nq].copy(), cut_u[..., c.u : c.u + c.nu].copy())
                for c in self.mechanism._info.chords
            }
        finally:
            work.q[:], work.u[:], work.pivot[:] = before

    def _at(self, t: float, q: Floats, u: Floats) -> tuple[Floats, Floats]:
        """Return coordinates and speeds of all chords at one state."""
        core, work = self.mechanism._core, self.mechanism._core.chord_work
        core.forget()
        if self.near is None:
            fit_chords(self.mechanism, t, q, {})
        else:
            work.q[:] = self.near
        core.constraints(t, q, u)
        return work.q.copy(), work.u.copy()

    def __iter__(self) -> Iterator[str]:
        return (c.name for c in self.mechanism._info.chords)

    def __len__(self) -> int:
        return len(self.mechanism._info.chords)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> Any:
        """Send the numbers alone to another process."""
        return dict, (dict(self),)
