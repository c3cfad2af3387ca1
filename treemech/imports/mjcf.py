"""MJCF: the models of MuJoCo. Bodies, joints, masses of geoms, equalities; defaults and classes."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from treemech.topology import unknown

from .actuators import Drives, first_number
from .compiler import Compiler
from .geoms import Geom, as_geom, mass_of, shape_of
from .include import included
from .parts import Inertia, Joint, Link, Pose, Robot, quaternion_rotation
from .xml import Node

_KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "ball", "free": "floating"}
_WORLD = "world"
# What changes no motion of an ideal mechanism
_SILENT = {
    "compiler",
    "option",
    "size",
    "visual",
    "statistic",
    "asset",
    "default",
    "worldbody",
    "equality",
    "custom",
    "tendon",
    "actuator",
}
# What counts in the motion and may be switched off
_FLAGS = (
    "gravity", "passive", "spring", "damper", "constraint", "equality", "frictionloss", "limit", "actuation", "clampctrl",
)  # fmt: skip
_READ = {
    "joint": {"name", "type", "pos", "axis", "range", "limited", "damping", "stiffness", "springref", "frictionloss", "class", "group", "ref", "armature"},
    "body": {"name", "pos", "quat", "euler", "axisangle", "xyaxes", "zaxis", "childclass", "mocap", "gravcomp"},
}  # fmt: skip


def read_mjcf(root: Node, path: Path) -> Robot:
    """Return the robot that an MJCF describes."""
    return _Reader(included(root, path), path).read()


class _Reader:
    def __init__(self, root: Node, path: Path) -> None:
        self.root, self.path = root, path
        self.robot = Robot(root.get("model", path.stem), path.name, ground=_WORLD)
        self.compiler = Compiler(root)
        self.classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        self.chains: dict[str, str] = {}  # body -> the link that its own joints end in: itself
        self.at_start: dict[str, Pose] = {_WORLD: Pose()}
        self.names = set[tuple[str, str]]()
        self.sites: dict[str, tuple[str, Pose]] = {}  # name -> body and place in it

    def read(self) -> Robot:
        """Read everything."""
        robot, root = self.robot, self.root
        for node in root.each("default"):  # several add up
            self._defaults(node, node.get("class", "main"), self.classes["main"])
        for node in root.each("option"):
            self._option(node)
        robot.links[_WORLD] = Link(_WORLD)
        for world in root.each("worldbody"):
            self._inside(world, _WORLD, "main")
        self._name_sites()
        self.compiler.scale_masses(robot.links.values())
        for equalities in root.each("equality"):
            for node in equalities.children:
                self._equality(node)
        drives = Drives(robot, self._full_drive, self.compiler.autolimits, self.sites)
        for tendons in root.each("tendon"):
            for node in tendons.children:
                drives.tendon(node)
        for actuators in root.each("actuator"):
            for node in actuators.children:
                drives.actuator(node)
        for node in root.children:
            if node.tag not in _SILENT:
                parts = ", ".join(dict.fromkeys(child.tag for child in node.children)) or "nothing"
                robot.unsupported.append(f"line {node.line}: <{node.tag}> is not read ({parts})")
        return robot

    # ------------------------------------------------------------ settings
    def _option(self, node: Node) -> None:
        """Read gravity; list what else changes the motion."""
        robot = self.robot
        if "gravity" in node.attributes:
            robot.gravity = node.numbers("gravity", 3).tolist()
        for name in ("wind", "density", "viscosity"):
            if name in node.attributes and np.any(node.numbers(name)):
                robot.unsupported.append(f"line {node.line}: {name} of the medium is not read")
        for flags in node.each("flag"):
            off = [name for name in _FLAGS if flags.get(name) == "disable"]
            if "gravity" in off:
                robot.gravity = [0.0, 0.0, 0.0]
            robot.unsupported += [
                f'line {flags.line}: {name}="disable" is not read: it stays in force'
                for name in off if name != "gravity"
            ]  # fmt: skip

    # ------------------------------------------------------------ defaults
    def _defaults(self, node: Node, name: str, above: dict[str, dict[str, str]]) -> None:
        """Read a class: what it does not say it has from the class around it."""
        own = {tag: dict(values) for tag, values in above.items()}
        for child in node.children:
            if child.tag != "default":
                own.setdefault(child.tag, {}).update(child.attributes)
        self.classes[name] = own
        for child in node.each("default"):
            self._defaults(child, child["class"], own)

    def _full(self, node: Node, childclass: str) -> Node:
        """Return a node with the attributes that its class gives it."""
        name = node.get("class", childclass)
        if name not in self.classes:
            node.fail(unknown("class", name, self.classes))
        given = self.classes[name].get(node.tag, {}) | node.attributes
        return Node(node.tag, given, node.file, node.line, node.children, node.text)

    def _full_drive(self, node: Node) -> Node:
        """Return a tendon or actuator with its defaults: tendons of both kinds share theirs, <general> counts for all actuators."""
        shared = "tendon" if node.tag in ("fixed", "spatial") else "general"
        above = self._full(Node(shared, {"class": node.get("class", "main")}, node.file, node.line), "main")
        return self._full(
            Node(node.tag, above.attributes | node.attributes, node.file, node.line, node.children), "main"
        )

    # ------------------------------------------------------------ bodies
    def _inside(self, node: Node, body: str, childclass: str) -> None:
        """Read what lies in a body: geoms, sites, bodies, and frames with more of these."""
        link, found = self.robot.links[body], list[Geom]()
        self._contents(node, body, childclass, Pose(), found)
        link.shapes += [shape for geom in found if (shape := shape_of(geom)) is not None]
        if body != _WORLD:
            link.inertia = self.compiler.bounded(self._mass(node, node.child("inertial"), found))
            if any(g.touches for g in found):
                self.robot.unsupported.append(
                    f"line {node.line}: geoms of body {body!r} do not touch others here: contact is made by elements"
                )

    def _contents(self, node: Node, body: str, childclass: str, frame: Pose, found: list[Geom]) -> None:
        """Read what lies in a body, or in a frame that stands in it; geoms are added to those found."""
        for child in node.each("geom"):
            geom = as_geom(self._full(child, childclass), self.compiler.pose, self.path, self.robot)
            if geom is not None:
                found.append(replace(geom, pose=frame @ geom.pose))
        for site in node.each("site"):
            full = self._full(site, childclass)
            if "name" in full.attributes:
                self.sites[full["name"]] = body, frame @ self.compiler.pose(full)
        for child in node.each("body"):
            self._body(child, body, childclass, frame)
        for child in node.each("frame"):
            own = child.get("childclass", childclass)
            self._contents(child, body, own, frame @ self.compiler.pose(child), found)
        known = {"geom", "site", "body", "frame", "light", "camera"}
        if node.tag != "frame":
            known |= {"inertial", "joint", "freejoint"}
        for other in node.children:
            if other.tag not in known:
                self.robot.unsupported.append(
                    f"line {other.line}: <{other.tag}> of body {body!r} is not read"
                )

    def _body(self, node: Node, parent: str, childclass: str, frame: Pose) -> None:
        """Read a body in a frame of its parent, with its joints: several of them are a chain of links without mass."""
        name, own = self._name(node, "body"), node.get("childclass", childclass)
        pose = frame @ self.compiler.pose(node)
        self.at_start[name] = self.at_start[parent] @ pose
        for attribute in node.attributes.keys() - _READ["body"]:
            self.robot.unsupported.append(f"line {node.line}: {attribute} of body {name!r} is not read")
        if node.get("gravcomp", "0") not in ("0", ""):
            self.robot.unsupported.append(f"line {node.line}: gravcomp of body {name!r} is not read")
        joints = [self._full(j, own) for j in node.each("joint")]
        joints += [
            Node("joint", {**j.attributes, "type": "free"}, j.file, j.line) for j in node.each("freejoint")
        ]
        last = parent
        for k, joint in enumerate(joints):
            link = name if k == len(joints) - 1 else f"{name}/{k}"
            self.robot.links[link] = Link(link)
            self.robot.joints.append(
                self._joint(joint, last, link, pose if k == 0 else Pose(), name, len(joints))
            )
            last = link
        if not joints:
            self.robot.links[name] = Link(name)
            self.robot.joints.append(Joint(f"{name} fixed", parent, name, "fixed", pose))
        if joints and joints[-1].get("type") == "free":
            self.robot.poses[name] = self.at_start[name]
        self._inside(node, name, own)

    def _joint(self, node: Node, parent: str, child: str, pose: Pose, body: str, count: int) -> Joint:
        robot, kind = self.robot, node.get("type", "hinge")
        if kind not in _KINDS:
            node.fail(f"body {body!r}: {unknown('type of joint', kind, _KINDS)}")
        name = self._name(node, f"joint of {body}")
        if kind == "free":
            if count > 1 or parent != _WORLD:
                node.fail(f"free joint {name!r}: wanted the only joint of a body in the world.")
            self._unread(node, name, "free", "stiffness", "damping", "frictionloss", "armature")
            return Joint(name, parent, child, "floating")  # its coordinates are the place in the world
        place = Pose(node.numbers("pos", 3, "0 0 0"))
        joint = Joint(name, parent, child, _KINDS[kind], pose @ place, place)
        if kind != "ball":
            joint.axis = node.numbers("axis", 3, "0 0 1")
        unit = self.compiler.unit if kind in ("hinge", "ball") else 1.0
        joint.stiffness, joint.damping = (
            first_number(node, n, f"joint {name!r}", robot) for n in ("stiffness", "damping")
        )
        if kind != "ball":
            joint.friction = node.number("frictionloss", 0.0)
            joint.ref = unit * node.number("ref", 0.0)
            joint.rest = unit * node.number("springref", 0.0) - joint.ref
            limited = node.get("limited", "auto")
            if "range" in node.attributes and (
                limited == "true" or (limited == "auto" and self.compiler.autolimits)
            ):
                lower, upper = unit * node.numbers("range", 2) - joint.ref
                joint.limits = {"lower": float(lower), "upper": float(upper)}
        else:
            self._unread(node, name, "ball", "frictionloss", "range")
        if joint.ref:
            robot.unsupported.append(
                f"line {node.line}: ref of joint {name!r}: its coordinate is zero where the model stands, {joint.ref:g} less than in "
                "MuJoCo"
            )
        joint.armature = node.number("armature", 0.0)
        for attribute in node.attributes.keys() - _READ["joint"]:
            if not attribute.startswith("sol") and attribute not in ("margin", "user"):
                robot.unsupported.append(f"line {node.line}: {attribute} of joint {name!r} is not read")
        return joint

    def _unread(self, node: Node, name: str, kind: str, *attributes: str) -> None:
        """List what a joint of this kind does not have here."""
        for attribute in attributes:
            if attribute in node.attributes and np.any(node.numbers(attribute)):
                self.robot.unsupported.append(
                    f"line {node.line}: {attribute} of {kind} joint {name!r} is not read"
                )

    def _mass(self, node: Node, inertial: Node | None, geoms: list[Geom]) -> Inertia:
        """Return the mass properties of a body: given, or those of its geoms."""
        how = self.compiler.get("inertiafromgeom", "auto")
        if how == "true" or (inertial is None and how == "auto"):
            total = Inertia()
            low, high = self.compiler.numbers("inertiagrouprange", 2, "0 5")
            for geom in geoms:
                if low <= geom.group <= high:
                    total = total + mass_of(geom, self.robot)
            return total
        if inertial is None:
            return Inertia()
        pose = self.compiler.pose(inertial)
        if "fullinertia" in inertial.attributes:
            xx, yy, zz, xy, xz, yz = inertial.numbers("fullinertia", 6)
            matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            matrix = np.diag(inertial.numbers("diaginertia", 3))
        return Inertia(inertial.number("mass"), pose.position, pose.rotation @ matrix @ pose.rotation.T)

    # ------------------------------------------------------------ equalities
    def _equality(self, node: Node) -> None:
        """Add a joint that closes a loop, or a coupling of two joints."""
        robot, tag = self.robot, node.tag
        shared = self._full(Node("equality", {"class": node.get("class", "main")}, node.file, node.line), "")
        node = Node(tag, shared.attributes | node.attributes, node.file, node.line)
        if node.get("active", "true") == "false":
            return
        what = f"line {node.line}: equality <{node.tag}>"
        if node.tag in ("connect", "weld"):
            if "site1" in node.attributes:
                for site in (node["site1"], node["site2"]):
                    if site not in self.sites:
                        node.fail(unknown("site", site, self.sites))
                (a, in_a), (b, in_b) = self.sites[node["site1"]], self.sites[node["site2"]]
            else:
                a, b = node["body1"], node.get("body2", _WORLD)
                for body in (a, b):
                    if body not in self.at_start:
                        node.fail(unknown("body", body, self.at_start))
                in_a, in_b = self._ends(node, a, b)
            name = node.get("name") or f"{node.tag} {a} - {b}"
            robot.joints.append(Joint(name, a, b, "ball" if node.tag == "connect" else "weld", in_a, in_b))
        elif node.tag == "joint":
            self._joint_equality(node, what)
        else:
            robot.unsupported.append(f"{what} is not read")

    def _ends(self, node: Node, a: str, b: str) -> tuple[Pose, Pose]:
        """Return where an equality holds two bodies; where nothing is said, as they stand at the start."""
        between = self.at_start[b].inverse() @ self.at_start[a]
        if node.tag == "connect":
            anchor = Pose(node.numbers("anchor", 3))
            return anchor, between @ anchor
        given = node.numbers("relpose", 7) if "relpose" in node.attributes else np.zeros(7)
        anchor = Pose(node.numbers("anchor", 3, "0 0 0"))  # in body b
        if np.any(given[3:]):
            return Pose(given[:3], quaternion_rotation(given[3:])) @ anchor, anchor
        return between.inverse() @ anchor, anchor

    def _joint_equality(self, node: Node, what: str) -> None:
        """Couple two joints, or hold one."""
        robot = self.robot
        known = {joint.name: joint for joint in robot.joints}
        first = known.get(node["joint1"])
        if first is None:
            node.fail(unknown("joint", node["joint1"], known))
            return
        a = np.zeros(5)
        given = node.numbers("polycoef", None, "0 1 0 0 0")
        a[: len(given)] = given[:5]
        if "joint2" not in node.attributes:
            robot.prescribed[first.name] = float(a[0])
        elif np.any(a[2:]):
            robot.unsupported.append(
                f"{what} of {first.name!r} is a polynomial of higher degree: couple it by tm.Relation"
            )
        else:
            if node["joint2"] not in known:
                node.fail(unknown("joint", node["joint2"], known))
            if first.mimic is not None:
                robot.unsupported.append(f"{what}: joint {first.name!r} follows another joint already")
            first.mimic = node["joint2"], float(a[1]), float(a[0])

    # ------------------------------------------------------------ small things
    def _name_sites(self) -> None:
        """Make sites frames of the system; one that has the name of a body gets another."""
        for name, place in self.sites.items():
            frame = f"{name} site" if name in self.robot.links else name
            if frame != name:
                self.robot.unsupported.append(
                    f"site {name!r} has the name of a body: it is the frame {frame!r}"
                )
            self.robot.frames[frame] = place

    def _name(self, node: Node, default: str) -> str:
        """Return the name of a body or joint; one that has none gets one. Bodies and joints may have the same name."""
        name, kind, k = node.get("name"), node.tag, 1
        if name:
            if (kind, name) in self.names:
                node.fail(f"there are two of the {kind} {name!r}.")
        else:
            name = default
            while (kind, name) in self.names:
                k += 1
                name = f"{default} {k}"
        self.names.add((kind, name))
        return name
