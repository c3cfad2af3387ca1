"""Constraints on curves, surfaces and cams, composite joints and constraints that push only, placed where a mechanism stands."""

import numpy as np

import treemech as tm

from .parts import Part, frame, turn

SPATIAL = (
    "PointOnCurve", "PointOnHeightField", "PointOnImplicitSurface", "PrescribedPose", "RelativeDistance",
    "RevoluteSpherical", "RevoluteCylindrical", "Stop", "Ceiling",
)  # fmt: skip
# Their ends keep their z axes parallel, as those of planar mechanisms do
PLANAR = (
    "RollerOnCam", "RollingRoller", "KnifeOnCam", "FlatOnCam", "LiftingRoller", "CurveOnCurve", "GearPair", "RackPair",
    "RollingWheel", "RelativeAngle",
)  # fmt: skip
UNILATERAL = ("Stop", "Ceiling", "LiftingRoller")


def bowl(x, y, z):
    """Return zero on a surface."""
    return z - 0.3 * x * x + 0.2 * y * y * y


def spatial(kind, scene):
    """Return a constraint that holds as the scene stands, or None where it has no place."""
    rng, names = scene.rng, scene.bodies(2)
    if names is None:
        return None
    a, b = (scene.place(name) for name in names)
    (pa, Ra), (pb, _) = scene.world(a), scene.world(b)
    gap, c, draw = pb - pa, Ra.T @ (pb - pa), rng.uniform
    reach = float(np.linalg.norm(gap))
    if kind == "PointOnCurve":
        points = np.cumsum(draw(0.1, 0.5, (8, 3)), axis=0)
        start, degree = float(np.linalg.norm(points[3] - points[0]) + 0.1), int(rng.choice([3, 5]))
        points += _gap(tm.PointOnCurve(points, degree=degree), c, [start], 3)
        return Part(tm.PointOnCurve(points, start=start, degree=degree), (a, b), {})
    if kind == "PointOnHeightField":
        heights, grid = draw(-0.3, 0.3, (5, 5)), np.linspace(-2.0, 2.0, 5)
        x, y = grid + c[0] + 0.3, grid + c[1] - 0.2  # no knot: third derivatives jump there
        heights += _gap(tm.PointOnHeightField(x, y, heights), c, [], 1)
        return Part(tm.PointOnHeightField(x, y, heights), (a, b), {})
    if kind == "PointOnImplicitSurface":
        x, y = draw(-0.5, 0.5, 2)
        above = Ra @ np.array([x, y, -bowl(x, y, 0.0)])
        return Part(tm.PointOnImplicitSurface(bowl), (scene.place(a.body, pb - above, Ra), b), {})
    if kind == "PrescribedPose":
        if rng.random() < 0.5:
            return Part(tm.PrescribedPose(y=moving(rng, c[1])), (a, b), {})
        angles = draw(-0.8, 0.8, 3)
        R = Ra @ turn("x", angles[0]) @ turn("y", angles[1]) @ turn("z", angles[2])
        return Part(
            tm.PrescribedPose(rotation=(*angles[:2], moving(rng, angles[2]))),
            (a, scene.place(b.body, pb, R)),
            {},
        )
    if kind == "RelativeDistance":
        return Part(tm.RelativeDistance(moving(rng, reach)), (a, b), {}, True)
    if kind == "Stop":
        return Part(tm.InPlane(float(c[2]), unilateral=True), (a, b), {})
    if kind == "Ceiling":
        surface = tm.PointOnSurface("sphere", radius=reach, unilateral=True)
        return Part(surface, (a, b), {})
    flat = frame(gap, rng)[:, [2, 0, 1]]  # the x axis along the gap
    if kind == "RevoluteSpherical":
        return Part(tm.RevoluteSpherical(reach), (scene.place(a.body, pa, flat), b), {})
    if kind == "RevoluteCylindrical":
        axis = np.cos(0.8) * flat[:, 0] + np.sin(0.8) * flat[:, 1]
        length = float(np.cross(flat[:, 2], axis) @ gap)
        return Part(
            tm.RevoluteCylindrical(length),
            (scene.place(a.body, pa, flat), scene.place(b.body, pb, frame(axis, rng))),
            {},
        )
    raise ValueError(kind)


def _gap(constraint, c, s, n):
    """Return the n residuals of a constraint at the offset c and the unknowns s."""
    f = np.zeros(n)
    constraint.residual(c, np.eye(3), np.array(s), 0.0, f)
    return f


def moving(rng, value):
    """Return a number, or a signal that has this value at the start."""
    if rng.random() < 0.4:
        return float(value)
    size, phase = rng.uniform(0.02, 0.1), rng.uniform(-3, 3)
    return tm.Harmonic(size, rng.uniform(1, 5), phase, float(value - size * np.sin(phase)))


def planar(kind, scene):
    """Return a constraint between bodies of a planar mechanism, or None where it has no place."""
    rng, names = scene.rng, scene.bodies(2)
    if names is None:
        return None
    draw, tilt = rng.uniform, scene.poses["ground"][1]
    A, psi = tilt @ turn("z", draw(-3, 3)), draw(-3, 3)
    B = A @ turn("z", psi)
    pb = scene.poses[names[1]][0] + tilt @ np.array([*draw(-0.5, 0.5, 2), 0.0])

    def part(element, c, base=B):
        """Place both ends, the second at c from the first."""
        return Part(
            element,
            (scene.place(names[0], pb - A @ np.array([*c, 0.0]), A), scene.place(names[1], pb, base)),
            {},
        )

    if kind == "CurveOnCurve":
        ra, rb, middle, other = draw(0.2, 0.5), draw(0.1, 0.2), draw(-0.1, 0.1, 2), draw(-0.05, 0.05, 2)
        phi = draw(0.0, 2 * np.pi)
        n = np.array([np.cos(phi), np.sin(phi)])
        beta = (phi + np.pi - psi) % (2 * np.pi)
        C = turn("z", psi)[:2, :2]
        c = middle + ra * n + rb * n - C @ other
        pair = tm.CurveOnCurve(
            tm.Profile.circle(ra, middle), tm.Profile.circle(rb, other), start=(ra * phi, rb * beta)
        )
        return part(pair, c)
    if kind in ("GearPair", "RackPair", "RollingWheel"):
        ra, rb, phi = draw(0.1, 0.5), draw(0.1, 0.3), draw(-3, 3)
        c = (ra + rb) * np.array([np.cos(phi), np.sin(phi)])
        if kind == "GearPair":
            return part(tm.GearPair(ra, rb, phase=float((ra + rb) / rb * phi - psi)), c)
        if kind == "RackPair":
            return part(tm.RackPair(rb, offset=float(c[0] + rb * psi)), (c[0], rb))
        return part(tm.RollingWheel(ra, rb), c)
    if kind == "RelativeAngle":
        return part(tm.RelativeAngle(moving(rng, psi)), draw(-0.5, 0.5, 2))
    outline = (
        tm.Profile.polar(draw(0.3, 0.36, 8))
        if kind != "FlatOnCam" and rng.random() < 0.5
        else tm.Profile.circle(0.3, draw(-0.1, 0.1, 2))
    )
    s = draw(0.0, outline.length)
    x, y, dx, dy = outline.point(s)
    tangent = np.array([dx, dy]) / np.hypot(dx, dy)
    n = np.array([tangent[1], -tangent[0]])
    if kind == "FlatOnCam":
        facing = np.column_stack(([*(-tangent), 0.0], [*n, 0.0], [0.0, 0.0, 1.0]))
        return part(
            tm.CamFollower(outline, "flat", start=s), np.array([x, y]) + draw(-0.3, 0.3) * tangent, A @ facing
        )
    if kind == "KnifeOnCam":
        return part(tm.CamFollower(outline, "knife", start=s), (x, y))
    how = {"RollingRoller": {"rolling": True}, "LiftingRoller": {"unilateral": True}}.get(kind, {})
    return part(tm.CamFollower(outline, "roller", radius=0.05, start=s, **how), np.array([x, y]) + 0.05 * n)
