"""Base of the formulations whose equations are compiled here: one right-hand side, one integration, one timing."""

import math
from typing import Any

import numpy as np

import treemech as tm
from treemech.kinematics.kernel.status import OK, split
from treemech.topology.arrays import Floats, Ints

from .compiled import Compiled, data, lapack
from .cost import seconds
from .formulation import Formulation, Integration
from .integrator import integrate


class CompiledFormulation(Formulation):
    """A formulation made of C functions that share a context, an array of sizes and addresses.

    A subclass names the functions, each of the signature (t, y, what, context):

    - ``RHS`` writes y' to the address ``what``;
    - ``PROJECT`` brings y back onto the constraints after a step;
    - ``PART``, where there is a matrix, runs a part of an evaluation: 1 kinematics and entries, 3 factorisation alone.

    It says with `options` how the integrator uses them.
    """

    RHS: Compiled
    PROJECT: Compiled
    PART: Compiled | None = None
    context: Ints
    arrays: dict[str, Any]  # the arrays whose addresses are in the context, by name

    def write_addresses(self, layout: Any) -> None:
        """Write the addresses of LAPACK and of the arrays to the places in the context that a module names."""
        for name in ("getrf", "getrs", "potrf", "potrs"):
            self.context[getattr(layout, name.upper())] = lapack(f"d{name}")
        for number, name in enumerate(layout.NAMES):
            self.context[layout.SIZES + number] = data(self.arrays[name])

    def allocate_factors(self, n: int) -> None:
        """Allocate the sparse factors L and U with n entries each."""
        for name in ("Li", "Ui"):
            self.arrays[name] = np.zeros(n, np.int64)
        for name in ("Lx", "Ux"):
            self.arrays[name] = np.zeros(n)

    def _call(self, function: Compiled, t: float, y: Floats, what: int, fail: bool = True) -> int:
        """Call a function of this formulation. Returns its status."""
        state = np.ascontiguousarray(y, dtype=np.float64)
        status = function(float(t), data(state), what, data(self.context))
        if fail and status != OK:
            raise tm.SingularError(f"{self.name} fails at t = {t:.6g} s (status {split(status)}).")
        return status

    def rhs(self, t: float, y: Floats) -> Floats:
        dy = np.zeros(len(y))
        self._call(self.RHS, t, y, data(dy))
        return dy

    def options(self, setting: float) -> dict[str, Any]:
        """Return the further arguments of `integrator.integrate`: the projection, the monitor and the like."""
        return {}

    def integrate(
        self,
        t_span: tuple[float, float],
        y0: Floats,
        setting: float,
        t_eval: Floats,
        allowed: float = math.inf,
    ) -> Integration:
        more = self.options(setting)
        return integrate(self.RHS.address, data(self.context), t_span, y0, setting, t_eval, allowed, **more)

    def work(self, state: tm.State) -> dict[str, float]:
        y, context = self.initial(state), data(self.context)
        dy = np.zeros(len(y))  # must stay alive while it is written to
        evaluation = seconds(self.RHS.address, state.t, y, data(dy), context)
        return {"evaluation": evaluation, **self.work_of_parts(state.t, y)}

    def work_of_parts(self, t: float, y: Floats) -> dict[str, float]:
        """Return the CPU seconds of assembly and factorisation, where there is a matrix."""
        if self.PART is None:
            return {}
        part, context = self.PART.address, data(self.context)
        return {
            "assembly": seconds(part, t, y, 1, context),
            "factorization": seconds(part, t, y, 3, context),
        }
