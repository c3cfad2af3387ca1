"""Kinematic simulation of a Mechanism: positions, velocities and accelerations of a prescribed motion."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.dynamics.analyses.inverse_dynamics import driven_results
from treemech.dynamics.model.core import Constraints
from treemech.kinematics.closure import close_positions
from treemech.kinematics.kinematic_simulation import Kinematics
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..analyses.closed_chains import closed_motion, load_is_unique
from ..analyses.constraints import holonomic, nonholonomic, size
from ..analyses.evaluation import tree_results
from ..analyses.states import as_rows, left_free, prescribed_drives
from ..results.computed import Results
from ..results.run import Run
from ..results.state import State
from .simulate import output_times

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def kinematics(mech: "Mechanism", t_eval: ArrayLike, state: State | None = None) -> Run:
    """Find the motion of a mechanism whose motion is prescribed (KSP, 8.3), see `Mechanism.kinematics`."""
    times = np.array(t_eval, dtype=np.float64).ravel()
    if not len(times):
        raise TreemechError("kinematics: t_eval is empty; wanted times.")
    output_times(times, float(times[0]), float(times[-1]))
    t, rows = float(times[0]), mech._core.layout.chords.rows
    near = {n: q for n, (q, _) in state.cut.items()} if isinstance(state, State) else {}
    start = mech.state(t, None if state is None else as_rows(mech, state, "kinematics")[1][0]).q
    if near:
        mech._core.reset_chords(near)
    if rows:
        start = close_positions(
            mech._lagrange, holonomic(mech, t), rows, start, left_free(mech, {}), size(mech)
        )
    signals = mech._core.layout.signals
    breaks = [b for k in mech._core.layout.kinematic for b in signals[k].breaks]
    found = Kinematics(
        mech._lagrange,
        partial(_constraints, mech),
        rows,
        nonholonomic(mech),
        prescribed_drives(mech),
        breaks,
        size(mech),
    ).trajectory(times, start)
    reached = "the end was reached."
    if found.singular:
        reached += (
            f" Singular positions were passed at t = {', '.join(f'{x:.6g}' for x in found.singular)} s."
        )
    return Run(
        mech._info, found.t, found.q, found.u, not found.message, found.message or reached, "KSP",
        {"points": found.n_points}, lambda t, q, u, *_: results_of_motion(mech, t, q, u, found.ud, near),
        measures=mech._wiring.measures,
    )  # fmt: skip


def _constraints(mech: "Mechanism", t: float, q: Floats, u: Floats, ud: Floats) -> Constraints:
    if mech._core.loops is None:
        none = np.zeros(0)
        return Constraints(none, np.zeros((0, mech.nu)), none, none, none)
    return mech._core.constraints(t, q, u, ud)


def results_of_motion(
    mech: "Mechanism", t: Floats, q: Floats, u: Floats, ud: Floats, near: Mapping[str, Any]
) -> Results:
    """Return everything that follows from many states with known accelerations."""
    if not mech._info.chords:
        return tree_results(mech, t, q, u, ud)
    mech._core.reset_chords(near)
    found = closed_motion(mech._core, t, q, u)  # for results that do not depend on accelerations
    mech._core.reset_chords(near)
    trace, tau, multipliers, loads, elements = driven_results(mech._core, t, q, u, ud, ~left_free(mech, {}))
    return Results(
        ud, trace, tau, multipliers, loads, found.residual, found.cut_q, found.cut_u, found.cut_ud,
        load_is_unique(mech, t, q, found.cut_q), elements,
    )  # fmt: skip
