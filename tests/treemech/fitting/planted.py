"""Models with planted parameters, and what would be measured of them."""

import numpy as np

import treemech as tm

FOUR_BAR = {"l": 1.03, "m": 1.4, "k": 46.0, "d": 0.5}
ARM = {"d0": 0.5, "d1": 0.3, "m1": 1.2, "h1": -0.22}
NOISE = 1e-3


def four_bar(**values):
    """A four-bar linkage with a spring; the length of the crank, its mass, stiffness and damping are parameters."""
    given = {"l": 1.0, "m": 1.0, "k": 40.0, "d": 0.1, **values}
    l, m, k, d = (tm.Parameter(name, given[name]) for name in "lmkd")
    system = tm.System("four-bar", gravity=(0, 0, -9.81))
    crank = system.body("crank", **tm.solids.rod((0, 0, 0), (l, 0, 0), mass=m).properties)
    coupler = system.body("coupler", mass=3.0, inertia=(0, 9 / 4, 9 / 4), com=(1.5, 0, 0))
    rocker = system.body("rocker", mass=2.5, inertia=(0, 1.3, 1.3), com=(1.25, 0, 0))
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((l, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)))
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    system.connect("spring", tm.Spring(k, d, 1.0), crank.at((l, 0, 0)), system.ground.at((0.5, 0, 1)))
    return system.build()


def four_bar_start(mech):
    return mech.assemble(fix={"A": -0.6}, rates={"A": 2.0})


def arm(**values):
    """An arm of two links that swings; friction of both hinges, mass and first moment of the second link are parameters."""
    given = {"d0": 0.2, "d1": 0.2, "m1": 1.0, "h1": -0.2, **values}
    d0, d1, m1, h1 = (tm.Parameter(name, given[name]) for name in ("d0", "d1", "m1", "h1"))
    system = tm.System("arm", gravity=(0, 0, -9.81))
    upper = system.body("upper", 2.0, (0.03, 0.03, 0.01), com=(0, 0, -0.2))
    fore = system.body("fore", m1, (0.02, 0.02, 0.01), com=(0, 0, h1 / m1))
    system.connect("shoulder", tm.Revolute("y"), system.ground, upper)
    system.connect("elbow", tm.Revolute("y"), upper.at((0, 0, -0.4)), fore)
    system.connect("f0", tm.RotationalSpring(0.0, d0), "shoulder")
    system.connect("f1", tm.RotationalSpring(0.0, d1), "elbow")
    return system.build()


def arm_start(mech):
    return mech.state(q={"shoulder": 0.8, "elbow": 1.0})


def swing(mech, start, signals, t, rng, noise=NOISE):
    """Return signals of a run of a mechanism with noise, by name."""
    run = mech.simulate((float(t[0]), float(t[-1])), start(mech), rtol=1e-10, t_eval=t)
    found = {}
    for name in signals:
        owner, _, quantity = name.rpartition(".")
        thing = run.body(owner) if owner in [b.name for b in run._info.bodies] else run.connection(owner)
        values = getattr(thing, quantity)
        found[name] = values + noise * rng.normal(size=values.shape)
    return found


def shaken(names, t, rng):
    """Return a rich known motion (q, u, ud) for every coordinate."""
    motion = {}
    for name in names:
        w, a, p = rng.uniform(2, 5), rng.uniform(0.4, 0.8), rng.uniform(0, 6)
        both = [(a, w, p), (0.5 * a, 2.3 * w, 2 * p)]
        motion[name] = tuple(
            sum(A * W**k * np.sin(W * t + P + k * np.pi / 2) for A, W, P in both) for k in range(3)
        )
    return motion
