"""Evaluation of many states: everything that follows from them, and the reactions at one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.analyses.reactions import add_chord_loads, add_element_loads
from treemech.dynamics.model.loops import ClosedMotion
from treemech.dynamics.simulation.integrator import Released
from treemech.topology.arrays import Floats

from ..results.computed import Results
from ..results.run import Run
from ..results.state import State
from .closed_chains import closed_motion, load_is_unique
from .contacts import contacts, without
from .states import as_rows

if TYPE_CHECKING:
    from ..mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Reaction:
    """Load of a connection on the body of its end b, at the point of end b, world components: force, moment.

    If it is not `unique`, constraints are redundant, and it is the smallest of the possible loads.
    """

    force: Floats
    moment: Floats
    unique: bool = True

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
    parts, edges = [], [*(time for time, _ in released[1:]), np.inf]
    for (start, names), stop in zip(released, edges, strict=True):
        own = (t >= start) & (t < stop)
        if np.any(own):
            if cut is not None:
                mech._core.chord_work.q[:] = cut[own][0]
            with without(mech, names), mech._core.seeing(None if z is None else z[own]):
                mech._core.loops.choose(float(t[own][0]), q[own][0])
                parts.append(
                    closed_motion(mech._core, t[own], q[own], u[own], None, None if cut is None else cut[own])
                )
    found = (
        ClosedMotion(*map(np.concatenate, zip(*parts, strict=True)))
        if parts
        else closed_motion(mech._core, t, q, u)
    )
    with mech._core.seeing(z):
        trace, _ = mech._core.trace(t, q, u, found.ud)
    add_chord_loads(mech._core, trace, found.loads)
    add_element_loads(mech._core, trace, found.elements)
    return Results(
        found.ud, trace, found.tau, found.multipliers, found.loads, found.residual, found.cut_q, found.cut_u,
        found.cut_ud, load_is_unique(mech, t, q, found.cut_q), found.elements,
    )  # fmt: skip


def tree_results(
    mech: "Mechanism", t: Floats, q: Floats, u: Floats, ud: Floats, z: Floats | None = None
) -> Results:
    """Return everything that follows from many states of a tree and their accelerations."""
    n = len(t)
    none, unique = np.zeros((n, 0)), np.ones(len(mech._info.hinges))
    with mech._core.seeing(z):
        trace, tau = mech._core.trace(t, q, u, ud)
    elements = mech._core.elements(t, q, u, z) if mech._info.elements else none
    return Results(
        ud, trace, tau, none, np.zeros((n, 0, 6)), np.zeros((n, 3)), none, none, none, unique, elements
    )


def reactions(mech: "Mechanism", state: State | tuple[Any, ...]) -> dict[str, Reaction]:
    """Return the loads of all connections, see `Mechanism.reactions`."""
    t, q, u = as_rows(mech, state, "reactions")
    with contacts(mech, float(t[0]), q[0], u[0]):
        off = () if mech._core.loops is None else mech._core.loops.released()
    results = results_of_states(mech, t, q, u, released=((-np.inf, off),))
    loads = [h.load(results.trace) for h in mech._info.hinges]
    loads += [(load[:, :3], load[:, 3:]) for load in results.chord_loads.transpose(1, 0, 2)]
    names = [h.name for h in mech._info.hinges] + [c.name for c in mech._info.chords]
    return {
        name: Reaction(force[0], moment[0], bool(unique))
        for name, (force, moment), unique in zip(names, loads, results.unique, strict=True)
    }


def empty_run(mech: "Mechanism") -> Run:
    """Return a run without any states."""
    none = np.zeros(0), np.zeros((0, mech.nq)), np.zeros((0, mech.nu))
    return Run(mech._info, *none, True, "", tracer=partial(results_of_states, mech))
