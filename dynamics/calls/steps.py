"""Steps of one motion by the compiled integrators, without the driver of a whole simulation.

A core of its own holds the motion. A step is one call: it integrates over a given time, for as many steps of the
method as that takes, and leaves the state in the public conventions. Where anything but a plain end comes back, the
state is as it was before, and the caller lets a simulation take the step.
"""

from typing import Any

import numpy as np

from treemech.kinematics.kernel.status import OK
from treemech.topology.arrays import Floats, address

from ..integrators import layout as m
from ..model.core import Core
from ..native import entry_points as native
from ..simulation.integrator import METHODS, Closure, Integrator

_BUDGET = 20_000  # steps of the method in one call; a motion that needs more is looked at by a simulation
EXPLICIT = tuple(name for name, (loop, _) in METHODS.items() if loop == "integrate")


class Steps:
    """One motion that is integrated step by step; y is the integrator's state (`Core.pack`)."""

    def __init__(
        self, core: Core, method: str, t: float, y: Floats, rtol: float, atol: Floats, max_step: float
    ) -> None:
        self.core, self.run = core, Integrator(core, method, t, y.copy(), rtol, atol, max_step, Closure())
        run, nq, nu = self.run, core.nq, core.nu
        self.y = run.y
        self.aim = np.zeros(3)  # start, end, first step (0: chosen anew)
        self.t, self.q, self.u = np.zeros(1), np.zeros(nq), np.zeros(nu)
        self._before, self._fresh, self._out = run.y.copy(), np.zeros_like(run.count), np.zeros((1, run.n))
        self._fresh[:] = run.count
        self._arguments = (
            run.method, run.rhs, run.context, run.n, address(run.control), address(run.count), address(run.y),
            address(run.atol), address(run.work), len(run.euler) - 1, address(run.euler), 1, address(self.t),
            address(self._out), 0, address(self.t), address(self._out), 0, _BUDGET, address(run.hooks),
        )  # fmt: skip
        self._integrate = "loop_integrate" if run.projects else "integrate"
        self._quick: Any = None

    def served(self, module: Any, pack: Any) -> None:
        """Take steps by the C extension."""
        run = self.run
        copies = [
            (address(to), address(source), source.nbytes)
            for to, source in (
                (self._before, run.y), (run.control, self.aim), (self.t, self.aim[1:2]), (run.count, self._fresh),
            )
        ]  # fmt: skip
        states = (
            1,
            address(self.t),
            address(run.y),
            address(self.q),
            address(self.u),
            self.core.context_address,
        )
        steps = (
            (native.address(self._integrate), False, self._arguments),
            (native.address("states"), False, states),
        )
        self._quick = module.Call(pack, tuple(copies), steps, (), (), (), 0, object, ()).run

    def take(self, start: float, end: float, first: float = 0.0) -> bool:
        """Integrate from start to end. Return False if that needs more than plain steps; y is then as before."""
        self.aim[0], self.aim[1], self.aim[2] = start, end, first
        compute = self._slowly if self._quick is None else self._quick
        if self.core.foreign:
            with self.core.guard():
                done = compute()
        else:
            done = compute()
        if not done:
            self.y[:] = self._before
        return bool(done)

    def _slowly(self) -> bool:
        """Take the step by ctypes: the same as `served` tells the extension."""
        run = self.run
        self._before[:], run.control[: len(self.aim)], self.t[0] = run.y, self.aim, self.aim[1]
        run.count[:] = self._fresh
        if native.entry(self._integrate)(*self._arguments) != OK:
            return False
        at = (address(a) for a in (self.t, run.y, self.q, self.u))
        return bool(native.entry("states")(1, *at, self.core.context_address) == OK)

    @property
    def usual_step(self) -> float:
        """Size of the steps of the method at the end of the last step."""
        return float(self.run.control[m.STEP])
