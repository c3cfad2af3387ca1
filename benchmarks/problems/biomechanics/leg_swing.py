"""Swing of a leg of two links under four muscles, two of which span hip and knee (Sol 7.4, figure 1.2).

The pelvis stands still. Segment masses and centres follow Winter's tables for a man of 74 kg and 1.75 m; attachments,
muscle sizes and excitations are plausible numbers of our choice. The rectus femoris runs round the knee in front (a
cylinder for the patella), the hamstrings behind it. Hip and knee coordinates are flexions. Each muscle has two states,
activation and fibre length; fibres start in equilibrium with their tendons.
"""

import numpy as np

import treemech as tm

THIGH, SHANK, KNEE = 0.43, 0.43, 0.04  # lengths, radius of the knee [m]
ISCHIUM, TIBIA = np.array([-0.05, -0.05, 0.0]), np.array([-0.03, -0.06, 0.0])  # ends of the hamstrings
DURATION = 0.45
SIMULATE = {"rtol": 1e-8}
PLOTS = [
    ("hip.q", "knee.q"),
    ("psoas.effort", "rectus femoris.effort", "hamstrings.effort"),
    ("hamstrings.x[0]",),
]
BURSTS = {  # excitation over time, like a smoothed EMG
    "psoas": [0.05, 0.7, 0.3, 0.05, 0.05],
    "gluteus": [0.02, 0.02, 0.02, 0.05, 0.3],
    "rectus femoris": [0.1, 0.25, 0.05, 0.02, 0.02],
    "hamstrings": [0.02, 0.02, 0.05, 0.25, 0.4],
}


def system() -> tm.System:
    system = tm.System("leg swing", gravity=(0, -9.81, 0))
    pelvis = system.ground

    def segment(name, mass, length, centre, gyration):
        bone = tm.solids.rod((0, 0, 0), (0, -length, 0), mass=1).shapes
        inertia = tm.planar_inertia(mass * (gyration * length) ** 2)
        return system.body(name, mass, inertia, com=(0, -centre * length, 0), shapes=bone)

    thigh = segment("thigh", 7.4, THIGH, 0.433, 0.323)
    shank = segment("shank", 4.5, SHANK, 0.606, 0.416)
    knee = thigh.at((0, -THIGH, 0))
    system.connect("hip", tm.Revolute("z"), pelvis, thigh)
    system.connect("knee", tm.Revolute((0, 0, -1)), knee, shank)
    system.connect("capsule", tm.HingeStop(lower=0.0, stiffness=300.0, damping=0.5), "knee")
    for name, values in BURSTS.items():
        system.input(f"excitation of {name}", tm.Spline(np.linspace(0, DURATION, len(values)), values))

    def muscle(name, element, *ends):
        system.connect(name, element, *ends, inputs={"excitation": f"excitation of {name}"})

    short = {"max_force": 1500.0, "optimal_length": 0.1, "tendon_length": 0.05}
    muscle("psoas", tm.Muscle(**short), pelvis.at((0.04, 0.08, 0)), thigh.at((0.01, -0.06, 0)))
    muscle("gluteus", tm.Muscle(**short), pelvis.at((-0.08, 0.06, 0)), thigh.at((-0.02, -0.08, 0)))
    long = {"max_force": 1200.0, "optimal_length": 0.11, "tendon_length": 0.33}
    front = long | {"tendon_length": 0.44}  # round the knee; a shorter one would tear the shank forwards
    rectus = tm.MusclePath(**front, wraps={1: tm.WrapCylinder(KNEE, side=-1)})
    muscle("rectus femoris", rectus, pelvis.at((0.04, 0.02, 0)), knee, shank.at((KNEE, -0.06, 0)))
    muscle("hamstrings", tm.Muscle(**long), pelvis.at(ISCHIUM), shank.at(TIBIA))
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(fix={"hip": -0.35, "knee": 0.7}, rates={"hip": 1.0, "knee": 3.0})


def lines(hip: float, knee: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of the knee, and where the hamstrings end on the shank."""
    turn = hip - knee
    joint = THIGH * np.array([np.sin(hip), -np.cos(hip), 0.0])
    return joint, joint + [
        [np.cos(turn), -np.sin(turn), 0],
        [np.sin(turn), np.cos(turn), 0],
        [0, 0, 1],
    ] @ TIBIA


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    joint, end = lines(run.connection("hip").q[-1], run.connection("knee").q[-1])
    pull = run.element("hamstrings")
    load = pull.force[-1, 1]  # on the shank
    span = np.linalg.norm(end - ISCHIUM)
    hip, knee = np.cross(ISCHIUM, end - ISCHIUM)[2] / span, np.cross(joint - end, end - ISCHIUM)[2] / span
    return {
        "length of the hamstrings": pull.deformation[-1] - span,
        "moment of the hamstrings about the hip": np.cross(end, load)[2] + pull.effort[-1] * hip,
        "moment of the hamstrings about the knee": np.cross(end - joint, load)[2] - pull.effort[-1] * knee,
        "activation at the end": [run.element(name).x[-1, 0] for name in BURSTS],
    }


KNOWN = {
    "length of the hamstrings": (0.0, 1e-12, "geometry at the end of the run"),
    "moment of the hamstrings about the hip": (0.0, 1e-9, "tension times closed-form moment arm"),
    "moment of the hamstrings about the knee": (0.0, 1e-9, "tension times closed-form moment arm"),
    "activation at the end": (
        [0.0492591356, 0.2713145697, 0.0211568308, 0.3899507759],
        1e-7,
        "recomputed: the activation equation alone, scipy's DOP853 at 1e-12",
    ),
}
