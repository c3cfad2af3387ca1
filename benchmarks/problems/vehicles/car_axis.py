"""The car axis of the Test Set for IVP Solvers: an axle over a bump, its left mass on a rail across the road plank; two loops.

Both masses are joined by the axle and hang on springs from the ends of the plank, whose right end goes up and down. Data and the
reference at t = 3 are those of the test set, where it is a system of index 3: computed by GAMD in quadruple precision, 18 digits.
"""

import treemech as tm

DURATION = 3.0
SIMULATE = {"rtol": 1e-12}
PLOTS = [("rail.q",), ("right.position[1]", "left.position[1]")]
SOURCE = "Test Set for IVP Solvers, car axis: GAMD in quadruple precision"
KNOWN = {
    "place of the left mass": ((0.0493455784275402809122, 0.496989460230171153861), 1e-10, SOURCE),
    "place of the right mass": ((1.04174252488542151681, 0.373911027265361256927), 1e-10, SOURCE),
    "velocity of the left mass": ((-0.0770583684040972357970, 0.00744686658723778553466), 1e-9, SOURCE),
    "velocity of the right mass": ((0.0175568157537232222276, 0.770341043779251976443), 1e-9, SOURCE),
    "multipliers": ((-0.00473688659084893324729, -0.00110468033125734368808), 1e-10, SOURCE),
}
LENGTH, SPRING, MASS = 1.0, 0.5, 5e-4  # plank and axle, free length of the springs [m]; each mass [kg]


def system(bump: float = 0.1, frequency: float = 10.0) -> tm.System:
    system = tm.System("car axis", gravity=(0, -1.0, 0))
    plank = system.body("plank", **tm.solids.rod((0, 0, 0), (LENGTH, 0, 0), mass=1.0).properties)
    left = system.body("left", **tm.solids.point(MASS).properties)
    right = system.body(
        "right", MASS, (0, 0, 0), shapes=tm.solids.rod((-LENGTH, 0, 0), (0, 0, 0), mass=1).shapes
    )
    wheel = plank.at((LENGTH, 0, 0))
    system.connect("road", tm.Revolute("z"), system.ground, plank)
    system.connect("bump", tm.RelativeOffset("y", tm.Harmonic(bump, frequency)), system.ground, wheel)
    system.connect("rail", tm.Prismatic("y"), plank, left)
    system.connect("axle", tm.Revolute("z"), left, right.at((-LENGTH, 0, 0)))
    spring = tm.Spring(stiffness=1.0, length=SPRING)
    system.connect("left spring", spring, plank, left)
    system.connect("right spring", spring, wheel, right)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(fix={"rail": 0.5, "axle": 0.0}, rates={"rail": 0.0, "axle": -1.0})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    left, right = run.body("left"), run.body("right")
    rail, axle = (run.connection(name).local_force[-1] for name in ("rail", "axle"))
    return {
        "place of the left mass": left.position[-1, :2],
        "place of the right mass": right.position[-1, :2],
        "velocity of the left mass": left.velocity[-1, :2],
        "velocity of the right mass": right.velocity[-1, :2],
        "multipliers": (rail[0] / LENGTH, axle[0] / (2 * LENGTH)),
    }
