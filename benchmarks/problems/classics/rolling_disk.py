"""Thin disk that rolls without slip on a horizontal plane; reference by two independent formulations.

The axis of the disk is its own y axis; yaw, lean and spin are turns about z, x and y, in this order. The start is
turned and moving as these say, with the centre where the disk touches the plane at the origin. Sizes are ours.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import treemech as tm

from ..problem import load

REFERENCE = load("rolling_disk")
SAMPLES = 301  # to count the turns
PLOTS = [
    ("disk.position[0]", "disk.position[1]"),
    ("disk.position[2]",),
    ("energy.kinetic", "energy.potential", "energy.total"),
]


def system() -> tm.System:
    p = REFERENCE.parameters
    across = p["inertia_diametral"]
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    disk = system.body("disk", p["mass"], (across, p["inertia_axial"], across))
    system.connect("free", tm.Free(), system.ground, disk)
    axis_along_y = Rotation.from_euler("x", -90, degrees=True)
    system.connect("rolling", tm.RollingDisk(p["radius"]), system.ground, disk.at(rotation=axis_along_y))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    i = REFERENCE.initial
    return rolling(
        mech, i["centre"], np.radians(i["lean_deg"]), [i["yaw_rate"], i["lean_rate"], i["spin_rate"]]
    )


def rolling(mech: tm.Mechanism, centre, lean: float, rates) -> tm.State:
    """Return the disk at yaw and spin zero, with given rates of yaw, lean and spin."""
    turn = Rotation.from_euler("x", lean)
    x, y, z = np.eye(3)
    omega = rates[0] * z + rates[1] * x + rates[2] * turn.apply(y)
    velocity = np.cross(omega, REFERENCE.parameters["radius"] * turn.apply(z))
    e = turn.as_quat()[[3, 0, 1, 2]]
    return mech.assemble(fix={"free": [*centre, *e]}, rates={"free": [*velocity, *omega]})


def steady_spin_rate(lean: float, yaw_rate: float) -> float:
    """Return the spin rate with which the disk runs round a circle: the lean, linear in it, has no
    acceleration.
    """
    mech = system().build()

    def lean_acceleration(spin_rate: float) -> float:
        height = REFERENCE.parameters["radius"] * np.cos(lean)
        start = rolling(mech, [0.0, 0.0, height], lean, [yaw_rate, 0.0, spin_rate])
        # x component of omega' = yaw'' z + lean'' x + spin'' n + spin' yaw' (z x n), n the axis of the disk
        return float(mech.forward_dynamics(start).ud[3] + spin_rate * yaw_rate * np.cos(lean))

    a, b = lean_acceleration(0.0), lean_acceleration(1.0)
    return a / (a - b)


def angles(R: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return yaw, lean and spin over time, turns counted."""
    yaw, spin = np.arctan2(-R[:, 0, 1], R[:, 1, 1]), np.arctan2(-R[:, 2, 0], R[:, 2, 2])
    return np.column_stack([np.unwrap(yaw), np.arcsin(R[:, 2, 1]), np.unwrap(spin)])


def observe(run: tm.Run) -> dict:
    disk = run.body("disk")
    axis = disk.rotation[:, :, 1]
    climb = np.array([0.0, 0.0, 1.0]) - axis * axis[:, 2:]
    climb /= np.linalg.norm(climb, axis=1)[:, None]
    return {
        "centre": disk.position,
        "disk_axis": axis,
        "contact_point": disk.position - REFERENCE.parameters["radius"] * climb,
        "angular_velocity_world": disk.angular_velocity,
        "yaw_lean_spin": angles(disk.rotation),
        "total_energy": run.energy.total,
        "initial_centre_velocity": disk.velocity[0],
        "steady_circle_spin_rate(lean=20deg,yaw_rate=2)": steady_spin_rate(np.radians(20.0), 2.0),
    }
