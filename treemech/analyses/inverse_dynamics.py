"""Inverse dynamics by the user's names: loads of the drives, of cut hinges too."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.dynamics.analyses.inverse_dynamics import (
    check_actuated,
    complete_accelerations,
    inverse_dynamics,
)
from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from ..results.naming import as_place
from ..results.state import State, fill
from .assembly import connection_names, cut_numbers, cut_partials, cut_speed_names, split
from .contacts import open_contacts, without

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class Drives(NamedTuple):
    """Loads of the drives by name, and what they come to on the speeds of the tree."""

    by_name: dict[str, float]
    loads: Floats  # (nu,)


class _Cut(NamedTuple):
    """Speeds of the cut hinges by those of the tree: u_c = V u + ..., u_c' = V ud + bias."""

    names: list[str]
    partials: Floats
    bias: Floats


def drives(
    mech: "Mechanism", state: State | tuple[Any, ...], ud: Any, actuated: Sequence[str] | None, weights: Any
) -> Drives:
    """Of a mechanism with closed chains; unilateral constraints that touch hold, whatever their load."""
    times, qs, us = mech._rows(state, "inverse_dynamics")
    with without(mech, open_contacts(mech, float(times[0]), qs[0], us[0])):
        mech._unpack(state, "inverse_dynamics")
        return _drives(mech, state, ud, actuated, weights)


def _drives(
    mech: "Mechanism", state: State | tuple[Any, ...], ud: Any, actuated: Sequence[str] | None, weights: Any
) -> Drives:
    times, qs, us = mech._rows(state, "inverse_dynamics")
    t, q, u, core = float(times[0]), qs[0], us[0], mech._core
    of_tree, of_cut = split(mech, ud) if isinstance(ud, Mapping) else (ud, {})
    full = fill(mech._lagrange, np.zeros(mech.nu), of_tree, "u")
    for d in mech._drives():
        full[d.u] = d.signal.at(t).acceleration
    known = of_tree if isinstance(ud, Mapping) else dict.fromkeys(c.name for c in mech._lagrange.hinges)
    in_tree, in_cut = split(mech, dict.fromkeys(actuated or ()))
    chosen = ~mech._free({}) if actuated is None else ~mech._free(in_tree, driven=False)
    columns, names = np.eye(mech.nu)[:, chosen], [mech.speeds[k] for k in np.flatnonzero(chosen)]
    rows, wanted = np.zeros((0, mech.nu)), np.zeros(0)
    if of_cut or in_cut:
        cut = _cut(mech, state, t, q, u)
        given = _numbers(mech, of_cut, np.nan)
        rows, wanted = cut.partials[~np.isnan(given)], (given - cut.bias)[~np.isnan(given)]
        driven = np.isfinite(_numbers(mech, dict.fromkeys(in_cut, 0.0), np.nan))
        columns = np.hstack((columns, cut.partials[driven].T))
        names += [cut.names[k] for k in np.flatnonzero(driven)]
        mech._unpack(state, "inverse_dynamics")
    check_actuated(core.constraints(t, q, u).partials, columns, names, mech.speeds)
    full = complete_accelerations(core, t, q, u, full, mech._free(dict(known)), rows, wanted)
    found = inverse_dynamics(core, t, q, u, full, columns, _weights(mech, weights, names))
    return Drives(dict(zip(names, found.actuated.tolist(), strict=True)), found.loads)


def _cut(mech: "Mechanism", state: State | tuple[Any, ...], t: float, q: Floats, u: Floats) -> _Cut:
    V = cut_partials(mech._core, t, q)
    mech._unpack(state, "inverse_dynamics")
    if mech._core.loops is not None:
        mech._core.loops.choose(t, q)
    found = mech._closed(np.array([t]), q[None], u[None])
    return _Cut(cut_speed_names(mech), V, found.cut_ud[0] - V @ found.ud[0])


def _numbers(mech: "Mechanism", given: Mapping[str, Any], default: float) -> Floats:
    """Of all speeds of cut hinges, what is given by name."""
    numbers = cut_numbers(mech, given, "u")
    return np.concatenate(
        [np.zeros(0), *(numbers.get(c.name, np.full(c.nu, default)) for c in mech._info.chords)]
    )


def _weights(mech: "Mechanism", weights: Any, names: list[str]) -> Floats:
    """(k,) of the drives."""
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
