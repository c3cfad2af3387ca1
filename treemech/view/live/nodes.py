"""The nodes of a scene in viser, one for each mesh and line, moved to every new state."""

from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology.arrays import Floats
from treemech.topology.rotation import euler_parameters

from ..compose import compose
from ..motion.sampling import body_frames
from ..scene.options import Options
from ..scene.posing import curve_points, part_poses
from ..scene.room import Room, nice
from ..scene.scene import Scene, horizontal

if TYPE_CHECKING:
    from ...results.run import Run

HIDDEN = ("com", "frames")  # layers that a page shows on demand


def rgb(colour: str) -> tuple[int, int, int]:
    """Return a colour "#rrggbb" as three bytes.

    >>> rgb("#4c78d8")
    (76, 120, 216)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


class Nodes:
    """What the server shows of a mechanism.

    Rigid meshes hang on one frame for each part, which is all that moves. Meshes on derived parts (springs) stretch, and lines
    change their form: these are sent anew.
    """

    def __init__(self, server: Any, options: Options) -> None:
        self.server, self.options = server, options
        self.scene: Scene | None = None
        self.frames: list[Any] = []
        self.soft: dict[int, Any] = {}
        self.lines: dict[int, Any] = {}

    def build(self, run: "Run") -> None:
        """Show a mechanism for the first time, or one with other parameters."""
        self.server.scene.reset()
        scene = self.scene = compose(run, self.options)
        up = scene.up
        self.server.scene.set_up_direction(tuple(float(x) for x in up))
        self.soft, self.lines = {}, {}
        self.rigid = 1 + len(scene.parts)
        names = ["ground", *(part.name for part in scene.parts)]
        self.frames = [
            self.server.scene.add_frame(f"/{k}-{_plain(name)}", show_axes=False)
            for k, name in enumerate(names)
        ]
        for k, item in enumerate(scene.items):
            if item.part < self.rigid and item.layer not in HIDDEN:
                self._mesh(f"/{item.part}-{_plain(names[item.part])}/{k}", k, np.eye(3), np.zeros(3))
        if self.options.floor is not False:
            self._floor()
        self.move(run, fresh=True)

    def _floor(self) -> None:
        """Draw the lines of the floor, where the page of a run would have it."""
        assert self.scene is not None
        basis = horizontal(self.scene.up)
        room = Room(self.scene, basis)
        wide, cell = 8.0 * room.radius, nice(room.radius / 3.0)
        self.server.scene.add_grid(
            "/floor", wide, wide, cell_size=cell, section_size=5.0 * cell, cell_color=(222, 226, 232), section_color=(196, 203, 213),
            wxyz=euler_parameters(basis.T[None])[0], position=room.floor * basis[2],
        )  # fmt: skip

    def move(self, run: "Run", fresh: bool = False) -> None:
        """Show another state of the mechanism."""
        scene = self.scene
        assert scene is not None
        bodies = len(run._info.bodies) - 1
        if any(c.kind == "path" for c in scene.curves) or len(scene.parts) > bodies:
            scene = self.scene = (
                scene if fresh else compose(run, self.options)
            )  # cords around surfaces, points
        else:
            scene.frames = body_frames(run)
        times = scene.frames.t[:1]
        poses = part_poses(scene, times)
        with self.server.atomic():
            turns = euler_parameters(poses[0, : self.rigid, :, :3])
            for frame, pose, turn in zip(self.frames, poses[0, : self.rigid], turns, strict=True):
                frame.position, frame.wxyz = tuple(pose[:, 3]), tuple(turn)
            for k, item in enumerate(scene.items):
                if item.part >= self.rigid and item.layer not in HIDDEN:
                    pose = poses[0, item.part]
                    self.soft[k] = self._mesh(f"/soft/{k}", k, pose[:, :3], pose[:, 3])
            for k, curve in enumerate(scene.curves):
                self.lines[k] = self._line(k, curve_points(scene, curve, poses, times)[0], curve)

    def _mesh(self, name: str, k: int, rotation: Floats, offset: Floats) -> Any:
        assert self.scene is not None
        item = self.scene.items[k]
        mesh = self.scene.meshes[item.mesh]
        found = mesh.moved(rotation @ item.matrix, rotation @ item.offset + offset)
        return self.server.scene.add_mesh_simple(
            name, found.vertices.astype(np.float32), found.triangles.astype(np.uint32), color=rgb(item.colour),
            opacity=None if item.alpha >= 1.0 else item.alpha, side="double",
        )  # fmt: skip

    def _line(self, k: int, points: Floats, curve: Any) -> Any:
        points = np.asarray(points, dtype=np.float32)
        return self.server.scene.add_line_segments(
            f"/lines/{k}",
            np.stack((points[:-1], points[1:]), axis=1),
            colors=rgb(curve.colour),
            thickness=2.0 * curve.radius,
        )


def _plain(name: str) -> str:
    """Return a name that viser takes: its slashes would be levels of a tree."""
    return "".join(c if c.isalnum() or c in "-_ []" else "_" for c in name)
