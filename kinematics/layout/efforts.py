"""Lay out energetic elements and loads: their ends, coordinates, inputs, states and records."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from treemech.elements import Energetic, Load, Signal
from treemech.elements.compilation.methods import remembers
from treemech.elements.energetic import Sizes
from treemech.topology import Attachment
from treemech.topology.arrays import Floats, Ints
from treemech.topology.deferred import dataclass
from treemech.topology.parameter import as_floats, plain

from ..plan.columns import effort, point

_LOAD = Sizes(1, 0, 0, 0, 0, 0, 0)


class Held(NamedTuple):
    """Input that is constant between two samples of a controller."""

    name: str


class FromHinge(NamedTuple):
    """Hinge coordinate, or with ``rate`` its speed, as an input."""

    hinge: str
    number: int
    rate: bool


Source = Signal | Held | FromHinge


class InnerPoint(NamedTuple):
    """Internal point of a composite, as an end."""

    composite: str
    name: str


class Applied(NamedTuple):
    """Energetic element or external load with its ends, coordinates and inputs."""

    name: str
    element: Energetic | Load
    ends: tuple[Attachment | InnerPoint, ...]
    coordinates: tuple[tuple[str, int], ...] = ()  # hinge, number
    inputs: tuple[Source, ...] = ()
    reaction_of: str | None = None

    @property
    def sizes(self) -> Sizes:
        return self.element.n if isinstance(self.element, Energetic) else _LOAD


class Assembled(NamedTuple):
    """Composite connection (ch. 7): elements joined in internal points."""

    name: str
    ends: tuple[Attachment, ...]
    points: Mapping[str, int]  # number of coordinates of each
    viscous: tuple[str, ...]  # points whose positions are states
    start: Mapping[str, Any]  # positions of points at the start, world
    parts: tuple[Applied, ...]


@dataclass(frozen=True, eq=False)
class EffortLayout:
    """Arrays of all efforts, with their names, states and the size of their records."""

    applied: tuple[Applied, ...]
    composites: tuple[Assembled, ...]
    rows: Ints
    ends: Ints
    end_points: Floats
    acted: Ints
    sources: Ints
    composite_rows: Ints
    point_rows: Ints
    point_names: tuple[InnerPoint, ...]
    workspace: int
    nx: int
    start: Floats  # z at the start
    held: Mapping[str, int]  # place of each held input in z

    @property
    def nz(self) -> int:
        return len(self.start)

    @property
    def z_names(self) -> list[str]:
        """Name every number of z: states, memories, positions of points, held inputs."""
        names = [""] * self.nz
        for a, row in zip(self.applied, self.rows, strict=True):
            for first, n, what in (
                (effort.FIRST_STATE, effort.N_STATES, "x"),
                (effort.FIRST_MEMORY, effort.N_MEMORY, "memory"),
            ):
                for k in range(row[n]):
                    names[row[first] + k] = f"{a.name}.{what}[{k}]"
        for number, at in zip(self.point_names, self.point_rows[:, point.STATE], strict=True):
            composite = next(c for c in self.composites if c.name == number.composite)
            for k in range(composite.points[number.name] if at >= 0 else 0):
                names[at + k] = f"{number.composite}.{number.name}[{k}]"
        for number, row in zip(self.point_names, self.point_rows, strict=True):
            for k in range(1 + point.N_SOUGHT[int(row[point.COORDINATES])]):
                names[row[point.SOUGHT] + k] = f"{number.composite}.{number.name} sought from[{k}]"
        for name, at in self.held.items():
            names[at] = name
        return names

    def find(self, name: str) -> int:
        """Return the number of an element by its name, or -1."""
        return next((k for k, a in enumerate(self.applied) if a.name == name), -1)


def make_effort_layout(
    applied: Sequence[Applied],
    composites: Sequence[Assembled],
    held: Mapping[str, float],
    add: Callable[..., tuple[int, int]],
    signal: Callable[[Signal], int],
    numbers: Mapping[str, int],
    points: Mapping[int, tuple[Floats, Floats]],
    coordinates: Mapping[tuple[str, int], tuple[int, int]],
    chords: Mapping[str, tuple[int, int]],
) -> EffortLayout:
    """Make the tables of all efforts.

    `add(element, part)` returns address and record, `signal` the number of a signal. `numbers` maps a body to
    its number, `points` a number to the base of the body in the core's base, `coordinates` a coordinate to
    its places in q and u, `chords` a connection to the chord with its load and to the frame that this chord
    closes, or 0.
    """
    every = [*applied, *(part for c in composites for part in c.parts)]
    inner = [InnerPoint(c.name, n) for c in composites for n in c.points]
    rows = np.zeros((len(every), effort.N_COLUMNS), dtype=np.int64)
    ends: list[int] = []
    places: list[Floats] = []
    acted: list[tuple[int, int]] = []
    sources: list[tuple[int, int]] = []
    x: list[float] = []
    workspace, pending = 0, []

    def join(end: Attachment | InnerPoint) -> None:
        if isinstance(end, InnerPoint):
            ends.append(-1 - inner.index(end))
            places.append(np.zeros(12))
        else:
            number = numbers[end.body.name]
            ends.append(number)
            places.append(place_of(end, *points[number]))

    for row, a in zip(rows, every, strict=True):
        n = a.sizes
        row[effort.ADDRESS], row[effort.PARAMETER] = add(a.element, "")
        row[effort.FIRST_END], row[effort.N_ENDS] = len(ends), n.ends
        for end in a.ends:
            join(end)
        row[effort.FIRST_ACTED], row[effort.N_ACTED] = len(acted), n.coordinates
        acted += [coordinates[c] for c in a.coordinates]
        row[effort.FIRST_INPUT], row[effort.N_INPUTS] = len(sources), n.inputs
        for source in a.inputs:
            if isinstance(source, Signal):
                sources.append((effort.FROM_SIGNAL, signal(source)))
            elif isinstance(source, FromHinge):
                place_q, place_u = coordinates[source.hinge, source.number]
                sources.append((effort.FROM_U, place_u) if source.rate else (effort.FROM_Q, place_q))
            else:
                pending.append((len(sources), source.name))
                sources.append((effort.FROM_MEMORY, 0))
        row[effort.FIRST_STATE], row[effort.N_STATES] = len(x), n.states
        if isinstance(a.element, Energetic):
            x += as_floats(a.element.initial()).tolist()
        row[effort.MOTION_RECORD], row[effort.LOAD_RECORD] = workspace, workspace + n.motion_size
        row[effort.N_LOAD] = n.load_size
        row[effort.REACTION], row[effort.FRAME] = (-1, 0) if a.reaction_of is None else chords[a.reaction_of]
        row[effort.EXTERNAL] = isinstance(a.element, Load)
        workspace += n.motion_size + n.load_size + n.reactions * 6 * (6 * n.ends + n.coordinates)
    point_rows: list[list[int]] = []
    composite_rows: list[tuple[int, ...]] = []
    first = len(applied)
    for c in composites:
        begin = len(point_rows)
        for name, n_coordinates in c.points.items():
            viscous = name in c.viscous
            point_rows.append([n_coordinates, len(x) if viscous else -1, 0])
            if viscous:
                x += np.broadcast_to(c.start.get(name, np.nan), (n_coordinates,)).tolist()
        unknowns = sum(c.points.values())
        line = len(ends)
        for end in c.ends[:2]:
            join(end)
        composite_rows.append(
            (first, len(c.parts), begin, len(c.points), unknowns, workspace, line, len(ends) - 1)
        )
        first += len(c.parts)
        workspace += unknowns * (unknowns + 3)
    memory: list[float] = []
    for row, a in zip(rows, every, strict=True):
        row[effort.FIRST_MEMORY], row[effort.N_MEMORY] = len(x) + len(memory), a.sizes.memory
        if isinstance(a.element, Energetic) and a.sizes.memory:
            memory += as_floats(a.element.memory()).tolist()
            if remembers(a.element):
                row[effort.REMEMBER] = add(a.element, "remember")[0]
    for own, (composite, name) in zip(point_rows, inner, strict=True):
        own[point.SOUGHT] = len(x) + len(memory)
        start = next(c.start.get(name) for c in composites if c.name == composite)
        memory += _sought(own[point.COORDINATES], None if own[point.STATE] >= 0 else start)
    places_held = {name: len(x) + len(memory) + k for k, name in enumerate(held)}
    for at, name in pending:
        sources[at] = (effort.FROM_MEMORY, places_held[name])
    return EffortLayout(
        tuple(every),
        tuple(composites),
        rows,
        np.array(ends, dtype=np.int64).reshape(-1, 1),
        np.array(places).reshape(-1, 12),
        np.array(acted, dtype=np.int64).reshape(-1, 2),
        np.array(sources, dtype=np.int64).reshape(-1, 2),
        np.array(composite_rows, dtype=np.int64).reshape(-1, point.N_COMPOSITE),
        np.array(point_rows, dtype=np.int64).reshape(-1, point.N_TABLE),
        tuple(inner),
        workspace,
        len(x),
        plain(as_floats([*x, *memory, *held.values()])),
        places_held,
    )


def place_of(end: Attachment, F: Floats, f: Floats) -> Floats:
    """Return base and point of an end (12,) in the base of the core, which is F, f in its body."""
    return np.concatenate(((F.T @ end.rotation).ravel(), F.T @ (end.offset - f)))


def _sought(n_coordinates: int, start: Any) -> list[float]:
    """Return what a point is sought from at the start: its given position, or not known. A turn is never known."""
    found = np.zeros(1 + point.N_SOUGHT[n_coordinates])
    if start is not None:
        position = np.broadcast_to(as_floats(start), (min(n_coordinates, 3),))
        found[0], found[1 : 1 + len(position)] = 1.0, plain(position)
    return found.tolist()
