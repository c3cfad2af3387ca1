"""The knee as a curve hinge: the shank runs along the outline of the femoral condyle and turns with its tangent.

One coordinate, as for a pin, but the axis moves: the radius of the condyle falls from 40 mm in extension to 24 mm in deep
flexion (Sol 1.1: a pin is too simple a model of the knee). The outline is a logarithmic spiral, so all is known in closed
form: the angle of flexion over the arc length, and, from the energy, the speed. Sizes are ours, the mass is that of shank
and foot in Winter's tables. The thigh is held level; the shank falls from extension.
"""

import numpy as np

import treemech as tm

FIRST, RATE = 0.040, 0.25  # radius of the spiral at flexion 0 [m], its relative decrease per radian
SIZE = FIRST * np.hypot(1, RATE)  # radius of curvature there
MASS, ARM, MOMENT, G = 4.5, 0.606 * 0.43, 0.144, 9.81
DURATION = 0.45
SIMULATE = {"rtol": 1e-10}
PLOTS = [("knee.q",), ("shank.com[0]", "shank.com[1]")]


def condyle(flexion):
    """Return points of the spiral at angles of flexion; it goes clockwise round its pole, the ground's origin."""
    radius = FIRST * np.exp(-RATE * flexion)
    return np.column_stack((radius * np.cos(flexion), -radius * np.sin(flexion), 0 * flexion))


def arc(flexion):
    """Return the arc length from flexion 0."""
    return SIZE / RATE * (1 - np.exp(-RATE * flexion))


def flexion(arc):
    """Return the angle of flexion after an arc length."""
    return -np.log(1 - arc * RATE / SIZE) / RATE


def system() -> tm.System:
    system = tm.System("knee on a curve", gravity=(0, -G, 0))
    shank = system.body("shank", MASS, (MOMENT, 0.01, MOMENT), com=(0, ARM, 0))
    angles = np.linspace(-0.4, 2.4, 57)
    outline = tm.Curve(condyle(angles), parameters=arc(angles), normal=(1, 0, 0))  # y of the shank points out
    system.connect("knee", outline, system.ground, shank)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.state(q={"knee": 0.0})


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    angle, slope = flexion(run.connection("knee").q), np.arctan(RATE)
    y = run.body("shank").rotation[:, :, 1]
    height = condyle(angle)[:, 1] - ARM * np.sin(angle + slope)
    fall = height[0] - height
    rolled = SIZE * np.exp(-RATE * angle)  # arc length per radian
    speed = np.sqrt(2 * MASS * G * np.maximum(fall, 0) / (MASS * (rolled + ARM) ** 2 + MOMENT)) * rolled
    return {
        "flexion at the end": angle[-1],
        "turn of the shank": np.max(np.abs(np.arctan2(-y[:, 1], y[:, 0]) - angle - slope)),
        "speed by the energy": np.max(np.abs(run.connection("knee").u - speed)),
    }


KNOWN = {
    "flexion at the end": (
        1.883435974,
        1e-7,
        "recomputed: the equation of one freedom, scipy's DOP853 at 1e-12",
    ),
    "turn of the shank": (
        0.0,
        1e-8,
        "closed form: the tangent turns as the radius does; spline of 57 points",
    ),
    "speed by the energy": (0.0, 1e-7, "closed form"),
}
