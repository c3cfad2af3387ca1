"""A foreign hinge closes a loop like a built-in one; drives that prescribe too much are refused."""

from dataclasses import dataclass
from math import cos, sin

import numpy as np
import pytest

import treemech as tm

PITCH, MASS, INERTIA, G = 0.3, 2.0, 0.05, 9.81


@dataclass(frozen=True)
class PoseScrew(tm.Hinge):
    pitch: float
    n_coordinates = 1

    def pose(self, q, t, offset, rotation):
        offset[2] = self.pitch * q[0]
        rotation[0, 0] = cos(q[0])
        rotation[0, 1] = -sin(q[0])
        rotation[1, 0] = sin(q[0])
        rotation[1, 1] = cos(q[0])


@dataclass(frozen=True)
class FullScrew(tm.Hinge):
    pitch: float
    n_coordinates = 1

    def evaluate(self, q, u, t, motion):
        motion.offset[2] = self.pitch * q[0]
        motion.rotation[0, 0] = cos(q[0])
        motion.rotation[0, 1] = -sin(q[0])
        motion.rotation[1, 0] = sin(q[0])
        motion.rotation[1, 1] = cos(q[0])
        motion.translation_partials[0, 2] = self.pitch
        motion.rotation_partials[0, 2] = 1.0


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("screw", [PoseScrew(PITCH), FullScrew(PITCH), tm.Screw(PITCH)], ids=lambda s: s.kind)
def test_a_foreign_hinge_closes_a_loop_over_several_turns(screw, turned):
    system = tm.System("nut", gravity=(0, 0, -G))
    nut = system.body("nut", MASS, (0.1, 0.1, INERTIA))
    system.connect("guide", tm.Cylindrical("z"), system.ground, nut)
    ends = (nut, system.ground) if turned else (system.ground, nut)
    system.connect("thread", screw, *ends, role="chord")
    mech = system.build()
    assert [c.name for c in mech.tree.chords] == ["thread"]
    run = mech.simulate((0.0, 2.0), mech.assemble(), rtol=1e-10, t_eval=[1.0, 2.0])
    assert run.success, run.message
    angle = -0.5 * MASS * G * PITCH / (INERTIA + MASS * PITCH**2) * run.t**2  # from rest
    assert abs(angle[-1]) > 4 * np.pi
    sign = -1.0 if turned else 1.0
    turns = [run.connection("guide").q[:, k] for k in range(2)]
    assert min(np.abs(x - angle).max() for x in turns) < 1e-8
    assert min(np.abs(x - PITCH * angle).max() for x in turns) < 1e-8
    assert np.abs(run.connection("thread").q - sign * angle).max() < 1e-8
    assert np.abs(run.connection("thread").u - sign * 2 * angle / run.t).max() < 1e-8
    assert run.residual.position.max() < 1e-12


def four_bar(*driven):
    system = tm.System("four-bar", gravity=(0, 0, -G))
    crank, coupler, rocker = (
        system.body(n, 1.0, (0, 0.1, 0.1), com=(0.5, 0, 0)) for n in ("crank", "coupler", "rocker")
    )
    system.connect("A", tm.Revolute("y"), system.ground, crank)
    system.connect("B", tm.Revolute("y"), crank.at((1, 0, 0)), coupler)
    system.connect("C", tm.Revolute("y"), coupler.at((3, 0, 0)), rocker.at((2.5, 0, 0)), role="chord")
    system.connect("D", tm.Revolute("y"), system.ground.at((3.5, 0, 0)), rocker)
    for name, motion in driven:
        system.prescribe(name, motion)
    return system.build()


def test_a_drive_too_many_is_refused_and_says_how_many_there_may_be():
    mech = four_bar(("A", lambda t: -0.6 + t), ("D", lambda t: -1.0 + 2.0 * t))
    with pytest.raises(
        tm.ConvergenceError, match=r"2 coordinates are fixed or prescribed.*'A', 'D'.*give fewer"
    ):
        mech.kinematics(np.linspace(0.0, 0.5, 6))


def test_a_chain_out_of_reach_names_joint_gap_and_nearest_approach():
    mech = four_bar(("A", lambda t: 3.0 + t))
    far = mech.assemble(guess={"B": 0.3, "D": -1.5})
    assert abs(mech.constraints(far).residual).max() < 1e-10
    short = tm.System("short")
    a, b = (short.body(n, 1.0, (1, 1, 1)) for n in "ab")
    short.connect("P", tm.Revolute("z"), short.ground, a)
    short.connect("Q", tm.Revolute("z"), a.at((1, 0, 0)), b)
    short.connect("S", tm.Revolute("z"), b.at((1, 0, 0)), short.ground.at((5, 0, 0)), role="chord")
    with pytest.raises(tm.ConvergenceError, match=r"close at 'S': the nearest approach leaves a gap of 3\b"):
        short.build().assemble()
