"""SDF: the models of Gazebo; joints may form loops."""

from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import unknown

from .parts import Inertia, Joint, Link, Pose, Robot, bryant, quaternion_rotation
from .sdf_nested import flattened
from .urdf import mesh_file
from .xml import Node

_KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "ball": "ball",
    "universal": "universal",
}  # fmt: skip
_WORLD = "world"


def read_sdf(root: Node, path: Path) -> Robot:
    """Return the robot that the first model of an SDF describes."""
    world = root.child("world")
    models = [*root.each("model"), *([] if world is None else world.each("model"))]
    if not models:
        root.fail("there is no <model>.")
    model = flattened(models[0])
    robot = Robot(model.get("name", path.stem), path.name, ground=_WORLD)
    robot.unsupported += [
        f"line {m.line}: model {m.get('name')!r} is not read: one model makes one system" for m in models[1:]
    ]
    gravity = None if world is None else world.child("gravity")
    if gravity is not None:
        robot.gravity = gravity.read(gravity.text, "", 3).tolist()
    elif world is not None:
        robot.gravity = [0.0, 0.0, -9.8]  # the default of SDF
    version = root.read(root.get("version", "1.7").replace(".", " "), "version=", 2)
    reader = _Model(model, robot, path, old_axes=tuple(version) < (1, 5))
    reader.read()
    for node in (root, *([world] if world else [])):
        for other in node.children:
            if other.tag not in ("world", "model", "gravity", "light", "physics", "scene"):
                robot.unsupported.append(f"line {other.line}: <{other.tag}> is not read")
    return robot


class _Model:
    """Reads one model: places first, since any of them may be relative to any other."""

    def __init__(self, model: Node, robot: Robot, path: Path, old_axes: bool) -> None:
        self.model, self.robot, self.path, self.old_axes = model, robot, path, old_axes
        self.nodes = {n["name"]: n for n in model.each("link", "joint", "frame")}
        self.known: dict[str, Pose] = {}
        self.at_start: dict[str, Pose] = {}  # where links stand in the world

    def read(self) -> None:
        """Read links and joints."""
        robot, model = self.robot, self.model
        own = self._own_pose(model)
        if model.get("placement_frame"):
            own = own @ self._place(model["placement_frame"]).inverse()
        robot.links[_WORLD] = Link(_WORLD)
        for node in model.each("link"):
            if node["name"] in robot.links:
                node.fail(f"two links are named {node['name']!r}.")
            robot.links[node["name"]] = self._link(node)
            self.at_start[node["name"]] = own @ self._place(node["name"])
        first = model.get("canonical_link") or next(iter(list(robot.links)[1:]), _WORLD)
        for node in model.each("frame"):
            base = self._body_of(node.get("attached_to") or first, node)
            robot.frames[node["name"]] = (
                base,
                self._from_world(base).inverse() @ own @ self._place(node["name"]),
            )
        joints = [self._joint(node, own) for node in model.each("joint")]
        static = model.child("static")
        if static is not None and static.text.strip() in ("1", "true"):  # nothing moves
            joints = [
                Joint(f"static {link}", _WORLD, link, "fixed", pose) for link, pose in self.at_start.items()
            ]
        robot.joints += joints
        held = {end for joint in robot.joints for end in (joint.parent, joint.child)}
        robot.poses = {link: pose for link, pose in self.at_start.items() if link not in held}  # they float
        self._rest(model, f"model {robot.name!r}", "link", "joint", "frame", "pose", "static")

    def _own_pose(self, node: Node) -> Pose:
        """Return the numbers of a <pose>; the identity if there is none."""
        found = node.child("pose")
        if found is None or not found.text.strip():
            return Pose()
        if node.tag in ("inertial", "visual") and found.get("relative_to"):
            self.robot.unsupported.append(
                f"line {found.line}: relative_to of <{node.tag}> is not read: its pose is taken in the link"
            )
        if found.get("frame"):
            self.robot.unsupported.append(f"line {found.line}: frame of <pose> is not read")
        if found.get("rotation_format", "euler_rpy") == "quat_xyzw":
            numbers = found.read(found.text, "", 7)
            if not np.any(numbers[3:]):
                found.fail("the quaternion of a pose is zero.")
            return Pose(numbers[:3], quaternion_rotation(np.roll(numbers[3:], 1)))
        numbers = found.read(found.text, "", 6)
        angles = np.radians(numbers[3:]) if found.get("degrees") in ("true", "1") else numbers[3:]
        return Pose(numbers[:3], bryant(angles))

    def _place(self, name: str, asked: tuple[str, ...] = ()) -> Pose:
        """Return where a link, joint or frame stands in the model."""
        if name == "__model__":
            return Pose()
        if name not in self.known:
            if name in asked:
                self.robot.refuse(
                    f"the poses of {', '.join(map(repr, asked))} are relative to each other in a circle."
                )
            node = self.nodes.get(name)
            if node is None:
                self.robot.refuse(
                    f"a pose is relative to {name!r}: {unknown('link, joint or frame', name, self.nodes)}"
                )
            assert node is not None
            pose = node.child("pose")
            base = "" if pose is None else pose.get("relative_to")
            if (
                not base
            ):  # a joint stands on its child, a frame on what it is attached to, a link in the model
                base = {"joint": lambda: _text(node, "child"), "frame": lambda: node.get("attached_to")}.get(
                    node.tag, lambda: ""
                )()
            base = "__model__" if base in ("", _WORLD) else base
            self.known[name] = self._place(base, (*asked, name)) @ self._own_pose(node)
        return self.known[name]

    def _from_world(self, link: str) -> Pose:
        return self.at_start.get(link, Pose())

    def _body_of(self, name: str, node: Node) -> str:
        """Return the link that a name leads to, through frames."""
        for _ in range(100):
            if name in self.robot.links:
                return name
            inner = self.nodes.get(name)
            if inner is None:
                node.fail(unknown("link or frame", name, [*self.robot.links, *self.nodes]))
            assert inner is not None
            name = inner.get("attached_to") or _text(inner, "child")
        node.fail(f"frame {name!r} is attached to itself.")
        return ""

    def _link(self, node: Node) -> Link:
        link = Link(node["name"])
        inertial = node.child("inertial")
        if inertial is not None:
            pose, tensor, matrix = self._own_pose(inertial), inertial.child("inertia"), np.eye(3)
            mass = _number(inertial, "mass", 1.0)
            if tensor is not None:
                xx, yy, zz = (_number(tensor, f"i{k}", 1.0) for k in ("xx", "yy", "zz"))
                xy, xz, yz = (_number(tensor, f"i{k}", 0.0) for k in ("xy", "xz", "yz"))
                matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            link.inertia = Inertia(mass, pose.position, pose.rotation @ matrix @ pose.rotation.T)
            self._rest(inertial, f"<inertial> of link {link.name!r}", "pose", "mass", "inertia")
            if inertial.get("auto") in ("1", "true"):
                self.robot.unsupported.append(
                    f"line {inertial.line}: auto of <inertial> of link {link.name!r} is not read: it has what the file says"
                )
        else:  # the default of SDF
            link.inertia = Inertia(1.0, np.zeros(3), np.eye(3))
        for visual in node.each("visual"):
            shape = self._shape(visual, link.name)
            if shape is not None:
                link.shapes.append(shape)
        if any(True for _ in node.each("collision")):
            self.robot.unsupported.append(
                f"line {node.line}: <collision> of link {link.name!r}: shapes do not touch each other here"
            )
        self._rest(node, f"link {link.name!r}", "pose", "inertial", "visual", "collision")
        return link

    def _rest(self, node: Node, what: str, *read: str) -> None:
        """List the children of a node that are not among those that are read."""
        for other in node.children:
            if other.tag not in read:
                self.robot.unsupported.append(f"line {other.line}: <{other.tag}> of {what} is not read")

    def _shape(self, visual: Node, link: str) -> dict[str, Any] | None:
        pose = self._own_pose(visual)
        place = {"offset": pose.position.tolist(), "rotation": pose.rotation.tolist()}
        for node in visual.needed("geometry").children:
            if node.tag == "box":
                return {"kind": "box", "size": node.read(_text(node, "size"), "", 3).tolist(), **place}
            if node.tag in ("cylinder", "capsule"):
                return {
                    "kind": node.tag,
                    "radius": _number(node, "radius"),
                    "length": _number(node, "length"),
                    **place,
                }
            if node.tag == "sphere":
                return {"kind": "sphere", "radius": _number(node, "radius"), **place}
            if node.tag == "mesh" and (
                file := mesh_file(_text(node, "uri").replace("model://", "package://"), self.path)
            ):
                scale = node.child("scale")
                return {"kind": "mesh", "path": str(file), "scale": [1.0] * 3 if scale is None else scale.read(scale.text, "", 3).tolist(), **place}  # fmt: skip
            self.robot.unsupported.append(f"line {node.line}: <{node.tag}> of link {link!r} is not drawn")
        return None

    def _joint(self, node: Node, own: Pose) -> Joint:
        """Return a joint; its coordinate is zero where the model stands."""
        name, kind = node["name"], node["type"]
        if kind not in _KINDS:
            node.fail(f"joint {name!r}: {unknown('type of joint', kind, _KINDS)}")
        parent, child = (self._body_of(_text(node, end), node) for end in ("parent", "child"))
        there = own @ self._place(name)
        in_parent, in_child = (self._from_world(link).inverse() @ there for link in (parent, child))
        joint = Joint(name, parent, child, _KINDS[kind], in_parent, in_child)
        axis = node.child("axis")
        if axis is not None:
            joint.axis = self._axis(axis, name)
            if joint.kind in ("revolute", "prismatic"):
                self._details(axis, joint, kind)
        if joint.kind == "universal":  # x of a, y of b: the two axes of SDF
            second = node.child("axis2")
            if axis is None or second is None:
                node.fail(f"joint {name!r} is universal and needs <axis> and <axis2>.")
                return joint
            x, y = joint.axis, self._axis(second, name)
            if abs(x @ y) > 1e-9:
                node.fail(f"joint {name!r}: the axes of a universal joint must be at right angles.")
            turn = Pose(np.zeros(3), np.column_stack((x, y, np.cross(x, y))))
            joint.in_parent, joint.in_child = in_parent @ turn, in_child @ turn
        self._rest(node, f"joint {name!r}", "parent", "child", "pose", "axis", "axis2")
        for axis in node.each("axis", "axis2"):
            more = ("limit", "dynamics", "mimic") if joint.kind in ("revolute", "prismatic") else ()
            self._rest(axis, f"<{axis.tag}> of joint {name!r}", "xyz", "use_parent_model_frame", *more)
        return joint

    def _axis(self, node: Node, joint: str) -> Any:
        """Return the direction of an axis in the base of the joint."""
        found = node.child("xyz")
        vector = np.array([0.0, 0.0, 1.0]) if found is None else found.read(found.text, "", 3)
        base = "" if found is None else found.get("expressed_in")
        of_model = node.child("use_parent_model_frame")
        if self.old_axes or (of_model is not None and of_model.text.strip() in ("1", "true")):
            base = (
                joint.rpartition("::")[0] or "__model__"
            )  # as axes were said before version 1.5, and might be before 1.7
        if base:
            vector = self._place(joint).rotation.T @ self._place(base).rotation @ vector
        length = float(np.linalg.norm(vector))
        if not length > 0.0:
            node.fail(f"joint {joint!r}: its axis is {vector.tolist()}; wanted a direction.")
        return vector / length

    def _details(self, axis: Node, joint: Joint, kind: str) -> None:
        """Read limits, damping, friction and spring of an axis."""
        limit, dynamics = axis.child("limit"), axis.child("dynamics")
        if limit is not None:
            names = (
                ("lower", "upper", "effort", "velocity") if kind != "continuous" else ("effort", "velocity")
            )
            given = {n: _number(limit, n) for n in names if limit.child(n) is not None}
            joint.limits = {
                n: x
                for n, x in given.items()
                if abs(x) < 1e15 and not (n in ("effort", "velocity") and x < 0)
            }
        if dynamics is not None:
            joint.damping, joint.friction = (_number(dynamics, n, 0.0) for n in ("damping", "friction"))
            joint.stiffness, joint.rest = (
                _number(dynamics, n, 0.0) for n in ("spring_stiffness", "spring_reference")
            )
        mimic = axis.child("mimic")
        if mimic is not None:  # follows the leader's coordinate less a reference
            factor = _number(mimic, "multiplier", 1.0)
            offset = _number(mimic, "offset", 0.0) - factor * _number(mimic, "reference", 0.0)
            joint.mimic = mimic["joint"], factor, offset
            if mimic.get("axis", "axis") != "axis":
                mimic.fail(f"joint {joint.name!r} mimics the second axis of {mimic['joint']!r}: not read.")


def _text(node: Node, tag: str) -> str:
    return node.needed(tag).text.strip()


def _number(node: Node, tag: str, default: float | None = None) -> float:
    found = node.child(tag)
    if found is None and default is not None:
        return default
    found = node.needed(tag)
    return float(found.read(found.text, "", 1)[0])
