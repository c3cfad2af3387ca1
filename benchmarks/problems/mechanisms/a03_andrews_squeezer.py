"""IFToMM A03: Andrews' squeezing mechanism, seven bodies and three loops that all meet in the point E.

Every body has its base in the hinge it hangs on and carries the angle of the reference. The three hinges in E are
cut, so that their loads are the multipliers of the six loop equations there. Small masses and a stiff spring make it
fast: the crank reaches 1140 rad/s in 0.03 s. Data: the test set's.
"""

import numpy as np

import treemech as tm

from ..problem import load

REFERENCE = load("A03_andrews_squeezer")
PLOTS = [("beta.q", "Theta.q"), ("gamma.q", "delta.q", "epsilon.q"), ("spring.effort",)]
ANGLES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
LOOPS = ("E3", "E4", "E6")  # E of body 3, 4 or 6 is that of body 2


def system() -> tm.System:
    p = REFERENCE.parameters
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    centres = (
        (p["ra"], 0), (-p["da"], 0), (p["sb"], -p["sa"]), (0, p["ea"] - p["e"]), (p["ta"], p["tb"]),
        (p["zf"] - p["fa"], 0), (-p["ub"], -p["ua"]),
    )  # fmt: skip
    K1, K2, K3, K4, K5, K6, K7 = (
        system.body(f"K{k}", p[f"m{k}"], 3 * (p[f"i{k}"],), com=(*centre, 0))
        for k, centre in enumerate(centres, 1)
    )
    points = (0, 0), (p["xa"], p["ya"]), (p["xb"], p["yb"])
    O, A, B = (system.ground.at((*point, 0)) for point in points)
    F, G, H = K1.at((p["rr"], 0, 0)), K5.at((p["zt"], 0, 0)), K7.at((0, -p["u"], 0))
    for name, end, body in zip(ANGLES, (O, F, B, G, A, H, A), (K1, K2, K3, K4, K5, K6, K7), strict=True):
        system.connect(name, tm.Revolute("z"), end, body)
    E2, E3 = K2.at((-p["d"], 0, 0)), K3.at((0, -p["ss"], 0))
    E4, E6 = K4.at((0, -p["e"], 0)), K6.at((p["zf"], 0, 0))
    for name, end in zip(LOOPS, (E3, E4, E6), strict=True):
        system.connect(name, tm.Revolute("z"), end, E2, role="chord")
    system.load("drive", tm.Moment(z=p["mom"]), K1)
    C, D = system.ground.at((p["xc"], p["yc"], 0)), K3.at((p["sd"], -p["sc"], 0))
    system.connect("spring", tm.Spring(p["c0"], length=p["l0"]), C, D)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    angles = dict(zip(ANGLES, REFERENCE.initial["angles"], strict=True))
    return mech.assemble(fix={"beta": angles.pop("beta")}, guess=angles)


def observe(run: tm.Run) -> dict:
    hinges = [run.connection(name) for name in ANGLES]
    return {
        "angles": np.column_stack([h.q for h in hinges]),
        "rates": np.column_stack([h.u for h in hinges]),
        "lagrange_multipliers_magnitude": np.abs(
            np.column_stack([run.connection(name).force[:, :2] for name in LOOPS])
        ),
    }
