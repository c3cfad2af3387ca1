"""Rows of states on SIMD lanes: several rows at once where the compiled library can, with the numbers of each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.calls import lanes
from treemech.dynamics.calls.lane_loops import lane_loops
from treemech.dynamics.calls.lane_model import lane_model
from treemech.kinematics.kernel.status import OK
from treemech.topology.arrays import Floats

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from .rows import Rows

_MOST = 64  # speeds above which mass matrices leave the caches on lanes: one by one is then as quick


def left_by_lanes(
    mech: Mechanism, name: Any, rows: Rows, results: list[Floats], first: int, last: int
) -> NDArray[np.int64] | None:
    """Compute rows first to last on lanes. Return the rows that are left; None if all are, and lanes are no use."""
    core = mech._core
    if (last - first < 2 and core.loops is None) or lane_model(core) is None:
        return None
    part = slice(first, last)
    t, q, u, z, out = rows.t[part], rows.q[part], rows.u[part], rows.z[part], results[0][part]
    finite = _finite(t[:, None], q, u)
    if name == "forward_dynamics" and core.loops is not None:
        closed = lane_loops(core)
        if closed is None:
            return None
        status = closed.dynamics(t, q, u, z, _input(rows, part, mech.nu), out, results[1][part])
    elif core.loops is not None and name == "inverse_dynamics":
        return None
    elif name == "forward_dynamics":
        status = lanes.forward_dynamics(core, t, q, u, _input(rows, part, mech.nu), out, z)
        finite &= _finite(out)
    elif name == "inverse_dynamics":
        status = lanes.inverse_dynamics(core, t, q, u, _input(rows, part, mech.nu), out, z)
    elif name == "load_column":
        status = lanes.inverse_dynamics(core, t, q, u, np.zeros_like(u), out, z)
        np.negative(out, out=out)
    elif name == "mass_matrix" and mech.nu <= _MOST:
        status = lanes.mass_matrix(core, t, q, u, out)
    elif name == "energy":
        status = lanes.energy(core, t, q, u, out, z)
    elif isinstance(name, tuple) and name[0] == "pose":
        number, place = mech._fast.place(*name)
        status = lanes.pose(core, t, q, u, number, place, out)
    else:
        return None
    return first + np.flatnonzero(~finite | (status != OK))


def _finite(*arrays: Floats) -> NDArray[np.bool_]:
    """Tell which rows have finite numbers in all arrays. Sums are finite where all numbers are, but for huge ones."""
    found = np.ones(len(arrays[0]), dtype=bool)
    with np.errstate(invalid="ignore", over="ignore"):
        for array in arrays:
            if not np.isfinite(array.sum()):
                found &= np.isfinite(array).all(axis=1)
    return found


def _input(rows: Rows, part: slice, n: int) -> Floats:
    """Return the input of every row; without one it is zero."""
    given = rows.inputs[0]
    if given is None:
        return np.zeros((part.stop - part.start, n))
    if isinstance(given, list):  # of every row
        return np.array(given[part], dtype=np.float64)
    return np.ascontiguousarray(np.broadcast_to(given, (part.stop - part.start, n)), dtype=np.float64)
