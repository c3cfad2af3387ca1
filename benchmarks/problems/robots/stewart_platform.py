"""A Stewart platform: six legs with drives carry a plate through all six directions; inverse dynamics by two ways.

The lengths of the legs follow splines through the closed form of a motion of the plate, so the plate itself follows from the chains. A
second model is driven by the pose of the plate, and asks for the forces of the legs by inverse dynamics. Data chosen by us. Known
values: the motion asked for, and Newton's and Euler's equations of the plate where the legs have next to no mass.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import treemech as tm

DURATION = 3.0
SIMULATE = {"rtol": 1e-9, "t_eval": np.linspace(0.0, DURATION, 301)}
PLOTS = [tuple(f"leg {k}.q" for k in range(6)), ("plate.position[0]", "plate.position[2]")]
KNOWN = {
    "plate from the pose asked for": (0.0, 1e-6, "the splines through 601 points"),
    "lengths of the legs under the pose": (0.0, 1e-11, "closed form: distances of the joints"),
    "forces of the legs, by lengths or by pose": (
        0.0,
        1e-4,
        "two models; the splines, as a part of the largest",
    ),
    "forces of legs without mass": (0.0, 1e-6, "Newton and Euler for the plate, as a part of the largest"),
    "degrees of freedom": (6, 0.1, "6 + 6 * (6 - 6) for the plate"),
}
BASE, TOP, HEIGHT, MASS = 1.0, 0.6, 1.2, 30.0  # radii and height of the joints [m], mass of the plate [kg]
AMPLITUDE = np.array([0.10, 0.08, 0.06, 0.15, 0.12, 0.20])  # x, y, z [m], Bryant angles [rad]
FREQUENCY = np.array([2.0, 3.0, 4.0, 2.5, 3.5, 1.5])  # [rad/s]


def ring(radius: float, spread: float) -> np.ndarray:
    """Return six points in pairs on a circle."""
    angle = np.repeat(np.arange(3) * 2 * np.pi / 3, 2) + spread * np.tile([-1, 1], 3)
    return radius * np.column_stack((np.cos(angle), np.sin(angle), np.zeros(6)))


FEET, JOINTS = ring(BASE, 0.25), ring(TOP, np.pi / 3 - 0.25)


def lengths(t: np.ndarray) -> np.ndarray:
    """Return the lengths of the six legs in the motion asked for."""
    pose = AMPLITUDE * np.sin(np.outer(t, FREQUENCY))
    turned = np.einsum("nij,kj->nki", Rotation.from_euler("XYZ", pose[:, 3:]).as_matrix(), JOINTS)
    return np.asarray(np.linalg.norm(turned + pose[:, None, :3] + [0, 0, HEIGHT] - FEET, axis=2))


def system(driven: str = "legs", leg_mass: float = 4.0) -> tm.System:
    """Return the platform, driven by its "legs", by its "pose", or "free"."""
    system = tm.System("Stewart platform", gravity=(0, 0, -9.81))
    plate = system.body("plate", **tm.solids.cylinder(TOP, 0.05, mass=MASS).properties, pose=(0, 0, HEIGHT))
    times = np.linspace(0.0, DURATION, 601)
    for k, (foot, joint, course) in enumerate(zip(FEET, JOINTS, lengths(times).T, strict=True)):
        length = np.linalg.norm(joint + [0, 0, HEIGHT] - foot)
        along = (joint + [0, 0, HEIGHT] - foot) / length
        across = np.cross(along, [0, 0, 1]) / np.linalg.norm(np.cross(along, [0, 0, 1]))
        R = np.column_stack((across, np.cross(along, across), along))
        rod = tm.solids.cylinder(0.03, 0.6, mass=leg_mass / 2)
        cylinder = system.body(f"cylinder {k}", **rod.moved((0, 0, 0.3)).properties, pose=(foot, R))
        piston = system.body(
            f"piston {k}", **rod.moved((0, 0, -0.3)).properties, pose=(foot + length * along, R)
        )
        system.connect(f"foot {k}", tm.Universal(), system.ground.at(foot, R), cylinder)
        system.connect(f"leg {k}", tm.Prismatic("z"), cylinder, piston)
        system.connect(f"joint {k}", tm.Ball(), piston.at((0, 0, 0), R.T), plate.at(joint))
        if driven == "legs":
            system.prescribe(f"leg {k}", tm.Spline(times, course, ends="not-a-knot"))
    if driven == "pose":
        x, y, z, *turns = (tm.Harmonic(a, w) for a, w in zip(AMPLITUDE, FREQUENCY, strict=True))
        rest = system.ground.at((0, 0, HEIGHT))
        system.prescribe_pose("motion", plate, rest, x=x, y=y, z=z, rotation=tuple(turns))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble()


def motion(leg_mass: float, times: np.ndarray) -> tuple[tm.Run, np.ndarray]:
    """Return the motion by pose, and the forces of the legs that make it."""
    mech, free = system("pose", leg_mass).build(), system("free", leg_mass).build()
    run = mech.kinematics(times, state(mech))
    legs = [f"leg {k}" for k in range(6)]
    found = []
    for k in range(len(times)):
        at = free.state(times[k], run.q[k], run.u[k])
        loads = free.drive_loads(at, run.ud[k], actuated=legs)
        found.append([loads[leg] for leg in legs])
    return run, np.array(found)


def plate_forces(run: tm.Run) -> np.ndarray:
    """Return the forces of six legs without mass, by Newton's and Euler's equations of the plate."""
    plate, I = run.body("plate"), tm.solids.cylinder(TOP, 0.05, mass=MASS).inertia
    found = []
    for k in range(len(run.t)):
        R, w, p = plate.rotation[k], plate.angular_velocity[k], plate.position[k]
        J, arms = R @ I @ R.T, JOINTS @ R.T
        along = arms + p - FEET
        along /= np.linalg.norm(along, axis=1)[:, None]
        force = MASS * (plate.acceleration[k] + [0, 0, 9.81])
        moment = J @ plate.angular_acceleration[k] + np.cross(w, J @ w)
        found.append(np.linalg.solve(np.hstack((along, np.cross(arms, along))).T, np.hstack((force, moment))))
    return np.array(found)


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    asked, forces = motion(4.0, run.t[::10])
    light, found = motion(1e-9, run.t[::10])
    drives = np.column_stack([run.drive(f"leg {k}") for k in range(6)])[::10]
    course = np.column_stack([asked.connection(f"leg {k}").q for k in range(6)])
    places = [r.body("plate") for r in (run, asked)]
    exact, loose = plate_forces(light), system("free").build()
    return {
        "plate from the pose asked for": max(
            np.max(np.abs(places[0].position[::10] - places[1].position)),
            np.max(np.abs(places[0].rotation[::10] - places[1].rotation)),
        ),
        "lengths of the legs under the pose": np.max(np.abs(course - lengths(run.t[::10]))),
        "forces of the legs, by lengths or by pose": np.max(np.abs(drives - forces)) / np.max(np.abs(forces)),
        "forces of legs without mass": np.max(np.abs(found - exact)) / np.max(np.abs(exact)),
        "degrees of freedom": loose.mobility(loose.assemble()).dof,
    }
