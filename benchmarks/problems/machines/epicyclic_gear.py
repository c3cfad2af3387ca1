"""An epicyclic gear train of sun, three planets, carrier and ring, started by its motor, its ring held by a brake.

Teeth: 24, 18 and 60 (so that three planets fit: 24 + 60 is a multiple of 3). The meshes are holonomic (`GearPair`), sun,
carrier and ring are free to turn. Once the ring stands, Willis' equation gives the ratio 1 + 60/24 = 3.5 of motor to
carrier; at the start nothing stands yet, and the accelerations follow from the energies, by hand. Sizes are ours.
"""

import numpy as np

import treemech as tm

SUN, PLANET, RING, MODULE = 24, 18, 60, 0.002  # teeth, and diameter per tooth [m]
ARM = MODULE * (SUN + PLANET) / 2
INERTIA = {"sun": 2e-4, "carrier": 3e-3, "ring": 6e-3}  # about the axis [kg m2]
PLANETS, MASS, J = 3, 0.15, 2.5e-5
MOTOR, LOAD = 4.0, 3.0  # torques on sun and carrier [N m]
BRAKE = 6.0  # of the ring [N m s/rad]
DURATION = 1.0
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
        phase = angle * (SUN + PLANET) / PLANET  # s_0 = angle where the teeth stand as they do
        system.connect(f"sun mesh {k}", tm.GearPair(SUN, PLANET, phase), bodies["sun"], planet)
        phase = angle * (PLANET - RING) / PLANET
        system.connect(f"ring mesh {k}", tm.GearPair(-RING, PLANET, phase), bodies["ring"], planet)
    system.connect("brake", tm.RotationalSpring(damping=brake), "ring")
    system.load("motor", tm.Moment(z=MOTOR), bodies["sun"])
    system.load("load", tm.Moment(z=-LOAD), bodies["carrier"])
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state()
