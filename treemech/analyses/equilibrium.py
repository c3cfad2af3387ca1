"""Equilibrium of a Mechanism by the user's names, with unilateral constraints that hold or are open."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.analyses.balance_equations import Motion
from treemech.dynamics.analyses.equilibrium import Equilibrium, balance
from treemech.dynamics.analyses.linearization import linearize
from treemech.dynamics.analyses.stability import stability
from treemech.kinematics.closure import close_positions
from treemech.topology import ConvergenceError, ElementError
from treemech.topology.arrays import Floats

from ..results.naming import as_names
from ..results.state import State, fill
from .constraints import holonomic, size
from .contacts import misjudged, open_contacts, unilateral, without
from .cut_hinges import not_cut
from .settling import release_until_rest
from .small_motions import chosen, cut_speeds, derivative_workspace, speed_numbers
from .states import left_free, state_at, unpack

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def equilibrium(
    mech: "Mechanism",
    state: State | None = None,
    fix: Mapping[str, Any] | None = None,
    rates: Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
    method: str = "Newton",
) -> Equilibrium:
    """Find a position in which nothing accelerates, see `Mechanism.equilibrium`."""
    if method not in ("Newton", "energy", "settling"):
        raise ElementError(f"equilibrium: method is {method!r}; wanted 'Newton', 'energy' or 'settling'.")
    if method == "settling" and (fix or rates or free):
        raise ElementError(
            "equilibrium: settling lets everything go; with fix=, rates= or free= use method='Newton' or 'energy'."
        )
    for name, what in (("fix", fix), ("rates", rates)):
        if what is not None and not isinstance(what, Mapping):
            raise ElementError(f"equilibrium: {name} is {what!r}; wanted numbers by name, {{'A': 0.3}}.")
    free = as_names(free, "equilibrium: free")
    start, given, speeds = state, dict(fix or {}), dict(rates or {})
    not_cut(mech, [*given, *speeds])
    if start is None or given:
        guess = {} if start is None else {c.name: start.q[c.q_slice] for c in mech._lagrange.hinges}
        start = mech.assemble(0.0 if start is None else start.t, fix=given, guess=guess)
    if method == "settling":
        start = state = release_until_rest(mech, start)
    z = None if state is None or not mech._core.nx else state.z
    off = set(open_contacts(mech, *unpack(mech, start, "equilibrium")[:2], np.zeros(mech.nu)))
    for _ in range(2 + 2 * len(unilateral(mech))):
        with without(mech, off):
            found = _balanced(mech, start, z, given, speeds, free, method == "energy")
        other = misjudged(mech, found.state, found.multipliers, off)
        if other is None:
            return found
        off ^= {other}
        start, z = found.state, found.state.z if mech._core.nx else None
    raise ConvergenceError(
        f"no equilibrium found in which every contact holds or is open: {other!r} is neither. Try method='settling'."
    )


def _balanced(
    mech: "Mechanism",
    start: State,
    z: Floats | None,
    fix: dict[str, Any],
    rates: dict[str, Any],
    free: Sequence[str],
    downhill: bool,
) -> Equilibrium:
    """Return the balance next to a start, with the unilateral constraints that hold now."""
    workspace, t = derivative_workspace(mech), start.t
    motion = _motion(mech, start.u, fix, rates, speed_numbers(mech, free))

    def close(near: Floats) -> Floats:
        if mech._core.loops is None:
            return near
        rows = mech._core.layout.chords.rows
        return close_positions(mech._lagrange, holonomic(mech, t), rows, near, motion.movable, size(mech))

    if unilateral(mech):  # a contact that was open may have to touch
        start = state_at(mech, t, close(start.q), start.u, start.z)
    _, q, _ = chosen(mech, start, "equilibrium")
    if z is not None:
        mech._core.work.z[:] = z
    found = balance(mech._core, workspace, t, q, motion, close, downhill and not motion.sought, size(mech))
    there = state_at(mech, t, found.q, found.u, found.z)
    chosen(mech, there, "equilibrium")
    held = ~motion.balanced & left_free(mech, {}) if not np.all(motion.balanced) else None
    small = linearize(mech._core, workspace, t, found.q, found.u, held, cut=cut_speeds(mech, t, found.q))
    loads = {mech.speeds[k]: float(found.loads[k]) for k in np.flatnonzero(~motion.balanced)}
    stable = stability(mech._core, workspace, t, found.q, found.u, small)
    return Equilibrium(there, loads, found.multipliers, small, found.iterations, stable)


def _motion(
    mech: "Mechanism", u: Floats, fix: dict[str, Any], rates: dict[str, Any], sought: list[int]
) -> Motion:
    """Return which speeds move, which balance, and which are driven (prescribed, or with given rates)."""
    loose, fixed = left_free(mech, rates), ~left_free(mech, fix, driven=False)
    for k in sought:
        if loose[k]:
            raise ElementError(f"equilibrium: {mech.speeds[k]!r} is free; give a start for it in rates=.")
    balanced = loose & ~fixed if not sought else loose.copy()
    balanced[sought] = True
    speeds = fill(mech._lagrange, np.where(left_free(mech, {}), 0.0, u), rates, "u")
    return Motion(loose & ~fixed, balanced, speeds, ~loose, sought)
