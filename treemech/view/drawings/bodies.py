"""Marks of bodies: their shapes, or links through all their attachments."""

from collections.abc import Sequence

import numpy as np

from treemech.topology.arrays import Floats

from ..meshes.polygons import hull, rounded
from ..scene.scene import Place
from .marks import Mark, solid
from .model import Model, Rotor, distinct

FAINT = 0.35


def body_marks(model: Model, elements: Sequence[Mark] = ()) -> list[Mark]:
    """Return the marks of all bodies, the ground too if it has shapes.

    A body without extent needs no symbol if the marks of the elements show it as a wheel, a roller or a ball.
    """
    found = []
    rolled = {
        mark["at"][0]
        for mark in elements
        if mark["owner"][1] in ("constraint", "element")
        and mark["kind"] in ("sphere", "cylinder", "torus")
        and mark["at"][0] not in (0, "inner")
        and mark.get("radius", 0.0) > 2.0 * model.girth(mark["at"][0])
    }
    for k, body in enumerate(model.info.bodies):
        owner, layer = (body.name, "body" if k else "ground"), "bodies" if k else "ground"
        place = Place(k, np.zeros(3), np.eye(3))
        if body.shapes:
            slender = (
                {"radius": 0.8 * model.girth(k)} if k else {}
            )  # of rods, which have no thickness of their own
            found += [
                solid(
                    shape["kind"], place, layer, owner,
                    **{**(slender if shape["kind"] == "line" else {}), **{n: x for n, x in shape.items() if n != "kind"}},
                )
                for shape in body.shapes
            ]  # fmt: skip
        elif k:
            massless = body.mass <= 0.0
            com = None if massless else np.asarray(body.com, dtype=np.float64)
            shapes = link_shapes(model.attachments[k], com, model.girth(k), model.span)
            if k in rolled and len(shapes) == 1 and shapes[0]["kind"] in ("box", "sphere"):
                continue
            if k in model.rotors:
                shapes = [rotor_shape(model.rotors[k], model.girth(k))]
            for shape in shapes:
                if massless:
                    shape = {**shape, "alpha": FAINT}
                found.append(solid(shape.pop("kind"), place, layer, owner, **shape))
    return found


def rotor_shape(rotor: Rotor, girth: float) -> Mark:
    """Return a disk about the axis of a body without extent, or a ring around what turns inside it."""
    from ..meshes.solids import upright

    placing = {"offset": rotor.centre.tolist(), "rotation": upright(rotor.axis).tolist()}
    step = 0.75**rotor.among
    if rotor.ring:
        return {"kind": "torus", "radius": rotor.radius, "tube_radius": 0.09 * rotor.radius, **placing}
    return {
        "kind": "cylinder",
        "radius": step * rotor.radius,
        "length": 0.35 / step**2 * rotor.radius,
        **placing,
    }


def link_shapes(points: list[Floats], com: Floats | None, girth: float, span: float) -> list[Mark]:
    """Return shapes for a body without shapes, through all its attachments.

    Two points give a bar, points in a line the longest bar, points in a plane a plate with round corners, and
    points in space bars to their middle. The centre of mass counts as a point where it is far from the
    others; of a body with one attachment it is the other end, with a ball.

    Parameters
    ----------
    points : attachments in body axes
    com : centre of mass, None without mass
    girth : half thickness of bars [m]
    span : usual length of a body [m]; a body without extent becomes a cube in proportion to it

    Examples
    --------
    >>> x = [np.array(p, dtype=float) for p in ((0, 0, 0), (1, 0, 0), (0, 1, 0))]
    >>> [s["kind"] for s in link_shapes(x[:2], x[0] + 0.5 * x[1], 0.03, 1.0)], link_shapes(x, None, 0.03, 1.0)[0]["kind"]
    (['capsule'], 'polygon')
    """
    ends = distinct(points, 1e-6 * span)
    if com is not None and np.isfinite(com).all() and _stands_out(ends, com, 4.0 * girth):
        ends.append(com)
        with_ball = len(ends) == 2
    else:
        with_ball = False
    if not ends:
        ends = [np.zeros(3)]
    if len(ends) == 1:
        if com is None:
            return [{"kind": "sphere", "radius": 0.8 * girth, "offset": ends[0].tolist()}]
        return [{"kind": "box", "size": [0.16 * span] * 3, "offset": ends[0].tolist()}]
    middle = np.mean(ends, axis=0)
    _, spread, axes = np.linalg.svd(np.array(ends) - middle, full_matrices=True)
    spread = np.concatenate((spread, np.zeros(3 - len(spread))))
    if spread[1] < 0.02 * spread[0]:  # in a line
        along = (np.array(ends) - middle) @ axes[0]
        shapes = [_bar(ends[int(along.argmin())], ends[int(along.argmax())], girth)]
        if with_ball:
            shapes.append({"kind": "sphere", "radius": 2.6 * girth, "offset": ends[-1].tolist()})
        return shapes
    if spread[2] < 0.05 * spread[0]:  # in a plane
        if np.linalg.det(axes) < 0.0:
            axes = axes * np.array([[1.0], [1.0], [-1.0]])
        flat = (np.array(ends) - middle) @ axes[:2].T
        outline = rounded(hull(flat), 1.25 * girth)
        return [
            {
                "kind": "polygon", "points": outline.tolist(), "thickness": 1.3 * girth, "smooth": True, "offset": middle.tolist(),
                "rotation": axes.T.tolist(),
            }
        ]  # fmt: skip
    hub = middle if com is None else com
    shapes = [_bar(x, hub, girth) for x in ends if np.linalg.norm(x - hub) > girth]
    return [*shapes, {"kind": "sphere", "radius": 1.6 * girth, "offset": hub.tolist()}]


def _stands_out(ends: list[Floats], com: Floats, near: float) -> bool:
    """Return whether the centre of mass is apart from the line between two attachments, or from the only one."""
    if not ends:
        return True
    if len(ends) == 1:
        return bool(np.linalg.norm(com - ends[0]) > 0.25 * near)
    if len(ends) > 2:
        return False
    a, b = ends
    t = float(np.clip((com - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0))
    return bool(np.linalg.norm(a + t * (b - a) - com) > max(near, 0.2 * float(np.linalg.norm(b - a))))


def _bar(a: Floats, b: Floats, girth: float) -> Mark:
    from ..meshes.solids import upright

    length = float(np.linalg.norm(b - a))
    return {
        "kind": "capsule", "radius": girth, "length": length, "offset": (0.5 * (a + b)).tolist(),
        "rotation": upright(b - a).tolist(),
    }  # fmt: skip
