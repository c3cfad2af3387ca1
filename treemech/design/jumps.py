"""Loads that jump along a motion: its sensitivities jump there too, by what no derivative of the equations of motion tells."""

from typing import TYPE_CHECKING, Any

import numpy as np

from treemech.dynamics.native import entry_points as native
from treemech.dynamics.simulation.dense_output import interpolate
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.plan.columns import effort
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats, address

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..results.run import Run

_LEVELS = 36  # halvings of a step: below the accuracy with which a step ends at a corner
_LARGE = 1e-6  # a jump, as a part of the largest rate
_LESS = 0.3  # part of its change over a step that is left where a rate is smooth


class _Rates:
    """Rates of speeds and states along a run, and the loads of elements there."""

    def __init__(self, mech: "Mechanism", run: "Run") -> None:
        self.core, self.dense = mech._core, run._dense
        loops = self.core.loops
        self.entry = native.entry("rhs" if loops is None else "loop_rhs")
        self.context = self.core.context_address if loops is None else address(loops.context)

    def __call__(self, t: float) -> Floats:
        dense: Any = self.dense
        times, table, method, _ = dense
        y = np.ascontiguousarray(
            interpolate(method, times, table, np.array([t]), self.core.coordinates.euler_parameters)[0]
        )
        rates = np.zeros(len(y))
        if self.entry(t, address(y), address(rates), self.context) != OK:
            return np.zeros(self.core.nu + self.core.nx)
        return rates[self.core.nq : self.core.nq + self.core.nu + self.core.nx]

    def loads(self, t: float) -> list[Floats]:
        """Return the loads of every element."""
        self(t)
        found, record = [], self.core.work.effort_records
        for row in self.core.layout.plan.efforts:
            at = int(row[effort.LOAD_RECORD])
            found.append(record[at : at + 6 * int(row[effort.N_ENDS]) + int(row[effort.N_ACTED])].copy())
        return found


def refuse_jumps(mech: "Mechanism", run: "Run", steps: Floats, refusal: str) -> None:
    """Refuse a motion in which a load jumps with the state, by the name of the element.

    Where a step has a jump, the half with the larger change is halved again and again: what is smooth changes less and less.
    Signals may jump: they do so at given times.
    """
    if not len(mech._core.layout.plan.efforts):
        return
    rates = _Rates(mech, run)
    breaks = {b for signal in mech._core.layout.signals for b in signal.breaks}
    spans = [
        (a + 1e-12 * (b - a) if a in breaks else a, b - 1e-12 * (b - a) if b in breaks else b)
        for a, b in zip(steps[:-1].tolist(), steps[1:].tolist(), strict=True)
    ]
    begins, ends = [rates(a) for a, _ in spans], [rates(b) for _, b in spans]
    if not ends:
        return
    size = np.max(np.abs([*begins, *ends]), axis=0)
    size = np.maximum(size, 1e-6 * np.max(size, initial=0.0) + 1e-300)

    def change(a: Floats, b: Floats) -> float:
        return float(np.max(np.abs(b - a) / size, initial=0.0))

    for (begin, end), low, high in zip(spans, begins, ends, strict=True):
        whole = left = change(low, high)
        for _ in range(_LEVELS):
            middle = 0.5 * (begin + end)
            if left < max(_LARGE, _LESS * whole):
                break
            if not begin < middle < end:  # there are no times between
                continue
            between = rates(middle)
            if change(low, between) > change(between, high):
                end, high = middle, between
            else:
                begin, low = middle, between
            left = change(low, high)
        else:
            raise TreemechError(f"{refusal}: {_jumping(mech, rates, begin, end)} jumps at t = {end:.9g} s.")


def _jumping(mech: "Mechanism", rates: _Rates, begin: float, end: float) -> str:
    """Return the name of the element whose load changes most."""
    names = [a.name for a in mech._core.layout.efforts.applied]
    changes = [
        np.max(np.abs(y - x), initial=0.0) / (np.max(np.abs([x, y]), initial=0.0) + 1e-300)
        for x, y in zip(rates.loads(begin), rates.loads(end), strict=True)
    ]
    return f"the load of {names[int(np.argmax(changes))]!r}"
