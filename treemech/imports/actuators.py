"""Tendons and actuators of MJCF, as the elements that give the same loads; the rest is listed as unsupported.

An actuator of length l exerts the force (gain i + b0 + b1 l + b2 l') along l, its input i clamped to `ctrlrange`. On a joint
l = gear q: an `Actuator` carries the input, a `RotationalSpring` what depends on l. A fixed tendon, l = sum of c_k q_k,
has an actuator on each of its joints, all with the same input. A spatial tendon is a `Spring` or a `Path` through its sites.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treemech.elements import Actuator, Constant, Path, RotationalSpring, Spring
from treemech.topology import unknown
from treemech.topology.arrays import Floats

from .parts import Element, Pose, Robot
from .xml import Node

_SHORT = ("motor", "position", "velocity", "general")
_KNOWN = {
    "name", "class", "group", "user", "joint", "tendon", "gear", "ctrlrange", "ctrllimited", "forcerange", "forcelimited", "kp",
    "kv", "gainprm", "biasprm", "gaintype", "biastype", "dyntype", "dynprm",
}  # fmt: skip
_OF_TENDON = {
    "name", "class", "group", "user", "rgba", "width", "material", "stiffness", "damping", "springlength", "range", "limited",
}  # fmt: skip


@dataclass
class Tendon:
    """A tendon: coefficients of joints, or the sites it runs through."""

    joints: dict[str, float] = field(default_factory=dict)
    sites: list[tuple[str, Pose]] = field(default_factory=list)


class Drives:
    """Reads the tendons and actuators of an MJCF. `full` gives a node the attributes of its class."""

    def __init__(
        self,
        robot: Robot,
        full: Callable[[Node], Node],
        autolimits: bool,
        sites: Mapping[str, tuple[str, Pose]],
    ) -> None:
        self.robot, self.full, self.autolimits, self.sites = robot, full, autolimits, sites
        self.kinds = {joint.name: joint.kind for joint in robot.joints}
        self.refs = {joint.name: joint.ref for joint in robot.joints}
        self.tendons: dict[str, Tendon] = {}

    # ------------------------------------------------------------ tendons
    def tendon(self, node: Node) -> None:
        """Read a tendon with its spring and damper."""
        node = self.full(node)
        name = node.get("name") or f"tendon {len(self.tendons) + 1}"
        what = f"line {node.line}: tendon {name!r}"
        self._list_unread(node, what, _OF_TENDON)
        if self._limits(node, "range", "limited") is not None:
            self.robot.unsupported.append(f"{what}: its range is not kept")
        if node.tag == "fixed":
            tendon = Tendon(
                joints={self._joint(j["joint"], j): j.number("coef", 1.0) for j in node.each("joint")}
            )
            self._spring_of_joints(node, name, what, tendon)
        elif node.tag == "spatial":
            wraps = [child for child in node.children if child.tag != "site"]
            if wraps:
                tags = ", ".join(dict.fromkeys(child.tag for child in wraps))
                self.robot.unsupported.append(
                    f"{what} runs over {tags}: connect a tm.Path with wraps through system.frames"
                )
                return
            tendon = Tendon(sites=[self._site(child) for child in node.children])
            self._spring_of_sites(node, name, what, tendon)
        else:
            self.robot.unsupported.append(f"{what} <{node.tag}> is not read")
            return
        self.tendons[name] = tendon

    def _spring_of_joints(self, node: Node, name: str, what: str, tendon: Tendon) -> None:
        stiffness, damping = (
            first_number(node, n, f"tendon {name!r}", self.robot) for n in ("stiffness", "damping")
        )
        if not (stiffness or damping):
            return
        low, high = self._rest(node, 0.0)
        if len(tendon.joints) != 1 or (stiffness and low != high):
            self.robot.unsupported.append(
                f"{what}: its spring and damper act on several joints, or have play"
            )
            return
        ((joint, c),) = tendon.joints.items()
        spring = RotationalSpring(
            stiffness=c * c * stiffness, damping=c * c * damping, angle=low / c - self.refs[joint]
        )
        self._add(f"{name}.spring", spring, [joint])

    def _spring_of_sites(self, node: Node, name: str, what: str, tendon: Tendon) -> None:
        stiffness, damping = (
            first_number(node, n, f"tendon {name!r}", self.robot) for n in ("stiffness", "damping")
        )
        if not (stiffness or damping):
            return
        if "springlength" not in node.attributes or node.numbers("springlength")[0] < 0.0:
            self.robot.unsupported.append(
                f"{what}: its spring is at rest where the model stands: give it a springlength"
            )
            return
        low, high = self._rest(node, 0.0)
        element: Any
        inputs = dict[str, Any]()
        if low == high and len(tendon.sites) == 2:
            element = Spring(stiffness=stiffness, damping=damping, length=low)
        elif low == high and stiffness:  # k l - k low, of either sign
            element = Path(stiffness=stiffness, damping=damping, actuated=True)
            inputs = {"tension": Constant(-stiffness * low)}
        elif low <= 0.0 and not damping:
            element = Path(stiffness=stiffness, length=high)
        else:
            self.robot.unsupported.append(f"{what}: no element here has its spring and damper")
            return
        self._add(f"{name}.spring", element, tendon.sites, inputs)

    def _rest(self, node: Node, default: float) -> tuple[float, float]:
        """Return the lengths between which a spring has no force."""
        numbers = node.numbers("springlength") if "springlength" in node.attributes else np.array([default])
        return float(numbers[0]), float(numbers[-1])

    def _site(self, node: Node) -> tuple[str, Pose]:
        if node["site"] not in self.sites:
            node.fail(unknown("site", node["site"], self.sites))
        return self.sites[node["site"]]

    # ------------------------------------------------------------ actuators
    def actuator(self, node: Node) -> None:
        """Read an actuator: its input has its name."""
        node = self.full(node)
        name = node.get("name") or f"{node.tag} {len(self.robot.inputs) + 1}"
        what = f"line {node.line}: actuator {name!r}"
        if node.tag not in _SHORT:
            self.robot.unsupported.append(f"{what} <{node.tag}> is not read")
            return
        if node.get("dyntype", "none") != "none" or node.get("gaintype", "fixed") != "fixed":
            self.robot.unsupported.append(f"{what}: its dynamics or gain are not read")
            return
        self._list_unread(node, what, _KNOWN)
        gain, bias = self._law(node)
        gear = float(node.numbers("gear", None, "1")[0])
        if np.any(node.numbers("gear", None, "1")[1:]) and "tendon" not in node.attributes:
            self.robot.unsupported.append(f"{what}: only the first number of gear is kept")
        inputs = self._limits(node, "ctrlrange", "ctrllimited")
        forces = self._limits(node, "forcerange", "forcelimited")
        if forces is not None and np.any(bias):
            self.robot.unsupported.append(
                f"{what}: forcerange is not kept, as its force depends on position or speed"
            )
            forces = None
        if "joint" in node.attributes:
            joint = self._joint(node["joint"], node)
            if self.kinds[joint] not in ("revolute", "prismatic"):
                self.robot.unsupported.append(f"{what} acts on a {self.kinds[joint]} joint: not read")
                return
            self._on_joints(name, what, {joint: gear}, gain, bias, inputs, forces)
        elif "tendon" in node.attributes:
            self._on_tendon(node, name, what, gear, gain, bias, inputs, forces)
        else:
            self.robot.unsupported.append(f"{what}: what it acts on is not read")

    def _law(self, node: Node) -> tuple[float, Floats]:
        """Return the gain, and b0, b1, b2."""
        bias = np.zeros(3)
        if node.tag == "motor":
            return 1.0, bias
        if node.tag == "position":
            kp = node.number("kp", 1.0)
            return kp, np.array([0.0, -kp, -node.number("kv", 0.0)])
        if node.tag == "velocity":
            kv = node.number("kv", 1.0)
            return kv, np.array([0.0, 0.0, -kv])
        kind = node.get("biastype", "none")
        if kind == "affine":
            given = node.numbers("biasprm", None, "0 0 0")[:3]
            bias[: len(given)] = given
        elif kind != "none":
            self.robot.unsupported.append(f"line {node.line}: biastype {kind!r} is not read")
        return float(node.numbers("gainprm", None, "1")[0]), bias

    def _on_tendon(
        self,
        node: Node,
        name: str,
        what: str,
        gear: float,
        gain: float,
        bias: Floats,
        inputs: Any,
        forces: Any,
    ) -> None:
        tendon = self.tendons.get(node["tendon"])
        if tendon is None:
            self.robot.unsupported.append(f"{what} pulls at tendon {node['tendon']!r}, which is not read")
        elif tendon.joints and (len(tendon.joints) == 1 or not np.any(bias[1:])):
            shares = {joint: gear * c for joint, c in tendon.joints.items()}
            self._on_joints(name, what, shares, gain, bias, inputs, forces)
        elif tendon.joints:
            self.robot.unsupported.append(
                f"{what}: its force depends on the length of a tendon over several joints"
            )
        elif np.any(bias) or inputs is not None or forces is not None or gear * gain != -1.0:
            self.robot.unsupported.append(
                f"{what}: at a spatial tendon only a motor of gear -1 without ranges is read: its input is the tension"
            )
        else:
            self._input(name)
            self._add(f"{name}.actuator", Path(actuated=True), tendon.sites, {"tension": name})

    def _on_joints(
        self,
        name: str,
        what: str,
        shares: Mapping[str, float],
        gain: float,
        bias: Floats,
        inputs: Any,
        forces: Any,
    ) -> None:
        """Add an actuator on every joint with its share of the force, and what depends on length and rate."""
        self._input(name)
        for joint, share in shares.items():
            tag = f"{name}.actuator" if len(shares) == 1 else f"{name}.{joint}"
            ends = [np.array([-np.inf, np.inf])]
            if inputs is not None:
                ends.append(np.sort(share * gain * np.array(inputs)))
            if forces is not None:
                ends.append(np.sort(share * np.array(forces)))
            lower, upper = max(e[0] for e in ends), min(e[1] for e in ends)
            if share * gain:
                options = {} if not np.isfinite(upper) else {"lower": float(lower), "upper": float(upper)}
                self._add(tag, Actuator(gain=share * gain, **options), [joint], {"command": name})
            stiffness, damping = -share * share * bias[1], -share * share * bias[2]
            if stiffness < 0.0 or damping < 0.0:
                self.robot.unsupported.append(f"{what}: its force grows with position or speed: not read")
            elif stiffness or damping:
                rest = share * bias[0] / stiffness if stiffness else 0.0
                spring = RotationalSpring(stiffness=stiffness, damping=damping, angle=rest - self.refs[joint])
                self._add(f"{name}.feedback", spring, [joint])
            if bias[0] and not stiffness:
                constant = {"command": Constant(1.0)}
                self._add(f"{tag}.constant", Actuator(gain=share * float(bias[0])), [joint], constant)

    # ------------------------------------------------------------ small things
    def _joint(self, name: str, node: Node) -> str:
        if name not in self.kinds:
            node.fail(unknown("joint", name, self.kinds))
        return name

    def _limits(self, node: Node, name: str, switch: str) -> Floats | None:
        limited = node.get(switch, "auto")
        if name not in node.attributes or limited == "false" or (limited == "auto" and not self.autolimits):
            return None
        return node.numbers(name, 2)

    def _input(self, name: str) -> None:
        if name not in self.robot.inputs:
            self.robot.inputs.append(name)

    def _add(
        self, name: str, element: Any, ends: Sequence[Any], inputs: Mapping[str, Any] | None = None
    ) -> None:
        self.robot.elements.append(Element(name, element, list(ends), dict(inputs or {})))

    def _list_unread(self, node: Node, what: str, known: set[str]) -> None:
        for attribute in sorted(node.attributes.keys() - known):
            self.robot.unsupported.append(f"{what}: {attribute} is not read")


def first_number(node: Node, attribute: str, what: str, robot: Robot) -> float:
    """Return a stiffness or damping: the first of the coefficients of a polynomial; others are listed."""
    numbers = node.numbers(attribute, None, "0")
    if np.any(numbers[1:]):
        robot.unsupported.append(
            f"line {node.line}: {attribute} of {what}: only the first coefficient, {numbers[0]:g}, is kept"
        )
    return float(numbers[0])
