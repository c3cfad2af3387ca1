"""Haug's coil spring as a chain of six masses (8.4): a surge wave in it, and a heavy mass that strikes it, chatters and leaves again.

Masses of 2.5 kg on springs of 50 N/m along x, the first one on the ground; 100 kg strike the last one at 0.1 m/s. Data printed but
the contact stiffness ("very large"): 1e4 N/m here, which fits the printed results best. Numbers of the surge: exact modes. Numbers of
the impact depend a few per cent on that stiffness, because of the chatter: bands about printed prose.
"""

import numpy as np

import treemech as tm

MASS, LENGTH, STRIKER = 2.5, 0.2, 100.0
DURATION = 13.0
SIMULATE = {"rtol": 1e-9}
PLOTS = [("striker.q", "mass 6.q"), ("contact.effort",)]
MODES = (2.156226, 6.343365, 10.161851, 13.389767, 15.839519, 17.368735)
SURGE = (-6.8e-5, -4.136e-3, -9.819e-3, -1.0322e-2, -1.1045e-2, -1.1183e-2)
PROSE = "printed in prose, 5 % for the contact stiffness that is not printed"
KNOWN = {
    "surge: natural frequencies, k = 200": (MODES, 6e-7, "exact: 2 sqrt(k/m) sin((2i - 1) pi / 26)"),
    "surge: displacements at 1 s": (SURGE, 6e-7, "exact modal solution"),
    "largest deflection, k = 50": (0.327, 0.0033, "printed, better than 1 %"),
    "static estimate, k = 50": (
        0.346410,
        6e-7,
        "closed form: the springs store the whole energy; printed 0.346",
    ),
    "separation at, k = 50, 40, 30": ((11.8, 13.4, 15.3), 0.15, PROSE),
    "position there": ((1.27, 1.27, 1.27), 0.03, PROSE),
    "the same, recomputed for 1e4 N/m": ((11.86, 13.27, 15.32, 1.271, 1.281, 1.294), 6e-3, "recomputed"),
}


def system(stiffness: float = 50.0, contact: float = 1e4, striker: bool = True) -> tm.System:
    system = tm.System("spring chain of Haug", gravity=(0, 0, 0))
    ball, end = tm.solids.sphere(0.03, mass=MASS).properties, system.ground.at()
    for k in range(1, 7):
        mass = system.body(f"body {k}", **ball)
        system.connect(f"mass {k}", tm.Prismatic("x"), system.ground, mass)
        system.connect(f"spring {k}", tm.Spring(stiffness, length=LENGTH), end, mass)
        end = mass.at()
    if striker:
        heavy = system.body("body 8", **tm.solids.box((0.05, 0.2, 0.2), mass=STRIKER).properties)
        system.connect("striker", tm.Prismatic("x"), system.ground.at((LENGTH, 0, 0)), heavy)
        system.connect("contact", tm.Spring(contact, length=LENGTH, only="compression"), end, heavy)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    at = {f"mass {k}": LENGTH * k for k in range(1, 7)}
    return mech.state(q=at | {"striker": 6 * LENGTH}, u={"striker": -0.1})


def impact(stiffness: float) -> tuple[float, float]:
    """Return time and place of the last separation, to a millisecond."""
    mech = system(stiffness).build()
    run = mech.simulate((0, 17), state(mech), rtol=1e-10, t_eval=np.linspace(0, 17, 17001))
    last = int(np.flatnonzero(run.element("contact").effort.ravel() < 0.0)[-1])
    return float(run.t[last]), float(run.connection("striker").q[last])


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    chain = system(200.0, striker=False).build()
    rest = {f"mass {k}": LENGTH * k for k in range(1, 7)}
    wave = chain.simulate((0, 1), chain.state(q=rest, u={"mass 6": -0.1}), rtol=1e-11)
    modes = chain.linearize(chain.state(q=rest)).eigenvalues.imag
    left = np.array([impact(k) for k in (50.0, 40.0, 30.0)])
    return {
        "surge: natural frequencies, k = 200": np.sort(modes[modes > 0]),
        "surge: displacements at 1 s": wave.q[-1] - list(rest.values()),
        "largest deflection, k = 50": 6 * LENGTH - np.min(run.connection("striker").q),
        "static estimate, k = 50": np.sqrt(2 * run.energy.kinetic[0] * 6 / 50.0),
        "separation at, k = 50, 40, 30": left[:, 0],
        "position there": left[:, 1],
        "the same, recomputed for 1e4 N/m": left.T.ravel(),
    }
