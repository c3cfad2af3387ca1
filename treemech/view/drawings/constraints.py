"""How constraints are drawn: rods, cams and followers, curves and surfaces, wheels and gears."""

from typing import Any

import numpy as np

from ..scene.scene import DARK, STEEL
from .contact import PLANE, plane
from .springs import nothing

ROD, CAM, GEAR = "#b9c2cd", "#c8a24a", "#b0a074"


def rod(element: Any, seen: Any) -> list[Any]:
    g = seen.girth
    balls = [{"kind": "sphere", "end": k, "radius": 1.25 * g, "color": STEEL} for k in (0, 1)]
    return [{"kind": "rod", "color": ROD}, *balls]


def cam_follower(element: Any, seen: Any) -> list[Any]:
    g, radius = seen.girth, seen.number(element.radius)
    found = [*outline(element.profile, 0, 1.6 * g, shaped=seen.shaped(0))]
    if element.follower == "roller" and seen.shaped(1):
        return found
    if element.follower == "roller":
        found.append({"kind": "cylinder", "end": 1, "radius": radius, "length": 1.9 * g, "color": STEEL})
    elif element.follower == "flat":
        reach = float(np.abs(seen.relative(0, 1)[:, :2]).max(initial=2.0 * g))
        found.append(
            {
                "kind": "box",
                "end": 1,
                "size": (2.0 * reach, 0.5 * g, 2.0 * g),
                "offset": (0.0, 0.25 * g, 0.0),
                "color": STEEL,
            }
        )
    else:
        found.append({"kind": "sphere", "end": 1, "radius": 0.5 * g, "color": DARK})
    return found


def outline(profile: Any, end: int, thickness: float, color: str = CAM, shaped: bool = False) -> list[Any]:
    """Draw a profile: a closed one that runs counterclockwise is a cam, others, and those of shaped bodies, are edges."""
    s = np.linspace(0.0, profile.length, 181)
    xy = np.array([profile.point(x)[:2] for x in s])
    turns = float(np.sum(xy[:-1, 0] * xy[1:, 1] - xy[1:, 0] * xy[:-1, 1]))
    if shaped:
        line = np.column_stack((xy, np.zeros(len(xy))))[::2].tolist()
        return [{"kind": "line", "end": end, "points": line, "radius": 0.15 * thickness, "color": color}]
    if profile.is_closed and turns > 0.0:
        return [
            {
                "kind": "polygon",
                "end": end,
                "points": xy[:-1].tolist(),
                "thickness": thickness,
                "smooth": True,
                "color": color,
            }
        ]
    if profile.is_closed:  # it works on its inner side: a ring around it
        away = xy[:-1] - xy[:-1].mean(axis=0)
        outside = (
            xy[:-1]
            + 0.25 * float(np.linalg.norm(away, axis=1).mean()) * away / np.linalg.norm(away, axis=1)[:, None]
        )
        hole = xy[:-1][::-1]
        return [{"kind": "polygon", "end": end, "points": outside[::-1].tolist(), "holes": [hole.tolist()], "thickness": thickness,
                 "smooth": True, "color": color}]  # fmt: skip
    line = np.column_stack((xy, np.zeros(len(xy)))).tolist()
    return [{"kind": "line", "end": end, "points": line, "radius": 0.35 * thickness, "color": color}]


def curve_on_curve(element: Any, seen: Any) -> list[Any]:
    g = seen.girth
    first = outline(element.profile_a, 0, 1.6 * g, CAM, seen.shaped(0))
    return [*first, *outline(element.profile_b, 1, 1.5 * g, GEAR, seen.shaped(1))]


def in_plane(element: Any, seen: Any) -> list[Any]:
    g = seen.girth
    return [plane(seen, 6.0 * g, seen.number(element.distance)), _ball(g)]


def in_line(element: Any, seen: Any) -> list[Any]:
    from treemech.topology.body import as_axis

    g, z = seen.girth, np.asarray(as_axis(element.axis, "axis"), dtype=np.float64)
    along = seen.relative(0, 1) @ z
    ends = [(float(x) * z).tolist() for x in (along.min() - 4.0 * g, along.max() + 4.0 * g)]
    return [{"kind": "line", "end": 0, "points": ends, "radius": 0.45 * g, "color": ROD}, _ball(g)]


def point_on_curve(element: Any, seen: Any) -> list[Any]:
    from treemech.elements.constraints.point_on_curve import curve_point

    breaks = element.breaks
    points = []
    for s in np.linspace(breaks[0], breaks[-1], 161):
        found = curve_point(breaks, element.table, float(bool(element.closed)), float(s))
        points.append([float(x) for x in np.ravel(np.array(found[:3]))[:3]])
    return [
        {"kind": "line", "end": 0, "points": points, "radius": 0.4 * seen.girth, "color": ROD},
        _ball(seen.girth),
    ]


def point_on_surface(element: Any, seen: Any) -> list[Any]:
    g, look = seen.girth, {"end": 0, "color": PLANE, "alpha": 0.35, "layer": "surfaces"}
    if element.surface == "plane":
        return [plane(seen, 6.0 * g), _ball(g)]
    R = seen.number(element.radius)
    if element.surface == "sphere":
        return [{"kind": "sphere", "radius": R, **look}, _ball(g)]
    if element.surface == "cylinder":
        z = seen.relative(0, 1)[:, 2]
        low, high = float(z.min()) - R, float(z.max()) + R
        return [
            {"kind": "cylinder", "radius": R, "inner_radius": R, "length": high - low, "offset": (0.0, 0.0, 0.5 * (low + high)), **look},
            _ball(g),
        ]  # fmt: skip
    return [{"kind": "torus", "radius": R, "tube_radius": seen.number(element.tube), **look}, _ball(g)]


def height_field(element: Any, seen: Any) -> list[Any]:
    from scipy.interpolate import RectBivariateSpline

    x, y, z = (np.asarray(a, dtype=np.float64) for a in (element.x, element.y, element.heights))
    surface = RectBivariateSpline(x, y, z)
    fine_x, fine_y = np.linspace(x[0], x[-1], 41), np.linspace(y[0], y[-1], 41)
    grid = surface(fine_x, fine_y)
    X, Y = np.meshgrid(fine_x, fine_y, indexing="ij")
    k = np.arange(41 * 41).reshape(41, 41)
    a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel(), k[:-1, 1:].ravel()
    faces = np.vstack([np.column_stack((a, b, c)), np.column_stack((a, c, d))])
    vertices = np.column_stack((X.ravel(), Y.ravel(), grid.ravel()))
    mesh = {
        "kind": "mesh",
        "end": 0,
        "vertices": vertices.tolist(),
        "faces": faces.tolist(),
        "color": PLANE,
        "layer": "ground",
    }
    return [mesh, _ball(seen.girth)]


def _ball(g: float) -> dict[str, Any]:
    return {"kind": "sphere", "end": 1, "radius": 1.2 * g, "color": STEEL}


def on_surface(element: Any, seen: Any) -> list[Any]:
    return [_ball(seen.girth)]


def knife_edge(element: Any, seen: Any) -> list[Any]:
    g = seen.girth
    return [{"kind": "box", "end": 1, "size": (6.0 * g, 0.3 * g, 1.6 * g), "color": STEEL}]


def rolling_disk(element: Any, seen: Any) -> list[Any]:
    r = seen.number(element.radius)
    if seen.shaped(1):
        return [plane(seen, 1.5 * r)]
    tube = min(0.08 * r, 0.8 * seen.girth)
    disk = {
        "kind": "cylinder",
        "end": 1,
        "radius": r - tube,
        "length": 0.6 * tube,
        "color": "#58b3dd",
        "alpha": 0.6,
    }
    return [
        {"kind": "torus", "end": 1, "radius": r - tube, "tube_radius": tube, "color": DARK},
        disk,
        plane(seen, 1.5 * r),
    ]


def rolling_ball(element: Any, seen: Any) -> list[Any]:
    r = seen.number(element.radius)
    ball = [] if seen.shaped(1) else [{"kind": "sphere", "end": 1, "radius": r, "color": "#58b3dd"}]
    return [*ball, plane(seen, 2.0 * r)]


def wheels(element: Any, seen: Any) -> list[Any]:
    """Draw two wheels or gears; the numbers of a gear may be teeth, the distance of the ends says how large."""
    a, b = seen.number(element.radius_a), seen.number(element.radius_b)
    apart = float(np.linalg.norm(seen.relative(0, 1)[0, :2]))
    scale = apart / abs(a + b) if a + b else 1.0
    first = [] if seen.shaped(0) else wheel(0, scale * a, seen.girth)
    return [*first, *([] if seen.shaped(1) else wheel(1, scale * b, seen.girth, GEAR))]


def wheel(end: int, radius: float, g: float, color: str = CAM) -> list[Any]:
    """Draw a wheel with its axis along z of an end; a negative radius is a ring."""
    r = abs(radius)
    inner = {"inner_radius": r, "radius": 1.12 * r} if radius < 0.0 else {"radius": r}
    return [{"kind": "cylinder", "end": end, **inner, "length": 1.5 * g, "color": color}]


def rack(element: Any, seen: Any) -> list[Any]:
    g, r = seen.girth, seen.number(element.radius)
    x = seen.relative(0, 1)[:, 0]
    low, high = float(x.min()) - abs(r), float(x.max()) + abs(r)
    side = -1.0 if r > 0.0 else 1.0
    bar = {
        "kind": "box",
        "end": 0,
        "size": (high - low, g, 1.5 * g),
        "offset": (0.5 * (low + high), 0.5 * side * g, 0.0),
        "color": CAM,
    }
    return [bar, *([] if seen.shaped(1) else wheel(1, abs(r), g, GEAR))]


def joint(element: Any, seen: Any) -> list[Any]:
    return [{"kind": "sphere", "end": 0, "radius": 1.7 * seen.girth, "color": STEEL}]


DRAWINGS = {
    "Distance": rod, "RevoluteSpherical": rod, "RevoluteRevolute": rod, "RevoluteRevoluteOrthogonal": rod,
    "RevoluteCylindrical": rod, "RevoluteTranslational": rod, "CamFollower": cam_follower, "CurveOnCurve": curve_on_curve,
    "InPlane": in_plane, "InLine": in_line, "PointOnCurve": point_on_curve, "PointOnSurface": point_on_surface,
    "PointOnHeightField": height_field, "PointOnImplicitSurface": on_surface, "KnifeEdge": knife_edge,
    "RollingDisk": rolling_disk, "RollingBall": rolling_ball, "RollingWheel": wheels, "GearPair": wheels, "RackPair": rack,
    "ConstantVelocity": joint, "Parallel": nothing, "Perpendicular": nothing, "AtRotation": nothing, "RelativeOffset": nothing,
    "RelativeAngle": nothing, "PrescribedPose": nothing,
}  # fmt: skip
