"""Constraints of the chords at a state: which rows restrict positions, and the mobility they leave (8.2)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.model.core import Constraints
from treemech.kinematics.mobility import Mobility, regular_rank
from treemech.kinematics.mobility import mobility as mobility_by_rank
from treemech.topology import SingularError
from treemech.topology.arrays import Floats

from ..results.state import State
from .contacts import open_contacts, without
from .states import left_free, unpack

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def constraints(mech: "Mechanism", state: State) -> Constraints:
    """Return the constraints of all chords (5.3.17), see `Mechanism.constraints`."""
    t, q, u = unpack(mech, state, "constraints")
    if mech._core.loops is None:
        return Constraints(
            np.zeros(0), np.zeros((0, mech.nu)), np.zeros(0), np.zeros(0), -mech.load_column(state)
        )
    return mech._core.constraints(t, q, u, loaded=True)


def nonholonomic(mech: "Mechanism") -> NDArray[np.bool_]:
    """Return which rows restrict rates only."""
    return mech._core.layout.chords.nonholonomic


def holonomic(mech: "Mechanism", t: float) -> Callable[[Floats, Floats], Constraints]:
    """Return a function of q, u: the constraints at a time without the rows that leave positions free."""
    holonomic = ~nonholonomic(mech)

    def evaluate(q: Floats, u: Floats) -> Constraints:
        now = mech._core.constraints(t, q, u)
        return now._replace(residual=now.residual * holonomic, partials=now.partials * holonomic[:, None])

    return evaluate


def size(mech: "Mechanism") -> float:
    """Return the size of the mechanism, at least one metre: residuals are compared with it."""
    return 1.0 + float(np.max(np.abs(mech._core.layout.plan.constants[:, 9:12]), initial=0.0))


def mobility(mech: "Mechanism", state: State | tuple[Any, ...]) -> Mobility:
    """Return the degrees of freedom by rank (8.2), see `Mechanism.mobility`."""
    t, q, u = unpack(mech, state, "mobility")
    with (
        without(mech, open_contacts(mech, t, q, u)),
        mech._core.unloaded(),
    ):  # states of elements do not matter
        return _mobility(mech, State(float(t), q, u) if isinstance(state, tuple) else state)


def _mobility(mech: "Mechanism", state: State) -> Mobility:
    """Return the mobility with the unilateral constraints that hold now."""
    free, rates_only = left_free(mech, {}), nonholonomic(mech)
    P = constraints(mech, state).partials
    for k in np.flatnonzero(~np.all(np.isfinite(P), axis=1))[:1]:
        raise SingularError(
            f"{mech._core.layout.chords.rows[k][0]!r} has no finite equations in this position: its ends cannot be as they are. "
            "Make the state with mech.assemble(...)."
        )
    regular = regular_rank(mech._lagrange, holonomic(mech, state.t), state.q, free, ~rates_only, size(mech))
    on = np.ones(len(P), dtype=bool) if mech._core.left_out is None else ~mech._core.left_out
    rows = [row for row, holds in zip(mech._core.layout.chords.rows, on, strict=True) if holds]
    return mobility_by_rank(P[on], rows, mech.speeds, free, rates_only[on], regular)
