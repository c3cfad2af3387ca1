"""Geoms of MJCF: shapes with mass."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from treemech.topology import solids, unknown
from treemech.topology.arrays import Floats

from .compiler import from_z
from .parts import Inertia, Pose, Robot
from .xml import Node

_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
_OTHERS = ("plane", "hfield", "mesh", "sdf")
_DENSITY = 1000.0  # [kg/m3] of a geom that says nothing


@dataclass(frozen=True)
class Geom:
    """A shape with its place in a body; `size` as in MJCF: radii and half lengths."""

    kind: str
    size: Floats
    pose: Pose
    mass: float | None
    density: float
    name: str
    touches: bool  # whether it takes part in contact
    group: int = 0


def as_geom(node: Node, pose_of: Callable[[Node], Pose], path: Path, robot: Robot) -> Geom | None:
    """Return a geom; None, and a remark, for shapes that are not read."""
    kind = node.get("type", "sphere")
    name = node.get("name") or f"at line {node.line}"
    touches = node.number("contype", 1.0) != 0 or node.number("conaffinity", 1.0) != 0
    if kind in _OTHERS:
        if kind in ("plane", "hfield"):
            robot.unsupported.append(f"line {node.line}: geom {name!r} ({kind}): nothing touches it")
        else:
            robot.unsupported.append(
                f"line {node.line}: geom {name!r} ({kind}) is not read: it has no shape and no mass here"
            )
        return None
    if kind not in _SIZES:
        node.fail(f"geom {name!r}: {unknown('type of geom', kind, [*_SIZES, *_OTHERS])}")
    if "mesh" in node.attributes:
        robot.unsupported.append(
            f"line {node.line}: geom {name!r} ({kind}, fitted to a mesh) is not read: it has no shape and no mass here"
        )
        return None
    if node.get("shellinertia") == "true":
        robot.unsupported.append(f"line {node.line}: geom {name!r}: shellinertia is not read: it is solid")
    pose, size = pose_of(node), node.numbers("size", None, "0 0 0")
    if "fromto" in node.attributes:
        if kind not in ("capsule", "cylinder", "box", "ellipsoid"):
            node.fail(f"geom {name!r}: fromto is for capsules, cylinders, boxes and ellipsoids.")
        ends = node.numbers("fromto", 6)
        along = ends[:3] - ends[3:]  # MuJoCo points z from the second end to the first
        half = 0.5 * float(np.linalg.norm(along))
        if half == 0.0:
            node.fail(f"geom {name!r}: both ends of fromto are the same point.")
        pose = Pose(0.5 * (ends[:3] + ends[3:]), from_z(along))
        radius = float(size[0])
        size = (
            np.array([radius, half]) if kind in ("capsule", "cylinder") else np.array([radius, radius, half])
        )
    need = _SIZES[kind]
    if len(size) < need or not np.all(size[:need] > 0.0):
        node.fail(f"geom {name!r} ({kind}) has size {size.tolist()}; wanted {need} positive numbers.")
    mass = node.number("mass") if "mass" in node.attributes else None
    group = int(node.number("group", 0.0))
    return Geom(kind, size[:need], pose, mass, node.number("density", _DENSITY), name, touches, group)


def mass_of(geom: Geom, robot: Robot) -> Inertia:
    """Return the mass properties of a geom in the axes of its body."""
    given: dict[str, Any] = {"density": geom.density} if geom.mass is None else {"mass": geom.mass}
    r = geom.size
    if geom.kind == "sphere":
        solid = solids.sphere(r[0], **given)
    elif geom.kind == "box":
        solid = solids.box(2.0 * r, **given)
    elif geom.kind == "ellipsoid":
        solid = solids.ellipsoid(r, **given)
    elif geom.kind == "cylinder":
        solid = solids.cylinder(radius=r[0], length=2.0 * r[1], **given)
    else:
        solid = _capsule(float(r[0]), 2.0 * float(r[1]), given)
    com = np.asarray(solid.com, dtype=np.float64)
    return Inertia(float(solid.mass), com, np.asarray(solid.inertia, dtype=np.float64)).at(geom.pose)


def _capsule(radius: float, length: float, given: dict[str, Any]) -> Any:
    """Return a cylinder along z with half a sphere at each end."""
    volumes = np.pi * radius**2 * length, 4.0 / 3.0 * np.pi * radius**3
    density = given["density"] if "density" in given else given["mass"] / sum(volumes)
    up = solids.hemisphere(radius, density=density).moved((0, 0, 0.5 * length))
    down = (
        solids.hemisphere(radius, density=density)
        .moved(rotation=np.diag([1.0, -1.0, -1.0]))
        .moved((0, 0, -0.5 * length))
    )
    return solids.cylinder(radius=radius, length=length, density=density) + up + down


def shape_of(geom: Geom) -> dict[str, Any] | None:
    """Return the shape to draw."""
    r, place = geom.size, {"offset": geom.pose.position.tolist(), "rotation": geom.pose.rotation.tolist()}
    if geom.kind == "sphere":
        return {"kind": "sphere", "radius": float(r[0]), **place}
    if geom.kind == "box":
        return {"kind": "box", "size": (2.0 * r).tolist(), **place}
    if geom.kind == "ellipsoid":
        return {"kind": "ellipsoid", "semi_axes": r.tolist(), **place}
    return {"kind": geom.kind, "radius": float(r[0]), "length": 2.0 * float(r[1]), **place}
