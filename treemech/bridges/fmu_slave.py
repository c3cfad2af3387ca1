"""What runs inside an FMU: the variables of a mechanism for pythonfmu3 (needs pythonfmu3).

An FMU carries the model as JSON, and `fmu.json` beside it: what `Mechanism.to_fmu` was told.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pythonfmu3 import (
    CoSimulation,
    DefaultExperiment,
    Float64,
    Fmi3Causality,
    Fmi3Initial,
    Fmi3SlaveBase,
    Fmi3StepResult,
    Fmi3Variability,
    ModelExchange,
)

import treemech
from treemech.system import System

from .fmu_model import FmuModel

_CONTINUOUS = Fmi3Variability.continuous


class _Variables(Fmi3SlaveBase):  # type: ignore[misc]
    """Variables of a mechanism."""

    exchange = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        folder = Path(self.resources)
        told = json.loads((folder / "fmu.json").read_text(encoding="utf-8"))
        system = treemech.read(folder / "model.json")
        assert isinstance(system, System)
        mech = system.build(**told["build"])
        if told["values"]:
            mech = mech.with_parameters(**told["values"])
        state = mech.state(told["t"], np.array(told["q"]), np.array(told["u"]), told["x"] or None)
        m = self.it = FmuModel(
            mech, state, told["inputs"], told["parameters"], told["outputs"], told["independent"], self.exchange,
            told["method"] if isinstance(told["method"], str) else tuple(told["method"]), told["rtol"],
        )  # fmt: skip
        self.time = m.t
        self.modelName = told["identifier"]
        self.description = (
            f"{mech.name}, by treemech {treemech.__version__}, which the Python that runs it needs"
        )
        self.default_experiment = DefaultExperiment(start_time=m.t, stop_time=m.t + 1.0, tolerance=m.rtol)
        self._add("time", Fmi3Causality.independent, lambda: self.time)
        for name in m.inputs:
            self._add(
                name, Fmi3Causality.input, partial(m.inputs.__getitem__, name), partial(m.set_input, name)
            )
        for name in m.parameters:
            get, put = partial(m.parameters.__getitem__, name), partial(m.set_parameter, name)
            self._add(name, Fmi3Causality.parameter, get, put, Fmi3Variability.fixed)
        own, references = set(m.own.tolist()), dict[int, int]()
        for k, name in enumerate(m.names):
            initial = Fmi3Initial.exact if k in own else Fmi3Initial.calculated
            put_number = partial(m.set_number, k) if initial is Fmi3Initial.exact else None
            references[k] = self._add(
                name, Fmi3Causality.output, partial(self._number, k), put_number, initial=initial
            )
        for name in m.outputs:
            self._add(name, Fmi3Causality.output, partial(m.measure, name), initial=Fmi3Initial.calculated)
        for k in m.own.tolist() if self.exchange else ():
            self._add(
                f"der({m.names[k]})", Fmi3Causality.local, partial(self._rate, k), derivative=references[k],
            )  # fmt: skip

    def _add(
        self,
        name: str,
        causality: Any,
        get: Callable[[], float],
        put: Callable[[float], None] | None = None,
        variability: Any = _CONTINUOUS,
        initial: Any = None,
        derivative: int | None = None,
    ) -> int:
        """Register a variable; return its reference."""
        variable = Float64(
            name, causality=causality, variability=variability, initial=initial, derivative=derivative, getter=get, setter=put,
        )  # fmt: skip
        self.register_variable(variable, nested=False)
        return int(variable.value_reference)

    def _number(self, k: int) -> float:
        m, state = self.it, self.it.state()
        nq, n = m.mech.nq, m.mech.nu
        if k < nq:
            return float(state.q[k])
        return float(state.u[k - nq] if k < nq + n else m.y[k])

    def _rate(self, k: int) -> float:
        return float(self.it.rates()[k])

    def setup_experiment(self, start_time: float) -> None:
        """Start at a time."""
        self.set_time(start_time)

    def set_time(self, time: float) -> None:
        """Change the time."""
        self.time = time
        self.it.set_time(time)


class _Exchange(_Variables):
    """Continuous states and their derivatives."""

    def get_continuous_state_derivatives(self) -> list[float]:
        """Return the derivatives of the continuous states."""
        return [float(x) for x in self.it.rates()[self.it.own]]

    def get_continuous_states(self) -> list[float]:
        """Return the continuous states."""
        return [float(x) for x in self.it.y[self.it.own]]

    def set_continuous_states(self, values: list[float]) -> None:
        """Change the continuous states."""
        for k, value in zip(self.it.own.tolist(), values, strict=True):
            self.it.set_number(k, value)


class _Steps(_Variables):
    """Steps of the library's own integrator."""

    def do_step(self, current_time: float, step_size: float) -> Any:
        """Go on by a step."""
        self.it.step(current_time, step_size)
        self.time = current_time + step_size
        return Fmi3StepResult()


class Exchange(_Exchange, ModelExchange):  # type: ignore[misc]
    """An FMU for model exchange."""


class Steps(_Steps, CoSimulation):  # type: ignore[misc]
    """An FMU for co-simulation."""

    exchange = False


class Both(_Exchange, _Steps, ModelExchange, CoSimulation):  # type: ignore[misc]
    """An FMU for both."""
