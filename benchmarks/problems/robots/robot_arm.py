"""A six-axis arm with computed-torque control: a sampled controller cancels the dynamics of the arm by its own model of it.

The controller calls inverse dynamics of the arm every millisecond; what is left is a damped error, e'' + 20 e' + 100 e = 0 on every
axis. Data chosen by us (an arm of 0.9 m reach, 30 kg). Known values: the closed form of that error, reached as the period goes to
zero with its first power; and the torques of the whole motion by a drive of every axis.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import treemech as tm

DURATION = 1.0
PERIOD = 1e-3  # of the controller [s]
SIMULATE: dict[str, Any] = {"rtol": 1e-8, "t_eval": np.linspace(0.0, DURATION, 201)}
PLOTS = [tuple(f"axis {k}.q" for k in range(6)), tuple(f"motor {k}.effort" for k in range(6))]
KNOWN = {
    "error from its closed form": (
        0.0,
        0.03,
        "e (1 + 10 t) exp(-10 t), as a part of the first one; period 1 ms",
    ),
    "error for a period that goes to zero": (0.0, 5e-4, "the same, extrapolated"),
    "that of twice the period over it": (2.0, 0.1, "the first power of the period"),
    "torques, by control and by drives": (
        0.0,
        0.03,
        "at the end, as a part of the largest; held for a period",
    ),
    "mass matrix by columns of inverse dynamics": (0.0, 1e-12, "as a part of the largest entry"),
}
AMPLITUDE = np.array([0.8, 0.5, 0.6, 1.0, 0.7, 1.2])  # of the motion asked for [rad]
FREQUENCY = np.array([3.0, 4.0, 3.5, 5.0, 4.5, 6.0])  # [rad/s]
FIRST = np.array([0.10, -0.08, 0.06, 0.15, -0.12, 0.20])  # error at the start [rad]
GAIN = 10.0  # [rad/s]; both poles of the error
LINKS = (  # axis, where the next axis is, mass of the link, its radius
    ("z", (0, 0, 0.30), 10.0, 0.08), ("y", (0.40, 0, 0), 8.0, 0.06), ("y", (0.35, 0, 0), 6.0, 0.05),
    ("x", (0.10, 0, 0), 3.0, 0.04), ("y", (0.08, 0, 0), 2.0, 0.04), ("x", (0.06, 0, 0), 1.0, 0.03),
)  # fmt: skip


@dataclass(frozen=True)
class TorqueMotor(tm.Energetic):
    """Motor on a hinge coordinate whose torque is its input."""

    n_ends = 0
    n_coordinates = 1
    n_deformations = 1
    input_names = ("torque",)

    def effort(self, now, t, out):
        out.effort[0] = -now.inputs[0]
        out.supplied[0] = now.inputs[0] * now.rate[0]


def asked(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return angles, rates and accelerations asked for."""
    s, c = AMPLITUDE * np.sin(FREQUENCY * t), AMPLITUDE * FREQUENCY * np.cos(FREQUENCY * t)
    return s, c, -(FREQUENCY**2) * s


def arm(name: str = "arm") -> tm.System:
    """Return the arm without motors."""
    system = tm.System(name, gravity=(0, 0, -9.81))
    end = system.ground.at()
    for k, (axis, tip, mass, radius) in enumerate(LINKS):
        length, way = np.linalg.norm(tip), np.array(tip) / np.linalg.norm(tip)
        solid = tm.solids.cylinder(radius, length, axis=axis if axis != "y" else "x", mass=mass).moved(
            0.5 * length * way
        )
        link = system.body(f"link {k}", **solid.properties)
        system.connect(f"axis {k}", tm.Revolute(axis), end, link)
        end = link.at(tip)
    return system


def system(period: float = PERIOD) -> tm.System:
    model, system = arm().build(), arm("six-axis arm")
    names = [f"axis {k}" for k in range(6)]
    for k in range(6):
        system.connect(f"motor {k}", TorqueMotor(), names[k], inputs={"torque": f"torque {k}"})

    def control(t, *measured):
        q, u = np.array(measured[:6]), np.array(measured[6:])
        wanted, rate, second = asked(t)
        ud = second + 2 * GAIN * (rate - u) + GAIN**2 * (wanted - q)
        return tuple(model.inverse_dynamics((t, q, u), ud))

    measures = [*(f"{name}.q" for name in names), *(f"{name}.u" for name in names)]
    system.controller("computed torque", control, period, measures, [f"torque {k}" for k in range(6)])
    return system


def state(mech: tm.Mechanism) -> tm.State:
    wanted, rate, _ = asked(0.0)
    return mech.state(q=wanted + FIRST, u=rate)


def gap(run: tm.Run) -> np.ndarray:
    """Return the distance of the error from its closed form over time, as a part of the first error."""
    left = run.q - np.array([asked(t)[0] for t in run.t])
    fading = ((1 + GAIN * run.t) * np.exp(-GAIN * run.t))[:, None]
    return np.asarray(left / FIRST - fading)


def measured(mech: tm.Mechanism, run: tm.Run) -> dict:
    slow = system(2 * PERIOD).build()
    coarse = slow.simulate((0, DURATION), state(slow), **SIMULATE)
    free, at = arm().build(), (0.0, run.q[50], 0 * run.u[50])
    rest = free.inverse_dynamics(at, np.zeros(6))
    columns = np.array([free.inverse_dynamics(at, e) - rest for e in np.eye(6)]).T
    A = free.mass_matrix(at)
    end = run.t[-1] - PERIOD  # the torque of the last period was decided there
    wanted = free.inverse_dynamics((end, *asked(end)[:2]), asked(end)[2])
    torque = np.array([-run.element(f"motor {k}").effort[-2:].ravel()[-1] for k in range(6)])
    return {
        "error from its closed form": np.max(np.abs(gap(run))),
        "that of twice the period over it": np.max(np.abs(gap(coarse))) / np.max(np.abs(gap(run))),
        "error for a period that goes to zero": np.max(np.abs(2 * gap(run) - gap(coarse))),
        "torques, by control and by drives": np.max(np.abs(torque - wanted)) / np.max(np.abs(wanted)),
        "mass matrix by columns of inverse dynamics": np.max(np.abs(columns - A)) / np.max(np.abs(A)),
    }
