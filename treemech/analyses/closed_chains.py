"""Accelerations and multipliers of closed chains over many states; which of their loads the model decides."""

from typing import TYPE_CHECKING

import numpy as np

from treemech.dynamics.analyses.reactions import moved, smallest_multipliers, undecided_loads
from treemech.dynamics.model.core import Core
from treemech.dynamics.model.loops import ClosedMotion
from treemech.topology.arrays import Floats

from ..results.model_info import point

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


_OPEN = 1e-7  # part of a load of size 1 above which it counts as open


def load_is_unique(mech: "Mechanism", t: Floats, q: Floats, cut: Floats) -> Floats:
    """Return which components of the loads the model decides at the first of many states (connections, 12).

    Hinges come first, then chords: force and moment in world axes, then in the axes of end b. Unilateral
    constraints that are released now carry nothing.
    """
    core, info = mech._core, mech._info
    found = np.ones((len(info.hinges) + len(info.chords), 12))
    if not len(t) or core.loops is None:
        return found
    core.chord_work.q[:], core.chord_work.pivot[:] = cut[0], -1
    rest = np.zeros((1, mech.nu))
    with core.unloaded():
        trace, _ = core.trace(t[:1], q[:1].copy(), rest.copy(), rest.copy())
    on = core.loops.work.off[: core.loops.n_rows] == 0
    undecided = undecided_loads(core, float(t[0]), q[0], on, trace)
    open_ = [moved(undecided.bodies[h.number], point(trace, h.body_b, h.offset_b)[0]) for h in info.hinges]
    for place, (end, load) in enumerate(zip(info.connections, [*open_, *undecided.chords], strict=True)):
        own = np.hstack((load, *end.local(trace, load[:, :3], load[:, 3:])))
        found[place] = ~np.any(np.abs(own) > _OPEN, axis=0)
    found[len(info.hinges) :][undecided.couplings] = 0.0
    return found
