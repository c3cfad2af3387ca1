"""How springs are drawn: coils that stretch, dampers, cords, bent beams, triangles, spirals on hinges."""

from typing import Any

import numpy as np

from ..scene.scene import RUBBER

TISSUE, TAUT = "#c98b6b", "#e8604c"
COIL = "#3fae8f"


def spring(element: Any, seen: Any) -> list[Any]:
    """Draw a coil, a damper inside it, or one of them."""
    elastic, viscous = float(element.stiffness) > 0.0, float(element.damping) > 0.0
    if getattr(element, "only", None) == "tension":
        return cord(element, seen)
    if not elastic:
        return [{"kind": "damper" if viscous else "piston"}]
    return [{"kind": "coil", "color": COIL}, *([{"kind": "damper", "slim": True}] if viscous else [])]


def coil(element: Any, seen: Any) -> list[Any]:
    viscous = float(getattr(element, "damping", 0.0)) > 0.0 or hasattr(element, "branches")
    return [{"kind": "coil", "color": COIL}, *([{"kind": "damper", "slim": True}] if viscous else [])]


def cord(element: Any, seen: Any) -> list[Any]:
    """Draw a cord that is coloured by its tension."""
    return [{"kind": "cord", "color": TISSUE, "tint": "effort", "tint_color": TAUT}]


def beam(element: Any, seen: Any) -> list[Any]:
    return [{"kind": "bend", "color": "#58b3dd"}]


def bushing(element: Any, seen: Any) -> list[Any]:
    g = seen.girth
    return [{"kind": "torus", "radius": 1.6 * g, "tube_radius": 0.7 * g, "color": RUBBER, "end": 0}]


def triangle(element: Any, seen: Any) -> list[Any]:
    return [{"kind": "triangle", "color": "#58b3dd", "alpha": 0.9}]


def spiral(element: Any, seen: Any) -> list[Any]:
    """Draw a spiral around a turning axis, a coil along a sliding one."""
    g = seen.girth
    angle = np.linspace(0.0, 6.0 * np.pi, 90)
    if seen.slides:
        return [{"kind": "coil", "color": COIL, "ends": (-2, -1)}]
    if seen.turns and not seen.turns[0]:
        line = np.column_stack((1.7 * g * np.cos(angle), 1.7 * g * np.sin(angle), g * (angle / np.pi - 3.0)))
    else:
        r = g * (1.6 + 1.9 * angle / angle[-1])
        line = np.column_stack((r * np.cos(angle), r * np.sin(angle), np.full(len(angle), 1.9 * g)))
    return [{"kind": "line", "points": line.tolist(), "radius": 0.22 * g, "color": COIL}]


def nothing(element: Any, seen: Any) -> list[Any]:
    """Draw nothing: what it does is seen in the motion and in the arrows."""
    return []


DRAWINGS = {
    "Spring": spring, "TableSpring": coil, "Viscoelastic": coil, "RambergOsgood": coil, "Fung": cord, "FungHistory": cord,
    "Straight": beam, "Bushing": bushing, "BallSpring": bushing, "PlaneElement": triangle, "RotationalSpring": spiral, "HingeStop": nothing,
}  # fmt: skip
