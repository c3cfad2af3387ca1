"""Write a tree as URDF: links, joints, inertia, limits, damping, friction, mimic, shapes.

The axes of a link are those of the joint that carries it (end b, or end a where the tree runs through the joint
backwards), since URDF has no place for another end. A joint that is run through backwards measures along the opposite axis, so every coordinate keeps its sign.
"""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.elements import Free, Friction, Mimic, Prismatic, Revolute, Rigid, RotationalSpring
from treemech.topology import Attachment, Body, TreemechError
from treemech.topology.arrays import Floats

from ..description.parameters import origin_of
from ..files.atomic import as_path, atomic

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_WORLD = "world"
_SILENT = {"body", "connect", "frame", "limit", "couple", "measure"}  # read from the built mechanism


def write_urdf(mech: "Mechanism", path: str | Path, strict: bool = True) -> Path:
    """Write a tree as URDF, see `Mechanism.to_urdf`."""
    path = as_path(path, "to_urdf")
    if path.suffix != ".urdf":
        raise TreemechError(f"{path}: wanted a file with the ending .urdf.")
    made = _Writer(mech)
    root = made.write()
    if strict and made.left:
        listed = "\n".join(f"- {line}" for line in made.left)
        raise TreemechError(f"URDF cannot say all of {mech.name!r} (strict=False leaves this out):\n{listed}")
    ET.indent(root)
    with atomic(path) as stream:
        stream.write(b'<?xml version="1.0"?>\n' + ET.tostring(root, "utf-8") + b"\n")
    return path


class _Writer:
    def __init__(self, mech: "Mechanism") -> None:
        self.mech, self.left = mech, list[str]()
        self.axes: dict[str, Attachment] = {}  # body -> where the axes of its link stand in it
        self.names = {body.name: body.name for body in mech.tree.bodies}
        ground = mech.tree.bodies[0].name
        taken = set(self.names.values())
        self.names[ground] = _WORLD if _WORLD not in taken else ground
        self.axes[ground] = mech.tree.bodies[0].at()
        self.actions = {
            name: [e for e in mech._wiring.elements.values() if e.coordinates and e.coordinates[0][0] == name]
            for name in (c.name for c in mech._lagrange.hinges)
        }

    def write(self) -> ET.Element:
        """Return the whole; what URDF cannot say is in `left`."""
        mech = self.mech
        loops = [c for c in mech.tree.chords if not isinstance(c.element, Mimic)]
        if loops:
            raise TreemechError(
                f"URDF holds trees: {', '.join(repr(c.name) for c in loops[:6])} close{'s' * (len(loops) == 1)} a chain in {mech.name!r}. "
                "Save it as JSON, system.save(path)."
            )
        root = ET.Element("robot", name=mech.name)
        for number, branch in enumerate(mech.tree.branches, 1):
            body, ends = mech.tree.bodies[number], branch.connection.ends
            a, b = ends if branch.forward else (ends[1], ends[0])
            self.axes[body.name] = b
            kind, axis = self._kind(branch.connection.name, branch.connection.element)
            joint = ET.Element("joint", name=branch.connection.name, type=kind)
            self._origin(joint, *self._in_link(a))
            ET.SubElement(joint, "parent", link=self.names[a.body.name])
            ET.SubElement(joint, "child", link=self.names[body.name])
            if axis is not None:
                ET.SubElement(joint, "axis", xyz=_numbers(axis if branch.forward else -axis))
                self._limit(joint, branch.connection.name, kind)
                self._dynamics(joint, branch.connection.name)
            root.append(joint)
        self._mimic(root)
        for number, body in enumerate(mech.tree.bodies):
            root.insert(number, self._link(body))
        for name, end in mech._wiring.frames.items():
            self._frame(root, name, end)
        self._list_rest()
        return root

    def _kind(self, name: str, element: Any) -> tuple[str, Floats | None]:
        """Return the type of a joint, and its axis."""
        if isinstance(element, (Revolute, Prismatic)):
            axis = np.eye(3)["xyz".index(element.axis)] if isinstance(element.axis, str) else element.axis
            sliding, limit = isinstance(element, Prismatic), self.mech._wiring.limits.get((name, 0))
            bounded = limit is not None and limit.lower is not None and limit.upper is not None
            kind = "prismatic" if sliding else "revolute" if bounded else "continuous"
            return kind, np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
        if isinstance(element, Rigid):
            return "fixed", None
        if isinstance(element, Free):
            return "floating", None
        raise TreemechError(
            f"URDF has no joint like {name!r} ({element.kind}): it has revolute, prismatic, rigid and free ones."
        )

    def _in_link(self, end: Attachment) -> tuple[Floats, Floats]:
        """Return position and rotation of an end in the axes of its link."""
        base = self.axes[end.body.name]
        return base.rotation.T @ (end.offset - base.offset), base.rotation.T @ end.rotation

    def _link(self, body: Body) -> ET.Element:
        link = ET.Element("link", name=self.names[body.name])
        base = self.axes[body.name]
        R = base.rotation
        if body.mass or np.any(body.inertia):
            inertial = ET.SubElement(link, "inertial")
            self._origin(inertial, R.T @ (body.com - base.offset), np.eye(3))
            ET.SubElement(inertial, "mass", value=repr(float(body.mass)))
            J = R.T @ body.inertia @ R
            entries = {f"i{'xyz'[i]}{'xyz'[j]}": repr(float(J[i, j])) for i in range(3) for j in range(i, 3)}
            ET.SubElement(inertial, "inertia", entries)
        for shape in body.shapes:
            self._visual(link, body, shape)
        return link

    def _visual(self, link: ET.Element, body: Body, shape: Any) -> None:
        kind, measures = shape.get("kind"), dict[str, str]()
        if kind == "box":
            measures = {"size": _numbers(shape["size"])}
        elif kind == "sphere":
            measures = {"radius": repr(float(shape["radius"]))}
        elif kind == "cylinder" and shape.get("axis", "z") == "z":
            measures = {n: repr(float(shape[n])) for n in ("radius", "length")}
        elif kind == "mesh" and "path" in shape:
            measures = {"filename": str(shape["path"]), "scale": _numbers(shape.get("scale", (1, 1, 1)))}
        else:
            self.left.append(f"body {body.name!r}: its {kind} is not drawn")
            return
        visual = ET.SubElement(link, "visual")
        place = body.at(shape.get("offset", (0, 0, 0)), shape.get("rotation"))
        self._origin(visual, *self._in_link(place))
        ET.SubElement(ET.SubElement(visual, "geometry"), kind, measures)

    def _limit(self, joint: ET.Element, name: str, kind: str) -> None:
        limit = self.mech._wiring.limits.get((name, 0))
        given = {} if limit is None else {k: x for k, x in limit._asdict().items() if x is not None}
        if kind == "continuous":
            for k in ("lower", "upper"):
                if k in given:
                    self.left.append(f"hinge {name!r}: a limit on one side only")
                    del given[k]
        if given or kind in ("prismatic", "revolute"):
            required = {"effort": 1e9, "velocity": 1e9} | (
                {"lower": -1e9, "upper": 1e9} if kind == "prismatic" else {}
            )
            ET.SubElement(joint, "limit", {k: repr(float(x)) for k, x in (required | given).items()})

    def _dynamics(self, joint: ET.Element, name: str) -> None:
        damping = friction = 0.0
        for action in self.actions[name]:
            e: Any = action.element
            plain = isinstance(e, RotationalSpring) and not e.stiffness and e.table is None
            if plain and not action.inputs and not getattr(e.torque, "level", e.torque):
                damping += float(e.damping)
            elif isinstance(e, Friction) and not action.reaction_of and not e.viscous and e.static is None:
                friction += float(e.coulomb) * self._load(e) * (float(e.radius) or 1.0)
            else:
                self.left.append(f"element {action.name!r} ({e.kind}) on hinge {name!r}")
        if damping or friction:
            ET.SubElement(joint, "dynamics", damping=repr(damping), friction=repr(friction))

    def _mimic(self, root: ET.Element) -> None:
        for call in origin_of(self.mech).calls:
            if call.method != "couple":
                continue
            name, element, *hinges = call.args
            if not isinstance(element, Mimic):
                self.left.append(f"coupling {name!r} ({element.kind})")
                continue
            leader, follower = (getattr(h, "name", h) for h in hinges)
            joint = next(j for j in root.iter("joint") if j.get("name") == follower)
            numbers = {"multiplier": element.factor, "offset": self._constant(element.offset)}
            ET.SubElement(joint, "mimic", {"joint": leader} | {k: repr(float(x)) for k, x in numbers.items()})

    def _frame(self, root: ET.Element, name: str, end: Attachment) -> None:
        """Add a massless link for a frame, unless it is the link of a body."""
        position, rotation = self._in_link(end)
        if name in self.names.values() and not (np.any(position) or np.any(rotation - np.eye(3))):
            return
        if name in self.names.values():  # the axes of the body are not those of its link
            return
        root.append(ET.Element("link", name=name))
        joint = ET.SubElement(root, "joint", name=f"{name}.mount", type="fixed")
        self._origin(joint, position, rotation)
        ET.SubElement(joint, "parent", link=self.names[end.body.name])
        ET.SubElement(joint, "child", link=name)

    def _list_rest(self) -> None:
        wiring = self.mech._wiring
        self.left += [
            f"element {e.name!r} ({e.element.kind})" for e in wiring.elements.values() if not e.coordinates
        ]
        self.left += [f"composite {name!r}" for name in wiring.composites]
        for call in origin_of(self.mech).calls:
            if call.method not in _SILENT and not (call.method == "load" and call.args[0] in wiring.elements):
                self.left.append(f"{call.method} {call.args[0]!r}")

    def _load(self, friction: Any) -> float:
        return 0.0 if friction.load is None else self._constant(friction.load)

    def _constant(self, given: Any) -> float:
        value = getattr(given, "level", given)
        if not isinstance(value, int | float):
            self.left.append(f"{given!r}, which is not constant")
            return 0.0
        return float(value)

    @staticmethod
    def _origin(node: ET.Element, position: Floats, rotation: Floats) -> None:
        if np.any(position) or np.any(rotation - np.eye(3)):
            node.append(ET.Element("origin", xyz=_numbers(position), rpy=_numbers(roll_pitch_yaw(rotation))))


def roll_pitch_yaw(R: Floats) -> Floats:
    """Return angles about the fixed axes x, y, z that make a rotation, exact to rounding everywhere.

    >>> roll_pitch_yaw(np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])).round(6).tolist()
    [0.0, 1.570796, 0.0]
    """
    yaw = np.arctan2(R[1, 0], R[0, 0]) if abs(R[0, 0]) + abs(R[1, 0]) > 1e-12 else 0.0
    c, s = np.cos(yaw), np.sin(yaw)
    # what is left without the yaw: pitch about y after roll about x
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw])


def _numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(values, dtype=np.float64).ravel())
