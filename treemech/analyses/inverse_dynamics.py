"""Inverse dynamics by the user's names: loads of the drives, also of cut hinges."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.analyses.inverse_dynamics import (
    complete_accelerations,
    is_passive,
    refuse_under_actuation,
    undriven,
)
from treemech.dynamics.analyses.inverse_dynamics import inverse_dynamics as drives_of_accelerations
from treemech.dynamics.model.reaction_dependent import ReactionDependent
from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from ..results.naming import as_names, as_place
from ..results.state import State, fill
from .closed_chains import closed_motion
from .contacts import open_contacts, without
from .cut_hinges import connection_names, cut_numbers, cut_partials, cut_speed_names, split
from .states import as_rows, left_free, prescribed_drives, unpack

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class Drives(NamedTuple):
    """Loads of the drives by name, and the same loads on the speeds of the tree."""

    by_name: dict[str, float]
    loads: Floats  # (nu,)


class _Cut(NamedTuple):
    """Speeds of the cut hinges as functions of those of the tree: u_c = V u + ..., u_c' = V ud + bias."""

    names: list[str]
    partials: Floats
    bias: Floats


def inverse_dynamics(
    mech: "Mechanism",
    state: State | tuple[Any, ...],
    ud: Any,
    actuated: Sequence[str] | None = None,
    weights: Any = None,
) -> Floats:
    """Return the loads on the speeds that make accelerations, see `Mechanism.inverse_dynamics`."""
    if mech._core.layout.chords.rows or actuated is not None or weights is not None:
        return drives(mech, state, ud, actuated, weights).loads
    t, q, u = as_rows(mech, state, "inverse_dynamics")
    full = fill(mech._lagrange, np.zeros(mech.nu), ud, "u")
    loads: Floats = mech._core.inverse_dynamics(t, q, u, full[None])[0]
    return loads


def drive_loads(
    mech: "Mechanism",
    state: State | tuple[Any, ...],
    ud: Any,
    actuated: Sequence[str] | None = None,
    weights: Any = None,
) -> dict[str, float]:
    """Return the load of every drive by name, see `Mechanism.drive_loads`."""
    return drives(mech, state, ud, actuated, weights).by_name


def drives(
    mech: "Mechanism", state: State | tuple[Any, ...], ud: Any, actuated: Sequence[str] | None, weights: Any
) -> Drives:
    """Find the loads of the drives. Unilateral constraints that touch hold, whatever their load."""
    if actuated is None and not mech._core.layout.chords.rows:
        actuated, ud = mech.speeds, fill(mech._lagrange, np.zeros(mech.nu), ud, "u")
    times, qs, us = as_rows(mech, state, "inverse_dynamics")
    with without(mech, open_contacts(mech, float(times[0]), qs[0], us[0])):
        unpack(mech, state, "inverse_dynamics")
        return _drives(mech, state, ud, actuated, weights)


def _drives(
    mech: "Mechanism", state: State | tuple[Any, ...], ud: Any, actuated: Sequence[str] | None, weights: Any
) -> Drives:
    times, qs, us = as_rows(mech, state, "inverse_dynamics")
    t, q, u, core = float(times[0]), qs[0], us[0], mech._core
    of_tree, of_cut = split(mech, ud) if isinstance(ud, Mapping) else (ud, {})
    full = fill(mech._lagrange, np.zeros(mech.nu), of_tree, "u")
    if isinstance(ud, Mapping) or core.layout.chords.rows:
        for d in prescribed_drives(mech):
            full[d.u] = d.signal.at(t).acceleration
    known = of_tree if isinstance(ud, Mapping) else dict.fromkeys(c.name for c in mech._lagrange.hinges)
    actuated = None if actuated is None else as_names(actuated, "actuated")
    in_tree, in_cut = split(mech, dict.fromkeys(actuated or ()))
    chosen = ~left_free(mech, {}) if actuated is None else ~left_free(mech, in_tree, driven=False)
    columns, names = np.eye(mech.nu)[:, chosen], [mech.speeds[k] for k in np.flatnonzero(chosen)]
    rows, wanted = np.zeros((0, mech.nu)), np.zeros(0)
    if of_cut or in_cut:
        cut = _cut(mech, state, t, q, u)
        given = _numbers(mech, of_cut, np.nan)
        rows, wanted = cut.partials[~np.isnan(given)], (given - cut.bias)[~np.isnan(given)]
        driven = np.isfinite(_numbers(mech, dict.fromkeys(in_cut, 0.0), np.nan))
        columns = np.hstack((columns, cut.partials[driven].T))
        names += [cut.names[k] for k in np.flatnonzero(driven)]
        unpack(mech, state, "inverse_dynamics")
    P = core.constraints(t, q, u).partials
    Z = undriven(P, columns)
    also = np.flatnonzero(~left_free(mech, {}) & ~chosen)
    if Z.shape[1] and len(also):  # prescribed coordinates have a drive, named or not
        columns, names = (
            np.hstack((columns, np.eye(mech.nu)[:, also])),
            names + [mech.speeds[k] for k in also],
        )
        Z = undriven(P, columns)
    if Z.shape[1] and ReactionDependent(core):
        refuse_under_actuation(P, columns, names, mech.speeds)
    full = complete_accelerations(core, t, q, u, full, left_free(mech, dict(known)), rows, wanted, Z)
    if not is_passive(core, t, q, u, full, Z):
        refuse_under_actuation(P, columns, names, mech.speeds)
    found = drives_of_accelerations(core, t, q, u, full, columns, weights_of(mech, weights, names))
    return Drives(dict(zip(names, found.actuated.tolist(), strict=True)), found.loads)


def _cut(mech: "Mechanism", state: State | tuple[Any, ...], t: float, q: Floats, u: Floats) -> _Cut:
    V = cut_partials(mech._core, t, q)
    unpack(mech, state, "inverse_dynamics")
    if mech._core.loops is not None:
        mech._core.loops.choose(t, q, u)
    found = closed_motion(mech._core, np.array([t]), q[None], u[None])
    return _Cut(cut_speed_names(mech), V, found.cut_ud[0] - V @ found.ud[0])


def _numbers(mech: "Mechanism", given: Mapping[str, Any], default: float) -> Floats:
    """Return numbers for all speeds of cut hinges: those given by name, or the default."""
    numbers = cut_numbers(mech, given, "u")
    return np.concatenate(
        [np.zeros(0), *(numbers.get(c.name, np.full(c.nu, default)) for c in mech._info.chords)]
    )


def weights_of(mech: "Mechanism", weights: Any, names: list[str]) -> Floats:
    """Return the weights (k,) of the drives."""
    if weights is None:
        return np.ones(len(names))
    of_tree, of_cut = split(mech, weights) if isinstance(weights, Mapping) else (weights, {})
    tree = dict(zip(mech.speeds, fill(mech._lagrange, np.ones(mech.nu), of_tree, "u"), strict=True))
    known = connection_names(mech)
    for key, value in of_cut.items():
        tree |= {n: float(value) for n in names if key in (n, as_place(n, known).owner)}
    found = np.array([tree.get(name, 1.0) for name in names])
    if not np.all(found > 0.0):
        raise ElementError(f"inverse_dynamics: weights are {weights!r}; wanted positive numbers.")
    return found
