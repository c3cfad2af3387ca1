"""Inverse dynamics with drives on some of the speeds, as calls of the C extension (calls.py)."""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.kinematics.plan.columns import row

from ..equations.loop_arrays import room_of_drives

if TYPE_CHECKING:
    from .calls import Pack, Table


class Driven(NamedTuple):
    """Inverse dynamics with drives on some speeds: which, and their weights."""

    speeds: tuple[int, ...]
    weights: tuple[float, ...]


def key_of(actuated: Any, weights: Any) -> Hashable:
    """Return what the call with these drives is kept under, if it can be hashed."""
    own = actuated if actuated is None or isinstance(actuated, str) else tuple(actuated)
    if weights is None:
        return own
    return own, tuple(weights.items() if isinstance(weights, Mapping) else weights)


def driven(p: "Pack", given: Driven) -> "Table":
    """Return inverse dynamics with drives on some speeds: the rest is carried by the constraints (6.3.8)."""
    core, n, k, speeds = p.core, p.core.nu, len(given.speeds), list(given.speeds)
    wanted, ud, required, loads, all_loads = (p.zeros(size) for size in (n, n, n, k, n))
    if core.loops is None:
        m, P = 0, p.zeros(0, n)
        steps = [p.step("inverse_dynamics", 1, p.t, p.q, p.u, wanted, required, core.context_address)]
    else:
        m, work, places = core.loops.n_rows, core.chord_work, core.entry_places
        P, flat = p.zeros(m, n), p.keep(places[0] * n + places[1])
        velocity, bias = p.zeros(m), p.zeros(m)
        steps = [
            p.step("given_accelerations", wanted, ud, core.context_address, with_time=True),
            p.step("constraints", p.q, p.u, ud, required, core.chord_context, with_time=True),
            p.step("scatter", len(flat), work.partials, flat, P),
            p.step("gather", m, work.row.reshape(-1)[row.VELOCITY :], row.N_COLUMNS, velocity),
            p.step("gather", m, work.row.reshape(-1)[row.BIAS :], row.N_COLUMNS, bias),
            p.step("consistent", n, m, p.u, ud, velocity, bias),
        ]
    S = p.keep(np.eye(n)[speeds])
    root, at = p.keep(1.0 / np.sqrt(np.array(given.weights))), p.keep(np.array(speeds, dtype=np.int64))
    room = p.zeros(room_of_drives(n, m, k))
    steps += [
        p.step("drive_loads", n, m, k, P, S, root, required, loads, room),
        p.step("scatter", k, loads, at, all_loads),
    ]
    return p.call(steps, (all_loads,), inputs=(wanted,))
