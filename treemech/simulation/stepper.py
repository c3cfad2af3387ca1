"""Steps of a motion for control and learning loops, without a Run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.calls.steps import EXPLICIT, Steps
from treemech.dynamics.native.caller import caller
from treemech.topology import ElementError, TopologyError, TreemechError, unknown
from treemech.topology.arrays import Floats
from treemech.topology.body import as_number
from treemech.topology.parameter import as_float

from ..analyses.states import as_rows
from ..results.state import State
from .simulate import check_method, tolerances

if TYPE_CHECKING:
    from ..mechanism import Mechanism

_OPEN = 1e-6


class Stepper:
    """A motion that goes on step by step: ``stepper.step(inputs)``, then ``stepper.t, .q, .u, .state``.

    Made by `Mechanism.stepper`. Inputs that are given stay until they are given again. It has arrays of its
    own: the mechanism may be used for anything else in between. One thread at a time.
    """

    def __init__(
        self, mech: Mechanism, state: State | tuple[Any, ...], dt: float, method: str, rtol: float, atol: Any
    ) -> None:
        self.dt = as_number(dt, "dt")
        if not (np.isfinite(self.dt) and self.dt > 0.0):
            raise TreemechError(f"dt is {dt!r}; wanted a positive time [s].")
        check_method(method, rtol)
        self._mech, self._method, self._rtol, self._atol = mech, method, rtol, atol
        self._core = mech._workspaces.by_depth.make()
        efforts = self._core.layout.efforts
        self._places = {name: mech.nq + mech.nu + at for name, at in efforts.held.items()}
        self._inputs = tuple(efforts.held)
        self._steps: Steps | None = None
        self.reset(state)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that a step may set, in the order of an array of inputs."""
        return self._inputs

    def reset(self, state: State | tuple[Any, ...]) -> None:
        """Start anew from a state."""
        mech = self._mech
        t, q, u = as_rows(mech, state, "stepper")
        z, cut = mech._core.work.z[: mech._core.nz].copy(), mech._core.chord_work.q.copy()
        self._t, self._first = float(t[0]), 0.0
        self._y = self._core.pack(q[0], u[0], z, cut)
        if self._is_plain(q[0], u[0], cut, z):
            self._start()
            return
        self._steps = None
        here = state if isinstance(state, State) else mech.state(self._t, q[0], u[0])
        self._state: State | None = here

    def _is_plain(self, q: Floats, u: Floats, cut: Floats, z: Floats) -> bool:
        """Tell whether plain steps of an explicit method are all the motion takes."""
        core, mech = self._core, self._mech
        breaks = any(len(signal.breaks) for signal in core.layout.signals)
        if self._method not in EXPLICIT or breaks or core.interpreted or mech._wiring.controllers:
            return False
        if core.remembers or len(core.layout.plan.points) or not core.nu:
            return False
        if core.loops is not None:
            core.work.z[: core.nz], core.chord_work.q[:] = z, cut
            if len(core.loops.plan.unilateral):
                return False
            core.loops.choose(self._t, q, u, closed=True)
            core.chord_work.q[:] = cut
            return not core.loops.selected
        return True

    def _start(self) -> None:
        """Begin steps at y."""
        core = self._core
        if self._steps is not None and core.loops is None:
            self._steps.y[:] = self._y
        else:
            atol = np.concatenate((tolerances(self._mech, self._atol, self._rtol), np.zeros(core.n_audit)))
            most = self.dt if self._method == "RK4" else np.inf
            rtol = max(self._rtol, 100 * np.finfo(float).eps)
            self._steps = Steps(core, self._method, self._t, self._y, rtol, atol, most)
            pack, module = self._mech._fast.pack, caller()
            if pack is not None and module is not None:
                self._steps.served(module, pack.c)
        self._y, self._state = self._steps.y, None
        t = np.array([self._t])
        q, u = core.states(t, self._y[None])
        self._steps.q[:], self._steps.u[:] = q[0], u[0]

    def step(self, inputs: Mapping[str, float] | Floats | None = None, dt: float | None = None) -> Stepper:
        """Go on by dt (default: that of the stepper), with inputs by name or all of them in their order."""
        if inputs is not None:
            self._set(inputs)
        start, end = self._t, self._t + (self.dt if dt is None else dt)
        if self._steps is not None and end > start:
            fixed = self._method == "RK4"
            if self._steps.take(start, end, end - start if fixed else self._first):
                self._t = end
                self._first = 0.0 if fixed else self._steps.usual_step
                self._state = None
                return self
        self._simulate(end)
        return self

    def _set(self, inputs: Any) -> None:
        """Write inputs into the state."""
        if not isinstance(inputs, Mapping):
            values = np.asarray(inputs, dtype=np.float64)
            if values.shape != (len(self._inputs),):
                raise ElementError(
                    f"inputs have shape {values.shape}; wanted ({len(self._inputs)},): {', '.join(self._inputs)}."
                )
            inputs = dict(zip(self._inputs, values.tolist(), strict=True))
        total = 0.0
        for name, value in inputs.items():
            try:
                place = self._places[name]
                total += value
            except KeyError:
                self._refuse(name)
            except TypeError:
                raise ElementError(f"input {name!r} is {value!r}; wanted a number.") from None
            if self._steps is not None:
                self._y[place] = value
            else:
                self._held(name, float(value))
        if total - total != 0.0:
            name, value = next((n, x) for n, x in inputs.items() if not np.isfinite(x))
            raise ElementError(f"input {name!r} is {value}; wanted a finite number.")

    def _refuse(self, name: str) -> None:
        if name in self._mech._wiring.inputs:
            raise ElementError(
                f"input {name!r} follows its signal: declare it without one, system.input({name!r}), to set it from step to step."
            )
        raise TopologyError(unknown("input", name, self._inputs))

    def _held(self, name: str, value: float) -> None:
        """Write an input into the state of a motion that simulations carry on."""
        state = self.state
        memory = (
            state.memory.copy()
            if len(state.memory)
            else self._core.layout.efforts.start[self._core.nx :].copy()
        )
        memory[self._core.layout.efforts.held[name] - self._core.nx] = value
        x = (
            state.x
            if len(state.x) == self._core.nx
            else self._core.layout.efforts.start[: self._core.nx].copy()
        )
        self._state = State(state.t, state.q, state.u, x, memory, state.active, state.cut, state.coordinates)

    def _simulate(self, end: float) -> None:
        """Let a simulation take the step: it passes singular positions, switches contacts, and names what is wrong."""
        options: dict[str, Any] = (
            {"max_step": end - self._t} if self._method == "RK4" else {"atol": self._atol}
        )
        run = self._mech.simulate(
            (self._t, end), self.state, self._method, self._rtol, t_eval=[end], **options
        )
        if not run.success:
            raise TreemechError(
                f"the step from t = {self._t:.9g} s to {end:.9g} s was not finished: {run.message}"
            )
        self.reset(run.state())

    @property
    def t(self) -> float:
        """Time reached."""
        return self._t

    @property
    def q(self) -> Floats:
        """Coordinates reached, in the public order."""
        return self._steps.q.copy() if self._steps is not None else self.state.q.copy()

    @property
    def u(self) -> Floats:
        """Speeds reached, in the public order."""
        return self._steps.u.copy() if self._steps is not None else self.state.u.copy()

    @property
    def state(self) -> State:
        """The state reached."""
        if self._state is None:
            from ..analyses.cut_hinges import CutMotion

            assert self._steps is not None
            core, mech = self._core, self._mech
            rest = core.unpack(self._y)
            z, q, u = rest.z.copy(), self.q, self.u
            cut: Any = CutMotion(mech, self._t, q, u, rest.cut.copy()) if mech._info.chords else {}
            self._state = State(
                self._t, q, u, z[: core.nx], z[core.nx :], coordinates=mech._lagrange, cut=cut
            )
        return self._state


def step(
    mech: Mechanism,
    state: State | tuple[Any, ...],
    dt: float,
    inputs: Any,
    method: str,
    rtol: float,
    atol: Any,
) -> State:
    """Return the state dt later, see `Mechanism.step`."""
    kept: dict[Any, Stepper] = mech._fast.steppers
    if not isinstance(method, (str, tuple)):
        raise TreemechError(f"there is no method {method!r}.")
    try:
        key = (
            method,
            as_float(rtol),
            None if atol is None else repr(atol),
            as_float(dt) if method == "RK4" else 0.0,
        )
    except (TypeError, ValueError):
        raise TreemechError(f"rtol is {rtol!r}, dt {dt!r}; wanted numbers.") from None
    own = kept.get(key)
    if own is None:
        if len(kept) > 8:
            kept.clear()
        own = kept[key] = Stepper(mech, state, dt, method, rtol, atol)
    else:
        own.dt = as_number(dt, "dt")
        if not (np.isfinite(own.dt) and own.dt > 0.0):
            raise TreemechError(f"dt is {dt!r}; wanted a positive time [s].")
        own.reset(state)
    return own.step(inputs).state
