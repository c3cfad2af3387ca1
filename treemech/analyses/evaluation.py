"""Evaluation of many states: everything that follows from them, and the reactions at one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.analyses.reactions import add_element_loads, coupling_loads
from treemech.dynamics.model.loops import ClosedMotion
from treemech.dynamics.simulation.integrator import Released
from treemech.kinematics.plan.arrays import REACTIONS
from treemech.topology.arrays import Floats

from ..results.computed import Results, Unique
from ..results.model_info import ChordInfo
from ..results.run import Run
from ..results.state import State
from .closed_chains import closed_motion, load_is_unique
from .contacts import contacts, unilateral, without
from .states import as_rows

if TYPE_CHECKING:
    from ..mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Reaction:
    """Load of a connection on the body of its end b, at the point of end b, world components: force, moment.

    `local_force` and `local_moment` are the same in the axes of end b. Where `unique` is False, as a whole or
    for a component (`unique.force[0]`), constraints are redundant, and the load is the smallest of the
    possible ones; `local_unique` tells it for the local components. A coupling has no force: `loads` has its
    load on every coordinate that it joins.
    """

    force: Floats
    moment: Floats
    unique: Unique = Unique()
    local_force: Floats = field(default_factory=lambda: np.zeros(3))
    local_moment: Floats = field(default_factory=lambda: np.zeros(3))
    local_unique: Unique = Unique()
    loads: Mapping[str, float] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.force, self.moment))


def results_of_states(
    mech: "Mechanism",
    t: Floats,
    q: Floats,
    u: Floats,
    cut: Floats | None = None,
    z: Floats | None = None,
    released: Released = ((-np.inf, ()),),
) -> Results:
    """Return everything that follows from many states.

    `released` says from which time on which unilateral chords let go.
    """
    if mech._core.loops is None:
        with mech._core.seeing(z):
            ud = mech._core.accelerations(t, q, u)
        return tree_results(mech, t, q, u, ud, z)
    unique: Floats | None = None  # at the first state
    parts, edges = [], [*(time for time, _ in released[1:]), np.inf]
    for (start, names), stop in zip(released, edges, strict=True):
        own = (t >= start) & (t < stop)
        if np.any(own):
            if cut is not None:
                mech._core.chord_work.q[:], mech._core.chord_work.pivot[:] = cut[own][0], -1
            with without(mech, names), mech._core.seeing(None if z is None else z[own]):
                mech._core.loops.choose(float(t[own][0]), q[own][0], u[own][0])
                parts.append(
                    closed_motion(mech._core, t[own], q[own], u[own], None, None if cut is None else cut[own])
                )
                if unique is None:
                    unique = load_is_unique(mech, t[own], q[own], parts[0].cut_q)
    found = (
        ClosedMotion(*map(np.concatenate, zip(*parts, strict=True)))
        if parts
        else closed_motion(mech._core, t, q, u)
    )
    with mech._core.seeing(z):
        trace, _ = mech._core.trace(t, q, u, found.ud)
    mech._core.carry_chord_loads(found.loads, trace)
    add_element_loads(mech._core, trace, found.elements)
    return Results(
        found.ud, trace, found.tau, found.multipliers, found.loads, found.residual, found.cut_q, found.cut_u,
        found.cut_ud, load_is_unique(mech, t, q, found.cut_q) if unique is None else unique, found.elements,
        coupling_loads(mech._core, t, q, u, found.multipliers),
    )  # fmt: skip


def tree_results(
    mech: "Mechanism", t: Floats, q: Floats, u: Floats, ud: Floats, z: Floats | None = None
) -> Results:
    """Return everything that follows from many states of a tree and their accelerations."""
    n = len(t)
    none, unique = np.zeros((n, 0)), np.ones((len(mech._info.hinges), 12))
    with mech._core.seeing(z):
        trace, tau = mech._core.trace(t, q, u, ud)
    elements = mech._core.elements(t, q, u, z) if mech._info.elements else none
    return Results(
        ud, trace, tau, none, np.zeros((n, 0, 6)), np.zeros((n, 3)), none, none, none, unique, elements, none
    )


def loads_of_regular(
    mech: "Mechanism", state: State | tuple[Any, ...]
) -> tuple[Floats, Floats, Floats] | None:
    """Return trace, loads of the chords and multipliers of one state whose rows are all independent.

    None if rows have to be chosen, if constraints may let go, or elements depend on reactions.
    """
    t, q, u = as_rows(mech, state, "reactions")
    core = mech._core
    if core.loops is None:
        results = results_of_states(mech, t, q, u)
        return results.trace[0], np.zeros((0, 6)), np.zeros(0)
    if unilateral(mech) or core.context[REACTIONS]:
        return None
    found = core.loops.regular(float(t[0]), q[0], u[0])
    if found is None:
        return None
    trace, _ = core.trace(t, q, u, found.ud)
    core.carry_chord_loads(found.loads, trace)
    return trace[0], found.loads[0], found.multipliers[0]


def reactions(mech: "Mechanism", state: State | tuple[Any, ...]) -> dict[str, Reaction]:
    """Return the loads of all connections, see `Mechanism.reactions`."""
    t, q, u = as_rows(mech, state, "reactions")
    with contacts(mech, float(t[0]), q[0], u[0]):
        off = () if mech._core.loops is None else mech._core.loops.released()
    results = results_of_states(mech, t, q, u, released=((-np.inf, off),))
    loads = [h.load(results.trace) for h in mech._info.hinges]
    loads += [(load[:, :3], load[:, 3:]) for load in results.chord_loads.transpose(1, 0, 2)]
    found = {}
    for end, load, unique in zip(mech._info.connections, loads, results.unique, strict=True):
        local, joined = end.local(results.trace, *load), dict[str, float]()
        if isinstance(end, ChordInfo):
            joined = {n: float(results.couplings[0, end.first + k]) for k, n in enumerate(end.joins)}
        found[end.name] = Reaction(
            load[0][0], load[1][0], Unique.of(unique[:6]), local[0][0], local[1][0], Unique.of(unique[6:]), joined,
        )  # fmt: skip
    return found


def empty_run(mech: "Mechanism") -> Run:
    """Return a run without any states."""
    none = np.zeros(0), np.zeros((0, mech.nq)), np.zeros((0, mech.nu))
    return Run(mech._info, *none, True, "", tracer=partial(results_of_states, mech))
