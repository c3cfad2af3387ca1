"""Starts of many runs at once: given, the same for all, or assembled, each as `Mechanism.assemble` does.

A start function is asked with something that stands for the mechanism of the design: it knows the parameters, and keeps what
`assemble` is asked for. Chains are then closed for all runs together, on the way that a search alone takes. What a function
does beyond that, and searches that need more (guesses, poses, several attempts), are left to a mechanism of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemech.dynamics.calls.row_constraints import RowConstraints
from treemech.elements import Energetic
from treemech.topology import TreemechError
from treemech.topology.arrays import Floats
from treemech.topology.body import as_number

from ..analyses.cut_hinges import split
from ..analyses.states import left_free, make_state
from ..description.parameters import changed_parameters
from ..results.state import State
from .closing import closed_positions, closed_rates
from .ways import Ways

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from .designs import Designs
    from .job import Rows

Mask = NDArray[np.bool_]


class Starts(NamedTuple):
    """Starts of runs in the public convention, and which were found."""

    q: Floats
    u: Floats
    cut: Floats  # coordinates of cut hinges
    good: Mask


class _Beyond(BaseException):
    """Ends a start function that asks for more than is known here; no `except Exception` of it gets in the way."""


class _Asked(NamedTuple):
    """What `assemble` was asked for: where the search starts, and what is held."""

    given: Mapping[str, Any]
    t: float
    q: Floats
    u: Floats
    free: Mask
    free_rates: Mask


class _Design:
    """Stands for the mechanism of a design while a start function says what it fixes."""

    def __init__(self, mech: Mechanism, signature: inspect.Signature) -> None:
        self._mech, self._signature, self._parameters = mech, signature, dict[str, float]()
        self._asked: Mapping[str, Any] | None = None
        self._answer = object()

    @property
    def parameters(self) -> dict[str, float]:
        return dict(self._parameters)

    def assemble(self, *args: Any, **options: Any) -> Any:
        if self._asked is not None:
            raise _Beyond
        given = options
        if args or not options.keys() <= self._signature.parameters.keys():
            try:
                given = dict(self._signature.bind(self, *args, **options).arguments)
            except TypeError:
                raise _Beyond from None
            del given["self"]
        self._asked = given
        return self._answer

    def __getattr__(self, name: str) -> Any:
        if name in ("name", "nq", "nu", "coordinates", "speeds"):  # the same in all designs
            return getattr(self._mech, name)
        raise _Beyond

    def asked(self, start: Callable[[Any], Any], parameters: Mapping[str, float]) -> Mapping[str, Any] | None:
        """Return what a start function asks `assemble` for; None if it does anything else."""
        self._parameters, self._asked = {**self._mech.parameters, **parameters}, None
        try:
            found = start(self)
        except (_Beyond, Exception):
            return None
        return self._asked if found is self._answer else None


class BlockStarts:
    """Starts of the runs of one job."""

    def __init__(self, mech: Mechanism, start: Any, t0: float, designs: Designs | None) -> None:
        from ..mechanism import Mechanism

        self.mech, self.start, self.t0, self.designs = mech, start, t0, designs
        self.design = _Design(mech, inspect.signature(inspect.unwrap(Mechanism.assemble)))
        self.assembles = not any(b.pose is not None for b in mech.tree.bodies[1:]) and not any(
            len(a.element.settled) for a in mech._layout.efforts.applied if isinstance(a.element, Energetic)
        )
        self._last: _Asked | None = None

    def __call__(self, rows: Rows, at: RowConstraints | None, table: Floats | None, sizes: Floats) -> Starts:
        """Return the starts of rows; `sizes` of their mechanisms, with which residuals are compared."""
        n, nq, nu, n_cut = rows.count, self.mech.nq, self.mech.nu, self.mech._core.n_cut
        found = Starts(np.zeros((n, nq)), np.zeros((n, nu)), np.zeros((n, n_cut)), np.ones(n, dtype=bool))
        if rows.q is not None or hasattr(self.start, "q"):
            found.q[:] = self.start.q if rows.q is None else rows.q
            found.u[:] = self.start.u if rows.q is None else 0.0 if rows.u is None else rows.u
        else:
            self._assembled(rows, at, table, sizes, found)
        if at is not None:
            own = None if table is None else table
            found.cut[:] = at.constraints(self.t0, found.q, found.u, own).cut
        return found

    def _assembled(
        self, rows: Rows, at: RowConstraints | None, table: Floats | None, sizes: Floats, found: Starts
    ) -> None:
        asked = [self._asked(rows, k) for k in range(rows.count)]
        found.good[:] = [a is not None for a in asked]
        groups: dict[tuple[float, bytes, bytes], list[int]] = {}
        for k, a in enumerate(asked):
            if a is not None:
                found.q[k], found.u[k] = a.q, a.u
                groups.setdefault((a.t, a.free.tobytes(), a.free_rates.tobytes()), []).append(k)
        if at is None:
            return  # a tree is consistent in every position
        if table is None and changed_parameters(self.mech):
            self._alike(asked, found)
            return
        for which in groups.values():
            first = asked[which[0]]
            assert first is not None
            numbers = None if table is None else table[which]
            if table is None or self.designs is None:
                q, closed = closed_positions(
                    self.mech, at, first.t, found.q[which], first.free, numbers, sizes[which]
                )
            else:
                ways = Ways(self.designs, at, first.t, first.free, rows.some(which))
                q, closed = ways.closed(found.q[which], table[which], sizes[which])
            u, together = closed_rates(at, first.t, q, found.u[which], first.free_rates, numbers)
            found.q[which], found.u[which], found.good[which] = q, u, closed & together

    def _alike(self, asked: Sequence[_Asked | None], found: Starts) -> None:
        """Assemble runs of one design, which differ by what they were asked for alone."""
        made: dict[int, State | None] = {}
        for k, a in enumerate(asked):
            if a is None:
                continue
            if id(a) not in made:
                try:
                    made[id(a)] = self.mech.assemble(**a.given)
                except TreemechError:
                    made[id(a)] = None
            state = made[id(a)]
            found.good[k] = state is not None
            if state is not None:
                found.q[k], found.u[k] = state.q, state.u

    def _asked(self, rows: Rows, k: int) -> _Asked | None:
        """Return what the start of a run asks for."""
        given: Mapping[str, Any] | None = {}
        if self.start is not None:
            given = self.design.asked(self.start, rows.parameters_of(k))
        elif not rows.inputs:
            given = {"t": self.t0}
        if given is None or not self.assembles:
            return None
        if self._last is not None and _same(given, self._last.given):
            return self._last
        try:
            self._last = self._understood(given)
        except (TreemechError, TypeError, ValueError):
            return None
        return self._last

    def _understood(self, given: Mapping[str, Any]) -> _Asked | None:
        known = {"t", "fix", "rates"}
        if any(value is not None and np.size(value) for name, value in given.items() if name not in known):
            return None
        fix, rates = given.get("fix") or {}, given.get("rates") or {}
        for part in (fix, rates):
            if not isinstance(part, Mapping) or not all(isinstance(name, str) for name in part):
                return None
        (own, cut), (speeds, cut_speeds) = split(self.mech, fix), split(self.mech, rates)
        if cut or cut_speeds:
            return None
        t = as_number(given.get("t", 0.0), "assemble: t")
        state: State = make_state(self.mech, t, own, speeds)
        free, free_rates = left_free(self.mech, own), left_free(self.mech, speeds)
        return _Asked(dict(given), t, state.q, state.u, free, free_rates)


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:  # arrays
        return False
