"""A gyroscope in gimbals with a weight on its inner frame: precession, nutation, and the part the frames take in both.

Unlike a heavy top, the frames have inertia that does not spin, so the nutation is slower and the mean precession drifts.
All sizes are ours. Both momenta of the cyclic angles stay; what is left is one freedom, the tilt, whose equation was
written by hand and integrated by scipy's DOP853 at 1e-13 for the known values.
"""

import numpy as np

import treemech as tm

G, WEIGHT, ARM = 9.81, 0.2, 0.12
ROTOR, INNER, OUTER = (0.004, 0.004, 0.0075), (0.002, 0.0025, 0.003), (0.004, 0.004, 0.005)
TILT, SPIN = 1.2, 300.0  # of the rotor's axis from the vertical [rad], of the rotor [rad/s]
DURATION = 1.0
SIMULATE = {"rtol": 1e-11}
PLOTS = [("inner.q",), ("outer.q",), ("outer.u", "inner.u")]


def system() -> tm.System:
    system = tm.System("gyroscope in gimbals", gravity=(0, 0, -G))
    outer = system.body("outer frame", mass=1.0, inertia=OUTER)
    solid = tm.solids.point(WEIGHT, at=(0, 0, ARM)).properties
    inner = system.body("inner frame", mass=0.8, inertia=INNER)
    rotor = system.body("rotor", mass=1.5, inertia=ROTOR)
    weight = system.body("weight", **solid)
    system.connect("outer", tm.Revolute("z"), system.ground, outer)
    system.connect("inner", tm.Revolute("x"), outer, inner)
    system.connect("spin", tm.Revolute("z"), inner, rotor)
    system.connect("screw", tm.Rigid(), inner, weight)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(q={"inner": TILT}, u={"spin": SPIN})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    (tilt, fall), (turn, spin) = (
        (run.connection("inner").q, run.connection("inner").u),
        (run.connection("outer").u, run.connection("spin").u),
    )
    axial = ROTOR[2] * (spin + turn * np.cos(tilt))
    J = INNER[1] + ROTOR[0] + WEIGHT * ARM**2
    vertical = (OUTER[2] + J * np.sin(tilt) ** 2 + INNER[2] * np.cos(tilt) ** 2) * turn + axial * np.cos(tilt)
    falls = np.flatnonzero((fall[:-1] > 0) & (fall[1:] <= 0))
    return {
        "tilt at the end": tilt[-1],
        "precession at the end": run.connection("outer").q[-1],
        "momentum about the rotor's axis": np.ptp(axial),
        "momentum about the vertical": np.ptp(vertical),
        "nutation frequency [rad/s]": 2 * np.pi * (len(falls) - 1) / (run.t[falls[-1]] - run.t[falls[0]]),
    }


ONE = "recomputed: one freedom by hand, scipy's DOP853 at 1e-13"
KNOWN = {
    "tilt at the end": (1.201294327446, 1e-9, ONE),
    "precession at the end": (0.104422507869, 1e-9, ONE),
    "momentum about the rotor's axis": (0.0, 1e-9, "conserved"),
    "momentum about the vertical": (0.0, 1e-9, "conserved"),
    "nutation frequency [rad/s]": (
        191.2,
        1.0,
        "linear theory: H sin(tilt) / sqrt(Jx Jz); outputs 1/600 s apart",
    ),
}
