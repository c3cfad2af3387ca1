"""Dense output: states between the steps of a run, from the interpolants of the compiled loops."""

import numpy as np

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats


def interpolate(method: str, t: Floats, table: Floats, times: Floats, euler: list[int]) -> Floats:
    """Return the states at `times` from the interpolants of all steps, with Euler parameters of length 1.

    Where a time occurs twice, the state jumps: the later one counts.
    """
    if not len(table):
        raise TreemechError("the run made no step: there is nothing to interpolate.")
    step = np.sign(t[-1] - t[0]) or 1.0
    if np.any((times - t[0]) * step < 0) or np.any((t[-1] - times) * step < 0):
        raise TreemechError(f"the run covers t = {t[0]:.6g} .. {t[-1]:.6g} s; asked for a time outside.")
    k = np.clip(np.searchsorted(step * t, step * times, side="right") - 1, 0, len(t) - 2)
    size = t[k + 1] - t[k]
    x = ((times - t[k]) / np.where(size == 0.0, 1.0, size))[..., None]
    n = table.shape[1] // 8
    rows = table[k].reshape(*np.shape(times), 8, n)
    y = np.zeros((*np.shape(times), n))
    for r in range(3 if method == "DP5" else 6, -1, -1):
        y = (y + rows[..., 1 + r, :]) * (1.0 - x if method != "DP5" and r % 2 else x)
    y += rows[..., 0, :]
    for a in euler:
        y[..., a : a + 4] /= np.linalg.norm(y[..., a : a + 4], axis=-1, keepdims=True)
    return y


def standstill(y: Floats) -> Floats:
    """Return the interpolant of a step of no length, for the state after a jump."""
    table = np.zeros((1, 8 * len(y)))
    table[0, : len(y)] = y
    return table
