"""Mass properties after Haug (6.1, 11.2): a rod with a disk that has a hole, swinging about the end of the rod.

Rod of 1 m and 2.8 kg, disk of radius 0.25 m about a point 1.25 m from the pivot, 0.01 m thick, of 8000 kg/m3, with a hole of half the
radius. Printed: masses, centroid, moment of inertia (example 6.1.2); the triangular plate (11.2.3), the cylinder with hemispherical
ends and the bar with a hole (11.2.4, 11.2.5) in closed form. The swing is ours; its period is an elliptic integral.
"""

import numpy as np
from scipy.special import ellipk

import treemech as tm

DURATION = 4.0
PLOTS = [("pivot.q",), ("pivot.u",)]
G, START = 9.81, 1.2
CLOSED = "closed form"
A, L, R = 0.2, 0.5, 0.05  # cylinder with hemispherical ends: radius, length; the hole of the bar


def pendulum() -> tm.solids.Solid:
    """Return the rod with its disk, along x from the pivot, turning about z."""
    disk = tm.solids.cylinder(0.25, 0.01, density=8000) - tm.solids.cylinder(0.125, 0.01, density=8000)
    return tm.solids.rod((0, 0, 0), (1, 0, 0), mass=2.8) + disk.moved((1.25, 0, 0))


def period(solid: tm.solids.Solid, amplitude: float) -> float:
    """Return the period of a swing about the origin, its axis along z."""
    arm = np.linalg.norm(solid.com)
    J = solid.inertia[2, 2] + solid.mass * arm**2
    return float(4 * np.sqrt(J / (solid.mass * G * arm)) * ellipk(np.sin(amplitude / 2) ** 2))


PLATE = np.array([[2, 1, 0], [1, 2, 0], [0, 0, 4]]) / 72
BALLS = 4 / 3 * np.pi * A**3  # volume of both ends together
END = BALLS * (0.4 * A**2 + (L / 2) ** 2 + 3 / 8 * A * L)  # of both about the middle, across the axis
KNOWN = {
    "masses of disk and hole": ((15.70796, 3.92699), 6e-6, "closed form; printed 15.71, 3.93"),
    "centroid": (1.105977, 6e-7, "closed form; printed 1.11"),
    "moment of inertia about the centroid": (1.966079, 6e-7, "closed form; printed 1.966"),
    "triangular plate: centroid": ((1 / 3, 1 / 3), 1e-14, "printed"),
    "triangular plate: inertia": (PLATE, 1e-14, "printed"),
    "triangular plate: principal moments": ((1 / 72, 1 / 24, 1 / 18), 1e-14, "printed"),
    "cylinder with hemispherical ends, along and across": (
        (np.pi * A**2 * L * A**2 / 2 + BALLS * 0.4 * A**2, np.pi * A**2 * L * (A**2 / 4 + L**2 / 12) + END), 1e-14, CLOSED,
    ),
    "bar with a hole, about the hole's axis": (
        1.0 * (1.0**2 + 0.2**2) / 12 * 0.2 * 0.1 - np.pi * R**2 * 0.1 * R**2 / 2, 1e-15, CLOSED,
    ),
    "period of the swing": (period(pendulum(), START), 1e-8, "elliptic integral"),
}  # fmt: skip


def system() -> tm.System:
    system = tm.System("pendulum of Haug", gravity=(0, -G, 0))
    body = system.body("pendulum", **pendulum().properties)
    system.connect("pivot", tm.Revolute("z"), system.ground, body)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(q={"pivot": START - np.pi / 2})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    cylinder, hemisphere, box = tm.solids.cylinder, tm.solids.hemisphere, tm.solids.box
    turned = np.diag([1.0, -1.0, -1.0])
    plate = tm.solids.polygon([(0, 0), (1, 0), (0, 1)], density=1.0)
    half = hemisphere(A, axis="z", density=1.0)
    tank = cylinder(A, L, density=1.0) + half.moved((0, 0, L / 2)) + half.moved((0, 0, -L / 2), turned)
    bar = box((1.0, 0.2, 0.1), density=1.0) - cylinder(R, 0.1, density=1.0)
    event = mech.simulate(
        (0, DURATION), mech.state(q={"pivot": START - np.pi / 2}), rtol=1e-11, events="pivot.u < 0"
    )
    return {
        "masses of disk and hole": [cylinder(r, 0.01, density=8000).mass for r in (0.25, 0.125)],
        "centroid": mech.info.bodies[1].com[0],
        "moment of inertia about the centroid": pendulum().inertia[2, 2],
        "triangular plate: centroid": plate.com[:2],
        "triangular plate: inertia": plate.inertia,
        "triangular plate: principal moments": tm.solids.principal_axes(plate).moments,
        "cylinder with hemispherical ends, along and across": (tank.inertia[2, 2], tank.inertia[0, 0]),
        "bar with a hole, about the hole's axis": bar.inertia[2, 2],
        "period of the swing": event.events[0].t[0],
    }
