"""The knee as two pairs of surfaces in contact, with ligaments of rubber between (Sol 1.1; Wismans et al. 1980).

The femoral condyles are ellipsoids, the plateaus of the tibia are shallow bowls. Each pair adds four unknowns, two surface
parameters on each side, with five equations: the points coincide, the normals are parallel. The element for it is
written below as a user would write it. Shapes and ligaments are ours; the surfaces slide without friction, so energy stays.
"""

from dataclasses import dataclass
from math import cos, sin

import numpy as np

import treemech as tm

DURATION = 0.4
SIMULATE = {"rtol": 1e-8}
PLOTS = [("flexion",), ("medial.force[2]", "lateral.force[2]"), ("ACL.effort", "PCL.effort", "MCL.effort")]
SEMI_AXES = (0.030, 0.020, 0.022)
SIDES = {"medial": (-0.023, (0.08, 0.06)), "lateral": (0.023, (0.30, 0.06))}  # y, radii of the bowl [m]


@dataclass(frozen=True)
class Condyle(tm.Constraint):
    """An ellipsoid on end b touches a bowl z = x^2/(2 rx) + y^2/(2 ry) on end a; s: x, y on the bowl, two angles."""

    a: float  # semi-axes of the ellipsoid along x, y, z of end b [m]
    b: float
    c: float
    rx: float  # radii of the bowl [m]
    ry: float
    n_holonomic = 1
    n_auxiliary = 4

    @classmethod
    def example(cls):
        return cls(1.0, 0.8, 0.9, 3.0, 4.0)

    def residual(self, offset, rotation, s, t, f):
        x, y = s[0], s[1]
        nx, ny = -x / self.rx, -y / self.ry  # normal of the bowl (nx, ny, 1)
        # the lowest point of the ellipsoid at angles 0; m is the outward normal there, in axes of end b
        ex, ey, ez = sin(s[2]) * cos(s[3]), sin(s[3]), -cos(s[2]) * cos(s[3])
        mx, my, mz = ex / self.a, ey / self.b, ez / self.c
        ux = rotation[0, 0] * mx + rotation[0, 1] * my + rotation[0, 2] * mz
        uy = rotation[1, 0] * mx + rotation[1, 1] * my + rotation[1, 2] * mz
        uz = rotation[2, 0] * mx + rotation[2, 1] * my + rotation[2, 2] * mz
        px, py, pz = self.a * ex, self.b * ey, self.c * ez
        gx = offset[0] + rotation[0, 0] * px + rotation[0, 1] * py + rotation[0, 2] * pz - x
        gy = offset[1] + rotation[1, 0] * px + rotation[1, 1] * py + rotation[1, 2] * pz - y
        gz = offset[2] + rotation[2, 0] * px + rotation[2, 1] * py + rotation[2, 2] * pz
        gz -= 0.5 * (x * x / self.rx + y * y / self.ry)
        f[0] = nx * gx + ny * gy + gz  # gap along the normal
        f[1] = gx - nx * gz  # no gap along both tangents (1, 0, -nx), (0, 1, -ny)
        f[2] = gy - ny * gz
        f[3] = self.c * (ux - nx * uz)  # normals are parallel
        f[4] = self.c * (uy - ny * uz)


def system() -> tm.System:
    system = tm.System("knee with surfaces in contact", gravity=(0, 0, -9.81))
    bone = tm.solids.rod((0, 0, 0.03), (0, 0, 0.4), mass=1)  # what is seen: a shaft on both condyles
    for y, _ in SIDES.values():
        bone += tm.solids.ellipsoid(SEMI_AXES, mass=1).moved((0, y, 0.022))
    femur = system.body("femur", 7.0, (0.10, 0.10, 0.02), com=(0, 0, 0.2), shapes=bone.shapes)
    tibia = system.ground
    system.connect("knee", tm.Free(), tibia, femur)
    for name, (y, bowl) in SIDES.items():
        system.connect(name, Condyle(*SEMI_AXES, *bowl), tibia.at((0, y, 0)), femur.at((0, y, 0.022)))
    ligaments = {  # stiffness [N/m], on tibia, on femur
        "ACL": (60e3, (0.012, 0.002, 0.0), (-0.014, 0.006, 0.022)),
        "PCL": (60e3, (-0.020, 0.0, -0.006), (0.006, -0.004, 0.014)),
        "MCL": (30e3, (0.0, -0.045, -0.06), (0.0, -0.045, 0.020)),
        "LCL": (30e3, (-0.01, 0.045, -0.05), (0.0, 0.045, 0.020)),
    }
    for name, (stiffness, low, high) in ligaments.items():
        length = 0.97 * float(np.linalg.norm(np.subtract(high, low)))
        system.connect(name, tm.Spring(stiffness, 5.0, length, only="tension"), tibia.at(low), femur.at(high))
    system.measure(
        "flexion",
        lambda run: np.arctan2(run.body("femur").rotation[:, 0, 2], run.body("femur").rotation[:, 2, 2]),
    )
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble(poses={"femur": ((0, 0, 0), np.eye(3))}, rates={"knee[4]": 2.5})


def depth(run: tm.Run, y: float, bowl: tuple[float, float]) -> float:
    """Return how deep the bowl reaches into the ellipsoid at the end of the run: its least size as a part of it, less 1."""
    from scipy.optimize import minimize

    femur = run.body("femur")
    R, centre = femur.rotation[-1], femur.point((0, y, 0.022)).position[-1]

    def size(p):
        point = np.array([p[0], p[1] + y, 0.5 * (p[0] ** 2 / bowl[0] + p[1] ** 2 / bowl[1])])
        return float(np.linalg.norm((R.T @ (point - centre)) / SEMI_AXES))

    return float(minimize(size, (centre[0], centre[1] - y), method="Nelder-Mead", tol=1e-13).fun) - 1


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    return {
        "degrees of freedom": mech.mobility(run.state(0)).dof,
        "depth of the medial contact": depth(run, *SIDES["medial"]),
        "depth of the lateral contact": depth(run, *SIDES["lateral"]),
        "flexion at the end": run.measure("flexion")[-1],
        "least pressure on a plateau": min(run.connection(name).force[:, 2].min() for name in SIDES),
    }


KNOWN = {
    "degrees of freedom": (4, 1e-9, "two contacts take one each of six"),
    "depth of the medial contact": (
        0.0,
        1e-9,
        "the surfaces touch and do not cut: least size over the bowl by scipy",
    ),
    "depth of the lateral contact": (
        0.0,
        1e-9,
        "the surfaces touch and do not cut: least size over the bowl by scipy",
    ),
}
