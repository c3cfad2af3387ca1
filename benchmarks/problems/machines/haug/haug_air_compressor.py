"""Haug's air compressor (10.4, 12.4): a disk on a tilted pin of the rotor wobbles and drives six pistons; nine bodies, seven loops.

The disk is kept from turning by a point of its axis that stays in the plane x = 0. Data printed, but that point (any on the disk's z
axis gives the same motion). The pressure is left out: its law is printed with inconsistent dimensions. Numbers: closed form.
"""

import numpy as np

import treemech as tm

from ...extremes import extremes

PLACES = (
    (0, 0.2),
    (0.1732, 0.1),
    (-0.1732, 0.1),
    (0.1732, -0.1),
    (-0.1732, -0.1),
    (0, -0.2),
)  # x, z of the pistons
RATE = 62.832
DURATION = 2 * np.pi / RATE
PLOTS = [tuple(f"piston {k}.q" for k in range(6)), ("piston 0.ud",)]
CLOSED = "closed form"
START = (-0.89928, -0.94982, -0.94982, -1.04982, -1.04982, -1.09928)
KNOWN = {
    "pistons at the start": (START, 6e-6, "closed form; printed to 3e-3"),
    "disk at the start, e0 and e1": ((0.965926, -0.258819), 6e-7, "closed form; e0 is misprinted 1.96597"),
    "range of piston 0": ((-1.099282, -0.899282), 6e-7, "closed form; stroke printed 0.2"),
    "speed of piston 0": (7.25521, 6e-6, CLOSED),
    "acceleration of piston 0": ((-361.61, 371.77), 6e-3, CLOSED),
    "driving torque": ((-71.7340, 71.7340), 6e-5, CLOSED),
    "tilt 20 degrees: stroke, speed": ((0.136808, 4.57380), 6e-6, CLOSED),
    "tilt 20 degrees: acceleration": ((-240.55, 237.17), 6e-3, CLOSED),
    "tilt 40 degrees: stroke, speed": ((0.257115, 10.54446), 1e-5, CLOSED),
    "tilt 40 degrees: acceleration": ((-589.37, 629.98), 1e-2, CLOSED),
    "tilt 40 degrees: driving torque": ((-258.1614, 258.1614), 6e-5, CLOSED),
}


def system(tilt: float = 30.0) -> tm.System:
    """Return the compressor, its disk tilted by so many degrees."""
    c, s = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
    system = tm.System("air compressor of Haug", gravity=(0, 0, 0))
    rotor = system.body(
        "rotor", 10.0, (0.1, 0.01, 0.1), shapes=tm.solids.rod((0, 0, 0), (0, -0.5, 0), mass=1).shapes
    )
    disk = system.body(
        "disk", 2.0, (0.04, 0.08, 0.04), shapes=tm.solids.cylinder(0.22, 0.03, axis="y", mass=1).shapes
    )
    system.connect("rotor", tm.Revolute("y"), system.ground, rotor)
    pin = rotor.at((0, -0.5, 0), np.array([[1, 0, 0], [0, c, s], [0, -s, c]]))
    system.connect("disk", tm.Revolute("y"), pin, disk)
    system.connect("guide", tm.RelativeOffset("x", 0.0), system.ground, disk.at((0, 0, 0.3)))
    block = tm.solids.cylinder(0.04, 0.08, axis="y", mass=1).shapes
    for k, (x, z) in enumerate(PLACES):
        piston = system.body(f"piston body {k}", 1.5, (0.002, 0.002, 0.002), shapes=block)
        system.connect(f"piston {k}", tm.Prismatic("y"), system.ground.at((x, 0, z)), piston)
        system.connect(f"rod {k}", tm.Distance(0.5), disk.at((x, 0, z)), piston)
    system.prescribe("rotor", tm.Polynomial([0.0, RATE]))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={f"piston {k}": -1.0 for k in range(6)})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    piston, disk = run.connection("piston 0"), run.body("disk")
    found = {
        "pistons at the start": [run.connection(f"piston {k}").q[0] for k in range(6)],
        "disk at the start, e0 and e1": disk.euler_parameters[0][:2],
        "range of piston 0": extremes(piston.q),
        "speed of piston 0": extremes(piston.u)[1],
        "acceleration of piston 0": extremes(piston.ud),
        "driving torque": extremes(run.drive("rotor")),
    }
    for tilt in (20, 40):
        other = system(tilt).build()
        turned = other.kinematics(run.t, state(other))
        piston = turned.connection("piston 0")
        found[f"tilt {tilt} degrees: stroke, speed"] = np.ptp(extremes(piston.q)), extremes(piston.u)[1]
        found[f"tilt {tilt} degrees: acceleration"] = extremes(piston.ud)
        found[f"tilt {tilt} degrees: driving torque"] = extremes(turned.drive("rotor"))
    del found["tilt 20 degrees: driving torque"]
    return found
