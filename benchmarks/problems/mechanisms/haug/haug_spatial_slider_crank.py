"""Haug's spatial slider-crank (10.2, 12.2): the crank turns beside the slider's line, the rod ends in a ball and a composite joint.

The rod turns about an axis across the slider (revolute-cylindrical); a distance of 1 m keeps that axis at the slider's origin, so
that the rod cannot spin. Data printed but for the start, which is pi/2 here. Numbers: closed form and a reduction to one freedom.
"""

import numpy as np

import treemech as tm

from ...extremes import extremes

TURN = 2 * np.pi
DURATION = 1.0
PLOTS = [("slider.q",), ("slider.u",), ("slider.ud",)]
CLOSED = "closed form"
KNOWN = {
    "rod at the start": ((0.1, 0.05, 0.1), 1e-12, "closed form; printed (0.09993, 0.05183, 0.09998), loosely converged"),
    "range of the slider": ((0.184952, 0.290160), 6e-7, CLOSED),
    "speed of the slider": (0.330521, 6e-7, CLOSED),
    "acceleration of the slider": ((-1.70023, 2.66739), 6e-6, CLOSED),
    "rod of 0.27 m": ((0.130794, 0.259023, 0.402841, -1.90462, 3.77186), 2e-5, CLOSED),
    "rod of 0.24 m": ((0.042511, 0.227580, 0.581412, -2.16776, 11.60491), 2e-5, CLOSED),
    "rods that lock, 1e-6 m shorter and longer than 0.2362056": ((1, 0), 0.1, "closed form; printed 0.2362"),
    "time of reversal": (0.1106, 6e-5, "closed form; read from a graph: about 0.1"),
    "reduced inertia at the start": (0.0047224, 6e-8, "reduction to one freedom"),
    "turns of the free crank in the periods of 6, 2 pi and 8 rad/s": ((1, 1, 1), 1e-5, "reduction: 1.01006, 0.96453, 0.75754 s"),
}  # fmt: skip


def system(rod: float = 0.3, sense: float = -1.0, free: bool = False) -> tm.System:
    """Return the mechanism with a driven crank; `free`, it has no drive and no gravity."""
    system = tm.System("spatial slider-crank of Haug", gravity=(0, 0, 0.0 if free else -9.81))
    x, pin = np.sqrt(rod**2 - 0.05), np.array([0.0, 0.1, 0.2])  # the slider, the pin of the crank
    along = (np.array([x, 0, 0]) - pin) / rod
    level = np.cross(pin, along) / np.linalg.norm(np.cross(pin, along))
    crank = system.body("crank", 0.12, (1e-4, 1e-5, 1e-4), pose=((0, 0.1, 0.12), axes((1, 0, 0), (0, -1, 0))))
    link = system.body(
        "rod", 0.5, (0.004, 0.0004, 0.004), pose=((x / 2, 0.05, 0.1), axes(along, np.cross(along, level)))
    )
    block = tm.solids.box((0.06, 0.04, 0.04), mass=1).shapes
    slider = system.body("block", 2.0, (1e-4, 1e-4, 1e-4), pose=(x, 0, 0), shapes=block)
    system.connect("crank", tm.Revolute("x"), system.ground.at((0, 0.1, 0.12)), crank)
    system.connect("ball", tm.Ball(), crank.at((0, 0.08, 0)), link.at((-rod / 2, 0, 0)))
    system.connect("slider", tm.Prismatic("x"), system.ground, slider)
    end = link.at((rod / 2, 0, 0), axes((0, 0, 1), (0, 1, 0)))
    system.connect(
        "composite", tm.RevoluteCylindrical(), end, slider.at((0, 0, 0), axes((0, 1, 0), (1, 0, 0)))
    )
    system.connect("stop", tm.Distance(1.0), end, slider.at((1, 0, 0)))
    if not free:
        system.prescribe("crank", tm.Polynomial([np.pi / 2, sense * TURN]))
    return system


def axes(x, z):
    """Return the base with these x and z axes."""
    return np.column_stack((x, np.cross(z, x), z))


def state(mech: tm.Mechanism, **rates: float) -> tm.State:
    return mech.assemble(rates=rates)


def driven(mech: tm.Mechanism) -> tm.Run:
    """Return the motion of the drives, by kinematics alone."""
    return mech.kinematics(np.linspace(0.0, DURATION, 361), state(mech))


def ranges(rod: float) -> tuple[float, ...]:
    """Return the range, the largest speed and the range of acceleration of the slider."""
    mech = system(rod).build()
    slider = driven(mech).connection("slider")
    return (*extremes(slider.q), extremes(slider.u)[1], *extremes(slider.ud))


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    own = ranges(0.3)
    q, v, a = own[:2], own[2], own[3:]
    near = [system(0.236205625 + gap).build() for gap in (-1e-6, 1e-6)]
    slider = run.connection("slider")
    first = int(np.argmax(slider.u[:-1] * slider.u[1:] < 0))
    part = slider.u[first] / (slider.u[first] - slider.u[first + 1])
    free = system(free=True).build()
    turns = []
    for rate, period in (6.0, 1.01006), (TURN, 0.96453), (8.0, 0.75754):
        angle = free.simulate((0, period), state(free, crank=rate), rtol=1e-9).connection("crank").q
        turns.append((angle[-1] - angle[0]) / TURN)
    return {
        "rod at the start": run.body("rod").position[0],
        "range of the slider": q,
        "speed of the slider": v,
        "acceleration of the slider": a,
        "rod of 0.27 m": ranges(0.27),
        "rod of 0.24 m": ranges(0.24),
        "rods that lock, 1e-6 m shorter and longer than 0.2362056": [not driven(m).success for m in near],
        "time of reversal": run.t[first] + part * (run.t[1] - run.t[0]),
        "reduced inertia at the start": 2 * free.energy(state(free, crank=1.0)).kinetic,
        "turns of the free crank in the periods of 6, 2 pi and 8 rad/s": turns,
    }
