"""Kelem's lens polisher (2009): a spatial slider-crank R-S-S-P under a constant torque, from rest.

Printed: hot points, masses, principal inertias, the torque. Inferred: centres of mass of crank and slider. Variant A joins
the hot points 6 and 7 (the only one that fits the printed stroke); it comes within 1.35 mm of a dead point. Variant B has
the nominal coupler of 0.56 m: `system(length=0.56)`. Known values are recomputed: the equation of one freedom, with the
loop in closed form, by scipy's DOP853 at 1e-12. (The printed speeds do not follow from the printed data.)
"""

import numpy as np

import treemech as tm

UPPER = np.array([0.0086, 0.26, 0.054])  # upper ball on the crank, from its axis (hot points 1 and 6)
COUPLER = np.array([-0.0386, -0.498, 0.245])  # from there to the lower ball (hot point 7)
RADIUS, LENGTH = float(np.hypot(*UPPER[:2])), float(np.linalg.norm(COUPLER))
TIMES = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5]
DURATION = 0.5
SIMULATE: dict = {"rtol": 1e-11, "t_eval": np.linspace(0.0, DURATION, 501)}
PLOTS = [("crank.q",), ("crank.u",), ("slider.q",), ("upper force", "lower force")]


def system(torque=10.25, length=LENGTH, spin=1.12e-5, turns=0.0) -> tm.System:
    """With `turns` the crank is driven, that many turns a second, and the upper joint keeps the coupler from spinning.

    `spin` is the inertia of the coupler about its axis. Crank density, two lengths and the torque are parameters.
    """
    ratio = tm.Parameter("density", 7801.0) / 7801.0
    radius, length = tm.Parameter("radius", RADIUS), tm.Parameter("length", length)
    system = tm.System("lens polisher", gravity=(0, -9.80665, 0))
    inertia = (ratio * 0.0215, ratio * 0.0018, ratio * 0.0229)
    crank = system.body("crank", ratio * 2.88, inertia, com=(0, 0.0853, 0))
    coupler = system.body("coupler", 0.33, (0.00961, 0.00961, spin), com=(0, 0, length / 2))
    slider = system.body("slider", 2.59, (0.0325, 0.0318, 0.0141), com=(-0.0022, -0.0983, 0.0208))
    upper = crank.at((radius * UPPER[0] / RADIUS, radius * UPPER[1] / RADIUS, UPPER[2]))
    system.connect("crank", tm.Revolute("z"), system.ground.at((0, 0.22, 0)), crank)
    system.connect("A", tm.Universal() if turns else tm.Ball(), upper, coupler)
    system.connect("slider", tm.Prismatic("x"), system.ground.at((0, -0.018, 0.299)), slider)
    system.connect("B", tm.Ball(), coupler.at((0, 0, length)), slider, role="chord")  # so that A has rates
    system.load("torque", tm.Moment(z=tm.Parameter("torque", torque)), crank)
    if turns:
        system.prescribe("crank", tm.Polynomial([0.0, 2 * np.pi * turns]))
    for name, joint in ("upper force", "A"), ("lower force", "B"):
        system.measure(name, lambda run, joint=joint: np.linalg.norm(run.connection(joint).force, axis=1))
    return system


def state(mech: tm.Mechanism, rate: float = 0.0) -> tm.State:
    """Return the printed position, the crank turning at a rate [rad/s], the coupler not spinning at A."""
    z = COUPLER / LENGTH
    x = np.cross((0.0, 1.0, 0.0), z)
    x /= np.linalg.norm(x)
    guess = {"A": np.column_stack((x, np.cross(z, x), z)), "slider": -0.03}
    return mech.assemble(fix={"crank": 0.0}, guess=guess, rates={"crank": rate, "A[2]": 0.0})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    found: dict = {}
    for sign, name in (1, "forwards"), (-1, "backwards"):
        if sign < 0:
            other = mech.with_parameters(torque=-10.25)
            run = other.simulate((0, DURATION), state(other), **SIMULATE)
        rows = np.searchsorted(run.t, np.array(TIMES) - 1e-9)
        found |= {
            f"crank angle, {name}": run.connection("crank").q[rows],
            f"crank speed, {name}": run.connection("crank").u[rows],
            f"slider, {name}": run.connection("slider").q[rows],
            f"first accelerations, {name}": [run.connection(n).ud[0] for n in ("crank", "slider")],
            f"first joint forces, {name}": [run.measure(f"{n} force")[0] for n in ("upper", "lower")],
        }
    return found


WHERE = "recomputed: one freedom, DOP853 at 1e-12"
KNOWN = {
    "crank angle, forwards": (
        [0.06603205, 0.15878998, 0.26844757, 0.40396717, 0.79408030, 1.76538160, 3.83356997], 2e-8, WHERE,
    ),
    "crank speed, forwards": (
        [1.775184, 1.985588, 2.427480, 3.019740, 5.100647, 25.960871, 22.051037], 1e-6, WHERE,
    ),
    "slider, forwards": (
        [-0.04716378, -0.09084207, -0.15255808, -0.23088878, -0.43959243, -0.71611829, -0.33917324], 2e-8, WHERE,
    ),
    "first accelerations, forwards": ([88.558032, -13.199276], 1e-6, WHERE),
    "first joint forces, forwards": ([530.1175, 532.7084], 1e-4, WHERE),
    "crank angle, backwards": (
        [-0.18300312, -0.74143529, -1.59427963, -2.53143159, -4.85323564, -6.21949482, -9.81307158], 2e-8, WHERE,
    ),
    "crank speed, backwards": (
        [-7.901270, -14.456755, -18.862887, -18.007397, -23.757451, -17.455467, -31.813382], 1e-6, WHERE,
    ),
    "slider, backwards": (
        [-0.02989055, -0.08220192, -0.18707592, -0.35716195, -0.66779677, -0.04630422, -0.60589161], 2e-8, WHERE,
    ),
    "first accelerations, backwards": ([-88.798815, 13.235164], 1e-6, WHERE),
    "first joint forces, backwards": ([534.4581, 531.2551], 1e-4, WHERE),
}  # fmt: skip
