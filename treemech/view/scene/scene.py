"""Scene: everything that is drawn of a mechanism, as data; the page and the films are made of it.

Parts move. Part 0 is the ground, then come the recorded parts (the bodies by regular number, and others whose
poses were sampled), then the derived parts, whose poses follow from points of other parts: a spring is a coil
on a derived part. Items are meshes on parts, curves are lines that change their form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats

from ..meshes.mesh import Mesh
from ..motion.interpolation import Frames

LAYERS = ("bodies", "hinges", "ground", "elements", "com", "frames", "surfaces")
GROUND, STEEL, DARK, RUBBER = "#8d97a5", "#c9d0d9", "#4a5463", "#33383f"
PALETTE = (
    "#4c78d8", "#f0a92e", "#e8604c", "#3fae8f", "#a06cd5", "#e27fb1", "#58b3dd", "#8aa83c", "#a9745a", "#7688a8",
)  # fmt: skip


class Spot(NamedTuple):
    """A point of a part."""

    part: int
    offset: Floats


class Place(NamedTuple):
    """A frame of a part: a point, and a base in the base of the part."""

    part: int
    offset: Floats
    rotation: Floats

    @property
    def spot(self) -> Spot:
        return Spot(self.part, self.offset)

    def at(self, offset: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None) -> "Place":
        """Return a frame placed relative to this one."""
        turned = self.rotation if rotation is None else self.rotation @ np.asarray(rotation)
        return Place(self.part, self.offset + self.rotation @ np.asarray(offset, dtype=np.float64), turned)


class Derived(NamedTuple):
    """A part whose pose follows from points of others.

    "stretch": origin in the first point, the third axis is the vector to the second; "aim": the same with an
    axis of length 1; "triangle": the first two axes are the vectors to the second and the third point, the
    third is their normal. `side` is a direction of the part of the first point that keeps its first axis.
    """

    kind: str
    spots: tuple[Spot, ...]
    side: Floats


class Item(NamedTuple):
    """A mesh on a part, placed by a linear map and an offset."""

    mesh: str
    part: int
    matrix: Floats
    offset: Floats
    colour: str
    alpha: float
    layer: str
    owner: int


class Curve(NamedTuple):
    """A line that changes its form, drawn as a tube.

    "way": straight between spots; "bend": the cubic between two places along their x axes; "path": points
    (n, k, 3) over the frames, with spots where it begins and ends.
    """

    kind: str
    spots: tuple[Spot, ...]
    radius: float
    colour: str
    owner: int
    tangents: tuple[Floats, ...] = ()
    points: Floats | None = None
    tint: int = -1  # number of the tint that colours it
    layer: str = "elements"
    belly: float = 0.0  # how much thicker it is in its middle: a muscle


class Tint(NamedTuple):
    """Values (n,) from 0 to 1 over the frames that blend the colour of a part or a curve into another one."""

    values: Floats
    colour: str
    part: int = -1


class Arrow(NamedTuple):
    """Vectors (n, 3) over the frames at a point: "force", "moment" or "load"."""

    kind: str
    spot: Spot
    vectors: Floats
    owner: int


class Label(NamedTuple):
    """A name at a point."""

    text: str
    spot: Spot
    kind: str


class Signal(NamedTuple):
    """A quantity over time for the strip chart."""

    name: str
    t: Floats
    values: Floats
    unit: str = ""
    shown: bool = False  # from the start; others on demand


class Trace(NamedTuple):
    """The path of a point; shown from the start or on demand."""

    name: str
    spot: Spot
    shown: bool


class PartInfo(NamedTuple):
    """A body, or another part that is recorded."""

    name: str
    colour: str
    is_body: bool
    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)


@dataclass
class Scene:
    """What is drawn, over all frames."""

    name: str
    gravity: Floats
    frames: Frames  # of the recorded parts
    parts: list[PartInfo]  # part k + 1
    size: float  # half of the diagonal of the room in which attachments and bodies move [m]
    segments: int = 32
    meshes: dict[str, Mesh] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    tints: list[Tint] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    owners: list[tuple[str, str]] = field(default_factory=lambda: [("", "ground")])  # name, kind
    floor: float | None = None  # height along up, if the model has one
    options: Mapping[str, Any] = field(default_factory=dict)

    # ------------------------------------------------------------ what is drawn
    def owner(self, name: str, kind: str) -> int:
        """Return the number under which a body, hinge or element is known to the viewer."""
        if (name, kind) not in self.owners:
            self.owners.append((name, kind))
        return self.owners.index((name, kind))

    def add(
        self,
        key: str,
        mesh: Mesh | None,
        place: Place,
        scale: ArrayLike = (1.0, 1.0, 1.0),
        colour: str = GROUND,
        layer: str = "elements",
        owner: int = 0,
        alpha: float = 1.0,
    ) -> None:
        """Put a mesh, known under a key, at a place; the scale stretches it along its own axes."""
        if mesh is not None:
            self.meshes.setdefault(key, mesh)
        matrix = place.rotation @ np.diag(np.broadcast_to(np.asarray(scale, dtype=np.float64), (3,)))
        self.items.append(Item(key, place.part, matrix, place.offset, colour, alpha, layer, owner))

    def derive(self, kind: str, *spots: Spot, side: ArrayLike | None = None) -> Place:
        """Add a derived part; return the place of its base."""
        if side is None:
            positions = [self.position(spot)[0] for spot in spots[:2]]
            along = positions[1] - positions[0]
            direction = np.eye(3)[int(np.argmin(np.abs(np.nan_to_num(along))))]
            side = self.rotation(spots[0].part)[0].T @ direction
        self.derived.append(Derived(kind, tuple(spots), np.asarray(side, dtype=np.float64)))
        return Place(len(self.parts) + len(self.derived), np.zeros(3), np.eye(3))

    # ------------------------------------------------------------ where it is
    def rotation(self, part: int) -> Floats:
        """Return the rotations (n, 3, 3) of the ground or a recorded part."""
        from ..motion.interpolation import matrices

        if part == 0:
            return np.broadcast_to(np.eye(3), (len(self.frames.t), 3, 3))
        return matrices(self.frames.attitude[:, part - 1])

    def position(self, spot: Spot) -> Floats:
        """Return the positions (n, 3) of a point of the ground or a recorded part."""
        if spot.part == 0:
            return np.broadcast_to(np.asarray(spot.offset, dtype=np.float64), (len(self.frames.t), 3))
        return np.asarray(self.frames.position[:, spot.part - 1] + self.rotation(spot.part) @ spot.offset)

    @property
    def up(self) -> Floats:
        """Return the direction against gravity; z without gravity."""
        return upward(self.gravity)


def upward(gravity: ArrayLike) -> Floats:
    """Return the direction against gravity; z without gravity.

    >>> upward((0, -9.81, 0)).tolist()
    [0.0, 1.0, 0.0]
    """
    g = np.asarray(gravity, dtype=np.float64)
    size = float(np.linalg.norm(g))
    return -g / size + 0.0 if np.isfinite(size) and size > 0.0 else np.array([0.0, 0.0, 1.0])


def horizontal(up: Floats) -> Floats:
    """Return two horizontal directions and up, as rows."""
    first = np.eye(3)[int(np.argmin(np.abs(up).round(9)))]
    first = first - (first @ up) * up
    first = first / np.linalg.norm(first)
    return np.array([first, np.cross(up, first), up])
