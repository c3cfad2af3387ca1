"""A model on dual numbers: derivatives of its equations of motion along one direction, exact to rounding.

It has a Plan and a Work of its own, with dual numbers (number, derivative) for numbers; the kernels of the
core run on them (entries.duals). The derivatives of the numbers of the Plan are given
(kinematics.layout.plan_derivatives), those of the state are arbitrary; elements are called at their dual
addresses. Everything starts from the state that the core evaluated last: what was solved iteratively there
need only be differentiated here.
"""

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemech.elements.compilation.callback import Entry
from treemech.elements.compilation.entry import make_dual_entry
from treemech.elements.element import Element, record
from treemech.kinematics.kernel.status import OK
from treemech.kinematics.layout.chords import by_address
from treemech.kinematics.layout.layout import Layout
from treemech.kinematics.layout.plan_derivatives import PlanDerivatives
from treemech.kinematics.layout.work import make_chord_context, make_context
from treemech.kinematics.plan import arrays as p
from treemech.kinematics.plan.arrays import Plan, Work
from treemech.kinematics.plan.chord_arrays import CHORD_ELEMENT, ChordPlan, ChordWork
from treemech.kinematics.plan.columns import body, chord, effort, row, signal, speed
from treemech.topology.arrays import Floats, address, addresses

from ..model.core import Core
from ..native import entry_points as native
from .parameter_derivatives import Direction, Equations, loads_of_chords


def duals(numbers: Floats, derivatives: Floats | float = 0.0) -> Floats:
    """Return (..., 2): numbers with their derivatives."""
    return np.stack(np.broadcast_arrays(numbers, derivatives), axis=-1)


def dual_copy(array: Any) -> Any:
    """Copy an array of a Plan or Work: numbers become dual numbers, integers stay."""
    return array.copy() if array.dtype == np.int64 else duals(array)


class DualModel:
    """A model on dual numbers along one direction: a `Direction` of parameter_derivatives.

    `otherwise` makes another Direction, for states where a number has no derivative (a square root at zero).
    """

    def __init__(
        self, core: Core, derivatives: PlanDerivatives, otherwise: Callable[[], Direction] | None = None
    ) -> None:
        core.serve_dual_addresses()
        self._otherwise = otherwise
        self.core, layout, n = core, core.layout, core.nu
        self.plan, self.work = Plan(*map(dual_copy, layout.plan)), Work(*map(dual_copy, core.work))
        self.chord_plan = ChordPlan(*map(dual_copy, layout.chords.plan))
        self.chord_work = ChordWork(*map(dual_copy, core.chord_work))
        plan, plan_chord = self.plan, self.chord_plan.chord
        plan.constants[..., 1], plan.gravity[..., 1] = derivatives.constants, derivatives.gravity
        plan.end_points[..., 1], self.chord_plan.place[..., 1] = derivatives.end_points, derivatives.places
        of_members = core.work.parameter_duals[:, 1]  # dual addresses in the records of assembled elements
        self.work.parameters[..., 1] = derivatives.parameters + of_members
        plan.body[:, body.ADDRESS], plan_chord[:, chord.ADDRESS] = (
            plan.body[:, body.DUAL],
            plan_chord[:, chord.DUAL],
        )
        plan.efforts[:, effort.ADDRESS] = plan.efforts[:, effort.DUAL]
        plan.efforts[:, effort.REACTION] = -1  # reaction-dependent elements see the loads they saw last
        self._kept = list[Entry]()
        plan.signals[:, signal.ADDRESS] = [
            self._derivatives(source) if derivatives.parameters[own].any() else 0
            for source, own in zip(layout.signals, _signal_records(layout), strict=True)
        ]
        self.context = make_context(plan, self.work, core.nq, core.nz, core.nx)
        self.chord_context = make_chord_context(
            address(self.context), layout.chords._replace(plan=self.chord_plan), self.chord_work
        )
        for theirs, own, place, name in (
            (core.context, self.context, p.GENERAL_HINGE, "dual_hinge"),
            (core.context, self.context, p.APPLIED_LOADS, "dual_loads"),
            (core.context, self.context, p.COMPOSITE, "dual_composite"),
            (core.chord_context, self.chord_context, CHORD_ELEMENT, "dual_chord"),
        ):
            if theirs[place]:
                own[place] = native.address(name)
        self._s, self._ud, self._tau = np.zeros(2 * n + core.nx + core.nq), np.zeros(n), np.zeros((n, 2))
        arrays = (self._s, self._ud, self._tau, core.chord_context, self.chord_context)
        self._at = tuple(addresses(arrays))
        self._entry, self._unloaded = native.entry("dual_equations"), np.zeros((len(plan_chord), 6))

    def _derivatives(self, source: Element) -> int:
        entry = make_dual_entry(source)
        assert entry is not None
        self._kept.append(entry)
        return entry.address

    def equations(
        self, t: float, q: Floats, u: Floats, ud: Floats, multipliers: Floats, s: Floats | None = None
    ) -> Equations:
        core, n = self.core, self.core.nu
        self._s[: 2 * n + core.nx] = 0.0 if s is None else s
        self._ud[:] = ud
        with core.guard() as failure:
            status = self._entry(t, *self._at)
        if status != OK:
            core.fail(status, t, failure)
        index, x_rates = self.chord_work.row[..., 1], self.work.zd[: core.nx, 1]
        if self._otherwise and not isfinite(self._tau[:, 1].sum() + index.sum() + x_rates.sum()):
            return self._otherwise().equations(t, q, u, ud, multipliers, s)
        prescribed = np.zeros((3, n))
        for given in self.plan.prescribed:
            prescribed[:, given[speed.PRESCRIBED_U]] = self.work.signal[given[speed.PRESCRIBED_SIGNAL], :, 1]
        if not len(index):
            none = np.zeros(0)
            return Equations(
                self._tau[:, 1].copy(), none, x_rates.copy(), none, none, prescribed, self._unloaded
            )
        rows, speeds = core.entry_places
        changed = self.chord_work.partials[: len(rows), 1] * multipliers[rows]
        return Equations(
            self._tau[:, 1] - np.bincount(speeds, changed, n),
            index[:, row.BIAS].copy(),
            x_rates.copy(),
            index[:, row.POSITION] * ~core.layout.chords.nonholonomic,
            index[:, row.VELOCITY].copy(),
            prescribed,
            loads_of_chords(core, index, multipliers),
        )


def obstacle(layout: Layout, derivatives: PlanDerivatives) -> str | None:
    """Name an element without the needed derivatives. Return None if a DualModel can be made."""
    if native.way() == "python":
        return "plain Python"
    changing = varying(layout, derivatives)
    for element, first in _by_address(layout):
        entry = make_dual_entry(element)
        if entry is None or (not entry.dual and changing[first : first + len(record(element)[0])].any()):
            return element.kind
    for source, own in zip(layout.signals, _signal_records(layout), strict=True):
        if derivatives.parameters[own].any():
            entry = make_dual_entry(source)
            if entry is None or not entry.dual:
                return source.kind
    return None


def varying(layout: Layout, derivatives: PlanDerivatives) -> NDArray[np.bool_]:
    """Return which numbers of the records change, including those of signals in them."""
    found: NDArray[np.bool_] = derivatives.parameters != 0.0
    own = list(_signal_records(layout))
    for link in layout.plan.links:
        first = link[signal.LINK_PARAMETER]
        found[first : first + 3] = derivatives.parameters[own[link[signal.LINK_SIGNAL]]].any()
    return found


def _signal_records(layout: Layout) -> Iterator[slice]:
    for source, entry in zip(layout.signals, layout.plan.signals, strict=True):
        yield slice(entry[signal.PARAMETER], entry[signal.PARAMETER] + len(record(source)[0]))


def _by_address(layout: Layout) -> Iterator[tuple[Element, Any]]:
    """Yield the elements that the core calls by address, and where their records start."""
    for number, hinge in layout.hinges.items():
        yield hinge, layout.plan.body[number, body.PARAMETER]
    for entry, applied in zip(layout.plan.efforts, layout.efforts.applied, strict=True):
        yield applied.element, entry[effort.PARAMETER]
    for entry, element in zip(layout.chords.plan.chord, layout.chords.elements, strict=True):
        if by_address(element):
            yield element, entry[chord.PARAMETER]
