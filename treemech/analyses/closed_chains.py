"""Accelerations and multipliers of closed chains over many states; which of their loads the model decides."""

from typing import TYPE_CHECKING

import numpy as np

from treemech.dynamics.analyses.reactions import smallest_multipliers, unique_loads
from treemech.dynamics.model.core import Core
from treemech.dynamics.model.loops import ClosedMotion
from treemech.topology.arrays import Floats

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def closed_motion(
    core: Core, t: Floats, q: Floats, u: Floats, loads: Floats | None = None, cut: Floats | None = None
) -> ClosedMotion:
    """Return the motion of closed chains, accelerations included.

    Redundant multipliers are the least ones.
    """
    loops = core.loops
    if loops is None:
        raise AssertionError("no chords")
    tau = None if loads is None else np.tile(loads, (len(t), 1))
    found = loops.solve(t, q, u, cut, tau)
    if loops.selected:
        smallest_multipliers(core, t, q, found)
    return found


def load_is_unique(mech: "Mechanism", t: Floats, q: Floats, cut: Floats) -> Floats:
    """Return whether the model decides each load at the first of many states: of hinges, then of chords."""
    if not len(t):
        return np.ones(len(mech._info.hinges) + len(mech._info.chords))
    mech._core.chord_work.q[:] = cut[0]
    chords, bodies = unique_loads(mech._core, float(t[0]), q[0])
    return np.array([*(bodies[h.number] for h in mech._info.hinges), *chords], dtype=np.float64)
