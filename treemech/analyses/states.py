"""States of a mechanism: made of numbers by name, and taken apart for the core."""

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemech.topology import ElementError
from treemech.topology.arrays import Floats
from treemech.topology.body import as_number
from treemech.topology.parameter import as_floats

from ..results.naming import as_place
from ..results.state import State, fill, find, reference_state

if TYPE_CHECKING:
    from treemech.kinematics.kinematic_simulation import Drive
    from treemech.kinematics.layout.lagrange import Lagrange

    from ..mechanism import Mechanism
    from ..results.model_info import ModelInfo


def make_state(mech: "Mechanism", t: float = 0.0, q: Any = None, u: Any = None, x: Any = None) -> State:
    """Make a state from numbers in the public order or by name, see `Mechanism.state`."""
    from .cut_hinges import CutMotion, check_cut, cut_numbers
    from .element_states import element_states

    mech._core.forget()
    time = as_number(t, "t")
    start = reference_state(mech._lagrange, time)
    cut: dict[str, dict[str, Floats]] = {"q": {}, "u": {}}
    if isinstance(q, Mapping):
        q, given = _by_hinge(mech, q, "q")
        cut["q"] = cut_numbers(mech, given, "q")
    if isinstance(u, Mapping):
        u, given = _by_hinge(mech, u, "u")
        cut["u"] = cut_numbers(mech, given, "u")
    full_q = fill(mech._lagrange, start.q, q, "q")
    full_u = fill(mech._lagrange, start.u, u, "u")
    z = element_states(mech._core.layout.efforts, x)
    for p in mech._prescriptions:
        c = find(mech._lagrange, p.hinge)
        try:
            now = p.signal.at(time)
        except ElementError as error:
            raise ElementError(f"prescribed motion of {p.hinge!r}: {error}") from error
        full_q[c.q + p.coordinate], full_u[c.u + p.coordinate] = now.value, now.rate
    if not (cut["q"] or cut["u"]):
        own: Mapping[str, tuple[Floats, Floats]] = (
            CutMotion(mech, time, full_q, full_u) if mech._info.chords else {}
        )
        x, memory = z[: mech._core.nx], z[mech._core.nx :]
        return State(time, full_q, full_u, x, memory, coordinates=mech._lagrange, cut=own)
    made = state_at(mech, time, full_q, full_u, z, cut["q"])
    check_cut(mech, made, cut["q"], cut["u"])
    return made


def _by_hinge(
    mech: "Mechanism", given: Mapping[Any, Any], what: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return numbers by name, of branches and of cut hinges; refuse keys that are no names."""
    for key in given:
        if not isinstance(key, str):
            raise ElementError(
                f"{what} of {key!r}: a state is made of numbers of hinges, by name. mech.assemble takes points of bodies."
            )
    from .cut_hinges import split

    return split(mech, given)


def state_at(
    mech: "Mechanism", t: float, q: Floats, u: Floats, z: Floats, near: Mapping[str, Any] | None = None
) -> State:
    """Make a state whose cut hinges stand next to given coordinates, or else where they were last."""
    x, memory = z[: mech._core.nx], z[mech._core.nx :]
    if not mech._info.chords:
        return State(t, q, u, x, memory, coordinates=mech._lagrange)
    work = mech._core.chord_work
    from .cut_hinges import fit_chords

    with mech._core.unloaded():  # positions only, also where states of elements are not known yet
        if near is not None:
            fit_chords(mech, t, q, near)
        mech._core.constraints(t, q, u)
    cut = {
        c.name: (work.q[c.q : c.q + c.nq].copy(), work.u[c.u : c.u + c.nu].copy()) for c in mech._info.chords
    }
    return State(t, q, u, x, memory, coordinates=mech._lagrange, cut=cut)


def keep_near(mech: "Mechanism", state: State) -> None:
    """Let cut hinges be sought where the state has them: whole turns count for a screw."""
    if state.cut:
        mech._core.reset_chords({name: q for name, (q, _) in state.cut.items()})


def unpack(mech: "Mechanism", state: State | tuple[Any, ...], what: str) -> tuple[float, Floats, Floats]:
    """Return t, q, u of a state.

    Put the states of elements and the cut hinges where the core looks for them.
    """
    core = mech._core
    start = core.layout.efforts.start
    core.forget()
    if isinstance(state, State):
        state.check_sizes(mech.nq, mech.nu, core.nz, {c.name for c in mech._info.chords}, what)
    if core.nz:
        core.work.z[: core.nz] = (
            state.z if isinstance(state, State) and len(state.x) + len(state.memory) else start
        )
    if isinstance(state, State):
        if state.coordinates is not None:
            _refuse_stranger(mech, state.coordinates, what)
        q, u = state.q, state.u
        if not (isinstance(q, np.ndarray) and isinstance(u, np.ndarray)):  # made by hand
            q, u = as_numbers(q, f"{what}: q"), as_numbers(u, f"{what}: u")
        _refuse_nan(mech, q, u, what)
        keep_near(mech, state)
        return state.t, np.ascontiguousarray(q, np.float64), np.ascontiguousarray(u, np.float64)
    if isinstance(state, tuple) and len(state) in (2, 3):
        t, q, u = (0.0, *state) if len(state) == 2 else state
        if np.shape(q) != (mech.nq,) or np.shape(u) != (mech.nu,):  # which would be broadcast
            raise ElementError(
                f"{what}: q, u have shapes {np.shape(q)}, {np.shape(u)}; wanted ({mech.nq},), ({mech.nu},)."
            )
        q, u = as_numbers(q, f"{what}: q"), as_numbers(u, f"{what}: u")
        _refuse_nan(mech, q, u, what)
        t = as_number(t, f"{what}: t")
        if mech._info.chords:
            from .cut_hinges import fit_chords

            with mech._core.unloaded():
                fit_chords(mech, t, q, {})
        return t, q, u
    if isinstance(getattr(state, "state", None), State):  # an equilibrium, a solution of inverse kinematics
        kind = type(state).__name__
        raise ElementError(f"{what}: this is no state, but of kind {kind}, which holds one: give its .state.")
    raise ElementError(
        f"{what}: {state!r} is not a state; wanted mech.state(...), or a tuple (q, u) or (t, q, u)."
    )


def as_numbers(given: Any, what: str) -> Floats:
    """Return an array of numbers; texts are refused."""
    try:
        return as_floats(given)
    except (TypeError, ValueError):
        raise ElementError(f"{what} is {given!r}; wanted numbers.") from None


def _refuse_nan(mech: "Mechanism", q: Floats, u: Floats, what: str) -> None:
    """Refuse numbers that are not finite, by name. The sums are finite nearly always, and tell it at once."""
    if isfinite(q.sum() + u.sum()):
        return
    for letter, numbers, names in (("q", q, mech.coordinates), ("u", u, mech.speeds)):
        for k in np.flatnonzero(~np.isfinite(numbers))[:1]:
            raise ElementError(f"{what}: {letter} of {names[k]!r} is {numbers[k]}; wanted a finite number.")


def _refuse_stranger(mech: "Mechanism", coordinates: "Lagrange | ModelInfo", what: str) -> None:
    """Refuse a state whose hinges have other names or another order than those of this mechanism."""
    if coordinates is mech._lagrange or coordinates is mech._info:
        return
    own, other = ([(h.name, h.q, h.u) for h in c.hinges] for c in (mech._info, coordinates))
    if own != other:
        shown = ", ".join(repr(name) for name, _, _ in other[:6])
        raise ElementError(
            f"{what}: this is a state of another mechanism, of the hinges {shown}{', ...' if len(other) > 6 else ''}. "
            f"Make it with {mech.name!r}: mech.state(...) or mech.assemble(...)."
        )
    if len(mech._known) < 8:  # the next call of such a state need not compare the names
        mech._known.append(coordinates)


def as_rows(mech: "Mechanism", state: State | tuple[Any, ...], what: str) -> tuple[Floats, Floats, Floats]:
    """Return t, q, u of a state as arrays with one row, see `unpack`."""
    t, q, u = unpack(mech, state, what)
    q, u = np.array(q, dtype=np.float64), np.array(u, dtype=np.float64)
    return np.array([float(t)]), q[None], u[None]


def loads_on_speeds(mech: "Mechanism", loads: Any) -> Floats | None:
    """Return loads on the speeds, given by name or in full; None if none are given."""
    if isinstance(loads, Mapping):
        from .cut_hinges import not_cut

        not_cut(mech, loads)
    return None if loads is None else fill(mech._lagrange, np.zeros(mech.nu), loads, "u")


def left_free(mech: "Mechanism", given: dict[str, Any], driven: bool = True) -> NDArray[np.bool_]:
    """Return which speeds are neither prescribed (if `driven` counts) nor among the given names."""
    free = np.ones(mech.nu, dtype=bool)
    for p in mech._prescriptions if driven else ():
        free[find(mech._lagrange, p.hinge).u + p.coordinate] = False
    known = {c.name for c in mech._lagrange.hinges}
    for key in given:
        place = as_place(str(key), known)
        c, k = find(mech._lagrange, place.owner), place.selection
        free[slice(c.u + k, c.u + k + 1) if isinstance(k, int) else c.u_slice] = False
    return free


def prescribed_drives(mech: "Mechanism") -> "list[Drive]":
    """Return the prescribed coordinates: where they stand, and their signals."""
    from treemech.kinematics.kinematic_simulation import Drive

    hinges = {c.name: c for c in mech._lagrange.hinges}
    return [
        Drive(hinges[p.hinge].q + p.coordinate, hinges[p.hinge].u + p.coordinate, p.signal)
        for p in mech._prescriptions
    ]
