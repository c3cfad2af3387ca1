"""What files of robots have in common: links and joints. A System is made of them.

Links that are fixed to each other become one body; each keeps its place in it as a frame of the system, by its name. The
root link is the ground, or floats. Joints may form loops: which one is cut is decided as in any other system.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from treemech.elements import (
    Ball,
    BallSpring,
    Free,
    Friction,
    Mimic,
    Planar,
    Prismatic,
    Revolute,
    Rigid,
    RotationalSpring,
    RotorInertia,
    Universal,
)
from treemech.topology import Attachment, Body, TreemechError, unknown
from treemech.topology.arrays import Floats

from ..system import System


@dataclass(frozen=True)
class Pose:
    """Where a base stands in another: position and rotation."""

    position: Floats = field(default_factory=lambda: np.zeros(3))
    rotation: Floats = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, other: "Pose") -> "Pose":
        """Return the pose of what stands at `other` in this base."""
        return Pose(self.position + self.rotation @ other.position, self.rotation @ other.rotation)

    def inverse(self) -> "Pose":
        return Pose(-self.rotation.T @ self.position, self.rotation.T)

    def distance(self, other: "Pose") -> float:
        """Return the largest difference to another pose [m], or of the entries of the rotations."""
        return float(
            max(
                np.max(np.abs(self.position - other.position)), np.max(np.abs(self.rotation - other.rotation))
            )
        )


@dataclass(frozen=True)
class Inertia:
    """Mass properties: mass, centre of mass, inertia about it, in the axes of a link."""

    mass: float = 0.0
    com: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))

    def at(self, pose: Pose) -> "Inertia":
        """Return the same mass properties in the axes in which the link stands at a pose."""
        R = pose.rotation
        return Inertia(self.mass, pose.position + R @ self.com, R @ self.inertia @ R.T)

    def __add__(self, other: "Inertia") -> "Inertia":
        mass = self.mass + other.mass
        if mass == 0.0:
            return replace(self, inertia=self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        total = np.zeros((3, 3))
        for part in (self, other):
            d = part.com - com
            total += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return Inertia(mass, com, total)


@dataclass
class Link:
    """A rigid part: mass properties and shapes in its own axes."""

    name: str
    inertia: Inertia = field(default_factory=Inertia)
    shapes: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Joint:
    """A joint between two links: where its two ends stand in them, and what it lets move."""

    name: str
    parent: str
    child: str
    kind: str  # fixed, revolute, prismatic, floating, planar, ball, universal; weld: fixed, but closes a loop
    in_parent: Pose = field(default_factory=Pose)
    in_child: Pose = field(default_factory=Pose)
    axis: Floats = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    limits: Mapping[str, Any] = field(default_factory=dict)  # lower, upper, effort, velocity
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0  # coordinate without load of the spring
    armature: float = 0.0  # inertia of the rotor that drives it
    ref: float = 0.0  # what the file calls the coordinate where ours is zero
    mimic: tuple[str, float, float] | None = None  # joint, factor, offset


@dataclass
class Element:
    """A spring, motor or cord: its ends are names of joints, or places on links."""

    name: str
    element: Any
    ends: list[Any]
    inputs: dict[str, Any] = field(default_factory=dict)


@dataclass
class Robot:
    """Everything read from a file, in the order of the file. The joints may form loops."""

    name: str
    file: str
    links: dict[str, Link] = field(default_factory=dict)
    joints: list[Joint] = field(default_factory=list)
    frames: dict[str, tuple[str, Pose]] = field(default_factory=dict)  # further places on links, by name
    ground: str | None = None  # the link that is the ground
    gravity: Any = (0.0, 0.0, -9.81)
    poses: dict[str, Pose] = field(default_factory=dict)  # where links stand at the start
    prescribed: dict[str, float] = field(default_factory=dict)  # joints that are held
    elements: list[Element] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)  # set from step to step
    unsupported: list[str] = field(default_factory=list)

    def refuse(self, message: str) -> NoReturn:
        raise TreemechError(f"{self.file}: {message}")

    def check_links(self) -> None:
        """Refuse joints that name unknown links or join one to itself."""
        for joint in self.joints:
            for end in (joint.parent, joint.child):
                if end not in self.links:
                    self.refuse(f"joint {joint.name!r}: {unknown('link', end, self.links)}")
            if joint.parent == joint.child:
                self.refuse(f"joint {joint.name!r} joins link {joint.child!r} to itself.")

    def root(self) -> str:
        """Return the link that no joint holds; refuse links held twice, and several roots."""
        held = dict[str, str]()
        for joint in self.joints:
            if joint.child in held:
                self.refuse(
                    f"link {joint.child!r} hangs on two joints, {held[joint.child]!r} and {joint.name!r}: close loops by a side "
                    "file."
                )
            held[joint.child] = joint.name
        roots = [name for name in self.links if name not in held]
        if len(roots) != 1:
            several = f"there are several roots: {', '.join(map(repr, roots[:6]))}."
            what = several if roots else "every link hangs on a joint: there is no root."
            self.refuse(f"{what} Wanted one link that hangs on no joint.")
        return roots[0]

    def system(self) -> System:
        """Make the system."""
        self.check_links()
        return _Maker(self).make()


_SLIDING, _TURNING = {"prismatic"}, {"revolute"}
_SAME = 1e-6  # [m, rad] how far two ways to a fixed link may lead apart


class _Maker:
    """Makes a System of a Robot."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.system = System(robot.name, robot.gravity)
        self.places: dict[
            str, tuple[str, Pose]
        ] = {}  # link -> the link whose body it is part of, and where in it
        self.bodies: dict[str, Body] = {}

    def make(self) -> System:
        robot = self.robot
        moving = [joint for joint in robot.joints if joint.kind != "fixed"]
        self._place([joint.child for joint in moving])
        self._make_bodies()
        for link in robot.links:
            if link != robot.ground or link not in ("world", "ground"):
                self.system.frame(link, self._end(link))
        for name, (link, pose) in robot.frames.items():
            if name not in self.system.frames:
                self.system.frame(name, self._end(link, pose))
        for joint in moving:
            self._connect(joint)
        known = {joint.name: joint for joint in moving}
        for joint in moving:
            if joint.mimic is not None:
                leader, factor, offset = joint.mimic
                if leader not in known:
                    robot.refuse(
                        f"joint {joint.name!r} mimics {leader!r}: {unknown('joint that moves', leader, known)}"
                    )
                self.system.couple(f"{joint.name}.mimic", Mimic(factor, offset), leader, joint.name)
        for name, value in robot.prescribed.items():
            self.system.prescribe(name, value)
        for name in robot.inputs:
            self.system.input(name)
        for part in robot.elements:
            ends = [end if isinstance(end, str) else self._end(*end) for end in part.ends]
            self.system.connect(part.name, part.element, *ends, inputs=part.inputs)
        self.system.unsupported = list(robot.unsupported)
        return self.system

    def _place(self, first: Iterable[str]) -> None:
        """Find the body of every link, and its place in it: links that are fixed to each other are one body.

        The base of a body is that of the ground, or of the link that hangs on a joint that moves.
        """
        fixed: dict[str, list[tuple[str, Pose, str]]] = {}
        for joint in self.robot.joints:
            if joint.kind == "fixed":
                there = joint.in_parent @ joint.in_child.inverse()
                fixed.setdefault(joint.parent, []).append((joint.child, there, joint.name))
                fixed.setdefault(joint.child, []).append((joint.parent, there.inverse(), joint.name))
        ground = [] if self.robot.ground is None else [self.robot.ground]
        for owner in (*ground, *first, *self.robot.links):
            if owner in self.places:
                continue
            self.places[owner] = owner, Pose()
            todo = [owner]
            while todo:
                link = todo.pop()
                for other, there, name in fixed.get(link, ()):
                    pose = self.places[link][1] @ there
                    if other not in self.places:
                        self.places[other] = owner, pose
                        todo.append(other)
                    elif self.places[other][1].distance(pose) > _SAME:
                        self.robot.refuse(
                            f"joint {name!r} fixes link {other!r} in another place than the other fixed joints do."
                        )

    def _make_bodies(self) -> None:
        members: dict[str, list[tuple[Link, Pose]]] = {}
        for name, link in self.robot.links.items():
            owner, pose = self.places[name]
            members.setdefault(owner, []).append((link, pose))
        for owner, parts in members.items():
            if owner == self.robot.ground:
                self.bodies[owner] = self.system.ground
                continue
            total = Inertia()
            for link, pose in parts:
                total = total + link.inertia.at(pose)
            at = self.robot.poses.get(owner)
            self.bodies[owner] = self.system.body(
                f"{owner} body" if owner == "ground" else owner, total.mass, 0.5 * (total.inertia + total.inertia.T), total.com,
                [_moved(shape, pose) for link, pose in parts for shape in link.shapes],
                None if at is None else (at.position, at.rotation),
            )  # fmt: skip

    def _end(self, link: str, pose: Pose | None = None) -> Attachment:
        owner, there = self.places[link]
        there = there if pose is None else there @ pose
        return self.bodies[owner].at(there.position, there.rotation)

    def _connect(self, joint: Joint) -> None:
        a, b = self._end(joint.parent, joint.in_parent), self._end(joint.child, joint.in_child)
        if a.body is b.body:
            self.robot.refuse(f"joint {joint.name!r} joins links that are fixed to each other.")
        if not np.any(joint.axis):
            self.robot.refuse(f"joint {joint.name!r}: its axis is {joint.axis.tolist()}; wanted a direction.")
        if joint.kind == "planar":  # its plane is normal to the axis
            turn = _z_along(joint.axis)
            a, b = a.at((0, 0, 0), turn), b.at((0, 0, 0), turn)
        self.system.connect(joint.name, _element(joint), a, b)
        if joint.limits:
            self.system.limit(joint.name, **joint.limits)
        if joint.damping or joint.stiffness:
            spring: BallSpring | RotationalSpring
            if joint.kind == "ball":
                spring = BallSpring(joint.stiffness, joint.damping)
            else:
                spring = RotationalSpring(stiffness=joint.stiffness, damping=joint.damping, angle=joint.rest)
            self.system.connect(
                f"{joint.name}.{'spring' if joint.stiffness else 'damping'}", spring, joint.name
            )
        if joint.armature:
            self.system.connect(f"{joint.name}.rotor", RotorInertia(joint.armature), joint.name)
        if joint.friction:
            friction = Friction(1.0, radius=0.0 if joint.kind in _SLIDING else 1.0, load=joint.friction)
            self.system.connect(f"{joint.name}.friction", friction, joint.name)


def _element(joint: Joint) -> Any:
    if joint.kind in _SLIDING | _TURNING:
        return (Prismatic if joint.kind in _SLIDING else Revolute)(joint.axis / np.linalg.norm(joint.axis))
    made: dict[str, Any] = {
        "floating": Free,
        "planar": Planar,
        "ball": Ball,
        "universal": Universal,
        "weld": Rigid,
    }
    return made[joint.kind]()


def _z_along(axis: Floats) -> Floats:
    """Return a rotation that turns z into a direction."""
    z = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(z, x), z)) if abs(z[2]) < 1.0 else np.diag([1.0, z[2], z[2]])


def _moved(shape: Mapping[str, Any], pose: Pose) -> dict[str, Any]:
    """Return a shape that stands in the axes of a link in those of the body."""
    own = Pose(np.asarray(shape.get("offset", np.zeros(3))), np.asarray(shape.get("rotation", np.eye(3))))
    there = pose @ own
    return {**shape, "offset": there.position.tolist(), "rotation": there.rotation.tolist()}


def bryant(angles: Floats, order: str = "xyz") -> Floats:
    """Return a rotation from angles about fixed axes, one after the other (roll, pitch, yaw of URDF: order "xyz")."""
    found = np.eye(3)
    for axis, angle in zip(order, angles, strict=True):
        found = about(axis, float(angle)) @ found
    return found


def about(axis: str, angle: float) -> Floats:
    """Return the rotation by an angle about "x", "y" or "z"."""
    c, s, k = np.cos(angle), np.sin(angle), "xyz".index(axis)
    i, j = (k + 1) % 3, (k + 2) % 3
    found = np.eye(3)
    found[i, i] = found[j, j] = c
    found[j, i], found[i, j] = s, -s
    return found


def quaternion_rotation(e: Floats) -> Floats:
    """Return the rotation of a quaternion, scalar first, of any length but zero."""
    w, x, y, z = np.asarray(e, dtype=np.float64) / np.linalg.norm(e)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
