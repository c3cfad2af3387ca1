"""Models for functions of arrays, with held inputs, states of elements, attitudes, closed chains; and differences."""

import numpy as np

import treemech as tm
from tests.support import parametric


def driven_arm(plain=False):
    """Return a tree with a ball, an actuator with a held input, and an element with a state of its own."""
    m = 1.3 if plain else tm.Parameter("m", 1.3)
    k = 30.0 if plain else tm.Parameter("k", 30.0)
    system = tm.System("driven arm", gravity=(0.5, 0, -9.81))
    upper = system.body("upper", m, (0.2, 0.4, 0.3, 0.02, 0, 0.01), com=(0.3, 0.1, 0))
    lower = system.body("lower", 0.8, (0.1, 0.12, 0.05), com=(0, 0.2, -0.1))
    system.connect("A", tm.Ball(), system.ground, upper)
    system.connect("B", tm.Revolute((1, 0.2, 0)), upper.at((0.6, 0, 0)), lower)
    system.connect(
        "relaxing",
        tm.Viscoelastic(stiffness=k, damping=0.4, branches=[40.0], times=[0.3]),
        lower.at((0, 0.3, 0)),
        system.ground.at((1, 1, 1)),
    )
    system.connect("drive", tm.Actuator(gain=2.0), "B", inputs={"command": "torque"})
    system.input("torque")
    return system


def driven_four_bar():
    """Return a closed chain with an actuator on its crank."""
    system = parametric.four_bar()
    system.connect("drive", tm.Actuator(), "A", inputs={"command": "torque"})
    system.input("torque")
    return system


def differences(function, arguments, which, step=1e-3):
    """Return the derivatives of a flat result by one argument: central differences of order 8 (extrapolated)."""
    x = np.array(arguments[which], dtype=np.float64)
    columns = []
    for k in range(x.size):
        h, total = step * max(1.0, abs(x.flat[k])), 0.0
        for n, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)):
            for sign in (1.0, -1.0):
                moved = x.copy()
                moved.flat[k] += sign * n * h
                there = [*arguments[:which], moved, *arguments[which + 1 :]]
                total = total + sign * weight * function(*there) / h
        columns.append(total)
    return np.array(columns).T if columns else np.zeros((len(function(*arguments)), 0))
