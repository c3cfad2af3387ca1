"""Sensitivities of a whole run: how its motion, and anything computed from it, changes with parameters of the model."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from treemech.dynamics.analyses.displacement import Motion, magnitude, moved
from treemech.dynamics.analyses.parameter_derivatives import CENTRAL, STEP, sum_of, weights
from treemech.dynamics.analyses.sensitivity import Variation
from treemech.dynamics.model.core import Core
from treemech.dynamics.simulation.dense_output import interpolate
from treemech.kinematics.plan.columns import effort
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..analyses.constraints import nonholonomic
from ..analyses.evaluation import results_of_states
from ..analyses.small_motions import derivative_workspace
from ..analyses.states import left_free, prescribed_drives
from ..description.parameters import Neighbours, directions, follow, neighbours
from ..results.naming import as_names
from ..results.run import Run, not_interrupted
from ..simulation.kinematics import results_of_motion
from ..simulation.simulate import as_span, output_times
from .jumps import refuse_jumps
from .starts import Start, start_derivative

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Results = Callable[["Mechanism", Motion], Any]  # what follows from the states of a motion


class Sensitivities:
    """How a run changes with parameters.

    Attributes
    ----------
    run : Run
    parameters : list of str
    q, u, x : arrays (n, nu, np), (n, nu, np), (n, nx, np)
        Derivatives of coordinates, speeds and states of elements; coordinates in the directions of the speeds
        (plain derivatives; for Euler parameters small rotations in the base of end a).
    error : array (np,)
        Estimated error by parameter, relative to the largest derivative by it: of the start where it was
        differenced, and of the differentiated equations of motion on the steps of the motion. The error of
        the motion itself (rtol, atol) is not in it.
    """

    def __init__(
        self,
        mech: "Mechanism",
        run: Run,
        names: Sequence[str],
        motion: Motion,
        s: Floats,
        results: Results,
        error: Floats,
    ) -> None:
        n = mech.nu
        self.run, self.parameters, self.error = run, list(names), error
        self.q, self.u, self.x = s[:, :n], s[:, n : 2 * n], s[:, 2 * n :]
        self._mech, self._motion, self._s, self._results = mech, motion, s, results

    def of(self, what: str | Callable[[Run], Any]) -> Floats:
        """Return derivatives of a measure over time (n, np), or of any smooth function of the run, (..., np).

        The function is called with neighbouring runs at the same times; it may use anything of a Run.
        """
        function = (lambda run: run.measure(what)) if isinstance(what, str) else what
        mech, motion, columns = self._mech, self._motion, []
        twin = mech.with_parameters()
        follow(twin._core, mech._core)
        for j, beside in enumerate(neighbours(mech, self.parameters)):
            s = self._s[:, :, j]
            step = STEP / magnitude(mech._core, s, motion)
            there = [moved(mech._core, motion, k * step * s) for k in CENTRAL]
            along = [_value(function, self._retrace(twin, y)) for y in there]
            here = [_value(function, self._retrace(m, motion)) for m in beside.mechanisms]
            central = sum_of(weights(CENTRAL) / step, tuple(along))
            columns.append(central + sum_of(beside.stencil.weights, tuple(here)))
        return np.stack(columns, axis=-1)

    def _retrace(self, mech: "Mechanism", y: Motion) -> Run:
        """Return a run of another mechanism through these states, which need not be its own motion."""

        def tracer(t: Floats, q: Floats, u: Floats, _: Floats, z: Floats) -> Any:
            mech._core.chord_work.q[:], mech._core.chord_work.pivot[:] = y.cut[0], -1
            return self._results(mech, Motion(t, q, u, z, y.cut))

        return Run(
            mech._info, y.t, y.q, y.u, True, "", self.run.method, tracer=tracer, z=y.z, measures=mech._wiring.measures
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Sensitivities of {self.run!r} by {', '.join(self.parameters)}"


def sensitivities(
    mech: "Mechanism",
    t_span: tuple[float, float],
    start: Start = None,
    parameters: Sequence[str] | None = None,
    t_eval: ArrayLike | None = None,
    rtol: float = 1e-8,
    method: str = "DOP853",
    atol: Any = None,
) -> Sensitivities:
    """Simulate and differentiate by parameters, see `Mechanism.sensitivities`."""
    names = list(mech.parameters) if parameters is None else as_names(parameters, "sensitivities: parameters")
    beside = neighbours(mech, names)
    t0, t1 = as_span(t_span)
    if not t1 > t0:
        raise TreemechError(f"sensitivities: t_span is {t_span!r}; wanted an end after the start.")
    wanted = None if t_eval is None else output_times(t_eval, t0, t1)
    breaks = [b for signal in mech._core.layout.signals for b in signal.breaks if t0 < b < t1]
    _refuse(mech, beside, names, breaks)
    along_parameters = directions(mech, names)
    begun = start_derivative(mech, start, t0, beside, along_parameters, names)
    run = not_interrupted(mech.simulate((t0, t1), begun.state, method, rtol, atol, dense_output=True))
    edges = smooth_steps(mech, run, "no sensitivities of this motion")
    along = Along(mech._core, run)
    times = run.t if wanted is None else wanted
    variation = Variation(mech._core, derivative_workspace(mech), along_parameters)
    motion = along(times)
    found, error = variation.solve(along, edges, begun.s, rtol, times)
    found = variation.closed(motion, found)

    whole = Run(
        mech._info, times, motion.q, motion.u, True, run.message, run.method, run.statistics,
        partial(results_of_states, mech), None, motion.cut, motion.z, measures=mech._wiring.measures,
    )  # fmt: skip
    return Sensitivities(
        mech, whole, names, motion, found, lambda other, y: results_of_states(other, y.t, y.q, y.u, None, y.z),
        begun.error + error,
    )  # fmt: skip


def kinematic_sensitivities(
    mech: "Mechanism", t_eval: ArrayLike, start: Start = None, parameters: Sequence[str] | None = None
) -> Sensitivities:
    """Run the kinematics and differentiate by parameters, see `Mechanism.kinematic_sensitivities`."""
    names = list(mech.parameters) if parameters is None else as_names(parameters, "sensitivities: parameters")
    if np.any(nonholonomic(mech)):
        raise TreemechError("no sensitivities of this motion: constraints restrict rates only.")
    run = mech.kinematics(t_eval, start(mech) if callable(start) else start)
    if not run.success:
        raise TreemechError(f"no sensitivities of this motion: {run.message}")
    variation = Variation(mech._core, derivative_workspace(mech), directions(mech, names))
    cut, none = run._results().cut_q, np.zeros((len(run.t), 2 * mech.nu + mech._core.nx, len(names)))
    z = np.tile(mech._core.layout.efforts.start, (len(run.t), 1))
    motion = Motion(run.t, run.q, run.u, z, cut)
    found = variation.closed(motion, none)

    def results(other: "Mechanism", y: Motion) -> Any:
        return results_of_motion(other, *_driven(other, y), _named(other, y.cut[0]))

    return Sensitivities(mech, run, names, motion, found, results, np.zeros(len(names)))


def smooth_steps(mech: "Mechanism", run: Run, refusal: str) -> Floats:
    """Return the steps of a run with dense output and the times at which its signals break; refuse motions without derivatives."""
    if not run.success or run.singular or run.switched or run._dense is None:
        reason = run.message if not run.success else "it passes singular positions or switches"
        raise TreemechError(f"{refusal}: {reason}")
    steps = np.asarray(run._dense[0], dtype=np.float64)
    breaks = [b for signal in mech._core.layout.signals for b in signal.breaks if steps[0] < b < steps[-1]]
    edges = np.unique(np.concatenate((steps, breaks)))
    refuse_jumps(mech, run, edges, refusal)
    return edges


class Along:
    """States of a run at any times."""

    def __init__(self, core: Core, run: Run) -> None:
        self.core, self.run, self.euler = core, run, core.coordinates.euler_parameters

    def __call__(self, t: Floats) -> Motion:
        dense: Any = self.run._dense
        times, table, method, _ = dense
        y = interpolate(method, times, table, t, self.euler)
        (q, u), rest = self.core.states(t, y), self.core.unpack(y)
        return Motion(t, q, u, rest.z, rest.cut)


def _refuse(mech: "Mechanism", beside: list[Neighbours], names: list[str], breaks: list[float]) -> None:
    """Refuse motions that are not smooth in time or in their parameters."""
    core = mech._core
    efforts = core.layout.efforts
    remembering = [
        a.name for a, row in zip(efforts.applied, efforts.rows, strict=True) if row[effort.N_MEMORY]
    ]
    if mech._wiring.controllers or remembering:
        who = ", ".join(repr(name) for name in remembering) or "controllers"
        raise TreemechError(f"no sensitivities of this model: {who} in it remember.")
    own = [signal.breaks for signal in core.layout.signals]
    for name, b in zip(names, beside, strict=True):
        if any([signal.breaks for signal in m._core.layout.signals] != own for m in b.mechanisms):
            raise TreemechError(f"no sensitivities by {name!r}: it moves a time at which a signal breaks.")
    for signal in (core.layout.signals[k] for k in core.layout.kinematic):
        for t in (t for t in breaks if t in signal.breaks):
            before, after = (signal.at(t + side * 1e-9 * (1.0 + abs(t))).rate for side in (-1.0, 1.0))
            if abs(after - before) > 1e-6 * (1.0 + abs(before)):
                raise TreemechError(
                    f"no sensitivities of this motion: a prescribed rate jumps at t = {t:g} s."
                )


def _driven(mech: "Mechanism", y: Motion) -> tuple[Floats, Floats, Floats, Floats]:
    """Return t, q, u with prescribed entries of this mechanism, and accelerations that follow from the constraints."""
    q, u, ud, free = y.q.copy(), y.u.copy(), np.zeros_like(y.u), left_free(mech, {})
    for k, t in enumerate(y.t.tolist()):
        for d in prescribed_drives(mech):
            q[k, d.q], u[k, d.u], ud[k, d.u] = d.signal.at(t)
        if mech._core.loops is not None:
            mech._core.chord_work.q[:], mech._core.chord_work.pivot[:] = y.cut[k], -1
            now = mech._core.constraints(t, q[k], u[k], ud[k])
            ud[k, free] = -np.linalg.lstsq(now.partials[:, free], now.bias, rcond=1e-9)[0]
    return y.t, q, u, ud


def _named(mech: "Mechanism", cut: Floats) -> dict[str, Floats]:
    return {c.name: cut[c.q : c.q + c.nq] for c in mech._info.chords}


def _value(function: Callable[[Run], Any], run: Run) -> Floats:
    value = np.asarray(function(run), dtype=np.float64)
    if not np.all(np.isfinite(value)):
        raise TreemechError("a function of the run is not finite next to it: it has no derivative there.")
    return value
