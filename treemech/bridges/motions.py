"""Motions as functions of (q, u, x, inputs, parameters, t): states at given times after t, with derivatives.

Inputs are held: over the whole motion, or over every interval of the times. The derivatives obey the equations
differentiated along the motion (dynamics.analyses.sensitivity), by the state at the start of a stretch of constant inputs,
by the inputs and by the parameters; gradients go back through the stretches one by one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from treemech.dynamics.analyses.derivatives import derivatives
from treemech.dynamics.analyses.displacement import Motion as States
from treemech.dynamics.analyses.sensitivity import Variation
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..analyses.small_motions import derivative_workspace, element_inputs, ready
from ..description.parameters import directions
from ..design.sensitivities import Along, smooth_steps
from ..mechanism import Mechanism
from ..results.run import Run, not_interrupted
from ..results.state import State
from .model import Model
from .operation import Operation, split
from .start import by_speeds, start, start_slopes


class Motion(NamedTuple):
    """Coordinates, speeds and states of elements: of one time, or with an axis of times before the last."""

    q: Any
    u: Any
    x: Any


class Simulation(Operation):
    """States at times after the start, the first of which is 0; `steps` tells whether inputs are given for every interval of the times, or once."""

    def __init__(self, model: Model, times: Floats, steps: bool) -> None:
        m, n = model, len(times)
        self.model, self.times, self.steps = model, times, steps
        self.size, self.columns = 2 * m.nu + m.nx, m.ni + m.np
        self.raw = (m.nq, m.nu, m.nx, m.np)
        self.shapes = ((m.nq,), (m.nu,), (m.nx,), (n - 1, m.ni) if steps else (m.ni,), (m.np,), ())
        self.results = ((n, m.nq), (n, m.nu), (n, m.nx))
        self.slopes = (
            (self.size, sum(self.raw)),  # of the start by the arguments
            (n - 1, self.size, self.size + self.columns),  # by the start of its stretch, inputs, parameters
            (n, m.nq, m.nu),  # N(q)
        )

    def row(self, *arguments: Floats) -> tuple[Floats, ...]:
        """Return the states of one row."""
        q, u, x, inputs, p, t0 = arguments
        model, times = self.model, float(t0) + self.times
        mech = model.mechanism(p)
        first = inputs[0] if self.steps else inputs
        state = start(model, mech, float(times[0]), q, u, x, first)
        if not self.steps:
            return self._states(Along(mech._core, self._run(mech, state, times))(times))
        found = [State(float(times[0]), state.q, state.u, x)]
        for k, held in enumerate(inputs):
            state = mech.step(
                state, float(times[k + 1] - times[k]), dict(zip(model.inputs, held.tolist(), strict=True)),
                model.method, model.rtol, model.atol,
            )  # fmt: skip
            found.append(state)
        return tuple(np.array([getattr(s, part) for s in found]) for part in ("q", "u", "x"))

    def row_slopes(self, *arguments: Floats) -> tuple[Floats, ...]:
        """Return the states of one row and their slopes."""
        q, u, x, inputs, p, t0 = arguments
        model, times = self.model, float(t0) + self.times
        mech = model.mechanism(p)
        by, known = directions(mech, model.parameters), element_inputs(mech)
        taken = {name: known.get(name, []) for name in model.inputs}
        state = start(model, mech, float(times[0]), q, u, x, inputs[0] if self.steps else inputs)
        with ready(mech, state, "simulate", None) as now:
            d = derivatives(mech._core, derivative_workspace(mech), *now, parameters=by)
            first = start_slopes(model, mech, *now, q, by, d)
        variation = Variation(mech._core, derivative_workspace(mech), by, taken, self.size)
        unit = np.hstack((np.eye(self.size), np.zeros((self.size, self.columns))))
        parts: list[tuple[Floats, ...]] = []
        s = np.zeros((len(times) - 1, self.size, self.size + self.columns))
        for k in range(len(times) - 1) if self.steps else (0,):
            own = times[k : k + 2] if self.steps else times
            if self.steps:
                state = model.with_inputs(mech, state, state.x, inputs[k])
            run = self._run(mech, state, own)
            edges = _edges(mech, run, own)
            along = Along(mech._core, run)
            by_start = variation.solve(along, edges, unit, self.accuracy)[0]
            s[k : k + len(own) - 1] = by_start[np.searchsorted(edges, own[1:])]
            parts.append(tuple(a if k == 0 else a[1:] for a in self._states(along(own))))
            if self.steps:
                state = run.state()
        found = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
        return *found, first, s, by_speeds(mech._core, found[0])

    def pullback(self, slopes: Sequence[Floats], of_results: Sequence[Floats]) -> tuple[Floats, ...]:
        """Return derivatives by the arguments, back along the motion; those by time are not known: nan."""
        first, s, turning = slopes
        of_q, of_u, of_x = of_results
        n, ni = self.size, self.model.ni
        of = np.concatenate(((of_q[..., None, :] @ turning)[..., 0, :], of_u, of_x), axis=-1)
        if self.steps:
            now, back = of[..., -1, :], list[Floats]()
            for k in range(len(self.times) - 2, -1, -1):
                all_of = (now[..., None, :] @ s[..., k, :, :])[..., 0, :]
                back.append(all_of[..., n:])
                now = all_of[..., :n] + of[..., k, :]
            others = np.stack(back[::-1], axis=-2)
            of_inputs, of_p = others[..., :ni], np.sum(others[..., ni:], axis=-2)
        else:
            all_of = np.sum((of[..., 1:, None, :] @ s)[..., 0, :], axis=-2)
            now, of_inputs, of_p = (
                all_of[..., :n] + of[..., 0, :],
                all_of[..., n : n + ni],
                all_of[..., n + ni :],
            )
        q, u, x, p = split((now[..., None, :] @ first)[..., 0, :], self.raw)
        return q, u, x, of_inputs, of_p + p, np.full(p.shape[:-1], np.nan)

    @property
    def accuracy(self) -> float:
        """Change of the slopes at which halving their steps stops: they are better by far then."""
        return max(self.model.rtol, 1e-10)

    def _run(self, mech: Mechanism, state: State, times: Floats) -> Run:
        m = self.model
        run = not_interrupted(
            mech.simulate(
                (float(times[0]), float(times[-1])), state, m.method, m.rtol, m.atol, dense_output=True
            )
        )
        if not run.success:
            raise TreemechError(f"the motion was not finished: {run.message}")
        return run

    def _states(self, y: States) -> tuple[Floats, Floats, Floats]:
        return y.q, y.u, y.z[:, : self.model.nx]


def _edges(mech: Mechanism, run: Run, times: Floats) -> Floats:
    """Return the steps of a run with their middles, and the times."""
    edges = np.unique(np.concatenate((smooth_steps(mech, run, "no derivatives of this motion"), times)))
    return np.unique(np.concatenate((edges, 0.5 * (edges[:-1] + edges[1:]))))
