"""States of elements by name, and their start: given, the element's own values, or in equilibrium."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.model.core import Core
from treemech.elements import Energetic
from treemech.kinematics.layout.efforts import EffortLayout
from treemech.kinematics.plan.columns import effort
from treemech.topology import ConvergenceError, ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.parameter import as_floats

from ..results.naming import as_place
from ..results.state import State

_ITERATIONS = 80


def element_states(layout: EffortLayout, given: Any) -> Floats:
    """Return z from states by name ({"muscle": [0.1, 0.2], "muscle[1]": 0.3}) or in full.

    Other states have their start values.
    """
    z = layout.start.copy()
    if given is None:
        return z
    if not isinstance(given, Mapping):
        try:
            numbers = as_floats(given)
        except (TypeError, ValueError):
            raise ElementError(f"x is {given!r}; wanted numbers: {_listed(layout)}.") from None
        if numbers.shape != (layout.nx,):
            raise ElementError(f"x has {numbers.size} numbers; wanted {layout.nx}: {_listed(layout)}.")
        z[: layout.nx] = numbers
        return z
    for key, value in given.items():
        first, n = _place(layout, str(key))
        numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if numbers.shape != (n,) or not np.all(np.isfinite(numbers)):
            raise ElementError(f"the states of {key!r} are {value!r}; wanted {n} finite numbers.")
        z[first : first + n] = numbers
    return z


def _listed(layout: EffortLayout) -> str:
    names = layout.z_names[: layout.nx]
    return ", ".join(names[:12]) if names else "no element has states of its own"


def _place(layout: EffortLayout, key: str) -> tuple[int, int]:
    """Return (first, count) in z of an element's states, of one of them, or of a viscous point "composite.point"."""
    for point, (coordinates, at, _) in zip(layout.point_names, layout.point_rows, strict=True):
        if key == f"{point.composite}.{point.name}" and at >= 0:
            return int(at), int(coordinates)
    place = as_place(key, {a.name for a in layout.applied})
    number = layout.find(place.owner)
    known = [a.name for a in layout.applied if a.sizes.states]
    if number < 0 or not layout.applied[number].sizes.states:
        raise TopologyError(unknown("element with states", key, known))
    row = layout.rows[number]
    if place.index is None:
        return int(row[effort.FIRST_STATE]), int(row[effort.N_STATES])
    k = place.below(int(row[effort.N_STATES]))
    if k is None:
        raise ElementError(f"{key!r}: element {place.owner!r} has {row[effort.N_STATES]} states, from 0.")
    return int(row[effort.FIRST_STATE]) + k, 1


def points_to_place(layout: EffortLayout) -> bool:
    """Tell whether there are viscous points without a start: they begin in equilibrium."""
    return bool(np.any(np.isnan(layout.start[: layout.nx])))


def placed_points(core: Core, state: State) -> State:
    """Put viscous points without a start where their rates vanish; states of elements stay as they are."""
    return equilibrium_states(core, state, {}, points_only=True)


def equilibrium_states(
    core: Core, state: State, given: Mapping[str, Any], points_only: bool = False
) -> State:
    """Find states that elements call settled, and viscous points without a start, such that their rates vanish."""
    layout = core.layout.efforts
    fixed = np.zeros(layout.nz, dtype=bool)
    for key in given:
        first, n = _place(layout, str(key))
        fixed[first : first + n] = True
    wanted = np.zeros(layout.nz, dtype=bool)
    for a, row in zip(layout.applied, layout.rows, strict=True):
        if isinstance(a.element, Energetic) and not points_only:
            wanted[[int(row[effort.FIRST_STATE]) + k for k in a.element.settled]] = True
    for coordinates, at, _ in layout.point_rows:
        if at >= 0 and np.isnan(state.x[at]):
            wanted[at : at + coordinates] = True
    unknowns = np.flatnonzero(wanted & ~fixed)
    if not len(unknowns):
        return state
    z = state.z
    _guess_points(core, state, z)
    z = _equilibrium(core, state, z, unknowns)
    return State(
        state.t, state.q, state.u, z[: core.nx], z[core.nx :], state.active, state.cut, state.coordinates
    )


def _guess_points(core: Core, state: State, z: Floats) -> None:
    """Put viscous points without a start in the middle of the ends of their composite."""
    layout = core.layout.efforts
    if not np.any(np.isnan(z)):
        return
    with core.unloaded():
        trace, _ = core.trace(np.array([state.t]), state.q[None], state.u[None], np.zeros((1, core.nu)))
    for point, (coordinates, at, _) in zip(layout.point_names, layout.point_rows, strict=True):
        if at >= 0 and np.isnan(z[at]):
            composite = next(c for c in layout.composites if c.name == point.composite)
            rows = [trace[0, core.tree.numbers[e.body.name]] for e in composite.ends]
            places = [
                r[9:12] + r[:9].reshape(3, 3) @ e.offset for r, e in zip(rows, composite.ends, strict=True)
            ]
            middle = np.mean(places, axis=0)
            z[at : at + coordinates] = np.linalg.norm(middle - places[0]) if coordinates == 1 else middle


def _equilibrium(core: Core, state: State, z: Floats, unknowns: NDArray[np.int64]) -> Floats:
    """Solve for zero rates of some states by Newton's method with differences and halved steps."""

    def rates(z: Floats) -> Floats:
        return core.state_rates(state.t, state.q, state.u, z)[unknowns]

    f = rates(z)
    for _ in range(_ITERATIONS):
        J = np.zeros((len(unknowns), len(unknowns)))
        for k, at in enumerate(unknowns):
            step = 1e-7 * max(1.0, abs(z[at]))
            moved = z.copy()
            moved[at] += step
            J[:, k] = (rates(moved) - f) / step
        change = np.linalg.lstsq(J, -f, rcond=None)[0]
        factor = 1.0
        while True:
            trial = z.copy()
            trial[unknowns] += factor * change
            g = rates(trial)
            if np.linalg.norm(g) <= (1.0 - 1e-4 * factor) * np.linalg.norm(f) or factor < 1e-6:
                break
            factor *= 0.5
        if not np.all(np.isfinite(g)):
            break
        z, f, size = trial, g, float(np.max(np.abs(factor * change)))
        if size <= 1e-12 * max(1.0, float(np.max(np.abs(z[unknowns])))) or not np.any(f):
            return z
    worst = core.layout.efforts.z_names[int(unknowns[int(np.argmax(np.abs(f)))])]
    raise ConvergenceError(
        f"no equilibrium of {worst!r} was found at t = {state.t:.6g} s (rate {np.max(np.abs(f)):.3g}): give the states of the "
        "element, assemble(states={...})."
    )
