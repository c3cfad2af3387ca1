"""Haug's fly-ball governor (12.6): two balls on arms raise a collar, and the collar's spring sets the torque of the engine.

The engine torque is C times the deformation of the spring; at the steady speed the spring has its free length, so the speed does not
depend on its stiffness. Data printed; the load torque of the book is only in a figure, so the run starts at 10 rad/s instead. Steady
speed printed; eigenvalues recomputed. With a larger C the governor hunts and becomes unstable.
"""

from dataclasses import dataclass

import numpy as np

import treemech as tm

DURATION = 10.0
PLOTS = [("turn.u",), ("slide.q",), ("spring.effort",)]
EIGEN = "recomputed: linearized about the steady motion"
KNOWN = {
    "steady speed": (11.01746, 6e-6, "closed form, g = 9.80; printed 11.0174"),
    "balls in the steady motion": ((0.11314, 0.08686), 1e-5, "closed form; printed 0.11314, 0.08686"),
    "collar in the steady motion": (0.05, 1e-9, "printed"),
    "slow eigenvalue, C = 12500, k = 1000, 2000, 3000 N/m": ((-1.135, -0.657, -0.461), 6e-4, EIGEN),
    "growth of the oscillation, C = 7500, 12500, 17500": ((-0.133, 0.091, 0.304), 6e-4, EIGEN),
    "degrees of freedom": (2, 0.1, "printed: 35 - 33"),
}
FREE, ROD = 0.15, 0.10922  # free length of the spring, couplers [m]


@dataclass(frozen=True)
class Engine(tm.Energetic):
    """Engine on a hinge coordinate; its torque is gain times the deformation of the spring, -slide - length."""

    gain: float = 1.0
    length: float = 1.0
    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    input_names = ("slide",)

    def effort(self, now, t, out):
        torque = self.gain * (-now.inputs[0] - self.length)
        out.effort[0] = -torque
        out.supplied[0] = torque * now.rate[0]


def system(gain: float = 7500.0, stiffness: float = 1000.0, damping: float = 30.0) -> tm.System:
    system = tm.System("fly-ball governor of Haug", gravity=(0, -9.80, 0))
    spindle = system.body(
        "spindle", 200.0, (25, 50, 25), shapes=tm.solids.rod((0, -0.2, 0), (0, 0.05, 0), mass=1).shapes
    )
    collar = system.body(
        "collar", 1.0, (0.15, 0.125, 0.15), shapes=tm.solids.cylinder(0.03, 0.02, axis="y", mass=1).shapes
    )
    turn = system.connect("turn", tm.Revolute("y"), system.ground, spindle.at((0, -0.2, 0)))
    system.connect("slide", tm.Prismatic("y"), spindle, collar)
    for name, side in ("left", -1), ("right", 1):
        arm = tm.solids.rod((0, 0, 0), (0.16 * side, 0, 0), mass=1) + tm.solids.sphere(0.03, mass=1)
        ball = system.body(name, 1.0, (0.1, 0.1, 0.1), shapes=arm.shapes)
        system.connect(f"arm {name}", tm.Revolute("z"), spindle, ball.at((-0.16 * side, 0, 0)))
        system.connect(f"rod {name}", tm.Distance(ROD), ball.at((-0.08 * side, 0, 0)), collar)
    system.connect("spring", tm.Spring(stiffness, damping, FREE), spindle, collar)
    system.connect("engine", Engine(gain, FREE), turn, inputs={"slide": "slide.q"})
    return system


def state(mech: tm.Mechanism, rate: float = 10.0) -> tm.State:
    guess = {"arm left": 0.78, "arm right": -0.78}
    return mech.assemble(fix={"slide": -FREE}, guess=guess, rates={"turn": rate, "slide": 0.0})


def steady(mech: tm.Mechanism) -> tm.State:
    """Return the steady motion: collar and arms at rest on the spindle."""
    found: tm.State = mech.equilibrium(state(mech, 11.0), rates={"turn": 11.0}, free=["turn"]).state
    return found


def eigenvalues(gain: float, stiffness: float) -> np.ndarray:
    mech = system(gain, stiffness).build()
    return mech.linearize(steady(mech)).eigenvalues


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    at = steady(mech)
    place = dict(zip([b.name for b in mech.tree.bodies[1:]], mech.attitude(at).position, strict=True))
    slow = [eigenvalues(12500, k) for k in (1000, 2000, 3000)]
    pairs = [eigenvalues(C, 1000) for C in (7500, 12500, 17500)]
    return {
        "steady speed": at["turn"][1][0],
        "balls in the steady motion": (np.hypot(place["right"][0], place["right"][2]), place["right"][1]),
        "collar in the steady motion": place["collar"][1],
        "slow eigenvalue, C = 12500, k = 1000, 2000, 3000 N/m": [
            min(x.real for x in e if abs(x.imag) < 1e-9 and x.real < -1e-3) for e in slow
        ],
        "growth of the oscillation, C = 7500, 12500, 17500": [
            max(x.real for x in e if x.imag > 1.0) for e in pairs
        ],
        "degrees of freedom": mech.mobility(at).dof,
    }
