"""Tires, films, cords over surfaces, and elements on one coordinate of a hinge of several."""

import numpy as np

import treemech as tm

from .parts import Part, frame

CORNERED = (
    "Tire",
    "JournalBearing",
    "EhdTraction",
    "EhdReaction",
    "WrapCylinder",
    "WrapSphere",
    "WrappedMuscle",
)
SMOOTH = ("MusclePath", "CoordinateSpring", "CoordinateMotor")
ON_COORDINATES = ("CoordinateSpring", "CoordinateMotor")


def on_coordinate(kind, scene, taken):
    """Return an element on one coordinate of a hinge that has several, or None where there is none."""
    place = scene.coordinate(taken)
    if place is None:
        return None
    name, at = place
    draw = scene.rng.uniform
    if kind == "CoordinateSpring":
        return Part(tm.RotationalSpring(draw(1, 10), draw(0, 0.5), at + draw(-0.3, 0.3)), (name,), {})
    return Part(tm.ElectricMotor(0.5, 2.0, 0.05), (name,), {"voltage": tm.Harmonic(draw(1, 6), draw(1, 4))})


def between(kind, scene):
    """Return an element placed so that it starts near its rest position, or None where it has no place."""
    rng, draw = scene.rng, scene.rng.uniform
    if kind == "EhdReaction":
        return _film_of_a_hinge(scene)
    names = scene.bodies(3 if kind in ("WrapCylinder", "WrapSphere", "WrappedMuscle", "MusclePath") else 2)
    if names is None:
        return None
    ends = tuple(scene.place(name) for name in names)
    at = [scene.world(end) for end in ends]
    if kind == "Tire":
        ground = frame(rng.normal(size=3), rng)
        lean = np.cos(0.1) * ground[:, 0] + np.sin(0.1) * ground[:, 2]
        road = (
            np.column_stack((np.linspace(-6.0, 6.0, 9), draw(-0.02, 0.02, 9))) if rng.random() < 0.5 else None
        )
        tire = tm.Tire(
            0.3, draw(1e3, 5e3), draw(0, 5), draw(50, 200), draw(50, 200), friction=draw(0.3, 1.0), road=road
        )
        under = at[1][0] - (0.3 - draw(-0.01, 0.05)) * ground[:, 2]
        return Part(
            tire,
            (scene.place(names[0], under, ground), scene.place(names[1], at[1][0], frame(lean, rng))),
            {},
        )
    if kind == "JournalBearing":
        bearing = tm.JournalBearing(0.5, draw(0.2, 1.0), 0.3, draw(0.1, 1.0), roughness=0.1, modulus=1e4)
        p, R = at[0]
        inside = p + R @ np.array([*draw(-0.12, 0.12, 2), draw(-0.1, 0.1)])
        return Part(bearing, (ends[0], scene.place(names[1], inside)), {})
    if kind == "EhdTraction":
        p, R = at[0]
        side = p + 0.11 * R[:, 0]
        film = tm.EhdTraction(0.05, 0.02, curvature=1 / 0.06, load=draw(10, 50))
        return Part(film, (ends[0], scene.place(names[1], side, R)), {})
    if kind in ("MusclePath", "WrappedMuscle"):  # the fibres are longer than the muscle is thick
        ends = (ends[0], scene.place(names[1], 0.5 * (at[0][0] + at[2][0]) + draw(-0.2, 0.2, 3)), ends[2])
        at[1] = scene.world(ends[1])
    lengths = [float(np.linalg.norm(at[k + 1][0] - at[k][0])) for k in range(2)]
    total = sum(lengths)
    if kind == "WrapCylinder":
        p, R = at[1]
        near = min(float(np.hypot(*(R.T @ (x - p))[:2])) for x, _ in (at[0], at[2]))
        side = float(rng.choice([-1.0, 0.0, 1.0]))
        wraps = {1: tm.WrapCylinder(near * draw(0.1, 0.4), side)}
    else:
        wraps = {1: tm.WrapSphere(min(lengths) * draw(0.1, 0.5))}
    if kind in ("WrappedMuscle", "MusclePath"):
        muscle = tm.MusclePath(
            max_force=30.0, optimal_length=0.5 * total, tendon_length=0.5 * total,
            pennation=draw(0.0, 0.2), wraps=wraps if kind == "WrappedMuscle" else None,
        )  # fmt: skip
        return Part(muscle, ends, {"excitation": tm.Harmonic(0.3, draw(1, 4), offset=0.5)})
    return Part(tm.Path(draw(20, 100), draw(0, 1), 0.8 * total, wraps=wraps), ends, {})


def _film_of_a_hinge(scene):
    """Return the traction of a film under the load of a hinge between the two bodies that it joins."""
    names = scene.hinge(("Revolute", "Cylindrical", "Ball", "Universal"))
    if names is None:
        return None
    a, b = scene.ends[names[0]]
    film = tm.EhdTraction(0.05, 0.02, curvature=1 / 0.06, soft=1.0)
    return Part(film, (a, b), {}, reaction_of=names[0])
