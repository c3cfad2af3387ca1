"""An epicyclic gear train of sun, three planets, carrier and ring, started by its motor, the ring held by a viscous brake.

Teeth: 24, 18 and 60 (three planets fit, since 24 + 60 is a multiple of 3). The meshes are holonomic (`GearPair`); two of the six
are redundant. Known are Willis' equation, 84 w_carrier = 24 w_sun + 60 w_ring, at all times; the first accelerations from
the energies, by hand; and the final speeds, where the torques on sun, ring and carrier are as 24 : 60 : -84. Sizes are ours.
"""

import numpy as np

import treemech as tm

SUN, PLANET, RING, MODULE = 24, 18, 60, 0.002  # teeth; diameter per tooth [m]
ARM = MODULE * (SUN + PLANET) / 2
INERTIA = {"sun": 2e-4, "carrier": 3e-3, "ring": 6e-3}  # about the axis [kg m2]
PLANETS, MASS, J = 3, 0.15, 2.5e-5
MOTOR, LOAD, BRAKE = 4.0, 0.4, 20.0  # torque [N m]; dampers on carrier and ring [N m s/rad]
DURATION = 0.5
SIMULATE = {"rtol": 1e-9}
PLOTS = [("sun.u", "carrier.u", "ring.u"), ("sun.q", "carrier.q", "ring.q")]


def system(brake=BRAKE) -> tm.System:
    system = tm.System("epicyclic gear train", gravity=(0, 0, 0))
    bodies = {name: system.body(name, 1.0, tm.planar_inertia(moment)) for name, moment in INERTIA.items()}
    for name, body in bodies.items():
        system.connect(name, tm.Revolute("z"), system.ground, body)
    for k in range(PLANETS):
        angle = 2 * np.pi * k / PLANETS
        planet = system.body(f"planet {k}", MASS, tm.planar_inertia(J))
        centre = (ARM * np.cos(angle), ARM * np.sin(angle), 0)
        system.connect(f"pin {k}", tm.Revolute("z"), bodies["carrier"].at(centre), planet)
        for name, teeth in ("sun", SUN), ("ring", -RING):
            phase = angle * (teeth + PLANET) / PLANET  # so that the teeth fit where all angles are zero
            system.connect(f"{name} mesh {k}", tm.GearPair(teeth, PLANET, phase), bodies[name], planet)
    system.connect("brake", tm.RotationalSpring(damping=brake), "ring")
    system.connect("load", tm.RotationalSpring(damping=LOAD), "carrier")
    system.load("motor", tm.Moment(z=MOTOR), bodies["sun"])
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state()


def first_accelerations() -> np.ndarray:
    """Return those of sun and ring: both are free, carrier and planets follow them."""
    carrier = np.array([SUN, RING]) / (SUN + RING)
    planet = carrier - SUN / PLANET * ([1, 0] - carrier)
    mass = np.diag([INERTIA["sun"], INERTIA["ring"]]) + PLANETS * J * np.outer(planet, planet)
    mass += (INERTIA["carrier"] + PLANETS * MASS * ARM**2) * np.outer(carrier, carrier)
    return np.linalg.solve(mass, [MOTOR, 0.0])


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    sun, carrier, ring = (run.connection(name) for name in INERTIA)
    return {
        "degrees of freedom": mech.mobility(run.state(0)).dof,
        "Willis": np.abs((SUN + RING) * carrier.u - SUN * sun.u - RING * ring.u).max() / carrier.u.max(),
        "first accelerations of sun and ring": [sun.ud[0], ring.ud[0]],
        "final speeds of carrier and ring": [carrier.u[-1], ring.u[-1]],
    }


KNOWN = {
    "degrees of freedom": (2, 1e-9, "sun and ring"),
    "Willis": (0.0, 1e-9, "Willis' equation"),
    "first accelerations of sun and ring": (first_accelerations(), 1e-6, "energies, by hand"),
    "final speeds of carrier and ring": (
        [MOTOR * (SUN + RING) / SUN / LOAD, -MOTOR * RING / SUN / BRAKE],
        1e-4,
        "balance of torques",
    ),
}
