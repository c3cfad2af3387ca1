"""States changed during a simulation: chains are closed again, and speeds satisfy the constraints (8.3)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.simulation.impulse import holding, impulse
from treemech.kinematics.closure import close_positions
from treemech.kinematics.rows import worst_row
from treemech.topology import ElementError
from treemech.topology.arrays import Floats

from ..analyses.constraints import holonomic, size
from ..analyses.cut_hinges import connection_names, not_cut
from ..analyses.states import left_free
from ..results.naming import as_coordinate, as_place
from ..results.state import State, fill

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def changed_state(mech: "Mechanism", state: State, given: Any) -> tuple[State, dict[str, dict[str, Any]]]:
    """Return the state an action asks for, and which of its "q" and "u" are given by name and hold."""
    held: dict[str, dict[str, Any]] = {"q": {}, "u": {}}
    if isinstance(given, State):
        return given, held
    if not isinstance(given, Mapping):
        raise ElementError(f"it gives {given!r}; wanted None, a State or changes by name, {{'A.u': 0.0}}.")
    for key, value in given.items():
        asked = as_coordinate(str(key))
        if asked is None:
            raise ElementError(f"it changes {key!r}; wanted a coordinate or a speed, 'A.q', 'A.u[1]'.")
        held[asked.quantity][mech._numbered(str(asked.place))] = value
    names = [*held["q"], *held["u"]]
    not_cut(mech, names)
    _not_prescribed(mech, names)
    q, u = (fill(mech._lagrange, old, held[which], which) for old, which in ((state.q, "q"), (state.u, "u")))
    return State(state.t, q, u, state.x, state.memory, coordinates=mech._lagrange), held


def _not_prescribed(mech: "Mechanism", names: Iterable[str]) -> None:
    given, known = {(p.hinge, p.coordinate) for p in mech._prescriptions}, connection_names(mech)
    for name in names:
        place = as_place(name, known)
        if any(h == place.owner and place.index in (None, str(k)) for h, k in given):
            raise ElementError(
                f"it changes {name!r}, which is prescribed: its motion stays as system.prescribe says."
            )


def reassembled(
    mech: "Mechanism", t: float, y: Floats, old: State, new: State, held: Mapping[str, Mapping[str, Any]]
) -> Floats:
    """Return the integrator's y of a changed state; the given y belongs to the old state."""
    core = mech._core
    q, u = np.array(new.q, dtype=np.float64), np.array(new.u, dtype=np.float64)
    new.check_sizes(mech.nq, mech.nu, core.nz, {c.name for c in mech._info.chords}, "the State it gives")
    if not (np.all(np.isfinite(q)) and np.all(np.isfinite(u)) and np.all(np.isfinite(new.z))):
        raise ElementError("the State it gives has numbers that are not finite.")
    z = new.z if len(new.z) else core.unpack(y).z
    cut = core.chord_work.q
    cut[:] = core.unpack(y).cut
    if core.loops is not None:
        if not np.array_equal(q, old.q):
            rows, on = core.layout.chords.rows, core.loops.work.off[: core.loops.n_rows] == 0
            closed = holonomic(mech, t)

            def evaluate(q: Floats, u: Floats) -> Any:
                now = closed(q, u)
                return now._replace(residual=now.residual * on, partials=now.partials * on[:, None])

            q = close_positions(
                mech._lagrange, evaluate, rows, q, left_free(mech, dict(held["q"])), size(mech)
            )
        if not (np.array_equal(q, old.q) and np.array_equal(u, old.u)):
            u = fitting_speeds(mech, t, q, u, held["u"])
        core.constraints(t, q, u)
    after = core.pack(q, u, z, cut.copy())
    first = core.nq + core.nu + core.nx
    after[first : first + core.n_audit] = y[first : first + core.n_audit]
    return after


def fitting_speeds(mech: "Mechanism", t: float, q: Floats, u: Floats, held: Mapping[str, Any]) -> Floats:
    """Return speeds that satisfy the constraints: held speeds stay, impulses of the chords change the others."""
    core = mech._core
    free = left_free(mech, dict(held)) & core.free_speeds()
    now = holding(core, t, q, u)
    found = impulse(core, t, q, u, now.partials, -now.velocity, free)
    if float(np.max(np.abs(found.missing), initial=0.0)) > 1e-9 * (
        1.0 + float(np.max(np.abs(u), initial=0.0))
    ):
        assert core.loops is not None
        on = core.loops.work.off[: core.loops.n_rows] == 0
        rows = [row for row, holds in zip(core.layout.chords.rows, on, strict=True) if holds]
        name, rate = worst_row(rows, found.missing)
        given = ", ".join(map(repr, held)) or "prescribed ones"
        raise ElementError(
            f"with the speeds of {given} as given the chain opens at {name!r}, by {rate:.3g} a second."
        )
    return found.u
