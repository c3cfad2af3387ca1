"""IFToMM A02: N four-bar windows in a row, through their singular positions; exact answer by elliptic functions.

Bars stand on the ground along their own y axis, rods join their upper ends along their own x axis; every hinge
angle is zero at the start. With all bars horizontal the constraints lose rank and other motions branch off. The
answer is the motion with all bars parallel: the rods only translate, and with phi clockwise from the upward
vertical there is one equation, that of a pendulum::

    T = phi'^2 (4 N + 1) / 6      V = g cos(phi) (3 N + 1) / 2      phi'' = k sin(phi),  k = 3 g (3 N + 1) / (8 N + 2)

With gravity upwards (`hanging`) the bars swing about the same position and never come near a singular one.
Data: the benchmark's, with two windows for its 40.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipj, ellipkm1

import treemech as tm

from ..problem import load, zero_crossings

REFERENCE = load("A02_double_four_bar")
SAMPLES = 1001  # for the first time in the singular position
PLOTS = [("A0.q",), ("A0.u",), ("energy.kinetic", "energy.potential", "energy.total")]


def gravity(hanging: bool = False) -> tuple[float, float, float]:
    """Return gravity as it is, or upwards."""
    x, y, z = (float(g) for g in REFERENCE.gravity)
    return (x, -y, z) if hanging else (x, y, z)


def four_bars(windows: int, hanging: bool = False) -> tm.System:
    """Return the mechanism with any number of windows."""
    p = REFERENCE.parameters
    m, L = p["link_mass"], p["link_length"]
    J = m * L**2 / 12
    system = tm.System(f"{windows} four-bar windows", gravity=gravity(hanging))
    tops = []
    for k in range(windows + 1):
        bar = system.body(f"bar{k}", mass=m, inertia=(J, 0, J), com=(0, L / 2, 0))
        system.connect(f"A{k}", tm.Revolute("z"), system.ground.at((k * L, 0, 0)), bar)
        tops.append(bar.at((0, L, 0)))
    for k in range(windows):
        rod = system.body(f"rod{k}", mass=m, inertia=(0, J, J), com=(L / 2, 0, 0))
        system.connect(f"B{k}", tm.Revolute("z"), tops[k], rod)
        system.connect(f"C{k}", tm.Revolute("z"), tops[k + 1], rod.at((L, 0, 0)))
    return system


def exact_motion(windows: int, t: float, hanging: bool = False) -> tuple[float, float]:
    """Return phi and phi' at a time, from phi(0) = 0, phi'(0) = 1 rad/s.

    With psi = (phi - pi)/2 the energy integral is psi'^2 = w^2 (1 - m sin^2 psi), w^2 = k + phi'(0)^2/4, m = k/w^2:
    psi = am(w t - K(m) | m), counted in half turns of length 2 K. If the bars hang, phi'' = -k sin(phi), and
    sin(phi/2) = sqrt(m) sn(sqrt(k) t | m) with m = 1 / (4 k).
    """
    k = -3.0 * REFERENCE.gravity[1] * (3 * windows + 1) / (8 * windows + 2)
    if hanging:
        root, m = np.sqrt(k), 0.25 / k
        sn, cn, dn, _ = ellipj(root * t, m)
        return float(2.0 * np.arcsin(np.sqrt(m) * sn)), float(2.0 * np.sqrt(m) * root * cn)
    rest = 0.25 / (k + 0.25)  # 1 - m
    K = ellipkm1(rest)
    w = np.sqrt(k + 0.25)
    turns, u = divmod(w * t, 2.0 * K)
    _, _, dn, psi = ellipj(u - K, 1.0 - rest)
    return float(2.0 * (np.pi * turns + psi) + np.pi), float(2.0 * w * dn)


def exact_angle(windows: int, t: float, hanging: bool = False) -> float:
    """Return phi at a time."""
    return exact_motion(windows, t, hanging)[0]


def exact_position(windows: int, t: float, hanging: bool = False) -> NDArray[np.float64]:
    """Return the position of the upper end B0 of the first bar.

    >>> exact_position(2, 10.0).round(10).tolist()
    [0.3284581115, 0.9445185382, 0.0]
    """
    phi = exact_angle(windows, t, hanging)
    return float(REFERENCE.parameters["link_length"]) * np.array([np.sin(phi), np.cos(phi), 0.0])


def system() -> tm.System:
    return four_bars(REFERENCE.parameters["N"])


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(fix={"A0": 0.0}, rates={"A0": -1.0})


def observe(run: tm.Run) -> dict:
    top = run.point("bar0", (0, REFERENCE.parameters["link_length"], 0))
    rotation = -run.connection("A0").q
    return {
        "B0.position": top.position,
        "B0.velocity": top.velocity,
        "crank_rotation": rotation,
        "first_time_in_singular_position": zero_crossings(run.t, rotation - np.pi / 2)[0],
        "total_energy": run.energy.total,
    }
