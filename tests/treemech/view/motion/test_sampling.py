"""Frames are few where the motion is smooth, and the motion between them is that of the run."""

import numpy as np
import pytest

import treemech as tm
from treemech.view.motion.interpolation import matrices
from treemech.view.motion.sampling import (
    ANGLE,
    DISTANCE,
    body_frames,
    candidates,
    forwards,
    kept,
    resampled,
    selected,
)


@pytest.fixture(scope="module")
def double_pendulum():
    system = tm.System("double")
    a, b = (system.body(n, 1.0, (0.0, 1 / 12, 1 / 12), com=(0.5, 0, 0)) for n in "ab")
    system.connect("A", tm.Revolute("y"), system.ground, a)
    system.connect("B", tm.Revolute("y"), a.at((1, 0, 0)), b)
    return system.build()


def test_between_large_steps_the_interpolant_of_the_run_is_followed(double_pendulum):
    mech = double_pendulum
    run = mech.simulate((0, 5), mech.state(q={"A": 0.5}), rtol=1e-8, dense_output=True)
    full = candidates(run)
    frames = body_frames(full)
    frames = frames.rows(kept(frames, 1.0))
    times = np.linspace(0.0, 5.0, 1001)
    wanted = body_frames(resampled(run, times))
    position, e = frames.at(times)
    assert np.linalg.norm(position - wanted.position, axis=-1).max() < 2.0 * DISTANCE
    assert np.abs(np.linalg.norm(matrices(e) - matrices(wanted.attitude), axis=(2, 3))).max() < 3.0 * ANGLE


def test_smooth_outputs_are_thinned_and_can_be_found_again(double_pendulum):
    mech = double_pendulum
    run = mech.simulate((0, 5), mech.state(q={"A": 0.5}), rtol=1e-8, t_eval=np.linspace(0, 5, 2001))
    frames = body_frames(candidates(run))
    rows = kept(frames, 1.0)
    assert len(rows) < 500
    position, _ = frames.rows(rows).at(run.t)
    assert np.linalg.norm(position - frames.position, axis=-1).max() < DISTANCE


def test_no_more_frames_than_wanted(double_pendulum):
    mech = double_pendulum
    run = mech.simulate((0, 5), mech.state(q={"A": 0.5}), rtol=1e-8, t_eval=np.linspace(0, 5, 501))
    frames = body_frames(run)
    rows = kept(frames, 1e-6, 40)
    assert len(rows) <= 40 and rows[0] == 0 and rows[-1] == 500


def test_a_motion_computed_backwards_plays_forwards(double_pendulum):
    mech = double_pendulum
    run = mech.simulate((5, 0), mech.state(t=5.0, q={"A": 0.5}), rtol=1e-8)
    turned = forwards(run)
    assert np.all(np.diff(turned.t) >= 0.0) and np.allclose(turned.q[0], run.q[-1])


def test_a_selection_keeps_what_is_known(double_pendulum):
    run = double_pendulum.simulate((0, 1), rtol=1e-8)
    force = run.connection("B").force
    rows = np.array([0, len(run.t) - 1])
    assert np.array_equal(selected(run, rows).connection("B").force, force[rows])
    assert selected(run, rows)._computed is not None


def test_jumps_are_kept():
    from treemech.view.motion.interpolation import Frames

    t = np.concatenate((np.linspace(0, 1, 50), np.linspace(1, 2, 50)))
    x = np.where(np.arange(100) < 50, 0.0, 1.0)
    zero = np.zeros((100, 1, 3))
    frames = Frames.of(t, zero + x[:, None, None], np.tile(np.eye(3), (100, 1, 1, 1)), zero, zero)
    assert kept(frames, 1.0).tolist() == [0, 49, 50, 99]
