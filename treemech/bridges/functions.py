"""Functions of a mechanism on the arrays of a framework: what is common to all frameworks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from treemech.topology import ElementError, TopologyError, unknown
from treemech.topology.arrays import Floats

from .accelerations import Accelerations, ForwardDynamics
from .model import Model
from .motions import Motion, Simulation
from .operation import Operation


class Functions(ABC):
    """Forward dynamics, a step and a whole motion, with exact derivatives by all arrays given.

    Coordinates q (..., nq) and speeds u (..., nu) are in the public order; leading axes are many states in one
    call. States x of elements (..., nx), `inputs` (..., ni), `parameters` (..., np) and `loads` on the speeds
    (..., nu) may be left out: start values of the elements, zero, the values of the model, zero. Inputs,
    parameters and loads may be given by name too. Derivatives by q are those of the numbers: Euler
    parameters are normalised first. In closed chains the independent coordinates and speeds of q, u hold, and the
    others are an estimate from which the closed state follows; prescribed coordinates follow their signals.
    Neither has a derivative. The time t (...) at the start may be an array too, but derivatives by it are nan;
    dt and t_eval are plain numbers.

    Attributes
    ----------
    parameters, inputs : names, in the order of their arrays
    """

    def __init__(self, model: Model) -> None:
        self._model, self.parameters, self.inputs = model, model.parameters, model.inputs
        self._made: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        m = self._model
        return (
            f"{type(self).__name__} of {m.mech.name!r}: nq = {m.nq}, nu = {m.nu}, nx = {m.nx}, "
            f"inputs ({', '.join(m.inputs)}), parameters ({', '.join(m.parameters)})"
        )

    def forward_dynamics(
        self,
        q: Any,
        u: Any,
        inputs: Any = None,
        parameters: Any = None,
        loads: Any = None,
        x: Any = None,
        t: Any = 0.0,
    ) -> Accelerations:
        """Return (ud, multipliers, x_rates) at states."""
        operation = self._kept("forward", lambda: ForwardDynamics(self._model))
        loads = self._vector(loads, self._model.mech.speeds, np.zeros(self._model.nu), "speed")
        return Accelerations(*self._apply(operation, q, u, x, inputs, parameters, loads, t))

    def step(
        self,
        q: Any,
        u: Any,
        dt: float,
        inputs: Any = None,
        parameters: Any = None,
        x: Any = None,
        t: Any = 0.0,
    ) -> Motion:
        """Return (q, u, x) dt later, with inputs held."""
        after = self._number(dt, "dt")
        held = self._vector(inputs, self._model.inputs, np.zeros(self._model.ni), "input")[..., None, :]
        found = self._simulated((0.0, after), True, q, u, held, parameters, x, t)
        return Motion(*(part[..., -1, :] for part in found))

    def simulate(
        self, q: Any, u: Any, t_eval: Any, inputs: Any = None, parameters: Any = None, x: Any = None
    ) -> Motion:
        """Return (q, u, x) at the times t_eval, the first of which is that of the start: (..., n, nq), ...

        Inputs with one axis hold all the time; others, (..., n - 1, ni), hold from each time to the next.
        """
        times = tuple(self._number(t, "t_eval") for t in t_eval)
        given = inputs is not None and not isinstance(inputs, Mapping)
        steps = given and self._model.ni > 0 and np.ndim(inputs) > 1
        if steps and inputs.shape[-2] != len(times) - 1:
            raise ElementError(
                f"inputs have shape {tuple(inputs.shape)}; wanted (..., {len(times) - 1}, {self._model.ni}): one for every interval "
                f"of t_eval, or ({self._model.ni},)."
            )
        return self._simulated(times, steps, q, u, inputs, parameters, x, times[0] if times else 0.0)

    def _simulated(
        self,
        times: tuple[float, ...],
        steps: bool,
        q: Any,
        u: Any,
        inputs: Any,
        parameters: Any,
        x: Any,
        t: Any,
    ) -> Motion:
        if len(times) < 2 or not np.all(np.diff(times) > 0.0):
            raise ElementError(f"times are {times}; wanted two or more, each later than the one before.")
        after = np.array(times) - times[0]
        operation = self._kept((*after, steps), lambda: Simulation(self._model, after, steps))
        return Motion(*self._apply(operation, q, u, x, inputs, parameters, t))

    def _apply(
        self, operation: Operation, q: Any, u: Any, x: Any, inputs: Any, parameters: Any, *more: Any
    ) -> Sequence[Any]:
        m = self._model
        start = m.mech._core.layout.efforts.start[: m.nx]
        given = [
            q,
            u,
            start if x is None else x,
            self._vector(inputs, m.inputs, np.zeros(m.ni), "input"),
            self._vector(parameters, m.parameters, m.nominal, "parameter"),
            *more,
        ]
        arrays = self._arrays(given)
        names = ("q", "u", "x", "inputs", "parameters", *(("loads", "t") if len(more) == 2 else ("t",)))
        leads = []
        for name, array, shape in zip(names, arrays, operation.shapes, strict=True):
            k = len(array.shape) - len(shape)
            if k < 0 or tuple(array.shape[k:]) != shape:
                raise ElementError(
                    f"{name} has shape {tuple(array.shape)}; wanted (..., {', '.join(map(str, shape))}) for {m.mech.name!r}."
                )
            leads.append(tuple(array.shape[:k]))
        try:
            lead = np.broadcast_shapes(*leads)
        except ValueError:
            raise ElementError(
                f"{', '.join(names)} have the leading axes {leads}, which do not fit together."
            ) from None
        spread = [
            self._broadcast(a, (*lead, *shape)) for a, shape in zip(arrays, operation.shapes, strict=True)
        ]
        return self._evaluate(operation, spread)

    def _vector(self, given: Any, names: Sequence[str], nominal: Floats, what: str) -> Any:
        """Return an array in the order of the names, of what is given in full or by name."""
        if given is None:
            return nominal
        if isinstance(given, list | tuple):
            flat = all(np.ndim(x) == 0 for x in given)
            return self._stack(given) if flat and given else np.array(given, dtype=np.float64)
        if not isinstance(given, Mapping):
            return given
        for name in given:
            if name not in names:
                raise TopologyError(unknown(what, name, names))
        return self._stack([given.get(name, x) for name, x in zip(names, nominal.tolist(), strict=True)])

    def _kept(self, key: Hashable, make: Callable[[], Operation]) -> Any:
        """Return an operation, made once for its times: frameworks compile a function once."""
        if key not in self._made:
            while len(self._made) > 64:
                self._made.pop(next(iter(self._made)))
            self._made[key] = self._wrapped(make())
        return self._made[key]

    def _wrapped(self, operation: Operation) -> Any:
        return operation

    @abstractmethod
    def _number(self, given: Any, what: str) -> float:
        """Return a time."""

    @abstractmethod
    def _stack(self, given: Sequence[Any]) -> Any:
        """Return an array of numbers along a new last axis."""

    @abstractmethod
    def _arrays(self, given: Sequence[Any]) -> Sequence[Any]:
        """Return arrays of the framework, all of one type of floating point numbers."""

    @abstractmethod
    def _broadcast(self, array: Any, shape: tuple[int, ...]) -> Any:
        """Return an array with leading axes."""

    @abstractmethod
    def _evaluate(self, operation: Any, arrays: Sequence[Any]) -> Sequence[Any]:
        """Return the results."""
