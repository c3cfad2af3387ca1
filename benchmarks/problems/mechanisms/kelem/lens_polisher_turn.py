"""One turn of Kelem's lens polisher at the printed crank speed of 50.4 rad/s: its kinematics, and the torque that drives it.

The model is `lens_polisher`, driven; the coupler has no inertia about its axis here, so how it spins does not matter.
Known values at the tabulated angles and the ends of the stroke are recomputed from the closed form of the loop; the
stroke of variant A is the printed one, 0.6960 m, and that of the nominal coupler of 0.56 m (variant B) is not.
"""

import numpy as np

import treemech as tm

from . import lens_polisher as polisher

RATE = 50.4
TURN = 2 * np.pi / RATE
DURATION = TURN
SIMULATE = {"t_eval": np.linspace(0.0, TURN, 721)}
PLOTS = [("slider.q",), ("slider.u",), ("torque",)]


def system(length=polisher.LENGTH) -> tm.System:
    system = polisher.system(torque=0.0, length=length, spin=0.0, turns=1 / TURN)
    system.measure("torque", lambda run: run.drive("crank"))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(guess={"A": [1.1, 0], "slider": -0.03})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    slider, rows = run.connection("slider"), np.arange(0, 720, 90)
    longer = mech.with_parameters(length=0.56)
    top, foot = run.point("coupler"), run.point("coupler", (0, 0, polisher.LENGTH))
    ends = np.linalg.norm(
        foot.velocity - top.velocity, axis=1
    )  # across the coupler: how it spins does not matter
    nominal = longer.kinematics(run.t, longer.assemble(guess={"A": [1.1, 0], "slider": -0.066}))
    return {
        "slider": slider.q[rows],
        "slider by crank angle": slider.u[rows] / RATE,
        "slider by crank angle, second": slider.ud[rows] / RATE**2,
        "coupler over crank speed": ends[rows] / polisher.LENGTH / RATE,
        "reduced inertia": 2 * run.energy.kinetic[rows] / RATE**2,
        "torque": run.drive("crank")[rows],
        "ends of the stroke, variant A": [slider.q.min(), slider.q.max()],
        "ends of the stroke, variant B": [
            nominal.connection("slider").q.min(),
            nominal.connection("slider").q.max(),
        ],
        "stroke, printed": np.ptp(slider.q),
    }


WHERE = "recomputed: the loop in closed form"
KNOWN = {
    "slider": (
        [-0.03, -0.43539202, -0.69437587, -0.68577755, -0.50760898, -0.31940850, -0.18369990, -0.08689608],
        1e-8, WHERE,
    ),
    "slider by crank angle": (
        [-0.14904663, -0.48520834, -0.15620488, 0.15469498, 0.26037915, 0.20711687, 0.14302419, 0.10748977],
        1e-8, WHERE,
    ),
    "slider by crank angle, second": (
        [-3.04215933, 0.32338463, 0.46090076, 0.28534663, -0.00271422, -0.09524743, -0.06247302, -0.03266431],
        1e-8, WHERE,
    ),
    "coupler over crank speed": (
        [0.20003111, 0.61950959, 0.53739552, 0.34389689, 0.01547307, 0.32101642, 0.52610255, 0.61598787],
        1e-8, WHERE,
    ),
    "reduced inertia": (
        [0.11558618, 0.69751109, 0.11764411, 0.11906656, 0.24179910, 0.17156255, 0.10696953, 0.08081003],
        1e-8, WHERE,
    ),
    "torque": (
        [3217.4185, -1098.8549, -503.0772, 311.5993, -4.6669, -140.6617, -63.4621, -24.0106], 1e-4, WHERE,
    ),
    "ends of the stroke, variant A": ([-0.721389, -0.025400], 1e-5, "closed form; ours is sampled every half degree"),
    "ends of the stroke, variant B": ([-0.725672, -0.051082], 1e-5, "closed form; ours is sampled every half degree"),
    "stroke, printed": (0.6960, 1e-4, "printed: largest less least of the slider, 251 samples over some twenty turns"),
}  # fmt: skip
