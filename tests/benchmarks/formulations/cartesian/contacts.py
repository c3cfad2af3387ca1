"""Models with one element each that has no elementary rows: gears, cams, curves, surfaces, rolling, couplings, general hinges.

Masses, places and axes are random but for what the element wants: parallel axes, distances of centres. Each entry of `CASES` is
(system maker, state maker, span), each of `PLANE` the same in a plane.
"""

from collections.abc import Callable
from math import cos, sin
from typing import Any

import numpy as np

import treemech as tm
from treemech.topology import Body

Case = tuple[Callable[[], tm.System], Callable[[tm.Mechanism], tm.State], float]
SPAN = 0.2


def _mass(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "mass": rng.uniform(0.5, 2.0),
        "inertia": rng.uniform(0.1, 0.15, 3),
        "com": rng.uniform(-0.1, 0.1, 3),
    }


def _carrier(plane: bool, seed: int) -> tuple[tm.System, Body, Callable[[str], Body]]:
    """Return a system, a body on which mechanisms are mounted, and a maker of more bodies."""
    rng = np.random.default_rng(seed)
    system = tm.System("contact", gravity=(0.5, -9.81, 0.0 if plane else -0.3))
    carrier = system.body("carrier", **_mass(rng))
    system.connect("carry", tm.Revolute("z") if plane else tm.Universal(), system.ground, carrier)
    return system, carrier, lambda name: system.body(name, **_mass(rng))


def mesh(element: tm.Constraint, distance: float, plane: bool) -> Case:
    """Return two wheels on a carrier, with an element between them; one runs fast."""

    def make() -> tm.System:
        system, carrier, body = _carrier(plane, 1)
        a, b = body("a"), body("b")
        at = (0.1 + distance * cos(0.4), distance * sin(0.4), 0.0)
        system.connect("A", tm.Revolute("z"), carrier.at((0.1, 0.0, 0.0)), a)
        system.connect("B", tm.Revolute("z"), carrier.at(at), b.at((0.02, 0.01, 0.0)))
        system.connect("C", element, a, b.at((0.02, 0.01, 0.0)))
        return system

    return make, lambda mech: mech.assemble(guess={"A": 0.3}, rates={"carry": _rate(plane), "A": 25.0}), SPAN


def _rate(plane: bool) -> Any:
    return 0.8 if plane else [0.8, -0.5]


def rack(plane: bool) -> Case:
    """Return a pinion and a rack on a carrier."""

    def make() -> tm.System:
        system, carrier, body = _carrier(plane, 2)
        a, b = body("rack"), body("pinion")
        system.connect("A", tm.Prismatic("x"), carrier, a)
        system.connect("B", tm.Revolute("z"), carrier.at((0.1, 0.1, 0.0)), b)
        system.connect("C", tm.RackPair(0.1, offset=0.05), a, b)
        return system

    return make, lambda mech: mech.assemble(guess={"A": 0.1}, rates={"carry": _rate(plane), "A": 1.5}), SPAN


def cam(element: tm.Constraint, height: float, plane: bool) -> Case:
    """Return a cam on a carrier, and a follower that slides on it; a roller turns on the follower."""
    rolling = getattr(element, "rolling", False)

    def make() -> tm.System:
        system, carrier, body = _carrier(plane, 3)
        a, b = body("cam"), body("follower")
        system.connect("A", tm.Revolute("z"), carrier.at((0.1, 0.0, 0.0)), a)
        system.connect("B", tm.Prismatic("y"), carrier.at((0.12, 0.0, 0.0)), b)
        end = b.at()
        if rolling:
            roller = body("roller")
            system.connect("R", tm.Revolute("z"), b, roller)
            end = roller.at()
        system.connect("C", element, a, end)
        system.connect("K", tm.Spring(40.0, 0.5, 0.1), carrier, b.at((0.0, 0.1, 0.0)))
        return system

    return (
        make,
        lambda mech: mech.assemble(guess={"A": 0.3, "B": height}, rates={"carry": _rate(plane), "A": 4.0}),
        SPAN,
    )


def loose(element: tm.Constraint, place: tuple[float, float, float] = (0.4, 0.3, 0.3)) -> Case:
    """Return a pendulum and a free body on a bushing, with an element between them."""

    def make() -> tm.System:
        rng = np.random.default_rng(4)
        system = tm.System("loose", gravity=(0.5, -0.3, -9.81))
        a, b = system.body("a", **_mass(rng)), system.body("b", **_mass(rng))
        system.connect("A", tm.Universal(), system.ground, a)
        system.connect("free", tm.Free(), system.ground, b)
        system.connect(
            "K", tm.Bushing((30.0, 40.0, 50.0, 4.0, 4.0, 4.0)), system.ground.at((0.6, 0.3, 0.4)), b
        )
        system.connect("C", element, a.at((0.1, 0.0, 0.05)), b.at((-0.05, 0.1, 0.05)))
        return system

    def start(mech: tm.Mechanism) -> tm.State:
        turn = np.array([0.9, 0.3, 0.2, -0.25])
        pose = [*place, *(turn / np.linalg.norm(turn))]
        return mech.assemble(guess={"A": [0.1, -0.1], "free": pose}, rates={"A": [0.6, -0.4]})

    return make, start, SPAN


def train(element: tm.Coupling, *names: str, plane: bool) -> Case:
    """Return wheels, one of them with its axis the other way round, and a slider on a carrier; a coupling joins their coordinates."""

    def make() -> tm.System:
        system, carrier, body = _carrier(plane, 5)
        system.connect("A", tm.Revolute("z"), carrier.at((0.1, 0.0, 0.0)), body("a"))
        system.connect("B", tm.Revolute((0, 0, -1)), carrier.at((0.3, 0.1, 0.0)), body("b").at((0.03, 0, 0)))
        axis = (0, 0, 1) if plane else (1, 2, 0)
        system.connect("D", tm.Revolute(axis), body("d"), carrier.at((-0.3, 0.1, 0.0)))
        system.connect("S", tm.Prismatic("x"), carrier.at((0.0, -0.1, 0.0)), body("s"))
        if not isinstance(element, tm.Gear):
            system.connect("coil", tm.RotationalSpring(stiffness=0.8, damping=0.05, angle=0.2), "A")
        system.couple("C", element, *names)
        return system

    rates = {"carry": _rate(plane), "A": 30.0} | ({} if names == ("A", "D") else {"D": 3.0})
    return make, lambda mech: mech.assemble(guess={"A": 0.3}, rates=rates), SPAN


class Helix(tm.Hinge):
    """A hinge of a user: a turn about z with an advance that grows with it, given by its pose alone."""

    n_coordinates = 1

    def pose(self, q, t, offset, rotation):  # type: ignore[no-untyped-def]
        offset[0] = 0.1 * q[0] * q[0]
        offset[2] = 0.2 * q[0]
        rotation[0, 0] = cos(q[0])
        rotation[0, 1] = -sin(q[0])
        rotation[1, 0] = sin(q[0])
        rotation[1, 1] = cos(q[0])


def hinges() -> Case:
    """Return a tree of hinges without elementary rows, with springs, a drive and a coupling on coordinates no row measures."""

    def make() -> tm.System:
        rng = np.random.default_rng(6)
        system = tm.System("hinges", gravity=(0.5, -0.3, -9.81))
        end = system.ground.at()
        curve = tm.Curve(
            [(0, 0, 0), (0.3, 0, 0.1), (0.6, 0.2, 0.1), (0.9, 0.3, 0), (1.2, 0.2, -0.2), (1.5, 0, -0.3)]
        )
        kinds = [curve, tm.Moving(x=lambda t: 0.1 + 0.2 * t, turn_y=lambda t: t * t), tm.Universal(), Helix(), tm.Polar(), tm.BallBryant()]  # fmt: skip
        for k, kind in enumerate(kinds):
            body = system.body(f"b{k}", **_mass(rng))
            ends = end, body.at(rng.uniform(-0.1, 0.1, 3))
            system.connect(f"h{k}", kind, *(ends if k % 2 else ends[::-1]))
            end = body.at(rng.uniform(-0.3, 0.3, 3))
        system.connect("coil", tm.RotationalSpring(stiffness=3.0, damping=0.1, angle=0.3), "h2[1]")
        system.connect("stay", tm.RotationalSpring(stiffness=20.0, damping=0.5), "h3")
        system.prescribe("h4", lambda t: 0.3 + 0.1 * t, coordinate=1)
        system.couple("C", tm.Gear(1.5, phase=0.2), "h2[0]", "h5[1]")
        return system

    guess = {"h0": 0.3, "h2": [0.2, 0.1], "h4": [0.1, 0.3, 0.2], "h5": [0.1, -0.2, 0.3]}
    return make, lambda mech: mech.assemble(guess=guess, rates={"h0": 0.2, "h2[0]": 0.5, "h3": 0.4}), SPAN


_CAM = tm.Profile.circle(0.2, centre=(0.05, 0.02))
_HILLS = np.array(
    [[0.02 * sin(3 * x) + 0.03 * cos(2 * y) for y in np.linspace(-2, 2, 12)] for x in np.linspace(-2, 2, 12)]
)


def _flat(plane: bool) -> dict[str, Case]:
    couplings: dict[str, tuple[tm.Coupling, tuple[str, ...]]] = {
        "Gear": (tm.Gear(2.0), ("A", "B")),
        "Gear driven": (tm.Gear(0.7, internal=True, phase=lambda t: 0.1 + t), ("A", "D")),
        "Belt": (tm.Belt(0.1, 0.2), ("A", "D")),
        "Differential": (tm.Differential(1.5), ("A", "B", "D")),
        "Mimic": (tm.Mimic(0.5, 0.1), ("A", "B")),
        "RackAndPinion": (tm.RackAndPinion(0.1), ("A", "S")),
        "Relation": (tm.Relation(lambda q, t: q[1] - 0.1 * sin(q[0]) - 0.05 * q[2] - t * t), ("A", "S", "D")),
        "VelocityRelation": (
            tm.VelocityRelation(lambda q, u, t: u[1] - 0.3 * (1.0 + sin(q[0])) * u[0]),
            ("A", "D"),
        ),
    }
    found = {name: train(element, *names, plane=plane) for name, (element, names) in couplings.items()}
    wheels = tm.Profile.circle(0.05)
    return found | {
        "GearPair": mesh(tm.GearPair(0.2, 0.1), 0.3, plane),
        "GearPair in a ring": mesh(tm.GearPair(-0.5, 0.2, phase=0.3), 0.3, plane),
        "RollingWheel": mesh(tm.RollingWheel(-0.5, 0.2), 0.3, plane),
        "RackPair": rack(plane),
        "CamFollower knife": cam(tm.CamFollower(_CAM, start=0.3), 0.2, plane),
        "CamFollower roller": cam(tm.CamFollower(_CAM, "roller", radius=0.03, start=0.3), 0.25, plane),
        "CamFollower flat": cam(tm.CamFollower(_CAM, "flat", start=0.3), 0.2, plane),
        "CamFollower rolling": cam(tm.CamFollower(_CAM, "roller", radius=0.03, start=0.3, rolling=True), 0.25, plane),
        "CurveOnCurve": cam(tm.CurveOnCurve(_CAM, wheels, start=(0.3, 0.23)), 0.25, plane),
    }  # fmt: skip


PLANE = _flat(True)
CASES: dict[str, Case] = _flat(False) | {
    "PointOnCurve": loose(tm.PointOnCurve([(0, 0, 0), (0.3, 0.1, 0), (0.5, 0.3, 0.1), (0.6, 0.6, 0.2), (0.5, 0.9, 0.4)], degree=3)),
    "PointOnSurface sphere": loose(tm.PointOnSurface("sphere", 0.5)),
    "PointOnSurface cylinder": loose(tm.PointOnSurface("cylinder", 0.4)),
    "PointOnSurface torus": loose(tm.PointOnSurface("torus", 0.4, 0.1)),
    "PointOnHeightField": loose(tm.PointOnHeightField(np.linspace(-2, 2, 12), np.linspace(-2, 2, 12), _HILLS)),
    "PointOnImplicitSurface": loose(tm.PointOnImplicitSurface(lambda x, y, z: z - x * x - 2.0 * y * y)),
    "ConstantVelocity": loose(tm.ConstantVelocity(), (0.1, 0.0, 0.0)),
    "RollingBall": loose(tm.RollingBall(0.3)),
    "RollingBall without pivoting": loose(tm.RollingBall(0.3, pivoting=False)),
    "RollingDisk": loose(tm.RollingDisk(0.3)),
    "KnifeEdge between bodies": loose(tm.KnifeEdge()),
    "PrescribedPose with rotation": loose(tm.PrescribedPose(x=0.3, rotation=("z", lambda t: 0.2 * t))),
    "hinges": hinges(),
}  # fmt: skip
#: nothing drives them, and they have gravity alone: the energy stays
FREE = ("Gear", "GearPair", "RollingWheel", "RackPair")
