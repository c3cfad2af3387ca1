"""Kinematic assemblies (7.2): hinges and constraints between massless frames, reduced to one hinge by rank."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.elements import Constraint, Hinge, Member, RelativeMotion, Series, SeriesRows
from treemech.elements.assembled.rows import SeriesEnd
from treemech.elements.assembled.series import frames, partials, rank_of, speeds_of
from treemech.topology import ElementError, TopologyError
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


def reduce_assembly(composite: "Composite", what: str) -> Reduction:
    """Reduce an assembly: hinges from end a to end b become a Series, constraints equations between its coordinates."""
    if len(composite.ends) != 2:
        raise TopologyError(
            f"{what} has the ends {', '.join(composite.ends)}; an assembly of hinges joins 2 (7.2)."
        )
    members, stages = way(composite, what)
    constraints = [p for p in composite.parts if isinstance(p.element, Constraint)]
    series = Series.of(members, euler=not constraints)
    rows, found = [], []
    for part in constraints:
        a, b = (_series_end(stages, place) for place in part.places)
        rows.append((part.name, SeriesRows(part.element, series, a, b)))
        found.append((part, a, b))
    freedoms, admissible = _freedoms(plain(series), plain(found), what)
    return Reduction(series, tuple(rows), series.rank, series.redundant, freedoms, admissible)


def way(composite: "Composite", what: str) -> tuple[list[Member], dict[str, tuple[int, Place]]]:
    """Return (members from end a to end b, after how many members and at which place each frame lies)."""
    a, b = composite.ends
    hinges = [p for p in composite.parts if isinstance(p.element, Hinge)]
    path = _path(hinges, a, b)
    if path is None:
        raise TopologyError(
            f"{what}: no hinges lead from {a!r} to {b!r}; a way of hinges says where {b!r} can be (tm.Free leaves all open)."
        )
    for part in hinges:
        if part not in [p for p, _ in path]:
            raise TopologyError(
                f"{what}: the hinge {part.name!r} does not lie on the way from {a!r} to {b!r}. Make its frame a body, or write it "
                "as a constraint."
            )
    here = Place(a, np.zeros(3), np.eye(3))
    members, stages = [], {a: (0, here)}
    for part, backward in path:
        near, far = part.places[::-1] if backward else part.places
        members.append(Member(part.name, part.element, *here.to(near), backward=backward))
        here = far
        stages[far.name] = (len(members), far)
    members.append(Member("", None, *here.to(Place(b, np.zeros(3), np.eye(3)))))
    return members, stages


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


def _freedoms(series: Series, constraints: Sequence[Any], what: str) -> tuple[int, int]:
    """Return the freedoms (by position, by velocity) in a general position.

    Refuse a constraint that depends on a redundant coordinate.
    """
    rng, n = np.random.default_rng(1), sum(speeds_of(m) for m in series.reduced)
    q = [m.hinge.sample(rng) for m in series.reduced if m.hinge is not None]
    Y = partials(series.reduced, q)
    null = np.linalg.svd(Y)[2][rank_of(Y) :]
    rows, holonomic = [np.zeros((0, n))], list[bool]()
    for part, a, b in constraints:
        P = row_partials(series, part.element, a, b, q)
        rows.append(P)
        holonomic += [k < part.element.n_holonomic for k in range(len(P))]
        if null.size and np.max(np.abs(P @ null.T)) > 1e-8 * max(1.0, float(np.max(np.abs(P)))):
            raise ElementError(
                f"{what}: the constraint {part.name!r} depends on {', '.join(series.redundant)}, which the ends do not decide: "
                "make the frame a body."
            )
    all_rows = np.vstack(rows)
    rank = rank_of(Y)
    return rank - rank_of(all_rows[holonomic]), rank - rank_of(all_rows)


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
