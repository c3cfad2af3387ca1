"""Kinematic simulation of a Mechanism: positions, velocities and accelerations of a prescribed motion."""

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.dynamics.analyses.inverse_dynamics import driven_results
from treemech.dynamics.analyses.reactions import coupling_loads
from treemech.dynamics.model.core import Constraints
from treemech.dynamics.simulation.integrate import integrate
from treemech.dynamics.simulation.report import Report
from treemech.elements import Constant, Signal
from treemech.kinematics.closure import close_positions
from treemech.kinematics.kinematic_simulation import Kinematics, Motion, Point
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..analyses.closed_chains import closed_motion, load_is_unique
from ..analyses.constraints import holonomic, nonholonomic, size
from ..analyses.evaluation import tree_results
from ..analyses.states import as_rows, left_free, make_state, prescribed_drives
from ..description.parameters import reference_of
from ..results.computed import Results
from ..results.run import Run
from ..results.state import State
from .motion_check import check_motions
from .simulate import as_times, output_times

if TYPE_CHECKING:
    from ..mechanism import Mechanism


def kinematics(mech: "Mechanism", t_eval: ArrayLike, state: State | None = None) -> Run:
    """Find the motion of a mechanism whose motion is prescribed (KSP, 8.3), see `Mechanism.kinematics`."""
    times = as_times(t_eval)
    if not len(times):
        raise TreemechError("kinematics: t_eval is empty; wanted times.")
    output_times(times, float(times[0]), float(times[-1]))
    check_motions(mech, float(times[0]), float(times[-1]))
    t, rows = float(times[0]), mech._core.layout.chords.rows
    near = {n: q for n, (q, _) in state.cut.items()} if isinstance(state, State) else {}
    if state is None and rows and reference_of(mech) is not None:
        state = mech.assemble(t)  # on the branch of the declared values
    start = make_state(mech, t, None if state is None else as_rows(mech, state, "kinematics")[1][0]).q
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
        partial(_integrated, mech, tuple(breaks)),
        _drivers(mech),
    ).trajectory(times, start)
    reached = "the end was reached."
    if found.singular:
        passed = ", ".join(f"{x:.6g}" for x, _ in found.singular)
        reached += f" Singular positions were passed at t = {passed} s."
    run = Run(
        mech._info, found.t, found.q, found.u, not found.message, found.message or reached, "KSP",
        {"points": found.n_points}, lambda t, q, u, *_: results_of_motion(mech, t, q, u, found.ud, near),
        singular=found.singular, measures=mech._wiring.measures,
    )  # fmt: skip
    run.report = Report(run.message, found.reached, found.n_points, 0)
    return run


def _integrated(
    mech: "Mechanism", breaks: tuple[float, ...], start: Point, times: Floats, rtol: float
) -> Motion | None:
    """Return the motion by the compiled integrator, which closes the chains at every output.

    Inertia does not matter: the constraints decide all accelerations. Elements and loads are left out unless
    they have states. Returns None where the motion passes a singular position, locks or has contacts, and
    where the constraints of all levels do not hold; the auxiliary unknowns of the chords are then those of
    the start again, as the turns that they count would be others at the end.
    """
    fitted = mech._core.chord_work.q.copy()
    found = _followed(mech, breaks, start, times, rtol)
    if found is None:
        mech._core.chord_work.q[:] = fitted
    return found


def _followed(
    mech: "Mechanism", breaks: tuple[float, ...], start: Point, times: Floats, rtol: float
) -> Motion | None:
    """Return the motion by the compiled integrator, or None."""
    core, loops = mech._core, mech._core.loops
    if loops is None or len(loops.plan.unilateral) or len(times) < 2:
        return None
    core.audit(False)
    with nullcontext() if core.nx or core.remembers else core.unloaded():
        try:
            loops.choose(start.t, start.q, start.u, closed=True)
            y = core.pack(start.q, start.u, core.layout.efforts.start, core.chord_work.q)
            tolerance = np.full(core.nq + core.nu + core.nx, rtol)
            span = float(times[0]), float(times[-1])
            found = integrate(core, span, y, "DOP853", rtol, tolerance, times, breaks=breaks)
            if not found.success or found.singular or len(found.t) < len(times):
                return None
            q, u = core.states(times, found.y)
            solved = loops.solve(times, q, u, core.unpack(found.y).cut)
        except TreemechError:  # the other way says what is wrong
            return None
    rates, size_of = 1.0 + float(np.max(np.abs(u))), size(mech)
    allowed = np.array([1e-11 * size_of, 1e-10 * rates, 1e-9 * (rates**2 + float(np.max(np.abs(solved.ud))))])
    if not np.all(np.max(solved.residual, axis=0) < allowed):
        return None
    return Motion(q, u, solved.ud)


def _drivers(mech: "Mechanism") -> list[str]:
    """Return the connections that move with time."""
    chords = zip(mech._core.layout.chords.names, mech._core.layout.chords.elements, strict=True)
    joined = [*((b.connection.name, b.connection.element) for b in mech.tree.branches), *chords]
    return [
        name
        for name, x in joined
        if any(isinstance(v, Signal) and not isinstance(v, Constant) for v in vars(x).values())
    ]


def _constraints(mech: "Mechanism", t: float, q: Floats, u: Floats, ud: Floats) -> Constraints:
    if mech._core.loops is None:
        none = np.zeros(0)
        return Constraints(none, np.zeros((0, mech.nu)), none, none, none)
    return mech._core.constraints(t, q, u, ud)


def results_of_motion(
    mech: "Mechanism", t: Floats, q: Floats, u: Floats, ud: Floats, near: Mapping[str, Any]
) -> Results:
    """Return everything that follows from many states with known accelerations."""
    if mech._core.loops is None:
        return tree_results(mech, t, q, u, ud)
    mech._core.reset_chords(near)
    if len(t):
        mech._core.loops.choose(float(t[0]), q[0], u[0])
        mech._core.reset_chords(near)
    found = closed_motion(mech._core, t, q, u)  # for results that do not depend on accelerations
    mech._core.reset_chords(near)
    trace, tau, multipliers, loads, elements = driven_results(mech._core, t, q, u, ud, ~left_free(mech, {}))
    return Results(
        ud, trace, tau, multipliers, loads, found.residual, found.cut_q, found.cut_u, found.cut_ud,
        load_is_unique(mech, t, q, found.cut_q), elements, coupling_loads(mech._core, t, q, u, multipliers),
    )  # fmt: skip
