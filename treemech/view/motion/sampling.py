"""Choice of the frames of a view: few where the motion is smooth, all that are needed where it is not."""

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.model import trace as columns
from treemech.dynamics.simulation.dense_output import interpolate
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from .interpolation import Frames

if TYPE_CHECKING:
    from ...results.run import Run

MAX_FRAMES = 2000
MAX_CANDIDATES = 6000  # states of the interpolant that are looked at
PER_STEP = 6
ENOUGH = 500  # outputs; fewer are filled in where they are the steps of the integrator
DISTANCE = 5e-4  # error of a place between frames, relative to the size of the scene
ANGLE = 2e-3  # [rad]
MANY = 900  # frames; a motion that needs more is followed less closely, at most SLACK times
SLACK = 8.0


def forwards(run: "Run") -> "Run":
    """Return the run with rising times; one that was computed backwards is turned round."""
    order = np.flatnonzero(np.isfinite(run.t))
    if not len(order):
        raise TreemechError("the run has no states: there is nothing to draw.")
    if run.t[order[-1]] < run.t[order[0]]:
        order = order[::-1]
    if np.any(np.diff(run.t[order]) < 0.0):
        raise TreemechError("the times of the run go up and down; wanted them in order.")
    return run if len(order) == len(run.t) and order[0] == 0 else selected(run, order)


def selected(run: "Run", rows: NDArray[np.intp]) -> "Run":
    """Return a run of some states of a run, with the results that are known."""
    from ...results.run import Run

    known = run._computed
    if known is not None:
        known = known._replace(
            **{n: x[rows] for n, x in known._asdict().items() if n != "unique" and len(x) == len(run.t)}
        )
    return Run(
        run._info, run.t[rows], run.q[rows], run.u[rows], run.success, run.message, run.method, run.statistics, run._tracer, known,
        run._cut[rows], run.z[rows], measures=run._measures, core=run._core,
    )  # fmt: skip


def resampled(run: "Run", times: Floats) -> "Run":
    """Return a run with states at any times, from the interpolant of a run that kept one."""
    from ...results.run import Run

    if run._dense is None or run._core is None:
        raise TreemechError("this run kept no interpolant: simulate(..., dense_output=True).")
    nodes, table, method, unpack = run._dense
    starts = [h.q + h.euler_parameters for h in run._info.hinges if h.euler_parameters is not None]
    y = interpolate(method, nodes, table, times, starts)
    q, u = unpack(times, y)
    rest = run._core().unpack(y)
    return Run(
        run._info, times, q, u, run.success, run.message, run.method, run.statistics, run._tracer, None, rest.cut, rest.z,
        measures=run._measures, core=run._core,
    )  # fmt: skip


def candidates(run: "Run") -> "Run":
    """Return the states that frames are chosen from: many in every step of the integrator, or the outputs that were asked for."""
    from ...results.refine import refined

    if run._dense is None or run._core is None or len(run._dense[0]) < 2:
        return refined(forwards(run), ENOUGH)
    nodes = np.unique(run._dense[0])
    inside = nodes[(nodes >= run.t.min()) & (nodes <= run.t.max())]
    nodes = np.unique(np.concatenate((inside, run.t[[0, -1]])))
    fine = max(1, min(PER_STEP, MAX_CANDIDATES // max(len(nodes), 1)))
    times = np.unique(
        np.concatenate([nodes[:-1] + k / fine * np.diff(nodes) for k in range(fine)] + [nodes[-1:]])
    )
    if len(times) > MAX_CANDIDATES:
        times = times[np.unique(np.round(np.linspace(0, len(times) - 1, MAX_CANDIDATES)).astype(int))]
    return resampled(run, times)


def body_frames(run: "Run") -> Frames:
    """Return the frames of all bodies but the ground at all states of a run."""
    trace = run._trace(columns.VELOCITY)[:, 1:]
    rotation = trace[:, :, columns.ROTATION].reshape(*trace.shape[:2], 3, 3)
    with np.errstate(invalid="ignore"):
        lost = np.asarray(
            ~(np.abs(trace[:, :, columns.POSITION]) < 1e30).all(axis=-1)
        )  # a motion that ran away
    position = np.where(lost[..., None], np.nan, trace[:, :, columns.POSITION])
    return Frames.of(run.t, position, rotation, trace[:, :, columns.VELOCITY], trace[:, :, columns.OMEGA])


def enough(frames: Frames, size: float, most: int = MAX_FRAMES) -> NDArray[np.intp]:
    """Return the numbers of frames from which all others follow; a long wild motion is followed less closely, for the size of its page."""
    slack, rows = 1.0, kept(frames, size, most)
    while len(rows) > MANY and slack < SLACK:
        slack *= 2.0
        rows = kept(frames, size, most, slack)
    return rows


def kept(frames: Frames, size: float, most: int = MAX_FRAMES, slack: float = 1.0) -> NDArray[np.intp]:
    """Return the numbers of the frames from which all others follow, to `slack` times DISTANCE of the size and ANGLE.

    Intervals are halved where the motion between their ends misses a frame.
    """
    n = len(frames.t)
    chosen, open_ = {0, n - 1}, [(0, n - 1)] if n > 2 else []
    jumps = np.flatnonzero(np.diff(frames.t) <= 0.0)
    lost = ~np.isfinite(frames.position).all(axis=(1, 2))
    edges = np.unique(
        np.concatenate((jumps, jumps + 1, np.flatnonzero(np.diff(lost)), np.flatnonzero(np.diff(lost)) + 1))
    )
    if len(edges):  # jumps, and where a motion is lost, are kept as they are
        marks = np.unique(np.concatenate(([0], edges, [n - 1]))).tolist()
        chosen.update(marks)
        open_ = list(itertools.pairwise(marks))
    while open_ and len(chosen) < most:
        following = []
        for k, m in open_:
            if m - k < 2 or not _missed(frames, k, m, size, slack):
                continue
            middle = int(np.searchsorted(frames.t, 0.5 * (frames.t[k] + frames.t[m])))
            middle = min(max(middle, k + 1), m - 1)
            chosen.add(middle)
            following += [(k, middle), (middle, m)]
        open_ = following
    found = np.array(sorted(chosen), dtype=np.intp)
    if len(found) > most:
        found = found[np.unique(np.round(np.linspace(0, len(found) - 1, max(most, 2))).astype(int))]
    return found


def _missed(frames: Frames, k: int, m: int, size: float, slack: float) -> bool:
    """Return whether the motion between two frames misses one of those between them."""
    inside = np.arange(k + 1, m)
    if len(inside) > 64:  # first look at some
        some = inside[:: len(inside) // 16]
        if _off(frames, k, m, some, size, slack):
            return True
    return _off(frames, k, m, inside, size, slack)


def _off(frames: Frames, k: int, m: int, inside: NDArray[np.intp], size: float, slack: float) -> bool:
    first, last = np.full(len(inside), k), np.full(len(inside), m)
    position, attitude = frames.across(first, last, frames.t[inside])
    gap = np.linalg.norm(position - frames.position[inside], axis=-1)
    same = np.abs(np.sum(attitude * frames.attitude[inside], axis=-1))
    turn = 2.0 * np.sqrt(np.maximum(0.0, 2.0 * (1.0 - np.minimum(same, 1.0))))
    return bool(
        np.nanmax(gap, initial=0.0) > slack * DISTANCE * size or np.nanmax(turn, initial=0.0) > slack * ANGLE
    )
