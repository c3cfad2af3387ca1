"""IFToMM A04: Bricard's mechanism, six revolutes in one loop that moves although counting says it cannot.

Every base is parallel to the world at the start, so all angles are zero there. The last hinge is the one cut, as
the reference has it. Data: the benchmark's.
"""

import numpy as np

import treemech as tm

from ..problem import load

REFERENCE = load("A04_bricard")
PLOTS = [("joint1.q", "joint2.q"), ("joint1.u", "joint2.u")]
SIDE = 0.1  # of the square section


def system() -> tm.System:
    p = REFERENCE.parameters
    points = np.array(p["joint_points"])
    system = tm.System(REFERENCE.name, gravity=REFERENCE.gravity)
    end = system.ground.at(points[0])
    for k, along in enumerate(np.diff(points, axis=0)):
        size = np.where(along == 0.0, SIDE, p["rod_length"])
        inertia = tm.solids.box(size, mass=p["rod_mass"]).inertia
        rod = system.body(f"rod{k + 1}", mass=p["rod_mass"], inertia=inertia, com=along / 2)
        system.connect(f"joint{k + 1}", tm.Revolute(p["joint_axes"][k]), end, rod)
        end = rod.at(along)
    system.connect("joint6", tm.Revolute(p["joint_axes"][5]), end, system.ground.at(points[5]), role="chord")
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(fix={"joint1": 0.0}, rates={"joint1": 0.0})


def observe(run: tm.Run) -> dict:
    points = np.array(REFERENCE.parameters["joint_points"])
    mech = system().build()
    found = mech.mobility(mech.state(q=run.q[-1], u=run.u[-1]))
    return {
        "P3.position": run.point("rod2", points[2] - points[1]).position,
        "joint_angles_1_to_5": np.column_stack([run.connection(f"joint{k}").q for k in range(1, 6)]),
        "total_energy": run.energy.total,
        "degrees_of_freedom": found.dof,
        "redundant_constraints_with_one_cut_revolute": found.dof - found.gruebler,
    }
