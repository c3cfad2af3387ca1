"""Elements, constraints and couplings that fit a mechanism as it stands: the factories of the parts a recipe names."""

from typing import Any, NamedTuple

import numpy as np

import treemech as tm
from tests.support.models import rotation

from .foreign import Band, LaggingDrive, Parabola, Wind, bevel


class End(NamedTuple):
    """A place on a body: its point and base in the axes of the body."""

    body: str
    offset: Any
    base: Any


class Part(NamedTuple):
    """An element with its ends: places on bodies, or one hinge by name; `inputs` of active elements."""

    element: Any
    ends: tuple
    inputs: dict
    symmetric: bool = False  # whether its ends may be exchanged
    reaction_of: str | None = None  # hinge on whose load it depends


class Scene:
    """Poses of bodies at the start, from which parts find ends that fit."""

    def __init__(self, poses, joints, rng, floating=False):
        self.poses, self.rng, self.floating = poses, rng, floating
        self.hinges = {name: (joint.kind, joint.q) for name, joint in joints.items()}
        self.ends = {name: joint.ends for name, joint in joints.items()}

    def place(self, body, point=None, base=None):
        """Return the end of a body at a point and with a base of the world (default: at random)."""
        x, B = self.poses[body]
        if point is None:
            point = x + B @ self.rng.uniform(-0.5, 0.5, 3)
        return End(body, B.T @ (point - x), B.T @ (rotation(self.rng) if base is None else base))

    def world(self, end):
        x, B = self.poses[end.body]
        return x + B @ end.offset, B @ end.base

    def bodies(self, n, ground=True):
        """Return n different bodies; the ground counts as one where it may."""
        names = [b for b in self.poses if b != "ground" or (ground and not self.floating)]
        if len(names) < n:
            return None
        return [names[k] for k in self.rng.choice(len(names), n, replace=False)]

    def hinge(self, kinds=("Revolute", "Prismatic"), n=1, taken=()):
        """Return n hinges of a kind by name, or None."""
        names = [h for h, (kind, _) in self.hinges.items() if kind in kinds and h not in taken]
        if len(names) < n:
            return None
        return [names[k] for k in self.rng.choice(len(names), n, replace=False)]

    def coordinate(self, taken=()):
        """Return the name of one coordinate of a hinge of several, whose rates are speeds, and its value; or None."""
        names = [
            (f"{name}[{k}]", float(q[k]))
            for name, (kind, q) in self.hinges.items()
            if kind in SEVERAL and name not in taken
            for k in range(len(q))
            if f"{name}[{k}]" not in taken
        ]
        return names[int(self.rng.integers(len(names)))] if names else None


SEVERAL = ("Cylindrical", "Universal", "Polar", "Planar", "Translation", "BallBryant", "Series", "Swivel")


def hinge_of(name):
    """Return the hinge of a coordinate by name: "h3" of "h3[1]"."""
    return name.split("[")[0]


def frame(z, rng):
    """Return a base with this z axis."""
    z = z / np.linalg.norm(z)
    x = np.cross(z, rng.normal(size=3))
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(z, x), z))


# ---------------------------------------------------------------- constraints
def constraint(kind, scene):
    """Return a constraint that holds as the scene stands, or None where it has no place."""
    rng, names = scene.rng, scene.bodies(2)
    if names is None:
        return None
    a, b = (scene.place(name) for name in names)
    (pa, Ra), (pb, _) = scene.world(a), scene.world(b)
    gap, c = pb - pa, Ra.T @ (pb - pa)
    reach = float(np.linalg.norm(gap))
    if kind == "Distance":
        return Part(tm.Distance(reach), (a, b), {}, True)
    if kind == "InPlane":
        return Part(tm.InPlane(float(c[2])), (a, b), {})
    if kind == "InLine":
        return Part(tm.InLine(), (scene.place(a.body, pa, frame(gap, rng)), b), {})
    if kind == "Parallel":
        return Part(tm.Parallel(), (a, scene.place(b.body, pb, frame(Ra[:, 2], rng))), {}, True)
    if kind == "Perpendicular":
        return Part(tm.Perpendicular("z", "x"), (a, scene.place(b.body, pb, frame(Ra[:, 2], rng))), {})
    if kind == "AtRotation":
        return Part(tm.AtRotation(), (a, scene.place(b.body, pb, Ra)), {}, True)
    if kind == "RelativeOffset":
        return Part(tm.RelativeOffset("x", float(c[0])), (a, b), {})
    if kind == "PointOnSurface":
        return Part(tm.PointOnSurface("cylinder", radius=float(np.hypot(c[0], c[1]))), (a, b), {})
    if kind == "ConstantVelocity":
        bend = Ra @ turn("x", rng.uniform(-0.8, 0.8))
        return Part(tm.ConstantVelocity(), (a, scene.place(b.body, pa, bend)), {}, True)
    if kind == "KnifeEdge":
        return Part(tm.KnifeEdge(), (a, b), {})
    if kind == "RollingBall":
        return Part(tm.RollingBall(radius=float(abs(c[2])) + 0.0), _above(scene, a, b, c), {})
    if kind == "RollingDisk":
        n = frame(Ra[:, 2], rng)
        tilt = frame(np.cos(0.9) * n[:, 0] + np.sin(0.9) * n[:, 2], rng)  # the axis of the disk leans
        steep = float(np.hypot(*(Ra.T @ tilt)[2, :2]))
        a, b = _above(scene, a, scene.place(b.body, pb, tilt), c)
        return Part(tm.RollingDisk(radius=float(abs(c[2]) / steep)), (a, b), {})
    raise ValueError(kind)


def _above(scene, a, b, c):
    """Return the ends with the plane of end a turned so that end b is on its positive side."""
    flip = np.diag([1.0, -1.0, -1.0]) if c[2] < 0 else np.eye(3)
    return End(a.body, a.offset, a.base @ flip), b


def turn(axis, angle):
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler(axis, angle).as_matrix()


# ---------------------------------------------------------------- couplings
def coupling(kind, scene, q, taken):
    """Return a coupling of hinges that fits their coordinates q, and the hinges; None where it has no place."""
    rng = scene.rng
    if kind == "CoordinateGear":
        return _gear_of_coordinates(scene, taken)
    kinds = {"RackAndPinion": (("Revolute",), ("Prismatic",))}.get(kind)
    if kinds:
        found = [scene.hinge(k, taken=taken) for k in kinds]
        names = None if None in found else [name for pair in found for name in pair]
    else:
        names = scene.hinge(n=3 if kind == "Differential" else 2, taken=taken)
    if names is None:
        return None
    at = [float(q[name][0]) for name in names]
    r = float(rng.uniform(0.4, 2.0))
    element = {
        "Mimic": lambda: tm.Mimic(r, at[1] - r * at[0]),
        "Gear": lambda: tm.Gear(r, phase=at[1] + r * at[0]),
        "Belt": lambda: tm.Belt(0.1 * r, 0.1, offset=0.1 * at[1] - 0.1 * r * at[0]),
        "Differential": lambda: tm.Differential(r, phase=at[0] - r * (at[1] + at[2]) / 2),
        "RackAndPinion": lambda: tm.RackAndPinion(0.1 * r, offset=at[1] - 0.1 * r * at[0]),
        "Parabola": lambda: Parabola(r, 0.3, at[1] - r * at[0] - 0.3 * at[0] ** 2),
        "VelocityRelation": lambda: tm.VelocityRelation(bevel),
    }[kind]()
    return element, names


def _gear_of_coordinates(scene, taken):
    """Return a gear between one coordinate of a hinge of several and another hinge."""
    place, names = scene.coordinate(taken), scene.hinge(taken=taken)
    if place is None or names is None:
        return None
    r, at = float(scene.rng.uniform(0.4, 2.0)), float(scene.hinges[names[0]][1][0])
    return tm.Gear(r, phase=at + r * place[1]), [place[0], names[0]]


# ---------------------------------------------------------------- elements
def element(kind, scene, taken=()):
    """Return an element placed so that it starts near its rest position, or None where it has no place."""
    return (_on_hinge if kind in _ON_HINGES else _between)(kind, scene, taken)


_ON_HINGES = (
    "RotationalSpring", "HingeStop", "ElectricMotor", "PositionServo", "Pid", "Friction", "ReactionFriction",
    "BristleFriction", "Controller", "LaggingDrive",
)  # fmt: skip


def _on_hinge(kind, scene, taken):
    rng, names = scene.rng, scene.hinge(taken=taken)
    if names is None:
        return None
    at = float(scene.hinges[names[0]][1][0])
    draw, inputs = rng.uniform, {}
    if kind == "RotationalSpring":
        made = tm.RotationalSpring(
            draw(1, 10), draw(0, 0.5), at + draw(-0.3, 0.3), tm.Harmonic(draw(0, 1), draw(1, 5))
        )
    elif kind == "HingeStop":
        made = tm.HingeStop(at - draw(0.02, 0.3), at + draw(0.02, 0.3), draw(100, 1e3), draw(0, 0.3))
    elif kind == "ElectricMotor":
        made, inputs = tm.ElectricMotor(0.5, 2.0, 0.05), {"voltage": tm.Harmonic(draw(1, 6), draw(1, 4))}
    elif kind == "PositionServo":
        made, inputs = (
            tm.PositionServo(4.0, 0.5, 2.0, 0.05),
            {"setpoint": tm.Harmonic(0.3, draw(1, 4), offset=at)},
        )
    elif kind == "Pid":
        made, inputs = tm.Pid(8.0, 2.0, 0.8, filter=0.05), {"setpoint": at + draw(-0.3, 0.3)}
    elif kind == "Friction":
        made = tm.Friction(draw(0.05, 0.3), radius=0.05, load=draw(5, 20), threshold=0.05)
    elif kind == "ReactionFriction":
        made = tm.Friction(draw(0.02, 0.1), radius=0.05, threshold=0.05)
    elif kind == "BristleFriction":
        made = tm.BristleFriction(draw(0.05, 0.3), radius=0.05, load=draw(5, 20), presliding=1e-2)
    elif kind == "LaggingDrive":
        made, inputs = LaggingDrive(draw(2, 8), draw(0.05, 0.3)), {"command": at + draw(-0.3, 0.3)}
    else:  # Controller
        made, inputs = tm.ElectricMotor(0.5, 2.0, 0.05), {"voltage": ("controller", names[0])}
    return Part(made, (names[0],), inputs)


def _between(kind, scene, taken):
    rng, draw = scene.rng, scene.rng.uniform
    wanted = {"PlaneElement": 3, "Path": 3, "Drag": 1, "Force": 1, "Moment": 1, "Wind": 1}.get(kind, 2)
    names = scene.bodies(wanted, ground=wanted > 1)
    if names is None:
        return None
    ends = tuple(scene.place(name) for name in names)
    at = [scene.world(end) for end in ends]
    reach = float(np.linalg.norm(at[-1][0] - at[0][0]))
    k, d, rest = draw(20, 150), draw(0, 1), reach * draw(0.7, 1.3)
    if kind == "Spring":
        return Part(tm.Spring(k, d, rest, tm.Harmonic(draw(0, 3), draw(1, 5))), ends, {}, True)
    if kind == "TensionSpring":
        return Part(tm.Spring(k, d, reach * draw(0.97, 1.03), only="tension"), ends, {}, True)
    if kind == "TableSpring":
        table = [
            (0.3 * reach, -20.0),
            (0.8 * reach, -4.0),
            (reach, 0.0),
            (1.5 * reach, 15.0),
            (3 * reach, 70.0),
        ]
        return Part(tm.TableSpring(table, damping=d), ends, {}, True)
    if kind == "Viscoelastic":
        return Part(tm.Viscoelastic(k, [draw(5, 50), draw(5, 50)], [0.1, 1.0], length=rest), ends, {}, True)
    if kind == "Fung":
        return Part(tm.Fung(k, [0.3, 0.2], [0.1, 1.0], length=rest, stiffening=draw(0, 2)), ends, {}, True)
    if kind == "FungHistory":
        made = tm.FungHistory(k, [0.0, 0.1, 1.0], [1.0, 0.8, 0.6], span=1.0, length=rest, samples=40)
        return Part(made, ends, {}, True)
    if kind == "RambergOsgood":
        return Part(tm.RambergOsgood(3 * k, 20.0, length=rest, exponent=3.0), ends, {}, True)
    if kind == "Path":
        return Part(tm.Path(k, d, 0.8 * rest), ends, {})
    if kind == "HydraulicActuator":
        return Part(
            tm.HydraulicActuator(1e-3, draw(1, 10)), ends, {"pressure": tm.Harmonic(3e3, draw(1, 4))}, True
        )
    if kind == "Muscle":
        made = tm.Muscle(max_force=30.0, optimal_length=0.55 * reach, tendon_length=0.5 * reach)
        return Part(made, ends, {"excitation": tm.Harmonic(0.3, draw(1, 4), offset=0.5)}, True)
    if kind == "Bushing":
        b = scene.place(ends[1].body, at[0][0] + draw(-0.02, 0.02, 3), at[0][1])
        return Part(tm.Bushing(draw(20, 80, 6), damping=draw(0, 0.5, 6)), (ends[0], b), {})
    if kind in ("Beam", "CorotationalBeam"):
        p, R = at[0]
        b = scene.place(ends[1].body, p + 0.8 * R[:, 0], R)
        beam = dict(
            axial_stiffness=300.0, bending_stiffness=(10.0, 15.0), torsion_stiffness=5.0, damping=0.01
        )
        return Part(getattr(tm, kind)(0.8, **beam), (ends[0], b), {})
    if kind == "PlaneElement":
        p, R = at[0]
        corners = [(0.0, 0.0), (1.0, 0.0), (0.4, 0.8)]
        placed = tuple(
            scene.place(end.body, p + R[:, :2] @ np.array(corner))
            for end, corner in zip(ends, corners, strict=True)
        )
        return Part(tm.PlaneElement(corners, 200.0, 0.3, 1.0, damping=0.01), placed, {})
    if kind == "SpherePlane":
        plane = frame(rng.normal(size=3), rng)
        under = scene.place(ends[0].body, at[1][0] - (0.1 + draw(-0.005, 0.05)) * plane[:, 2], plane)
        made = tm.SpherePlane(
            0.1, stiffness=draw(1e3, 1e4), damping=0.2, friction=draw(0, 0.4), slip_speed=0.05
        )
        return Part(made, (under, ends[1]), {})
    if kind == "SphereSphere":
        r = 0.5 * (reach - draw(-0.005, 0.02))
        made = tm.SphereSphere(
            r, r, stiffness=draw(1e3, 1e4), damping=0.2, friction=draw(0, 0.4), slip_speed=0.05
        )
        return Part(made, ends, {}, True)
    if kind == "Drag":
        return Part(tm.Drag(linear=draw(0.1, 0.5), wind_y=draw(-2, 2)), ends, {})
    if kind == "Force":
        return Part(tm.Force(x=draw(-2, 2), z=tm.Harmonic(draw(0, 3), draw(1, 5)), frame="body"), ends, {})
    if kind == "Moment":
        return Part(tm.Moment(y=draw(-1, 1), x=tm.Polynomial([0.1, draw(-1, 1)])), ends, {})
    if kind == "Band":
        return Part(Band(k, draw(0, 100), d, rest), ends, {}, True)
    if kind == "Wind":
        return Part(Wind(draw(-3, 3), draw(0, 2)), ends, {})
    if kind == "FramedComposite":
        p, R = at[0]
        b = scene.place(ends[1].body, p + draw(-0.02, 0.02, 3), R @ turn("y", draw(-0.5, 0.5)))
        series = tm.Composite(ends=("a", "b"), points={"n": 6})
        series.connect("damper", tm.Bushing(draw(20, 80, 6)), "a", "n")
        series.connect("spring", tm.Bushing(draw(20, 80, 6)), "n", "b")
        return Part(series, (ends[0], b), {})
    if kind in ("Composite", "ViscousComposite"):
        return Part(_series(k, d, reach, kind == "ViscousComposite"), ends, {})
    raise ValueError(kind)


def _series(k, d, reach, viscous):
    """Return two springs in series, joined in a massless point; or one of them a damper beside its spring."""
    if viscous:
        series = tm.Composite(ends=("a", "b"), points={"n": 1}, viscous=["n"])
        series.connect("damper", tm.Spring(k, 5.0 + d, 0.5 * reach), "a", "n")
    else:
        series = tm.Composite(ends=("a", "b"), points={"n": 1})
        series.connect("damper", tm.Spring(k, 0.0, 0.5 * reach), "a", "n")
    series.connect("spring", tm.Spring(2 * k, 0.0, 0.45 * reach), "n", "b")
    return series
