"""Model as the drawings see it: places of all ends, a few states of the run, and sizes to draw with."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.kinematics.layout.efforts import Applied, InnerPoint
from treemech.topology import Attachment
from treemech.topology.arrays import Floats

from ..meshes.pieces import pieces
from ..motion.interpolation import matrices
from ..motion.sampling import body_frames, selected
from ..scene.scene import Place, upward

if TYPE_CHECKING:
    from ...results.run import Run

STATES = 41  # of the run, by which drawings are sized


class Joined(NamedTuple):
    """A hinge or a constraint: its element, its ends, and the coordinates it passes through in the run."""

    name: str
    element: Any
    a: Place
    b: Place
    q: Floats | None  # (states, nq) of a hinge
    is_hinge: bool


class Rotor(NamedTuple):
    """How a body without extent is drawn: a disk about its axis, or a ring."""

    centre: Floats
    axis: Floats
    radius: float
    ring: bool
    among: int  # of disks in the same place, which are drawn as steps


class Model:
    """A model with some states of a run."""

    def __init__(self, run: "Run") -> None:
        rows = np.unique(np.round(np.linspace(0, len(run.t) - 1, STATES)).astype(np.intp))
        self.run = selected(run, rows)
        self.info = run._info
        self.core = None if run._core is None else run._core()
        self.frames = body_frames(self.run)
        self.up = upward(self.info.gravity)

    # ------------------------------------------------------------ places
    def place(self, end: Attachment) -> Place:
        """Return the place of an attachment."""
        assert self.core is not None
        number = self.core.tree.numbers[end.body.name]
        return Place(
            number, np.asarray(end.offset, dtype=np.float64), np.asarray(end.rotation, dtype=np.float64)
        )

    def pose(self, place: Place) -> tuple[Floats, Floats]:
        """Return positions (n, 3) and rotations (n, 3, 3) of a place in the states."""
        n = len(self.frames.t)
        if place.part == 0:
            return np.tile(place.offset, (n, 1)), np.tile(place.rotation, (n, 1, 1))
        R = matrices(self.frames.attitude[:, place.part - 1])
        return self.frames.position[:, place.part - 1] + R @ place.offset, R @ place.rotation

    @cached_property
    def joined(self) -> list[Joined]:
        """All hinges and constraints between bodies, cut or not."""
        if self.core is None:
            return []
        found = []
        for c in self.core.coordinates.hinges:
            a, b = c.connection.ends
            found.append(
                Joined(c.name, c.hinge, self.place(a), self.place(b), self.run.q[:, c.q_slice], True)
            )
        chords = self.core.tree.chords
        cut = self.run._results().cut_q if any(c.is_hinge for c in chords) else None
        for connection, info in zip(chords, self.info.chords, strict=False):
            a, b = connection.ends
            q = cut[:, info.q : info.q + info.nq] if cut is not None and connection.is_hinge else None
            found.append(
                Joined(
                    connection.name, connection.element, self.place(a), self.place(b), q, connection.is_hinge
                )
            )
        return found

    @property
    def applied(self) -> tuple[Applied, ...]:
        """All energetic elements and loads, with those of composites."""
        return () if self.core is None else tuple(self.core.layout.efforts.applied)

    @cached_property
    def attachments(self) -> dict[int, list[Floats]]:
        """Points of every body where connections end, without those that coincide."""
        found: dict[int, list[Floats]] = {k: [] for k in range(len(self.info.bodies))}
        places = [end for j in self.joined for end in (j.a, j.b)]
        places += [self.place(e) for a in self.applied for e in a.ends if not isinstance(e, InnerPoint)]
        if self.core is None:
            for h in self.info.hinges:
                for body, offset in ((h.body_a, h.offset_a), (h.body_b, h.offset_b)):
                    places.append(Place(body, np.asarray(offset, dtype=np.float64), np.eye(3)))
        for place in places:
            own = found[place.part]
            if np.isfinite(place.offset).all() and all(
                np.linalg.norm(place.offset - x) > 1e-9 * (1.0 + np.abs(x).max()) for x in own
            ):
                own.append(place.offset)
        return found

    # ------------------------------------------------------------ sizes
    @cached_property
    def cloud(self) -> Floats:
        """Points of the world that attachments and centres of mass pass in the run (n, 3)."""
        rows = [self.frames.position.reshape(-1, 3)]
        for k, points in self.attachments.items():
            com = (
                [np.asarray(self.info.bodies[k].com, dtype=np.float64)]
                if self.info.bodies[k].mass > 0.0
                else []
            )
            own = [*points, *com]
            if k and own:
                R = matrices(self.frames.attitude[:, k - 1])
                rows += [self.frames.position[:, k - 1] + R @ x for x in own]
            elif own:
                rows.append(np.array(own))
        cloud = np.vstack(rows)
        return cloud[np.isfinite(cloud).all(axis=1)]

    @cached_property
    def size(self) -> float:
        """Half of the diagonal of the room in which everything moves [m]; at least that of the largest body."""
        largest = max(
            (0.5 * float(np.linalg.norm(high - low)) for low, high in self.extents.values()), default=0.0
        )
        spread = 0.5 * float(np.linalg.norm(np.ptp(self.cloud, axis=0))) if len(self.cloud) else 0.0
        if max(spread, largest) > 0.0:
            return max(spread, largest)
        mass = max((b.mass for b in self.info.bodies[1:]), default=0.0)
        return float(2.0 * (mass / 2000.0) ** (1.0 / 3.0)) if mass > 0.0 else 1.0  # a cube of 2000 kg/m3

    @cached_property
    def extents(self) -> dict[int, tuple[Floats, Floats]]:
        """Corners of the box, in body axes, around the shapes or attachments of every body that has any."""
        found = {}
        for k, body in enumerate(self.info.bodies):
            corners: list[Floats] = []
            for shape in body.shapes:
                for piece in pieces(shape, 0.0, 8, f"body {body.name!r}"):
                    mesh = piece.mesh
                    if mesh is not None and len(mesh.vertices):
                        corners.append(piece.offset + (mesh.vertices * piece.scale) @ piece.rotation.T)
            if not corners and k:
                points = self.attachments[k]
                com = [np.asarray(body.com, dtype=np.float64)] if body.mass > 0.0 else []
                corners = [np.array([*points, *com])] if len(points) + len(com) > 1 else []
            if corners:
                cloud = np.vstack(corners)
                found[k] = cloud.min(axis=0), cloud.max(axis=0)
        return found

    @cached_property
    def span(self) -> float:
        """Usual length of a body [m]: small against the size of the scene in a long chain."""
        sizes = [float(np.linalg.norm(high - low)) for k, (low, high) in self.extents.items() if k]
        sizes = [s for s in sizes if s > 1e-6 * self.size]
        usual = float(np.median(sizes)) if sizes else self.size
        return min(max(usual, 0.03 * self.size), 1.2 * self.size)

    def girth(self, body: int) -> float:
        """Return the half thickness with which a body is drawn if it has no shape [m]."""
        if body not in self.extents:
            return max(0.03 * self.span, 0.004 * self.size)
        low, high = self.extents[body]
        length = float(np.linalg.norm(high - low))
        usual = float(np.clip(0.035 * length, 0.018 * self.span, 0.045 * self.span))
        seen = min(0.009 * self.size, 0.18 * self.span)  # also in a long chain
        return max(usual, seen) * (1.0 - 0.03 * (body % 3))  # surfaces of neighbours do not coincide

    def girth_of_ends(self, ends: Sequence[Any]) -> float:
        """Return the half thickness that suits an element between ends."""
        own = [self.girth(end.part) for end in ends if isinstance(end, Place) and end.part]
        return min(own, default=0.03 * self.span)

    @cached_property
    def rotors(self) -> dict[int, "Rotor"]:
        """Bodies without shapes and without extent that turn about axes of their hinges, by number.

        One axis makes a disk, two or more a ring in their plane; a ring is larger than what turns inside it.
        """
        from .axes import axes

        centres: dict[int, Floats] = {}
        lines: dict[int, list[Floats]] = {}
        for k, body in enumerate(self.info.bodies):
            com = np.asarray(body.com, dtype=np.float64)
            points = self.attachments[k]
            if (
                k
                and body.mass > 0.0
                and not body.shapes
                and np.isfinite(com).all()
                and all(np.linalg.norm(x - com) < 0.25 * self.girth(k) for x in points)
            ):
                centres[k] = com
        inside: dict[int, list[int]] = {k: [] for k in centres}
        for joined in self.joined:
            ends = (joined.a, joined.b)
            if not joined.is_hinge or not any(end.part in centres for end in ends):
                continue
            turning = [x.place for x in axes(joined, self.frames.t) if x.turns and x.place is not None]
            for place in turning if len(turning) < 3 else ():
                _, own = self.pose(place)
                for end in ends:
                    if end.part in centres:
                        _, R = self.pose(Place(end.part, np.zeros(3), np.eye(3)))
                        z = R[0].T @ own[0][:, 2]
                        if all(abs(z @ x) < 1.0 - 1e-6 for x in lines.setdefault(end.part, [])):
                            lines[end.part].append(z)
            if all(end.part in centres for end in ends):
                inside[joined.a.part].append(joined.b.part)
        found: dict[int, Rotor] = {}

        def rotor(k: int, above: tuple[int, ...] = ()) -> float:
            if k not in found:
                inner = [rotor(n, (*above, k)) for n in inside[k] if n in lines and n not in above]
                own = lines[k]
                radius = (
                    max(1.35 * max(inner), 0.15 * self.span) if inner and len(own) > 1 else 0.15 * self.span
                )
                ring = len(own) > 1
                axis = np.cross(own[0], own[1]) if ring else own[0]
                among = 0 if ring else sum(self._together(k, n, centres) for n in found if not found[n].ring)
                found[k] = Rotor(centres[k], axis / np.linalg.norm(axis), radius, ring, among)
            return found[k].radius

        for k in lines:
            rotor(k)
        return found

    def _together(self, a: int, b: int, centres: dict[int, Floats]) -> bool:
        """Return whether the centres of two bodies coincide at the start."""
        x, y = (self.pose(Place(k, centres[k], np.eye(3)))[0][0] for k in (a, b))
        return bool(np.linalg.norm(x - y) < 0.05 * self.span)

    def thickness(self, place: Place, direction: Floats) -> float:
        """Return how far the shapes of a body reach to either side of a place, along a direction of the place."""
        body = self.info.bodies[place.part] if place.part < len(self.info.bodies) else None
        if body is None or not place.part or not body.shapes:
            own = self.rotors.get(place.part)
            return own.radius if own is not None and own.ring else self.girth(place.part)
        d = place.rotation @ direction
        reach = 0.0
        for shape in body.shapes:
            for piece in pieces(shape, 0.0, 8):
                if piece.mesh is None or not len(piece.mesh.vertices):
                    continue
                x = piece.offset + (piece.mesh.vertices * piece.scale) @ piece.rotation.T - place.offset
                along = x @ d
                across = np.linalg.norm(x - np.outer(along, d), axis=1)
                if across.min() < 0.15 * self.span:
                    reach = max(reach, float(np.abs(along).max()))
        limit = 3.5 * self.girth(place.part)
        return reach if reach < limit else 0.0  # an axis along a wide body ends on its surface


def distinct(points: Sequence[Floats], near: float) -> list[Floats]:
    """Return points without those that coincide with an earlier one."""
    found: list[Floats] = []
    for x in points:
        if all(np.linalg.norm(x - y) > near for y in found):
            found.append(x)
    return found
