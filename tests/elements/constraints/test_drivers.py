"""Constraints along world axes (Haug's absolute and relative x, y): on the ground, and on a frame that does not turn."""

from math import cos

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treemech as tm

DISTANCE = 1.5


def two_arms():
    system = tm.System("arms", gravity=(0, -9.81, 0))
    arms = [system.body(name, 1.0, (0.1, 0.1, 0.1), com=(0.5, 0, 0)) for name in ("a", "b")]
    system.connect("A", tm.Revolute("z"), system.ground, arms[0])
    system.connect("B", tm.Revolute("z"), system.ground.at((2, 0, 0)), arms[1])
    return system, *arms


def run_of(system):
    mech = system.build()
    run = mech.simulate((0, 1), mech.assemble(fix={"A": 0.3}, guess={"B": 0.9}), rtol=1e-10)
    assert run.success, run.message
    return run


@pytest.mark.parametrize("inertia", [1.0, 1e-3])
def test_a_relative_x_along_the_world_is_an_offset_from_a_frame_that_does_not_turn(inertia):
    """Against the same equation written in the angles; the inertia of the frame, which never turns, has no effect."""
    system, a, b = two_arms()
    frame = system.body("frame", 0.0, (inertia,) * 3)
    system.connect("carried", tm.Ball(), a.at((1, 0, 0)), frame)
    system.connect("level", tm.AtRotation(), system.ground, frame)
    system.connect("x", tm.RelativeOffset("x", DISTANCE), frame, b.at((1, 0, 0)))
    run = run_of(system)
    apart = run.point("b", (1, 0, 0)).position - run.point("a", (1, 0, 0)).position
    assert_allclose(apart[:, 0], DISTANCE, atol=1e-9)
    assert np.ptp(apart[:, 1]) > 1.0
    other, *_ = two_arms()
    other.couple("x", tm.Relation(lambda q, t: 2.0 + cos(q[1]) - cos(q[0]) - 1.5), "A", "B")
    assert_allclose(run.connection("A").q[-1], run_of(other).connection("A").q[-1], atol=1e-8)


def test_an_absolute_y_is_an_offset_from_the_ground():
    system, _, b = two_arms()
    system.connect("y", tm.RelativeOffset("y", lambda t: 0.2 + 0.3 * t), system.ground, b.at((1, 0, 0)))
    mech = system.build()
    run = mech.simulate((0, 1), mech.assemble(guess={"B": 0.2}), rtol=1e-9)
    assert_allclose(run.point("b", (1, 0, 0)).position[:, 1], 0.2 + 0.3 * run.t, atol=1e-9)
