"""The compiler settings of MJCF: units and orders of angles, and what becomes of masses."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from treemech.topology.arrays import Floats

from .parts import Inertia, Link, Pose, about, quaternion_rotation
from .xml import Node


class Compiler(Node):
    """All <compiler> nodes of a model as one: of what is said twice the last counts."""

    def __init__(self, root: Node) -> None:
        found = list(root.each("compiler"))
        attributes = {name: value for node in found for name, value in node.attributes.items()}
        super().__init__("compiler", attributes, root.file, found[-1].line if found else root.line)
        if self.get("coordinate", "local") != "local":
            self.fail('coordinate="global" is not read; save the model by a newer MuJoCo.')
        self.unit = np.pi / 180.0 if self.get("angle", "degree") == "degree" else 1.0
        self.autolimits = self.get("autolimits", "true") == "true"

    # ------------------------------------------------------------ masses
    def bounded(self, found: Inertia) -> Inertia:
        """Return the mass properties of a body within the bounds of the settings."""
        least, balance = self.number("boundinertia", 0.0), self.get("balanceinertia") == "true"
        matrix = found.inertia
        if least or balance:
            values, axes = np.linalg.eigh(matrix)
            values = np.maximum(values, least)
            if balance and values[0] + values[1] < values[2]:
                values[:] = values.mean()
            matrix = axes @ np.diag(values) @ axes.T
        return replace(found, mass=max(found.mass, self.number("boundmass", 0.0)), inertia=matrix)

    def scale_masses(self, links: Iterable[Link]) -> None:
        """Scale all masses to the sum that is wanted, if one is."""
        wanted, links = self.number("settotalmass", 0.0), list(links)
        total = sum(link.inertia.mass for link in links)
        if wanted > 0.0 and total > 0.0:
            for link in links:
                x, factor = link.inertia, wanted / total
                link.inertia = replace(x, mass=factor * x.mass, inertia=factor * x.inertia)

    # ------------------------------------------------------------ places
    def pose(self, node: Node) -> Pose:
        """Return position and orientation of a body, geom, site or inertia."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = self._pose(node)
        if not np.all(np.isfinite(found.rotation)):
            node.fail(f"<{node.tag}> {node.attributes} has an axis that is zero; wanted a direction.")
        return found

    def _pose(self, node: Node) -> Pose:
        position = node.numbers("pos", 3, "0 0 0")
        given = [n for n in ("quat", "euler", "axisangle", "xyaxes", "zaxis") if n in node.attributes]
        if len(given) > 1:
            node.fail(f"<{node.tag}> has {' and '.join(given)}; wanted one of them.")
        if not given:
            return Pose(position)
        if given[0] == "quat":
            return Pose(position, quaternion_rotation(self._nonzero(node, "quat", 4)))
        if given[0] == "euler":
            return Pose(position, self._turn(self.unit * node.numbers("euler", 3)))
        if given[0] == "axisangle":
            *axis, angle = self._nonzero(node, "axisangle", 4)
            half = 0.5 * self.unit * angle
            axis = np.array(axis) / np.linalg.norm(axis)
            return Pose(position, quaternion_rotation(np.array([np.cos(half), *(np.sin(half) * axis)])))
        if given[0] == "xyaxes":
            numbers = node.numbers("xyaxes", 6)
            x = numbers[:3] / np.linalg.norm(numbers[:3])
            y = numbers[3:] - (numbers[3:] @ x) * x
            y /= np.linalg.norm(y)
            return Pose(position, np.column_stack((x, y, np.cross(x, y))))
        return Pose(position, from_z(self._nonzero(node, "zaxis", 3)))

    def _turn(self, angles: Floats) -> Floats:
        """Return a rotation from three angles: about axes as they turn (small letters) or fixed ones (capitals)."""
        order, found = self.get("eulerseq", "xyz"), np.eye(3)
        if len(order) != 3 or not set(order.lower()) <= set("xyz"):
            self.fail(f"eulerseq is {order!r}; wanted three of the letters x, y, z.")
        for letter, angle in zip(order, angles, strict=True):
            turn = about(letter.lower(), float(angle))
            found = turn @ found if letter.isupper() else found @ turn
        return found

    @staticmethod
    def _nonzero(node: Node, name: str, count: int) -> Floats:
        numbers = node.numbers(name, count)
        if not np.any(numbers):
            node.fail(f"<{node.tag}> {name} is zero; wanted a direction.")
        return numbers


def from_z(direction: Floats) -> Floats:
    """Return the smallest rotation that turns z into a direction."""
    z = direction / np.linalg.norm(direction)
    w = np.array([-z[1], z[0], 0.0])
    s, c = float(np.linalg.norm(w)), float(z[2])
    if s < 1e-14:
        return np.eye(3) if c > 0 else np.diag([1.0, -1.0, -1.0])
    half = 0.5 * np.arctan2(s, c)
    return quaternion_rotation(np.array([np.cos(half), *(np.sin(half) * w / s)]))
