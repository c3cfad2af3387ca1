"""Cut hinges: their coordinates and speeds follow from those of the tree, and may be given by name nevertheless."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.model.core import Core
from treemech.topology import Attachment, Body, ElementError
from treemech.topology.arrays import Floats

from ..results.naming import as_place, numbered

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def connection_names(mech: "Mechanism") -> set[str]:
    """Return the names of all hinges and chords."""
    return {c.name for c in mech._info.hinges} | {c.name for c in mech._info.chords}


def split(mechanism: "Mechanism", given: Mapping[Any, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (of branches, of cut hinges): values given by name; points of bodies belong to neither."""
    cut = {c.name for c in mechanism._info.chords if c.nq}
    plain = {c.name for c in mechanism._info.chords if not c.nq}  # their entries in State.cut are empty
    named = {str(n): v for n, v in (given or {}).items() if not isinstance(n, (Body, Attachment))}
    named = {n: v for n, v in named.items() if n not in plain or np.size(v)}
    known = connection_names(mechanism)
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
    known = connection_names(mechanism)
    for key, value in given.items():
        place = as_place(key, known)
        name = place.owner
        c = next(c for c in mechanism._info.chords if c.name == name)
        n = c.nq if what == "q" else c.nu
        row = found.setdefault(name, np.full(n, np.nan))
        try:
            numbers = np.asarray(value, dtype=np.float64)
            row[place.selection] = numbers
        except (TypeError, ValueError, IndexError):
            raise ElementError(
                f"{what} of {key!r} is {value!r}; {name!r} has {n} numbers in {what}."
            ) from None
    return found


def cut_speed_names(mech: "Mechanism") -> list[str]:
    """Return the names of the speeds of all cut hinges, in their order."""
    return [name for c in mech._info.chords for name in numbered(c.name, c.nu)]


def cut_partials(core: Core, t: float, q: Floats) -> Floats:
    """Return the speeds of the cut hinges per unit of each speed."""
    near, work = core.chord_work.q.copy(), core.chord_work

    def speeds(u: Floats) -> Floats:
        work.q[:] = near
        core.constraints(t, q, u)
        return work.u.copy()

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
    for attempt in range(8 if hinges else 1):
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
