"""Axes of a hinge from its own motion space (3.3.36): the screw of every speed, and on which end it stands still.

With the partials v, w of a speed, end b turns about a line through c + w x v / w.w along w, and advances
w.v / w.w along it; without w it slides along v. The partials are evaluated, whatever the hinge is, so a
hinge of a user's own has axes too.
"""

from typing import Any, NamedTuple

import numpy as np

from treemech.elements import Hinge
from treemech.topology.arrays import Floats

from ..scene.scene import Place
from .model import Joined

SAMPLES = 7
STILL = 1e-6


class Axis(NamedTuple):
    """The axis of a speed: a place whose z axis it is, where it stands still; None if it moves on both ends."""

    turns: bool
    place: Place | None
    pitch: float  # advance per turn of one radian [m]
    moves: tuple[float, float]  # along a sliding axis, from the place [m]


class Screws(NamedTuple):
    """Lines of the speeds in the states (s, nu, 3), in the base of end a, and of end b in it."""

    turns: Floats  # (nu,) bool
    direction: Floats
    point: Floats
    pitch: Floats  # (s, nu)
    offset: Floats  # (s, 3)
    rotation: Floats  # (s, 3, 3)


def screws(hinge: Hinge, q: Floats, t: Floats) -> Screws:
    """Evaluate a hinge at some states (s, nq); constant partials that hide at one of them show at the others."""
    rows = []
    for numbers, time in zip(q, t, strict=True):
        m = hinge.motion(numbers, t=float(time))
        rows.append((m.translation_partials, m.rotation_partials, m.offset, m.rotation))
    v, w, c, C = (np.array(x, dtype=np.float64) for x in zip(*rows, strict=True))
    length = np.abs(v).max(initial=0.0) + np.abs(c).max(initial=0.0)
    rate = np.linalg.norm(w, axis=-1)
    turns = rate.max(axis=0, initial=0.0) > 1e-9
    square = np.where(rate > 0.0, rate, 1.0) ** 2
    slide = np.linalg.norm(v, axis=-1)
    direction = np.where(
        turns[:, None], w / np.sqrt(square)[..., None], v / np.where(slide > 0.0, slide, 1.0)[..., None]
    )
    arm = np.where(turns[:, None], np.cross(w, v) / square[..., None], 0.0)
    arm[np.abs(arm) < 1e-12 * (1.0 + length)] = 0.0
    pitch = np.where(turns, np.sum(w * v, axis=-1) / square, 0.0)
    return Screws(turns, direction, c[:, None] + arm, pitch, c, C)


def axes(joined: Joined, t: Floats) -> list[Axis]:
    """Return the axis of every speed of a hinge."""
    hinge, q = joined.element, joined.q
    if q is None or not hinge.n_speeds:
        return []
    good = np.flatnonzero(np.isfinite(q).all(axis=1))
    rows = good[np.unique(np.linspace(0, len(good) - 1, SAMPLES).astype(int))] if len(good) else good
    if not len(rows):
        return [Axis(True, None, 0.0, (0.0, 0.0))] * hinge.n_speeds
    samples, times = q[rows], t[rows]
    if hinge.euler_parameters is None:  # a hinge at rest in the run shows nothing: move it a little
        width = np.maximum(0.05, np.ptp(samples, axis=0))
        rng = np.random.default_rng(0)
        extra = samples[:1] + width * rng.uniform(-0.5, 0.5, (2, samples.shape[1]))
        samples, times = np.vstack((samples, extra)), np.concatenate((times, times[:1], times[:1]))
    try:
        found = screws(hinge, samples, times)
    except Exception:  # beside its domain: what the run passed must do
        found = screws(hinge, q[rows], t[rows])
    base = hinge.base()
    return [_axis(joined, found, k, base, len(rows)) for k in range(hinge.n_speeds)]


def _axis(joined: Joined, s: Screws, k: int, base: Floats, n: int) -> Axis:
    turns = bool(s.turns[k])
    d, p = s.direction[:, k], s.point[:, k]
    size = 1.0 + float(np.abs(s.offset).max())
    inverse = np.swapaxes(s.rotation, 1, 2)
    d_b = np.einsum("sij,sj->si", inverse, d)
    p_b = np.einsum("sij,sj->si", inverse, p - s.offset)
    pitch = float(s.pitch[:n, k].mean())
    for end, direction, point in ((joined.a, d, p), (joined.b, d_b, p_b)):
        still = np.abs(direction - direction[0]).max() < STILL
        if still and turns:
            off = point - point[0]
            still = np.abs(off - np.outer(off @ direction[0], direction[0])).max() < STILL * size
        if not still:
            continue
        z = direction[0]
        if turns:  # at the foot of the point of end b, or of end a
            foot = point[0] - (point[0] @ z) * z if end is joined.b else point[:n].mean(axis=0)
            return Axis(True, _oriented(end, base, foot, z), pitch, (0.0, 0.0))
        along = (s.offset[:n] @ z) if end is joined.a else -(s.offset[:n] * d[:n]).sum(axis=1)
        start = s.offset[0] - (s.offset[0] @ z) * z if end is joined.a else np.zeros(3)
        return Axis(False, _oriented(end, base, start, z), 0.0, (float(along.min()), float(along.max())))
    return Axis(turns, None, pitch, (0.0, 0.0))


def _oriented(end: Place, base: Floats, point: Floats, z: Floats) -> Place:
    """Return a place at an end, with z along a direction given in the base in which the hinge is written."""
    from ..meshes.solids import upright

    return end.at(base @ point, base @ upright(z))


def centre(hinge: Hinge, q: Floats, t: float) -> tuple[int, Floats | None]:
    """Return the rank of the rotations, and the point of end a's base through which all their axes pass, or None.

    >>> from treemech.elements import Ball, Revolute
    >>> centre(Ball(), np.array([1.0, 0, 0, 0]), 0.0)[0], centre(Revolute("z"), np.zeros(1), 0.0)[0]
    (3, 1)
    """
    m = hinge.motion(q, t=t)
    v, w = m.translation_partials, m.rotation_partials
    turning = np.linalg.norm(w, axis=1) > 1e-9
    if not turning.any():
        return 0, None
    rank = int(np.linalg.matrix_rank(w[turning], tol=1e-6))
    # the point d from c with v + w x d = 0 for every turning speed
    rows = np.vstack([_cross(x) for x in w[turning]])
    wanted = -v[turning].ravel()
    d = np.linalg.lstsq(rows, wanted, rcond=1e-9)[0]
    size = 1.0 + float(np.abs(m.offset).max())
    meets = float(np.abs(rows @ d - wanted).max()) < 1e-6 * size
    return rank, m.offset + d if meets else None


def _cross(w: Floats) -> Floats:
    return np.array([(0.0, -w[2], w[1]), (w[2], 0.0, -w[0]), (-w[1], w[0], 0.0)])


def curve_points(joined: Joined, t: float) -> Any:
    """Return the line on which end b of a hinge with one coordinate moves, in the body of end a, over the run."""
    hinge, q = joined.element, joined.q
    assert q is not None
    low, high = float(np.nanmin(q)), float(np.nanmax(q))
    start, stop = (float(np.ravel(x)[0]) for x in hinge.domain())
    named = type(hinge).domain is not Hinge.domain
    margin = 0.15 * max(high - low, 0.2 * (stop - start) if named else 0.2)
    low, high = (min(low, start), max(high, stop)) if named else (low - margin, high + margin)
    points = []
    for x in np.linspace(low, high, int(np.clip(32.0 * (high - low), 121, 361))):
        try:
            points.append(np.array(hinge.motion([x], t=t).offset, dtype=np.float64))
        except Exception:  # outside of what the hinge can do
            continue
    base = hinge.base()
    return np.array(
        [joined.a.offset + joined.a.rotation @ (base @ p) for p in points if np.isfinite(p).all()]
    )
