"""Accelerations and multipliers of closed chains over many states; which of their loads the model decides."""

from typing import TYPE_CHECKING

import numpy as np

from treemech.dynamics.analyses.reactions import Undecided, moved, smallest_multipliers, undecided_loads
from treemech.dynamics.model.core import Core
from treemech.dynamics.model.loops import ClosedMotion
from treemech.dynamics.model.reaction_dependent import ReactionDependent
from treemech.topology.arrays import Floats

from ..results.model_info import point
from .states import as_rows

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..results.state import State


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


def _undecided(
    mech: "Mechanism", t: Floats, q: Floats, cut: Floats
) -> tuple[Floats, Undecided, list[Floats]]:
    """Return the trace of the first state, the loads it does not decide, and these of all connections (k, 6)."""
    core, rest = mech._core, np.zeros((1, mech.nu))
    if core.loops is None:
        raise AssertionError("no chords")
    core.chord_work.q[:], core.chord_work.pivot[:] = cut[0], -1
    with core.unloaded():
        trace, _ = core.trace(t[:1], q[:1].copy(), rest.copy(), rest.copy())
    on = core.loops.work.off[: core.loops.n_rows] == 0
    found = undecided_loads(core, float(t[0]), q[0], on, trace)
    hinges = [moved(found.bodies[h.number], point(trace, h.body_b, h.offset_b)[0]) for h in mech._info.hinges]
    return trace, found, [*hinges, *found.chords]


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
    trace, undecided, open_ = _undecided(mech, t, q, cut)
    for place, (end, load) in enumerate(zip(info.connections, open_, strict=True)):
        own = np.hstack((load, *end.local(trace, load[:, :3], load[:, 3:])))
        found[place] = ~np.any(np.abs(own) > _OPEN, axis=0)
    found[len(info.hinges) :][undecided.couplings] = 0.0
    return found


def undecided_elements(mech: "Mechanism", state: "State", loads: Floats) -> dict[str, str]:
    """Return the elements that act by a load which the model does not decide at a state, and whose load it is.

    `loads` (connections, 6) are those of the state in world axes. The elements would act otherwise if the loads
    were the least ones of all connections together. Where components that are not decided vanish (in a planar
    mechanism with all loads in its plane) nothing depends on them.
    """
    core = mech._core
    loops, dependent = core.loops, ReactionDependent(core)
    if loops is None or not dependent:
        return {}
    t, q, u = as_rows(mech, state, "the state")
    found = loops.solve(t, q, u, core.chord_work.q[None].copy())
    _, undecided, open_ = _undecided(mech, t, q, found.cut_q)
    if not len(undecided.multipliers):
        return {}
    ud, own = found.ud[0], found.multipliers[0].copy()
    smallest_multipliers(core, t, q, found)
    directions = np.stack(open_, axis=1).reshape(len(undecided.multipliers), -1)
    share = np.linalg.lstsq(directions.T, -loads.ravel(), rcond=None)[0]
    change = found.multipliers[0] - own + share @ undecided.multipliers

    def act() -> Floats:
        return core.constraints(float(t[0]), q[0], u[0], ud, loaded=True).loads

    loops.solve(t, q, u, found.cut_q)  # the elements see their own load again
    applied = core.layout.efforts.applied
    return {applied[k].name: str(applied[k].reaction_of) for k in dependent.swayed(change, act)}
