"""Report of a check, and the common tools of all checks: tolerances, guarded records, random times."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treemech.topology.arrays import Floats
from treemech.topology.errors import ElementError

from ..element import Element, parameters
from ..signal import Signal

FIRST = 1e-8  # first derivatives, eighth-order differences; relative to the largest term
SECOND = 1e-6  # second derivatives, the same
ROUND = 1e-12  # two ways to compute one number
PROPER = 1e-10  # C C^T = 1, relative to 1
RANK = 1e-8  # smallest singular value of [v w] with rows of length 1
TINY = 1e-14  # allowed in place of an exact zero

_GUARD = 8  # numbers before and after a record that compiled code must not change


class Row(NamedTuple):
    """One duty: its name, the largest deviation and the allowed one, both relative."""

    duty: str
    deviation: float
    allowed: float


@dataclass
class Report:
    """Result of `check`. It is returned only if every duty is fulfilled; a broken one raises an error."""

    kind: str
    samples: int
    way: str = ""
    rows: list[Row] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.kind} keeps its contract ({self.samples} samples, runs by way of {self.way})."]
        lines += [f"  {r.duty:<66} {r.deviation:8.1e}  (allowed {r.allowed:.0e})" for r in self.rows]
        return "\n".join(lines)


def shown(x: ArrayLike) -> str:
    """Return numbers as text for a message."""
    return "[" + ", ".join(f"{float(a):.6g}" for a in np.ravel(x)) + "]"


def random_time(element: Element, rng: np.random.Generator) -> float:
    """Return a random time; every second one lies among the breaks of the element's signals."""
    signals = [p.value for p in parameters(element) if p.kind == "signal"]
    breaks = [b for s in [element, *signals] if isinstance(s, Signal) for b in s.breaks]
    low, high = (min(breaks), max(breaks)) if breaks and rng.random() < 0.5 else (0.1, 10.0)
    return float(rng.uniform(low, high if high > low else low + 1.0))


def locked(q: Floats) -> Floats:
    """Return a copy that cannot be written to."""
    q = q.copy()
    q.flags.writeable = False
    return q


def guarded(size: int) -> tuple[Floats, Floats]:
    """Return (buffer, record): a zeroed record with guards before and after."""
    buffer = np.full(size + 2 * _GUARD, np.pi)
    record = buffer[_GUARD : _GUARD + size]
    record[:] = 0.0
    return buffer, record


def check_guard(element: Element, buffer: Floats, where: str) -> None:
    """Refuse an element that changed the guards around its record."""
    if np.any(buffer[:_GUARD] != np.pi) or np.any(buffer[-_GUARD:] != np.pi):
        raise ElementError(f"check: {element.kind} writes outside the arrays it is given, {where}.")
