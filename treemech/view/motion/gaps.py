"""Outputs that lie too far apart to tell the motion between them: the scene then stays at each until the next one."""

import numpy as np
from numpy.typing import NDArray

from treemech.topology.arrays import Floats

from .interpolation import Frames, conjugate, exponential, nearest_turn, product

WAY = 0.1  # by how much a way may differ from time times the mean velocity at its ends, relative to the size of the scene
TURN = 0.3  # the same of a turn [rad]
BRIEF = 0.0099  # of the whole time: an interval that is over before it is seen


def gaps(frames: Frames, size: float) -> NDArray[np.bool_]:
    """Return for every interval whether the velocities at its ends contradict the way between them.

    On a circle of radius r that is so from turns of (12 WAY size / r)^(1/3) rad on, where the cubic is wrong by some percent of r.
    """
    h = np.diff(frames.t)[:, None, None]
    way = np.diff(frames.position, axis=0) - 0.5 * h * (frames.velocity[1:] + frames.velocity[:-1])
    a, c = h / 3.0 * frames.spin[:-1], h / 3.0 * frames.spin[1:]
    between = product(conjugate(frames.attitude[:-1]), frames.attitude[1:])
    middle = product(product(exponential(-a), between), exponential(-c))
    turn = nearest_turn(middle, 0.5 * (a + c)) - 0.5 * (a + c)
    with np.errstate(invalid="ignore"):
        return np.asarray((_largest(way) > WAY * size) | (_largest(turn) > TURN))


def _largest(vectors: Floats) -> Floats:
    return np.asarray(np.nanmax(np.linalg.norm(vectors, axis=-1), axis=-1, initial=0.0))


def stepped(frames: Frames, size: float, known: NDArray[np.bool_]) -> tuple[Frames, NDArray[np.intp]]:
    """Return the frames with a standstill in place of every gap, and the numbers of the frames that they show.

    `known` tells for every interval whether other states of the run within it have confirmed its cubics.
    """
    brief = np.diff(frames.t) < BRIEF * (frames.t[-1] - frames.t[0])
    far = np.flatnonzero(gaps(frames, size) & ~known & ~brief)
    order = np.arange(len(frames.t))
    if not len(far):
        return frames, order
    # behind frame k: k at rest, and k at rest at the time of the next frame
    rows = np.insert(order, np.repeat(far + 1, 2), np.repeat(far, 2))
    resting = np.flatnonzero(np.diff(rows, prepend=-1) == 0)
    found = frames.rows(rows)
    found.t[resting[1::2]] = frames.t[far + 1]
    found.velocity[resting], found.spin[resting] = 0.0, 0.0
    return found, rows
