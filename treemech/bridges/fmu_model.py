"""A mechanism with the time, states, inputs and parameters that an FMU holds; its variables by name.

States of model exchange are numbers of an ordinary differential equation: in trees the coordinates and speeds that are not
prescribed and the states of elements, in closed chains the independent ones, from which the chain is closed anew
at every evaluation. So importers integrate without drift. Steps of co-simulation are those of `Mechanism.step`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from treemech.dynamics.analyses.displacement import rates
from treemech.topology import TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats

from ..analyses.contacts import unilateral
from ..analyses.evaluation import results_of_states
from ..analyses.small_motions import ready
from ..analyses.states import left_free
from ..mechanism import Mechanism
from ..results.run import Run
from ..results.state import State
from ..simulation.simulate import check_method
from .accelerations import accelerations
from .model import Model
from .start import independent_of, start


class FmuModel:
    """What an FMU computes; `exchange` tells whether it has continuous states.

    Attributes
    ----------
    states : names of the continuous states, in their order
    values : start values of all coordinates, speeds, states of elements by name
    outputs : names of measures
    """

    def __init__(
        self,
        mech: Mechanism,
        state: State,
        inputs: Sequence[str],
        parameters: Sequence[str],
        outputs: Sequence[str],
        independent: Sequence[str] | None = None,
        exchange: bool = True,
        method: Any = "DOP853",
        rtol: float = 1e-8,
    ) -> None:
        for given, known, what in (
            (inputs, mech._wiring.opened, "input without a signal"),
            (parameters, mech.parameters, "parameter"),
            (outputs, mech._wiring.measures, "measure"),
        ):
            for name in given:
                if name not in known:
                    raise TopologyError(unknown(what, name, known))
        check_method(method, rtol)
        self.nominal_mech, self.mech, self.method, self.rtol = mech, mech, method, rtol
        self.outputs = tuple(outputs)
        self.inputs = dict.fromkeys(inputs, 0.0)
        self.parameters = {name: mech.parameters[name] for name in parameters}
        self.t = float(state.t)
        n, places = mech.nu, mech._lagrange.places
        self.q_names = [_suffixed(name, "q") for name in mech.coordinates]
        self.u_names = [_suffixed(name, "u") for name in mech.speeds]
        self.x_names = list(mech._core.layout.efforts.z_names[: mech._core.nx])
        x = state.x if len(state.x) else mech._core.layout.efforts.start[: mech._core.nx]
        self.y = np.concatenate((state.q, state.u, x))
        self.own = np.arange(len(self.y))
        self._at: State | None = None
        self._begun: State | None = None
        self.model: Model | None = None
        if not exchange and (mech._wiring.controllers or unilateral(mech) or not _forgets(mech)):
            return
        self.model = Model(mech, parameters, inputs, _wanted(mech, state, independent), method, rtol)
        if mech._core.loops is None:
            driven = ~left_free(mech, {})
            q_driven = np.isin(np.arange(mech.nq), places.q[np.isin(places.u, np.flatnonzero(driven))])
            self.own = np.flatnonzero(
                ~np.concatenate((q_driven, driven, np.zeros(mech._core.nx, dtype=bool)))
            )
            return
        of = dict(zip(places.u.tolist(), places.q.tolist(), strict=True))
        positions, speeds = independent_of(self.model, mech, state)
        turned = [mech.speeds[k] for k in positions if k not in of]
        if turned:
            raise TreemechError(
                f"{', '.join(map(repr, turned))} would be independent, but belong to an attitude: an FMU of a closed chain needs plain "
                "numbers. Name others, independent=(...)."
            )
        self.model.wanted = positions
        own = (
            [of[k] for k in positions],
            [mech.nq + k for k in speeds],
            mech.nq + n + np.arange(mech._core.nx),
        )
        self.own = np.concatenate([np.array(part, dtype=np.int64) for part in own])

    @property
    def names(self) -> list[str]:
        """Names of all coordinates, speeds and states of elements."""
        return [*self.q_names, *self.u_names, *self.x_names]

    def set_parameter(self, name: str, value: float) -> None:
        """Change a parameter."""
        self.parameters[name] = float(value)
        self.mech = self.nominal_mech.with_parameters(**self.parameters)
        self._at = self._begun = None

    def set_input(self, name: str, value: float) -> None:
        """Hold an input at another value."""
        self.inputs[name] = float(value)
        self._at = None

    def set_number(self, k: int, value: float) -> None:
        """Change a coordinate, speed or state of an element; a motion in steps starts anew from there."""
        self.y[k] = value
        self._at = self._begun = None

    def set_time(self, t: float) -> None:
        """Change the time."""
        self.t = float(t)
        self._at = None

    def state(self) -> State:
        """Return the state at which everything stands, closed."""
        if self._at is not None:
            return self._at
        mech, nq, n = self.mech, self.mech.nq, self.mech.nu
        q, u, x = self.y[:nq], self.y[nq : nq + n], self.y[nq + n :]
        if self._begun is not None:
            state = self._begun
        elif self.model is not None:
            state = start(self.model, mech, self.t, q, u, x, np.array(list(self.inputs.values())))
            free = np.setdiff1d(np.arange(nq + n), self.own)
            self.y[free] = np.concatenate((state.q, state.u))[free]  # the next closing begins here
        else:
            state = mech.state(self.t, q, u, x if len(x) else None)
        self._at = state
        return state

    def rates(self) -> Floats:
        """Return the derivatives of all coordinates, speeds and states of elements."""
        state = self.state()
        assert self.model is not None
        ud, _, x_rates = accelerations(self.model, self.mech, state, None)
        q_rates = rates(self.mech._core, state.q[None], state.u[None])[0]
        return np.concatenate((q_rates, ud, x_rates))

    def measure(self, name: str) -> float:
        """Return a measure."""
        mech, state = self.mech, self.state()
        with ready(mech, state, "measure", None):
            cut = mech._core.chord_work.q[None].copy()
        z = np.zeros((1, mech._core.nz))
        z[0, : len(state.z)] = state.z
        run = Run(
            mech._info, np.array([state.t]), state.q[None], state.u[None], True, "", self.method, None,
            partial(results_of_states, mech), None, cut, z, measures=mech._wiring.measures,
        )  # fmt: skip
        return float(run.measure(name)[0])

    def step(self, t: float, dt: float) -> None:
        """Go on by dt with the inputs held."""
        if self._begun is None:
            self.t = t
            self._at = None
            self._begun = self.state()
        inputs: Mapping[str, float] = self.inputs
        after = self.mech.step(self._begun, dt, inputs or None, self.method, self.rtol)
        self._begun = self._at = after
        self.t = t + dt
        self.y = np.concatenate((after.q, after.u, after.x))


def _suffixed(name: str, letter: str) -> str:
    """Return the name of a variable: A.q, A.q[1].

    >>> _suffixed("A[1]", "u")
    'A.u[1]'
    """
    owner, bracket, index = name.rpartition("[")
    return f"{owner}.{letter}[{index}" if bracket and name.endswith("]") else f"{name}.{letter}"


def _forgets(mech: Mechanism) -> bool:
    """Tell whether elements remember nothing but inputs that are held."""
    return bool(mech._core.nz == mech._core.nx + len(mech._core.layout.efforts.held))


def _wanted(mech: Mechanism, state: State, names: Sequence[str] | None) -> Any:
    """Return the independent coordinates of a closed chain: the named ones, or the best at the start."""
    if mech._core.loops is None or names is not None:
        return names
    best = independent_of(Model(mech, ()), mech, state)[0]
    return [mech.speeds[k] for k in best]
