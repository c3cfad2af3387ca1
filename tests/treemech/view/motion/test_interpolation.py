"""Motion between frames: it has the given poses and velocities, and follows smooth motions."""

import numpy as np

from treemech.view.motion.interpolation import Frames, exponential, matrices, product


def steady(times, rate, axis):
    """Return the frames of a body that spins steadily and runs along a parabola."""
    axis = np.asarray(axis) / np.linalg.norm(axis)
    e = exponential(np.outer(times * rate, axis))
    position = np.column_stack((times, times**2, 1.0 + 0 * times))[:, None]
    velocity = np.column_stack((1.0 + 0 * times, 2 * times, 0 * times))[:, None]
    return Frames.of(
        times, position, matrices(e)[:, None], velocity, np.tile(rate * axis, (len(times), 1, 1))
    )


def test_a_steady_spin_of_many_turns_is_exact():
    frames = steady(
        np.array([0.0, 0.7, 1.0]), 40.0, (1, 2, 2)
    )  # 4.5 turns from the first frame to the second
    times = np.linspace(0.0, 1.0, 50)
    position, e = frames.at(times)
    assert np.allclose(position[:, 0, 1], times**2, atol=1e-12)
    wanted = exponential(np.outer(times * 40.0, np.array((1, 2, 2)) / 3.0))
    assert np.abs(np.abs(np.sum(e[:, 0] * wanted, axis=1)) - 1.0).max() < 1e-9


def tumbling(times):
    a = exponential(np.outer(1.3 * times, (0, 0, 1.0)))
    b = exponential(np.outer(np.sin(2.0 * times), (1.0, 0, 0)))
    return product(a, b)


def test_rotations_converge():
    errors = []
    for n in (11, 21):
        t, h = np.linspace(0.0, 2.0, n), 1e-5
        R, ahead, back = (matrices(tumbling(x)) for x in (t, t + h, t - h))
        W = np.einsum("nij,nkj->nik", (ahead - back) / (2 * h), R)
        omega = np.column_stack((W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]))[:, None]
        frames = Frames.of(t, np.zeros((n, 1, 3)), R[:, None], np.zeros((n, 1, 3)), omega)
        fine = np.linspace(0.0, 2.0, 333)
        same = np.abs(np.sum(frames.at(fine)[1][:, 0] * tumbling(fine), axis=1))
        errors.append(np.sqrt(2.0 * (1.0 - np.minimum(same, 1.0))).max())
    assert errors[1] < 1e-4 and errors[0] / errors[1] > 8.0  # between the third and the fourth order


def test_lost_poses_stay_lost():
    frames = Frames.of(
        np.arange(3.0),
        np.full((3, 1, 3), np.nan),
        np.tile(np.eye(3), (3, 1, 1, 1)),
        np.zeros((3, 1, 3)),
        np.zeros((3, 1, 3)),
    )
    assert np.isnan(frames.at(np.array([0.5]))[0]).all()
