"""Make the scene of a run: its frames, and the marks of its model turned into items, curves and arrows."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.elements.energetic import EndsMotion, Sizes, motion_views
from treemech.topology import ElementError, TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats

from .drawings.marks import Mark
from .drawings.model import Model
from .drawings.sketch import sketch
from .meshes.pieces import pieces
from .meshes.symbols import coil_mesh, unit_triangle
from .motion.gaps import stepped
from .motion.interpolation import Frames
from .motion.sampling import body_frames, candidates, enough, selected
from .overlays import add_arrows, add_labels, add_signals, add_traces
from .scene.options import Options
from .scene.scene import DARK, GROUND, PALETTE, STEEL, Curve, PartInfo, Place, Scene, Tint

if TYPE_CHECKING:
    from ..results.run import Run


def compose(run: "Run", options: Options) -> Scene:
    """Return everything that is drawn of a run."""
    model, marks = sketch(run)
    full = candidates(run)
    frames = body_frames(full)
    rows = enough(frames, model.size, options.max_frames)
    frames, shown = stepped(frames.rows(rows), model.size, np.diff(rows) > 1)
    if len(shown) > len(rows):
        warnings.warn(
            f"the {len(run.t)} outputs of the run are too far apart to show the motion between them: it stands still from one to the next. "
            "Ask for more outputs, or leave t_eval out.", stacklevel=4,
        )  # fmt: skip
    view = selected(full, rows[shown])
    bodies = model.info.bodies
    for name in (*options.colors, *([options.follow] if options.follow else ())):
        if name not in {b.name for b in bodies[1:]}:
            raise TopologyError(unknown("body", name, [b.name for b in bodies[1:]]))
    parts = [
        PartInfo(b.name, options.colors.get(b.name, PALETTE[k % len(PALETTE)]), True, b.mass, b.com)
        for k, b in enumerate(bodies[1:])
    ]
    inner = _inner_points(view, marks)
    if inner:
        frames = frames.joined(_point_frames(frames.t, list(inner.values())))
        parts += [PartInfo(f"{name}[{k}]", DARK, False) for name, k in inner]
    count = len(bodies)
    segments = 32 if count <= 30 else 20 if count <= 70 else 12 if count <= 130 else 8
    scene = Scene(model.info.name, np.array(model.info.gravity), frames, parts, model.size, segments)
    scene.options = {"options": options}
    placed = _Marks(scene, model, view, {key: len(bodies) + k for k, key in enumerate(inner)})
    for mark in marks:
        placed.add(mark)
    if options.floor is not None:
        scene.floor = None if options.floor is False else float(options.floor)
    add_labels(scene, model)
    add_traces(scene, model, options)
    add_arrows(scene, model, view, options)
    add_signals(scene, run, options)
    return scene


def _inner_points(view: "Run", marks: list[Mark]) -> dict[tuple[str, int], Floats]:
    """Return the positions of the internal points of composites that marks end in."""
    found: dict[tuple[str, int], Floats] = {}
    for mark in marks:
        for end in (*mark.get("ends", ()), *([mark["at"]] if "at" in mark else ())):
            if end[0] == "inner" and (end[1], end[2]) not in found:
                found[(end[1], end[2])] = view.element(end[1]).position.reshape(len(view.t), -1, 3)[:, end[2]]
    return found


def _point_frames(t: Floats, positions: list[Floats]) -> Frames:
    position = np.stack(positions, axis=1)
    velocity = (
        np.gradient(position, t, axis=0)
        if len(t) > 1 and np.all(np.diff(t) > 0.0)
        else np.zeros_like(position)
    )
    attitude = np.zeros((*position.shape[:2], 4))
    attitude[..., 0] = 1.0
    return Frames(t, position, attitude, velocity, np.zeros_like(position))


class _Marks:
    """Turns marks into what the scene holds."""

    def __init__(self, scene: Scene, model: Model, view: "Run", inner: dict[tuple[str, int], int]) -> None:
        self.scene, self.model, self.view, self.inner = scene, model, view, inner
        self.wire = 0.35 * min(model.girth(k) for k in range(1, max(len(model.info.bodies), 2)))
        self.colours = {p.name: p.colour for p in scene.parts if p.is_body}

    def place(self, given: Any) -> Place:
        if given[0] == "inner":
            return Place(self.inner[(given[1], given[2])], np.zeros(3), np.eye(3))
        part, offset, rotation = given
        return Place(int(part), np.asarray(offset, dtype=np.float64), np.asarray(rotation, dtype=np.float64))

    def add(self, mark: Mark) -> None:
        name, kind = mark.get("owner", ("", "ground"))
        owner = self.scene.owner(str(name), str(kind))
        colour = mark.get("color") or self.colours.get(name if kind == "body" else "", GROUND)
        alpha, layer = float(mark.get("alpha", 1.0)), str(mark.get("layer", "elements"))
        if mark["kind"] == "floor":
            height = float(mark["height"])
            self.scene.floor = height if self.scene.floor is None else min(height, self.scene.floor)
        elif "at" in mark:
            place = self.place(mark["at"])
            for piece in pieces(mark, self.wire, self.scene.segments, f"{kind} {name!r}"):
                stands = place.at(piece.offset, piece.rotation)
                self.scene.add(piece.key, piece.mesh, stands, piece.scale, colour, layer, owner, alpha)
        else:
            ends = [self.place(end) for end in mark["ends"]]
            getattr(self, "_" + mark["kind"])(mark, ends, colour, alpha, layer, owner)

    # ------------------------------------------------------------ between ends
    def _unit(
        self,
        name: str,
        place: Place,
        scale: Any,
        colour: str,
        alpha: float,
        layer: str,
        owner: int,
        at: Any = (0.0, 0.0, 0.0),
    ) -> None:
        shape = {
            "bar": {"kind": "cylinder", "radius": 1.0, "length": 10.0},
            "ball": {"kind": "sphere", "radius": 1.0},
        }[name]
        (piece,) = pieces(shape, self.wire, self.scene.segments)
        self.scene.add(
            piece.key, piece.mesh, place.at(at), np.asarray(scale) * piece.scale, colour, layer, owner, alpha
        )

    def _length(self, ends: list[Place]) -> Floats:
        on_bodies = all(e.part < len(self.model.info.bodies) for e in ends[:2])
        a, b = (self.model.pose(e)[0] if on_bodies else self.scene.position(e.spot) for e in ends[:2])
        found = np.linalg.norm(b - a, axis=1)
        return np.asarray(found[np.isfinite(found)])

    def _rod(self, mark: Mark, ends: list[Place], colour: str, alpha: float, layer: str, owner: int) -> None:
        r = float(mark.get("radius", 0.7 * float(mark.get("size", self.wire))))
        stretch = self.scene.derive("stretch", ends[0].spot, ends[1].spot)
        self._tint(mark, stretch.part)
        self._unit("bar", stretch, (r, r, 0.1), colour, alpha, layer, owner, (0.0, 0.0, 0.5))

    def _coil(self, mark: Mark, ends: list[Place], colour: str, alpha: float, layer: str, owner: int) -> None:
        g = float(mark.get("size", self.wire))
        length = self._length(ends)
        usual = float(np.median(length)) if len(length) else 1.0
        r = float(mark.get("radius", min(1.9 * g, 0.2 * max(usual, 4.0 * g))))
        turns = int(mark.get("turns", np.clip(round(usual / (1.3 * r)), 5, 16)))
        stretch = self.scene.derive("stretch", ends[0].spot, ends[1].spot)
        self._tint(mark, stretch.part)
        wire = 0.17
        key = f"coil {turns} {self.scene.segments}"
        mesh = coil_mesh(turns, wire, usual / r, 14 if self.scene.segments > 20 else 10)
        key += f" {usual / r:.3g}"
        self.scene.add(key, mesh, stretch, (r, r, 1.0), colour, layer, owner, alpha)

    def _damper(
        self, mark: Mark, ends: list[Place], colour: str, alpha: float, layer: str, owner: int
    ) -> None:
        g = float(mark.get("size", self.wire)) * (0.75 if mark.get("slim") else 1.25)
        self._telescope(ends, g, "#5d6978" if colour == GROUND else colour, alpha, layer, owner)

    def _piston(
        self, mark: Mark, ends: list[Place], colour: str, alpha: float, layer: str, owner: int
    ) -> None:
        g = float(mark.get("radius", 1.5 * float(mark.get("size", self.wire))))
        self._telescope(ends, g, "#e0b13a" if colour == GROUND else colour, alpha, layer, owner)

    def _telescope(
        self, ends: list[Place], radius: float, colour: str, alpha: float, layer: str, owner: int
    ) -> None:
        """Add a tube from the first end and a rod from the second one, which slides in it."""
        length = self._length(ends)
        low, high = (float(length.min()), float(length.max())) if len(length) else (1.0, 1.0)
        tube = min(max(0.55 * low, 0.5 * high), 0.92 * low)
        a, b = (
            self.scene.derive("aim", ends[0].spot, ends[1].spot),
            self.scene.derive("aim", ends[1].spot, ends[0].spot),
        )
        self._unit(
            "bar", a, (radius, radius, 0.1 * tube), colour, alpha, layer, owner, (0.0, 0.0, 0.5 * tube)
        )
        rod = max(high - 0.5 * tube, 0.2 * high) if high - 0.5 * tube < low else 0.98 * low
        self._unit(
            "bar",
            b,
            (0.45 * radius, 0.45 * radius, 0.1 * rod),
            STEEL,
            alpha,
            layer,
            owner,
            (0.0, 0.0, 0.5 * rod),
        )
        for end in ends:
            self._unit("ball", end, (0.8 * radius,) * 3, DARK, alpha, layer, owner)

    def _triangle(
        self, mark: Mark, ends: list[Place], colour: str, alpha: float, layer: str, owner: int
    ) -> None:
        part = self.scene.derive("triangle", *(end.spot for end in ends))
        thick = float(mark.get("thickness", 0.3 * float(mark.get("size", self.wire))))
        self.scene.add("triangle", unit_triangle(), part, (1.0, 1.0, thick), colour, layer, owner, alpha)

    def _bend(self, mark: Mark, ends: list[Place], colour: str, alpha: float, layer: str, owner: int) -> None:
        radius = float(mark.get("radius", 0.7 * float(mark.get("size", self.wire))))
        tangents = tuple(end.rotation[:, 0] for end in ends)
        spots = tuple(end.spot for end in ends)
        self.scene.curves.append(
            Curve("bend", spots, radius, colour, owner, tangents, tint=self._tint(mark), layer=layer)
        )

    def _cord(self, mark: Mark, ends: list[Place], colour: str, alpha: float, layer: str, owner: int) -> None:
        spots = tuple(end.spot for end in ends)
        self.scene.curves.append(
            Curve(
                "way",
                spots,
                self._cord_radius(mark),
                colour,
                owner,
                tint=self._tint(mark),
                layer=layer,
                belly=_belly(mark),
            )
        )

    def _path(self, mark: Mark, ends: list[Place], colour: str, alpha: float, layer: str, owner: int) -> None:
        what = f"the path of {mark['owner'][1]} {mark['owner'][0]!r}"
        rows: list[Floats] = []
        for motion, t in zip(self._motions(str(mark["owner"][0])), self.view.t, strict=True):
            try:
                found = np.asarray(
                    mark["points"](
                        motion.position, motion.rotation, motion.x, motion.inputs, motion.memory, float(t)
                    ),
                    dtype=np.float64,
                )
            except Exception as error:
                raise ElementError(f"{what} failed at t = {t:.6g}: {error!r}") from error
            if (
                found.ndim != 2
                or found.shape[1] != 3
                or len(found) < 2
                or (rows and len(found) != len(rows[0]))
            ):
                raise ElementError(
                    f"{what} has points of shape {found.shape} at t = {t:.6g}; wanted (n, 3), n always the same."
                )
            rows.append(found)
        spots = tuple(end.spot for end in ends) if len(ends) == 2 else ()
        self.scene.curves.append(
            Curve(
                "path", spots, self._cord_radius(mark), colour, owner, points=np.array(rows), tint=self._tint(mark), layer=layer,
                belly=_belly(mark),
            )
        )  # fmt: skip

    def _cord_radius(self, mark: Mark) -> float:
        return float(mark.get("radius", 0.4 * float(mark.get("size", self.wire))))

    # ------------------------------------------------------------ what elements do
    def _motions(self, name: str) -> list[EndsMotion]:
        """Return what an element sees in every frame."""
        records = self.view._results().elements
        info = next((e for e in self.model.info.elements if e.name == name), None)
        if info is None:
            raise TreemechError(
                f"only a spring, an actuator or a load can be drawn by a path of points; {name!r} is none."
            )
        sizes = Sizes(*info.sizes)
        return [motion_views(row[info.motion : info.motion + sizes.motion_size], sizes) for row in records]

    def _tint(self, mark: Mark, part: int = -1) -> int:
        """Add the tint of a mark; return its number, -1 without."""
        if not mark.get("tint") or not any(e.name == mark["owner"][0] for e in self.model.info.elements):
            return -1
        values = _quantity(self.view.element(mark["owner"][0]), str(mark["tint"]), str(mark["owner"][0]))
        low, high = mark.get("tint_range") or (0.0, float(np.nanmax(np.abs(values), initial=0.0)) or 1.0)
        share = np.clip((np.abs(values) - low) / (high - low or 1.0), 0.0, 1.0)
        self.scene.tints.append(Tint(np.nan_to_num(share), str(mark.get("tint_color", "#e8604c")), part))
        return len(self.scene.tints) - 1


def _belly(mark: Mark) -> float:
    return float(mark.get("belly", 0.0))


def _quantity(motion: Any, name: str, owner: str) -> Floats:
    """Return a scalar of an element over the frames: "effort", "deformation", "x[0]", "inputs[1]", "power"."""
    field, _, rest = name.partition("[")
    if field not in ("effort", "deformation", "x", "inputs", "power", "energy", "load"):
        raise ElementError(
            f"element {owner!r} is tinted by {name!r}; wanted effort, deformation, x[k], inputs[k], load[k], power or energy."
        )
    values = np.asarray(getattr(motion, field), dtype=np.float64)
    if values.ndim == 2:
        k = int(rest.rstrip("]") or 0)
        if k >= values.shape[1]:
            raise ElementError(f"element {owner!r} is tinted by {name!r}; it has {values.shape[1]} of them.")
        return np.asarray(values[:, k])
    return values
