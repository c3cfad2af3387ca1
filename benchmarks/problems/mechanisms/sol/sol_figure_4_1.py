"""The multibody system of Sol's figure 4.1: a ball joint, two pins and a slide in a closed chain, a second slide, two springs.

From the thesis: bodies, joints, what they join, and the two springs (the figure itself is not in the text we hold; what
the springs join is our choice, and so are all numbers). The ball joint A1 is cut, because it has most coordinates;
body B5 hangs on springs alone and gets a free hinge; the graph is that of figure 4.6. By rank there are 8 degrees of
freedom: 1 of the chain, 1 of the slide A4, 6 of B5.
"""

import numpy as np

import treemech as tm

DURATION = 3.0
SIMULATE = {"rtol": 1e-9}
PLOTS = [("A5.q", "A4.q"), ("B5.position[0]", "B5.position[2]"), ("E1.effort", "E2.effort")]


def system() -> tm.System:
    system = tm.System("Sol, figure 4.1", gravity=(0, 0, -9.81))
    b1 = system.body("B1", **tm.solids.rod((0, 0, 0), (0.3, 0, 0), mass=0.6).properties)
    b2 = system.body("B2", **tm.solids.rod((0, 0, 0), (0.7, 0, 0), mass=1.4).properties)
    b3 = system.body("B3", **tm.solids.box((0.2, 0.1, 0.1), mass=2.0).properties)
    b4 = system.body("B4", **tm.solids.box((0.1, 0.1, 0.2), mass=1.0).properties)
    b5 = system.body("B5", **tm.solids.box((0.2, 0.2, 0.1), mass=1.5).properties)
    system.connect("A1", tm.Ball(), system.ground, b1)
    system.connect("A2", tm.Revolute("y"), b1.at((0.3, 0, 0)), b2)
    system.connect("A3", tm.Revolute("y"), b2.at((0.7, 0, 0)), b3)
    system.connect("A4", tm.Prismatic("z"), b3.at((0, 0, 0.2)), b4)
    system.connect("A5", tm.Prismatic("x"), system.ground, b3)
    system.connect("E1", tm.Spring(stiffness=150.0, length=0.3), b4.at((0, 0, 0.1)), b5.at((-0.1, 0.1, 0)))
    system.connect(
        "E2", tm.Spring(stiffness=200.0, length=0.4), b5.at((0.1, 0, 0)), system.ground.at((1.4, 0, 1))
    )
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(
        fix={"A5": 0.85},
        guess={"A2": 1.2, "A3": -0.4},
        poses={"B5": ((1.1, 0, 0.5), np.eye(3))},
        rates={"A5": 0.8},
    )


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    crank, slide = run.point("B1", (0.3, 0, 0)).position, run.connection("A5").q
    return {
        "chords": len(mech.info.chords) * (mech.info.chords[0].name == "A1"),
        "degrees of freedom": mech.mobility(run.state(0)).dof,
        "bodies before B1 to B5": [mech.tree.parent[mech.tree.numbers[f"B{k}"]] for k in range(1, 6)],
        "length of B2": np.sqrt((slide - crank[:, 0]) ** 2 + crank[:, 2] ** 2)[-1],
        "B1 out of the plane": np.max(np.abs(run.body("B1").com[:, 1])),
    }


KNOWN = {
    "chords": (1, 1e-9, "printed: A1 becomes the chord, section 4.2"),
    "degrees of freedom": (8, 1e-9, "recomputed: slider-crank 1, slide 1, free body 6"),
    "bodies before B1 to B5": ([2, 1, 0, 1, 0], 1e-9, "printed: (4.3.5), figure 4.6 (numbers of the tree)"),
    "length of B2": (0.7, 1e-10, "geometry"),
    "B1 out of the plane": (0.0, 1e-10, "geometry: the pins keep the chain in its plane"),
}
