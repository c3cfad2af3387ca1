"""Marks of hinges, from their own motion space: pins, rails, balls, crosses, threads and curves; and of the ground."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from treemech.topology.arrays import Floats

from ..meshes.solids import upright
from ..scene.scene import DARK, GROUND, STEEL, Place
from .axes import Axis, axes, centre, curve_points
from .described import described_marks, own_drawing
from .marks import Mark, placed, solid
from .model import Joined, Model

PIN, RAIL = DARK, "#9aa5b3"
SHORT = 0.06  # half thickness of links, in their lengths, from which on their hinges are drawn small


def hinge_marks(model: Model) -> list[Mark]:
    """Return the marks of all hinges, cut or not."""
    found: list[Mark] = []
    for joined in model.joined:
        if joined.is_hinge:
            found += _marks(model, joined)
    if model.core is None:
        for h in model.info.hinges:
            if h.nu < 6:
                place = Place(h.body_b, np.asarray(h.offset_b, dtype=np.float64), np.eye(3))
                found.append(
                    solid(
                        "sphere",
                        place,
                        "hinges",
                        (h.name, "hinge"),
                        radius=1.3 * model.girth(h.body_b),
                        color=STEEL,
                    )
                )
    return found


def _marks(model: Model, joined: Joined) -> Iterator[Mark]:
    owner = (joined.name, "hinge")
    drawing = own_drawing(joined.element)
    if drawing is not None:
        yield from described_marks(model, joined.element, drawing, [joined.a, joined.b], owner, "hinges")
        return
    t = model.frames.t
    found = axes(joined, t)
    g = _girth(model, joined)
    sliding = [axis for axis in found if not axis.turns]
    turning = [axis for axis in found if axis.turns]
    rank, meeting = _centre(joined, float(t[0]))
    if rank == 3 and _rank(joined, float(t[0])) == 6:
        return  # free: nothing joins the bodies
    if not found:
        yield from _fixed(model, joined, owner, g)
        return
    if rank == 3 and meeting is not None:
        yield solid("sphere", meeting, "hinges", owner, radius=1.45 * g, color=STEEL)
        yield from _ground(model, joined, meeting, None, g)
    elif len(found) == 1 and found[0].place is None:
        yield from _curve(model, joined, owner, g)
    else:
        cross = rank == 2 and len(turning) == 2 and meeting is not None
        if cross and meeting is not None:
            yield solid("sphere", meeting, "hinges", owner, radius=1.2 * g, color=STEEL)
            yield from _ground(model, joined, meeting, None, g)
        for axis in turning:
            yield from _pin(model, joined, axis, owner, g, meeting if cross else None)
    yield from _slides(model, joined, sliding, owner, g)


def _girth(model: Model, joined: Joined) -> float:
    own = [model.girth(end.part) for end in (joined.a, joined.b) if end.part]
    return min(max(own), 2.0 * min(own)) if own else 0.03 * model.span


def _state(joined: Joined) -> Floats:
    assert joined.q is not None
    good = joined.q[np.isfinite(joined.q).all(axis=1)]
    return np.asarray(good[0] if len(good) else joined.element.reference())


def _centre(joined: Joined, t: float) -> tuple[int, Place | None]:
    """Return the rank of the rotations and the place where their axes meet."""
    hinge, q = joined.element, _state(joined)
    rank, point = centre(hinge, q, t)
    if point is None:
        return rank, None
    m, base = hinge.motion(q, t=t), hinge.base()
    apart = point - m.offset
    if float(np.linalg.norm(apart)) < 1e-9 * (1.0 + float(np.abs(m.offset).max())):
        return rank, joined.b
    return rank, joined.a.at(base @ point) if rank < 3 else joined.b.at(base @ m.rotation.T @ apart)


def _rank(joined: Joined, t: float) -> int:
    m = joined.element.motion(_state(joined), t=t)
    return int(np.linalg.matrix_rank(np.hstack((m.translation_partials, m.rotation_partials)), tol=1e-9))


def _pin(
    model: Model, joined: Joined, axis: Axis, owner: tuple[str, str], g: float, hub: Place | None
) -> Iterator[Mark]:
    if axis.place is None:
        if hub is None:
            yield solid("sphere", joined.b, "hinges", owner, radius=1.2 * g, color=STEEL)
        return
    z = np.array((0.0, 0.0, 1.0))
    if hub is not None:  # an arm of the cross
        place = axis.place
        yield solid("cylinder", place, "hinges", owner, radius=0.5 * g, length=5.0 * g, color=PIN)
        return
    reach = max(
        model.thickness(axis.place, z), *(_other(model, end, axis.place, z) for end in (joined.a, joined.b))
    )
    half = min(max(reach, g) + 0.25 * g, 0.6 * model.span)
    place = axis.place
    if g > SHORT * model.span:  # of a long chain: a pin alone leaves the short links to be seen
        yield solid("cylinder", place, "hinges", owner, radius=0.7 * g, length=2.0 * half, color=STEEL)
    else:
        yield solid("cylinder", place, "hinges", owner, radius=1.35 * g, length=2.0 * half, color=STEEL)
        yield solid(
            "cylinder", place, "hinges", owner, radius=0.6 * g, length=2.0 * half + 0.7 * g, color=PIN
        )
    if abs(axis.pitch) > 1e-9 * model.size and joined.q is not None:
        travel = abs(axis.pitch) * float(np.ptp(joined.q[:, 0])) + 6.0 * g
        turns = float(np.clip(travel / (2.0 * np.pi * abs(axis.pitch)), 1.0, 40.0))
        angle = np.linspace(0.0, 2.0 * np.pi * turns, int(16 * turns) + 1)
        line = np.column_stack(
            (
                0.8 * g * np.cos(angle),
                np.sign(axis.pitch) * 0.8 * g * np.sin(angle),
                travel * (angle / angle[-1] - 0.5),
            )
        )
        yield solid("line", place, "hinges", owner, points=line.tolist(), radius=0.2 * g, color=RAIL)
        yield solid("cylinder", place, "hinges", owner, radius=0.7 * g, length=travel, color=PIN)
    yield from _ground(model, joined, place, z, g)


def _other(model: Model, end: Place, place: Place, z: Floats) -> float:
    """Return the reach of the body of an end along the axis, if the axis stands on the other body."""
    if end.part == place.part or not end.part:
        return 0.0
    n = min(1, len(model.frames.t) - 1)
    _, turned = model.pose(place)
    _, own = model.pose(end)
    return model.thickness(end, own[n].T @ turned[n] @ z)


def _slides(
    model: Model, joined: Joined, sliding: list[Axis], owner: tuple[str, str], g: float
) -> Iterator[Mark]:
    still = [axis for axis in sliding if axis.place is not None]
    if not sliding:
        return
    if len(sliding) == 1:
        for axis in still:
            yield from _rail(model, joined, axis, owner, g)
    elif len(sliding) == 2 and len(still) == 2:
        a, b = (axis.place for axis in still)
        if a is not None and b is not None and a.part == b.part:
            yield from _table(joined, still, owner, g)
    if len(sliding) > 1:
        yield solid("box", joined.b, "hinges", owner, size=[2.6 * g] * 3, color=STEEL)


def _rail(model: Model, joined: Joined, axis: Axis, owner: tuple[str, str], g: float) -> Iterator[Mark]:
    place = axis.place
    assert place is not None
    low, high = axis.moves[0] - 3.0 * g, axis.moves[1] + 3.0 * g
    middle = place.at((0.0, 0.0, 0.5 * (low + high)))
    yield solid("box", middle, "hinges", owner, size=[0.9 * g, 0.9 * g, high - low], color=RAIL)
    other = joined.b if place.part == joined.a.part and place.part != joined.b.part else joined.a
    n = min(1, len(model.frames.t) - 1)
    _, R = model.pose(place)
    _, own = model.pose(other)
    turned = own[n].T @ R[n]
    yield solid(
        "box", other.at(rotation=turned), "hinges", owner, size=[2.7 * g, 2.7 * g, 3.4 * g], color=STEEL
    )
    if place.part == 0 or other.part == 0:
        for z in (low, high):
            yield from _post(model, place.at((0.0, 0.0, z)) if place.part == 0 else other, g)


def _table(joined: Joined, sliding: list[Axis], owner: tuple[str, str], g: float) -> Iterator[Mark]:
    """Mark the plane of two sliding axes by a plate as large as the motion."""
    first, second = sliding
    assert first.place is not None and second.place is not None
    x, y = first.place.rotation[:, 2], second.place.rotation[:, 2]
    z = np.cross(x, y)
    if np.linalg.norm(z) < 1e-6 or abs(x @ y) > 1e-6:
        return
    (x0, x1), (y0, y1) = first.moves, second.moves
    origin = joined.a.offset if first.place.part == joined.a.part else joined.b.offset
    level = (first.place.offset - origin) @ z
    centre_point = origin + 0.5 * (x0 + x1) * x + 0.5 * (y0 + y1) * y + level * z
    place = Place(first.place.part, centre_point, np.column_stack((x, y, z)))
    size = [x1 - x0 + 8.0 * g, y1 - y0 + 8.0 * g, 0.12 * g]
    yield solid("box", place, "surfaces", owner, size=size, color=RAIL, alpha=0.22)


def _curve(model: Model, joined: Joined, owner: tuple[str, str], g: float) -> Iterator[Mark]:
    t = float(model.frames.t[0])
    points = curve_points(joined, t)
    if len(points) > 1 and np.ptp(points, axis=0).max() > 1e-9 * model.size:
        place = Place(joined.a.part, np.zeros(3), np.eye(3))
        yield solid("line", place, "hinges", owner, points=points.tolist(), radius=0.45 * g, color=RAIL)
    yield solid("sphere", joined.b, "hinges", owner, radius=1.5 * g, color=STEEL)


def _fixed(model: Model, joined: Joined, owner: tuple[str, str], g: float) -> Iterator[Mark]:
    """Mark a hinge without coordinates: a clamp, or the line on which it is moved."""
    t = np.linspace(float(model.frames.t[0]), float(model.frames.t[-1]), 161)
    points = np.array([joined.element.motion([], t=time).offset for time in t]) @ joined.element.base().T
    if np.ptp(points, axis=0).max() > 1e-9 * model.size:
        line = joined.a.offset + points @ joined.a.rotation.T
        place = Place(joined.a.part, np.zeros(3), np.eye(3))
        yield solid("line", place, "hinges", owner, points=line[::2].tolist(), radius=0.2 * g, color=RAIL)
    yield solid("box", joined.b, "hinges", owner, size=[2.2 * g] * 3, color=STEEL)
    if 0 in (joined.a.part, joined.b.part):
        yield from _post(model, joined.a if joined.a.part == 0 else joined.b, g)


# ---------------------------------------------------------------- where bodies meet the ground
def _ground(model: Model, joined: Joined, place: Place, axis: Floats | None, g: float) -> Iterator[Mark]:
    if 0 not in (joined.a.part, joined.b.part):
        return
    end = joined.a if joined.a.part == 0 else joined.b
    if place.part == 0:
        yield from bracket(model, place, axis, g)
    else:  # the axis stands on the moving body: the ground holds it where it is
        position, turned = model.pose(place)
        moves = float(np.nanmax(np.ptp(position, axis=0)))
        if moves > 1e-6 * model.size and sum(not a.turns for a in axes(joined, model.frames.t)) > 1:
            return  # it goes about in a plane: there is no support
        direction = None if axis is None else turned[0] @ axis
        still = Place(0, position[0] if moves < 1e-6 * model.size else end.offset, np.eye(3))
        yield from bracket(model, still, direction, g)


def bracket(model: Model, place: Place, axis: Floats | None, g: float) -> Iterator[Mark]:
    """Mark a support of the ground below a pin, or below a ball without axis."""
    up, owner = model.up, ("ground", "ground")
    z = None if axis is None else place.rotation @ axis
    if z is None or abs(z @ up) > 0.8:
        down = Place(0, place.offset - 4.2 * g * up, upright(up))
        yield solid(
            "cone", down, "ground", owner, radius=2.4 * g, top_radius=0.9 * g, length=3.4 * g, color=GROUND
        )
        yield solid("cylinder", down, "ground", owner, radius=3.4 * g, length=0.5 * g, color=DARK)
        return
    side = np.cross(up, z)
    side /= np.linalg.norm(side)
    below = np.cross(z, side)
    below = below if below @ up > 0.0 else -below
    turned = np.column_stack((np.cross(below, z), below, z))
    outline = [(-2.1 * g, -3.6 * g), (2.1 * g, -3.6 * g), (0.75 * g, 0.3 * g), (-0.75 * g, 0.3 * g)]
    for shift in (-1.75 * g, 1.75 * g):
        cheek = Place(0, place.offset + shift * z, turned)
        yield solid("polygon", cheek, "ground", owner, points=outline, thickness=0.45 * g, color=GROUND)
    base = Place(0, place.offset - 3.85 * g * below, turned)
    yield solid("box", base, "ground", owner, size=[5.6 * g, 0.5 * g, 5.2 * g], color=DARK)


def _post(model: Model, place: Place, g: float) -> Iterator[Mark]:
    """Mark a point of the ground by a small block below it."""
    yield foot(Place(0, place.offset, np.eye(3)), model.up, g)


def foot(place: Place, up: Floats, g: float) -> Mark:
    """Return the mark of a point of the ground where an element ends."""
    below = Place(0, place.offset - 1.1 * g * up, upright(up))
    return solid(
        "cone",
        below,
        "ground",
        ("ground", "ground"),
        radius=1.5 * g,
        top_radius=0.5 * g,
        length=1.1 * g,
        color=GROUND,
    )


def axis_places(model: Model, name: str, number: int) -> dict[str, Any] | None:
    """Return the axis of a coordinate of a hinge, for elements that act on it: place, whether it turns, girth."""
    for joined in model.joined:
        if joined.is_hinge and joined.name == name:
            found = axes(joined, model.frames.t)
            g = _girth(model, joined)
            place = found[number].place if number < len(found) else None
            turns = found[number].turns if number < len(found) else True
            return {
                "at": placed(place or joined.b),
                "place": place or joined.b,
                "turns": turns,
                "girth": g,
                "joined": joined,
            }
    return None
