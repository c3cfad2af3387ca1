"""Robots of other programs as systems: URDF, MJCF and SDF, told apart by their first node."""

import warnings
from pathlib import Path
from typing import Any

from treemech.topology import TreemechError

from ..system import System
from .xml import parse

_SHOWN = 12  # lines of what is not supported in one message


def read_robot(path: Path, strict: bool = False, **options: Any) -> System:
    """Return the system that a file describes; `options` are those of its reader.

    What the file says and the system does not have is in ``system.unsupported``, and told in one warning; with `strict` it is
    an error that lists everything.
    """
    root = parse(path)
    if root.tag == "robot":
        from .urdf import read_urdf

        robot = read_urdf(root, path, **_only(options, path, "URDF", "loops", "floating"))
    elif root.tag == "mujoco":
        from .mjcf import read_mjcf

        _only(options, path, "MJCF")
        robot = read_mjcf(root, path)
    elif root.tag == "sdf":
        from .sdf import read_sdf

        _only(options, path, "SDF")
        robot = read_sdf(root, path)
    else:
        raise TreemechError(
            f"{path.name} begins with <{root.tag}>; wanted <robot> (URDF), <mujoco> (MJCF) or <sdf>."
        )
    if strict and robot.unsupported:
        raise TreemechError(
            f"{path.name} says what is not supported here:\n{_listed(robot.unsupported, 10**6)}"
        )
    system = robot.system()
    if robot.unsupported:
        warnings.warn(
            f"{path.name} says what the system does not have (all of it in system.unsupported):\n{_listed(robot.unsupported, _SHOWN)}",
            stacklevel=4,
        )
    return system


def _only(options: dict[str, Any], path: Path, kind: str, *known: str) -> dict[str, Any]:
    """Return the options; refuse those that a reader does not have."""
    for name in options:
        if name not in known:
            takes = f"takes {', '.join(f'{k}=' for k in known)}" if known else "takes none"
            raise TreemechError(f"read: {path.name} is {kind}, which has no option {name!r}: it {takes}.")
    return options


def _listed(lines: list[str], most: int) -> str:
    more = [f"... and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join(f"- {line}" for line in (*lines[:most], *more))
