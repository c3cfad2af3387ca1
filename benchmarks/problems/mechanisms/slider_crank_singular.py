"""Slider-crank with crank and rod equally long (Bayo and Avello), through its singular position.

When the slider is on the crank pivot the constraints lose rank and the rod could turn with the crank; the answer is
the motion in which the rod keeps mirroring the crank. Data: those in use since Bayo and Avello.
"""

import numpy as np

import treemech as tm

from ..problem import load
from .slider_crank_driven import slider_crank

REFERENCE = load("slider_crank_singular")
PLOTS = [("A.q",), ("D.q",), ("D.u",)]


def system() -> tm.System:
    return slider_crank(REFERENCE, 0.0)


def state(mech: tm.Mechanism) -> tm.State:
    length, initial = REFERENCE.parameters["crank_length"], REFERENCE.initial
    phi = np.pi / 4
    rate = initial["slider_velocity"] / (-2 * length * np.sin(phi))  # x = 2 l cos(phi)
    guess = {"B": -2 * phi, "C": phi, "D": initial["slider_x"]}
    return mech.assemble(fix={"A": phi}, guess=guess, rates={"A": rate})


def observe(run: tm.Run) -> dict:
    slider = run.body("slider")
    return {
        "slider_x": slider.position[:, 0],
        "slider_v": slider.velocity[:, 0],
        "crank_angle": run.connection("A").q,
        "total_energy": run.energy.total,
    }
