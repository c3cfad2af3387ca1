"""What the functions of a bridge share: the mechanism, its parameters and inputs by name, the tolerance."""

from collections import OrderedDict
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.topology import ElementError, TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats

from ..analyses.contacts import unilateral
from ..analyses.small_motions import speed_numbers
from ..analyses.states import left_free
from ..results.state import State
from ..simulation.simulate import check_method

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_KEPT = 16  # mechanisms of other values of the parameters


class Model:
    """A mechanism as functions of arrays (q, u, x, inputs, parameters).

    Attributes
    ----------
    parameters, inputs : names, in the order of their arrays
    nq, nu, nx, ni, np : sizes of these arrays
    """

    def __init__(
        self,
        mech: "Mechanism",
        parameters: Sequence[str] | None = None,
        inputs: Sequence[str] | None = None,
        independent: Sequence[str] | None = None,
        method: str = "DOP853",
        rtol: float = 1e-10,
        atol: Any = None,
    ) -> None:
        check_method(method, rtol)
        self.mech, self.method, self.rtol, self.atol = mech, method, rtol, atol
        core = mech._core
        self._held = core.layout.efforts.held
        if mech._wiring.controllers:
            raise TreemechError(
                f"{mech.name!r} has controllers ({', '.join(map(repr, mech._wiring.controllers))}), which act at times of "
                "their own. Declare their inputs without a signal, system.input(name), and compute them outside."
            )
        if core.nz > core.nx + len(self._held):
            raise TreemechError(
                f"no derivatives of the motion of {mech.name!r}: elements in it remember, and their memory is no number of the state."
            )
        one_sided = unilateral(mech)
        if one_sided:
            raise TreemechError(
                f"no derivatives of the motion of {mech.name!r}: {', '.join(map(repr, one_sided))} hold on one side only, and switch. "
                "Model the contact by an element with stiffness."
            )
        known = mech.parameters if mech._origin is not None else {}
        self.parameters = tuple(known) if parameters is None else _names(parameters, known, "parameter")
        self.inputs = (
            tuple(self._held) if inputs is None else _names(inputs, self._held, "input without a signal")
        )
        self.nominal = np.array([known[name] for name in self.parameters], dtype=np.float64)
        self.nq, self.nu, self.nx = mech.nq, mech.nu, core.nx
        self.ni, self.np = len(self.inputs), len(self.parameters)
        self.n_rows = 0 if core.loops is None else len(core.layout.chords.rows)
        self.wanted: list[int] | None = None if independent is None else self._independent(independent)
        if core.loops is not None and self.parameters and self.wanted is None:
            raise TreemechError(
                f"{mech.name!r} has closed chains: a start cannot stay as it is when a parameter changes. Name the coordinates that "
                f"stay, independent=({mech.speeds[0]!r}, ...), or leave parameters out, parameters=()."
            )
        self._others: OrderedDict[tuple[float, ...], Mechanism] = OrderedDict()

    def _independent(self, names: Sequence[str]) -> list[int]:
        if self.mech._core.loops is None:
            raise ElementError(
                f"independent={tuple(names)!r}: {self.mech.name!r} is a tree, all its coordinates are."
            )
        driven = ~left_free(self.mech, {})
        found = speed_numbers(self.mech, names)
        for k in found:
            if driven[k]:
                raise ElementError(f"independent: {self.mech.speeds[k]!r} is prescribed.")
        return found

    def mechanism(self, values: Floats) -> "Mechanism":
        """Return the mechanism with these values of its parameters."""
        if not len(values) or np.array_equal(values, self.nominal):
            return self.mech
        key = tuple(values.tolist())
        found = self._others.pop(key, None)
        if found is None:
            found = self.mech.with_parameters(**dict(zip(self.parameters, key, strict=True)))
        self._others[key] = found
        while len(self._others) > _KEPT:
            self._others.popitem(last=False)
        return found

    def with_inputs(self, mech: "Mechanism", state: State, x: Floats, inputs: Floats) -> State:
        """Return a state with these states of elements and held inputs; other inputs are zero."""
        if not (self.nx or self._held):
            return state
        nx, start = self.nx, mech._core.layout.efforts.start
        memory = np.array(np.broadcast_to(start[nx : mech._core.nz], (*x.shape[:-1], mech._core.nz - nx)))
        for k, name in enumerate(self.inputs):
            memory[..., self._held[name] - nx] = inputs[..., k]
        return State(state.t, state.q, state.u, x, memory, state.active, state.cut, state.coordinates)


def _names(given: Sequence[str], known: Any, what: str) -> tuple[str, ...]:
    given = (given,) if isinstance(given, str) else tuple(given)
    for name in given:
        if name not in known:
            raise TopologyError(unknown(what, name, known))
    if len(set(given)) < len(given):
        raise ElementError(f"{what}s {given} name one twice.")
    return given


def framework(name: str) -> Any:
    """Return the functions for a framework: "jax" or "torch"."""
    try:
        return import_module(f".{name}_functions", __package__)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise TreemechError(f"this needs {name}: pip install treemech[{name}].") from None
