"""Kelem's design study: the largest slider speed over the density of the crank, its sensitivities, and the best density.

The polisher is let go at -112.4 rad/s and coasts (inferred: the printed trend rises with the density as it does for a given
initial speed; with the stated torque from rest it falls). The sensitivities of a table of trials follow Kelem's rule, over
both neighbours, at the ends over one; with his own printed trials it gives his printed column. The best density is found
with exact derivatives, where the thesis stopped at 6687 kg/m3, on the noise of 251 samples.
"""

import numpy as np

import treemech as tm

from . import lens_polisher as polisher

TRIALS = 2740.0 + 1265.25 * np.arange(5)
PRINTED = [18.510, 20.320, 21.246, 21.819, 22.324]  # largest vx of his trials [m/s]
RATE, DURATION = -112.4, 0.12
PLOTS = [("slider.u",), ("crank.u",)]


def system() -> tm.System:
    return polisher.system(torque=0.0)


def state(mech: tm.Mechanism) -> tm.State:
    return polisher.state(mech, RATE)


def coasting(end: float = DURATION) -> tm.Experiment:
    """Return the experiment: two turns; the slider is fastest near the dead point, once in each turn."""
    return tm.Experiment((0.0, end), start=state, rtol=1e-8)


def sensitivities(trials, values):
    """Return differences over both neighbours, at the ends over one."""
    slopes = np.diff(values) / np.diff(trials)
    across = (np.array(values[2:]) - values[:-2]) / (trials[2:] - trials[:-2])
    return np.r_[slopes[0], across, slopes[-1]]


def best(mech: tm.Mechanism) -> float:
    """Return the density between aluminium and steel with the fastest slider."""
    from scipy.optimize import minimize

    fastest, (low, high) = tm.Objective(mech, coasting(0.06), "max slider.u", ["density"]), TRIALS[[0, -1]]

    def slowness(x):  # of the place between both, so that steps have the size of one
        speed, slope = fastest(low + (high - low) * x)
        return -speed, -slope * (high - low)

    start = (7080.0 - low) / (high - low)  # his
    found = minimize(slowness, [start], jac=True, bounds=[(0.0, 1.0)], method="L-BFGS-B")
    return float(low + (high - low) * found.x[0])


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    table = tm.design_study(mech, coasting(), {"density": TRIALS}, {"vx": "max slider.u"})
    return {
        "largest vx": table["vx"],
        "sensitivities": table.differences("vx", "density") - sensitivities(TRIALS, table["vx"]),
        "sensitivities of the printed trials": sensitivities(TRIALS, PRINTED),
        "best density": best(mech),
    }


KNOWN = {
    "largest vx": ([19.77, 20.49, 21.17, 21.82, 22.44], 0.006, "recomputed: one freedom, energy at the dead point"),
    "sensitivities": ([0.0] * 5, 1e-12, "the rule, written out"),
    "sensitivities of the printed trials": (
        [0.0014307, 0.0010812, 0.00059244, 0.00042596, 0.00039885], 2e-6, "printed; trials have five digits",
    ),
    "best density": (7801.0, 1e-6, "the upper bound: the speed rises all the way"),
}  # fmt: skip
