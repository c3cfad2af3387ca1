"""URDF: links and joints of a robot, as ROS describes them; loops by a side file.

The side file is that of example-parallel-robots: a YAML or JSON file with ``closed_loop``, a list of pairs of frames (links), and ``type``,
"6d" or "3d" for each.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import TreemechError, unknown

from .parts import Inertia, Joint, Link, Pose, Robot, bryant
from .side_file import read_side_file
from .xml import Node

_KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "floating": "floating",
    "planar": "planar",
}  # fmt: skip
_IGNORED = {"link", "joint", "material"}
_WORLD = "ground"


def read_urdf(root: Node, path: Path, loops: str | Path | None = None, floating: bool = False) -> Robot:
    """Return the robot that a URDF describes."""
    robot = Robot(root.get("name", path.stem), path.name)
    for node in root.children:
        if node.tag.startswith("xacro:"):
            node.fail(f"<{node.tag}> is of xacro: expand the file first, xacro {path.name} > robot.urdf.")
    for node in root.each("link"):
        link = _link(node, robot, path)
        if link.name in robot.links:
            node.fail(f"two links are named {link.name!r}.")
        robot.links[link.name] = link
    names = set[str]()
    for node in root.each("joint"):
        joint = _joint(node, robot)
        if joint.name in names:
            node.fail(f"two joints are named {joint.name!r}.")
        names.add(joint.name)
        robot.joints.append(joint)
    if not robot.links:
        root.fail("there is no <link>.")
    robot.check_links()
    base = robot.root()
    if floating:
        robot.links = {_WORLD: Link(_WORLD), **robot.links}
        robot.joints.insert(0, Joint(f"free {base}", _WORLD, base, "floating"))
    robot.ground = _WORLD if floating else base
    for node in root.children:
        if node.tag not in _IGNORED:
            robot.unsupported.append(
                f"line {node.line}: <{node.tag}> {node.get('name')!r} is not read".replace(" ''", "")
            )
    beside = _beside(path) if loops is None else Path(loops)
    if beside is not None:
        _close(robot, read_side_file(beside), beside.name)
    return robot


def _link(node: Node, robot: Robot, path: Path) -> Link:
    link = Link(node["name"])
    inertial = node.child("inertial")
    if inertial is not None:
        pose, matrix = origin(inertial), np.zeros((3, 3))
        tensor = inertial.child("inertia")
        if tensor is not None:
            xx, yy, zz, xy, xz, yz = (
                tensor.number(f"i{k}", 0.0) for k in ("xx", "yy", "zz", "xy", "xz", "yz")
            )
            matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        mass = inertial.needed("mass").number("value")
        if mass < 0.0:
            inertial.fail(f"link {link.name!r} has mass {mass:g}; wanted zero or more.")
        link.inertia = Inertia(mass, pose.position, pose.rotation @ matrix @ pose.rotation.T)
    for visual in node.each("visual"):
        shape = _shape(visual, robot, path, link.name)
        if shape is not None:
            link.shapes.append(shape)
    collisions = len(list(node.each("collision")))
    if collisions:
        robot.unsupported.append(
            f"line {node.line}: <collision> of link {link.name!r}: shapes do not touch each other here"
        )
    for other in node.children:
        if other.tag not in ("inertial", "visual", "collision"):
            robot.unsupported.append(f"line {other.line}: <{other.tag}> of link {link.name!r} is not read")
    return link


def _shape(visual: Node, robot: Robot, path: Path, link: str) -> dict[str, Any] | None:
    """Return a shape to draw; None, and a remark, if there is none."""
    pose = origin(visual)
    place = {"offset": pose.position.tolist(), "rotation": pose.rotation.tolist()}
    geometry = visual.needed("geometry")
    for node in geometry.children:
        if node.tag == "box":
            return {"kind": "box", "size": node.numbers("size", 3).tolist(), **place}
        if node.tag == "cylinder":
            return {
                "kind": "cylinder",
                "radius": node.number("radius"),
                "length": node.number("length"),
                **place,
            }
        if node.tag == "sphere":
            return {"kind": "sphere", "radius": node.number("radius"), **place}
        if node.tag == "mesh":
            file = mesh_file(node["filename"], path)
            if file is not None:
                return {
                    "kind": "mesh",
                    "path": str(file),
                    "scale": node.numbers("scale", 3, "1 1 1").tolist(),
                    **place,
                }
            robot.unsupported.append(
                f"line {node.line}: mesh {node['filename']!r} of link {link!r} is not there, so it is not drawn"
            )
        else:
            robot.unsupported.append(f"line {node.line}: <{node.tag}> of link {link!r} is not drawn")
    return None


def mesh_file(name: str, path: Path) -> Path | None:
    """Return the file of a mesh: beside the model, or below one of the folders above it, as package:// means; None if it is not there."""
    plain = name.removeprefix("file://")
    package, _, rest = plain.removeprefix("package://").partition("/")
    tried = [Path(plain), path.parent / plain]
    if plain.startswith("package://"):
        tried = [folder / part for folder in path.resolve().parents for part in (f"{package}/{rest}", rest)]
    if "://" in plain and not plain.startswith("package://"):
        return None  # nothing is fetched
    return next((file for file in tried if file.is_file()), None)


def _joint(node: Node, robot: Robot) -> Joint:
    kind = node["type"]
    if kind not in _KINDS:
        node.fail(f"joint {node['name']!r}: {unknown('type of joint', kind, _KINDS)}")
    axis = node.child("axis")
    joint = Joint(
        node["name"], node.needed("parent")["link"], node.needed("child")["link"], _KINDS[kind], origin(node),
        axis=np.array([1.0, 0.0, 0.0]) if axis is None else axis.numbers("xyz", 3),
    )  # fmt: skip
    plain = joint.kind in ("revolute", "prismatic")
    limit = node.child("limit")
    if limit is not None and plain:
        bounds = ("lower", "upper") if kind != "continuous" else ()
        joint.limits = {n: limit.number(n, 0.0) for n in bounds} | {
            n: limit.number(n) for n in ("effort", "velocity") if n in limit.attributes
        }
    dynamics = node.child("dynamics")
    if dynamics is not None and plain:
        joint.damping, joint.friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
    mimic = node.child("mimic")
    if mimic is not None:
        joint.mimic = mimic["joint"], mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    for other in node.children:
        if not plain and other.tag in ("limit", "dynamics") and joint.kind != "fixed":
            robot.unsupported.append(
                f"line {other.line}: <{other.tag}> of {kind} joint {joint.name!r} is not read"
            )
        if other.tag not in ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"):
            robot.unsupported.append(f"line {other.line}: <{other.tag}> of joint {joint.name!r} is not read")
    return joint


def origin(node: Node) -> Pose:
    """Return the pose in an <origin>; the identity if there is none."""
    found = node.child("origin")
    if found is None:
        return Pose()
    return Pose(found.numbers("xyz", 3, "0 0 0"), bryant(found.numbers("rpy", 3, "0 0 0")))


def _beside(path: Path) -> Path | None:
    """Return a side file of the same name that names loops."""
    for suffix in (".yaml", ".yml", ".json"):
        file = path.with_suffix(suffix)
        if file.is_file() and "closed_loop" in file.read_text(encoding="utf-8", errors="replace"):
            return file
    return None


def _close(robot: Robot, content: Mapping[str, Any], file: str) -> None:
    """Add the loops of a side file."""
    pairs, kinds = content.get("closed_loop", []), content.get("type")
    if not isinstance(pairs, list) or any(not isinstance(p, list) or len(p) != 2 for p in pairs):
        more = "; install PyYAML if YAML says it so" if isinstance(pairs, str) and pairs else ""
        raise TreemechError(f"{file}: closed_loop is {pairs!r}; wanted a list of pairs of frames{more}.")
    kinds = (
        ["6d"] * len(pairs) if kinds is None else kinds if isinstance(kinds, list) else [kinds] * len(pairs)
    )
    if len(kinds) != len(pairs):
        raise TreemechError(
            f"{file}: there are {len(pairs)} loops and {len(kinds)} types; wanted one for each."
        )
    for (a, b), kind in zip(pairs, kinds, strict=True):
        for frame in (a, b):
            if frame not in robot.links:
                raise TreemechError(f"{file}: {unknown('frame of a loop', frame, robot.links)}")
        joined = {"6d": "weld", "3d": "ball"}.get(str(kind).lower())
        if joined is None:
            raise TreemechError(f"{file}: the loop {a!r} - {b!r} has type {kind!r}; wanted '6d' or '3d'.")
        robot.joints.append(Joint(f"loop {a} - {b}", a, b, joined))
    for name in content:
        if name not in ("closed_loop", "type"):
            robot.unsupported.append(f"{file}: {name} is not read")
