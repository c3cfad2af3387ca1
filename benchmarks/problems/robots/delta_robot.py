"""A delta robot: three arms with parallelogram forearms carry a plate that keeps its attitude; driven along a path in space.

Each forearm is two rods without mass between balls. The arms follow splines through the closed form of the inverse kinematics. Data
chosen by us. Known values: the path asked for, the forward kinematics (where three spheres meet), and the torques of the arms from
Newton's equations of the plate and the moments of every arm, written out.
"""

import numpy as np

import treemech as tm

DURATION = 3.0
SIMULATE = {"rtol": 1e-9, "t_eval": np.linspace(0.0, DURATION, 301)}
PLOTS = [("arm 0.q", "arm 1.q", "arm 2.q"), ("plate.position[0]", "plate.position[1]", "plate.position[2]")]
KNOWN = {
    "plate from the path asked for": (0.0, 1e-9, "at the points of the splines"),
    "plate from where three spheres meet": (0.0, 1e-11, "closed form, at every output"),
    "attitude of the plate": (0.0, 1e-11, "parallelograms keep it"),
    "torques of the arms": (0.0, 1e-9, "Newton and Euler, written out, as a part of the largest"),
    "degrees of freedom": (3, 0.1, "9 - 6"),
}
BASE, ARM, PLATE, FOREARM, HALF = (
    0.20,
    0.30,
    0.05,
    0.60,
    0.04,
)  # radii, lengths, half the width of a parallelogram [m]
ARM_MASS, MASS, G = 0.8, 0.5, 9.81
TURNS = [
    np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    for a in np.arange(3) * 2 * np.pi / 3
]


def path(t: np.ndarray) -> np.ndarray:
    """Return the places of the plate asked for."""
    return np.column_stack((0.10 * np.sin(3 * t), 0.08 * np.sin(2 * t), -0.5 + 0.05 * np.sin(4 * t)))


def angles(places: np.ndarray) -> np.ndarray:
    """Return the angles of the arms below the horizontal, elbows outwards, at places of the plate."""
    found = []
    for R in TURNS:
        x, y, z = (places @ R).T
        a = x + PLATE - BASE
        along = (a * a + y * y + z * z + ARM**2 - FOREARM**2) / (2 * ARM)  # a cos(angle) - z sin(angle)
        found.append(-np.arctan2(z, a) - np.arccos(along / np.hypot(a, z)))
    return np.array(found).T


def system(driven: bool = True) -> tm.System:
    system = tm.System("delta robot", gravity=(0, 0, -G))
    plate = system.body(
        "plate", **tm.solids.cylinder(PLATE, 0.01, mass=MASS).properties, pose=path(np.zeros(1))[0]
    )
    times = np.linspace(0.0, DURATION, 601)
    for k, (R, course) in enumerate(zip(TURNS, angles(path(times)).T, strict=True)):
        arm = system.body(f"arm body {k}", **tm.solids.rod((0, 0, 0), (ARM, 0, 0), mass=ARM_MASS).properties)
        system.connect(f"arm {k}", tm.Revolute("y"), system.ground.at(R @ (BASE, 0, 0), R), arm)
        for side in (-HALF, HALF):
            rod = f"rod {k}{'+' if side > 0 else '-'}"
            system.connect(rod, tm.Distance(FOREARM), arm.at((ARM, side, 0)), plate.at(R @ (PLATE, side, 0)))
        if driven:
            system.prescribe(f"arm {k}", tm.Spline(times, course, ends="not-a-knot"))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble()


def meeting(elbows: np.ndarray) -> np.ndarray:
    """Return the lower point at the distance of a forearm from three points."""
    a, b = elbows[1] - elbows[0], elbows[2] - elbows[0]
    n = np.cross(a, b)
    middle = (np.dot(a, a) * np.cross(b, n) + np.dot(b, b) * np.cross(n, a)) / (2 * np.dot(n, n))
    down = n * -np.sign(n[2]) * np.sqrt((FOREARM**2 - np.dot(middle, middle)) / np.dot(n, n))
    return np.asarray(elbows[0] + middle + down)


def torques(places: np.ndarray, accelerations: np.ndarray, q: np.ndarray, ud: np.ndarray) -> np.ndarray:
    """Return the torques of the arms that give the plate its acceleration."""
    found = []
    for place, acceleration, angle, second in zip(places, accelerations, q, ud, strict=True):
        elbows = elbows_at(angle)
        along = (place - elbows) / FOREARM
        push = np.linalg.solve(along.T, MASS * (acceleration + [0, 0, G]))
        tip = np.array([R.T @ (-f * e) for R, f, e in zip(TURNS, push, along, strict=True)])
        weight = ARM_MASS * G * ARM / 2 * np.cos(angle)
        moment = -ARM * (np.sin(angle) * tip[:, 0] + np.cos(angle) * tip[:, 2]) + weight
        found.append(ARM_MASS * ARM**2 / 3 * second - moment)
    return np.array(found)


def elbows_at(angle: np.ndarray) -> np.ndarray:
    """Return the elbows, moved inwards by the radius of the plate."""
    return np.array(
        [R @ (BASE - PLATE + ARM * np.cos(a), 0, -ARM * np.sin(a)) for R, a in zip(TURNS, angle, strict=True)]
    )


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    plate, arms = run.body("plate"), [run.connection(f"arm {k}") for k in range(3)]
    q, ud = (np.column_stack([getattr(arm, name) for arm in arms]) for name in ("q", "ud"))
    met = np.array([meeting(elbows_at(angle)) for angle in q])
    want = torques(plate.position, plate.acceleration, q, ud)
    ours = np.column_stack([run.drive(f"arm {k}") for k in range(3)])
    loose = system(driven=False).build()
    return {
        "plate from the path asked for": np.max(np.abs(plate.position - path(run.t))),
        "plate from where three spheres meet": np.max(np.abs(plate.position - met)),
        "attitude of the plate": np.max(np.abs(plate.rotation - np.eye(3))),
        "torques of the arms": np.max(np.abs(ours - want)) / np.max(np.abs(want)),
        "degrees of freedom": loose.mobility(loose.assemble()).dof,
    }
