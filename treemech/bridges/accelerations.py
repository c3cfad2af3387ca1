"""Forward dynamics as a function of (q, u, x, inputs, parameters, loads, t)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from treemech.dynamics.analyses.derivatives import derivatives
from treemech.topology.arrays import Floats

from ..analyses.small_motions import derivative_workspace, element_inputs, ready
from ..description.parameters import directions
from ..mechanism import Mechanism
from ..results.state import State
from .model import Model
from .operation import Operation, split
from .start import by_numbers, normalised, start, start_slopes


class Accelerations(NamedTuple):
    """Accelerations ud, multipliers of the chords, and x' of the states of elements."""

    ud: Any
    multipliers: Any
    x_rates: Any


class ForwardDynamics(Operation):
    """Accelerations at a state; the slopes are one matrix, of all results by all arguments."""

    def __init__(self, model: Model) -> None:
        m = self.model = model
        self.sizes = (m.nq, m.nu, m.nx, m.ni, m.np, m.nu)
        self.shapes = (*((n,) for n in self.sizes), ())
        self.results = ((m.nu,), (m.n_rows,), (m.nx,))
        self.slopes = ((m.nu + m.n_rows + m.nx, sum(self.sizes)),)

    def values(self, *arguments: Any) -> tuple[Floats, ...]:
        """Return the results; rows of trees in one call of the compiled core."""
        many = self._many(arguments)
        if many is None:
            return super().values(*arguments)
        mech, state, loads = many
        lead = state.q.shape[:-1]
        return mech.forward_dynamics(state, loads).ud, np.zeros((*lead, 0)), np.zeros((*lead, 0))

    def with_slopes(self, *arguments: Any) -> tuple[Floats, ...]:
        """Return the results and the slopes; rows of trees without inputs and parameters in one call of the compiled core."""
        many = None if self.model.ni or self.model.np else self._many(arguments)
        if many is None:
            return super().with_slopes(*arguments)
        mech, state, loads = many
        d, given, lead = mech.derivatives(state, loads), np.asarray(arguments[0]), state.q.shape[:-1]
        nq, rows = mech.nq, int(np.prod(lead))
        W = by_numbers(mech._core, state.q.reshape(rows, nq), given.reshape(rows, nq))
        J = np.concatenate((d.ud_q @ W.reshape(*lead, mech.nu, nq), d.ud_u, d.ud_load), axis=-1)
        return d.ud, np.zeros((*lead, 0)), np.zeros((*lead, 0)), J

    def _many(self, arguments: Sequence[Any]) -> tuple[Mechanism, State, Floats] | None:
        """Return the mechanism, states and loads of rows that the compiled core takes in one call; None for others."""
        model, p = self.model, np.asarray(arguments[4], dtype=np.float64)
        lead, plain = p.shape[:-1], model.n_rows == 0 and not model.nx and not model.mech._prescriptions
        each = p.reshape(int(np.prod(lead)), model.np)
        if not plain or not lead or not len(each) or np.any(each != each[0]):
            return None
        t: Any
        q, u, x, inputs, _, loads, t = (np.asarray(a, dtype=np.float64) for a in arguments)
        mech = model.mechanism(each[0])
        return mech, model.with_inputs(mech, mech.state(t, normalised(mech._core, q), u), x, inputs), loads

    def row(self, *arguments: Floats) -> tuple[Floats, ...]:
        """Return the results of one row."""
        q, u, x, inputs, p, loads, t = arguments
        mech = self.model.mechanism(p)
        state = start(self.model, mech, float(t), q, u, x, inputs)
        return accelerations(self.model, mech, state, loads)

    def row_slopes(self, *arguments: Floats) -> tuple[Floats, ...]:
        """Return the results of one row, and the matrix of derivatives."""
        q, u, x, inputs, p, loads, t = arguments
        model = self.model
        mech = model.mechanism(p)
        state = start(model, mech, float(t), q, u, x, inputs)
        by = directions(mech, model.parameters)
        known = element_inputs(mech)
        taken = {name: known.get(name, []) for name in model.inputs}
        with ready(mech, state, "forward_dynamics", loads) as now:
            d = derivatives(mech._core, derivative_workspace(mech), *now, loads, None, taken, by)
            s = start_slopes(model, mech, *now, q, by, d)
        by_state = np.block(
            [
                [d.ud_q, d.ud_u, d.ud_x],
                [d.multipliers_q, d.multipliers_u, d.multipliers_x],
                [d.x_rates_q, d.x_rates_u, d.x_rates_x],
            ]
        )
        by_state[:, np.flatnonzero(np.tile(~mech._core.free_speeds(), 2))] = (
            0.0  # these are in d.ud_p already
        )
        of_inputs = np.vstack((d.ud_input, d.multipliers_input, d.x_rates_input))
        of_p = np.vstack((d.ud_p, d.multipliers_p, d.x_rates_p))
        of_loads = np.vstack((d.ud_load, d.multipliers_load, d.x_rates_load))
        n = len(s.T) - model.np
        of_start = by_state @ s
        J = np.hstack((of_start[:, :n], of_inputs, of_p + of_start[:, n:], of_loads))
        return d.ud, d.multipliers, d.x_rates, J

    def pullback(self, slopes: Sequence[Floats], of_results: Sequence[Floats]) -> tuple[Floats, ...]:
        """Return derivatives by the arguments; those by time are not known: nan."""
        row = np.concatenate(of_results, axis=-1)
        by = split((row[..., None, :] @ slopes[0])[..., 0, :], self.sizes)
        return *by, np.full(row.shape[:-1], np.nan)


def accelerations(
    model: Model, mech: Mechanism, state: State, loads: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Return ud, multipliers and x' of the states of elements."""
    found, rates = mech.forward_dynamics(state, loads), np.zeros(0)
    if model.nx:
        with ready(mech, state, "forward_dynamics", loads) as now:
            rates = derivatives(mech._core, derivative_workspace(mech), *now, loads).x_rates
    return found.ud, found.multipliers, rates
