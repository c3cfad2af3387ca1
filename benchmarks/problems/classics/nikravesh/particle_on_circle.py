"""A particle on the unit circle whose height is driven, y = 0.1 sin(50 pi t): kinematics on both branches (ME751).

Everything is known in closed form: x = sqrt(1 - y^2), or its negative on the other branch, which Newton's method picks
from the start; x' = -y y' / x, x'' = -(y'^2 + y y'' + x'^2) / x. The motion is printed, masses are ours.
"""

import numpy as np

import treemech as tm

TIMES = np.array([0.0, 0.0025, 0.005, 0.010, 0.123])
DURATION = 0.123
SIMULATE = {"t_eval": np.arange(247) * 0.0005}
PLOTS = [("x.q", "y.q"), ("x.u", "y.u"), ("x.ud", "y.ud")]


def system() -> tm.System:
    system = tm.System("particle on a circle", gravity=(0, 0, 0))
    carriage = system.body("carriage", mass=0.0, inertia=(0, 0, 0))
    particle = system.body("particle", mass=1.0, inertia=(0, 0, 0))
    system.connect("x", tm.Prismatic("x"), system.ground, carriage)
    system.connect("y", tm.Prismatic("y"), carriage, particle)
    system.connect("circle", tm.Distance(1.0), system.ground, particle)
    system.prescribe("y", tm.Harmonic(amplitude=0.1, frequency=50 * np.pi))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={"x": 1.0})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    rows = np.searchsorted(run.t, TIMES - 1e-9)
    other = mech.kinematics(run.t, mech.assemble(guess={"x": -1.0}))
    x, y = run.connection("x"), run.connection("y")
    return {
        "x": x.q[rows],
        "x'": x.u[rows],
        "x''": x.ud[rows],
        "y'": y.u[rows],
        "y''": y.ud[rows],
        "x of the other branch, added": np.abs(other.connection("x").q + x.q).max(),
    }


WHERE = "recomputed: closed form"
KNOWN = {
    "x": ([1.0, 0.9992674987, 0.9974968672, 0.9949874371, 0.9989689316], 1e-10, WHERE),
    "x'": ([0.0, -0.5557674677, -0.7873690527, 0.0, -0.6360562791], 1e-9, WHERE),
    "x''": ([-246.7401100272, -174.9086032529, -0.6215057366, 247.9831411186, -145.5848733786], 1e-7, WHERE),
    "y'": ([15.7079632679, 14.5122657607, 11.1072073454, 0.0, 13.9958977535], 1e-9, WHERE),
    "y''": ([0.0, -944.2335220736, -1744.7160499097, -2467.4011002723, -1120.1766585705], 1e-7, WHERE),
    "x of the other branch, added": (0.0, 1e-12, "symmetry"),
}
