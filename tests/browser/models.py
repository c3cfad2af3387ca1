"""Runs that the browser tests look at."""

from dataclasses import dataclass
from math import cos, exp, sin

import numpy as np

import treemech as tm


def a02():
    """Return A02: four-bars in a row that pass singular positions."""
    return tm.examples.find("a02_double_four_bar").run()


def pump():
    return tm.examples.find("pump").run()


def crane_system():
    """Make a crane driven by signals, with its load on a ball joint, and a spinning top beside it."""
    system = tm.System("crane", gravity=(0, 0, -9.81))
    steel = 7800.0
    table = system.body("table", **tm.solids.cylinder(radius=0.4, length=0.08, density=steel).properties)
    mast = tm.solids.box((0.08, 0.08, 1.2), density=steel).moved((0, 0, 0.6))
    boom_bar = tm.solids.box((1.4, 0.06, 0.06), density=steel).moved((0.7, 0, 0))
    tower = system.body("tower", **mast.properties)
    boom = system.body("boom", **boom_bar.properties)
    trolley = system.body("trolley", **tm.solids.box((0.15, 0.12, 0.1), density=steel).properties)
    hook = system.body("hook", **(
        tm.solids.rod((0, 0, 0), (0, 0, -0.7), mass=0.5) + tm.solids.sphere(0.07, mass=12.0).moved((0, 0, -0.75))
    ).properties)  # fmt: skip
    top = system.body("top", **(
        tm.solids.cylinder(radius=0.22, length=0.04, mass=3.0).moved((0, 0, 0.45))
        + tm.solids.cylinder(radius=0.015, length=0.6, mass=0.3).moved((0, 0, 0.3))
    ).properties)  # fmt: skip
    system.connect("turn", tm.Revolute("z"), system.ground, table)
    system.connect("foot", tm.Revolute("x"), table, tower)
    system.connect("luff", tm.Revolute("y"), tower.at((0, 0, 1.2)), boom)
    system.connect("run", tm.Prismatic("x"), boom.at((0.9, 0, 0)), trolley)
    system.connect("rope", tm.Ball(), trolley.at((0, 0, -0.05)), hook)
    system.connect("tip", tm.Ball(), system.ground.at((-1.1, 0, 0)), top)
    system.prescribe("turn", tm.Harmonic(amplitude=0.8, frequency=0.9))
    system.prescribe("foot", 0.0)
    system.prescribe("luff", tm.Harmonic(amplitude=0.25, frequency=0.7, offset=-0.2))
    system.prescribe("run", tm.Harmonic(amplitude=0.3, frequency=1.3))
    return system


def crane():
    mech = crane_system().build()
    tilt = np.cos(0.2), np.sin(0.2)
    state = mech.state(
        q={"rope": [*tilt, 0, 0], "tip": [tilt[0], 0, tilt[1], 0]},
        u={"tip": [150 * np.sin(0.4), 0, 150 * np.cos(0.4)]},
    )
    return mech.simulate((0, 10), state, rtol=1e-8, t_eval=np.linspace(0, 10, 601))


def leg():
    """Return a leg with muscles, one of them around the knee."""
    system = tm.System("leg")
    solids = tm.solids
    thigh = system.body("thigh", **solids.cylinder(0.05, 0.4, mass=7.0).moved((0, 0, -0.2)).properties)
    shank = system.body(
        "shank", **solids.cone(0.045, 0.4, top_radius=0.03, axis=(0, 0, -1), mass=3.5).properties
    )
    foot = system.body("foot", **solids.box((0.24, 0.08, 0.05), mass=1.0).moved((0.07, 0, -0.03)).properties)
    hip, knee = system.ground.at((0, 0, 1.0)), thigh.at((0, 0, -0.4), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    system.connect("hip", tm.Revolute("y"), hip, thigh)
    bend = system.connect("knee", tm.Revolute("y"), thigh.at((0, 0, -0.4)), shank)
    system.connect("ankle", tm.Revolute("y"), shank.at((0, 0, -0.4)), foot)
    system.connect("stop", tm.HingeStop(lower=0.05, stiffness=900.0, damping=1.0), bend)
    front = tm.MusclePath(
        max_force=900.0, optimal_length=0.16, tendon_length=0.3, wraps={1: tm.WrapCylinder(0.06)}
    )
    system.connect(
        "quadriceps", front, system.ground.at((0.1, 0, 1.02)), knee, shank.at((0.062, 0, -0.1)),
        inputs={"excitation": tm.Harmonic(amplitude=0.45, frequency=6.0, offset=0.5)},
    )  # fmt: skip
    back = tm.Muscle(max_force=500.0, optimal_length=0.2, tendon_length=0.25)
    system.connect(
        "hamstrings", back, system.ground.at((-0.1, 0, 1.0)), shank.at((-0.06, 0, -0.06)),
        inputs={"excitation": tm.Harmonic(amplitude=0.45, frequency=6.0, phase=3.0, offset=0.45)},
    )  # fmt: skip
    tendon = tm.Spring(stiffness=300.0, damping=8.0, length=0.3)
    system.connect("achilles", tendon, shank.at((-0.05, 0, -0.1)), foot.at((-0.06, 0, -0.03)))
    mech = system.build()
    return mech.simulate((0, 3), mech.state(q={"hip": -0.3, "knee": 0.7}), rtol=1e-6)


def chain(links=60):
    system, end = tm.System(f"chain of {links}"), None
    for k in range(links):
        link = system.body(f"link {k + 1}", 0.1, (1e-5, 1e-4, 1e-4), com=(0.05, 0, 0))
        axis = "y" if k % 2 == 0 else "z"
        system.connect(f"hinge {k + 1}", tm.Revolute(axis), system.ground if end is None else end, link)
        end = link.at((0.1, 0, 0))
    mech = system.build()
    return mech.simulate((0, 3), mech.state(), rtol=1e-5, t_eval=np.linspace(0, 3, 181))


@dataclass(frozen=True)
class Cam(tm.Hinge):
    """A follower on a cam, of docs/own-element.md: a hinge that the library does not know."""

    radius: float = 0.2
    lift: float = 0.4
    width: float = 0.7
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        r = self.radius * (1.0 + self.lift * exp(-((q[0] / self.width) ** 2)))
        offset[0], offset[1] = r * cos(q[0]), r * sin(q[0])
        rotation[0, 0] = rotation[1, 1] = cos(q[0])
        rotation[0, 1], rotation[1, 0] = -sin(q[0]), sin(q[0])


def foreign():
    system = tm.System("foreign cam")
    arm = system.body("arm", **tm.solids.box((0.1, 0.04, 0.04), mass=0.5).moved((0.05, 0, 0)).properties)
    bob = system.body("bob", 0.3, (1e-3, 1e-3, 1e-3), com=(0, 0, -0.15))
    system.connect("cam", Cam(), system.ground, arm)
    system.connect("pin", tm.Revolute("x"), arm.at((0.1, 0, 0)), bob)
    mech = system.build()
    return mech.simulate((0, 2), mech.state(u={"cam": 3.0}), rtol=1e-8)


MODELS = {"pump": pump, "a02": a02, "leg": leg, "chain": chain, "foreign": foreign, "crane": crane}
