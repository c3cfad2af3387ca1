"""Results of runs that are columns of their states: coordinates and speeds, at output times or as numbers of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treemech.topology import TreemechError
from treemech.topology.arrays import Floats

from ..design.experiment import is_statistic, statistic_of
from ..results.measures import find_measure
from ..results.naming import as_quantity
from ..results.run import Run

if TYPE_CHECKING:
    from ..mechanism import Mechanism


class Column(NamedTuple):
    """A column of (q, u); with a statistic one number of a run."""

    statistic: str
    number: int


class Columns:
    """Measures by name, each a column."""

    def __init__(self, columns: Mapping[str, Column], sampled: bool) -> None:
        self.columns = columns
        self.needs_steps = not sampled and any(c.statistic != "final" for c in columns.values())

    @classmethod
    def of(cls, mech: Mechanism, measures: Mapping[str, Any], sampled: bool) -> Columns | None:
        """Return the measures as columns; None if one of them needs more than the states of the tree."""
        found = {}
        for name, what in measures.items():
            if not isinstance(what, str):
                return None
            statistic, _, text = what.partition(" ") if is_statistic(what) else ("", "", what)
            number = _column(mech, text)
            if number is None:
                return None
            found[name] = Column(statistic, number)
        return cls(found, sampled)

    def of_times(self, times: Floats | None, q: Floats, u: Floats) -> dict[str, Floats]:
        """Return the measures of runs with the same output times (N, times, .), or of their ends (N, .)."""
        states, found = np.concatenate((q, u), axis=-1), {}
        for name, (statistic, number) in self.columns.items():
            own = states[..., number]
            if times is not None and statistic == "final":
                own = own[:, -1]
            elif times is not None and statistic:
                own = np.array([_number(statistic, times, row) for row in own])
            found[name] = own
        return found

    def of_steps(self, t: Floats, q: Floats, u: Floats) -> dict[str, float]:
        """Return the measures of one run with all its steps."""
        states = np.concatenate((q, u), axis=-1)
        return {
            name: _number(statistic, t, states[:, number])
            for name, (statistic, number) in self.columns.items()
        }


def _number(statistic: str, t: Floats, y: Floats) -> float:
    """Return one number of a run; nan where there is none, so that the run is looked at alone."""
    try:
        return statistic_of(statistic, t, y)
    except (ArithmeticError, ValueError, LookupError, np.linalg.LinAlgError):
        return np.nan


def _refused(*_: Any) -> Any:
    raise TreemechError("needs more than coordinates and speeds")


def _column(mech: Mechanism, text: str) -> int | None:
    """Return the place in (q, u) that a measure reads, seen from a run of numbered states."""
    try:
        measure = find_measure(mech._wiring.measures, text)
        asked = as_quantity(measure.text or "")
        if asked is None or asked.quantity not in ("q", "u"):
            return None
        if asked.owner not in {h.name for h in mech._info.hinges}:
            return None
        numbered = np.arange(float(mech.nq + mech.nu))[None]
        run = Run(
            mech._info, np.zeros(1), numbered[:, : mech.nq], numbered[:, mech.nq :], True, "", tracer=_refused
        )
        return int(measure.of(run)[0])
    except TreemechError:
        return None
