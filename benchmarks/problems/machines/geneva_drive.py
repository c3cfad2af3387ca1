"""A Geneva drive of four slots: the pin enters a slot once a turn, turns the wheel by 90 degrees, leaves, and the wheel stands.

One relation between both angles, with dwell; where the pin enters and leaves, the acceleration jumps, and events say when.
With s = sin(pi / 4), the driver's radius over the distance of the shafts, the wheel reaches s / (1 - s) = 2.414 times the
driver's speed and starts at tan(pi / 4) times its square (textbook values). The driver is a flywheel without a motor, so its speed
falls while the pin is in the slot: the energies give it. Inertias are ours.
"""

from math import atan2, cos, floor, pi, sin

import numpy as np

import treemech as tm

SLOTS = 4
RATIO, HALF = (
    sin(pi / SLOTS),
    pi / 2 - pi / SLOTS,
)  # driver's radius over distance; its angle in the slot, to each side
DISTANCE = 0.1  # of the shafts [m]
DRIVER, WHEEL, SPEED = 0.02, 0.004, 10.0  # inertias [kg m2], first speed [rad/s]
DURATION = 2.0
PLOTS = [("driver.q", "wheel.q"), ("driver.u", "wheel.u"), ("wheel.ud",)]


def geneva(q, t):
    """Return 0 for fitting angles of driver and wheel; the pin is in the middle of a slot at every full turn."""
    turns = floor((q[0] + pi) / (2 * pi))
    a = min(max(q[0] - 2 * pi * turns, -HALF), HALF)
    return q[1] + 2 * pi / SLOTS * turns + atan2(RATIO * sin(a), 1.0 - RATIO * cos(a))


def crank() -> tm.solids.Solid:
    """Return what is seen of the driver: a disk under the wheel, and the pin."""
    pin = tm.solids.cylinder(0.0035, 0.02, mass=1).moved((RATIO * DISTANCE, 0, 0))
    return pin + tm.solids.cylinder(RATIO * DISTANCE + 0.006, 0.006, mass=1).moved((0, 0, -0.01))


def star() -> tm.solids.Solid:
    """Return what is seen of the wheel: four slots on its x and y axes."""
    rim, depth, half = DISTANCE * cos(HALF), DISTANCE * (1 - RATIO) - 0.005, 0.004
    slot, corners = [(rim, -half), (depth, -half), (depth, half), (rim, half)], []
    for k in range(SLOTS):
        c, s = cos(k * pi / 2), sin(k * pi / 2)
        corners += [(c * x - s * y, s * x + c * y) for x, y in slot]
    return tm.solids.polygon(corners, thickness=0.01, mass=1)


def system() -> tm.System:
    system = tm.System("Geneva drive", gravity=(0, 0, 0))
    driver = system.body("driver", 1.0, tm.planar_inertia(DRIVER), shapes=crank().shapes)
    wheel = system.body("wheel", 1.0, tm.planar_inertia(WHEEL), shapes=star().shapes)
    system.connect("driver", tm.Revolute("z"), system.ground, driver)
    system.connect("wheel", tm.Revolute("z"), system.ground.at((DISTANCE, 0, 0)), wheel)
    system.couple("slots", tm.Relation(geneva), "driver", "wheel")
    return system


def pin_in_slot(t: float, state: tm.State) -> float:
    """Return a number that is positive while the pin is in a slot."""
    return cos(state["driver"][0][0]) - cos(HALF)


SIMULATE = {"rtol": 1e-9, "events": [pin_in_slot], "max_step": 0.02}


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(fix={"driver": -pi}, guess={"wheel": 0.0}, rates={"driver": SPEED})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    driver, wheel = run.connection("driver"), run.connection("wheel")
    entered = mech.assemble(fix={"driver": -HALF + 1e-9}, guess={"wheel": pi / 4}, rates={"driver": SPEED})
    middle = mech.assemble(fix={"driver": 0.0}, guess={"wheel": 0.0}, rates={"driver": 1.0})
    stands = np.cos(driver.q) < cos(HALF) - 0.01
    return {
        "wheel over driver in the middle": -middle["wheel"][1][0],
        "first acceleration over the square of the speed": -mech.forward_dynamics(entered).ud[1] / SPEED**2,
        "least speed of the driver": np.min(driver.u),
        "the pin enters, leaves, enters [s]": run.events[0].t[:3],
        "turn of the wheel in three turns of the driver": wheel.q[0] - wheel.q[-1],
        "the wheel moves while it stands": np.abs(wheel.u[stands]).max(),
    }


def time_in_slot() -> float:
    """Return it from the energy: (J1 + J2 b'^2) w^2 stays, b' the speed of the wheel over that of the driver."""
    x, weights = np.polynomial.legendre.leggauss(40)
    c = np.cos(HALF * x)
    slope = (RATIO * c - RATIO**2) / (1 - 2 * RATIO * c + RATIO**2)
    return float(HALF * weights @ np.sqrt(1 + WHEEL / DRIVER * slope**2) / SPEED)


PEAK = RATIO / (1 - RATIO)
ENTERS, OUTSIDE = (pi - HALF) / SPEED, 2 * (pi - HALF) / SPEED
LEAVES = ENTERS + time_in_slot()
KNOWN = {
    "wheel over driver in the middle": (PEAK, 1e-12, "textbook: s / (1 - s)"),
    "first acceleration over the square of the speed": (1.0, 1e-6, "textbook: tan(pi / n)"),
    "least speed of the driver": (
        SPEED * np.sqrt(DRIVER / (DRIVER + WHEEL * PEAK**2)),
        1e-2,
        "energy; outputs 1/300 s apart",
    ),
    "the pin enters, leaves, enters [s]": ([ENTERS, LEAVES, LEAVES + OUTSIDE], 1e-8, "energy, by quadrature"),
    "turn of the wheel in three turns of the driver": (1.5 * pi, 1e-12, "three slots"),
    "the wheel moves while it stands": (0.0, 1e-12, "dwell"),
}
