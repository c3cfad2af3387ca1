"""A cantilever rolls up into a circle under an end moment of 2 pi EI / L: a chain of eight co-rotational beam elements.

The moment grows in a second and a half and is held; the damped beam comes to rest. Data chosen by us. A chain of any number n of
elements closes exactly to a regular polygon; its corners tend to the circle with the square of n. Known values: that polygon.
"""

import numpy as np

import treemech as tm

LENGTH, NUMBER, EI = 2.0, 8, 50.0  # [m], elements, bending stiffness [N m2]
DURATION = 4.0
SIMULATE = {"method": "Radau", "rtol": 1e-6}
PLOTS = [(f"node {NUMBER}.position[0]", f"node {NUMBER}.position[1]"), ("energy.stored", "energy.kinetic")]
POLYGON = LENGTH / NUMBER / np.sin(np.pi / NUMBER)  # diameter of its circle, through the corners
KNOWN = {
    "end of the beam": ((0.0, 0.0), 1e-9, "closed form: the polygon closes"),
    "turn of the end": (2 * np.pi, 1e-9, "closed form: M L / EI"),
    "middle of the beam": (POLYGON, 1e-9, "closed form: corner of a regular polygon"),
    "stored energy": (
        2 * np.pi**2 * EI / LENGTH,
        1e-6,
        "closed form: EI / 2 times the square of the curvature",
    ),
    "end of the run, from the equilibrium": (0.0, 1e-4, "the motion comes to rest"),
}


def system(number: int = NUMBER, damping: float = 0.02, rise: float = 1.5) -> tm.System:
    system = tm.System("beam roll-up", gravity=(0, 0, 0))
    part = LENGTH / number
    beam = tm.CorotationalBeam(
        part, axial_stiffness=2e4, bending_stiffness=EI, torsion_stiffness=EI, damping=damping
    )
    last = system.ground
    for k in range(1, number + 1):
        node = system.body(f"node {k}", **tm.solids.box((part, 0.03, 0.03), mass=0.5 * part).properties)
        system.connect(f"to {k}", tm.Planar("z"), last.at((part, 0, 0)), node)
        system.connect(f"beam {k}", beam, last, node)
        last = node
    moment = tm.Spline([0.0, rise], [0.0, 2 * np.pi * EI / LENGTH])
    system.load("moment", tm.Moment(z=moment), last)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state()


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    rest = mech.equilibrium(run.state()).state
    places = mech.attitude(rest).position
    return {
        "end of the beam": places[NUMBER - 1, :2],
        "turn of the end": rest.q[2::3].sum(),
        "middle of the beam": np.linalg.norm(places[NUMBER // 2 - 1]),
        "stored energy": mech.energy(rest).stored,
        "end of the run, from the equilibrium": np.max(np.abs(run.q[-1] - rest.q)),
    }
