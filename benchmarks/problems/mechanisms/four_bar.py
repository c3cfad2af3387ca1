"""A four-bar with a spring: crank, coupler and rocker in one closed chain, the crank pulled up by a spring.

Masses, lengths and spring are chosen by us: slender bars of 1, 3 and 2.5 m on pivots 3.5 m apart (a crank that turns all the way
round, by Grashof: 1 + 3.5 < 3 + 2.5). The known values are closed forms: the angles of coupler and rocker from the cosine rule at any
crank angle, the sum of all energies, and the acceleration at the start from the energies of the chain (Eksergian's equation).
"""

from collections.abc import Callable
from math import atan2, cos, hypot, pi, sin, sqrt
from typing import Any

import numpy as np

import treemech as tm

CRANK, COUPLER, ROCKER, GROUND = 1.0, 3.0, 2.5, 3.5  # [m]
MASSES = {"crank": 1.0, "coupler": 3.0, "rocker": 2.5}  # [kg]
LENGTHS = {"crank": CRANK, "coupler": COUPLER, "rocker": ROCKER}
STIFFNESS, FREE_LENGTH, ANCHOR = 40.0, 1.0, (0.5, 0.0, 1.0)
START = -0.6  # of the crank [rad]
DURATION = 10.0
SIMULATE = {"rtol": 1e-10}
PLOTS = [
    ("A.q", "D.q"),
    ("A.u",),
    ("spring.effort",),
    ("energy.kinetic", "energy.potential", "energy.stored", "energy.total"),
]


def system(stiffness: float = STIFFNESS, damping: float = 0.0) -> tm.System:
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    bars = {}
    for name, length in LENGTHS.items():
        mass = MASSES[name]
        J = mass * length**2 / 12
        bars[name] = system.body(name, mass=mass, inertia=(0, J, J), com=(length / 2, 0, 0))
    crank, coupler, rocker = bars.values()
    pin = tm.Revolute("y")
    system.connect("A", pin, system.ground, crank)
    system.connect("B", pin, crank.at((CRANK, 0, 0)), coupler)
    system.connect("C", pin, coupler.at((COUPLER, 0, 0)), rocker.at((ROCKER, 0, 0)))
    system.connect("D", pin, system.ground.at((GROUND, 0, 0)), rocker)
    spring = tm.Spring(stiffness=stiffness, damping=damping, length=FREE_LENGTH)
    system.connect("spring", spring, crank.at((CRANK, 0, 0)), system.ground.at(ANCHOR))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(fix={"A": START}, guess={"D": -2.0})


# ---------------------------------------------------------------- closed forms
def angles(crank: float) -> tuple[float, float]:
    """Return the angles of coupler and rocker at a crank angle, all from the x axis upwards (z), by the cosine rule.

    >>> upward = angles(0.6)
    >>> abs(CRANK * sin(0.6) + COUPLER * sin(upward[0]) - ROCKER * sin(upward[1])) < 1e-12
    True
    """
    x, z = GROUND - CRANK * cos(crank), -CRANK * sin(crank)  # from B to D
    d = hypot(x, z)
    inner = sqrt(1.0 - ((COUPLER**2 + d**2 - ROCKER**2) / (2 * COUPLER * d)) ** 2)
    coupler = atan2(z, x) + atan2(inner, (COUPLER**2 + d**2 - ROCKER**2) / (2 * COUPLER * d))
    tip = CRANK * cos(crank) + COUPLER * cos(coupler), CRANK * sin(crank) + COUPLER * sin(coupler)
    return coupler, atan2(tip[1], tip[0] - GROUND)


def _energies(crank: float) -> tuple[float, float]:
    """Return half the reduced inertia (kinetic energy at unit crank speed), and the potential energy with the spring's."""
    h = 1e-5

    def centres(a: float) -> np.ndarray:
        b, c = angles(a)
        tip = np.array([CRANK * cos(a), CRANK * sin(a)])
        return np.array([
            0.5 * tip, tip + 0.5 * COUPLER * np.array([cos(b), sin(b)]),
            np.array([GROUND, 0.0]) + 0.5 * ROCKER * np.array([cos(c), sin(c)]),
        ])  # fmt: skip

    def slope(f: Callable[[float], np.ndarray], a: float) -> Any:
        return (8 * (f(a + h) - f(a - h)) - f(a + 2 * h) + f(a - 2 * h)) / (12 * h)

    m = np.array(list(MASSES.values()))
    J = m * np.array(list(LENGTHS.values())) ** 2 / 12
    speeds, turning = slope(centres, crank), slope(lambda a: np.array([a, *angles(a)]), crank)
    kinetic = 0.5 * float(m @ np.sum(speeds**2, axis=1) + J @ turning**2)
    stretch = hypot(CRANK * cos(crank) - ANCHOR[0], CRANK * sin(crank) - ANCHOR[2]) - FREE_LENGTH
    return kinetic, float(9.81 * m @ centres(crank)[:, 1]) + 0.5 * STIFFNESS * stretch**2


def first_acceleration() -> float:
    """Return the crank's angular acceleration at rest at the start: -V' / (2 T), upwards."""
    h, at = 1e-4, -START
    V = [_energies(at + k * h)[1] for k in (-2, -1, 1, 2)]
    return -((8 * (V[2] - V[1]) - V[3] + V[0]) / (12 * h)) / (2 * _energies(at)[0])


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    crank = -run.connection("A").q  # about y a positive angle turns downwards
    coupler, rocker = crank - run.connection("B").q, -run.connection("D").q
    wanted = np.array([angles(a) for a in crank])
    turned = np.column_stack((coupler, rocker)) - wanted
    energy = run.energy.total
    return {
        "angles of coupler and rocker, deviation": np.max(np.abs((turned + pi) % (2 * pi) - pi)),
        "energy, relative drift": np.max(np.abs(energy - energy[0])) / np.ptp(run.energy.potential),
        "crank, first acceleration": -run.connection("A").ud[0],
    }


KNOWN = {
    "angles of coupler and rocker, deviation": (0.0, 1e-11, "cosine rule at every output"),
    "energy, relative drift": (0.0, 1e-8, "no damping: the energies add up to a constant"),
    "crank, first acceleration": (first_acceleration(), 1e-6, "Eksergian's equation at rest: -V' / (2 T)"),
}
