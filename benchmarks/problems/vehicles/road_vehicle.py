"""A car over a bump: McPherson struts in front, five links behind, four tires; fourteen freedoms, fourteen loops.

The car stands in equilibrium on its springs and rolls at 15 m/s over a bump of 4 cm by 1 m. Data chosen by us (a car of 1.5 t). Known
values: tire loads from the statics of the whole car, the camber of a front wheel in closed form, and the symmetry of the motion.
"""

from typing import Any

import numpy as np

import treemech as tm

SPEED, RADIUS, G = 15.0, 0.31, 9.81
DURATION = 2.5
SIMULATE = {"rtol": 1e-8, "t_eval": np.linspace(0.0, DURATION, 301)}
PLOTS = [
    ("chassis body.position[2]",),
    ("tire FL.effort", "tire RL.effort"),
    ("spring FL.effort", "spring RL.effort"),
]
KNOWN = {
    "degrees of freedom": (14, 0.1, "6 of the chassis, 4 of the suspensions, 4 wheels"),
    "tire loads in equilibrium, sum over weight": (1.0, 1e-9, "statics"),
    "load of the front axle over its closed form": (
        1.0,
        1e-6,
        "statics about the rear contacts, but for toe and camber",
    ),
    "camber of a front wheel, deviation": (0.0, 1e-10, "closed form: a strut through its mount, an arm"),
    "lateral motion, roll and yaw": (0.0, 1e-8, "symmetry"),
    "loads after the bump over those before": (1.0, 0.02, "the car comes back to rest on its springs"),
}
HEIGHT, HALF = 0.55, 0.75  # of the centre of mass of the chassis; half the track [m]
FRONT, REAR = 1.2, -1.4  # places of the axles [m]
PIVOT, BALL, STRUT, MOUNT = (
    (0.35, 0.22),
    (0.70, 0.20),
    (0.66, 0.35),
    (0.58, 0.85),
)  # y, z of a McPherson strut [m]
LINKS = (  # inner and outer points of five links, x from the axle, y, z [m]
    ((0.30, 0.40, 0.20), (0.10, 0.70, 0.18)), ((-0.15, 0.30, 0.20), (-0.10, 0.70, 0.18)),
    ((0.25, 0.42, 0.44), (0.08, 0.68, 0.45)), ((-0.12, 0.38, 0.44), (-0.08, 0.68, 0.45)),
    ((-0.22, 0.35, 0.26), (-0.18, 0.68, 0.26)),
)  # fmt: skip


WHEELS = {"FL": (FRONT, 1), "FR": (FRONT, -1), "RL": (REAR, 1), "RR": (REAR, -1)}  # axle, side


def at(body: Any, place: np.ndarray, rotation: np.ndarray | None = None) -> Any:
    """Return the attachment at a place in the world, in the position of design."""
    return body.at(place - body.pose[0], rotation)


def rod(
    system: tm.System, name: str, chassis: Any, inner: np.ndarray, knuckle: Any, outer: np.ndarray
) -> None:
    """Join two bodies by a rod without mass between balls."""
    system.connect(
        name, tm.Distance(float(np.linalg.norm(outer - inner))), at(chassis, inner), at(knuckle, outer)
    )


def mcpherson(system: tm.System, name: str, chassis: Any, knuckle: Any, point: Any) -> None:
    """Guide a knuckle by an arm, a strut that slides through its mount, and a tie rod."""
    pivot, ball, foot, mount = (point(0, *place) for place in (PIVOT, BALL, STRUT, MOUNT))
    bar = tm.solids.rod((0, 0, 0), ball - pivot, mass=5.0)
    arm = system.body(f"arm {name}", **bar.properties, pose=pivot)
    system.connect(f"pivot {name}", tm.Revolute(), chassis, arm, at=pivot, axis="x")
    system.connect(f"ball {name}", tm.Ball(), at(arm, ball), at(knuckle, ball))
    z = (mount - foot) / np.linalg.norm(mount - foot)
    along = np.column_stack(((1, 0, 0), np.cross(z, (1, 0, 0)), z))
    system.connect(f"strut {name}", tm.Strut(), at(knuckle, foot, along), at(chassis, mount))
    rod(system, f"tie rod {name}", chassis, point(-0.15, *PIVOT), knuckle, point(-0.15, *BALL))


def five_links(system: tm.System, name: str, chassis: Any, knuckle: Any, point: Any) -> None:
    """Guide a knuckle by five rods; its six coordinates are counted from the chassis."""
    system.connect(f"travel {name}", tm.Free(), at(chassis, knuckle.pose[0]), knuckle)
    for k, (inner, outer) in enumerate(LINKS):
        rod(system, f"link {k} {name}", chassis, point(*inner), knuckle, point(*outer))


def system(bump: float = 0.04) -> tm.System:
    """Return the car; bodies are placed in the world, in the position of design."""
    system, shell = tm.System("car", gravity=(0, 0, -G)), tm.solids.box((3.8, 1.5, 0.5), mass=1).shapes
    centre = (0.0, 0.0, HEIGHT)
    chassis = system.body("chassis body", 1200.0, (450, 1800, 2000), shapes=shell, pose=centre)
    system.connect("chassis", tm.Free(), system.ground.at(centre), chassis)
    x = np.linspace(3.5, 5.5, 81)
    road = np.column_stack((x, 0.5 * bump * (1 - np.cos(2 * np.pi * np.clip(x - 4.0, 0.0, 1.0)))))
    tire = tm.Tire(RADIUS, 2e5, 500.0, longitudinal=6e4, lateral=5e4, friction=0.9, road=road)
    rim = tm.solids.cylinder(RADIUS, 0.2, axis="y", mass=20.0).properties
    axle_base = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # z along the axle

    for name, (axle, side) in WHEELS.items():

        def point(x, y, z, axle=axle, side=side):
            return np.array([axle + x, side * y, z])

        hub = point(0, HALF, RADIUS)
        knuckle = system.body(f"knuckle {name}", 20.0, (0.4, 0.4, 0.4), pose=hub)
        suspension, force, stiffness = (
            (mcpherson, 3300.0, 25e3) if axle == FRONT else (five_links, 2900.0, 24e3)
        )
        suspension(system, name, chassis, knuckle, point)
        foot, mount = point(0, *STRUT), point(0, *MOUNT)
        spring = tm.Spring(stiffness, 1800.0, float(np.linalg.norm(mount - foot)) + force / stiffness)
        system.connect(f"spring {name}", spring, at(knuckle, foot), at(chassis, mount))
        wheel = system.body(f"wheel {name}", **rim, pose=hub)
        system.connect(f"spin {name}", tm.Revolute("y"), knuckle, wheel)
        system.connect(f"tire {name}", tire, system.ground, wheel.at((0, 0, 0), axle_base))
    return system


def standing(mech: tm.Mechanism) -> tm.State:
    """Return the car at rest on its springs."""
    start = mech.state(q={"chassis[2]": -0.018})  # so far into the tires
    hold = {"chassis[0]": 0.0, "chassis[1]": 0.0} | {f"spin {w}": 0.0 for w in WHEELS}
    found: tm.State = mech.equilibrium(start, fix=hold).state
    return found


def state(mech: tm.Mechanism) -> tm.State:
    rolling = {f"spin {w}": SPEED / RADIUS for w in WHEELS}
    return mech.state(q=standing(mech).q, u={"chassis[0]": SPEED} | rolling)


def camber(arm: np.ndarray) -> np.ndarray:
    """Return the turn of a knuckle about x for angles of its arm: its strut passes the mount at a fixed distance from the ball."""
    pivot, ball, foot, mount = (np.array(place) for place in (PIVOT, BALL, STRUT, MOUNT))
    c, s = np.cos(arm), np.sin(arm)
    moved = pivot + np.column_stack(
        (c * (ball - pivot)[0] - s * (ball - pivot)[1], s * (ball - pivot)[0] + c * (ball - pivot)[1])
    )
    along = (mount - foot) / np.linalg.norm(mount - foot)
    offset = along[0] * (mount - ball)[1] - along[1] * (mount - ball)[0]
    v = mount - moved
    turn = np.arctan2(v[:, 1], v[:, 0]) - np.arcsin(offset / np.hypot(*v.T)) - np.arctan2(along[1], along[0])
    return np.asarray(turn)


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    loose, loads = mech.assemble(), {w: -run.element(f"tire {w}").effort.ravel() for w in WHEELS}
    masses = {b.name: b.mass for b in mech.info.bodies[1:]}
    wheels = {w: run.body(f"wheel {w}").position[0, 0] for w in WHEELS}
    moment = sum(m * G * (run.body(name).com[0, 0] - wheels["RL"]) for name, m in masses.items())
    chassis, knuckle = run.body("chassis body"), run.body("knuckle FL")
    R = np.einsum("nji,njk->nik", chassis.rotation, knuckle.rotation)
    C = chassis.rotation
    return {
        "degrees of freedom": mech.mobility(loose).dof,
        "tire loads in equilibrium, sum over weight": sum(x[0] for x in loads.values())
        / (sum(masses.values()) * G),
        "load of the front axle over its closed form": (loads["FL"] + loads["FR"])[0]
        * (wheels["FL"] - wheels["RL"])
        / moment,
        "camber of a front wheel, deviation": np.max(
            np.abs(np.arctan2(R[:, 2, 1], R[:, 1, 1]) - camber(run.connection("pivot FL").q))
        ),
        "lateral motion, roll and yaw": max(
            np.max(np.abs(x)) for x in (chassis.position[:, 1], C[:, 2, 1], C[:, 1, 0])
        ),
        "loads after the bump over those before": [x[-1] / x[0] for x in loads.values()],
    }
