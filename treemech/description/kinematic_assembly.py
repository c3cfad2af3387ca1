"""Kinematic assemblies (7.2): hinges and constraints between frames without mass.

Hinges in a row from end to end are reduced to one hinge by rank. An assembly with side branches or inner
loops, or whose constraints decide coordinates that the ends leave open, is expanded instead: its frames
become bodies without mass, its hinges and constraints connections of the system.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.elements import Constraint, Hinge, Member, RelativeMotion, Series, SeriesRows
from treemech.elements.assembled.rows import SeriesEnd
from treemech.elements.assembled.series import frames, partials, rank_of, speeds_of
from treemech.topology import TopologyError
from treemech.topology.arrays import Floats
from treemech.topology.parameter import plain

from .composite import Place

if TYPE_CHECKING:
    from .composite import Composite, Part


class Reduction(NamedTuple):
    """An assembly as one hinge and equations between its coordinates.

    rank: rank of the motion of end b in all coordinates of the hinges (7.2.8); redundant: coordinates that do
    not move it and stay at their reference; freedoms: of end b relative to end a, by position; admissible: by
    velocity (7.2.11).
    """

    hinge: Series
    rows: tuple[tuple[str, SeriesRows], ...]
    rank: int
    redundant: tuple[str, ...]
    freedoms: int
    admissible: int

    def __str__(self) -> str:
        text = f"{self.hinge!r}: {self.freedoms} freedoms (rank {self.rank})"
        if self.admissible != self.freedoms:
            text += f", {self.admissible} of velocity"
        text += f"; coordinates {', '.join(self.hinge.coordinate_names) or 'none'}"
        return text + (f"; redundant: {', '.join(self.redundant)}" if self.redundant else "")


class Expansion(NamedTuple):
    """An assembly that is no single hinge: its frames are bodies without mass; reason says why."""

    frames: tuple[str, ...]
    parts: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"frames {', '.join(self.frames)} as bodies without mass, joined by {', '.join(self.parts)}: {self.reason}"


def reduce_assembly(composite: "Composite", what: str) -> Reduction | Expansion:
    """Reduce an assembly: hinges from end a to end b become a Series, constraints equations between its coordinates.

    Return an Expansion where that is not possible.
    """
    if len(composite.ends) != 2:
        return _expansion(composite, f"it has the ends {', '.join(composite.ends)}")
    beside = off_the_way(composite, what)
    if beside:
        return _expansion(composite, f"{', '.join(beside)} not on the way from {' to '.join(composite.ends)}")
    members, stages = way(composite, what)
    constraints = [p for p in composite.parts if isinstance(p.element, Constraint)]
    series = Series.of(members, euler=not constraints)
    rows, found = [], []
    for part in constraints:
        a, b = (_series_end(stages, place) for place in part.places)
        rows.append((part.name, SeriesRows(part.element, series, a, b)))
        found.append((part, a, b))
    freedoms, admissible, undecided = _freedoms(plain(series), plain(found))
    if undecided:
        decided = f"{undecided} depends on {', '.join(series.redundant)}, which the ends do not decide"
        return _expansion(composite, decided)
    return Reduction(series, tuple(rows), series.rank, series.redundant, freedoms, admissible)


def way(composite: "Composite", what: str) -> tuple[list[Member], dict[str, tuple[int, Place]]]:
    """Return (members from end a to end b, after how many members and at which place each frame lies)."""
    a, b = composite.ends
    hinges = [p for p in composite.parts if isinstance(p.element, Hinge)]
    path = _path(hinges, a, b) or []
    here = Place(a, np.zeros(3), np.eye(3))
    members, stages = [], {a: (0, here)}
    for part, backward in path:
        near, far = part.places[::-1] if backward else part.places
        members.append(Member(part.name, part.element, *here.to(near), backward=backward))
        here = far
        stages[far.name] = (len(members), far)
    members.append(Member("", None, *here.to(Place(b, np.zeros(3), np.eye(3)))))
    return members, stages


def off_the_way(composite: "Composite", what: str) -> list[str]:
    """Return the names of hinges that do not lie on the way from end a to end b; refuse an assembly without a way."""
    a, b = composite.ends
    hinges = [p for p in composite.parts if isinstance(p.element, Hinge)]
    path = _path(hinges, a, b)
    if path is None:
        raise TopologyError(
            f"{what}: no hinges lead from {a!r} to {b!r}; a way of hinges says where {b!r} can be (tm.Free leaves all open)."
        )
    return [part.name for part in hinges if part not in [p for p, _ in path]]


def _expansion(composite: "Composite", reason: str) -> Expansion:
    return Expansion(composite.frames, tuple(part.name for part in composite.parts), reason)


def _path(hinges: Sequence["Part"], a: str, b: str) -> "list[tuple[Part, bool]] | None":
    """Return the hinges from a to b, each with a flag: True if it is passed from its second end to its first."""
    ways: dict[str, list[tuple[Part, bool]]] = {a: []}
    todo = [a]
    for frame in todo:
        for part in hinges:
            for backward in (False, True):
                near, far = part.places[::-1] if backward else part.places
                if near.name == frame and far.name not in ways:
                    ways[far.name] = [*ways[frame], (part, backward)]
                    todo.append(far.name)
    return ways.get(b)


def _series_end(stages: dict[str, tuple[int, Place]], place: Place) -> SeriesEnd:
    stage, met = stages[place.name]
    return SeriesEnd(stage, *met.to(place))


def _freedoms(series: Series, constraints: Sequence[Any]) -> tuple[int, int, str]:
    """Return the freedoms (by position, by velocity) in a general position, and what the ends do not decide.

    That is the name of a constraint which depends on a redundant coordinate, or an empty text.
    """
    rng, n = np.random.default_rng(1), sum(speeds_of(m) for m in series.reduced)
    q = [m.hinge.sample(rng) for m in series.reduced if m.hinge is not None]
    Y = partials(series.reduced, q)
    null = np.linalg.svd(Y)[2][rank_of(Y) :]
    rows, holonomic, undecided = [np.zeros((0, n))], list[bool](), ""
    for part, a, b in constraints:
        P = row_partials(series, part.element, a, b, q)
        rows.append(P)
        holonomic += [k < part.element.n_holonomic for k in range(len(P))]
        if not undecided and _feels(series, part.element, a, b, q, null):
            undecided = part.name
    all_rows = np.vstack(rows)
    rank = rank_of(Y)
    return rank - rank_of(all_rows[holonomic]), rank - rank_of(all_rows), undecided


def _feels(
    series: Series, constraint: Constraint, a: SeriesEnd, b: SeriesEnd, q: Sequence[Floats], null: Floats
) -> bool:
    """Tell whether a constraint changes along motions that do not move end b, the rows of `null`.

    Either such a motion violates it, or it restricts end b in another direction afterwards: a knife edge
    under the pivot of a fork feels where the fork points.
    """
    P, Y = row_partials(series, constraint, a, b, q), partials(series.reduced, q)
    if not null.size:
        return False
    if float(np.max(np.abs(P @ null.T))) > 1e-8 * max(1.0, float(np.max(np.abs(P)))):
        return True
    h, here = 1e-4, _row_space(P, Y)
    for motion in null:
        moved, start = [], 0
        for hinge, own in zip((m.hinge for m in series.reduced if m.hinge is not None), q, strict=True):
            moved.append(hinge.move(own, h * motion[start : start + hinge.n_speeds]))
            start += hinge.n_speeds
        there = _row_space(row_partials(series, constraint, a, b, moved), partials(series.reduced, moved))
        if float(np.max(np.abs(there - here))) > 0.03 * h * float(np.max(np.abs(motion))):
            return True
    return False


def _row_space(P: Floats, Y: Floats) -> Floats:
    """Return the projector on the motions of end b that a constraint restricts: P = C Y (7.2.8)."""
    C = P @ np.linalg.pinv(Y, rcond=1e-9)
    return np.asarray(np.linalg.pinv(C, rcond=1e-9) @ C)


def row_partials(
    series: Series, constraint: Constraint, a: SeriesEnd, b: SeriesEnd, q: Sequence[Floats]
) -> Floats:
    """Return partials of the equations of a constraint by all speeds of the members, also redundant ones (7.2.2-3)."""
    found = frames(series.reduced, q)
    motions = []
    for end in (a, b):
        f = found[end.stage]
        arm = f.rotation @ end.offset
        motions.append((f.offset + arm, f.rotation @ end.rotation, f.v + np.cross(f.w, arm), f.w))
    (xa, Ra, va, wa), (xb, Rb, vb, wb) = motions
    d, still = xb - xa, np.zeros(3)
    v, w = vb - va - np.cross(wa, d), wb - wa
    rows = constraint.rows(RelativeMotion(Ra.T @ d, Ra.T @ Rb, still, still, np.zeros(0), np.zeros(0)))
    return np.asarray(rows.force @ (v @ Ra).T + rows.moment @ (w @ Ra).T)
