"""The knee as a four-bar linkage: femur, tibia and the two cruciate ligaments, which cross each other (Sol 1.1).

The ligaments keep their lengths, as bars. The pole, about which the tibia turns at the moment, is where they cross; it
moves back and down on the femur with flexion. Attachments are ours, of the size of a grown man's knee. The thigh is held
level; the shank falls from 0.2 rad of flexion. x points along the extended leg to the foot, y to the front.
"""

import numpy as np

import treemech as tm

FEMUR = {"ACL": np.array([-0.010, -0.015]), "PCL": np.array([0.002, 0.0])}
TIBIA = {
    "ACL": np.array([0.020, 0.012]),
    "PCL": np.array([0.024, -0.024]),
}  # axes as the femur's in extension
LENGTH = {name: np.linalg.norm(TIBIA[name] - FEMUR[name]) for name in FEMUR}
DURATION = 0.45
SIMULATE = {"rtol": 1e-10}
PLOTS = [("flexion",), ("pole along the leg", "pole to the front"), ("tension of ACL", "tension of PCL")]


def system() -> tm.System:
    system = tm.System("knee as a four-bar", gravity=(0, -9.81, 0))
    tibia = system.body("tibia", 4.5, tm.planar_inertia(0.144), com=(0.28, 0, 0))
    for name in FEMUR:
        bar = system.body(name, **tm.solids.rod((0, 0, 0), (LENGTH[name], 0, 0), mass=0.005).properties)
        origin, insertion = (*FEMUR[name], 0), (*TIBIA[name], 0)
        system.connect(f"{name} origin", tm.Revolute("z"), system.ground.at(origin), bar)
        system.connect(f"{name} end", tm.Revolute("z"), bar.at((LENGTH[name], 0, 0)), tibia.at(insertion))
        system.measure(
            f"tension of {name}",
            lambda run, name=name, end=f"{name} end": (
                -np.sum(run.connection(end).force * run.body(name).rotation[:, :, 0], axis=1)
            ),
        )
    system.measure("flexion", flexion)
    system.measure("pole along the leg", lambda run: pole(run)[:, 0])
    system.measure("pole to the front", lambda run: pole(run)[:, 1])
    return system


def state(mech: tm.Mechanism) -> tm.State:
    c, s = np.cos(0.2), np.sin(0.2)
    return mech.assemble(poses={"tibia": ((*place(0.2), 0), [[c, s, 0], [-s, c, 0], [0, 0, 1]])})


def flexion(run: tm.Run):
    R = run.body("tibia").rotation
    return -np.arctan2(R[:, 1, 0], R[:, 0, 0])


def pole(run: tm.Run):
    """Return where the lines of the ligaments cross."""
    a, p = (run.body(name).rotation[:, :2, 0] for name in FEMUR)
    gap = FEMUR["PCL"] - FEMUR["ACL"]
    along = (gap[0] * p[:, 1] - gap[1] * p[:, 0]) / (a[:, 0] * p[:, 1] - a[:, 1] * p[:, 0])
    return FEMUR["ACL"] + along[:, None] * a


def place(flexion: float):
    """Return the origin of the tibia for an angle of flexion: where two circles meet."""
    c, s = np.cos(flexion), np.sin(flexion)
    centre = {name: FEMUR[name] - np.array([[c, s], [-s, c]]) @ TIBIA[name] for name in FEMUR}
    gap = centre["PCL"] - centre["ACL"]
    d = np.hypot(*gap)
    x = (d**2 + LENGTH["ACL"] ** 2 - LENGTH["PCL"] ** 2) / (2 * d)
    across = np.sqrt(LENGTH["ACL"] ** 2 - x**2) * np.array([gap[1], -gap[0]]) / d
    return centre["ACL"] + x * gap / d + across


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    tibia, angle = run.body("tibia"), flexion(run)
    arm = pole(run) - tibia.position[:, :2]
    turned = np.column_stack((-arm[:, 1], arm[:, 0])) * tibia.angular_velocity[:, 2:]
    closed = np.array([place(x) for x in angle])
    return {
        "degrees of freedom": mech.mobility(run.state(0)).dof,
        "place of the tibia": np.max(np.abs(tibia.position[:, :2] - closed)),
        "speed at the pole": np.max(np.abs(tibia.velocity[:, :2] + turned)),
        "flexion at the end": angle[-1],
    }


KNOWN = {
    "degrees of freedom": (1, 1e-9, "four-bar linkage"),
    "place of the tibia": (0.0, 1e-10, "closed form: two circles"),
    "speed at the pole": (0.0, 1e-10, "theorem: the lines of the links meet in the pole"),
}
