"""A friction clutch between an engine and a machine: it slips, then holds; the moment when it catches is an event.

While it slips its torque is constant, so time, speed and heat until it holds follow by hand: the slip w0 falls at the rate
T (1/J1 + 1/J2) + M/J1, and half of T w0 t becomes heat. The friction has bristles, which stick: afterwards both turn as one under
the engine's torque M, less than the clutch can carry. The lining then vibrates on its bristles, at 1,450 rad/s: their damping, a seventh of
the critical one, lets that die away before the end. All numbers are ours.
"""

import numpy as np

import treemech as tm

ENGINE, MACHINE = 0.8, 2.0  # inertias [kg m2]
SLIP, TORQUE, MOTOR = (
    150.0,
    120.0,
    30.0,
)  # first speed of the engine [rad/s]; of the clutch, of the engine [N m]
RADIUS = 0.1  # of the lining [m]
DURATION = 1.5
FALL = TORQUE * (1 / ENGINE + 1 / MACHINE) - MOTOR / ENGINE
CATCH = SLIP / FALL
PLOTS = [("engine.u", "machine.u"), ("torque of the clutch",)]


def system() -> tm.System:
    system = tm.System("clutch", gravity=(0, 0, 0))
    engine = system.body("engine", 40.0, tm.planar_inertia(ENGINE))
    machine = system.body("machine", 80.0, tm.planar_inertia(MACHINE))
    system.connect("engine", tm.Revolute("z"), system.ground, engine)
    system.connect("machine", tm.Revolute("z"), system.ground, machine)
    lining = tm.BristleFriction(1.0, radius=RADIUS, load=TORQUE / RADIUS, presliding=1e-5, damping=20.0)
    system.connect("lining", lining, engine, machine)
    system.load("motor", tm.Moment(z=MOTOR), engine)
    system.measure("slip", lambda run: run.connection("engine").u - run.connection("machine").u)
    system.measure("torque of the clutch", lambda run: run.element("lining").moment[:, 1, 2])
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(u={"engine": SLIP})


SIMULATE = {
    "rtol": 1e-9,
    "method": "Radau",
    "events": ["slip < 1e-3"],
    "t_eval": np.linspace(0.0, DURATION, 601),
}


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    return {
        "it catches at [s]": run.events[0].t[0],
        "common speed then": run.events[0].states[0]["machine"][1][0],
        "slip at the end": run.measure("slip")[-1],
        "heat [J]": run.audit["lining"].dissipated[-1],
        "speed at the end": run.connection("machine").u[-1],
        "torque that the clutch carries at the end": run.measure("torque of the clutch")[-1],
    }


KNOWN = {
    "it catches at [s]": (CATCH, 1e-4, "by hand: slip over its rate"),
    "common speed then": (TORQUE / MACHINE * CATCH, 1e-2, "by hand"),
    "slip at the end": (0.0, 1e-6, "it holds"),
    "heat [J]": (0.5 * TORQUE * SLIP * CATCH, 0.1, "by hand: torque times the angle of slip"),
    "speed at the end": ((ENGINE * SLIP + MOTOR * DURATION) / (ENGINE + MACHINE), 1e-6, "momentum"),
    "torque that the clutch carries at the end": (
        MOTOR * MACHINE / (ENGINE + MACHINE),
        1e-5,
        "by hand",
    ),
}
