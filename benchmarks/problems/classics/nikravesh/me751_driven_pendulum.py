"""A pendulum turned by a given angle, 4 t^2, in Euler parameters: e0 changes its sign where the angle passes pi (ME751).

The slide prints `theta'' = 4 t^2`, among other lost or doubled dots; both readings are here (`system(exponent=4)` is the
literal one, theta = t^4/3). The length is not in the text: 1 m, hanging along -y at first, turning about z. A ball joint
carries the body, so that its coordinates are Euler parameters; an axis and a driven angle constrain it. Known values: closed form.
"""

import numpy as np

import treemech as tm

TIMES = np.array([0.25, 0.5, 0.75, 1.0])
DURATION = 1.0
SIMULATE = {"t_eval": np.linspace(0.0, DURATION, 101)}
PLOTS = [("pin.q[0]", "pin.q[3]"), ("bob.com[0]", "bob.com[1]")]


def system(exponent=2) -> tm.System:
    system = tm.System("driven pendulum", gravity=(0, -9.81, 0))
    bob = system.body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0, -1, 0))
    system.connect("pin", tm.Ball(), system.ground, bob)
    angle = tm.Polynomial([0, 0, 4.0] if exponent == 2 else [0, 0, 0, 0, 1 / 3])
    system.connect("axis", tm.Parallel(), system.ground, bob)
    system.connect("drive", tm.RelativeAngle(angle), system.ground, bob)
    return system


def state(mech: tm.Mechanism) -> tm.State:
    return mech.assemble()


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    rows, e, bob = np.searchsorted(run.t, TIMES - 1e-9), run.connection("pin").q, run.point("bob", (0, -1, 0))
    other = system(exponent=4).build()
    slow = other.kinematics(run.t, other.assemble())
    point = slow.point("bob", (0, -1, 0))
    return {
        "e0": e[rows, 0],
        "e3": e[rows, 3],
        "r": bob.position[rows, :2],
        "r'": bob.velocity[rows, :2],
        "r''": bob.acceleration[rows, :2],
        "degrees of freedom": mech.mobility(run.state(50)).dof,
        "e0, e3 at 1 s for t^4/3": slow.connection("pin").q[-1, [0, 3]],
        "r, r', r'' at 1 s for t^4/3": [
            point.position[-1, :2],
            point.velocity[-1, :2],
            point.acceleration[-1, :2],
        ],
    }


WHERE = "recomputed: closed form"
KNOWN = {
    "e0": ([0.9921976672, 0.8775825619, 0.4311765168, -0.4161468365], 1e-10, WHERE),
    "e3": ([0.1246747334, 0.4794255386, 0.9022675941, 0.9092974268], 1e-10, WHERE),
    "r": (
        [[0.2474039593, -0.9689124217], [0.8414709848, -0.5403023059], [0.7780731969, 0.6281736227],
         [-0.7568024953, 0.6536436209]], 1e-10, WHERE,
    ),
    "r'": (
        [[1.93782484, 0.49480792], [2.16120922, 3.36588394], [-3.76904174, 4.66843918], [-5.22914897, -6.05441996]],
        1e-8, WHERE,
    ),
    "r''": (
        [[6.76168354, 5.85488136], [-9.14111731, 15.37660477], [-33.03602407, -16.38966484],
         [43.20621073, -47.88761170]], 1e-8, WHERE,
    ),
    "degrees of freedom": (0, 1e-9, "3 of the ball joint, 2 for the axis, 1 for the drive"),
    "e0, e3 at 1 s for t^4/3": ([0.9861432316, 0.1658961327], 1e-10, WHERE),
    "r, r', r'' at 1 s for t^4/3": (
        [[0.3271946968, -0.9449569463], [1.25994260, 0.43625960], [3.19814832, 2.98870225]], 1e-8, WHERE,
    ),
}  # fmt: skip
