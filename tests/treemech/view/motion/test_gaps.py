"""Outputs that are too far apart to tell the motion between them are shown one by one; no made-up motion takes bodies apart."""

import warnings

import numpy as np
import pytest

import treemech as tm
from treemech.view.compose import compose
from treemech.view.motion.gaps import gaps, stepped
from treemech.view.motion.interpolation import Frames, matrices
from treemech.view.motion.sampling import DISTANCE, body_frames
from treemech.view.scene.options import Options


@pytest.fixture(scope="module")
def double_pendulum():
    system = tm.System("double")
    a, b = (system.body(n, 1.0, (0.0, 1 / 12, 1 / 12), com=(0.5, 0, 0)) for n in "ab")
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    return system.build()


def apart(frames):
    """Return how far the ends of the second hinge are from each other at any time."""
    times = np.linspace(frames.t[0], frames.t[-1], 2001)
    position, attitude = frames.at(times)
    return np.linalg.norm(position[:, 0] + matrices(attitude[:, 0])[:, :, 0] - position[:, 1], axis=1).max()


def test_a_few_outputs_are_shown_one_by_one(double_pendulum):
    mech = double_pendulum
    run = mech.simulate((0, 10), mech.state(q={"A": -1.5}), rtol=1e-6, t_eval=np.linspace(0, 10, 6))
    raw = body_frames(run)
    assert gaps(raw, 2.0).all() and apart(raw) > 1.0
    with pytest.warns(UserWarning, match="the 6 outputs of the run are too far apart"):
        scene = compose(run, Options())
    assert apart(scene.frames) < 1e-9
    position, _ = scene.frames.at(np.array([3.9, 4.0, 4.1]))
    assert np.allclose(position[0], raw.position[1]) and np.allclose(position[1:], raw.position[2])


def test_steps_of_the_integrator_are_filled_in(double_pendulum):
    mech = double_pendulum
    run = mech.simulate((0, 10), mech.state(q={"A": -1.5}), rtol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scene = compose(run, Options())
    assert apart(body_frames(run)) > 0.01 and apart(scene.frames) < 2.0 * DISTANCE * scene.size


def test_a_steady_spin_of_several_turns_is_no_gap():
    turn = 20.0
    t = np.array([0.0, 1.0])
    attitude = np.array([[[1.0, 0, 0, 0]], [[np.cos(turn / 2), 0, 0, np.sin(turn / 2)]]])
    spin = np.broadcast_to([0.0, 0.0, turn], (2, 1, 3)).copy()
    frames = Frames(t, np.zeros((2, 1, 3)), attitude, np.zeros((2, 1, 3)), spin)
    assert not gaps(frames, 1.0).any()
    same, rows = stepped(frames, 1.0, np.zeros(1, dtype=bool))
    assert same is frames and rows.tolist() == [0, 1]
